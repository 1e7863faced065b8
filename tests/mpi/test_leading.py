"""The last leader has the cores of its host, as long as it computes."""

from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("leading_program.py")

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_leader_has_its_whole_host(mpirun: Callable, ranks: int) -> None:
    run = mpirun(ranks, "-m", "mpi4py", PROGRAM)
    assert run.returncode == 0, run.stderr
