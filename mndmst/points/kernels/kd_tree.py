"""A k-d tree of points as arrays, and the distances that every search takes from it.

The coordinates of a leaf lie together, dimension by dimension, so that the distances
of a point to a whole leaf take one vector instruction for several points. A box is
never further away than a point in it, rounded or not: every rounding is monotone.
"""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from .norms import add_gap, add_gaps

CHUNK = 64  # points of a leaf whose distances are computed together


class PointTree(NamedTuple):
    """Points in the order of a k-d tree. A position is an index in this order.

    Attributes
    ----------
    blocks : ndarray of float64, shape (points * dimensions,)
        The coordinates of each leaf, dimension by dimension.
    rows : ndarray of uint32, shape (points,)
        The user's number of the point at each position.
    begin, end : ndarray of int64, shape (nodes,)
        The positions of a node's points.
    left : ndarray of int64, shape (nodes,)
        A node's left child, the right one follows; -1 for leaves.
    leaves : ndarray of int64
        The leaves, by position.
    low, high : ndarray of float64, shape (nodes, dimensions)
        The box of a node's points.
    depth : int
        Levels of the tree.
    norm : int
        A code of `norms`.
    """

    blocks: np.ndarray
    rows: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    left: np.ndarray
    leaves: np.ndarray
    low: np.ndarray
    high: np.ndarray
    depth: int
    norm: int


@kernel
def fill_blocks(points, tree, first, last):
    """Copy the coordinates of the leaves [first, last) to their blocks."""
    dimensions = points.shape[1]
    for number in range(first, last):
        leaf = tree.leaves[number]
        begin, end = tree.begin[leaf], tree.end[leaf]
        size, block = end - begin, begin * dimensions
        for d in range(dimensions):
            low = high = points[tree.rows[begin], d]
            for j in range(size):
                x = points[tree.rows[begin + j], d]
                tree.blocks[block + d * size + j] = x
                low, high = min(low, x), max(high, x)
            tree.low[leaf, d], tree.high[leaf, d] = low, high


@kernel
def fill_boxes(tree):
    """Compute the boxes of inner nodes from the boxes of the leaves."""
    for node in range(len(tree.left) - 1, -1, -1):  # children come after their parent
        left = tree.left[node]
        if left >= 0:
            for d in range(tree.low.shape[1]):
                tree.low[node, d] = min(tree.low[left, d], tree.low[left + 1, d])
                tree.high[node, d] = max(tree.high[left, d], tree.high[left + 1, d])


@kernel
def load_point(tree, leaf, position, point):
    """Copy the coordinates of the point at a position of a leaf."""
    begin, size = tree.begin[leaf], tree.end[leaf] - tree.begin[leaf]
    at = begin * len(point) + position - begin
    for d in range(len(point)):
        point[d] = tree.blocks[at + d * size]


@kernel
def gap_to_point(tree, node, point):
    """Return the reduced distance of a point to the box of a node."""
    total = 0.0
    for d in range(len(point)):
        below, above = tree.low[node, d] - point[d], point[d] - tree.high[node, d]
        total = add_gap(tree.norm, total, max(below, above, 0.0))
    return total


@kernel
def gap_between(tree, one, other):
    """Return the reduced distance between the boxes of two nodes."""
    total = 0.0
    for d in range(tree.low.shape[1]):
        below = tree.low[one, d] - tree.high[other, d]
        above = tree.low[other, d] - tree.high[one, d]
        total = add_gap(tree.norm, total, max(below, above, 0.0))
    return total


@kernel
def distances_to_chunk(tree, leaf, begin, point, out):
    """Compute the reduced distances of a point to at most CHUNK points of a leaf.

    The points are those from position `begin` on; returns their number.
    """
    first, size = tree.begin[leaf], np.uint64(tree.end[leaf] - tree.begin[leaf])
    count = np.uint64(min(tree.end[leaf] - begin, CHUNK))
    at = np.uint64(first * len(point) + begin - first)
    for j in range(count):
        out[j] = 0.0
    for d in range(len(point)):
        add_gaps(tree.norm, out, tree.blocks, at, count, point[d])
        at += size
    return np.int64(count)


@kernel
def any_below(out, count, limit):
    """Return whether any of the first distances is below a limit."""
    found = 0
    for j in range(np.uint64(count)):
        found += out[j] < limit
    return found > 0
