"""Light edges of a whole graph, and the lightest edges of the rows that have none.

The same pass as `select` makes, but rows do not hook: all that is told of them is
whether they have a light arc, which is far less work. Where they have not, their
lightest edge, which is in the forest, is found while their keys are still in cache.
"""

import numpy as np
from numba import njit

from .finish import lightest_from
from .intrinsics import prefetch, set_bits, trailing_zeros
from .kruskal import FETCH_AHEAD, HALF, LOW, unite
from .select import (
    BLOCK,
    CHUNK,
    HEADS_AHEAD,
    LINE,
    bits_set,
    lightest_but_loops,
    mark_starts,
    masks,
    with_room,
)

# Rows with more arcs are looped over.
FEW = np.uint64(4)


@njit(nogil=True, cache=True)
def _append(indices, keys, start, words, starts, tails, lit, key, pairs, used):
    """Append the chosen edges of a chunk that lead to larger vertices.

    Sets `lit` at the place in `tails` of each row with a chosen arc. Returns the
    count reached.
    """
    rank = np.uint64(0)
    for i in range(np.uint64(len(words))):
        word, begins = words[i], starts[i]
        block = np.uint64(start) + i * np.uint64(BLOCK)
        for line in range(BLOCK // LINE):
            prefetch(indices, np.intp(block) + HEADS_AHEAD + line * LINE)
            prefetch(keys, np.intp(block) + CHUNK + line * LINE)
        while word:
            arc = block + trailing_zeros(word)
            up_to = word ^ (word - np.uint64(1))
            word &= word - np.uint64(1)
            place = rank + set_bits(begins & up_to)
            tail, head = np.uint64(tails[place]), np.uint64(indices[arc])
            # Written in any case, kept by the count, as in `select`
            key[used], pairs[used] = keys[arc], (tail << HALF) | head
            used += np.uint64(head > tail)
            lit[place] = True
        rank += set_bits(begins)
    return used


@njit(nogil=True, cache=True)
def _unlit(tails, lit):
    """Move the rows that are not lit to the front; return how many there are."""
    count = np.uint64(0)
    for place in range(np.uint64(len(tails))):
        tails[count] = tails[place]
        count += np.uint64(not lit[place])
    return count


@njit(nogil=True, cache=True)
def _lightest(keys, begin, end):
    """Return the first lightest arc of a row that has any, of few without branches."""
    if end - begin > FEW:
        return np.uint64(lightest_from(keys, begin, end, keys.dtype.type(0)))
    found, least = begin, keys[begin]
    for step in range(np.uint64(1), FEW):
        arc = min(begin + step, end - np.uint64(1))
        lighter = keys[arc] < least
        found, least = (arc, keys[arc]) if lighter else (found, least)
    return found


@njit(nogil=True, cache=True)
def _append_lightest(indptr, indices, keys, rows, stop, u, v, key, used):
    """Append the lightest edges of those rows that end before `stop`."""
    for row in rows:
        begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        if end > np.uint64(stop) or begin == end:
            continue
        arc = _lightest(keys, begin, end)
        if np.uint64(indices[arc]) == np.uint64(row):
            other = lightest_but_loops(indices, keys, begin, end, row)
            if other < 0:
                continue
            arc = np.uint64(other)
        tail, head = np.uint64(row), np.uint64(indices[arc])
        u[used], v[used], key[used] = min(tail, head), max(tail, head), keys[arc]
        used += np.uint64(1)
    return used


@njit(nogil=True, cache=True)
def light_edges(
    indptr, indices, keys, low, high, begin, end, key, pairs, rest_u, rest_v, rest_key
):
    """Return the edges of a band among some rows, and edges of the other rows.

    Parameters
    ----------
    indptr, indices, keys : ndarray
        The rows of the whole graph.
    low, high : same type as `keys`
        The band: low <= key <= high.
    begin, end : int
        The rows to look at, so that threads can share them.
    key, pairs : ndarray
        Room for as many edges as are expected; larger arrays are made if needed.
    rest_u, rest_v, rest_key : ndarray
        Room for an edge per row.

    Returns
    -------
    key, pairs : ndarray
        Edges from a row to a larger vertex, in (u, v) order; a pair is one word of
        uint64 with u in its upper half.
    rest_u, rest_v, rest_key : ndarray
        The lightest edges of rows without arcs in the band, u < v; one may be the
        lightest of both its ends.
    """
    used = rest = np.uint64(0)
    word_buffer = np.empty(CHUNK // BLOCK + 1, np.uint64)
    start_buffer = np.empty(CHUNK // BLOCK + 1, np.uint64)
    # The row that goes on into the chunk, at first none, then those that begin there.
    tails, lit = np.empty(CHUNK + 2, np.uint32), np.ones(CHUNK + 2, np.bool_)
    tails[0] = begin
    row = np.uint64(begin)
    last = indptr[end]
    for start in range(indptr[begin], last, CHUNK):
        stop = min(start + CHUNK, last)
        words = word_buffer[: (stop - start) // BLOCK + 1]
        starts = start_buffer[: (stop - start) // BLOCK + 1]
        masks(keys, start, stop, low, high, words)
        count, row = mark_starts(indptr, row, start, stop, starts, tails)
        lit[1 : count + np.uint64(1)] = False
        more = bits_set(words)
        key, pairs = with_room(key, used, more), with_room(pairs, used, more)
        used = _append(
            indices, keys, start, words, starts, tails, lit, key, pairs, used
        )
        # The last row may go on into the next chunk.
        final = tails[count]
        done = lit[count] or indptr[final + np.uint64(1)] <= stop
        unlit = _unlit(tails[: count + np.uint64(1)], lit)
        rest = _append_lightest(
            indptr, indices, keys, tails[:unlit], stop, rest_u, rest_v, rest_key, rest
        )
        tails[0], lit[0] = final, done
    return key[:used], pairs[:used], rest_u[:rest], rest_v[:rest], rest_key[:rest]


@njit(nogil=True, cache=True)
def unite_all(u, v, key, parent, out_u, out_v, out_key):
    """Join the ends of edges; write those that were apart, and return how many."""
    place = np.uint64(0)
    for i in range(np.uint64(len(key))):
        if i + np.uint64(FETCH_AHEAD) < np.uint64(len(key)):
            prefetch(parent, np.intp(u[i + np.uint64(FETCH_AHEAD)]))
            prefetch(parent, np.intp(v[i + np.uint64(FETCH_AHEAD)]))
        out_u[place], out_v[place], out_key[place] = u[i], v[i], key[i]
        place += np.uint64(unite(parent, np.uint64(u[i]), np.uint64(v[i])))
    return place


@njit(nogil=True, cache=True)
def take_pairs(pairs, key, kept, place, stop, out_u, out_v, out_key):
    """Write the edges that a mask keeps to the places [place, stop), as `take` does."""
    place = np.uint64(place)
    for i in range(np.uint64(len(key))):
        if place == np.uint64(stop):
            break
        out_u[place], out_v[place] = pairs[i] >> HALF, pairs[i] & LOW
        out_key[place] = key[i]
        place += np.uint64(kept[i])
