"""The rows of pieces that deletions have cut off, and the edges that leave them."""

from typing import NamedTuple

import numpy as np

from ...graph.model import EdgeColumns
from ...kernels.intrinsics import prefetch, set_bits, trailing_zeros
from ...kernels.kruskal import HALF
from ...native.kernel import kernel
from .arcs import delta_of, merge_row

ONE, SIX, LAST = np.uint64(1), np.uint64(6), np.uint64(63)
# How many rows ahead the weights are fetched, and where their next line may begin.
AHEAD, NEXT_LINE = 12, 16
# Slots for pairs of pieces; all slots fit the cache of a core.
SLOT_BITS = 12
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Marked(NamedTuple):
    """The vertices of some pieces, as bits that are looked up fast."""

    bits: np.ndarray  # uint64: a bit for each vertex of the graph
    # uint32: for each word, the number of bits set in the words before it
    before: np.ndarray
    # uint32: pieces of the vertices whose bits are set, ascending by vertex
    piece: np.ndarray


class Leaving(NamedTuple):
    """Edges from the pieces `p` to other pieces `q` (uint32)."""

    p: np.ndarray
    q: np.ndarray
    edges: EdgeColumns


@kernel
def mark(vertices, pieces, marked):
    """Fill in which vertices are in which pieces; all bits are 0 before."""
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
def scan_rows(csr, delta, marked, largest, rows, found, leaving):
    """Find edges that leave the pieces of some rows.

    An edge between two pieces is left out if it is heavier than the lightest edges
    found that join both with the largest piece of their tree: it is the last of a
    cycle. The row of each end is asked about its own piece, so either may note it. Most
    arcs are heavier, and nothing but their weights is read.

    `marked` has the vertices of all pieces but the largest ones, `largest` for each
    piece the largest one of its tree; `rows` ascends. `found` is two `Leaving`: by
    piece, the lightest edge found that leads to the largest piece of its tree; and, by
    a hash of two other pieces, the lightest edge between them. Where there is none, `q`
    is 0 and the key the largest. `leaving` is filled with edges that have lost their
    place in `found` to other pieces.

    Returns the number of rows scanned before there was no room for one more, and the
    number of edges written.
    """
    nearest, between = found
    near_key = nearest.edges.key
    bits, _, piece = marked
    gone, come, room = len(delta.gone), len(delta.arc), len(leaving.p)
    row_heads = np.empty(room, csr.indices.dtype)
    row_keys = np.empty(room, near_key.dtype)
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
        while skip < gone and np.uint64(delta.gone[skip]) < begin:
            skip += 1
        while stop < come and delta.arc[stop] >> HALF < tail:
            stop += 1
        new = stop
        while stop < come and delta.arc[stop] >> HALF == tail:
            stop += 1
        if count + np.int64(end - begin) + stop - new > room:
            return i, count
        more, less = stop > new, skip < gone and np.uint64(delta.gone[skip]) < end
        heads, keys = csr.indices, csr.keys
        if more or less:
            heads, keys, out = row_heads, row_keys, (row_heads, row_keys, 0)
            _, _, length = merge_row(csr, delta, row, (skip, new), out)
            begin, end = np.uint64(0), np.uint64(length)
        p = np.uint64(piece[_number(marked, tail)])
        home, best = np.uint64(largest[p]), near_key[p]
        for at in range(begin, end):
            if keys[at] > best:
                continue
            head = np.uint64(heads[at])
            edge = min(tail, head), max(tail, head), keys[at]
            if bits[head >> SIX] >> (head & LAST) & ONE == 0:
                _lower(nearest, p, (p, home), edge)
                best = near_key[p]
                continue
            q = np.uint64(piece[_number(marked, head)])
            if q != p:
                count += _note(between, leaving, count, (p, q), edge)
    return len(rows), count


@kernel
def _note(between, leaving, count, pieces, edge):
    """Put an edge between two pieces in its place, if it is lighter than theirs there.

    Returns whether others had the place, and their edge has been written.
    """
    p, q = min(pieces[0], pieces[1]), max(pieces[0], pieces[1])
    mixed = (p << HALF | q) * MULTIPLIER
    slot = mixed >> np.uint64(64 - SLOT_BITS)
    if between.p[slot] == p and between.q[slot] == q:
        _lower(between, slot, (p, q), edge)
        return 0
    moved = between.q[slot] != 0
    if moved:
        u, v, key = between.edges
        old = u[slot], v[slot], key[slot]
        _write(leaving, count, (between.p[slot], between.q[slot]), old)
    _write(between, slot, (p, q), edge)
    return np.int64(moved)


@kernel
def _lower(leaving, place, pieces, edge):
    """Write an edge in a place if none is there, or one that is heavier."""
    u, v, key = leaving.edges
    low, high, new = edge
    if leaving.q[place] != 0:
        if key[place] < new:
            return
        if key[place] == new and (u[place], v[place]) <= (low, high):
            return
    _write(leaving, place, pieces, edge)


@kernel
def _write(leaving, place, pieces, edge):
    leaving.p[place], leaving.q[place] = pieces
    u, v, key = leaving.edges
    u[place], v[place], key[place] = edge
