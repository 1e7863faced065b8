"""Decode the successor lists of a WebGraph, one vertex after the other.

Bits are read from the highest of each byte on. A gamma code is, in unary, the number
of bits that follow its leading one; a zeta code of k counts them in groups of k [1].

[1] Boldi and Vigna: The WebGraph Framework I: Compression Techniques. WWW 2004.
"""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel

GOOD, NO_ROOM, DAMAGED = range(3)
BYTE, HIGH_BIT = 8, 128
WIDEST = 62  # bits of a number


class Coding(NamedTuple):
    """Parameters of a graph's coding: window, shortest interval, zeta's k."""

    window: int
    shortest: int
    k: int


class Cursor(NamedTuple):
    """The bit at which a vertex begins, the vertex, and where its list is written."""

    at: int
    vertex: int
    used: int


@kernel
def decode(bits, cursor, num_vertices, coding, begins, dst, degrees):
    """Write the successors of consecutive vertices until the buffer is full.

    Row v % (window + 1) of `begins` (int64 [window + 1, 2]) has the begin and the end
    of the list of v in `dst`, for the vertices v before the next one. `dst` is filled
    from `cursor.used` on, ascending in each list, and `degrees` (int64) with the
    lengths.

    Returns a status, the cursor of the next list, and the entries it needs. The status
    is `GOOD` at the last vertex, or if `degrees` is full; `NO_ROOM` where `dst` is too
    short for the next list; `DAMAGED` where there can be no list.
    """
    at, vertex, used = cursor
    window, first = coding.window, vertex
    blocks = np.empty(0, np.int64)
    while vertex < num_vertices and vertex - first < len(degrees):
        begin = at
        degree, at = _gamma(bits, at)
        if degree > num_vertices or at > BYTE * len(bits):
            return DAMAGED, Cursor(begin, vertex, used), 0
        if used + degree > len(dst):
            return NO_ROOM, Cursor(begin, vertex, used), degree
        bounds = begins[vertex % (window + 1)]
        bounds[0], bounds[1] = used, used + degree
        degrees[vertex - first] = degree
        if degree:
            reference = 0
            if window:
                reference, at = _unary(bits, at)
            if reference > min(window, vertex):
                return DAMAGED, Cursor(begin, vertex, used), 0
            copied = 0
            if reference:
                source = begins[(vertex - reference) % (window + 1)]
                blocks, at, copied = _read_blocks(bits, at, source[1] - source[0])
                if copied < 0 or copied > degree:
                    return DAMAGED, Cursor(begin, vertex, used), 0
                _copy(blocks, dst[source[0] : source[1]], dst[used : used + copied])
            row = dst[used : used + degree]
            at, good = _read_extra(bits, at, vertex, num_vertices, coding, row, copied)
            if not good:
                return DAMAGED, Cursor(begin, vertex, used), 0
            row.sort()
        used += degree
        vertex += 1
    return GOOD, Cursor(at, vertex, used), 0


@kernel
def _read_blocks(bits, at, length):
    """Return the lengths of blocks to copy and to pass over, in turn, of a list."""
    count, at = _gamma(bits, at)
    if count > length + 1:
        return np.empty(0, np.int64), at, -1
    blocks = np.empty(count + 1, np.int64)
    total, copied = 0, 0
    for i in range(count):
        blocks[i], at = _gamma(bits, at)
        blocks[i] += i > 0
        total += blocks[i]
        if total > length:
            return blocks, at, -1
        if i % 2 == 0:
            copied += blocks[i]
    # The rest of the list is one more block
    blocks[count] = length - total
    if count % 2 == 0:
        copied += length - total
    return blocks, at, copied


@kernel
def _copy(blocks, source, target):
    """Copy every other block of a list."""
    read, written = 0, 0
    for i in range(len(blocks)):
        if i % 2 == 0:
            target[written : written + blocks[i]] = source[read : read + blocks[i]]
            written += blocks[i]
        read += blocks[i]


@kernel
def _read_extra(bits, at, vertex, num_vertices, coding, row, written):
    """Append the successors that are not copied: intervals, then single ones."""
    shortest, k = coding.shortest, coding.k
    if written < len(row) and shortest:
        count, at = _gamma(bits, at)
        if count > len(row):
            return at, False
        previous = vertex
        for i in range(count):
            first, at = _gamma(bits, at)
            length, at = _gamma(bits, at)
            first = vertex + _signed(first) if i == 0 else previous + first + 1
            length += shortest
            previous = first + length
            if first < 0 or previous > num_vertices:
                return at, False
            if written + length > len(row):
                return at, False
            for successor in range(first, previous):
                row[written] = successor
                written += 1
    previous = np.int64(-1)
    single = written
    while written < len(row):
        gap, at = _zeta(bits, at, k)
        previous = vertex + _signed(gap) if written == single else previous + gap + 1
        if not 0 <= previous < num_vertices or at > BYTE * len(bits):
            return at, False
        row[written] = previous
        written += 1
    return at, at <= BYTE * len(bits)


@kernel(inline="always")
def _signed(number):
    """Decode a signed number: 0, -1, 1, -2, 2 and so on."""
    return number >> 1 if number % 2 == 0 else -((number + 1) >> 1)


@kernel
def _unary(bits, at):
    """Return the number of zeros before the next one, and the bit after it."""
    count = 0
    while at >> 3 < len(bits):
        byte = bits[at >> 3] << (at & 7) & 255
        if byte == 0:
            skipped = BYTE - (at & 7)
            count += skipped
            at += skipped
            continue
        while byte < HIGH_BIT:
            byte <<= 1
            count += 1
            at += 1
        return count, at + 1
    return count, BYTE * len(bits) + 1


@kernel
def _number(bits, at, width):
    """Return the number that some bits are, and the bit after them."""
    number = np.int64(0)
    end = at + width
    while at < end and at >> 3 < len(bits):
        here = min(BYTE - (at & 7), end - at)
        byte = np.int64(bits[at >> 3]) << (at & 7) & 255
        number = number << here | byte >> (BYTE - here)
        at += here
    return number, end


@kernel
def _gamma(bits, at):
    width, at = _unary(bits, at)
    if width > WIDEST:
        return np.int64(0), BYTE * len(bits) + 1
    number, at = _number(bits, at, width)
    return (np.int64(1) << width | number) - 1, at


@kernel
def _zeta(bits, at, k):
    group, at = _unary(bits, at)
    if group * k + k > WIDEST:
        return np.int64(0), BYTE * len(bits) + 1
    least = np.int64(1) << (group * k)
    number, at = _number(bits, at, group * k + k - 1)
    if number < least:
        return number + least - 1, at
    bit, at = _number(bits, at, 1)
    return (number << 1 | bit) - 1, at
