"""Run the tests that other packages have of HDBSCAN and spanning trees against ours.

python -m tests.peer_suites

The tests are those of the installed packages. Those that ask for something else than
mndmst offers on purpose are named here and in the docs, each with its reason.
"""

import fnmatch
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

INTERNALS = "tests a private function or attribute"
SEVERAL = "missing distances leave several trees, which are clustered"


class Suite(NamedTuple):
    """The tests of a package, and those whose failure is meant: pattern and reason.

    At least `least` tests pass.
    """

    module: str
    least: int
    exceptions: dict[str, str]


SUITES = {
    "hdbscan": Suite(
        "hdbscan.tests.test_hdbscan",
        30,
        {
            "test_hdbscan_approximate_predict": "clusters are numbered by their "
            "smallest points",
            "test_hdbscan_approximate_predict_score": "predictions need no "
            "preparation, so there is no error without it",
            "test_hdbscan_all_points_membership_vectors": INTERNALS,
        },
    ),
    "sklearn": Suite(
        "sklearn.cluster.tests.test_hdbscan",
        130,
        {
            "test_hdbscan_algorithms[[]haversine-ball_tree]": "latitudes beyond 90 "
            "degrees are refused",
            "test_hdbscan_sparse_distances_*": SEVERAL,
            "test_labelling_distinct*": INTERNALS,
            "test_hdbscan_default_copy_warning": "the default of `copy` does not "
            "change",
        },
    ),
    "scipy": Suite("scipy.sparse.csgraph.tests.test_spanning_tree", 1, {}),
}


def failures(package: str) -> tuple[list[str], int]:
    """Return the tests of a package that fail against mndmst, and how many pass."""
    here = Path(__file__).parent
    environment = dict(
        os.environ, MNDMST_PEER=package, MPLBACKEND="Agg", PYTHONPATH=str(here)
    )
    environment.pop("PYTEST_ADDOPTS", None)
    command = [
        sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "peer_plugin",
        "-p", "no:randomly", "-q",
        "-p", "no:cacheprovider", "-W", "ignore", "--tb=line", "-rf",
        "--pyargs", SUITES[package].module,
    ]  # fmt: skip
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=900
    )
    passed = re.search(r"(\d+) passed", run.stdout)
    if passed is None:
        raise RuntimeError(run.stdout + run.stderr)
    names = re.findall(r"^FAILED \S*::(\S+)", run.stdout, re.MULTILINE)
    return names, int(passed[1])


def unexpected(package: str, names: list[str]) -> list[str]:
    """Return failures that have no reason here."""
    patterns = SUITES[package].exceptions
    return [
        name
        for name in names
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]


def main() -> int:
    """Run all, and print what fails; return the exit status."""
    status = 0
    for package in SUITES:
        names, passed = failures(package)
        strange = unexpected(package, names)
        print(f"{package}: {passed} pass, {len(names)} fail, {len(strange)} unexpected")
        print("".join(f"    {name}\n" for name in strange), end="")
        status |= bool(strange)
    return status


if __name__ == "__main__":
    sys.exit(main())
