"""No fuzz target finds a fault in its seeds and a short run.

    MNDMST_FUZZ_SECONDS=24 python -m pytest tests/system/test_fuzz.py

takes two minutes on two cores.
"""

import os
from pathlib import Path

import pytest
from processes import finish, python, start

SECONDS = int(os.environ.get("MNDMST_FUZZ_SECONDS", "1"))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_target_finds_a_fault(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="needs Atheris")
    faults = tmp_path / "faults"
    faults.mkdir()  # as another run does, whose faults may come later
    words = "--seconds", SECONDS, "--faults", faults
    run = finish(start(python("-m", "tests.fuzz", *words)), 3500)
    assert run.returncode == 0, run.stdout
    assert run.stdout.count(" inputs, ") == 10
    assert faults.is_dir()
