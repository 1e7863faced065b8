"""The edges of a band that lead from one known component to another."""

from typing import NamedTuple

import numpy as np

from ...kernels.hooks import HALF, NUMBER
from ...native.kernel import kernel


class BandEdges(NamedTuple):
    """Edges, and the components at both ends of each in one word (uint64)."""

    u: np.ndarray
    v: np.ndarray
    key: np.ndarray
    pairs: np.ndarray


@kernel
def joining_edges(csr, component, segment, out):
    """Write the edges of some rows between components; return how many there are.

    Where components are few, that is a lookup for each arc and little else.

    Parameters
    ----------
    csr : Csr
        The rows of the whole graph.
    component : ndarray of uint32, shape (rows,)
        See `hooks.NUMBER`.
    segment : cuts.Segment
        The rows to look at, and the band.
    out : BandEdges
        Room for as many edges as there are arcs, and one: an edge is taken from the
        row of its smaller end, in (u, v) order.
    """
    _, indptr, indices, keys = csr
    begin, end, low, high = segment
    u, v, key, pairs = out
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
