"""The positions of keys in ascending order, ties by position.

The leading bits of the key and the position are packed into one word. The few runs of
equal leading bits are sorted again by the whole keys. NumPy sorts words with vector
instructions; a single thread uses it unless they are slow, as on AMD's Zen 4 (50 ns a
word instead of 5 to 10, because compressed stores are slow there). The alternative is a
radix sort, last digit first. Several threads distribute the words by their highest
digit, and then sort ranges of whole buckets in one of the two ways. If few buckets have
most words, the threads divide every pass of the radix sort.
"""

import time
from functools import cache
from itertools import pairwise

import numpy as np

from ..native.call_columns import ArrayPieces, PerCall
from ..native.kernel import kernel
from .intrinsics import copy_memory
from .threads import ALONE, Threads, each_range

SHORT_RUN = 24
# For at most this many keys, NumPy's sort takes less time than calls of several
# kernels.
FEW_KEYS = 1 << 12
# The most bits of a digit, so that the ends and a cache line of all buckets stay in
# cache.
DIGIT = 11
# NumPy's sort counts as fast up to this many CPU seconds per word; words of a trial.
FAST, TRIAL = 15e-9, 1 << 14
_MIXER = np.uint64(0x9E3779B97F4A7C15)
# A thread sorts ranges of 2^RANGE_BITS words by digits, in its cache; NumPy, whose
# calls need the GIL, sorts RANGES_EACH ranges a thread. The first digit has BUCKET_BITS
# more bits than the number of a range. If one thread would sort UNEVEN times its share,
# the threads divide every pass instead.
RANGE_BITS, RANGES_EACH, BUCKET_BITS, UNEVEN = 16, 16, 3, 2


def sort_positions(keys: np.ndarray, threads: Threads = ALONE) -> np.ndarray:
    """Return the positions of keys in ascending order (uint64), by a stable sort.

    16 bytes per key are needed at the peak.
    """
    if len(keys) <= FEW_KEYS:
        return keys.argsort(kind="stable").astype(np.uint64)
    ranges = each_range(threads.bounds(len(keys)))
    least, most = key_range(keys, ranges, threads)
    position_bits = max(1, int(len(keys) - 1).bit_length())
    key_bits = (most - least).bit_length()
    drop = max(0, key_bits - (64 - position_bits))
    words = np.empty(len(keys), np.uint64)
    threads.run(
        _pack, keys, keys.dtype.type(least), drop, position_bits, *ranges, words
    )
    words = sort_words(words, position_bits, key_bits - drop, threads)
    if drop:
        threads.run(order_runs, words, keys, position_bits, *ranges)
    threads.run(_unpack, words, position_bits, *ranges)
    return words


def key_range(
    keys: np.ndarray, ranges: tuple[PerCall, PerCall], threads: Threads
) -> tuple[int, int]:
    """Return the smallest and the largest of the keys in ranges, none of them empty."""
    lows, highs = threads.run(_bounds, keys, *ranges)
    return int(lows.min()), int(highs.max())


