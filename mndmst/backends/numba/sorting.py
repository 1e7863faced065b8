"""The positions of keys in ascending order, ties by position.

NumPy sorts 64-bit integers with vector instructions, far faster than it sorts
positions. So key and position are packed into one word, as many leading bits of
the key as fit, and the few runs whose leading bits agree are put right afterwards.
"""

import numpy as np
from numba import njit

from .threads import ALONE, Threads

SHORT_RUN = 24


def sort_positions(keys: np.ndarray, threads: Threads = ALONE) -> np.ndarray:
    """Return the positions of `keys` in ascending order; equal keys keep theirs.

    Parameters
    ----------
    keys : ndarray of uint32 or uint64
    threads : Threads
        Each sorts one range of the keys' values.

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
    words = np.empty(len(keys), np.uint64)
    _pack(keys, least, shift, position_bits, words)
    _sort_words(words, threads)
    if shift:
        _sort_runs(words, keys, position_bits)
    words &= np.uint64((1 << position_bits) - 1)
    return words


def _sort_words(words: np.ndarray, threads: Threads) -> None:
    """Sort distinct words, cut by sampled splitters into a bucket for each thread."""
    ranges = threads.ranges(len(words))
    if len(ranges) == 1:
        words.sort()
        return
    step = max(1, len(words) // (64 * len(ranges)))
    splitters = np.sort(words[::step])[::64][1 : len(ranges)].copy()
    counts = np.array(threads.map(lambda b, e: _count(words, b, e, splitters), ranges))
    # Where each range's words of each bucket begin: bucket by bucket, range by range.
    places = np.cumsum(np.concatenate([[0], counts.T.ravel()]))[:-1]
    places = places.reshape(len(splitters) + 1, len(ranges)).T.copy()
    source = words.copy()
    threads.map(
        lambda i, b, e: _scatter(source, b, e, splitters, places[i], words),
        [(i, *bounds) for i, bounds in enumerate(ranges)],
    )
    ends = np.cumsum(counts.sum(axis=0))
    buckets = zip(np.concatenate([[0], ends[:-1]]), ends, strict=True)
    threads.map(lambda b, e: words[b:e].sort(), list(buckets))


@njit(nogil=True, cache=True)
def _bucket(word, splitters):
    bucket = 0
    for splitter in splitters:
        bucket += word >= splitter
    return bucket


@njit(nogil=True, cache=True)
def _count(words, begin, end, splitters):
    counts = np.zeros(len(splitters) + 1, np.int64)
    for i in range(begin, end):
        counts[_bucket(words[i], splitters)] += 1
    return counts


@njit(nogil=True, cache=True)
def _scatter(source, begin, end, splitters, places, words):
    for i in range(begin, end):
        bucket = _bucket(source[i], splitters)
        words[places[bucket]] = source[i]
        places[bucket] += 1


@njit(nogil=True, cache=True)
def _pack(keys, least, shift, position_bits, words):
    for i in range(np.uint64(len(keys))):
        leading = np.uint64(keys[i] - least) >> np.uint64(shift)
        words[i] = (leading << np.uint64(position_bits)) | i


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
