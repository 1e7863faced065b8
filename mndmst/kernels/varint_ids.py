"""Variable-length coding of vertex ids for messages (LEB128).

A number is written in groups of 7 bits, lowest first; the high bit of a byte says
that another follows. Ascending ids are coded as differences, names of components as
distances from their vertex. If a graph has locality, or a message has many ids, most
take one byte.
"""

import numpy as np

from ..native.kernel import kernel

GROUP = np.uint64(7)
MORE = np.uint64(0x80)


@kernel
def _length(value):
    """Return the number of bytes of a coded number."""
    count = 1
    while value >= MORE:
        value >>= GROUP
        count += 1
    return count


@kernel
def _put(value, data, place):
    """Write a number; return the position behind it."""
    while value >= MORE:
        data[place] = np.uint8(value | MORE)
        value >>= GROUP
        place += 1
    data[place] = np.uint8(value)
    return place + 1


@kernel
def _get(data, place):
    """Return the number at a position, and the position behind it."""
    byte = np.uint64(data[place])
    value = byte & ~MORE
    shift = GROUP
    while byte >= MORE:
        place += 1
        byte = np.uint64(data[place])
        value |= (byte & ~MORE) << shift
        shift += GROUP
    return value, place + 1


@kernel
def _distance(value, reference):
    """Return a signed difference as a small number: 0, -1, 1, -2, 2, ..."""
    difference = np.int64(value) - np.int64(reference)
    return np.uint64((difference << 1) ^ (difference >> 63))


@kernel
def encode_ascending(ids, counts, bases):
    """Write ascending ids, slice by slice; return the bytes, and their number by slice.

    Slices of `counts` ids follow each other; ids may repeat. `bases` has a number not
    above any id of each slice.
    """
    sizes = np.zeros(len(counts), np.int64)
    i = 0
    for part in range(len(counts)):
        before = bases[part]
        for _ in range(counts[part]):
            sizes[part] += _length(np.uint64(np.int64(ids[i]) - before))
            before = np.int64(ids[i])
            i += 1
    data = np.empty(sizes.sum(), np.uint8)
    i = place = 0
    for part in range(len(counts)):
        before = bases[part]
        for _ in range(counts[part]):
            place = _put(np.uint64(np.int64(ids[i]) - before), data, place)
            before = np.int64(ids[i])
            i += 1
    return data, sizes


@kernel
def decode_ascending(data, counts, bases):
    """Return the ids (int64) that `encode_ascending` has written."""
    ids = np.empty(counts.sum(), np.int64)
    i = place = 0
    for part in range(len(counts)):
        value = bases[part]
        for _ in range(counts[part]):
            step, place = _get(data, place)
            value += np.int64(step)
            ids[i] = value
            i += 1
    return ids


@kernel
def encode_near(values, references, counts):
    """Write ids as distances from others, slice by slice; see `encode_ascending`."""
    sizes = np.zeros(len(counts), np.int64)
    i = 0
    for part in range(len(counts)):
        for _ in range(counts[part]):
            sizes[part] += _length(_distance(values[i], references[i]))
            i += 1
    data = np.empty(sizes.sum(), np.uint8)
    place = 0
    for i in range(len(values)):
        place = _put(_distance(values[i], references[i]), data, place)
    return data, sizes


@kernel
def decode_near(data, references):
    """Return the ids (int64) that `encode_near` has written."""
    values = np.empty(len(references), np.int64)
    place = 0
    for i in range(len(values)):
        distance, place = _get(data, place)
        half = np.int64(distance >> np.uint64(1))
        values[i] = np.int64(references[i]) + (
            half ^ -np.int64(distance & np.uint64(1))
        )
    return values
