"""The condensed tree of a dendrogram (McInnes and Healy, ICDMW 2017).

HDBSCAN* removes all edges of one weight at once. A binary dendrogram lists them one
after the other, in one of many orders. So condensing merges rows of equal distance
into one node with many children, and the result does not depend on that order, nor on
the order of the points: permuted points have the same clusters, masses, probabilities.
"""

import functools
from dataclasses import dataclass

import numpy as np

from ...host.errors import ConfigError
from ...kernels.threads import Threads
from ...tree.kernels.merge_chains import (
    chains_of_linkage,
    chains_of_tree,
)
from ...tree.linkage import (
    FEW_VERTICES,
    SpanningForest,
    all_cores,
    ascending_tree,
    single_linkage,
)
from ..kernels.condense import condense
from ..kernels.dendrogram import add_masses, merge_brief


@dataclass(frozen=True)
class CondensedTree:
    """Clusters, and the points that leave them.

    Row i is cluster i + 1; the rows of the points follow, in their order. Clusters are
    numbered by descending distance at which they are born, siblings by their smallest
    points.
    """

    # int64, by row: clusters are numbered from `num_points`, the root, on
    parent: np.ndarray
    # float64, by row: distance at which the child leaves its parent
    distance: np.ndarray
    cluster_size: np.ndarray  # int64: points in each cluster, the root first
    # float64: excess of mass (stability) of each cluster, the root first
    mass: np.ndarray
    num_points: int

    @property
    def num_clusters(self) -> int:
        """Number of clusters, the root among them."""
        return len(self.mass)

    @functools.cached_property
    def child(self) -> np.ndarray:
        """Child in each row (int64): a cluster, or a point if below `num_points`."""
        clusters = np.arange(1, self.num_clusters) + self.num_points
        return np.concatenate([clusters, np.arange(self.num_points)])

    @functools.cached_property
    def size(self) -> np.ndarray:
        """Points in the child in each row (int64)."""
        points = np.ones(self.num_points, np.int64)
        return np.concatenate([self.cluster_size[1:], points])

    @functools.cached_property
    def scale(self) -> np.ndarray:
        """1 / distance at which each child leaves its parent (lambda), by row."""
        return scale_of(self.distance)

    @functools.cached_property
    def cluster_parent(self) -> np.ndarray:
        """Parent of each cluster (int64); clusters count from the root, 0."""
        rows = self.parent[: self.num_clusters - 1] - self.num_points
        return np.concatenate([np.zeros(1, np.int64), rows])

    @functools.cached_property
    def birth(self) -> np.ndarray:
        """Distance at which each cluster is born; infinite for the root."""
        return np.concatenate([[np.inf], self.distance[: self.num_clusters - 1]])

    @functools.cached_property
    def death(self) -> np.ndarray:
        """Smallest distance in the rows of each cluster, the root first."""
        death = np.full(self.num_clusters, np.inf)
        np.minimum.at(death, self.parent - self.num_points, self.distance)
        return death

    @functools.cached_property
    def last_distance(self) -> np.ndarray:
        """Smallest distance in each cluster and all below it, the root first."""
        last, parent = self.death.copy(), self.cluster_parent
        for cluster in range(len(parent) - 1, 0, -1):
            last[parent[cluster]] = min(last[parent[cluster]], last[cluster])
        return last

    @property
    def root_end(self) -> float:
        """Distance at which the root ends or splits."""
        return float(self.death[0])

    @property
    def point_cluster(self) -> np.ndarray:
        """Last cluster of each point (int64); clusters count from the root, 0."""
        return self.parent[self.num_clusters - 1 :] - self.num_points

    @property
    def point_distance(self) -> np.ndarray:
        """Distance at which each point leaves its last cluster."""
        return self.distance[self.num_clusters - 1 :]

    def columns(self) -> dict[str, np.ndarray]:
        """Return the datasets of a cluster file that hold it."""
        return {
            "condensed/parent": self.parent,
            "condensed/child": self.child,
            "condensed/lambda": self.scale,
            "condensed/size": self.size,
        }


def condensed_tree(linkage: np.ndarray, min_cluster_size: int) -> CondensedTree:
    """Return the condensed tree of a single-linkage dendrogram.

    Merges of equal distance are one node with many children. A node splits its cluster
    if at least two children have `min_cluster_size` points, 2 or more; with one such
    child the cluster goes on in it, with none it ends.
    """
    _check_size(min_cluster_size)
    n = len(linkage) + 1
    if n == 1:
        root = np.ones(1, np.int64)
        return CondensedTree(root, np.full(1, np.inf), root, np.zeros(1), 1)
    columns = condense(chains_of_linkage(linkage), min_cluster_size, all_cores())
    return CondensedTree(*columns, num_points=n)


def condensed_forest(
    forest: SpanningForest, min_cluster_size: int, threads: Threads | None = None
) -> CondensedTree:
    """Return the condensed tree of the dendrogram of a forest; see `condensed_tree`.

    All cores take part by default, and the dendrogram itself is not made: of many
    vertices each needs 33 bytes at the peak, of which 16 stay.
    """
    if forest.num_vertices <= FEW_VERTICES:
        return condensed_tree(single_linkage(forest), min_cluster_size)
    _check_size(min_cluster_size)
    threads = threads or all_cores()
    # Without names, so that `condense` lets go of what it no longer needs
    columns = condense(
        chains_of_tree(ascending_tree(forest, threads), threads),
        min_cluster_size,
        threads,
    )
    return CondensedTree(*columns, num_points=forest.num_vertices)


def _check_size(min_cluster_size: int) -> None:
    if min_cluster_size < 2:
        raise ConfigError(f"min_cluster_size is {min_cluster_size}; give 2 or more")


def without_brief_clusters(tree: CondensedTree, persistence: float) -> CondensedTree:
    """Return the tree without the leaves that last less than a persistence.

    A cluster lasts from the lambda of its birth to the largest lambda inside it. A
    child that lasts less than the persistence is brief. If at least two children of a
    cluster are not brief, or one that splits in turn, the points of the brief children
    leave the cluster where it splits; otherwise the cluster does not split.
    """
    into, least = merge_brief(
        tree.cluster_parent, tree.birth, tree.death.copy(), float(persistence)
    )
    lasting = into == np.arange(len(into))
    number = np.cumsum(lasting) - 1
    n, children = tree.num_points, lasting[1:]
    last = tree.point_cluster
    cluster = np.concatenate([tree.cluster_parent[1:][children], last])
    distance = np.concatenate([
        tree.birth[1:][children], np.maximum(tree.point_distance, least[last])
    ])  # fmt: skip
    parent = number[into[cluster]]
    cluster_size = tree.cluster_size[lasting]
    size = np.concatenate([cluster_size[1:], np.ones(n, np.int64)])
    return CondensedTree(
        parent=parent + n,
        distance=distance,
        cluster_size=cluster_size,
        mass=_masses(parent, distance, size, tree.birth[lasting]),
        num_points=n,
    )


def _masses(
    parent: np.ndarray, distance: np.ndarray, size: np.ndarray, birth: np.ndarray
) -> np.ndarray:
    """Return the excess of mass of clusters from their rows, as `condense` does."""
    order = np.lexsort((-distance, parent))
    return add_masses(parent[order], distance[order], size[order], birth)


def scale_of(distance: np.ndarray) -> np.ndarray:
    """Return lambda, 1 / distance; infinite for a distance of 0 or below."""
    scale = np.full(len(distance), np.inf)
    with np.errstate(over="ignore"):
        return np.divide(1, distance, out=scale, where=distance > 0)
