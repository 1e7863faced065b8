"""Look up edges in a forest, and find edges that others of equal weight can replace.

An edge outside a minimum spanning forest weighs at least as much as every edge on the
path between its ends. If it weighs as much as the heaviest, it can replace each edge of
that weight on the path. Edges outside are processed in ascending order, and an edge of
the forest contracts into its parent as soon as it is lighter than them, or known to be
replaceable. So every edge is visited once, in O((n + m) a(n)) after the sort.
"""

import numpy as np

from ..kernels.kruskal import find
from ..native.kernel import kernel
from .rooted import NO_EDGE


@kernel
def find_pairs(src, dst, offsets, heads, position):
    """Find pairs of vertices among the edges of a forest.

    The edges whose smaller end is v are from offsets[v] on; their larger ends `heads`
    ascend for each smaller end. `position` becomes the position of the edge, -1 if the
    forest has none.
    """
    for i in range(len(src)):
        tail, head = min(src[i], dst[i]), max(src[i], dst[i])
        low, high = offsets[tail], offsets[np.uint64(tail) + np.uint64(1)]
        end = high
        while low < high:
            middle = (low + high) >> 1
            if heads[middle] < head:
                low = middle + 1
            else:
                high = middle
        position[i] = low if low < end and heads[low] == head else -1


@kernel
def mark_replaceable(rooted, keys, order, outside, u, v, marked):
    """Mark the edges of a forest that edges outside can replace at equal weight.

    `keys` are those of the forest's edges by position, and `order` these positions,
    lightest first. `outside` are the keys of edges outside the forest, ascending, `u`
    and `v` their ends.

    Returns the position of an edge outside that is lighter than one on its path, or
    joins two trees, so that the forest is not minimum; -1 if there is none.
    """
    below = np.empty(len(keys), np.uint32)  # the lower end of each edge
    for position in range(np.uint64(len(rooted.edge))):
        if rooted.edge[position] != NO_EDGE:
            below[rooted.edge[position]] = position
    top = np.arange(len(rooted.edge)).astype(np.uint32)
    lighter = np.uint64(0)
    for i in range(len(outside)):
        while lighter < np.uint64(len(order)) and keys[order[lighter]] < outside[i]:
            position = below[order[lighter]]
            top[position] = rooted.parent[position]
            lighter += np.uint64(1)
        x = find(top, np.uint64(rooted.position[u[i]]))
        y = find(top, np.uint64(rooted.position[v[i]]))
        while x != y:
            if x < y:  # a parent comes before its children
                x, y = y, x
            edge = rooted.edge[x]
            if edge == NO_EDGE or keys[edge] != outside[i]:
                return i
            marked[edge] = True
            top[x] = rooted.parent[x]
            x = find(top, np.uint64(rooted.parent[x]))
    return -1
