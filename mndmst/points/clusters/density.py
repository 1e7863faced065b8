"""HDBSCAN*: clusters of any density, from the forest of mutual reachability.

Campello, Moulavi, Zimek and Sander, ACM TKDD 2015. Give `condensed_tree` the dendrogram
of a forest whose weights are mutual reachability distances between all points
(`points.point_forest` finds it), and `flat_clusters` the tree.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.threads import Threads, each_range
from ...tree.linkage import all_cores
from ..kernels.dendrogram import Members, first_members, label_members, owners
from .condensed import CondensedTree, scale_of
from .selection import ClusterSelection, select_clusters


class Clustering(NamedTuple):
    """Flat clusters of points.

    Attributes
    ----------
    labels : ndarray of int64, shape (num_points,)
        Clusters are numbered 0, 1, ... by their smallest points; -1 is noise.
    probabilities : ndarray of float64, shape (num_points,)
        How deep in its cluster a point is, 0 to 1.
    """

    labels: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def all_noise(cls, count: int) -> "Clustering":
        """Return the clustering of `count` points in no cluster."""
        return cls(np.full(count, -1), np.zeros(count))


def flat_clusters(
    tree: CondensedTree, leaves: bool = False, epsilon: float = 0.0
) -> Clustering:
    """Return the clusters of most excess of mass, or the leaves of the tree.

    See `ClusterSelection` for `epsilon`.
    """
    rule = ClusterSelection("leaf" if leaves else "eom", epsilon)
    return label_points(tree, select_clusters(tree, rule), epsilon)


def label_points(
    tree: CondensedTree,
    chosen: np.ndarray,
    epsilon: float = 0.0,
    threads: Threads | None = None,
) -> Clustering:
    """Return the labels and probabilities of clusters that `select_clusters` chose.

    The root, if selected, has the points that leave it last, or with an epsilon those
    that leave at no larger distance; all other points are noise.
    """
    owner = owners(tree.cluster_parent, chosen)
    limit = np.array([(epsilon or tree.root_end) if chosen[0] else np.inf], float)
    n, threads = tree.num_points, threads or all_cores()
    members = Members(tree.parent[-n:], tree.distance[-n:], n, owner, limit)
    first = first_members(members)
    used = np.flatnonzero(first < n)
    number = np.full(len(owner), -1)
    number[used[np.argsort(first[used])]] = np.arange(len(used))
    top, ranges = scale_of(tree.death), each_range(threads.bounds(n))
    labels, probabilities = np.empty(n, np.int64), np.empty(n)
    threads.run(label_members, members, number, top, *ranges, labels, probabilities)
    return Clustering(labels, probabilities)


def cluster_persistence(
    tree: CondensedTree, chosen: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Return the persistence of each flat cluster, relative to the largest possible.

    The excess of mass of a cluster, divided by its points and the largest lambda of the
    tree; 1 if that is infinite, as it is where points are equal.
    """
    cluster = clusters_by_label(tree, chosen, labels)
    largest = float(scale_of(tree.last_distance[:1])[0])
    if not 0 < largest < np.inf:
        return np.ones(len(cluster))
    return tree.mass[cluster] / (np.bincount(labels[labels >= 0]) * largest)


def clusters_by_label(
    tree: CondensedTree, chosen: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Return the cluster of the tree (int64, the root is 0) that has each label."""
    owner = owners(tree.cluster_parent, chosen)[tree.point_cluster]
    cluster = np.empty(int(labels.max(initial=-1)) + 1, np.int64)
    inside = labels >= 0
    cluster[labels[inside]] = owner[inside]
    return cluster


def points_by_label(
    labels: np.ndarray, among: np.ndarray | None = None
) -> list[np.ndarray]:
    """Return the points of each flat cluster, ascending (int64).

    `among` is a boolean for each point; by default all points count.
    """
    inside = labels >= 0 if among is None else among & (labels >= 0)
    rows = np.flatnonzero(inside)
    sizes = np.bincount(labels[rows], minlength=int(labels.max(initial=-1)) + 1)
    ordered = rows[np.argsort(labels[rows], kind="stable")]
    return np.split(ordered, np.cumsum(sizes))[: len(sizes)]


def outlier_scores(tree: CondensedTree) -> np.ndarray:
    """Return the GLOSH outlier scores of points (Campello et al., 2015).

    The score is 1 - lambda / (largest lambda inside the last cluster of the point),
    from 0 to 1; outliers have large ones.
    """
    leaving = tree.point_distance
    end = np.maximum(tree.last_distance[tree.point_cluster], 0)
    score, far = np.zeros(len(leaving)), leaving > end
    with np.errstate(
        invalid="ignore"
    ):  # a point of a tree of its own leaves at infinity
        later = (leaving[far] - end[far]) / leaving[far]
    score[far] = np.where(np.isnan(later), 1, later)
    return score


def number_clusters(cluster: np.ndarray) -> np.ndarray:
    """Return clusters numbered 0, 1, ... by smallest points; negative ones as -1."""
    count = int(cluster.max(initial=-1)) + 1
    first, backwards = np.full(count, -1), np.flatnonzero(cluster >= 0)[::-1]
    first[cluster[backwards]] = backwards  # a cluster's smallest point is written last
    real = np.flatnonzero(first >= 0)
    number = np.full(count + 1, -1)  # the last entry is for -1
    number[real[np.argsort(first[real])]] = np.arange(len(real))
    return number[np.maximum(cluster, -1)]
