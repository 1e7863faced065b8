"""Binary search in ascending values.

NumPy's own function, compiled by Numba, takes a kernel five times as long to compile.
"""

import numpy as np

from ..native.kernel import kernel


@kernel
def first_above(values, bound):
    """Return the position of the first value (ascending) above a bound, or the end."""
    low, high = np.int64(0), np.int64(len(values))
    while low < high:
        middle = (low + high) // 2
        if values[middle] > bound:
            high = middle
        else:
            low = middle + 1
    return low
