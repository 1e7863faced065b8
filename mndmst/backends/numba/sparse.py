"""All edges of sparse rows, in one pass without branches on what the rows hold.

Rows of road-like graphs have one to four arcs. A loop over so few is mispredicted at
nearly every row, so the pass looks at four places in any case and counts what is there.
"""

import numpy as np
from numba import njit

# Rows with more arcs are looped over.
UNROLLED = np.uint64(4)


@njit(nogil=True, inline="always")
def _look_at(indices, keys, row, arc, inside, least, head, u, v, key, used):
    """Append an arc to a larger vertex; return the lightest so far, and the count.

    An arc that is not inside the row changes nothing.
    """
    other, weight = np.uint64(indices[arc]), keys[arc]
    lighter = inside & (other != row) & ((weight < least) | (head == row))
    # Written in any case, kept by the count
    u[used], v[used], key[used] = row, other, weight
    used += np.uint64(inside & (other > row))
    return weight if lighter else least, other if lighter else head, used


@njit(nogil=True, cache=True)
def all_edges(indptr, indices, keys, begin, end, hook, best, u, v, key):
    """Return all edges of some rows of the whole graph, and hook these rows.

    Parameters
    ----------
    indptr, indices, keys : ndarray
        CSR rows (`graph.Rows`) with at least one arc.
    begin, end : int
        The rows to look at, so that threads can share them.
    hook : ndarray of uint32, shape (rows,)
        Set to the far end of each row's lightest arc but for loops; to the row itself
        if there is none.
    best : ndarray like `keys`, shape (rows,)
        Set to the key of that arc.
    u, v, key : ndarray
        Room for one more than the edges.

    Returns
    -------
    u, v, key : ndarray
        Edges from a row to a larger vertex, in (u, v) order.
    """
    used = np.uint64(0)
    final = np.uint64(len(keys) - 1)
    first = np.uint64(indptr[begin])
    for row in range(np.uint64(begin), np.uint64(end)):
        last = np.uint64(indptr[row + np.uint64(1)])
        least, head = ~keys.dtype.type(0), row
        if last - first <= UNROLLED:
            for step in range(UNROLLED):
                place = first + step
                least, head, used = _look_at(
                    indices, keys, row, min(place, final), place < last, least, head,
                    u, v, key, used,
                )  # fmt: skip
        else:
            for arc in range(first, last):
                least, head, used = _look_at(
                    indices, keys, row, arc, True, least, head, u, v, key, used
                )
        hook[row], best[row] = head, least
        first = last
    return u[:used], v[:used], key[:used]
