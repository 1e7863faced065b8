"""Sort the keys of arcs, and weights with them: from the leading digit, then the last.

A pass over an array that fits no cache waits for memory at nearly every arc. So only
the first one is: it deals out the arcs by their leading bits, to groups that fit. Each
group is then sorted from its last digit on (least significant digit first).
"""

import numpy as np
from numba import njit

GROUP_BITS = 13  # a group should have about 2^13 arcs: 200 KB with their copies
MOST_GROUP_BITS = 10  # as many places are written to at once before pages are missed
DIGIT = 9


@njit(nogil=True, cache=True)
def ascending(keys):
    """Return whether no key is below the one before it."""
    for i in range(1, len(keys)):  # noqa: SIM110, Numba knows no generators
        if keys[i] < keys[i - 1]:
            return False
    return True


@njit(nogil=True, cache=True)
def sort_arcs(keys, weights, bits, spare_keys, spare_weights):
    """Sort arcs by keys of some bits; either pair of arrays may hold them in the end.

    Parameters
    ----------
    keys : ndarray of uint64, shape (arcs,)
    weights : ndarray, shape (arcs,)
    bits : int
        1 to 64.
    spare_keys, spare_weights : ndarray
        Like these; overwritten.

    Returns
    -------
    bool
        Whether the arcs are in the spare arrays now.
    """
    top, size = 1, len(keys) >> GROUP_BITS
    while top < min(bits, MOST_GROUP_BITS) and size >> top:
        top += 1
    ends, places = np.empty(1 << top, np.int64), np.empty(1 << DIGIT, np.int64)
    low = bits - top
    _deal(keys, weights, low, ends, spare_keys, spare_weights)
    passes = (low + DIGIT - 1) // DIGIT
    begin = 0
    for end in ends:
        held = slice(begin, end)
        here, there = spare_keys[held], keys[held]
        here_weights, there_weights = spare_weights[held], weights[held]
        for turn in range(passes):
            _deal(here, here_weights, turn * DIGIT, places, there, there_weights)
            here, there = there, here
            here_weights, there_weights = there_weights, here_weights
        begin = end
    return passes % 2 == 0


@njit(nogil=True)
def _deal(keys, weights, shift, places, sorted_keys, sorted_weights):
    """Sort by the bits from `shift` on, keeping the order of equal ones.

    Parameters
    ----------
    places : ndarray of int64, shape (2^k,)
        For k bits; filled with where each digit ends.
    """
    mask, shift = np.uint64(len(places) - 1), np.uint64(shift)
    places[:] = 0
    for key in keys:
        places[(key >> shift) & mask] += 1
    total = 0
    for digit in range(len(places)):
        count = places[digit]
        places[digit] = total
        total += count
    for i in range(len(keys)):
        digit = (keys[i] >> shift) & mask
        place = places[digit]
        sorted_keys[place], sorted_weights[place] = keys[i], weights[i]
        places[digit] = place + 1
