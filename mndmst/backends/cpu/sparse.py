"""All edges of sparse rows, in one pass without branches on what the rows hold.

Rows of road-like graphs have one to four arcs. A loop over so few is mispredicted at
nearly every row, so the pass always reads four arcs and counts the arcs of the row.
What few rows have, arcs to ghosts before the first row, is left to a pass of its own.
"""

import numpy as np

from ...kernels.intrinsics import choose
from ...native.kernel import kernel

# Rows with more arcs are looped over.
UNROLLED = np.uint64(4)


@kernel(inline="always")
def _lighter(arc, inside, vertex, least, head):
    """Return the key and the far end of the lightest arc so far.

    Parameters
    ----------
    arc : (uint64, uint64)
        The far end of the next one, and its key.
    inside : bool
        Whether it is in the row; else it changes nothing.
    """
    other, weight = arc
    lighter = inside & (other != vertex) & ((weight < least) | (head == vertex))
    return choose(lighter, weight, least), choose(lighter, other, head)


@kernel
def all_edges(csr, begin, end, hooks, room):
    """Return all edges of some rows to larger vertices, and hook these rows.

    Parameters
    ----------
    csr : Csr
        Rows with at least one arc.
    begin, end : int
        The rows to look at, so that threads can share them.
    hooks : Hooks
        Set to the row at the far end of each row's lightest arc but for loops, and to
        the key of that arc; to the row itself if there is none, or if it leads to a
        ghost.
    room : EdgeColumns
        Room for one more than the edges.

    Returns
    -------
    u, v, key : ndarray
        Edges from a row to a larger vertex, in (u, v) order.
    """
    first, indptr, indices, keys = csr
    hook, best = hooks
    u, v, key = room
    used = np.uint64(0)
    before, rows = np.uint64(first), np.uint64(len(hook))
    final = np.uint64(len(keys) - 1)
    start = np.uint64(indptr[begin])
    for row in range(np.uint64(begin), np.uint64(end)):
        vertex, stop = before + row, np.uint64(indptr[row + np.uint64(1)])
        least, head = ~np.uint64(0), vertex
        if stop - start <= UNROLLED:
            for step in range(UNROLLED):
                arc, inside = min(start + step, final), start + step < stop
                other, weight = np.uint64(indices[arc]), np.uint64(keys[arc])
                # Written in any case, kept by the count
                u[used], v[used], key[used] = vertex, other, weight
                used += np.uint64(inside & (other > vertex))
                least, head = _lighter((other, weight), inside, vertex, least, head)
        else:
            for arc in range(start, stop):
                other, weight = np.uint64(indices[arc]), np.uint64(keys[arc])
                u[used], v[used], key[used] = vertex, other, weight
                used += np.uint64(other > vertex)
                least, head = _lighter((other, weight), True, vertex, least, head)
        local = head - before  # wraps around for a smaller ghost
        hook[row], best[row] = local if local < rows else row, least
        start = stop
    return u[:used], v[:used], key[:used]


@kernel
def lower_edges(csr, begin, end):
    """Return all edges (ghost, row, key) of some rows to ghosts before the first row.

    They are in the order of the rows; within a row ghosts come first, as ids ascend.
    """
    first, indptr, indices, keys = csr
    before, count = np.uint64(first), np.uint64(0)
    for row in range(np.uint64(begin), np.uint64(end)):
        arc, stop = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        while arc < stop and np.uint64(indices[arc]) < before:
            arc, count = arc + np.uint64(1), count + np.uint64(1)
    u, v = np.empty(count, indices.dtype), np.empty(count, indices.dtype)
    key = np.empty(count, keys.dtype)
    count = np.uint64(0)
    for row in range(np.uint64(begin), np.uint64(end)):
        arc, stop = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        while arc < stop and np.uint64(indices[arc]) < before:
            u[count], v[count], key[count] = indices[arc], before + row, keys[arc]
            arc, count = arc + np.uint64(1), count + np.uint64(1)
    return u, v, key
