"""Heavy arcs of vertices outside the giant component, of rows that have ghosts.

As `finish.heavy_edges`, but of the far ends outside these rows it is only known
whether they are in the giant component, if anything is. And arcs to such far ends,
wherever they begin, for ranks that ask nobody.
"""

import numpy as np

from .finish import PROBES, fetch_ahead, following, grown, lightest_from
from .jit import njit

UNKNOWN = -1


@njit(nogil=True, cache=True)
def far_component(head, first, label, giant, outside):
    """Return the component of a vertex, as far as it is known here."""
    place = np.uint64(head) - np.uint64(first)
    if place < np.uint64(len(label)):
        return np.int64(label[place])
    byte, bit = np.uint64(head) >> np.uint64(3), np.uint8(head & 7)
    if byte < np.uint64(len(outside)) and not (outside[byte] >> bit) & 1:
        return np.int64(giant)
    return np.int64(UNKNOWN)


@njit(nogil=True, cache=True)
def heavy_arcs(
    indptr, indices, keys, first, label, giant, outside, above, rows, begin, end
):
    """Return the arcs of some rows outside the giant component that may matter.

    A row is walked in its order, beginning behind the key `above`, until an arc
    leads to the giant component.

    Parameters
    ----------
    indptr, indices, keys, first
        The rows (`graph.Rows`).
    label : ndarray of uint32 or int64, shape (rows,)
        The component of each row's vertex.
    giant : int
        The giant component.
    outside : ndarray of uint8
        A bit for each vertex of the graph, lowest first, that is not in the giant
        component; empty, if nothing is known of ghosts.
    rows : ndarray of uint32
        The rows to walk are those at the places [begin, end).

    Returns
    -------
    tail, head : ndarray of int64
    key : ndarray
    far : ndarray of int64
        The component of each head, or UNKNOWN.
    """
    room = 2 * (end - begin) + 64
    tail, head = np.empty(room, np.int64), np.empty(room, np.int64)
    key, far = np.empty(room, keys.dtype), np.empty(room, np.int64)
    used = np.uint64(0)
    if above == ~keys.dtype.type(0):
        end = begin  # nothing is heavier than the largest key
    heavier = keys.dtype.type(above + 1)
    for i in range(begin, end):
        fetch_ahead(indptr, indices, keys, rows, i, end)
        row = np.uint64(rows[i])
        low, high = indptr[row], indptr[row + np.uint64(1)]
        more = high - low
        if used + np.uint64(PROBES + more) > np.uint64(len(key)):
            tail, head = grown(tail, used, more), grown(head, used, more)
            key, far = grown(key, used, more), grown(far, used, more)
        near = np.int64(label[row])
        arc = lightest_from(keys, low, high, heavier)
        for _ in range(PROBES):
            if arc < 0:
                break
            other = far_component(indices[arc], first, label, giant, outside)
            tail[used], head[used] = np.int64(first) + np.int64(row), indices[arc]
            key[used], far[used] = keys[arc], other
            used += np.uint64(other != near)
            arc = -1 if other == giant else following(keys, arc, high, low)
        if arc >= 0:
            for rest in range(np.uint64(low), np.uint64(high)):
                other = far_component(indices[rest], first, label, giant, outside)
                tail[used], head[used] = np.int64(first) + np.int64(row), indices[rest]
                key[used], far[used] = keys[rest], other
                used += np.uint64(keys[rest] >= keys[arc] and other != near)
    return tail[:used], head[:used], key[:used], far[:used]


@njit(nogil=True, cache=True)
def cut_arcs(indptr, indices, keys, first, above, begin, end):
    """Return the arcs of the rows [begin, end) behind a key that lead out of all rows.

    Parameters
    ----------
    indptr, indices, keys, first
        The rows (`graph.Rows`).

    Returns
    -------
    tail, head : ndarray of int64
    key : ndarray
    """
    before, rows = np.uint64(first), np.uint64(len(indptr) - 1)
    border = np.empty(end - begin, np.uint32)  # what is not used is not touched
    count, room = np.uint64(0), np.int64(1)  # one to spare for a write that is undone
    for row in range(np.uint64(begin), np.uint64(end)):
        low, high = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        if low == high:
            continue
        # Far ends ascend, so the first and the last tell of all.
        lowest = np.uint64(indices[low]) - before
        highest = np.uint64(indices[high - np.uint64(1)]) - before
        if lowest >= rows or highest >= rows:
            border[count] = row
            count += np.uint64(1)
            room += np.int64(high - low)
    tail, head = np.empty(room, np.int64), np.empty(room, np.int64)
    key = np.empty(room, keys.dtype)
    used = np.uint64(0)
    for row in border[:count]:
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            far = np.uint64(indices[arc])
            tail[used], head[used] = np.int64(first) + np.int64(row), np.int64(far)
            key[used] = keys[arc]
            used += np.uint64((far - before >= rows) & (keys[arc] > above))
    return tail[:used], head[:used], key[:used]
