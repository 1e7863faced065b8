"""A k-d tree of points as arrays.

A leaf holds up to `LEAF` points, whose coordinates lie together, a column of `LEAF`
values per dimension: vector instructions compute the distances of a point to a whole
leaf, in registers (`leaf_vectors.distances_below`). Unused entries of a column are
infinite, so they are never near.

The computed distance to a box is never larger than that to a point in it: every
rounding is monotone.
"""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from .norms import add_gap

LEAF = 32  # most points of a leaf: the lanes of `distances_below`
# The limit of a lane without a point: no box is as near.
EMPTY_LANE = -1.0
# Sampled points per cell; the sample divides space into the cells at the tree's top.
SAMPLED = 64
# The dimension that divides a node is chosen from the box of at least this many points.
MEASURED = 64


class PointTree(NamedTuple):
    """Points in the order of a k-d tree. A position is an index in this order."""

    # float64 or float32: coordinates of each leaf, dimension by dimension, in columns
    # of LEAF
    blocks: np.ndarray
    point: np.ndarray  # uint32: the point at each position
    begin: np.ndarray  # int64, by node: the positions of its points
    end: np.ndarray  # int64, by node
    # int64, by node: the left child, after which the right one follows; -1 - i for the
    # i-th leaf
    left: np.ndarray
    leaves: np.ndarray  # int64: the nodes that are leaves, in the order of positions
    low: np.ndarray  # float64, shape (nodes, dimensions): the box of a node's points
    high: np.ndarray  # float64, shape (nodes, dimensions)
    depth: int  # levels of the tree
    norm: int  # a code of `norms`


class CellTree(NamedTuple):
    """The top of a tree, whose lowest nodes are the roots of cells of points."""

    # int64, by node: the left child, after which the right one follows; -1 - i for the
    # i-th cell
    left: np.ndarray
    dimension: np.ndarray  # int64: the coordinate that divides a node's points
    # float64: the least such coordinate of the points of the right child
    value: np.ndarray
    depth: int  # levels


class Cells(NamedTuple):
    """The first position, node and leaf of each cell, and, last, their ends (int64)."""

    position: np.ndarray
    node: np.ndarray  # of the nodes below the root
    leaf: np.ndarray
    root: np.ndarray  # a node of the `CellTree`


class SplitBuffers(NamedTuple):
    """Buffers of `split`: all coordinates, and coordinates and indices of one side."""

    keys: np.ndarray
    right_keys: np.ndarray
    right_order: np.ndarray


