"""Walks over heavier arcs, once light edges have made one giant component.

An edge that can still be in the forest has an end outside the giant component, so
only the rows of vertices outside are walked. In such a row the lightest arc into the
giant component makes every heavier arc superfluous, unless the row of the other end
keeps it: with both ends joined to the giant component by lighter edges, the edge is
the heaviest of a cycle.
"""

from typing import NamedTuple

import numpy as np

from ..native.kernel import kernel
from .intrinsics import copy_memory, prefetch

ROWS_AHEAD = 6
PREFETCHED_ARCS = 48
# Arcs of a row visited in order; further arcs are taken as they are stored.
PROBES = 16
UNKNOWN = -1


class GiantComponent(NamedTuple):
    """The components of vertices, as far as this rank knows them."""

    label: np.ndarray  # uint32 or int64: the component of each row's vertex
    giant: int  # the giant component
    # a bit for each vertex of the graph, lowest first: not in the giant component;
    # empty if nothing is known of ghosts
    outside: np.ndarray

    @classmethod
    def of_rows(cls, label: np.ndarray, giant: int) -> "GiantComponent":
        """Return the components of rows; nothing is known of ghosts."""
        return cls(label, int(giant), np.empty(0, np.uint8))


class Arcs(NamedTuple):
    """Arcs, and the component of each head, or UNKNOWN (int64)."""

    tail: np.ndarray
    head: np.ndarray
    key: np.ndarray
    head_component: np.ndarray


# These kernels take single arrays instead of tuples of them: reading an array from a
# tuple counts a reference, which costs time if done for every arc.
@kernel
def _component(vertex, first, label, giant, outside):
    """Return the component of a vertex, as far as it is known here."""
    row = np.uint64(vertex) - np.uint64(first)
    if row < np.uint64(len(label)):
        return np.int64(label[row])
    byte, bit = np.uint64(vertex) >> np.uint64(3), np.uint8(vertex & 7)
    if byte < np.uint64(len(outside)) and not (outside[byte] >> bit) & 1:
        return np.int64(giant)
    return np.int64(UNKNOWN)


