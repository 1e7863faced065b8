"""The positions of keys in ascending order, ties by position.

NumPy sorts 64-bit integers with vector instructions, far faster than it sorts
positions. So key and position are packed into one word, as many leading bits of
the key as fit, and the few runs whose leading bits agree are put right afterwards.
"""

import numpy as np
from numba import njit

SHORT_RUN = 24


def sort_positions(keys: np.ndarray) -> np.ndarray:
    """Return the positions of `keys` in ascending order; equal keys keep theirs.

    Parameters
    ----------
    keys : ndarray of uint32 or uint64

    Returns
    -------
    ndarray of uint64
        16 bytes per key are needed at the peak.
    """
    if len(keys) == 0:
        return np.empty(0, np.uint64)
    least = keys.min()
    position_bits = max(1, int(len(keys) - 1).bit_length())
    key_bits = int(keys.max() - least).bit_length()
    shift = max(0, key_bits - (64 - position_bits))
    words = _pack(keys, least, shift, position_bits)
    words.sort()
    if shift:
        _sort_runs(words, keys, position_bits)
    words &= np.uint64((1 << position_bits) - 1)
    return words


@njit(nogil=True, cache=True)
def _pack(keys, least, shift, position_bits):
    words = np.empty(len(keys), np.uint64)
    for i in range(len(keys)):
        leading = np.uint64(keys[i] - least) >> np.uint64(shift)
        words[i] = (leading << np.uint64(position_bits)) | np.uint64(i)
    return words


@njit(nogil=True, cache=True)
def _sort_runs(words, keys, position_bits):
    """Order the runs of words whose leading bits are equal by their full keys."""
    bits = np.uint64(position_bits)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    begin = 0
    while begin < len(words):
        end = begin + 1
        while end < len(words) and words[end] >> bits == words[begin] >> bits:
            end += 1
        if end - begin > SHORT_RUN:
            run = words[begin:end].copy()
            run_keys = np.empty(end - begin, keys.dtype)
            for i in range(end - begin):
                run_keys[i] = keys[run[i] & mask]
            order = np.argsort(run_keys, kind="mergesort")
            for i in range(end - begin):
                words[begin + i] = run[order[i]]
        else:
            _insertion_sort(words, keys, begin, end, mask)
        begin = end


@njit(nogil=True, cache=True)
def _insertion_sort(words, keys, begin, end, mask):
    for i in range(begin + 1, end):
        word = words[i]
        key = keys[word & mask]
        j = i
        while j > begin and keys[words[j - 1] & mask] > key:
            words[j] = words[j - 1]
            j -= 1
        words[j] = word
