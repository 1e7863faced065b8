"""HDBSCAN*: clusters of any density, from the forest of mutual reachability.

Campello, Moulavi, Zimek and Sander, ACM TKDD 2015; the condensed tree is that of
McInnes and Healy, ICDMW 2017. Give a forest whose weights are mutual reachability
distances between all points (`points.forest` finds it).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..host.errors import ConfigError
from .kernels.dendrogram import condense, most_stable, owners, raised


@dataclass(frozen=True)
class CondensedTree:
    """Clusters, and what has left them.

    Attributes
    ----------
    parent, child : ndarray of int64, shape (rows,)
        Clusters are numbered from `num_points`, the root, on; smaller children are
        points.
    scale : ndarray of float64, shape (rows,)
        1 / distance at which the child leaves its parent (lambda).
    size : ndarray of int64, shape (rows,)
        Points in the child.
    num_points : int
    """

    parent: np.ndarray
    child: np.ndarray
    scale: np.ndarray
    size: np.ndarray
    num_points: int

    @property
    def num_clusters(self) -> int:
        """How many clusters there are, the root among them."""
        return int((self.child >= self.num_points).sum()) + 1

    def columns(self) -> dict[str, np.ndarray]:
        """Return the datasets of a cluster file that hold it."""
        return {
            "condensed/parent": self.parent,
            "condensed/child": self.child,
            "condensed/lambda": self.scale,
            "condensed/size": self.size,
        }


class Clustering(NamedTuple):
    """Flat clusters of a condensed tree.

    Attributes
    ----------
    labels : ndarray of int64, shape (num_points,)
        0, 1, ... by first points; -1 is noise.
    probabilities : ndarray of float64, shape (num_points,)
        How deep in its cluster a point is, 0 to 1.
    """

    labels: np.ndarray
    probabilities: np.ndarray


def condensed_tree(linkage: np.ndarray, min_cluster_size: int) -> CondensedTree:
    """Return the condensed tree of a single-linkage dendrogram.

    Parameters
    ----------
    linkage : ndarray of float64, shape (n - 1, 4)
        As from `single_linkage`.
    min_cluster_size : int
        Fewer points are no cluster, but fall out of one; at least 2.

    Raises
    ------
    ConfigError
        If the size is below 2.
    """
    if min_cluster_size < 2:
        raise ConfigError(f"a cluster has at least 2 points, not {min_cluster_size}")
    parent, child, scale, size = condense(linkage, min_cluster_size)
    return CondensedTree(parent, child, scale, size, len(linkage) + 1)


def flat_clusters(
    tree: CondensedTree, leaves: bool = False, epsilon: float = 0.0
) -> Clustering:
    """Return the clusters that last longest, or those that never split.

    Parameters
    ----------
    leaves : bool
        Take the leaves of the tree in place of the clusters of most excess of mass.
    epsilon : float
        Clusters that have split at a smaller distance are taken together (Malzer and
        Baum, MFI 2020).
    """
    parent = cluster_parents(tree)
    chosen = _leaves(parent) if leaves else most_stable(parent, stability(tree))
    chosen[0] = False  # the root is all points
    if epsilon > 0:
        chosen = raised(parent, _births(tree), chosen, 1 / epsilon)
    owner = owners(parent, chosen)
    first = tree.num_points
    points = tree.child < first
    cluster = np.empty(first, np.int64)
    scale = np.empty(first)
    cluster[tree.child[points]] = owner[tree.parent[points] - first]
    scale[tree.child[points]] = tree.scale[points]
    return Clustering(_renumbered(cluster), _probabilities(tree, cluster, scale))


def stability(tree: CondensedTree) -> np.ndarray:
    """Return the excess of mass of each cluster, the root first."""
    birth, parent = _births(tree), tree.parent - tree.num_points
    # Points that are equal stay together up to an infinite scale
    lasts = np.zeros(len(parent))
    np.subtract(tree.scale, birth[parent], lasts, where=tree.scale > birth[parent])
    return np.bincount(parent, lasts * tree.size, tree.num_clusters)


def _births(tree: CondensedTree) -> np.ndarray:
    """Return the scale at which each cluster begins."""
    birth = np.zeros(tree.num_clusters)
    inner = tree.child >= tree.num_points
    birth[tree.child[inner] - tree.num_points] = tree.scale[inner]
    return birth


def cluster_parents(tree: CondensedTree) -> np.ndarray:
    """Return the parent of each cluster (int64); clusters count from the root, 0."""
    first = tree.num_points
    inner = tree.child >= first
    parent = np.zeros(tree.num_clusters, np.int64)
    parent[tree.child[inner] - first] = tree.parent[inner] - first
    return parent


def _leaves(parent: np.ndarray) -> np.ndarray:
    chosen = np.ones(len(parent), np.bool_)
    chosen[parent[1:]] = False
    return chosen


def _renumbered(cluster: np.ndarray) -> np.ndarray:
    names, first, inverse = np.unique(cluster, return_index=True, return_inverse=True)
    number = np.empty(len(names), np.int64)
    real = np.flatnonzero(names >= 0)
    number[real[np.argsort(first[real])]] = np.arange(len(real))
    number[names < 0] = -1
    return number[inverse]


def _probabilities(
    tree: CondensedTree, cluster: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Return how late each point leaves its cluster: 1 at the cluster's own end."""
    end = np.zeros(tree.num_clusters)
    np.maximum.at(end, tree.parent - tree.num_points, tree.scale)
    inside = cluster >= 0
    top, left = end[cluster[inside]], scale[inside]
    share = np.ones(len(left))
    usual = (top > 0) & np.isfinite(left)
    share[usual] = np.minimum(left[usual] / top[usual], 1)
    result = np.zeros(len(cluster))
    result[inside] = share
    return result
