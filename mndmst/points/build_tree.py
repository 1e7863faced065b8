"""Builds the k-d tree of points: SciPy splits, kernels fill in the boxes."""

from itertools import pairwise
from typing import Any

import numpy as np

from ..host.errors import optional
from ..kernels.threads import Threads
from .kernels.kd_tree import PointTree, fill_blocks, fill_boxes
from .metrics import Norm

LEAF = 64  # most points of a leaf; fewer take more steps, more take more distances
CHUNKS = 32  # chunks of work per thread; some take longer than others


def build_tree(points: np.ndarray, norm: Norm, threads: Threads) -> PointTree:
    """Return the k-d tree of points, whose rows are the points' indices.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
        At least one.

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
        blocks=np.empty(points.size),
        rows=made.indices.astype(np.uint32),
        begin=begin,
        end=end,
        left=left,
        leaves=leaves[np.argsort(begin[leaves])],
        low=np.empty(box),
        high=np.empty(box),
        depth=depth,
        norm=int(norm),
    )
    ranges = threads.ranges(len(leaves), 1)
    threads.map(fill_blocks, [(points, tree, *bounds) for bounds in ranges])
    fill_boxes(tree)
    return tree


def _nodes(made: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return the begins, ends and left children of all nodes, and the depth."""
    nodes, left, levels = [made.tree], [], [0]
    for node in nodes:  # grows on the way
        inner = node.split_dim >= 0
        left.append(len(nodes) if inner else -1)
        if inner:
            nodes += (node.lesser, node.greater)
            levels += [node.level + 1] * 2
    begin = np.array([node.start_idx for node in nodes])
    end = np.array([node.end_idx for node in nodes])
    return begin, end, np.array(left), 1 + max(levels)


def chunks(length: int, threads: Threads, least: int = 1) -> list[tuple[int, int]]:
    """Return chunks of [0, length) with at least `least` items, several per thread.

    One chunk for a single thread.
    """
    most = CHUNKS * threads.count if threads.count > 1 else 1
    parts = max(1, min(most, length // least))
    return list(pairwise(length * i // parts for i in range(parts + 1)))
