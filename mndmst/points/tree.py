"""The tree of points: SciPy builds it, kernels search it."""

from itertools import pairwise
from typing import Any

import numpy as np

from ..host.extras import optional
from ..kernels.threads import Threads
from .kernels.tree import PointTree, fill_blocks, fill_boxes

LEAF = 64  # points of a leaf, at most; fewer take more steps, more take more distances
PARTS = 256  # ranges of leaves that threads take one after the other


def build_tree(points: np.ndarray, manhattan: bool, threads: Threads) -> PointTree:
    """Return the k-d tree of points.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
        At least one.
    manhattan : bool
        Distances are sums of absolute differences, not Euclidean.

    Raises
    ------
    MissingExtraError
        If SciPy is not installed.
    """
    spatial = optional("scipy.spatial", "formats")
    made = spatial.cKDTree(points, LEAF)
    begin, end, left, depth = _nodes(made)
    leaves = np.flatnonzero(left < 0)
    box = len(left), points.shape[1]
    tree = PointTree(
        np.empty(points.size),
        made.indices.astype(np.uint32),
        begin,
        end,
        left,
        leaves[np.argsort(begin[leaves])],
        np.empty(box),
        np.empty(box),
        depth,
        manhattan,
    )
    threads.map(
        lambda first, last: fill_blocks(points, tree, first, last),
        threads.ranges(len(leaves), 1),
    )
    fill_boxes(tree)
    return tree


def _nodes(made: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return where the nodes begin and end, their left children, and the depth."""
    nodes, left, levels = [made.tree], [], [0]
    for node in nodes:  # which grows on the way
        inner = node.split_dim >= 0
        left.append(len(nodes) if inner else -1)
        if inner:
            nodes += (node.lesser, node.greater)
            levels += [node.level + 1] * 2
    begin = np.array([node.start_idx for node in nodes])
    end = np.array([node.end_idx for node in nodes])
    return begin, end, np.array(left), 1 + max(levels)


def leaf_ranges(tree: PointTree) -> list[tuple[int, int]]:
    """Return ranges of leaves, many more than threads: some take longer than others."""
    count = len(tree.leaves)
    parts = min(count, PARTS)
    bounds = [count * i // parts for i in range(parts + 1)]
    return list(pairwise(bounds))
