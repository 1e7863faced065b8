"""Builds the k-d tree of points on all threads.

A sample of the points divides space into cells. Each thread sorts a range of points by
cell, and then builds the trees of some cells.
"""

import numpy as np

from ...kernels.threads import Threads, each_range
from ...native.call_columns import ArrayPieces, PerCall
from ..devices.point_products import ComponentArrays
from ..kernels.kd_tree import (
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
from ..kernels.lightest_edges import TreeComponents, fill_nodes
from ..metrics import Norm

CELL = 1 << 12  # average points of a cell: its coordinates stay in the cache
CHUNKS = 32  # chunks of work per thread; some take longer than others


def build_tree(
    points: np.ndarray,
    norm: Norm,
    threads: Threads,
    kind: type[np.float32] | type[np.float64] = np.float64,
) -> PointTree:
    """Return the k-d tree of at least one point.

    Its leaves have coordinates of a type that represents them exactly.
    """
    count, dimensions = points.shape
    most = max(1, count // CELL)
    points = np.ascontiguousarray(points)
    if most == 1:
        root, point = np.zeros(1, np.int64), np.arange(count, dtype=np.uint32)
        top, leaves = CellTree(root - 1, root, np.zeros(1), 1), -(-count // LEAF)
        ends = np.array([[0, count], [1, 2 * leaves - 1], [0, leaves]])
        cells = Cells(ends[0], ends[1], ends[2], root)
    else:
        sample = points[:: max(1, count // (most * SAMPLED))]
        top = divide_sample(sample.copy(), most)
        point, cells = _sort_by_cell(points, top, threads)
    leaves, nodes = int(cells.leaf[-1]), int(cells.node[-1])
    largest = int(np.diff(cells.leaf).max())
    tree = PointTree(
        blocks=np.empty(leaves * dimensions * LEAF, kind),
        point=point,
        begin=np.empty(nodes, np.int64),
        end=np.empty(nodes, np.int64),
        left=np.empty(nodes, np.int64),
        leaves=np.empty(leaves, np.int64),
        low=np.empty((nodes, dimensions)),
        high=np.empty((nodes, dimensions)),
        depth=top.depth + (largest - 1).bit_length() + 1,
        norm=int(norm),
    )
    threads.run(build_cells, points, tree, cells, *chunks(len(cells.root), threads))
    if most > 1:
        fill_top(tree, top)
    return tree


def _sort_by_cell(
    points: np.ndarray, top: CellTree, threads: Threads
) -> tuple[np.ndarray, Cells]:
    """Return the points in the order of their cells, and the cells."""
    root = np.flatnonzero(top.left < 0)
    root = root[np.argsort(-top.left[root])]
    bounds = threads.bounds(len(points))
    ranges, pieces = each_range(bounds), len(root) * np.arange(len(bounds))
    # Apart, since the tree keeps only `point`
    of_point, point = (np.empty(len(points), np.uint32) for _ in range(2))
    counts = np.empty((len(bounds) - 1, len(root)), np.int64)
    of_range = ArrayPieces.of(counts.ravel(), pieces)
    threads.run(count_cells, points, top, of_point, of_range, *ranges)
    # The positions of a cell are consecutive, and those of each range in it.
    ends = np.cumsum(counts.T.ravel()).reshape(counts.T.shape).T
    of_range = ArrayPieces.of((ends - counts).ravel(), pieces)
    threads.run(sort_by_cell, of_point, of_range, point, *ranges)
    sizes = counts.sum(axis=0)
    leaves = -(-sizes // LEAF)
    nodes = np.append(len(top.left), 2 * leaves - 2)
    starts = [np.append(0, np.cumsum(column)) for column in (sizes, leaves)]
    return point, Cells(starts[0], np.cumsum(nodes), starts[1], root)


def fill_tree(
    tree: PointTree,
    components: ComponentArrays,
    of_node: np.ndarray,
    node_lower_bound: np.ndarray,
) -> TreeComponents:
    """Return the components of a tree; the last two arrays are filled, by node."""
    of_position, cores, lower_bound, bound = components
    of_tree = TreeComponents(
        of_position, of_node, cores, lower_bound, node_lower_bound, bound
    )
    fill_nodes(tree, of_tree)
    return of_tree


def chunks(length: int, threads: Threads, least: int = 1) -> tuple[PerCall, PerCall]:
    """Return chunks of [0, length) with at least `least` items, several per thread.

    A single thread gets one chunk.
    """
    return each_range(threads.bounds(length, least, each=CHUNKS))
