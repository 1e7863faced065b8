"""The rows of pieces that deletions have cut off, and the edges that leave them."""

from typing import NamedTuple

import numpy as np

from ...graph.model import EdgeColumns
from ...kernels.intrinsics import prefetch, set_bits, trailing_zeros
from ...native.kernel import kernel
from .arcs import first_not_below

HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
ONE, SIX, LAST = np.uint64(1), np.uint64(6), np.uint64(63)
# How many rows ahead the row pointers and the arcs are fetched.
AHEAD = 8


class Marked(NamedTuple):
    """The vertices of some pieces, as bits that are looked up fast.

    Attributes
    ----------
    bits : ndarray of uint64
        A bit for each vertex of the graph.
    before : ndarray of uint32
        For each word of bits how many are set in those before it.
    piece : ndarray of uint32
        The pieces of the vertices whose bits are set, ascending by vertex.
    """

    bits: np.ndarray
    before: np.ndarray
    piece: np.ndarray


class Leaving(NamedTuple):
    """Edges from one piece to another.

    Attributes
    ----------
    p, q : ndarray of uint32
        The pieces.
    edges : EdgeColumns
    """

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
    """Return how many marked vertices are smaller."""
    word = marked.bits[vertex >> SIX]
    below = word & ((ONE << (vertex & LAST)) - ONE)
    return np.uint64(marked.before[vertex >> SIX]) + set_bits(below)


@kernel
def _leads_to(marked, p, largest, head):
    """Return the piece of a neighbour of the piece `p`."""
    if marked.bits[head >> SIX] >> (head & LAST) & ONE:
        return np.uint64(marked.piece[_number(marked, head)])
    return largest[p]


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
def scan_rows(csr, delta, marked, largest, rows, nearest, leaving):
    """Find edges that leave the pieces of some rows.

    Of those from a piece to the largest one of its tree only the lightest is kept, in
    `nearest`. All others are written down, once.

    Parameters
    ----------
    csr : Csr
    delta : Delta
    marked : Marked
        The vertices of all pieces but the largest ones.
    largest : ndarray of uint64
        For each piece the largest one of its tree.
    rows : ndarray of uint32
        The vertices whose rows are scanned.
    nearest : Leaving
        By piece; `q` is 0 where none has been found.
    leaving : Leaving
        Filled in.

    Returns
    -------
    done, count : int
        How many rows have been scanned before there was no room for one more, and how
        many edges have been written.
    """
    count = 0
    gone, come = len(delta.gone), len(delta.arc)
    for i in range(len(rows)):
        if i + AHEAD < len(rows):
            ahead = np.int64(rows[i + AHEAD]) - csr.first
            prefetch(csr.indices, csr.indptr[ahead])
            prefetch(csr.keys, csr.indptr[ahead])
        tail = np.uint64(rows[i])
        begin, end = csr.indptr[tail - csr.first], csr.indptr[tail - csr.first + 1]
        new = np.int64(first_not_below(delta.arc, 0, come, tail << HALF))
        stop = np.int64(first_not_below(delta.arc, new, come, (tail + ONE) << HALF))
        if count + end - begin + stop - new > len(leaving.p):
            return i, count
        p = np.uint64(marked.piece[_number(marked, tail)])
        skip = np.int64(first_not_below(delta.gone, 0, gone, begin))
        for at in range(begin, end):
            head = np.uint64(csr.indices[at])
            q = _leads_to(marked, p, largest, head)
            if q == p:
                continue
            while skip < gone and delta.gone[skip] < at:
                skip += 1
            if skip < gone and delta.gone[skip] == at:
                continue
            arc = tail, head, csr.keys[at]
            count = _note((p, q, largest[p]), arc, nearest, leaving, count)
        for at in range(new, stop):
            head = delta.arc[at] & LOW
            q = _leads_to(marked, p, largest, head)
            if q != p:
                arc = tail, head, delta.key[at]
                count = _note((p, q, largest[p]), arc, nearest, leaving, count)
    return len(rows), count


@kernel
def _note(pieces, arc, nearest, leaving, count):
    """Write down an edge between two pieces; return how many have been written."""
    p, q, largest = pieces
    tail, head, key = arc
    low, high = min(tail, head), max(tail, head)
    if q != largest:
        if tail == low:  # the row of the other end has it, too
            _write(leaving, count, p, q, (low, high, key))
            count += 1
        return count
    _, _, (u, v, keys) = nearest
    if nearest.q[p] == 0 or key < keys[p]:
        _write(nearest, p, p, q, (low, high, key))
    elif key == keys[p] and (low < u[p] or (low == u[p] and high < v[p])):
        _write(nearest, p, p, q, (low, high, key))
    return count


@kernel
def _write(leaving, place, p, q, edge):
    leaving.p[place], leaving.q[place] = p, q
    u, v, key = leaving.edges
    u[place], v[place], key[place] = edge
