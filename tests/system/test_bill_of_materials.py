"""`launch/bom.sh` lists the packages of the images, and allows their licences."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ROOT

TOOLS = "cyclonedx-bom", "pip-licenses"


def ended(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command without the search path of the tests, which has this package."""
    variables = {name: os.environ[name] for name in os.environ if name != "PYTHONPATH"}
    return subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        env=variables,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_bill_has_the_pinned_packages_and_their_licences(tmp_path: Path) -> None:
    pip = sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"
    if ended(*pip, "--dest", tmp_path / "tools", *TOOLS).returncode:
        pytest.skip(f"no package index has {' and '.join(TOOLS)}")
    before = set(ROOT.iterdir())
    run = ended("bash", ROOT / "launch/bom.sh", tmp_path, "cpu")
    assert run.returncode == 0, run.stdout + run.stderr
    assert set(ROOT.iterdir()) == before
    bill = json.loads((tmp_path / "mndmst-cpu.cdx.json").read_text())
    listed = {f"{each['name']}=={each['version']}" for each in bill["components"]}
    pinned = (ROOT / "docker/constraints.txt").read_text().replace("_", "-").split()
    assert {name.split("==")[0] for name in listed} >= {"numpy", "numba", "mpich"}
    assert {name.replace("_", "-") for name in listed} <= set(pinned)
    assert all(each["licenses"] for each in bill["components"])
    assert bill["metadata"]["component"]["name"] == "mndmst"
