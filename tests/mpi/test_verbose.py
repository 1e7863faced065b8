"""`-v` tells the strategy, and why not the ones before it, on one rank."""

import pytest
from processes import ROOT

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

DEMO = ROOT / "partitions/demo"


@pytest.mark.parametrize("command", ["solve", "components"])
def test_the_strategy_is_told_once(mpirun, command):
    done = mpirun(2, "-m", "mndmst", command, DEMO, "-v", "--merge", "messages")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("merging by messages") == 1


def test_a_strategy_that_does_not_suit_is_replaced_and_says_why(mpirun):
    done = mpirun(2, "-m", "mndmst", "solve", DEMO, "-v", "--merge", "devices")
    assert done.returncode == 0, done.stderr
    assert "devices: not every rank has all its rows on a GPU" in done.stderr


def test_nobody_else_hears_of_it(mndmst):
    done = mndmst("solve", DEMO)
    assert done.returncode == 0, done.stderr
    assert "merging by" not in done.stderr


def test_quiet_and_verbose_exclude_each_other(mndmst):
    done = mndmst("solve", DEMO, "-q", "-v")
    assert done.returncode == 2
    assert "not allowed with argument" in done.stderr
