"""Arrays and points need nothing that Linux alone has, in this process or in others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import without_first_uses

PROGRAM = Path(__file__).with_name("other_system_program.py")
cold = pytest.mark.skipif(
    not os.environ.get("MNDMST_EVERY_RUN"),
    reason="compiles all kernels: launch/test-everything.sh",
)


@pytest.mark.parametrize("system", ["", pytest.param("Darwin", marks=cold)])
@pytest.mark.timeout(600)
def test_arrays_and_points_are_solved_without_linux(
    system: str, tmp_path: Path
) -> None:
    """Processes that compile kernels start without Linux, too (sitecustomize)."""
    (tmp_path / "sitecustomize.py").write_text(
        f"from {PROGRAM.stem} import without_linux\nwithout_linux({system!r})\n"
    )
    path = os.pathsep.join([str(tmp_path), str(PROGRAM.parent)])
    environment = {**os.environ, "PYTHONPATH": path}
    if system:
        environment["MNDMST_CACHE_DIR"] = str(tmp_path / "cache")
    run = subprocess.run(
        [sys.executable, "-c", f"from {PROGRAM.stem} import main; main()"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = without_first_uses(run.stderr)
    assert (run.stdout, said, run.returncode) == ("done\n", "", 0)
