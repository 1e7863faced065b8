"""Scan the rows of the pieces that deletions cut off, for edges that leave them."""

from typing import NamedTuple

import numpy as np

from ...graph.model import EdgeColumns
from ...kernels.intrinsics import prefetch, set_bits, trailing_zeros
from ...kernels.kruskal import HALF
from ...native.kernel import kernel
from .arcs import delta_of, merge_row

ONE, SIX, LAST = np.uint64(1), np.uint64(6), np.uint64(63)
# Rows from the one in use to the one whose weights are prefetched; weights of a line.
AHEAD, NEXT_LINE = 12, 16
# Slots for pairs of pieces; all slots fit the cache of a core.
SLOT_BITS = 12
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Marked(NamedTuple):
    """The vertices of some pieces, as a bitmap with ranks."""

    bits: np.ndarray  # uint64: a bit for each vertex of the graph
    # uint32: for each word, the number of bits set in the words before it
    before: np.ndarray
    # uint32: the piece of each vertex whose bit is set, ascending by vertex
    piece: np.ndarray


class PieceEdgeColumns(NamedTuple):
    """Edges from the pieces `p` to other pieces `q` (uint32)."""

    p: np.ndarray
    q: np.ndarray
    edges: EdgeColumns


@kernel
def mark(vertices, pieces, marked):
    """Fill in the pieces of vertices; all bits are 0 before."""
    bits, before, piece = marked
    for vertex in vertices:
        bits[vertex >> SIX] |= ONE << (vertex & LAST)
    count = np.uint64(0)
    for word in range(len(bits)):
        before[word] = count
        count += set_bits(bits[word])
    for i in range(len(vertices)):
        piece[_number(marked, np.uint64(vertices[i]))] = pieces[i]


@kernel
def _number(marked, vertex):
    """Return the number of smaller marked vertices."""
    word = marked.bits[vertex >> SIX]
    below = word & ((ONE << (vertex & LAST)) - ONE)
    return np.uint64(marked.before[vertex >> SIX]) + set_bits(below)


@kernel
def marked_rows(marked, first, last):
    """Return the marked vertices in [first, last), ascending."""
    first, last = np.uint64(first), np.uint64(last)
    rows = np.empty(len(marked.piece), np.uint32)
    count = 0
    for word in range(first >> SIX, (last + LAST) >> SIX):
        bits = marked.bits[word]
        while bits:
            vertex = word << SIX | trailing_zeros(bits)
            bits &= bits - ONE
            if first <= vertex < last:
                rows[count] = vertex
                count += 1
    return rows[:count]


@kernel
def scan_rows(csr, delta, marked, largest, rows, lightest, evicted):
    """Find edges that leave the pieces of some rows.

    An edge between two pieces is dropped if it is heavier than the lightest edges so
    far from both of them to the largest piece of their tree: it is the heaviest edge of
    a cycle. The row of each end compares it with the edge of its piece. Most arcs are
    heavier, so only their weights are read.

    `marked` has the vertices of all pieces except the largest ones, and `largest` has
    for each piece the largest one of its tree; `rows` ascends. `lightest` has two
    `PieceEdgeColumns`: by piece, the lightest edge so far to the largest piece of its
    tree; and, by a hash of two other pieces, the lightest edge so far between them. In
    an empty entry `q` is 0 and the key the largest. `evicted` gets the edges that edges
    of other pieces replace in the hash table.

    Returns the number of rows scanned until `evicted` could not hold the edges of one
    more, and the number of edges in `evicted`.
    """
    nearest, between = lightest
    near_key = nearest.edges.key
    bits, _, piece = marked
    removed_count, new_count, capacity = (
        len(delta.removed),
        len(delta.arc),
        len(evicted.p),
    )
    row_heads = np.empty(capacity, csr.indices.dtype)
    row_keys = np.empty(capacity, near_key.dtype)
    count = 0
    first_row = np.int64(rows[0]) - csr.first if len(rows) else 0
    skip, stop = delta_of(csr, delta, first_row)
    for i in range(len(rows)):
        if i + AHEAD < len(rows):
            ahead = csr.indptr[np.int64(rows[i + AHEAD]) - csr.first]
            prefetch(csr.keys, ahead)
            prefetch(csr.keys, ahead + NEXT_LINE)
        tail = np.uint64(rows[i])
        row = np.int64(tail) - csr.first
        begin, end = np.uint64(csr.indptr[row]), np.uint64(csr.indptr[row + 1])
        while skip < removed_count and np.uint64(delta.removed[skip]) < begin:
            skip += 1
        while stop < new_count and delta.arc[stop] >> HALF < tail:
            stop += 1
        first_new = stop
        while stop < new_count and delta.arc[stop] >> HALF == tail:
            stop += 1
        if count + np.int64(end - begin) + stop - first_new > capacity:
            return i, count
        more, less = (
            stop > first_new,
            skip < removed_count and np.uint64(delta.removed[skip]) < end,
        )
        heads, keys = csr.indices, csr.keys
        if more or less:
            heads, keys, out = row_heads, row_keys, (row_heads, row_keys, 0)
            _, _, length = merge_row(csr, delta, row, (skip, first_new), out)
            begin, end = np.uint64(0), np.uint64(length)
        p = np.uint64(piece[_number(marked, tail)])
        largest_piece, best = np.uint64(largest[p]), near_key[p]
        for at in range(begin, end):
            if keys[at] > best:
                continue
            head = np.uint64(heads[at])
            edge = min(tail, head), max(tail, head), keys[at]
            if bits[head >> SIX] >> (head & LAST) & ONE == 0:
                _lower(nearest, p, (p, largest_piece), edge)
                best = near_key[p]
                continue
            q = np.uint64(piece[_number(marked, head)])
            if q != p:
                count += _note_pair(between, evicted, count, (p, q), edge)
    return len(rows), count


@kernel
def _note_pair(between, evicted, count, pieces, edge):
    """Store an edge between two pieces in its slot, unless a lighter one is there.

    Returns whether an edge of other pieces had the slot; it is appended to `evicted`.
    """
    p, q = min(pieces[0], pieces[1]), max(pieces[0], pieces[1])
    mixed = (p << HALF | q) * MULTIPLIER
    slot = mixed >> np.uint64(64 - SLOT_BITS)
    if between.p[slot] == p and between.q[slot] == q:
        _lower(between, slot, (p, q), edge)
        return 0
    is_evicted = between.q[slot] != 0
    if is_evicted:
        u, v, key = between.edges
        old = u[slot], v[slot], key[slot]
        _write(evicted, count, (between.p[slot], between.q[slot]), old)
    _write(between, slot, (p, q), edge)
    return np.int64(is_evicted)


@kernel
def _lower(columns, slot, pieces, edge):
    """Store an edge in a slot that is empty or has a heavier edge."""
    u, v, key = columns.edges
    low, high, new = edge
    if columns.q[slot] != 0:
        if key[slot] < new:
            return
        if key[slot] == new and (u[slot], v[slot]) <= (low, high):
            return
    _write(columns, slot, pieces, edge)


@kernel
def _write(columns, slot, pieces, edge):
    columns.p[slot], columns.q[slot] = pieces
    u, v, key = columns.edges
    u[slot], v[slot], key[slot] = edge