def sort_words(
    words: np.ndarray, low: int, bits: int, threads: Threads = ALONE
) -> np.ndarray:
    """Return words in ascending order, given that they ascend by the bits below `low`.

    Above these they have `bits` bits. They are overwritten, and may be returned.
    """
    several = len(threads.bounds(len(words))) - 1
    if several > 1:
        fast = _numpy_sorts_fast()
        most = RANGES_EACH * several if fast else len(words)
        parts = max(several, min(most, len(words) >> RANGE_BITS))
        digit = min(DIGIT, bits, parts.bit_length() + BUCKET_BITS)
        other = np.empty_like(words)
        ends = _sort_by_digit(words, low + bits - digit, digit, threads, other)
        equal = len(words) * np.arange(1, parts + 1) // parts
        bounds = np.append(0, ends[np.searchsorted(ends, equal)])
        if np.diff(bounds).max() <= UNEVEN * len(words) // several:
            if fast:
                ranges = [(other[b:e],) for b, e in pairwise(bounds.tolist())]
                threads.map(np.ndarray.sort, ranges)
            else:
                threads.run(_sort_range, other, words, low, bits, *each_range(bounds))
            return other
    elif _numpy_sorts_fast():
        words.sort()
        return words
    else:
        offsets = np.empty((-(-bits // DIGIT), 1 << DIGIT), np.uint64)
        return sort_by_one_thread(words, np.empty_like(words), low, bits, offsets)
    return _radix_sort(words, low, bits, threads)


@cache
def _numpy_sorts_fast(fast: float = FAST) -> bool:
    """Return whether NumPy sorts words fast on this processor."""
    words = np.arange(TRIAL, dtype=np.uint64) * _MIXER

    def seconds() -> float:
        trial, begin = words.copy(), time.thread_time()
        trial.sort()
        return time.thread_time() - begin

    return min(seconds() for _ in range(3)) < fast * TRIAL


def _radix_sort(words: np.ndarray, low: int, bits: int, threads: Threads) -> np.ndarray:
    """Return words in the order of the bits [low, low + bits), by a stable sort."""
    passes = -(-bits // DIGIT)
    digit = -(-bits // max(1, passes))
    other = np.empty_like(words)
    for number in range(passes):
        _sort_by_digit(words, low + number * digit, digit, threads, other)
        words, other = other, words
    return words


def _sort_by_digit(
    words: np.ndarray, shift: int, digit: int, threads: Threads, out: np.ndarray
) -> np.ndarray:
    """Write words in the order of the bits [shift, shift + digit).

    Returns the end of each digit's bucket.
    """
    bounds, buckets = threads.bounds(len(words)), 1 << digit
    ranges, rows = each_range(bounds), buckets * np.arange(len(bounds))
    counts = np.zeros((len(bounds) - 1, buckets), np.uint64)
    each = ArrayPieces.of(counts.ravel(), rows)
    threads.run(_count, words, shift, digit, *ranges, each)
    # In each bucket the words of the first thread come first.
    ends = np.cumsum(counts.T).reshape(counts.T.shape).T
    offsets = np.ascontiguousarray(ends) - counts
    each = ArrayPieces.of(offsets.ravel(), rows)
    threads.run(_scatter, words, shift, digit, *ranges, each, out)
    return ends[-1].astype(np.int64)


@kernel
def _bounds(keys, begin, end):
    """Return the smallest and the largest key of [begin, end)."""
    least, most = keys[begin], keys[begin]
    for i in range(np.uint64(begin), np.uint64(end)):
        least, most = min(least, keys[i]), max(most, keys[i])
    return least, most


@kernel
def _pack(keys, least, drop, position_bits, begin, end, words):
    for i in range(np.uint64(begin), np.uint64(end)):
        leading = np.uint64(keys[i] - least) >> np.uint64(drop)
        words[i] = (leading << np.uint64(position_bits)) | i


@kernel
def _count(words, shift, digit, begin, end, counts):
    mask = (np.uint64(1) << np.uint64(digit)) - np.uint64(1)
    for i in range(np.uint64(begin), np.uint64(end)):
        counts[words[i] >> np.uint64(shift) & mask] += np.uint64(1)


@kernel
def _scatter(words, shift, digit, begin, end, offsets, out):
    mask = (np.uint64(1) << np.uint64(digit)) - np.uint64(1)
    for i in range(np.uint64(begin), np.uint64(end)):
        bucket = words[i] >> np.uint64(shift) & mask
        out[offsets[bucket]] = words[i]
        offsets[bucket] += np.uint64(1)


@kernel
def sort_by_one_thread(words, other, low, bits, offsets):
    """Return words in the order of the bits [low, low + bits), by a radix sort.

    `words`, `other` and `offsets`, of shape (digits, 1 << DIGIT), are overwritten; one
    of the first two is returned.
    """
    digits = (bits + DIGIT - 1) // DIGIT
    mask = (np.uint64(1) << np.uint64(DIGIT)) - np.uint64(1)
    offsets[:digits] = 0
    for i in range(np.uint64(len(words))):
        word = words[i] >> np.uint64(low)
        for digit in range(digits):
            offsets[digit, word & mask] += np.uint64(1)
            word >>= np.uint64(DIGIT)
    for digit in range(digits):
        digit_offsets, total = offsets[digit], np.uint64(0)
        for value in range(len(digit_offsets)):
            count = digit_offsets[value]
            digit_offsets[value] = total
            total += count
        _scatter(words, low + digit * DIGIT, DIGIT, 0, len(words), digit_offsets, other)
        words, other = other, words
    return words


@kernel
def _sort_range(words, other, low, bits, begin, end):
    """Sort words in [begin, end) by the bits [low, low + bits); overwrite `other`."""
    digits = (bits + DIGIT - 1) // DIGIT
    offsets = np.empty((digits, 1 << DIGIT), np.uint64)
    here = words[begin:end]
    ordered = sort_by_one_thread(here, other[begin:end], low, bits, offsets)
    if digits % 2:
        copy_memory(here, ordered, end - begin)


@kernel
def _unpack(words, position_bits, begin, end):
    mask = (np.uint64(1) << np.uint64(position_bits)) - np.uint64(1)
    for i in range(np.uint64(begin), np.uint64(end)):
        words[i] &= mask


@kernel
def order_runs(words, keys, position_bits, begin, stop):
    """Sort the runs of equal leading bits that begin in [begin, stop) by full keys.

    A run may end beyond `stop`. Leading bits do not move, so that other threads detect
    runs that began before their range.
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
            merge_ascents(run_keys, run)  # stable: `run` ascends by position
            copy_memory(words[begin:end], run, end - begin)
        else:
            _insertion_sort(words, keys, begin, end, mask)
        begin = end


@kernel
def _insertion_sort(words, keys, begin, end, mask):
    for i in range(begin + 1, end):
        word = words[i]
        key = keys[word & mask]
        j = i
        while j > begin and keys[words[j - 1] & mask] > key:
            words[j] = words[j - 1]
            j -= 1
        words[j] = word


@kernel
def merge_ascents(first, second):
    """Sort pairs (first, second) in place, by a natural merge sort."""
    count = 1
    for i in range(1, len(first)):
        count += _descends(first, second, i)
    if count == 1:
        return
    begins = np.empty(count + 1, np.int64)
    begins[0] = 0
    written = 1
    for i in range(1, len(first)):
        if _descends(first, second, i):
            begins[written] = i
            written += 1
    begins[count] = len(first)
    of = first, second
    into = np.empty(len(first), first.dtype), np.empty(len(second), second.dtype)
    moved = False
    while count > 1:
        for pair in range((count + 1) // 2):
            begin, end = begins[2 * pair], begins[min(2 * pair + 2, count)]
            _merge(of, begin, begins[min(2 * pair + 1, count)], end, into)
            begins[pair] = begin
        count = (count + 1) // 2
        begins[count] = len(first)
        of, into = into, of
        moved = not moved
    if moved:
        copy_memory(into[0], of[0], len(first))
        copy_memory(into[1], of[1], len(second))


@kernel
def _descends(first, second, i):
    """Return whether pair `i` is smaller than its predecessor."""
    return first[i] < first[i - 1] or (
        first[i] == first[i - 1] and second[i] < second[i - 1]
    )


@kernel
def _merge(of, begin, middle, end, into):
    """Merge the ascents [begin, middle) and [middle, end)."""
    first, second = of
    left, right = begin, middle
    for position in range(begin, end):
        take_left = left < middle and (
            right == end
            or first[left] < first[right]
            or (first[left] == first[right] and second[left] <= second[right])
        )
        source = left if take_left else right
        left += take_left
        right += not take_left
        into[0][position], into[1][position] = first[source], second[source]
