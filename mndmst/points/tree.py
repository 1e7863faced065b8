"""The tree of points: SciPy builds it, kernels search it."""

from itertools import pairwise
from typing import Any

import numpy as np

from ..host.errors import optional
from ..kernels.threads import Threads
from .kernels.lightest import lightest
from .kernels.search import Components
from .kernels.tree import PointTree, fill_blocks, fill_boxes
from .steps import Report, in_steps, no_report

LEAF = 64  # points of a leaf, at most; fewer take more steps, more take more distances
PARTS = 32  # pieces of work for each thread; some take longer than others
WORTH = 32  # searches that are worth a piece of their own


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
    ranges = threads.ranges(len(leaves), 1)
    threads.map(fill_blocks, [(points, tree, *bounds) for bounds in ranges])
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


def pieces(length: int, threads: Threads, least: int = 1) -> list[tuple[int, int]]:
    """Cut [0, length) into pieces, many more than threads; of at least so many.

    A thread alone has one.
    """
    most = PARTS * threads.count if threads.count > 1 else 1
    parts = max(1, min(most, length // least))
    return list(pairwise(length * i // parts for i in range(parts + 1)))


def find_lightest(
    tree: PointTree,
    components: Components,
    asked: np.ndarray,
    threads: Threads,
    report: Report = no_report,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the far ends and the weights of lightest edges; see `lightest`.

    Parameters
    ----------
    components : Components
        With names of nodes; their bounds are lowered.
    asked : ndarray of uint32
        The places to search from, ascending.
    """
    others, weight = np.empty_like(asked), np.empty(len(asked))
    what = tree, components, asked, others, weight
    in_steps(threads, lightest, what, len(asked), WORTH, report)
    return others, weight
