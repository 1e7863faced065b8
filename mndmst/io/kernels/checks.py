"""What is checked of arrays as they come from a file."""

import numpy as np

from ...kernels.intrinsics import read_file
from ...native.kernel import kernel

SUM_BYTES = 4  # of a checksum
LANES = 128
ROWS = 256  # words of a lane, whose weighted sum still fits 32 bits
MODULUS = np.uint64(65535)


@kernel
def fletcher32(data):
    """Return the Fletcher-32 checksum as HDF5 computes it.

    HDF5 sums big-endian words. With little-endian ones every sum is 2^8 times as
    large, modulo 2^16 - 1; so it is put right once, at the end.

    Parameters
    ----------
    data : ndarray of uint16
        The bytes, two at a time.

    Returns
    -------
    uint32
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
    """Sum up every lane of the data, a row of lanes after the other.

    The weighted sum has the first word of a lane as often as there are rows, and the
    last one once: no word is multiplied.
    """
    plain[:] = 0
    weighted[:] = 0
    for begin in range(0, len(data), LANES):
        row = data[begin : begin + LANES]
        for lane in range(LANES):
            plain[lane] += np.uint32(row[lane])
            weighted[lane] += plain[lane]


@kernel
def read_chunks(descriptor, offset, nbytes, target):
    """Read chunks that follow each other in a file, each with its checksum behind it.

    A chunk is summed while it is in the cache.

    Parameters
    ----------
    descriptor : int
        Of the open file.
    offset : int
        Where the first one begins.
    nbytes : int
        Of each without its checksum.
    target : ndarray of uint8
        Gets the chunks.

    Returns
    -------
    int
        The first chunk that is cut short, or whose checksum is not its own; how many
        there are if there is none.
    """
    words, found = target.view(np.uint16), np.empty(SUM_BYTES, np.uint8)
    count = len(target) // nbytes
    for chunk in range(count):
        begin, end = chunk * nbytes, (chunk + 1) * nbytes
        if not _read_all(descriptor, offset, target, begin, end):
            return chunk
        if not _read_all(descriptor, offset + nbytes, found, 0, SUM_BYTES):
            return chunk
        if fletcher32(words[begin // 2 : end // 2]) != found.view(np.uint32)[0]:
            return chunk
        offset += nbytes + SUM_BYTES
    return count


@kernel
def _read_all(descriptor, offset, target, begin, end):
    """Fill target[begin:end]; return whether the file had so much."""
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
