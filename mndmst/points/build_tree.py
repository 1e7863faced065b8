"""Builds the k-d tree of points by all threads.

A sample of the points divides space into cells. Each thread sorts its points by cell,
and then builds the trees of some cells.
"""

from itertools import pairwise

import numpy as np

from ..kernels.threads import Threads
from .kernels.kd_tree import (
    LEAF,
    SAMPLED,
    Cells,
    CellTree,
    PointTree,
    build_cells,
    count_cells,
    divide_sample,
    fill_top,
    sort_by_cell,
)
from .metrics import Norm

CELL = 1 << 12  # points of a cell, whose coordinates stay in a processor's cache
CHUNKS = 32  # chunks of work per thread; some take longer than others


def build_tree(points: np.ndarray, norm: Norm, threads: Threads) -> PointTree:
    """Return the k-d tree of points, whose rows are the points' indices.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
        At least one.
    """
    count, dimensions = points.shape
    most = max(1, count // CELL)
    points = np.ascontiguousarray(points)
    sample = points[:: max(1, count // (most * SAMPLED))]
    top = divide_sample(sample.copy(), most)
    rows, cells = _sort_by_cell(points, top, threads)
    leaves, nodes = int(cells.leaf[-1]), int(cells.node[-1])
    largest = int(np.diff(cells.leaf).max())
    tree = PointTree(
        blocks=np.empty(leaves * dimensions * LEAF),
        rows=rows,
        begin=np.empty(nodes, np.int64),
        end=np.empty(nodes, np.int64),
        left=np.empty(nodes, np.int64),
        leaves=np.empty(leaves, np.int64),
        low=np.empty((nodes, dimensions)),
        high=np.empty((nodes, dimensions)),
        depth=top.depth + (largest - 1).bit_length() + 1,
        norm=int(norm),
    )
    work = chunks(len(cells.root), threads)
    threads.map(build_cells, [(points, tree, cells, *chunk) for chunk in work])
    fill_top(tree, top)
    return tree


def _sort_by_cell(
    points: np.ndarray, top: CellTree, threads: Threads
) -> tuple[np.ndarray, Cells]:
    """Return the indices of points in the order of their cells, and the cells."""
    root = np.flatnonzero(top.left < 0)
    root = root[np.argsort(-top.left[root])]
    ranges = threads.ranges(len(points))
    of_point, rows = np.empty(len(points), np.uint32), np.empty(len(points), np.uint32)
    counts = np.empty((len(ranges), len(root)), np.int64)
    parts = list(zip(counts, ranges, strict=True))
    threads.map(count_cells, [(points, top, of_point, c, *r) for c, r in parts])
    # A cell's places follow one another, the first range's before the others'.
    ends = np.cumsum(counts.T.ravel()).reshape(counts.T.shape).T
    places = ends - counts
    parts = list(zip(places, ranges, strict=True))
    threads.map(sort_by_cell, [(of_point, p, rows, *r) for p, r in parts])
    sizes = counts.sum(axis=0)
    leaves = -(-sizes // LEAF)
    nodes = np.append(len(top.left), 2 * leaves - 2)
    starts = [np.append(0, np.cumsum(column)) for column in (sizes, leaves)]
    return rows, Cells(starts[0], np.cumsum(nodes), starts[1], root)


def chunks(length: int, threads: Threads, least: int = 1) -> list[tuple[int, int]]:
    """Return chunks of [0, length) with at least `least` items, several per thread.

    One chunk for a single thread.
    """
    most = CHUNKS * threads.count if threads.count > 1 else 1
    parts = max(1, min(most, length // least))
    return list(pairwise(length * i // parts for i in range(parts + 1)))
