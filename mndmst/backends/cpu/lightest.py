"""The lightest arc of a vertex, loops left out, and whether a band has it."""

import numpy as np

from ...kernels.intrinsics import choose
from ...kernels.row_order import lightest_from
from ...native.kernel import kernel

# Rows with more arcs are looped over.
FEW = np.uint64(4)


@kernel
def chosen(best, high, largest):
    """Return whether a row has an arc in the band, which may lead to a ghost.

    One with the largest key that there is has not been noticed.
    """
    return (best <= high) & (best != largest)


@kernel
def lightest_elsewhere(indices, keys, begin, end, vertex):
    """Return the first lightest arc of a vertex that has any, but for loops, or -1."""
    arc = np.int64(_lightest(keys, begin, end))
    if np.uint64(indices[np.uint64(arc)]) == vertex:
        arc = _lightest_but_loops(indices, keys, begin, end, vertex)
    return arc


@kernel
def _lightest(keys, begin, end):
    """Return the first lightest arc of a row that has any, of few without branches."""
    if end - begin > FEW:
        return np.uint64(lightest_from(keys, begin, end, keys.dtype.type(0)))
    found, least = begin, keys[begin]
    for step in range(np.uint64(1), FEW):
        arc = min(begin + step, end - np.uint64(1))
        lighter = keys[arc] < least
        found = choose(lighter, arc, found)
        least = choose(lighter, keys[arc], least)
    return found


@kernel
def _lightest_but_loops(indices, keys, begin, end, vertex):
    """Return the first lightest arc of [begin, end) that leads elsewhere, or -1."""
    found = np.int64(-1)
    for arc in range(begin, end):
        loop = np.uint64(indices[arc]) == vertex
        if not loop and (found < 0 or keys[arc] < keys[np.uint64(found)]):
            found = np.int64(arc)
    return found
