"""The edges of a band of weights, taken from CSR rows in one streaming pass.

The keys are compared 64 at a time into a bit mask, which LLVM vectorises; only
the set bits, a small share in a light band, touch anything else.
"""

import numpy as np
from numba import njit

from .intrinsics import trailing_zeros

BLOCK = 64


@njit(nogil=True, cache=True)
def _mask(keys, begin, count, low, high):
    """Return a bit for each of up to 64 keys: whether low <= key <= high."""
    mask = np.uint64(0)
    if count == BLOCK:  # a constant, which LLVM unrolls into vector compares
        for t in range(BLOCK):
            key = keys[begin + np.uint64(t)]
            mask |= np.uint64(low <= key <= high) << np.uint64(t)
    else:
        for t in range(count):
            key = keys[begin + np.uint64(t)]
            mask |= np.uint64(low <= key <= high) << np.uint64(t)
    return mask


@njit(nogil=True, cache=True)
def _room(array, used):
    """Return the array, moved to twice the size if a block might not fit."""
    if used + BLOCK <= len(array):
        return array
    larger = np.empty(2 * len(array) + BLOCK, array.dtype)
    larger[:used] = array[:used]
    return larger


@njit(nogil=True, cache=True)
def select(indptr, indices, keys, first, low, high, begin, end, expected):
    """Return the edges of a band among the arcs [begin, end).

    Parameters
    ----------
    indptr, indices, keys : ndarray
        CSR rows (`graph.Rows`); `first` is the id of the first row's vertex.
    low, high : same type as `keys`
        The band: low <= key <= high.
    begin, end : int
        The range of arcs to look at, so that threads can share the rows.
    expected : int
        How many edges to make room for at first.

    Returns
    -------
    u, v, key : ndarray
        Edges from a row to a larger vertex, in (u, v) order.
    lower_u, lower_v, lower_key : ndarray
        Edges from a row (`lower_v`) to a ghost before the first row (`lower_u`),
        in the order of the rows. Edges to smaller vertices of these rows are seen
        from the other end; loops are dropped.
    """
    u = np.empty(expected + BLOCK, indices.dtype)
    v = np.empty(expected + BLOCK, indices.dtype)
    key = np.empty(expected + BLOCK, keys.dtype)
    lower_u = np.empty(BLOCK, indices.dtype)
    lower_v = np.empty(BLOCK, indices.dtype)
    lower_key = np.empty(BLOCK, keys.dtype)
    used = 0
    lower = 0
    row = np.uint64(np.searchsorted(indptr, begin, side="right") - 1)
    after = np.uint64(indptr[row + np.uint64(1)])
    tail = np.int64(first + row)
    # Unsigned indices spare the compiler a check for negative ones.
    for block in range(np.uint64(begin), np.uint64(end), np.uint64(BLOCK)):
        u, v, key = _room(u, used), _room(v, used), _room(key, used)
        lower_u, lower_v = _room(lower_u, lower), _room(lower_v, lower)
        lower_key = _room(lower_key, lower)
        mask = _mask(keys, block, min(BLOCK, np.int64(end - block)), low, high)
        while mask:
            arc = block + trailing_zeros(mask)
            mask &= mask - np.uint64(1)
            while after <= arc:
                row += np.uint64(1)
                after = np.uint64(indptr[row + np.uint64(1)])
                tail = np.int64(first + row)
            head = np.int64(indices[arc])
            if head > tail:
                u[used], v[used], key[used] = tail, head, keys[arc]
                used += 1
            elif head < first:
                lower_u[lower], lower_v[lower] = head, tail
                lower_key[lower] = keys[arc]
                lower += 1
    return (
        u[:used], v[:used], key[:used],
        lower_u[:lower], lower_v[:lower], lower_key[:lower],
    )  # fmt: skip
