"""The edges of a band of weights, taken from CSR rows in one streaming pass.

The keys are compared 64 at a time into a bit mask, which LLVM vectorises; only
the set bits, a small share in a light band, touch anything else.
"""

import numpy as np
from numba import njit

from .intrinsics import set_bits, trailing_zeros

# Arcs a mask word stands for, and arcs between the mask pass and its use (in L2).
BLOCK = 64
CHUNK = 1 << 15


@njit(nogil=True, cache=True)
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
    rest = np.uint64(begin) + blocks * np.uint64(BLOCK)
    word = np.uint64(0)
    for arc in range(rest, np.uint64(end)):
        word |= np.uint64(low <= keys[arc] <= high) << (arc - rest)
    words[blocks] = word


@njit(nogil=True, cache=True)
def _append(indptr, indices, keys, first, start, words, row, lower, u, v, key, used):
    """Append the chosen edges of a chunk of arcs, seen from one of their ends.

    With `lower` those to ghosts before the first row, else those to larger vertices.
    Returns the row and the count reached.
    """
    before = np.uint64(first)
    after = np.uint64(indptr[row + np.uint64(1)])
    for i in range(np.uint64(len(words))):
        word = words[i]
        block = np.uint64(start) + i * np.uint64(BLOCK)
        while word:
            arc = block + trailing_zeros(word)
            word &= word - np.uint64(1)
            while after <= arc:
                row += np.uint64(1)
                after = np.uint64(indptr[row + np.uint64(1)])
            head, tail = np.uint64(indices[arc]), before + row
            # Written in any case, kept by the count: half of the arcs go each way,
            # and a branch on that would be mispredicted as often.
            u[used], v[used], key[used] = min(head, tail), max(head, tail), keys[arc]
            used += np.uint64(head < before if lower else head > tail)
    return row, used


@njit(nogil=True, cache=True)
def _room(array, used, more):
    """Return the array, moved to a larger one if `more` entries might not fit."""
    if used + more <= np.uint64(len(array)):
        return array
    larger = np.empty(2 * len(array) + more, array.dtype)
    larger[:used] = array[:used]
    return larger


@njit(nogil=True, cache=True)
def _set_bits(words):
    """Return how many bits are set, and one to spare for a write that is undone."""
    count = np.uint64(1)
    for i in range(np.uint64(len(words))):
        count += set_bits(words[i])
    return count


@njit(nogil=True, cache=True)
def select(indptr, indices, keys, first, low, high, begin, end, u, v, key):
    """Return the edges of a band among the arcs [begin, end).

    Parameters
    ----------
    indptr, indices, keys : ndarray
        CSR rows (`graph.Rows`); `first` is the id of the first row's vertex.
    low, high : same type as `keys`
        The band: low <= key <= high.
    begin, end : int
        The range of arcs to look at, so that threads can share the rows.
    u, v, key : ndarray
        Room for as many edges as are expected; larger arrays are made if needed.

    Returns
    -------
    u, v, key : ndarray
        Edges from a row to a larger vertex, in (u, v) order.
    lower_u, lower_v, lower_key : ndarray
        Edges from a row (`lower_v`) to a ghost before the first row (`lower_u`),
        in the order of the rows. Edges to smaller vertices of these rows are seen
        from the other end; loops are dropped.
    """
    ids, kinds = indices.dtype, keys.dtype
    lower_u, lower_v = np.empty(0, ids), np.empty(0, ids)
    lower_key = np.empty(0, kinds)
    used = lower = np.uint64(0)
    row = np.uint64(np.searchsorted(indptr, begin, side="right") - 1)
    buffer = np.empty(CHUNK // BLOCK + 1, np.uint64)
    for start in range(begin, end, CHUNK):
        stop = min(start + CHUNK, end)
        words = buffer[: (stop - start) // BLOCK + 1]
        masks(keys, start, stop, low, high, words)
        more = _set_bits(words)
        u, v, key = _room(u, used, more), _room(v, used, more), _room(key, used, more)
        if first > 0:
            lower_u, lower_v = _room(lower_u, lower, more), _room(lower_v, lower, more)
            lower_key = _room(lower_key, lower, more)
            _, lower = _append(
                indptr, indices, keys, first, start, words, row, True,
                lower_u, lower_v, lower_key, lower,
            )  # fmt: skip
        row, used = _append(
            indptr, indices, keys, first, start, words, row, False, u, v, key, used
        )
    return (
        u[:used], v[:used], key[:used],
        lower_u[:lower], lower_v[:lower], lower_key[:lower],
    )  # fmt: skip
