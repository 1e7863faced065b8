"""The positions of keys in ascending order, ties by position.

NumPy sorts 64-bit integers with vector instructions, far faster than it sorts
positions. So key and position are packed into one word, as many leading bits of
the key as fit, and the few runs whose leading bits agree are put right afterwards.
"""

import numpy as np
from numba import njit

from .intrinsics import choose
from .threads import ALONE, Threads

SHORT_RUN = 24


def sort_positions(keys: np.ndarray, threads: Threads = ALONE) -> np.ndarray:
    """Return the positions of `keys` in ascending order; equal keys keep theirs.

    Parameters
    ----------
    keys : ndarray of uint32 or uint64
    threads : Threads
        Each sorts a run of the keys.

    Returns
    -------
    ndarray of uint64
        16 bytes per key are needed at the peak.
    """
    if len(keys) == 0:
        return np.empty(0, np.uint64)
    ranges = threads.ranges(len(keys))

    def bounds(begin, end):
        return keys[begin:end].min(), keys[begin:end].max()

    lows, highs = zip(*threads.map(bounds, ranges), strict=True)
    least = min(lows)
    position_bits = max(1, int(len(keys) - 1).bit_length())
    key_bits = int(max(highs) - least).bit_length()
    shift = max(0, key_bits - (64 - position_bits))
    words = np.empty(len(keys), np.uint64)
    threads.map(lambda *r: _pack(keys, least, shift, position_bits, *r, words), ranges)
    words = _sort_words(words, threads)
    if shift:
        threads.map(lambda *r: _sort_runs(words, keys, position_bits, *r), ranges)
    threads.map(lambda *r: _unpack(words, position_bits, *r), ranges)
    return words


def _sort_words(words: np.ndarray, threads: Threads) -> np.ndarray:
    """Return the distinct words in order: each thread sorts a run, runs are merged."""
    runs = [words[begin:end] for begin, end in threads.ranges(len(words))]
    threads.map(np.ndarray.sort, [(run,) for run in runs])
    grain = max(1, len(words) // threads.count)
    while len(runs) > 1:
        pairs = list(zip(runs[::2], runs[1::2], strict=False))
        rest = runs[2 * len(pairs) :]
        runs = [np.empty(len(one) + len(two), np.uint64) for one, two in pairs]
        threads.map(
            _merge_part,
            [
                (one, two, *bounds, run)
                for (one, two), run in zip(pairs, runs, strict=True)
                for bounds in threads.ranges(len(run), grain)
            ],
        )
        runs += rest
    return runs[0]


@njit(nogil=True, cache=True)
def _merge_part(one, two, begin, end, out):
    """Write the words [begin, end) of the union of two ascending runs.

    Where the part begins in each run is found by bisection, so that threads can
    share a merge (merge path; Odeh, Green, Mwassi, Shmueli and Birk, IPDPSW 2012).
    """
    low, high = max(0, begin - len(two)), min(begin, len(one))
    while low < high:
        middle = (low + high) // 2
        if one[middle] < two[begin - middle - 1]:
            low = middle + 1
        else:
            high = middle
    i, j, k = np.uint64(low), np.uint64(begin - low), np.uint64(begin)
    one_left, two_left, left = np.uint64(len(one)), np.uint64(len(two)), np.uint64(end)
    while k < left and i < one_left and j < two_left:
        x, y = one[i], two[j]
        out[k] = choose(x < y, x, y)
        i += np.uint64(x < y)
        j += np.uint64(y < x)
        k += np.uint64(1)
    while k < left:
        if i < one_left:
            out[k] = one[i]
            i += np.uint64(1)
        else:
            out[k] = two[j]
            j += np.uint64(1)
        k += np.uint64(1)


@njit(nogil=True, cache=True)
def _pack(keys, least, shift, position_bits, begin, end, words):
    for i in range(np.uint64(begin), np.uint64(end)):
        leading = np.uint64(keys[i] - least) >> np.uint64(shift)
        words[i] = (leading << np.uint64(position_bits)) | i


@njit(nogil=True, cache=True)
def _unpack(words, position_bits, begin, end):
    mask = (np.uint64(1) << np.uint64(position_bits)) - np.uint64(1)
    for i in range(np.uint64(begin), np.uint64(end)):
        words[i] &= mask


@njit(nogil=True, cache=True)
def _sort_runs(words, keys, position_bits, begin, stop):
    """Order the runs of equal leading bits that begin in [begin, stop) by full keys.

    A run may end behind: whose it is shows in leading bits, which stay in place.
    """
    bits = np.uint64(position_bits)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    while 0 < begin < stop and words[begin] >> bits == words[begin - 1] >> bits:
        begin += 1
    while begin < stop:
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
