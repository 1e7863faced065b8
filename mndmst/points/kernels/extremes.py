"""The smallest and the largest size of floating-point numbers."""

import numpy as np

from ...native.kernel import kernel


@kernel
def find_extremes(bits, first, last):
    """Return the bits of the smallest size other than 0, and of the largest.

    Sizes have the order of their bits as integers, which vector instructions compare.
    If all numbers [first, last) are 0, the smallest is larger than the largest.
    """
    kind = bits.dtype.type  # a sum of uint32 is a uint64, unless it is made one again
    one, none = kind(1), kind(~kind(0))
    mask = kind(none >> kind(1))
    largest, smallest = kind(0), none
    for i in range(np.uint64(first), np.uint64(last)):
        size = kind(bits[i] & mask)
        largest = max(largest, size)
        smallest = min(smallest, kind(size - one))  # that of 0 becomes the largest
    return kind(smallest + one), largest
