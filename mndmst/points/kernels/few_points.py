"""The forest of few points: Prim's algorithm on all pairs, in one kernel.

Of few points, all distances take less time than a tree, and one kernel compiles sooner
than the thirty of the search by a tree.
"""

import numpy as np

from ...native.kernel import kernel
from .boruvka_steps import LAST_KEY
from .norms import add_gap, distance_of

HALF = np.uint64(32)


@kernel
def join_few_points(columns, norm, min_samples, cores, weight, key):
    """Write the weights and keys of the forest's edges, as a tree of Prim's grows.

    Row d of `columns` has the coordinates of dimension d. `cores` become the distances
    to the `min_samples`-th neighbour, 0 without one. Edges are compared by weight, then
    by key (see `PointEdges`), so the forest is that of every other search.
    """
    count = columns.shape[1]
    far, nearest = np.empty(count), np.empty(min_samples + 1)
    for point in range(count):
        cores[point] = 0.0
        if min_samples:
            _measure(columns, norm, point, far)
            far[point] = np.inf
            cores[point] = _smallest(far, nearest, min_samples)
    least, first = np.empty(count), np.empty(count, np.uint64)
    outside = np.empty(count, np.uint32)
    for point in range(count):
        least[point], first[point], outside[point] = np.inf, LAST_KEY, point
    current, left = 0, count
    for edge in range(count - 1):
        left -= 1
        for i in range(left + 1):  # one of them is the point that has just been joined
            if outside[i] == current:
                outside[i] = outside[left]
        _measure(columns, norm, current, far)
        best = np.int64(outside[0])
        for i in range(left):
            point = np.int64(outside[i])
            length = max(far[point], max(cores[point], cores[current]))
            if length <= least[point]:
                low, high = min(point, current), max(point, current)
                name = np.uint64(low) << HALF | np.uint64(high)
                if length < least[point] or name < first[point]:
                    least[point], first[point] = length, name
            if least[point] < least[best] or (
                least[point] == least[best] and first[point] < first[best]
            ):
                best = point
        weight[edge], key[edge] = least[best], first[best]
        current = best


@kernel
def _measure(columns, norm, point, far):
    """Compute the distances of one point to all points."""
    far[:] = 0.0
    for d in range(columns.shape[0]):
        here = columns[d, point]
        for i in range(len(far)):
            far[i] = add_gap(norm, far[i], abs(columns[d, i] - here))
    for i in range(len(far)):
        far[i] = distance_of(norm, far[i])


@kernel
def _smallest(values, smallest, count):
    """Return the `count`-th smallest value; `smallest` is memory, one longer."""
    smallest[:] = np.inf
    for value in values:
        if value < smallest[count - 1]:
            at = count - 1
            while at > 0 and smallest[at - 1] > value:
                smallest[at] = smallest[at - 1]
                at -= 1
            smallest[at] = value
    return smallest[count - 1]
