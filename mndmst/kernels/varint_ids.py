"""Variable-length coding of vertex ids for messages (LEB128).

A number is written in groups of 7 bits, lowest first; the high bit of a byte is set if
another byte follows. Ascending ids are coded as differences, names of components as
distances from their vertex. If a graph has locality, or a message has many ids, most
ids take one byte.
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
def _put(value, data, offset):
    """Write a number; return the offset behind it."""
    while value >= MORE:
        data[offset] = np.uint8(value | MORE)
        value >>= GROUP
        offset += 1
    data[offset] = np.uint8(value)
    return offset + 1


@kernel
def _get(data, offset):
    """Return the number at an offset, and the offset behind it."""
    byte = np.uint64(data[offset])
    value = byte & ~MORE
    shift = GROUP
    while byte >= MORE:
        offset += 1
        byte = np.uint64(data[offset])
        value |= (byte & ~MORE) << shift
        shift += GROUP
    return value, offset + 1


@kernel
def _distance(value, reference):
    """Return a signed difference as a small number: 0, -1, 1, -2, 2, ..."""
    difference = np.int64(value) - np.int64(reference)
    return np.uint64((difference << 1) ^ (difference >> 63))


@kernel
def encode_ascending(ids, counts, bases):
    """Write ascending ids, slice by slice; return the bytes, and their number by slice.

    Slices of `counts` ids are consecutive; ids may repeat. `bases` has a lower bound of
    the ids of each slice.
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
    i = offset = 0
    for part in range(len(counts)):
        before = bases[part]
        for _ in range(counts[part]):
            offset = _put(np.uint64(np.int64(ids[i]) - before), data, offset)
            before = np.int64(ids[i])
            i += 1
    return data, sizes


@kernel
def decode_ascending(data, counts, bases):
    """Return the ids (int64) that `encode_ascending` has written."""
    ids = np.empty(counts.sum(), np.int64)
    i = offset = 0
    for part in range(len(counts)):
        value = bases[part]
        for _ in range(counts[part]):
            step, offset = _get(data, offset)
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
    offset = 0
    for i in range(len(values)):
        offset = _put(_distance(values[i], references[i]), data, offset)
    return data, sizes


@kernel
def decode_near(data, references):
    """Return the ids (int64) that `encode_near` has written."""
    values = np.empty(len(references), np.int64)
    offset = 0
    for i in range(len(values)):
        distance, offset = _get(data, offset)
        half = np.int64(distance >> np.uint64(1))
        values[i] = np.int64(references[i]) + (
            half ^ -np.int64(distance & np.uint64(1))
        )
    return values