@kernel
def divide_sample(sample, cells):
    """Divide space by a sample of the points; return a `CellTree`.

    There are at most `cells` cells. Every cell contains a point of the sample, so no
    cell is empty; equal points are in one.
    """
    count, dimensions = sample.shape
    left = np.empty(2 * cells, np.int64)
    dimension, value = np.zeros(2 * cells, np.int64), np.zeros(2 * cells)
    begin, end = np.empty(2 * cells, np.int64), np.empty(2 * cells, np.int64)
    level = np.empty(2 * cells, np.int64)
    order = np.arange(count)
    buffers = SplitBuffers(np.empty(count), np.empty(count), np.empty(count, np.int64))
    low, high = np.empty(dimensions), np.empty(dimensions)
    begin[0], end[0], level[0] = 0, count, 1
    nodes, node, depth = 1, 0, 1
    least = max(count // cells, 1)
    while node < nodes:
        first, last = begin[node], end[node]
        left[node] = -1
        widest = measure(sample, order, first, last, 1, low, high)
        small = last - first < 2 * least or low[widest] == high[widest]
        # Equal coordinates can make cells below the average, so `left` may be full.
        if small or nodes + 2 > len(left):
            node += 1
            continue
        middle = (first + last) // 2
        split(sample, order, first, last, middle, widest, buffers)
        # The least coordinate of the right half that exceeds the least of all.
        limit = high[widest]
        for i in range(middle, last):
            x = sample[order[i], widest]
            if x > low[widest]:
                limit = min(limit, x)
        middle = _put_smaller_first(sample, order, first, last, widest, limit)
        begin[nodes], end[nodes] = first, middle
        begin[nodes + 1], end[nodes + 1] = middle, last
        left[node], dimension[node], value[node] = nodes, widest, limit
        level[nodes] = level[nodes + 1] = level[node] + 1
        depth = max(depth, level[node] + 1)
        nodes += 2
        node += 1
    # Cells are numbered in the order of positions, which is that of the sample.
    number = np.zeros(count, np.int64)
    for node in range(nodes):
        if left[node] < 0:
            number[begin[node]] = 1
    total = 0
    for i in range(count):
        total += number[i]
        number[i] = total - 1
    for node in range(nodes):
        if left[node] < 0:
            left[node] = -1 - number[begin[node]]
    return CellTree(left[:nodes], dimension[:nodes], value[:nodes], depth)


@kernel
def _put_smaller_first(points, order, begin, end, dimension, limit):
    """Put the points with a coordinate below a limit first; return their end."""
    at = begin
    for i in range(begin, end):
        point = order[i]
        if points[point, dimension] < limit:
            order[i], order[at] = order[at], point
            at += 1
    return at


@kernel
def measure(points, order, begin, end, step, low, high):
    """Compute the box of one point of every `step`; return its widest dimension."""
    dimensions = points.shape[1]
    for d in range(dimensions):
        low[d] = high[d] = points[order[begin], d]
    for i in range(begin + step, end, step):
        point = order[i]
        for d in range(dimensions):
            x = points[point, d]
            low[d], high[d] = min(low[d], x), max(high[d], x)
    widest = 0
    for d in range(1, dimensions):
        if high[d] - low[d] > high[widest] - low[widest]:
            widest = d
    return widest


@kernel
def split(points, order, begin, end, middle, dimension, buffers):
    """Order points so that none before `middle` has a larger coordinate than one after.

    Quickselect. Each element is stored on both sides, and the count of one side
    advances, so that no branch depends on a comparison of coordinates.
    """
    keys, right_keys, right_order = buffers
    for i in range(begin, end):
        keys[i] = points[order[i], dimension]
    while end - begin > 1:
        a, b, c = keys[begin], keys[(begin + end) // 2], keys[end - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        left, right = begin, 0
        for i in range(begin, end):
            key, point = keys[i], order[i]
            keys[left], order[left] = key, point
            right_keys[right], right_order[right] = key, point
            smaller = np.int64(key < pivot)
            left += smaller
            right += 1 - smaller
        if left > middle:
            # Copy the right side behind the left one, which is divided further.
            for i in range(right):
                keys[left + i], order[left + i] = right_keys[i], right_order[i]
            end = left
            continue
        begin, equal, larger = left, left, 0
        for i in range(right):
            key, point = right_keys[i], right_order[i]
            keys[equal], order[equal] = key, point
            right_keys[larger], right_order[larger] = key, point
            same = np.int64(key == pivot)
            equal += same
            larger += 1 - same
        for i in range(larger):
            keys[equal + i], order[equal + i] = right_keys[i], right_order[i]
        if middle <= equal:
            return
        begin = equal


@kernel
def count_cells(points, cells, of_point, counts, begin, end):
    """Write the cells of the points [begin, end) to `of_point`, and count them."""
    counts[:] = 0
    for i in range(begin, end):
        node = 0
        while cells.left[node] >= 0:
            larger = points[i, cells.dimension[node]] >= cells.value[node]
            node = cells.left[node] + np.int64(larger)
        cell = -1 - cells.left[node]
        of_point[i] = cell
        counts[cell] += 1


@kernel
def sort_by_cell(of_point, next_position, point, begin, end):
    """Write the points [begin, end) to the positions of their cells.

    `next_position` has the position of the first of these points in each cell, and is
    advanced.
    """
    for i in range(begin, end):
        cell = of_point[i]
        point[next_position[cell]] = i
        next_position[cell] += 1


@kernel
def build_cells(points, tree, cells, first, last):
    """Build the trees of the cells [first, last), and their leaves and boxes.

    The tree's points are sorted by cell. Each division is at a multiple of LEAF, so
    only the last leaf of a cell has fewer points.
    """
    dimensions = points.shape[1]
    most = 0
    for cell in range(first, last):
        most = max(most, cells.position[cell + 1] - cells.position[cell])
    coordinates = np.empty((most, dimensions))
    order, point = np.empty(most, np.int64), np.empty(most, np.uint32)
    buffers = SplitBuffers(np.empty(most), np.empty(most), np.empty(most, np.int64))
    stack = np.empty(tree.depth + 1, np.int64)
    low, high = np.empty(dimensions), np.empty(dimensions)
    for cell in range(first, last):
        base, nodes, leaf = cells.position[cell], cells.node[cell], cells.leaf[cell]
        size = cells.position[cell + 1] - base
        for i in range(size):
            order[i], point[i] = i, tree.point[base + i]
            for d in range(dimensions):
                coordinates[i, d] = points[point[i], d]
        root = cells.root[cell]
        tree.begin[root], tree.end[root] = base, base + size
        stack[0], top = root, 1
        while top:
            top -= 1
            node = stack[top]
            begin, end = tree.begin[node] - base, tree.end[node] - base
            if end - begin <= LEAF:
                _fill_leaf(coordinates, order, tree, node, leaf, begin, end)
                for i in range(begin, end):
                    tree.point[base + i] = point[order[i]]
                leaf += 1
                continue
            step = max((end - begin) // MEASURED, 1)
            widest = measure(coordinates, order, begin, end, step, low, high)
            leaves = (end - begin + LEAF - 1) // LEAF
            middle = begin + (leaves + 1) // 2 * LEAF
            split(coordinates, order, begin, end, middle, widest, buffers)
            tree.left[node] = nodes
            tree.begin[nodes], tree.end[nodes] = base + begin, base + middle
            tree.begin[nodes + 1], tree.end[nodes + 1] = base + middle, base + end
            stack[top], stack[top + 1] = nodes + 1, nodes
            top += 2
            nodes += 2
        for node in range(nodes - 1, cells.node[cell] - 1, -1):
            _fill_box(tree, node)
        _fill_box(tree, root)


@kernel
def _fill_leaf(points, order, tree, node, number, begin, end):
    """Copy the coordinates of a leaf to its block, and compute its box."""
    tree.left[node], tree.leaves[number] = -1 - number, node
    dimensions = points.shape[1]
    block = number * dimensions * LEAF
    for d in range(dimensions):
        low = high = points[order[begin], d]
        for i in range(begin, end):
            x = points[order[i], d]
            tree.blocks[block + d * LEAF + i - begin] = x
            low, high = min(low, x), max(high, x)
        for i in range(end - begin, LEAF):
            tree.blocks[block + d * LEAF + i] = np.inf
        tree.low[node, d], tree.high[node, d] = low, high


@kernel
def _fill_box(tree, node):
    """Compute the box of an inner node from the boxes of its children."""
    left = tree.left[node]
    if left >= 0:
        for d in range(tree.low.shape[1]):
            tree.low[node, d] = min(tree.low[left, d], tree.low[left + 1, d])
            tree.high[node, d] = max(tree.high[left, d], tree.high[left + 1, d])


@kernel
def fill_top(tree, cells):
    """Compute the ranges and boxes of the nodes above the cells."""
    for node in range(len(cells.left) - 1, -1, -1):  # children come after their parent
        left = cells.left[node]
        if left >= 0:
            tree.left[node] = left
            tree.begin[node], tree.end[node] = tree.begin[left], tree.end[left + 1]
            _fill_box(tree, node)


@kernel
def gap_to_point(tree, node, point):
    """Return the reduced distance of a point to the box of a node."""
    total = 0.0
    for d in range(len(point)):
        below, above = tree.low[node, d] - point[d], point[d] - tree.high[node, d]
        total = add_gap(tree.norm, total, max(below, above, 0.0))
    return total


@kernel
def load_group(points, begin, count, block, box):
    """Copy up to LEAF points, from index `begin` on, to a block; compute their box."""
    for d in range(points.shape[1]):
        low = high = points[begin, d]
        for i in range(count):
            x = points[begin + i, d]
            block[d * LEAF + i] = x
            low, high = min(low, x), max(high, x)
        for i in range(count, LEAF):
            block[d * LEAF + i] = np.inf
        box[0, d], box[1, d] = low, high


@kernel
def leaf_of(tree, position):
    """Return the index in `tree.leaves` of the leaf that contains a position."""
    low, high = 0, len(tree.leaves)
    while high - low > 1:
        middle = (low + high) // 2
        if tree.begin[tree.leaves[middle]] <= position:
            low = middle
        else:
            high = middle
    return low


@kernel
def count_visited(tree, queries, radius, component, of_node):
    """Return how many points each query's search visits, summed over all queries.

    A search visits the leaves that are nearer than the query's `radius` (a reduced
    distance) and outside its `component`. `of_node` is the component of each node;
    for a node with points of several components, a value that no query has.
    """
    visited = 0
    stack = np.empty(tree.depth + 1, np.int64)
    for i in range(len(queries)):
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            if (
                of_node[node] == component[i]
                or gap_to_point(tree, node, queries[i]) >= radius[i]
            ):
                continue
            left = tree.left[node]
            if left < 0:
                visited += tree.end[node] - tree.begin[node]
            else:
                stack[top], stack[top + 1] = left + 1, left
                top += 2
    return visited