@kernel
def _prefetch(indptr, indices, keys, rows, i):
    """Fetch the bounds and the first arcs of rows ahead in a list."""
    if i + 2 * ROWS_AHEAD < len(rows):
        prefetch(indptr, np.intp(rows[i + 2 * ROWS_AHEAD]))
    if i + ROWS_AHEAD < len(rows):
        ahead = np.intp(indptr[rows[i + ROWS_AHEAD]])
        for line in range(PREFETCHED_ARCS // 16):
            prefetch(keys, ahead + 16 * line)
            prefetch(indices, ahead + 16 * line)


@kernel
def _first_at(indices, keys, begin, end, above, vertex):
    """Return the first arc of a row behind its arcs with a key to lower vertices."""
    arc = lightest_from(keys, begin, end, above)
    while arc >= 0 and keys[arc] == above and indices[arc] < vertex:
        arc = next_in_order(keys, arc, end, begin)
    return arc


@kernel
def _grown(array, used, more):
    """Return a longer array that begins with the used part of this one."""
    larger = np.empty(2 * len(array) + more, array.dtype)
    copy_memory(larger, array, used)
    return larger


@kernel
def heavier_arcs(csr, components, above, vertex, rows):
    """Return the arcs of some rows outside the giant component that may matter.

    Each row is walked in its order until an arc leads to the giant component. Edges up
    to the key `above` have been dealt with, except those with this key between vertices
    that are both not below `vertex`.

    Returns arcs that leave the component of their tail; see `Arcs`.
    """
    first, indptr, indices, keys = csr
    label, giant, outside = components
    room = 2 * len(rows) + 64  # unused pages stay untouched
    tail, head = np.empty(room, indices.dtype), np.empty(room, indices.dtype)
    key, head_component = np.empty(room, keys.dtype), np.empty(room, np.int64)
    used = np.uint64(0)
    heavier = keys.dtype.type(above + 1)
    for i in range(len(rows)):
        _prefetch(indptr, indices, keys, rows, i)
        row = np.uint64(rows[i])
        begin, end = indptr[row], indptr[row + np.uint64(1)]
        if used + np.uint64(PROBES + end - begin) > np.uint64(len(key)):
            more = PROBES + end - begin + len(rows)
            tail, head = _grown(tail, used, more), _grown(head, used, more)
            key, head_component = (
                _grown(key, used, more),
                _grown(head_component, used, more),
            )
        here, component = np.uint64(first) + row, np.int64(label[row])
        if here >= np.uint64(vertex):
            arc = _first_at(indices, keys, begin, end, above, vertex)
        elif heavier > above:
            arc = lightest_from(keys, begin, end, heavier)
        else:
            arc = np.int64(-1)  # nothing is heavier than the largest key
        for _ in range(PROBES):
            if arc < 0:
                break
            other = _component(indices[arc], first, label, giant, outside)
            tail[used], head[used], key[used] = here, indices[arc], keys[arc]
            head_component[used] = other
            used += np.uint64(other != component)
            arc = -1 if other == giant else next_in_order(keys, arc, end, begin)
        if arc >= 0:
            for place in range(np.uint64(begin), np.uint64(end)):
                other = _component(indices[place], first, label, giant, outside)
                tail[used], head[used] = here, indices[place]
                key[used], head_component[used] = keys[place], other
                used += np.uint64((keys[place] >= keys[arc]) & (other != component))
    return tail[:used], head[:used], key[:used], head_component[:used]


@kernel
def heavier_edges(csr, components, above, vertex, rows):
    """Return the arcs of `heavier_arcs` as edges: u, v, key, with u < v."""
    u, v, key, _ = heavier_arcs(csr, components, above, vertex, rows)
    for i in range(np.uint64(len(key))):
        u[i], v[i] = min(u[i], v[i]), max(u[i], v[i])
    return u, v, key


@kernel
def cut_arcs(csr, above, begin, end):
    """Return the arcs of the rows [begin, end) behind a key that lead out of all rows.

    They are for ranks that ask no other rank: ghosts are unknown, and they do not
    search, so all arcs to them may matter.
    """
    first, indptr, indices, keys = csr
    before, rows = np.uint64(first), np.uint64(len(indptr) - 1)
    border = np.empty(end - begin, np.uint32)  # unused pages stay untouched
    count, room = np.uint64(0), np.int64(1)  # one to spare for a write that is undone
    for row in range(np.uint64(begin), np.uint64(end)):
        low, high = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        if low == high:
            continue
        # Heads ascend, so the first and the last tell of all.
        lowest = np.uint64(indices[low]) - before
        highest = np.uint64(indices[high - np.uint64(1)]) - before
        if lowest >= rows or highest >= rows:
            border[count] = row
            count += np.uint64(1)
            room += np.int64(high - low)
    tail, head = np.empty(room, indices.dtype), np.empty(room, indices.dtype)
    key = np.empty(room, keys.dtype)
    used = np.uint64(0)
    for row in border[:count]:
        for arc in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            vertex = np.uint64(indices[arc])
            tail[used], head[used] = before + np.uint64(row), vertex
            key[used] = keys[arc]
            used += np.uint64((vertex - before >= rows) & (keys[arc] > above))
    return tail[:used], head[:used], key[:used]


@kernel
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


@kernel
def next_in_order(keys, arc, end, begin):
    """Return the arc of a row that comes after one in the order, or -1.

    The arcs of a row are ordered by (key, head), and their heads ascend.
    """
    for other in range(np.uint64(arc + 1), np.uint64(end)):
        if keys[other] == keys[arc]:
            return np.int64(other)
    if keys[arc] == ~keys.dtype.type(0):
        return np.int64(-1)
    return lightest_from(keys, begin, end, keys.dtype.type(keys[arc] + 1))
