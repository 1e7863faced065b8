"""The smallest and the largest magnitude of floating-point numbers."""

import numpy as np

from ...native.kernel import kernel


@kernel
def find_extremes(bits, first, last):
    """Return the bits of the smallest magnitude other than 0, and of the largest.

    Magnitudes are ordered as their bits are as integers, which vector instructions
    compare. If all numbers [first, last) are 0, the smallest exceeds the largest.
    """
    kind = bits.dtype.type  # Numba widens a sum of uint32 to uint64
    one, none = kind(1), kind(~kind(0))
    mask = kind(none >> kind(1))
    largest, smallest = kind(0), none
    for i in range(np.uint64(first), np.uint64(last)):
        magnitude = kind(bits[i] & mask)
        largest = max(largest, magnitude)
        smallest = min(smallest, kind(magnitude - one))  # 0 wraps to the largest number
    return kind(smallest + one), largest
