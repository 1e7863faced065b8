"""Heavy edges, once light edges have made one giant component.

Any edge that can still be in the forest has an end outside the giant component,
so only the rows of vertices outside are read. In such a row the lightest arc to
the giant component makes every heavier arc superfluous, unless the other end's row
keeps it: with both ends joined to the giant component by lighter edges, the edge
is the heaviest of a cycle.
"""

import numpy as np

from .intrinsics import prefetch
from .jit import njit

ROWS_AHEAD = 6
PREFETCHED_ARCS = 48
# After so many arcs of a row in order, the rest of it is taken as it stands.
PROBES = 16


@njit(nogil=True, cache=True)
def lightest_from(keys, begin, end, low):
    """Return the first lightest arc of [begin, end) with key >= low, or -1."""
    largest = keys.dtype.type(~keys.dtype.type(0))
    least = largest
    # Unsigned indices let LLVM turn both loops into vector code.
    for arc in range(np.uint64(begin), np.uint64(end)):
        key = keys[arc]
        least = min(least, key if key >= low else largest)
    for arc in range(np.uint64(begin), np.uint64(end)):
        if keys[arc] == least:
            return np.int64(arc)
    return np.int64(-1)


@njit(nogil=True, cache=True)
def following(keys, arc, end, begin):
    """Return the arc of a row that comes after one in the order, or -1.

    The arcs of a row are ordered by (key, far end), and their far ends ascend.
    """
    for other in range(np.uint64(arc + 1), np.uint64(end)):
        if keys[other] == keys[arc]:
            return np.int64(other)
    if keys[arc] == ~keys.dtype.type(0):
        return np.int64(-1)
    return lightest_from(keys, begin, end, keys.dtype.type(keys[arc] + 1))


@njit(nogil=True, cache=True)
def _first_behind(indices, keys, begin, end, above, vertex):
    """Return the first arc of a row, in its order, behind a cut, or -1.

    The row's own vertex is not below `vertex`, so of the arcs with the key `above`
    those to vertices that are not either are still to come.
    """
    arc = lightest_from(keys, begin, end, above)
    while arc >= 0 and keys[arc] == above and indices[arc] < vertex:
        arc = following(keys, arc, end, begin)
    return arc


@njit(nogil=True, cache=True)
def grown(array, used, more):
    """Return an array twice as long and more, with what is used of this one."""
    larger = np.empty(2 * len(array) + PROBES + more, array.dtype)
    larger[:used] = array[:used]
    return larger


@njit(nogil=True, cache=True)
def fetch_ahead(indptr, indices, keys, rows, i, end):
    """Fetch what some rows ahead in a list of them begin with, up to place `end`."""
    if i + 2 * ROWS_AHEAD < end:
        prefetch(indptr, np.intp(rows[i + 2 * ROWS_AHEAD]))
    if i + ROWS_AHEAD < end:
        ahead = np.intp(indptr[rows[i + ROWS_AHEAD]])
        for line in range(PREFETCHED_ARCS // 16):
            prefetch(keys, ahead + 16 * line)
            prefetch(indices, ahead + 16 * line)


@njit(nogil=True, cache=True)
def heavy_edges(indptr, indices, keys, root, giant, above, vertex, vertices):
    """Return the edges of some rows outside the giant component that may matter.

    Parameters
    ----------
    indptr, indices, keys : ndarray
        The rows of the whole graph.
    root : ndarray of uint32, shape (rows,)
        The component of each vertex.
    giant : int
        The giant component.
    above, vertex : same type as `keys`, int
        Edges before this cut (`cuts.Cut`) have been dealt with.
    vertices : ndarray of uint32
        Vertices outside the giant component.

    Returns
    -------
    u, v, key : ndarray
        Edges between different components, u < v; one may occur from both ends.
    """
    u, v = np.empty(0, indices.dtype), np.empty(0, indices.dtype)
    key = np.empty(0, keys.dtype)
    used = np.uint64(0)
    heavier = keys.dtype.type(above + 1)
    for i in range(len(vertices)):
        fetch_ahead(indptr, indices, keys, vertices, i, len(vertices))
        tail = np.uint64(vertices[i])
        begin, end = indptr[tail], indptr[tail + np.uint64(1)]
        if used + np.uint64(PROBES + end - begin) > np.uint64(len(key)):
            more = end - begin + len(vertices)
            u, v = grown(u, used, more), grown(v, used, more)
            key = grown(key, used, more)
        # Walk the row in its order until an arc leads to the giant component.
        if tail >= np.uint64(vertex):
            arc = _first_behind(indices, keys, begin, end, above, vertex)
        elif heavier > above:
            arc = lightest_from(keys, begin, end, heavier)
        else:
            arc = np.int64(-1)  # nothing is heavier than the largest key
        for _ in range(PROBES):
            if arc < 0:
                break
            head = np.uint64(indices[arc])
            u[used], v[used], key[used] = min(tail, head), max(tail, head), keys[arc]
            used += np.uint64(root[head] != root[tail])
            arc = -1 if root[head] == giant else following(keys, arc, end, begin)
        if arc >= 0:
            for other in range(begin, end):
                head = np.uint64(indices[other])
                u[used], v[used] = min(tail, head), max(tail, head)
                key[used] = keys[other]
                apart = root[head] != root[tail]
                used += np.uint64(keys[other] >= keys[arc] and apart)
    return u[:used], v[:used], key[:used]
