"""Points that stand for clusters: centroids, medoids and exemplars."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..cluster.condensed import CondensedTree
from .distance_rows import Metric
from .metric_forest import rows_of


def centroid_of(points: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """Return the mean of points, weighted by their strengths."""
    return np.average(points, weights=_usable(strength), axis=0)


def medoid_of(
    points: np.ndarray,
    strength: np.ndarray,
    metric: Metric,
    parameters: Mapping[str, Any],
) -> np.ndarray:
    """Return the point with the least sum of distances, weighted by the strengths."""
    rows, weight = rows_of(points, metric, parameters), _usable(strength)
    sums = [float((rows.row(i) * weight).sum()) for i in range(len(rows))]
    return points[int(np.argmin(sums))]


def exemplars_of(tree: CondensedTree, labels: np.ndarray) -> list[np.ndarray]:
    """Return the points of each flat cluster that leave the leaves below it last.

    Returns
    -------
    list of ndarray of int64
        By label.
    """
    leaf = np.ones(tree.num_clusters, np.bool_)
    leaf[tree.cluster_parent[1:]] = False
    last = tree.point_distance == tree.death[tree.point_cluster]
    exemplar = last & leaf[tree.point_cluster]
    count = int(labels.max(initial=-1)) + 1
    return [np.flatnonzero(exemplar & (labels == number)) for number in range(count)]


def _usable(strength: np.ndarray) -> np.ndarray:
    """Return strengths of which not all are zero."""
    return strength if strength.any() else np.ones(len(strength))
