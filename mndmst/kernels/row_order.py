"""The arcs of a row in ascending order, one after the other, without a sort."""

import numpy as np

from ..native.kernel import kernel


@kernel
def lightest_from(keys, begin, end, low):
    """Return the first lightest arc of [begin, end) with key >= low, or -1."""
    largest = keys.dtype.type(~keys.dtype.type(0))
    least = largest
    # Unsigned indices let LLVM turn both loops into vector code.
    for arc in range(np.uint64(begin), np.uint64(end)):
        key = keys[arc]
        least = min(least, key if key >= low else largest)
    for arc in range(np.uint64(begin), np.uint64(end)):
        if keys[arc] == least:
            return np.int64(arc)
    return np.int64(-1)


@kernel
def following(keys, arc, end, begin):
    """Return the arc of a row that comes after one in the order, or -1.

    The arcs of a row are ordered by (key, head), and their heads ascend.
    """
    for other in range(np.uint64(arc + 1), np.uint64(end)):
        if keys[other] == keys[arc]:
            return np.int64(other)
    if keys[arc] == ~keys.dtype.type(0):
        return np.int64(-1)
    return lightest_from(keys, begin, end, keys.dtype.type(keys[arc] + 1))
