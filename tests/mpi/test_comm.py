"""The patterns of `comm/communicator.py`, on real ranks."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

CHECKS = Path(__file__).with_name("comm_checks.py")

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize(
    "ranks", [1, 2, 3, 4, pytest.param(16, marks=pytest.mark.slow)]
)
def test_patterns(mpirun: Callable, ranks: int) -> None:
    run = mpirun(ranks, "-m", "mpi4py", CHECKS)
    assert run.returncode == 0, run.stderr
    names = re.findall(r"^def (check_\w+)", CHECKS.read_text(), re.MULTILINE)
    assert run.stdout.splitlines() == [f"{name} on {ranks}" for name in names]


BOUND = """if True:
    import os
    from mndmst.comm.world import world
    from mndmst.host.launcher import launched_rank
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[launched_rank() % len(cores)]})
    comm = world()
    assert (comm.ranks_per_core() > 1) == (comm.size > len(cores)), len(cores)
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_with_a_core_each_do_not_give_it_away(
    mpirun: Callable, ranks: int
) -> None:
    run = mpirun(ranks, "-m", "mpi4py", "-c", BOUND)
    assert run.returncode == 0, run.stderr
