"""Programs that call the package on ranks, and ranks that are told otherwise."""

from collections.abc import Callable
from pathlib import Path

import pytest

GRAPH = Path(__file__).parents[2] / "partitions/demo"

pytestmark = pytest.mark.mpi

FAILING = """if True:
    import mndmst, mndmst.pipeline
    from mndmst.host.launcher import launched_rank
    if launched_rank() == 1:
        def choose(*_, **__):
            raise MemoryError("only here")
        mndmst.pipeline.choose = choose
    mndmst.solve(GRAPH, backend="cpu")
"""

AGAIN = """if True:
    import mndmst
    from mndmst.comm.communicator import Comm
    from mndmst.comm.mpi_library import start
    world, made, dup = start().COMM_WORLD, [], Comm.dup
    Comm.dup = lambda *given: made.append(dup(*given)) or made[-1]
    parts, split = [], Comm.split
    Comm.split = lambda *given: parts.append(split(*given)) or parts[-1]
    found = [mndmst.solve(GRAPH, comm=c).digest for c in (None, world, None)]
    found.append(mndmst.solve(GRAPH, backend="cpu").digest)
    try:
        mndmst.solve(GRAPH, threads=1.5)
    except mndmst.host.errors.ConfigError as error:
        assert "whole number" in str(error)
    assert len(set(found)) == 1
    assert len(made) == 5
    every = [*made, *filter(None, parts)]
    assert not any(comm.mpi for comm in every), "communicators are left"
    world.Barrier()
"""

TOLD_OTHERWISE = """if True:
    import os
    from mndmst.host.launcher import launched_rank
    from mndmst.__main__ import main
    for name, value in (
        ("TIMEOUT", "0"), ("MERGE", "ring"), ("MEMORY", "4GiB"), ("THREADS", "2")
    ):
        if launched_rank() == 1:
            os.environ[f"MNDMST_{name}"] = value
        assert main(["solve", GRAPH, "-q"]) == 0
        os.environ.pop(f"MNDMST_{name}", None)
"""


def program(text: str) -> str:
    return text.replace("GRAPH", repr(str(GRAPH)))


def test_a_rank_that_fails_alone_ends_the_program(mpirun: Callable) -> None:
    run = mpirun(3, "-c", program(FAILING))
    assert run.returncode != 0
    assert "MemoryError: only here" in run.stderr


def test_communicators_are_given_back(mpirun: Callable) -> None:
    run = mpirun(2, "-c", program(AGAIN))
    assert run.returncode == 0, run.stderr


def test_ranks_agree_where_they_are_told_otherwise(mpirun: Callable) -> None:
    run = mpirun(2, "-c", program(TOLD_OTHERWISE))
    assert run.returncode == 0, run.stderr
    assert run.stdout.count(" trees=90 ") == 4, run.stdout
