"""Open MPI's default binding is widened; what a user asks for is kept."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ROOT

OPEN_MPI = shutil.which("mpirun.openmpi")
LIBRARY = next(Path("/usr/lib").glob("*/libmpi.so.40"), None)
CORES = os.sched_getaffinity(0)

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(not (OPEN_MPI and LIBRARY), reason="Open MPI is not installed"),
    pytest.mark.skipif(len(CORES) < 2, reason="there is one core"),
]
PROGRAM = """if True:
    import os
    from mndmst.comm.world import world
    comm = world()
    print(sorted(os.sched_getaffinity(0)), flush=True)
"""


def cores_with(*options: str, taskset: str = "") -> tuple[list[str], str]:
    """Return the cores of each rank that Open MPI starts, and what is said."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OMPI_", "PRTE_", "PMI", "MPIR_"))
    } | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "MPI4PY_LIBMPI": str(LIBRARY), "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    bound = ["taskset", "-c", taskset] if taskset else []
    run = subprocess.run(
        [*bound, OPEN_MPI, *options, sys.executable, "-c", PROGRAM],
        env=environment, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines(), run.stderr


def test_ranks_get_the_cores_that_the_default_keeps_from_them() -> None:
    cores, said = cores_with("-n", "1")
    assert cores == [str(sorted(CORES))]
    assert f"bound to 1 of {len(CORES)} cores by the launcher's default" in said


@pytest.mark.parametrize(
    "option", ["--bind-to core", "--mca hwloc_base_binding_policy core"]
)
def test_a_binding_that_was_asked_for_is_kept(option: str) -> None:
    (cores,), said = cores_with("-n", "1", *option.split())
    assert "," not in cores
    assert "as the launcher's options say; --bind-to none gives them all" in said


def test_cores_that_the_launcher_has_not_are_not_taken() -> None:
    # Which one it binds to then is its own affair: 4.1 may take another.
    (cores,), said = cores_with("-n", "1", taskset=str(min(CORES)))
    assert "," not in cores
    assert "bound to" not in said


def test_nothing_is_said_where_no_core_is_idle() -> None:
    _, said = cores_with("-n", "1", "--bind-to", "none")
    assert "bound to" not in said
