"""What is checked of arrays as they come from a file."""

import numpy as np

from ...native.kernel import kernel

FINE, BAD_ID, NOT_ASCENDING, NOT_A_NUMBER = range(4)
BLOCK = 256  # words whose weighted sum still fits 32 bits
BLOCKS = 64
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
    one, two = np.uint64(0), np.uint64(0)
    done = 0
    any_set = np.uint64(0)
    while done < len(data):
        for _ in range(BLOCKS):
            block = data[done : done + BLOCK]
            count = len(block)
            plain, weighted = np.uint32(0), np.uint32(0)
            for i in range(count):
                word = np.uint32(block[i])
                plain = np.uint32(plain + word)
                weighted = np.uint32(weighted + word * np.uint32(count - i))
            two += np.uint64(count) * one + np.uint64(weighted)
            one += np.uint64(plain)
            done += count
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
def first_wrong_sum(data, length, sums):
    """Return the first chunk of `length` words whose checksum is not its own.

    If there is none, how many chunks there are.
    """
    for chunk in range(len(sums)):
        if fletcher32(data[chunk * length : (chunk + 1) * length]) != sums[chunk]:
            return chunk
    return len(sums)


@kernel
def check_rows(indptr, indices, weights, num_vertices, begin, end):
    """Look for the first arc of the rows [begin, end) that is wrong.

    Parameters
    ----------
    indptr : ndarray of int64
    indices : ndarray of uint32 or int64
    weights : ndarray

    Returns
    -------
    status : int
        `FINE`, `BAD_ID`, `NOT_ASCENDING` or `NOT_A_NUMBER`.
    row, arc : int
    """
    held = slice(indptr[begin], indptr[end])
    if _all_fine(indptr[begin : end + 1], indices[held], weights[held], num_vertices):
        return FINE, end, 0
    for row in range(begin, end):
        before = np.int64(0)
        for arc in range(indptr[row], indptr[row + 1]):
            head = np.int64(indices[arc])
            if head < 0 or head >= num_vertices:
                return BAD_ID, row, arc
            if head < before:
                return NOT_ASCENDING, row, arc
            if weights[arc] != weights[arc]:
                return NOT_A_NUMBER, row, arc
            before = head
    return FINE, end, 0


@kernel
def _all_fine(indptr, indices, weights, num_vertices):
    """Return whether nothing is wrong, by loops that vector instructions can do.

    Ids may descend from one row to the next only, so descents are counted; in a row
    that ascends the first and the last id tell the range of all.
    """
    later, earlier = indices[1:], indices[:-1]
    descents, wrong = 0, 0
    for i in range(len(later)):
        descents += later[i] < earlier[i]
    for i in range(len(weights)):
        wrong += weights[i] != weights[i]
    for row in range(len(indptr) - 1):
        first, stop = indptr[row] - indptr[0], indptr[row + 1] - indptr[0]
        if first < stop:
            wrong += indices[first] < 0
            wrong += indices[stop - 1] >= num_vertices
            if first:
                descents -= indices[first] < indices[first - 1]
    return descents == 0 and wrong == 0
