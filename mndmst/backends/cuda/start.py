"""A tiny graph to start a GPU with: its context, its kernels and their libraries."""

import numpy as np

from ...graph.model import Rows


def complete_graph(size: int, ids: np.dtype, keys: np.dtype) -> Rows:
    """Return a complete graph, dense enough for a light band."""
    row = np.arange(size, dtype=ids)
    indices = np.concatenate([np.delete(row, i) for i in range(size)])
    tails = np.repeat(row, size - 1)
    weights = (np.minimum(tails, indices) * 7 + np.maximum(tails, indices) * 3) % 31
    # Wide keys take all of their bits, so that the sort has runs to put right.
    spread = weights.astype(keys) << keys.type(8 * keys.itemsize - 6)
    indptr = np.arange(size + 1, dtype=np.int64) * (size - 1)
    return Rows(0, size, indptr, indices, spread)
