"""Dividing edges among ranks, so that all have as many.

The owners of the smaller ends had them: most of them are on the first ranks.
"""

import numpy as np

from ..comm.communicator import Comm
from ..graph.model import EdgeList
from ..run.report import Report


def dealt_in_order(comm: Comm, edges: EdgeList, report: Report) -> EdgeList:
    """Deal the edges out in equal parts, which follow each other. Collective."""
    every = comm.allgather(len(edges))
    bounds = _bounds(every) - every[: comm.rank].sum()
    counts = np.diff(np.clip(bounds, 0, len(edges)))
    report.ship(len(edges) - counts[comm.rank])
    _, columns = comm.alltoallv(counts, edges.u, edges.v, edges.key)
    return EdgeList(*columns)


def _bounds(every: np.ndarray) -> np.ndarray:
    """Return where equal parts of so many edges begin and end."""
    return every.sum() * np.arange(len(every) + 1) // len(every)
