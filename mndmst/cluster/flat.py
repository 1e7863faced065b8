"""Flat clusters of a condensed tree: selection, labels and probabilities."""

from typing import NamedTuple

import numpy as np

from .density import CondensedTree
from .kernels.dendrogram import owners, raised
from .stable import most_stable


class Clustering(NamedTuple):
    """Flat clusters of a condensed tree.

    Attributes
    ----------
    labels : ndarray of int64, shape (num_points,)
        Clusters are numbered 0, 1, ... by their smallest points; -1 is noise.
    probabilities : ndarray of float64, shape (num_points,)
        How deep in its cluster a point is, 0 to 1.
    """

    labels: np.ndarray
    probabilities: np.ndarray


def flat_clusters(
    tree: CondensedTree, leaves: bool = False, epsilon: float = 0.0
) -> Clustering:
    """Return the clusters that last longest, or those that never split.

    Parameters
    ----------
    leaves : bool
        Take the leaves of the tree in place of the clusters of most excess of mass.
    epsilon : float
        Merge clusters that have split at a smaller distance (Malzer and Baum, MFI
        2020).
    """
    parent = tree.cluster_parent
    chosen = _leaves(parent) if leaves else most_stable(tree)
    chosen[0] = False  # the root is all points
    if epsilon > 0:
        topmost = owners(parent, chosen) == np.arange(len(parent))
        chosen = raised(parent, tree.birth, topmost, epsilon)
    cluster = owners(parent, chosen)[tree.point_cluster]
    return Clustering(_renumbered(cluster), _probabilities(tree, cluster))


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


def _probabilities(tree: CondensedTree, cluster: np.ndarray) -> np.ndarray:
    """Return how late each point leaves its cluster: 1 at the cluster's own end."""
    end = np.zeros(tree.num_clusters)
    np.maximum.at(end, tree.parent - tree.num_points, tree.scale)
    inside = cluster >= 0
    top, left = end[cluster[inside]], tree.point_scale[inside]
    share = np.ones(len(left))
    usual = (top > 0) & np.isfinite(left)
    share[usual] = np.minimum(left[usual] / top[usual], 1)
    result = np.zeros(len(cluster))
    result[inside] = share
    return result
