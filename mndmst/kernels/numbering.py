"""Compact numbering of ids: by a bitmap if ids are dense, else by hash or sort."""

import numpy as np

from ..native.kernel import kernel
from .binary_search import first_above
from .intrinsics import copy_memory, set_bits, trailing_zeros
from .sorting import merge_ascents, sort_positions
from .threads import ALONE, Threads

# A bitmap of the range of some ids may take this many bits for each of them.
BITS_PER_ID = 64


def compact(
    ids_a: np.ndarray, ids_b: np.ndarray, first: int, last: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the distinct ids of two columns in ascending order.

    Most ids, which are not negative, are in [first, last). Returns the distinct ids
    (int64), ascending, and the columns as positions among them (uint32).
    """
    columns = (ids_a, ids_b)
    low = min((int(ids.min()) for ids in columns if len(ids)), default=0)
    high = max((int(ids.max()) for ids in columns if len(ids)), default=0)
    if high - low > BITS_PER_ID * 2 * len(ids_a):
        return compact_by_hash(ids_a, ids_b, first, last)
    words = np.zeros((high - low) // 64 + 1, np.uint64)
    for ids in columns:
        _mark(ids, low, words)
    labels, before = _labels(words, low)
    return labels, _place(ids_a, low, words, before), _place(ids_b, low, words, before)


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
    return labels, _place(ids, low, words, before)


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
    place = np.uint64(0)
    for i in range(np.uint64(len(words))):
        word = words[i]
        while word:
            labels[place] = low + np.int64(64 * i + trailing_zeros(word))
            word &= word - np.uint64(1)
            place += np.uint64(1)
    return labels, before


@kernel
def _place(ids, low, words, before):
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


@kernel
def _slot(table, ids, value):
    """Return the place of an id in an open-addressing table of positions."""
    mask = np.uint64(len(table) - 1)
    place = (np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    place &= mask
    while table[place] >= 0 and ids[table[place]] != value:
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def _distinct_outside(ids, first, last, found, count, table):
    """Collect the ids outside [first, last) in `found`; return the new state."""
    for i in range(len(ids)):
        value = np.int64(ids[i])
        if first <= value < last:
            continue
        place = _slot(table, found, value)
        if table[place] >= 0:
            continue
        if 2 * (count + 1) > len(table):
            larger = np.full(2 * len(table), -1, np.int64)
            for position in range(count):
                larger[_slot(larger, found, found[position])] = position
            table = larger
            place = _slot(table, found, value)
        if count == len(found):
            more = np.empty(2 * len(found), np.int64)
            copy_memory(more, found, count)
            found = more
        found[count] = value
        table[place] = count
        count += 1
    return found, count, table


@kernel
def _numbered(ids, first, number, table, found, rank_of):
    """Return the numbers of ids, of which those from `first` on are in `number`."""
    last = first + len(number)
    out = np.empty(len(ids), np.uint32)
    for i in range(len(ids)):
        value = np.int64(ids[i])
        if first <= value < last:
            out[i] = number[value - first]
        else:
            out[i] = rank_of[table[_slot(table, found, value)]]
    return out


@kernel
def compact_by_hash(ids_a, ids_b, first, last):
    """Number the distinct ids of two columns in ascending order, as `compact` does.

    Most ids are expected in [first, last), where a plain table serves; the others go
    through a hash table.
    """
    used = np.zeros(last - first, np.bool_)
    for i in range(len(ids_a)):
        if first <= np.int64(ids_a[i]) < last:
            used[np.int64(ids_a[i]) - first] = True
        if first <= np.int64(ids_b[i]) < last:
            used[np.int64(ids_b[i]) - first] = True
    inside = 0
    for i in range(len(used)):
        inside += used[i]
    found = np.empty(64, np.int64)
    table = np.full(256, -1, np.int64)
    found, count, table = _distinct_outside(ids_a, first, last, found, 0, table)
    found, count, table = _distinct_outside(ids_b, first, last, found, count, table)
    outside, order = np.empty(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        outside[i], order[i] = found[i], i
    merge_ascents(outside, order)
    below = first_above(outside, first - 1)
    labels = np.empty(count + inside, np.int64)
    rank_of = np.empty(count, np.uint32)
    number = np.empty(last - first, np.uint32)
    position = below
    for i in range(last - first):
        number[i] = position
        if used[i]:
            labels[position] = first + i
            position += 1
    for i in range(count):
        place = i if i < below else position + i - below
        rank_of[order[i]] = place
        labels[place] = outside[i]
    a = _numbered(ids_a, first, number, table, found, rank_of)
    b = _numbered(ids_b, first, number, table, found, rank_of)
    return labels, a, b
