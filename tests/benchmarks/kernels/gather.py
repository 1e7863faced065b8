"""Independent lookups, the yardstick for kernels that look something up per edge."""

import numpy as np

from mndmst.native.kernel import kernel


@kernel
def gather(table, indices, begin, end):
    """Return the sum of the entries at indices[begin:end], modulo 2^64."""
    total = np.uint64(0)
    for position in range(begin, end):
        total += np.uint64(table[indices[position]])
    return total
