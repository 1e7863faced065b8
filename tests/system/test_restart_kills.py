"""A partition that is killed at any moment goes on to the same graph.

`MNDMST_RESTART_KILLS=200 pytest tests/system/test_restart_kills.py` kills that many;
the default is what a check before every commit has time for. `MNDMST_KILL_SEED` chooses
others.
"""

import os
from pathlib import Path

import pytest
from processes import finish, python, start

PROGRAM = Path(__file__).with_name("restart_program.py")
KILLS = int(os.environ.get("MNDMST_RESTART_KILLS", "12"))
SEED = int(os.environ.get("MNDMST_KILL_SEED", "1"))


@pytest.mark.timeout(120 + 10 * KILLS)
def test_a_partition_killed_at_any_moment(tmp_path: Path) -> None:
    run = finish(start(python(PROGRAM, tmp_path, KILLS, SEED)), 100 + 10 * KILLS)
    assert run.returncode == 0, run.stderr
    print(run.stdout)
