"""The forest of few points: Prim's algorithm on all pairs, in one kernel.

For few points, computing all distances takes less time than building a tree, and this
one kernel compiles sooner than the thirty kernels of the search by a tree.
"""

import numpy as np

from ...native.kernel import kernel
from .boruvka_steps import LAST_KEY, edge_key
from .norms import add_gap, distance_of


@kernel
def join_few_points(columns, norm, min_samples, cores, weight, key):
    """Write the weights and keys of the forest's edges, in the order of Prim's tree.

    Row d of `columns` has the coordinates of dimension d. `cores` become the distances
    to the `min_samples`-th neighbour, or 0 if `min_samples` is 0. Edges are compared by
    weight, then by key (see `PointEdges`), so the forest equals that of other searches.
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
    current, remaining = 0, count
    for edge in range(count - 1):
        remaining -= 1
        for i in range(remaining + 1):  # remove the point that has just been joined
            if outside[i] == current:
                outside[i] = outside[remaining]
        _measure(columns, norm, current, far)
        best = np.int64(outside[0])
        for i in range(remaining):
            point = np.int64(outside[i])
            length = max(far[point], max(cores[point], cores[current]))
            if length <= least[point]:
                this_key = edge_key(point, current)
                if length < least[point] or this_key < first[point]:
                    least[point], first[point] = length, this_key
            if least[point] < least[best] or (
                least[point] == least[best] and first[point] < first[best]
            ):
                best = point
        weight[edge], key[edge] = least[best], first[best]
        current = best


@kernel
def _measure(columns, norm, point, far):
    """Write the distances of one point to all points to `far`."""
    far[:] = 0.0
    for d in range(columns.shape[0]):
        coordinate = columns[d, point]
        for i in range(len(far)):
            far[i] = add_gap(norm, far[i], abs(columns[d, i] - coordinate))
    for i in range(len(far)):
        far[i] = distance_of(norm, far[i])


@kernel
def _smallest(values, smallest, count):
    """Return the `count`-th smallest value; `smallest` is a buffer of count + 1."""
    smallest[:] = np.inf
    for value in values:
        if value < smallest[count - 1]:
            at = count - 1
            while at > 0 and smallest[at - 1] > value:
                smallest[at] = smallest[at - 1]
                at -= 1
            smallest[at] = value
    return smallest[count - 1]
