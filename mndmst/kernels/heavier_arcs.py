"""Search of heavier arcs, once light edges have made one giant component.

An edge that can still be in the forest has an end outside the giant component, so only
the rows of vertices outside are searched, up to the lightest arc into the giant
component. A heavier arc is in the result only if the row of its other end yields it: if
lighter edges connect both its ends with the giant component, it is the heaviest edge of
a cycle.
"""

from typing import NamedTuple

import numpy as np

from ..native.kernel import kernel
from .intrinsics import copy_memory, prefetch

ROWS_AHEAD = 6
PREFETCHED_ARCS = 48
# Arcs of a row that are visited in ascending order; then all heavier arcs are taken.
PROBES = 16
UNKNOWN = -1


class GiantComponent(NamedTuple):
    """The components of the rows' vertices, and ghosts in the giant component."""

    label: np.ndarray  # uint32 or int64: the component of each row's vertex
    giant: int  # the giant component
    # a bit for each vertex of the graph, lowest first, set outside the giant component;
    # empty if the components of ghosts are unknown
    outside: np.ndarray

    @classmethod
    def of_rows(cls, label: np.ndarray, giant: int) -> "GiantComponent":
        """Return the components of rows; those of ghosts are unknown."""
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
    """Return the component of a vertex, or UNKNOWN."""
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
    """Return the row's first arc in the order from (key `above`, head `vertex`) on."""
    arc = lightest_from(keys, begin, end, above)
    while arc >= 0 and keys[arc] == above and indices[arc] < vertex:
        arc = next_in_order(keys, arc, end, begin)
    return arc


@kernel
def _enlarged(array, used, more):
    """Return a longer array that begins with the used part of this one."""
    larger = np.empty(2 * len(array) + more, array.dtype)
    copy_memory(larger, array, used)
    return larger


@kernel
def heavier_arcs(csr, components, above, vertex, rows):
    """Return the arcs of rows outside the giant component that may be forest edges.

    Each row is searched in ascending order up to an arc into the giant component. Edges
    up to the key `above` have been contracted, except edges with this key whose ends
    are both at least `vertex`.

    Returns arcs that leave the component of their tail; see `Arcs`.
    """
    first, indptr, indices, keys = csr
    label, giant, outside = components
    capacity = 2 * len(rows) + 64  # unused pages stay untouched
    tail, head = np.empty(capacity, indices.dtype), np.empty(capacity, indices.dtype)
    key, head_component = np.empty(capacity, keys.dtype), np.empty(capacity, np.int64)
    used = np.uint64(0)
    heavier = keys.dtype.type(above + 1)
    for i in range(len(rows)):
        _prefetch(indptr, indices, keys, rows, i)
        row = np.uint64(rows[i])
        begin, end = indptr[row], indptr[row + np.uint64(1)]
        if used + np.uint64(PROBES + end - begin) > np.uint64(len(key)):
            extra = PROBES + end - begin + len(rows)
            tail, head = _enlarged(tail, used, extra), _enlarged(head, used, extra)
            key, head_component = (
                _enlarged(key, used, extra),
                _enlarged(head_component, used, extra),
            )
        here, component = np.uint64(first) + row, np.int64(label[row])
        if here >= np.uint64(vertex):
            arc = _first_at(indices, keys, begin, end, above, vertex)
        elif heavier > above:
            arc = lightest_from(keys, begin, end, heavier)
        else:
            arc = np.int64(-1)  # no key is above the largest one
        for _ in range(PROBES):
            if arc < 0:
                break
            other = _component(indices[arc], first, label, giant, outside)
            tail[used], head[used], key[used] = here, indices[arc], keys[arc]
            head_component[used] = other
            used += np.uint64(other != component)
            arc = -1 if other == giant else next_in_order(keys, arc, end, begin)
        if arc >= 0:
            for further in range(np.uint64(begin), np.uint64(end)):
                other = _component(indices[further], first, label, giant, outside)
                tail[used], head[used] = here, indices[further]
                key[used], head_component[used] = keys[further], other
                used += np.uint64((keys[further] >= keys[arc]) & (other != component))
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
    """Return the arcs of the rows [begin, end) above a key that lead to ghosts.

    A rank without information on ghosts takes all of them: no other rank searches the
    rows of ghosts for it.
    """
    first, indptr, indices, keys = csr
    before, rows = np.uint64(first), np.uint64(len(indptr) - 1)
    border = np.empty(end - begin, np.uint32)  # unused pages stay untouched
    count, capacity = (
        np.uint64(0),
        np.int64(1),
    )  # one to spare for a write that is undone
    for row in range(np.uint64(begin), np.uint64(end)):
        low, high = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        if low == high:
            continue
        # Heads ascend, so the first and the last head decide.
        lowest = np.uint64(indices[low]) - before
        highest = np.uint64(indices[high - np.uint64(1)]) - before
        if lowest >= rows or highest >= rows:
            border[count] = row
            count += np.uint64(1)
            capacity += np.int64(high - low)
    tail, head = np.empty(capacity, indices.dtype), np.empty(capacity, indices.dtype)
    key = np.empty(capacity, keys.dtype)
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
    """Return the next arc of a row in the order (key, head), or -1.

    The heads of the row ascend.
    """
    for other in range(np.uint64(arc + 1), np.uint64(end)):
        if keys[other] == keys[arc]:
            return np.int64(other)
    if keys[arc] == ~keys.dtype.type(0):
        return np.int64(-1)
    return lightest_from(keys, begin, end, keys.dtype.type(keys[arc] + 1))
