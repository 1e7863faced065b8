"""The single-linkage dendrogram of a forest, and flat clusters from it."""

import math
from itertools import pairwise
from typing import Protocol

import numpy as np

from ..graph.order import check_threshold, weights_to_keys
from ..host.cores import core_count
from ..host.errors import ConfigError
from ..host.formatting import counted
from ..kernels.kruskal import component_labels, find_in_python
from ..kernels.sorting import sort_positions
from ..kernels.threads import Threads, each_range
from .kernels.merge_chains import (
    CYCLE,
    DISTANCE,
    LEFT,
    RIGHT,
    SIZE,
    AscendingTree,
    chains_of_tree,
    id_type,
    link_chains,
    take_edges,
)

# For at most this many vertices Python takes no longer than the kernels, whose
# compilation takes a second of CPU time.
FEW_VERTICES = 1 << 9


class SpanningForest(Protocol):
    """The interface of a spanning forest; `mndmst.Forest` implements it."""

    def __len__(self) -> int: ...
    @property
    def src(self) -> np.ndarray:
        """The smaller end of each edge."""

    @property
    def dst(self) -> np.ndarray:
        """The larger end of each edge."""

    @property
    def weight(self) -> np.ndarray:
        """The weight of each edge."""

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""

    @property
    def num_trees(self) -> int:
        """Number of trees."""

    @property
    def maximum(self) -> bool:
        """Whether it is a maximum spanning forest."""


def single_linkage(forest: SpanningForest, few: int = FEW_VERTICES) -> np.ndarray:
    """Return the single-linkage dendrogram of a graph from its spanning forest.

    The trees of a forest merge last, at an infinite distance. All cores are used; at
    most `few` vertices need no kernel. The result, float64 of shape
    (num_vertices - 1, 4), has the format of `scipy.cluster.hierarchy.linkage`, with
    equal distances in the order of the edges. A maximum forest merges from the heaviest
    edge down; see `_distances`.
    """
    if forest.num_vertices == 0:
        raise ConfigError("a graph without vertices has no clusters")
    if forest.num_vertices <= few:
        return _linkage_without_kernels(forest)
    threads = all_cores()
    return link_chains(
        chains_of_tree(ascending_tree(forest, threads), threads), threads
    )


def ascending_tree(forest: SpanningForest, threads: Threads) -> AscendingTree:
    """Return the edges of a forest; the last ones join its trees, infinitely far.

    Raises ConfigError if there are too many or too few edges.
    """
    n = forest.num_vertices
    ids, order = id_type(n), in_merge_order(forest, threads)
    tree = AscendingTree(np.empty(n - 1, ids), np.empty(n - 1, ids), np.empty(n - 1))
    joining = n - 1 - len(forest)
    if joining:
        # The number of trees is counted, because a file may state a wrong one; then the
        # edges would not form a tree.
        labels = component_labels(forest.src, forest.dst, n)
        roots = np.flatnonzero(labels == np.arange(n))
        if len(roots) != joining + 1:
            raise ConfigError(CYCLE)
        for column, ends in (tree.src, roots[:-1]), (tree.dst, roots[1:]):
            column[len(forest) :] = ends
        tree.distance[len(forest) :] = np.inf
    distance = _distances(forest).astype(np.float64, copy=False)
    ranges = each_range(threads.bounds(len(forest)))
    threads.run(take_edges, order, forest.src, forest.dst, distance, *ranges, tree)
    return tree


def _linkage_without_kernels(forest: SpanningForest) -> np.ndarray:
    """Return the result of `single_linkage` without a kernel, in 1 us per vertex."""
    n, order = forest.num_vertices, in_merge_order(forest)
    parent: dict[int, int] = {}  # of clusters that have merged
    size, rows = [1] * n, []

    def merge(src: int, dst: int) -> None:
        left, right = sorted(find_in_python(parent, end) for end in (src, dst))
        if left == right:
            raise ConfigError(CYCLE)
        parent[left] = parent[right] = len(size)
        size.append(size[left] + size[right])
        rows.append((left, right))

    for ends in zip(
        forest.src[order].tolist(), forest.dst[order].tolist(), strict=True
    ):
        merge(*ends)
    smallest: dict[int, int] = {}  # vertex of each tree, in ascending order
    for vertex in range(n):
        smallest.setdefault(find_in_python(parent, vertex), vertex)
    for ends in pairwise(smallest.values()):
        merge(*ends)
    linkage = np.full((n - 1, 4), np.inf)
    linkage[:, [LEFT, RIGHT]] = np.reshape(rows, (n - 1, 2))
    linkage[: len(order), DISTANCE] = _distances(forest)[order]
    linkage[:, SIZE] = size[n:]
    return linkage


