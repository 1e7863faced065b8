"""A k-d tree of points as arrays.

A leaf holds up to `LEAF` points, whose coordinates lie together, a column of `LEAF`
values per dimension: vector instructions compute the distances of a point to a whole
leaf, in registers (`leaf_vectors.distances_below`). Unused places of a column are
infinite, so the points there are never near.

A box is never further away than a point in it, rounded or not: every rounding is
monotone.
"""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from .norms import add_gap

LEAF = 32  # most points of a leaf: the lanes of `distances_below`
# The limit of a place in a group that has no point: no box is as near.
NOT_THERE = -1.0
# Sampled points from which the cells at the top of the tree are divided, for each cell.
SAMPLED = 64
# Points, at least, of which the box decides where a node is divided.
MEASURED = 64


class PointTree(NamedTuple):
    """Points in the order of a k-d tree. A position is an index in this order."""

    # float64: coordinates of each leaf, dimension by dimension, in columns of LEAF
    blocks: np.ndarray
    rows: np.ndarray  # uint32: the user's number of the point at each position
    begin: np.ndarray  # int64, by node: the positions of its points
    end: np.ndarray  # int64, by node
    # int64, by node: left child, the right one follows; -1 - its number for a leaf
    left: np.ndarray
    # int64: the nodes that are leaves, by number: in the order of positions
    leaves: np.ndarray
    low: np.ndarray  # float64, shape (nodes, dimensions): the box of a node's points
    high: np.ndarray  # float64, shape (nodes, dimensions)
    depth: int  # levels of the tree
    norm: int  # a code of `norms`


class CellTree(NamedTuple):
    """The top of a tree: nodes, of which the lowest are cells of points."""

    # int64, by node: left child, the right one follows; -1 - its number for a cell
    left: np.ndarray
    dimension: np.ndarray  # int64: the coordinate that divides a node's points
    # float64: the least such coordinate of the points of the right child
    value: np.ndarray
    depth: int  # levels


class Cells(NamedTuple):
    """Where the points, nodes and leaves of each cell begin, and their ends (int64).

    `node` is that of a cell's second node: its root is a node of the `CellTree`.
    """

    point: np.ndarray
    node: np.ndarray
    leaf: np.ndarray
    root: np.ndarray


class SplitBuffers(NamedTuple):
    """Memory to divide points: keys, and keys and numbers of the right side."""

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
        # A level more would make cells smaller than the average.
        small = last - first < 2 * least or low[widest] == high[widest]
        if small or nodes + 2 > len(left):  # many equal coordinates make small cells
            node += 1
            continue
        middle = (first + last) // 2
        split(sample, order, first, last, middle, widest, buffers)
        # The least coordinate of the right half, but above the smallest of all.
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
        one = order[i]
        if points[one, dimension] < limit:
            order[i], order[at] = order[at], one
            at += 1
    return at


@kernel
def measure(points, order, begin, end, step, low, high):
    """Compute the box of one point of every `step`; return its widest dimension."""
    dimensions = points.shape[1]
    for d in range(dimensions):
        low[d] = high[d] = points[order[begin], d]
    for i in range(begin + step, end, step):
        row = order[i]
        for d in range(dimensions):
            x = points[row, d]
            low[d], high[d] = min(low[d], x), max(high[d], x)
    widest = 0
    for d in range(1, dimensions):
        if high[d] - low[d] > high[widest] - low[widest]:
            widest = d
    return widest


