"""The edges of a band that lead from one known component to another."""

import numpy as np

from ...kernels.hooks import HALF, NUMBER
from ...kernels.jit import njit


@njit(nogil=True, cache=True)
def between(indptr, indices, keys, component, low, high, begin, end, u, v, key, pairs):
    """Write the edges of some rows between components; return how many there are.

    Where components are few, that is a lookup for each arc and little else.

    Parameters
    ----------
    indptr, indices, keys : ndarray
        The rows of the whole graph.
    component : ndarray of uint32, shape (rows,)
        See `hooks.NUMBER`.
    low, high : same type as `keys`
        The band: low <= key <= high.
    begin, end : int
        The rows to look at.
    u, v, key, pairs : ndarray
        Room for as many edges as there are arcs, and one: an edge is taken from the
        row of its smaller end, in (u, v) order, with both components in one word.
    """
    used = np.uint64(0)
    for row in range(np.uint64(begin), np.uint64(end)):
        a = np.uint64(component[row] & NUMBER)
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])):
            head = np.uint64(indices[arc])
            if head > row and low <= keys[arc] <= high:
                b = np.uint64(component[head] & NUMBER)
                u[used], v[used], key[used] = row, head, keys[arc]
                pairs[used] = (a << HALF) | b
                used += np.uint64(a != b)
    return used
