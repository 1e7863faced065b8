"""Selection of the edges of a band from CSR rows, in one streaming pass.

The keys are compared 64 at a time into a bit mask, which LLVM vectorises; only the arcs
of set bits, few in a light band, are read further. The same pass hooks every row to the
other end of its lightest arc, the first step of Borůvka's algorithm.

Sparse graphs, whose band has all edges, have a separate pass. Rows of road-like graphs
have one to four arcs. A loop over so few is mispredicted at nearly every row, so the
pass always reads four arcs and counts only those of the row. A second pass reads the
few arcs to ghosts before the first row.
"""

from typing import NamedTuple

import numpy as np

from ...graph.model import EdgeColumns
from ...kernels.heavier_arcs import lightest_from
from ...kernels.intrinsics import (
    choose,
    copy_memory,
    prefetch,
    set_bits,
    trailing_zeros,
)
from ...native.kernel import kernel

# Rows with more arcs are looped over.
FEW = np.uint64(4)


@kernel
def chosen(best, high, largest):
    """Return whether a row has an arc in the band, which may lead to a ghost.

    An arc with the largest key of the type does not count.
    """
    return (best <= high) & (best != largest)


@kernel
def lightest_elsewhere(indices, keys, begin, end, vertex):
    """Return the first lightest arc of a nonempty row that is not a loop, or -1."""
    arc = np.int64(_lightest(keys, begin, end))
    if np.uint64(indices[np.uint64(arc)]) == vertex:
        arc = _lightest_but_loops(indices, keys, begin, end, vertex)
    return arc


@kernel
def _lightest(keys, begin, end):
    """Return the first lightest arc of a nonempty row; short rows without branches."""
    if end - begin > FEW:
        return np.uint64(lightest_from(keys, begin, end, keys.dtype.type(0)))
    lightest, least = begin, keys[begin]
    for step in range(np.uint64(1), FEW):
        arc = min(begin + step, end - np.uint64(1))
        lighter = keys[arc] < least
        lightest = choose(lighter, arc, lightest)
        least = choose(lighter, keys[arc], least)
    return lightest


@kernel
def _lightest_but_loops(indices, keys, begin, end, vertex):
    """Return the first lightest arc of [begin, end) that is not a loop, or -1."""
    lightest = np.int64(-1)
    for arc in range(begin, end):
        loop = np.uint64(indices[arc]) == vertex
        if not loop and (lightest < 0 or keys[arc] < keys[np.uint64(lightest)]):
            lightest = np.int64(arc)
    return lightest


# Arcs per mask word, and arcs between the mask pass and its use (they fit the L2
# cache).
BLOCK = 64
CHUNK = 1 << 14
# Arcs from the one in use to the one whose head is fetched.
HEADS_AHEAD = 256
LINE = 16


class Chunk(NamedTuple):
    """Consecutive arcs, of which some are chosen."""

    start: int  # the first arc
    words: np.ndarray  # uint64, a bit for each arc: whether it is chosen
    starts: np.ndarray  # uint64, a bit for each arc: whether it begins a row
    # uint32: the row that continues into the chunk, then the rows that begin there
    tails: np.ndarray


