"""Read and verify stored chunks, and read arcs from them, without the interpreter."""

from typing import NamedTuple

import numpy as np

from ...kernels.arc_inspection import FINE, inspect_rows, make_keys
from ...kernels.intrinsics import copy_memory, read_file
from ...kernels.read_progress import note_arcs
from ...native.kernel import kernel

SUM_BYTES = 4  # of a checksum
LANES = 128
ROWS = 256  # words of a lane, whose weighted sum still fits 32 bits
MODULUS = np.uint64(65535)


class Chunks(NamedTuple):
    """Chunks of a dataset whose only filter is a checksum."""

    descriptor: int  # of the open file
    length: int  # entries of a chunk
    nbytes: int  # of a chunk, without the checksum
    begin: int  # the first entry of the first chunk
    offsets: np.ndarray  # int64 [chunks]: positions in the file


@kernel
def fletcher32(data):
    """Return the Fletcher-32 checksum (uint32) of words (uint16), as HDF5 computes it.

    HDF5 sums big-endian words. With little-endian ones every sum is 2^8 times as
    large, modulo 2^16 - 1; so it is put right once, at the end.
    """
    one, two, any_set = np.uint64(0), np.uint64(0), np.uint64(0)
    plain, weighted = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    done = 0
    while done + LANES <= len(data):
        rows = min(ROWS, (len(data) - done) // LANES)
        count = rows * LANES
        _sum_lanes(data[done : done + count], plain, weighted)
        two += np.uint64(count) * one
        for lane in range(LANES):
            one += np.uint64(plain[lane])
            two += np.uint64(LANES) * np.uint64(weighted[lane])
            two -= np.uint64(lane) * np.uint64(plain[lane])
        any_set |= one
        one, two = one % MODULUS, two % MODULUS
        done += count
    for word in data[done:]:
        one += np.uint64(word)
        two += one
    any_set |= one
    one, two = one % MODULUS, two % MODULUS
    if any_set == 0:
        return np.uint32(0)
    one, two = one * np.uint64(256) % MODULUS, two * np.uint64(256) % MODULUS
    # A sum that is not zero is never written as zero, but as the modulus
    one = one if one else MODULUS
    two = two if two else MODULUS
    return np.uint32(two << np.uint64(16) | one)


@kernel
def _sum_lanes(data, plain, weighted):
    """Sum up every lane of the data, a row of lanes after the other."""
    # The weighted sum has the first word of a lane as often as there are rows, and the
    # last one once: no word is multiplied
    plain[:] = 0
    weighted[:] = 0
    for begin in range(0, len(data), LANES):
        row = data[begin : begin + LANES]
        for lane in range(LANES):
            plain[lane] += np.uint32(row[lane])
            weighted[lane] += plain[lane]


@kernel
def read_chunks(chunks, begin, target):
    """Read entries from `begin` on into `target` (uint8), and verify checksums.

    A chunk is summed while it is in the cache. Returns the entry after the last one
    read: before the end, its chunk is cut short or has a wrong checksum.
    """
    length, width = chunks.length, chunks.nbytes // chunks.length
    at, end = begin, begin + len(target) // width
    while at < end:
        number = (at - chunks.begin) // length
        first = chunks.begin + number * length
        stop = min(first + length, end)
        place = target[(at - begin) * width : (stop - begin) * width]
        if stop - at == length:
            if not _read_chunk(chunks, number, place):
                return at
        else:  # only a part of the chunk is wanted
            whole = np.empty(chunks.nbytes, np.uint8)
            if not _read_chunk(chunks, number, whole):
                return at
            copy_memory(place, whole[(at - first) * width :], len(place))
        at = stop
    return end


@kernel
def _read_chunk(chunks, number, target):
    """Return whether a chunk's checksum is right."""
    nbytes, offset = chunks.nbytes, chunks.offsets[number]
    if not _read_all(chunks.descriptor, offset, target, 0, nbytes):
        return False
    found = np.empty(SUM_BYTES, np.uint8)
    if not _read_all(chunks.descriptor, offset + nbytes, found, 0, SUM_BYTES):
        return False
    return fletcher32(target.view(np.uint16)) == found.view(np.uint32)[0]


@kernel
def _read_all(descriptor, offset, target, begin, end):
    """Fill target[begin:end]; return whether the file has enough bytes."""
    while begin < end:
        done = read_file(descriptor, target, begin, end - begin, offset)
        if done <= 0:
            return False
        begin += done
        offset += done
    return True


@kernel
def move_ascending(numbers, begin, end, shift):
    """Add to the numbers in [begin, end); return whether they ascended."""
    wrong = False
    before = numbers[begin]
    for i in range(np.uint64(begin), np.uint64(end)):
        here = numbers[i]
        wrong |= here < before
        numbers[i] = here + shift
        before = here
    return not wrong


# Statuses that follow those of `inspect_rows`.
BAD_IDS, BAD_WEIGHTS = 4, 5


@kernel
def read_arcs(ids, weights, rows, arcs, check, words):
    """Read the arcs [begin, end) into rows (`Csr`), inspect them, note the progress.

    The entries of the chunks `ids` and `weights` are numbered as the arcs of the rows;
    `words` are those of `ArcsRead`. Returns the result of `inspect_rows`, without edges
    if the check is not the whole one; or `BAD_IDS` or `BAD_WEIGHTS`, and an arc whose
    chunk fails its checksum.
    """
    begin, end = arcs
    num_vertices, rule, whole = check
    _, _, indices, bits = rows
    nothing = np.int64(0)
    done = read_chunks(ids, begin, indices[begin:end].view(np.uint8))
    if done < end:
        return BAD_IDS, nothing, np.int64(done), nothing, np.uint64(0)
    done = read_chunks(weights, begin, bits[begin:end].view(np.uint8))
    if done < end:
        return BAD_WEIGHTS, nothing, np.int64(done), nothing, np.uint64(0)
    if not whole and make_keys(bits[begin:end], rule):
        note_arcs(words, begin, end)
        return FINE, nothing, nothing, nothing, np.uint64(0)
    status, vertex, arc, edges, balance = inspect_rows(rows, arcs, num_vertices, rule)
    if status == FINE:
        note_arcs(words, begin, end)
    return status, vertex, arc, edges, balance
