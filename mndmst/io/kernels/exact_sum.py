"""Exact sums of floats."""

import numpy as np

from ...native.kernel import kernel

EXPONENTS = 2048
LOW_BITS = 27  # of 53; an int64 holds the sum of 2^36 such halves
FRACTION_BITS = np.uint64(52)


@kernel
def add_floats(words, low, high):
    """Add finite floats, given as their bits (uint64), to a sum for each exponent.

    `low` and `high` (int64 [EXPONENTS]) sum the lower and the upper bits of the signed
    mantissas.
    """
    implicit = np.uint64(1) << FRACTION_BITS
    for word in words:
        exponent = np.intp(word >> FRACTION_BITS & np.uint64(EXPONENTS - 1))
        integer = word & (implicit - np.uint64(1))
        integer |= implicit if exponent else np.uint64(0)
        # All bits are set for negative floats: (x ^ -1) + 1 is -x
        flip = -np.int64(word >> np.uint64(63))
        below = np.int64(integer & np.uint64((1 << LOW_BITS) - 1))
        low[exponent] += (below ^ flip) - flip
        high[exponent] += (np.int64(integer >> np.uint64(LOW_BITS)) ^ flip) - flip