@kernel
def masks(keys, begin, end, low, high, words):
    """Write a bit for each arc of [begin, end): whether low <= key <= high."""
    # Unsigned indices spare the compiler a check for negative ones.
    blocks = np.uint64((end - begin) // BLOCK)
    for block in range(blocks):
        word = np.uint64(0)
        start = np.uint64(begin) + block * np.uint64(BLOCK)
        for t in range(BLOCK):
            key = keys[start + np.uint64(t)]
            word |= np.uint64(low <= key <= high) << np.uint64(t)
        words[block] = word
    tail = np.uint64(begin) + blocks * np.uint64(BLOCK)
    word = np.uint64(0)
    for arc in range(tail, np.uint64(end)):
        word |= np.uint64(low <= keys[arc] <= high) << (arc - tail)
    words[blocks] = word


@kernel
def mark_starts(indptr, row, start, stop, starts, tails):
    """Set a bit for each arc of a chunk that begins a row.

    So the row of an arc is the count of bits up to it, without a branch. Writes the
    rows with arcs, from `row` on, to tails[1:]. Returns their number, and the first row
    behind the chunk.
    """
    starts[:] = np.uint64(0)
    count = np.uint64(0)
    begin = np.uint64(indptr[row])
    while begin < np.uint64(stop):
        end = np.uint64(indptr[row + np.uint64(1)])
        offset = begin - np.uint64(start)
        starts[offset >> np.uint64(6)] |= np.uint64(1) << (offset & np.uint64(63))
        tails[count + np.uint64(1)] = row
        count += np.uint64(end > begin)
        row += np.uint64(1)
        begin = end
    return count, row


@kernel(inline="always")
def _lowest(word, begins):
    """Return the lowest set bit, the number of rows up to it, and the other bits."""
    below = word - np.uint64(1)
    return trailing_zeros(word), set_bits(begins & (word ^ below)), word & below


@kernel
def _append(csr, chunk, hooks, edges, used):
    """Append the chosen edges of a chunk of arcs that lead to larger vertices.

    `hooks`, unless empty, gets each row's lightest chosen arc. Returns the new count.
    """
    first, _, indices, keys = csr
    start, words, starts, tails = chunk
    hook, best = hooks
    u, v, key = edges
    before, rows = np.uint64(first), np.uint64(len(hook))
    rank = np.uint64(0)
    for i in range(np.uint64(len(words))):
        word, begins = words[i], starts[i]
        block = np.uint64(start) + i * np.uint64(BLOCK)
        for line in range(BLOCK // LINE):
            prefetch(indices, np.intp(block) + HEADS_AHEAD + line * LINE)
            prefetch(keys, np.intp(block) + CHUNK + line * LINE)
        while word:
            bit, begun, word = _lowest(word, begins)
            arc, row = block + bit, np.uint64(tails[rank + begun])
            head, tail, weight = np.uint64(indices[arc]), before + row, keys[arc]
            # Store unconditionally; advance the count only for larger heads. A branch
            # would be mispredicted half of the time.
            u[used], v[used], key[used] = tail, head, weight
            used += np.uint64(head > tail)
            if rows:
                lighter = (weight < best[row]) & (head != tail)
                best[row] = choose(lighter, weight, best[row])
                local = choose(head - before < rows, head - before, row)
                hook[row] = choose(lighter, local, np.uint64(hook[row]))
        rank += set_bits(begins)
    return used


@kernel
def _has_lower(csr, rows):
    """Return whether any row's first arc leads to a ghost before the first row."""
    first, indptr, indices, _ = csr
    before = np.uint64(first)
    for row in rows:
        arc = np.uint64(indptr[row])
        if arc < np.uint64(len(indices)) and np.uint64(indices[arc]) < before:
            return True
    return False


@kernel
def _append_lower(csr, chunk, edges, used):
    """Append the chosen edges of a chunk that lead to ghosts before the first row."""
    first, _, indices, keys = csr
    start, words, starts, tails = chunk
    u, v, key = edges
    before = np.uint64(first)
    rank = np.uint64(0)
    for i in range(np.uint64(len(words))):
        word, begins = words[i], starts[i]
        block = np.uint64(start) + i * np.uint64(BLOCK)
        while word:
            bit, begun, word = _lowest(word, begins)
            arc, row = block + bit, np.uint64(tails[rank + begun])
            u[used], v[used], key[used] = indices[arc], before + row, keys[arc]
            used += np.uint64(np.uint64(indices[arc]) < before)
        rank += set_bits(begins)
    return used


@kernel
def _unhooked(rows, hook):
    """Move the rows that hook to themselves to the front; return their number."""
    count = np.uint64(0)
    for position in range(np.uint64(len(rows))):
        row = rows[position]
        rows[count] = row
        count += np.uint64(hook[row] == row)
    return count


@kernel
def _hook_heavier(csr, rows, stop, high, hooks):
    """Hook the rows that end up to `stop` and have no chosen arc."""
    first, indptr, indices, keys = csr
    hook, best = hooks
    before, largest = np.uint64(first), ~keys.dtype.type(0)
    for row in rows[: _unhooked(rows, hook)]:
        begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        if end > np.uint64(stop) or begin == end or chosen(best[row], high, largest):
            continue
        arc = lightest_elsewhere(indices, keys, begin, end, before + np.uint64(row))
        if arc >= 0:
            head = np.uint64(indices[np.uint64(arc)]) - before
            best[row] = keys[np.uint64(arc)]
            hook[row] = head if head < np.uint64(len(hook)) else np.uint64(row)


@kernel
def enlarged(edges, used, more):
    """Return the columns, or larger copies if `more` edges do not fit."""
    if used + more <= np.uint64(len(edges.key)):
        return edges
    length = 2 * len(edges.key) + more
    u, v = np.empty(length, edges.u.dtype), np.empty(length, edges.v.dtype)
    key = np.empty(length, edges.key.dtype)
    copy_memory(u, edges.u, used)
    copy_memory(v, edges.v, used)
    copy_memory(key, edges.key, used)
    return EdgeColumns(u, v, key)


@kernel
def bits_set(words):
    """Return the number of set bits, plus one for a store that is not counted."""
    count = np.uint64(1)
    for i in range(np.uint64(len(words))):
        count += set_bits(words[i])
    return count


@kernel
def select(csr, segment, hooks, heavier, buffer):
    """Return the edges of a band among some rows, and hook these rows.

    `hooks`, unless empty, become the row at the other end of each row's lightest arc of
    the band, and the key of this arc; the row itself if there is none, or if the arc
    leads to a ghost. With `heavier`, rows without arcs in the band hook along their
    lightest arc, too; the band must be the lightest. `buffer` holds the expected number
    of edges; larger arrays replace it if needed.

    Returns the edges from a row to a larger vertex, in (u, v) order; then those from a
    row (`lower_v`) to a ghost before the first row (`lower_u`), in the order of the
    rows. Edges to smaller vertices of these rows are seen from the other end; loops are
    dropped.
    """
    indptr, keys = csr.indptr, csr.keys
    begin, end, low, high = segment
    hook, best = hooks
    u, v, key = buffer
    upper = EdgeColumns(u, v, key)
    lower = EdgeColumns(
        np.empty(0, buffer.u.dtype),
        np.empty(0, buffer.v.dtype),
        np.empty(0, keys.dtype),
    )
    count_upper = count_lower = np.uint64(0)
    if len(hook):
        for row in range(begin, end):
            hook[row], best[row] = row, ~keys.dtype.type(0)
    word_buffer = np.empty(CHUNK // BLOCK + 1, np.uint64)
    start_buffer = np.empty(CHUNK // BLOCK + 1, np.uint64)
    tails = np.empty(CHUNK + 2, np.uint32)
    tails[0] = begin
    row = np.uint64(begin)
    last = indptr[end]
    for start in range(indptr[begin], last, CHUNK):
        stop = min(start + CHUNK, last)
        words = word_buffer[: (stop - start) // BLOCK + 1]
        starts = start_buffer[: (stop - start) // BLOCK + 1]
        masks(keys, start, stop, low, high, words)
        count, row = mark_starts(indptr, row, start, stop, starts, tails)
        rows = tails[: count + np.uint64(1)]
        chunk, more = Chunk(start, words, starts, tails), bits_set(words)
        upper = enlarged(upper, count_upper, more)
        if csr.first > 0 and _has_lower(csr, rows):
            lower = enlarged(lower, count_lower, more)
            count_lower = _append_lower(csr, chunk, lower, count_lower)
        count_upper = _append(csr, chunk, hooks, upper, count_upper)
        final = tails[count]  # may continue in the next chunk
        if heavier:
            _hook_heavier(csr, rows, stop, high, hooks)
        tails[0] = final
    return (
        upper.u[:count_upper], upper.v[:count_upper], upper.key[:count_upper],
        lower.u[:count_lower], lower.v[:count_lower], lower.key[:count_lower],
    )  # fmt: skip


@kernel(inline="always")
def _lighter(arc, inside, vertex, least, head):
    """Return the key and the head of the lightest arc so far.

    `arc` is the head and the key of the next arc; it is ignored unless `inside` the
    row.
    """
    other, weight = arc
    lighter = inside & (other != vertex) & ((weight < least) | (head == vertex))
    return choose(lighter, weight, least), choose(lighter, other, head)


@kernel
def all_edges(csr, begin, end, hooks, buffer):
    """Return all edges of some rows to larger vertices, and hook these rows.

    Each of the rows [begin, end) has an arc. `hooks` become the row at the far end of
    each row's lightest arc but for loops, and the key of that arc; the row itself if
    there is none, or if it leads to a ghost. `buffer` has buffer for one more than the
    edges, which are in (u, v) order.
    """
    first, indptr, indices, keys = csr
    hook, best = hooks
    u, v, key = buffer
    used = np.uint64(0)
    before, rows = np.uint64(first), np.uint64(len(hook))
    final = np.uint64(len(keys) - 1)
    start = np.uint64(indptr[begin])
    for row in range(np.uint64(begin), np.uint64(end)):
        vertex, stop = before + row, np.uint64(indptr[row + np.uint64(1)])
        least, head = ~np.uint64(0), vertex
        if stop - start <= FEW:
            for step in range(FEW):
                arc, inside = min(start + step, final), start + step < stop
                other, weight = np.uint64(indices[arc]), np.uint64(keys[arc])
                # Store unconditionally; advance the count for larger heads in the row
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
