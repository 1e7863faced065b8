"""Edges are dealt out to ranks evenly, none is lost, and few move."""

from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("dealing_program.py")

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 16])
def test_edges_are_dealt(mpirun: Callable, ranks: int) -> None:
    run = mpirun(ranks, "-m", "mpi4py", PROGRAM)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "dealt\n"
