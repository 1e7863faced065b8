"""Counts of differing and missing entries between categorical rows."""

import numpy as np

from ...native.kernel import kernel

MISSING, ABSENT = 0, 1
# Columns whose counts fit uint8: vector instructions add 32 counts at a time.
BLOCK = 128


@kernel
def count_alleles(codes, row, first, last, differing, compared, absent):
    """Count columns that differ between a row and the rows [first, last) of `codes`.

    Codes are of an unsigned type; 0 is a missing entry. For each row, `differing`
    becomes the number of columns whose entries are both present and differ, `compared`
    that of columns whose entries are both present, and `absent` that of columns whose
    entries are both 1.
    """
    width = np.uint64(len(row))
    for i in range(np.uint64(first), np.uint64(last)):
        unlike, both, ones = np.uint32(0), np.uint32(0), np.uint32(0)
        begin = np.uint64(0)
        while begin < width:
            end = min(begin + np.uint64(BLOCK), width)
            u, b, o = np.uint8(0), np.uint8(0), np.uint8(0)
            for j in range(begin, end):
                one, other = row[j], codes[i, j]
                present = (one != 0) & (other != 0)
                u = np.uint8(u + np.uint8(present & (one != other)))
                b = np.uint8(b + np.uint8(present))
                o = np.uint8(o + np.uint8((one == 1) & (other == 1)))
            unlike += np.uint32(u)
            both += np.uint32(b)
            ones += np.uint32(o)
            begin = end
        differing[i], compared[i], absent[i] = unlike, both, ones
