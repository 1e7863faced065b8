"""Heavy edges, once light edges have made one giant component.

Any edge that can still be in the forest has an end outside the giant component,
so only the rows of vertices outside are read. In such a row the lightest arc to
the giant component makes every heavier arc superfluous, unless the other end's row
keeps it: with both ends joined to the giant component by lighter edges, the edge
is the heaviest of a cycle.
"""

import numpy as np
from numba import njit

from .intrinsics import prefetch

ROWS_AHEAD = 6


@njit(nogil=True, cache=True)
def lightest_above(keys, begin, end, above):
    """Return the first lightest arc of [begin, end) with key > above, or -1."""
    largest = ~keys.dtype.type(0)
    least = largest
    for arc in range(begin, end):
        key = keys[arc]
        least = min(least, key if key > above else largest)
    for arc in range(begin, end):
        if keys[arc] == least:
            return arc if least > above else -1
    return -1


@njit(nogil=True, cache=True)
def _lightest_to(keys, indices, begin, end, above, root, component):
    """Return the first lightest arc above a key into a component, or -1."""
    found = -1
    for arc in range(begin, end):
        key = keys[arc]
        lighter = key > above and (found < 0 or key < keys[found])
        if lighter and root[indices[arc]] == component:
            found = arc
    return found


@njit(nogil=True, cache=True)
def _grown(array, used):
    larger = np.empty(2 * len(array), array.dtype)
    larger[:used] = array[:used]
    return larger


@njit(nogil=True, cache=True)
def heavy_arcs(indptr, indices, keys, root, giant, above, vertices):
    """Return the arcs of some rows outside the giant component that may matter.

    Parameters
    ----------
    indptr, indices, keys : ndarray
        The rows of the whole graph.
    root : ndarray of uint32, shape (rows,)
        The component of each vertex.
    giant : int
        The giant component.
    above : same type as `keys`
        Edges up to this key have been dealt with.
    vertices : ndarray of int64
        Vertices outside the giant component.

    Returns
    -------
    tail, arc : ndarray of int64
        Rows and arcs between different components; an edge may occur from both
        ends.
    """
    tail = np.empty(len(vertices) + 64, np.int64)
    arcs = np.empty(len(vertices) + 64, np.int64)
    used = 0
    for i in range(len(vertices)):
        if i + 2 * ROWS_AHEAD < len(vertices):
            prefetch(indptr, np.intp(vertices[i + 2 * ROWS_AHEAD]))
        if i + ROWS_AHEAD < len(vertices):
            prefetch(keys, np.intp(indptr[vertices[i + ROWS_AHEAD]]))
        u = vertices[i]
        begin, end = indptr[u], indptr[u + 1]
        last = lightest_above(keys, begin, end, above)
        if last < 0:
            continue
        lightest_is_last = root[indices[last]] == giant
        if not lightest_is_last:
            last = _lightest_to(keys, indices, begin, end, above, root, giant)
        # Take what is not after `last` in the order of the row: (key, far end).
        for arc in range(last if lightest_is_last else begin, end):
            key = keys[arc]
            if key <= above or root[indices[arc]] == root[u]:
                continue
            if last >= 0 and arc != last:
                if key > keys[last] or (key == keys[last] and arc > last):
                    continue
                if root[indices[arc]] == giant:
                    continue
            if used == len(arcs):
                tail, arcs = _grown(tail, used), _grown(arcs, used)
            tail[used] = u
            arcs[used] = arc
            used += 1
            if lightest_is_last:
                break
    return tail[:used], arcs[:used]


@njit(nogil=True, cache=True)
def next_lightest(indptr, indices, keys, first, vertices, after_key, after_end, arcs):
    """Write for each row its lightest arc after (after_key, after_end), or -1.

    See `Backend.next_lightest`; `arcs` (int64) takes the arcs' positions.
    """
    for i in range(len(vertices)):
        if i + ROWS_AHEAD < len(vertices):
            prefetch(keys, np.intp(indptr[vertices[i + ROWS_AHEAD] - first]))
        row = vertices[i] - first
        found = -1
        for arc in range(indptr[row], indptr[row + 1]):
            key = keys[arc]
            if key < after_key[i] or (found >= 0 and key >= keys[found]):
                continue
            head = np.int64(indices[arc])
            if head == vertices[i] or (key == after_key[i] and head <= after_end[i]):
                continue
            found = arc
        arcs[i] = found
