"""Compact numbering of ids: by a bitmap if ids are dense, else by a sort."""

import numpy as np

from ..native.kernel import kernel
from .intrinsics import set_bits, trailing_zeros
from .sorting import sort_positions
from .threads import ALONE, Threads

# A bitmap of the range of some ids may take this many bits for each of them.
BITS_PER_ID = 64


def compact(
    ids_a: np.ndarray, ids_b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the distinct ids of two columns of one length in ascending order.

    Ids are not negative. Returns the distinct ids (int64), ascending, and the columns
    as positions among them (uint32).
    """
    columns = (ids_a, ids_b)
    low = min((int(ids.min()) for ids in columns if len(ids)), default=0)
    high = max((int(ids.max()) for ids in columns if len(ids)), default=0)
    if high - low > BITS_PER_ID * 2 * len(ids_a):
        labels, position = distinct(np.concatenate(columns).astype(np.int64))
        return labels, position[: len(ids_a)], position[len(ids_a) :]
    words = np.zeros((high - low) // 64 + 1, np.uint64)
    for ids in columns:
        _mark(ids, low, words)
    labels, before = _labels(words, low)
    return (
        labels,
        _positions(ids_a, low, words, before),
        _positions(ids_b, low, words, before),
    )


def distinct(ids: np.ndarray, threads: Threads = ALONE) -> tuple[np.ndarray, ...]:
    """Number some ids, which are not negative, in ascending order.

    Returns the distinct ids (int64), ascending, and the position of each id among them
    (uint32).
    """
    if (ids[1:] > ids[:-1]).all():
        return ids, np.arange(len(ids), dtype=np.uint32)
    low, high = int(ids.min()), int(ids.max())
    if high - low > BITS_PER_ID * len(ids):
        return _number_runs(ids, sort_positions(ids.view(np.uint64), threads))
    words = np.zeros((high - low) // 64 + 1, np.uint64)
    _mark(ids, low, words)
    labels, before = _labels(words, low)
    return labels, _positions(ids, low, words, before)


@kernel
def _mark(ids, low, words):
    for i in range(np.uint64(len(ids))):
        offset = np.uint64(np.int64(ids[i]) - low)
        words[offset >> np.uint64(6)] |= np.uint64(1) << (offset & np.uint64(63))


@kernel
def _labels(words, low):
    """Return the marked ids, and the number of ids before each word."""
    before = np.empty(len(words), np.uint32)
    count = np.uint64(0)
    for i in range(np.uint64(len(words))):
        before[i] = count
        count += set_bits(words[i])
    labels = np.empty(count, np.int64)
    written = np.uint64(0)
    for i in range(np.uint64(len(words))):
        word = words[i]
        while word:
            labels[written] = low + np.int64(64 * i + trailing_zeros(word))
            word &= word - np.uint64(1)
            written += np.uint64(1)
    return labels, before


@kernel
def _positions(ids, low, words, before):
    position = np.empty(len(ids), np.uint32)
    for i in range(np.uint64(len(ids))):
        offset = np.uint64(np.int64(ids[i]) - low)
        word = offset >> np.uint64(6)
        lower = (np.uint64(1) << (offset & np.uint64(63))) - np.uint64(1)
        position[i] = before[word] + set_bits(words[word] & lower)
    return position


@kernel
def _number_runs(ids, order):
    labels = np.empty(len(ids), np.int64)
    position = np.empty(len(ids), np.uint32)
    count = 0
    for i in order:
        if count == 0 or labels[count - 1] != ids[i]:
            labels[count] = ids[i]
            count += 1
        position[i] = count - 1
    return labels[:count].copy(), position
