"""The nearest neighbours of points, of one rank or of another, and their edges.

Up to `LEAF` points search together: the points of a leaf, or consecutive points of
another rank. One walk of the tree serves the group: it visits the leaves that are
nearer to the group's box than the furthest listed neighbour of any of its points. In
each leaf only those points search that are near to it.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import trailing_zeros
from ...native.kernel import kernel
from .kd_tree import EMPTY_LANE, LEAF, load_group
from .leaf_vectors import (
    distances_below,
    gaps_below,
    gaps_to_children,
    insert_near,
    largest_of,
    smallest_of,
)
from .norms import LARGEST, distance_of

# List lengths are multiples of it: `insert_near` moves 4 entries at a time.
MULTIPLE = 4


class SearchGroup(NamedTuple):
    """Up to LEAF points that search together, and their lists of neighbours.

    A list has `size` entries, of which the first k count. `nodes` and `gaps` are the
    stack of a walk.
    """

    # float64: coordinates, dimension by dimension, in columns of LEAF
    block: np.ndarray
    # float64, shape (2, dimensions): the least and the largest coordinates
    box: np.ndarray
    # float64: only points below this reduced distance enter a list: that of its entry k
    limits: np.ndarray
    distances: np.ndarray  # float64, shape (LEAF * size,)
    positions: np.ndarray  # int64, shape (LEAF * size,)
    out: np.ndarray  # float64: distances to a leaf
    columns: np.ndarray  # float64: the same, for `smallest_of`
    nodes: np.ndarray
    gaps: np.ndarray


@kernel
def nearest(tree, distances, positions, first, last):
    """Find the nearest other points of each point in the leaves [first, last).

    Rows of `distances` become reduced distances, ascending; those of `positions` the
    neighbours' positions.
    """
    k, dimensions = distances.shape[1], tree.low.shape[1]
    size = (k + MULTIPLE - 1) // MULTIPLE * MULTIPLE
    group = _allocate_group(tree, size)
    for leaf in range(first, last):
        node = tree.leaves[leaf]
        begin, count = tree.begin[node], tree.end[node] - tree.begin[node]
        for i in range(dimensions * LEAF):
            group.block[i] = tree.blocks[leaf * dimensions * LEAF + i]
        for d in range(dimensions):
            group.box[0, d], group.box[1, d] = tree.low[node, d], tree.high[node, d]
        for i in range(LEAF):
            group.limits[i] = LARGEST if i < count else EMPTY_LANE
        group.distances[:] = LARGEST
        group.positions[:] = 0
        search_group(tree, group, size, k, leaf)
        for i in range(count):
            for j in range(k):
                distances[begin + i, j] = group.distances[i * size + j]
                positions[begin + i, j] = group.positions[i * size + j]


@kernel
def nearest_to_queries(tree, points, distances, positions, first, last):
    """Find the points of a tree nearest to the points [first, last) of another rank.

    Consecutive queries lie near to each other. On entry the rows of `distances` and
    `positions` have the neighbours found elsewhere, or the query's bound and
    NO_POSITION, and each nearer point replaces the last entry. Rows ascend.
    """
    k = distances.shape[1]
    size = (k + MULTIPLE - 1) // MULTIPLE * MULTIPLE
    group = _allocate_group(tree, size)
    for begin in range(first, last, LEAF):
        count = min(last - begin, LEAF)
        load_group(points, begin, count, group.block, group.box)
        group.limits[:] = EMPTY_LANE
        for i in range(count):
            group.limits[i] = distances[begin + i, k - 1]
            for j in range(size):
                listed = min(j, k - 1)
                group.distances[i * size + j] = distances[begin + i, listed]
                group.positions[i * size + j] = positions[begin + i, listed]
        search_group(tree, group, size, k, -1)
        for i in range(count):
            for j in range(k):
                distances[begin + i, j] = group.distances[i * size + j]
                positions[begin + i, j] = group.positions[i * size + j]


@kernel
def _allocate_group(tree, size):
    """Return a group without points, with lists of `size` entries."""
    dimensions = tree.low.shape[1]
    return SearchGroup(
        np.empty(dimensions * LEAF),
        np.empty((2, dimensions)),
        np.empty(LEAF),
        np.empty(LEAF * size),
        np.empty(LEAF * size, np.int64),
        np.empty(LEAF),
        np.empty(LEAF),
        np.empty(tree.depth + 2, np.int64),
        np.empty(tree.depth + 2),
    )


@kernel
def search_group(tree, group, size, k, own_leaf):
    """Find the points nearest to each of a group's points, below its limit.

    `own_leaf` is the leaf of the group's points, none of which is its own neighbour; -1
    for points that are not in the tree.
    """
    block, box, limits, distances, positions, out, columns, nodes, gaps = group
    norm, dimensions = tree.norm, tree.low.shape[1]
    bound = largest_of(limits)
    nodes[0], gaps[0], top = 0, 0.0, 1
    if own_leaf >= 0:  # visit it first: its points set low limits
        nodes[1], gaps[1], top = tree.leaves[own_leaf], 0.0, 2
    visited_own = own_leaf < 0
    while top:
        top -= 1
        node, gap = nodes[top], gaps[top]
        while gap < bound and tree.left[node] >= 0:
            node = tree.left[node]
            far = node + 1
            gap, beyond = gaps_to_children(
                norm, tree.low, tree.high, node, dimensions, box
            )
            if beyond < gap:
                node, far, gap, beyond = far, node, beyond, gap
            if beyond < bound:
                nodes[top], gaps[top] = far, beyond
                top += 1
        if gap >= bound:
            continue
        leaf, begin = -1 - tree.left[node], tree.begin[node]
        if leaf == own_leaf and visited_own:
            continue
        visited_own = True
        queries = gaps_below(norm, block, dimensions, tree.low, tree.high, node, limits)
        while queries:
            i = np.int64(trailing_zeros(queries))
            queries &= queries - np.uint64(1)
            near = distances_below(
                norm,
                tree.blocks,
                leaf * dimensions * LEAF,
                dimensions,
                block,
                i,
                out,
                limits[i],
            )
            if leaf == own_leaf:
                out[i] = np.inf
                # There is no limit yet: insert few more than the k nearest of the leaf.
                if k <= LEAF:
                    near = smallest_of(out, k, columns)
                else:
                    near &= ~(np.uint64(1) << np.uint64(i))
            insert_near(near, out, begin, distances, positions, i * size, size)
            limits[i] = distances[i * size + k - 1]
        bound = largest_of(limits)


@kernel
def restore_distances(norm, distances, min_samples, cores, lower_bound, begin, end):
    """Turn reduced distances into distances, for the positions [begin, end).

    `cores` become the distances to the `min_samples`-th neighbour, or 0 if
    `min_samples` is 0; `lower_bound` becomes the largest listed distance.
    """
    k = distances.shape[1]
    for position in range(begin, end):
        for j in range(k):
            distances[position, j] = distance_of(norm, distances[position, j])
        cores[position] = distances[position, min_samples - 1] if min_samples else 0.0
        lower_bound[position] = distances[position, k - 1]


@kernel
def weigh(distances, positions, cores, begin, end):
    """Turn distances into mutual reachability distances, for positions [begin, end).

    Neighbours at positions beyond `cores` belong to other ranks and are skipped.
    """
    for position in range(begin, end):
        for j in range(distances.shape[1]):
            other = positions[position, j]
            if other < len(cores):
                both = max(cores[position], cores[other])
                distances[position, j] = max(distances[position, j], both)


@kernel
def list_edges(distances, positions, point, begin, end):
    """Return the edges listed at the positions [begin, end), each from one end.

    An edge that both ends list is returned from the smaller point.
    """
    k = distances.shape[1]
    most = (end - begin) * k
    a, b = np.empty(most, np.uint32), np.empty(most, np.uint32)
    weight = np.empty(most)
    count = 0
    for position in range(begin, end):
        for j in range(k):
            other = positions[position, j]
            listed_by_other = False
            if point[other] < point[position]:
                for i in range(k):
                    listed_by_other |= positions[other, i] == position
            if not listed_by_other:
                a[count], b[count] = position, other
                weight[count] = distances[position, j]
                count += 1
    return a[:count], b[:count], weight[:count]