def clusters_within(forest: SpanningForest, threshold: int | float) -> np.ndarray:
    """Return the smallest vertex of each vertex's cluster; `mndmst.clusters_within`."""
    check_threshold(threshold)
    weight = forest.weight
    bound = _weight_within(threshold, weight.dtype, forest.maximum)
    within = weight >= bound if forest.maximum else weight <= bound
    return component_labels(forest.src[within], forest.dst[within], forest.num_vertices)


def _weight_within(
    threshold: int | float, dtype: np.dtype, maximum: bool
) -> int | float | np.floating:
    """Return a type's last number within a threshold, which NumPy would round."""
    if dtype.kind in "iu":
        whole = math.ceil if maximum else math.floor
        unbounded = isinstance(threshold, float) and math.isinf(threshold)
        return threshold if unbounded else whole(threshold)
    try:
        nearest = float(threshold)
    except OverflowError:  # an integer beyond the largest float64
        nearest = math.inf if threshold > 0 else -math.inf
    with np.errstate(over="ignore"):
        bound: np.floating = dtype.type(nearest)
    # Python compares integers with floats exactly.
    beyond = bound.item() < threshold if maximum else bound.item() > threshold
    end = bound.dtype.type(np.inf if maximum else -np.inf)
    return np.nextafter(bound, end) if beyond else bound


def clusters_by_count(forest: SpanningForest, count: int) -> np.ndarray:
    """Return a given number of clusters, without the last edges in the order.

    Raises ConfigError if there are more trees, or fewer vertices, than clusters asked
    for.
    """
    if not max(1, forest.num_trees) <= count <= forest.num_vertices:
        raise ConfigError(
            f"{counted(count, 'cluster')}: the forest has "
            f"{counted(forest.num_trees, 'tree')} and "
            f"{counted(forest.num_vertices, 'vertex')}. Give a number from "
            f"{max(1, forest.num_trees):,} to {forest.num_vertices:,}."
        )
    edges = in_merge_order(forest)[: forest.num_vertices - count]
    return component_labels(forest.src[edges], forest.dst[edges], forest.num_vertices)


def numbered(labels: np.ndarray) -> np.ndarray:
    """Return clusters numbered 0, 1, ... in the order of their first vertices."""
    return np.unique(labels, return_inverse=True)[1]


def in_merge_order(
    forest: SpanningForest, threads: Threads | None = None
) -> np.ndarray:
    """Return the positions of the edges: lightest first, heaviest in a maximum one."""
    keys = weights_to_keys(forest.weight.copy(), forest.maximum)
    return sort_positions(keys, threads or all_cores())


# The text for messages on the distances of a maximum forest
MIRRORED = "largest weight less each weight"


def _distances(forest: SpanningForest) -> np.ndarray:
    """Return the distances at which edges merge clusters.

    In a minimum forest they are the weights, in a maximum forest the largest weight
    less each weight, so that they ascend, too. Raises ConfigError if a difference is
    not a finite number.
    """
    weight = forest.weight
    if not forest.maximum or len(weight) == 0:
        return weight
    if weight.dtype.kind == "f":
        wide = weight.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            distance = wide.max() - wide
        if not np.isfinite(distance).all():
            raise ConfigError(
                "a dendrogram of a maximum forest has the distances (largest weight - "
                "weight), and one is infinite; give smaller, finite weights"
            )
        return distance
    # Differences of integers fit the unsigned type, where signed ones overflow
    word = np.dtype(f"u{weight.dtype.itemsize}")
    return (weight.max().astype(word) - weight.astype(word)).astype(np.float64)


def all_cores() -> Threads:
    """Return a thread for each core of this process."""
    return Threads(core_count())
