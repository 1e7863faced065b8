"""Dividing edges among ranks, so that all have as many.

The owners of the smaller ends had them: most of them are on the first ranks.
"""

from collections.abc import Sequence

import numpy as np

from ..comm.communicator import Comm
from ..graph.model import EdgeList
from ..graph.order import id_dtype
from ..run.report import Report


def dealt_in_order(comm: Comm, edges: EdgeList, report: Report) -> EdgeList:
    """Deal the edges out in equal parts, which follow each other. Collective."""
    every = comm.allgather(len(edges))
    bounds = _bounds(every) - every[: comm.rank].sum()
    counts = np.diff(np.clip(bounds, 0, len(edges)))
    report.ship(len(edges) - counts[comm.rank])
    _, columns = comm.alltoallv(counts, edges.u, edges.v, edges.key)
    return EdgeList(*columns)


def numbered(comm: Comm, edges: EdgeList) -> list[np.ndarray]:
    """Return u, v, key, and the position of each among the edges of all ranks.

    Collective. Positions are uint32 or int64.
    """
    every = comm.allgather(len(edges))
    first, total = int(every[: comm.rank].sum()), int(every.sum())
    position = np.arange(first, first + len(edges), dtype=id_dtype(total + 1))
    return [edges.u, edges.v, edges.key, position]


def dealt(
    comm: Comm, columns: Sequence[np.ndarray], report: Report
) -> list[np.ndarray]:
    """Give to ranks that have too few edges what others have too many. Collective.

    Nothing else moves: a quarter of what `dealt_in_order` moves, if the smaller end of
    each edge is anywhere. The edges of a rank stay in their order, but those of the
    next may come before some of them.

    Parameters
    ----------
    columns : sequence of ndarray
        Those of this rank's edges; see `numbered`.
    """
    every = comm.allgather(len(columns[0]))
    part = np.diff(_bounds(every))
    given, taken = (
        np.concatenate([[0], np.cumsum(np.maximum(more, 0))])
        for more in (every - part, part - every)
    )
    counts = np.diff(np.clip(taken, *given[comm.rank : comm.rank + 2]))
    report.ship(int(counts.sum()))
    counts[comm.rank] = len(columns[0]) - counts.sum()
    return comm.alltoallv(counts, *columns)[1]


def _bounds(every: np.ndarray) -> np.ndarray:
    """Return where equal parts of so many edges begin and end."""
    return every.sum() * np.arange(len(every) + 1) // len(every)