@kernel
def split(points, order, begin, end, middle, dimension, buffers):
    """Order points so that none before `middle` has a larger coordinate than one after.

    Quickselect. Each element is written to both sides and counted on one, so that no
    branch depends on a comparison of coordinates.
    """
    keys, right_keys, right_order = buffers
    for i in range(begin, end):
        keys[i] = points[order[i], dimension]
    while end - begin > 1:
        a, b, c = keys[begin], keys[(begin + end) // 2], keys[end - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        kept, right = begin, 0
        for i in range(begin, end):
            key, one = keys[i], order[i]
            keys[kept], order[kept] = key, one
            right_keys[right], right_order[right] = key, one
            smaller = np.int64(key < pivot)
            kept += smaller
            right += 1 - smaller
        if kept > middle:
            # The right side stays where it was counted; the left is divided further.
            for i in range(right):
                keys[kept + i], order[kept + i] = right_keys[i], right_order[i]
            end = kept
            continue
        begin, equal, larger = kept, kept, 0
        for i in range(right):
            key, one = right_keys[i], right_order[i]
            keys[equal], order[equal] = key, one
            right_keys[larger], right_order[larger] = key, one
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
def sort_by_cell(of_point, place, rows, begin, end):
    """Write the rows [begin, end) to the places of their cells.

    `place` is the output position of the first of these rows in each cell; advanced.
    """
    for i in range(begin, end):
        cell = of_point[i]
        rows[place[cell]] = i
        place[cell] += 1


@kernel
def build_cells(points, tree, cells, first, last):
    """Build the trees of the cells [first, last), and their leaves and boxes.

    The tree's rows are sorted by cell. Points are divided at multiples of LEAF, so only
    the last leaf of a cell has fewer.
    """
    dimensions = points.shape[1]
    most = 0
    for cell in range(first, last):
        most = max(most, cells.point[cell + 1] - cells.point[cell])
    own = np.empty((most, dimensions))
    order, rows = np.empty(most, np.int64), np.empty(most, np.uint32)
    buffers = SplitBuffers(np.empty(most), np.empty(most), np.empty(most, np.int64))
    stack = np.empty(tree.depth + 1, np.int64)
    low, high = np.empty(dimensions), np.empty(dimensions)
    for cell in range(first, last):
        base, nodes, leaf = cells.point[cell], cells.node[cell], cells.leaf[cell]
        size = cells.point[cell + 1] - base
        for i in range(size):
            row = tree.rows[base + i]
            order[i], rows[i] = i, row
            for d in range(dimensions):
                own[i, d] = points[row, d]
        root = cells.root[cell]
        tree.begin[root], tree.end[root] = base, base + size
        stack[0], top = root, 1
        while top:
            top -= 1
            node = stack[top]
            begin, end = tree.begin[node] - base, tree.end[node] - base
            if end - begin <= LEAF:
                _fill_leaf(own, order, tree, node, leaf, begin, end)
                for i in range(begin, end):
                    tree.rows[base + i] = rows[order[i]]
                leaf += 1
                continue
            step = max((end - begin) // MEASURED, 1)
            widest = measure(own, order, begin, end, step, low, high)
            filled = (end - begin + LEAF - 1) // LEAF
            middle = begin + (filled + 1) // 2 * LEAF
            split(own, order, begin, end, middle, widest, buffers)
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
    """Copy up to LEAF points, from row `begin`, to a block; compute their box."""
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
    """Return the number of the leaf that contains a position."""
    low, high = 0, len(tree.leaves)
    while high - low > 1:
        middle = (low + high) // 2
        if tree.begin[tree.leaves[middle]] <= position:
            low = middle
        else:
            high = middle
    return low


@kernel
def count_visited(tree, queries, radius, own, of_node):
    """Return the number of points in leaves near to queries, summed over all queries.

    A leaf that is no nearer than the query's `radius` (a reduced distance) need not be
    visited, nor leaves of its component `own`. `of_node` is the component of each node;
    of several, none that a query is in.
    """
    visited = 0
    stack = np.empty(tree.depth + 1, np.int64)
    for i in range(len(queries)):
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            if (
                of_node[node] == own[i]
                or gap_to_point(tree, node, queries[i]) >= (radius[i])
            ):
                continue
            left = tree.left[node]
            if left < 0:
                visited += tree.end[node] - tree.begin[node]
            else:
                stack[top], stack[top + 1] = left + 1, left
                top += 2
    return visited
