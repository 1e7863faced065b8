"""Leave edges out of the rows of a rank: those named, or of other vertices."""

from collections.abc import Sequence

import numpy as np

from ..graph.model import Rows
from ..run.run import Worker
from .edge_order import tails_of


def joined_rows(workers: Sequence[Worker]) -> Rows:
    """Return the rows of all devices of a rank as one piece."""
    if len(workers) == 1:
        return workers[0].rows
    parts = [worker.rows for worker in workers]
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    indices = np.concatenate([part.indices for part in parts])
    keys = np.concatenate([part.keys for part in parts])
    return Rows(parts[0].first, parts[0].num_vertices, indptr, indices, keys)


def with_keys(workers: Sequence[Worker], keys: np.ndarray) -> tuple[Worker, ...]:
    """Return the workers with other keys for their arcs, not on the devices yet."""
    result, done = [], 0
    for worker in workers:
        rows, end = worker.rows, done + worker.rows.num_arcs
        columns = rows.indptr, rows.indices, keys[done:end]
        weighed = Rows(rows.first, rows.num_vertices, *columns)
        result.append(Worker(worker.backend, weighed))
        done = end
    return tuple(result)


def with_arcs(workers: Sequence[Worker], keep: np.ndarray) -> tuple[Worker, ...]:
    """Return the workers with some of their arcs, not on the devices yet.

    Parameters
    ----------
    keep : ndarray of bool, shape (arcs of the rank,)
    """
    result, done = [], 0
    for worker in workers:
        rows, end = worker.rows, done + worker.rows.num_arcs
        kept = keep[done:end]
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        columns = before[rows.indptr], rows.indices[kept], rows.keys[kept]
        result.append(
            Worker(worker.backend, Rows(rows.first, rows.num_vertices, *columns))
        )
        done = end
    return tuple(result)


def count_edges(workers: Sequence[Worker]) -> int:
    """Return the distinct edges to larger vertices."""
    total = 0
    for worker in workers:
        heads, tails = worker.rows.indices, tails_of(worker.rows)
        new = np.ones(len(heads), np.bool_)
        new[1:] = (heads[1:] != heads[:-1]) | (tails[1:] != tails[:-1])
        total += int(np.count_nonzero(new & (heads > tails)))
    return total


def mark_edges(rows: Rows, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return which arcs are one of the edges, in either direction (bool, arcs)."""
    found = np.zeros(rows.num_arcs, np.bool_)
    for tail, head in ((src, dst), (dst, src)):
        here = (tail >= rows.first) & (tail < rows.last)
        row, head = tail[here] - rows.first, head[here]
        low = _lower(rows, row, head)
        high = _lower(rows, row, head + 1)
        while len(low):  # parallel edges stand side by side
            some = low < high
            low, high = low[some], high[some]
            found[low] = True
            low = low + 1
    return found


def mark_between(rows: Rows, vertices: np.ndarray) -> np.ndarray:
    """Return which arcs have both ends among some vertices (bool, arcs)."""
    chosen = np.zeros(rows.num_vertices, np.bool_)
    chosen[vertices] = True
    return chosen[rows.indices] & chosen[tails_of(rows)]


def _lower(rows: Rows, row: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Return the first arc of each row whose head is not smaller than one given."""
    low, high = rows.indptr[row], rows.indptr[row + 1]
    while (apart := low < high).any():
        middle = (low + high) // 2
        less = apart.copy()
        less[apart] = rows.indices[middle[apart]].astype(np.int64) < head[apart]
        low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
    return low
