"""Batches on ranks that are threads: rows are divided, rank 0 has the forest."""

from typing import Any

import numpy as np
import pytest
from oracle import kruskal
from test_changing import EDGES, batch, edges_in, follow, forest_of
from test_replacements import columns, rows_of
from thread_ranks import on_ranks

from mndmst.changes.batch import DELETE, INSERT, SET
from mndmst.changes.changing import ChangingForest
from mndmst.comm.communicator import Comm
from mndmst.host.errors import InputError
from mndmst.tree.index import ForestIndex

N, RANKS = 7, 3
BATCHES = [
    batch((INSERT, 0, 5, 4)),
    batch((DELETE, 0, 1, 0), (SET, 1, 4, 9)),
    batch((INSERT, 6, 5, -1), (DELETE, 2, 1, 0)),
    batch((SET, 3, 4, 1), (DELETE, 0, 5, 0), (INSERT, 2, 6, 3)),
]


def follow_on(comm: Comm) -> ChangingForest:
    """Return the graph of `test_changing`, its rows divided among ranks."""
    answer, index = kruskal(N, *columns(EDGES)), None
    if comm.rank == 0:
        index = ForestIndex(N, answer.src, answer.dst, answer.weight)
    bounds = [0, 2, 5, N]
    rows = rows_of(N, EDGES).cut(bounds[comm.rank], bounds[comm.rank + 1])
    return ChangingForest(comm, rows, np.dtype(np.int32), index)


def test_ranks_make_the_versions_that_one_makes() -> None:
    def program(comm: Comm) -> list[Any]:
        changing, versions = follow_on(comm), []
        for number, changes in enumerate(BATCHES, 1):
            applied = changing.apply(changes if comm.rank == 0 else None)
            assert applied.version == number
            forest = None if changing.forest is None else forest_of(changing)
            versions.append((applied, forest, edges_in(changing)))
        return versions

    alone = follow(N, EDGES)
    for found in zip(BATCHES, *on_ranks(RANKS, program), strict=True):
        changes, *of_ranks = found
        applied = alone.apply(changes)
        assert [each[0] for each in of_ranks] == [applied] * RANKS
        assert [each[1] for each in of_ranks] == [forest_of(alone), None, None]
        edges = {pair: w for each in of_ranks for pair, w in each[2].items()}
        assert edges == edges_in(alone)


def test_every_rank_refuses_what_one_cannot_do() -> None:
    def program(comm: Comm) -> int:
        changing = follow_on(comm)
        wrong = batch((SET, 0, 1, 9), (DELETE, 5, 6, 0))
        with pytest.raises(InputError, match="change 1: there is no edge"):
            changing.apply(wrong if comm.rank == 0 else None)
        with pytest.raises(InputError, match="no file"):
            changing.apply(InputError("no file") if comm.rank == 0 else None)
        assert changing.version == 0
        return len(edges_in(changing))

    assert sum(on_ranks(RANKS, program)) == len(EDGES)
