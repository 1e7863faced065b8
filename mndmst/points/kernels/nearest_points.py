"""The nearest neighbours of points, of one rank or of another, and their edges.

Up to `LEAF` points search together: the points of a leaf, or consecutive points of
another rank. One walk of the tree serves the group: it visits the leaves that are
nearer to the group's box than the furthest neighbour of any of its points, and each
leaf only from the points that it is near to.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import trailing_zeros
from ...native.kernel import kernel
from .kd_tree import LEAF, NOT_THERE, load_group
from .leaf_vectors import (
    distances_below,
    gaps_below,
    gaps_to_children,
    insert_near,
    largest_of,
    smallest_of,
)
from .norms import LARGEST, distance_of

LISTED = 4  # the length of lists is a multiple of it: `insert_near` moves 4 at a time


class SearchGroup(NamedTuple):
    """Up to LEAF points that search together, and their lists of neighbours.

    Lists have `size` places, of which the first k count. `nodes` and `gaps` are the
    stack of a walk.
    """

    # float64: coordinates, dimension by dimension, in columns of LEAF
    block: np.ndarray
    # float64, shape (2, dimensions): the least and the largest coordinates
    box: np.ndarray
    # float64: reduced distance below which a point is wanted: that of the last listed
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
    size = (k + LISTED - 1) // LISTED * LISTED
    group = _group(tree, size)
    for number in range(first, last):
        node = tree.leaves[number]
        begin, count = tree.begin[node], tree.end[node] - tree.begin[node]
        for i in range(dimensions * LEAF):
            group.block[i] = tree.blocks[number * dimensions * LEAF + i]
        for d in range(dimensions):
            group.box[0, d], group.box[1, d] = tree.low[node, d], tree.high[node, d]
        for i in range(LEAF):
            group.limits[i] = LARGEST if i < count else NOT_THERE
        group.distances[:] = LARGEST
        group.positions[:] = 0
        search_group(tree, group, size, k, number)
        for i in range(count):
            for j in range(k):
                distances[begin + i, j] = group.distances[i * size + j]
                positions[begin + i, j] = group.positions[i * size + j]


@kernel
def nearest_to_queries(tree, points, distances, positions, first, last):
    """Find the points of a tree nearest to the points [first, last) of another rank.

    Consecutive queries lie near to each other. `distances` has reduced distances: a
    bound, equal in all of a row; they become the distances found, ascending.
    `positions` has NO_POSITION where no point is found.
    """
    k = distances.shape[1]
    size = (k + LISTED - 1) // LISTED * LISTED
    group = _group(tree, size)
    for begin in range(first, last, LEAF):
        count = min(last - begin, LEAF)
        load_group(points, begin, count, group.block, group.box)
        group.limits[:] = NOT_THERE
        for i in range(count):
            group.limits[i] = distances[begin + i, k - 1]
            for j in range(size):
                group.distances[i * size + j] = group.limits[i]
                group.positions[i * size + j] = positions[begin + i, 0]
        search_group(tree, group, size, k, -1)
        for i in range(count):
            for j in range(k):
                distances[begin + i, j] = group.distances[i * size + j]
                positions[begin + i, j] = group.positions[i * size + j]


@kernel
def _group(tree, size):
    """Return memory for a group with lists of `size` places."""
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
def search_group(tree, group, size, k, own):
    """Find the nearest points to a group's points that are nearer than their limits.

    `own` is the leaf of the group's points, none of which is its own neighbour; -1 for
    points that are not in the tree.
    """
    block, box, limits, distances, positions, out, columns, nodes, gaps = group
    norm, dimensions = tree.norm, tree.low.shape[1]
    bound = largest_of(limits)
    nodes[0], gaps[0], top = 0, 0.0, 1
    if own >= 0:  # first the own leaf, whose points set low limits
        nodes[1], gaps[1], top = tree.leaves[own], 0.0, 2
    begun = own < 0
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
        if leaf == own and begun:
            continue
        begun = True
        asking = gaps_below(norm, block, dimensions, tree.low, tree.high, node, limits)
        while asking:
            i = np.int64(trailing_zeros(asking))
            asking &= asking - np.uint64(1)
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
            if leaf == own:
                out[i] = np.inf
                if k <= LEAF:  # without a limit yet, most of the leaf would be listed
                    near = smallest_of(out, k, columns)
                else:
                    near &= ~(np.uint64(1) << np.uint64(i))
            insert_near(near, out, begin, distances, positions, i * size, size)
            limits[i] = distances[i * size + k - 1]
        bound = largest_of(limits)


@kernel
def restore_distances(norm, distances, min_samples, cores, reach, begin, end):
    """Turn reduced distances into distances, for the rows [begin, end).

    `cores` become the distances to the `min_samples`-th neighbour, 0 without one;
    `reach` the largest distances.
    """
    k = distances.shape[1]
    for position in range(begin, end):
        for j in range(k):
            distances[position, j] = distance_of(norm, distances[position, j])
        cores[position] = distances[position, min_samples - 1] if min_samples else 0.0
        reach[position] = distances[position, k - 1]


@kernel
def weigh(distances, positions, cores, begin, end):
    """Turn distances into mutual reachability distances, for the rows [begin, end).

    Neighbours at positions beyond the cores belong to other ranks and are skipped.
    """
    for position in range(begin, end):
        for j in range(distances.shape[1]):
            other = positions[position, j]
            if other < len(cores):
                both = max(cores[position], cores[other])
                distances[position, j] = max(distances[position, j], both)


@kernel
def list_edges(distances, positions, rows, begin, end):
    """Return the edges listed at the positions [begin, end), each from one end.

    Of an edge that both ends list, the end of the smaller row returns it.
    """
    k = distances.shape[1]
    most = (end - begin) * k
    a, b = np.empty(most, np.uint32), np.empty(most, np.uint32)
    weight = np.empty(most)
    count = 0
    for position in range(begin, end):
        for j in range(k):
            other = positions[position, j]
            known = False
            if rows[other] < rows[position]:
                for i in range(k):
                    known |= positions[other, i] == position
            if not known:
                a[count], b[count] = position, other
                weight[count] = distances[position, j]
                count += 1
    return a[:count], b[:count], weight[:count]
