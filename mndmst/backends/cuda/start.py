"""Start a GPU: its context, its compiled kernels and the libraries that they take."""

import numpy as np

from ...graph.model import ReducedGraph, Rows
from ...kernels.numbering import compact
from ..base import Backend, Band


def run_every_step(backend: Backend, ids: np.dtype, keys: np.dtype) -> None:
    """Take every step on a tiny graph; what has to be compiled is, or is loaded."""
    rows = _clique(64, ids, keys)
    backend.msf(backend.place(rows))
    part = rows.cut(8, 40)
    placed = backend.place(part)
    middle = int(np.median(part.keys))
    edges = backend.band_forest(placed, Band(None, middle), None)
    backend.band_forest(placed, Band(middle, None), np.arange(8, 40))
    for band in (Band(None, middle), Band()):
        backend.grow_rows(placed, band)
    backend.row_hooks(placed, Band(None, middle))
    labels, a, b = compact(edges.u, edges.v, 8, 40)
    graph = ReducedGraph(edges, a, b, labels, (labels >= 8) & (labels < 40))
    backend.grow(graph)
    backend.forest(graph)


def _clique(size: int, ids: np.dtype, keys: np.dtype) -> Rows:
    """Return a complete graph, dense enough for the light band."""
    row = np.arange(size, dtype=ids)
    indices = np.concatenate([np.delete(row, i) for i in range(size)])
    tails = np.repeat(row, size - 1)
    weights = (np.minimum(tails, indices) * 7 + np.maximum(tails, indices) * 3) % 31
    # Wide keys take all of their bits, so that the sort has runs to put right.
    spread = weights.astype(keys) << keys.type(8 * keys.itemsize - 6)
    indptr = np.arange(size + 1, dtype=np.int64) * (size - 1)
    return Rows(0, size, indptr, indices, spread)
