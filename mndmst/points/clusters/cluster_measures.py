"""Measures of flat clusters: centroids, medoids, exemplars and validity (DBCV).

Validity: Moulavi, Jaskowiak, Campello, Zimek and Sander, SDM 2014. The estimate is
hdbscan's: it takes density sparseness and separation from the tree's edges.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ...api.forest import Forest
from ..devices.point_products import PointsOnDevice
from ..pairwise_forest import Metric, rows_of
from .condensed import CondensedTree
from .density import points_by_label

NO_CENTERS = "Cannot store centers when using a precomputed distance matrix."


def centroid_of(points: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """Return the mean of points, weighted by their strengths."""
    return np.average(points, weights=_usable(strength), axis=0)


def medoid_of(
    points: np.ndarray,
    strength: np.ndarray,
    metric: Metric,
    parameters: Mapping[str, object],
) -> np.ndarray:
    """Return the point with the least sum of distances, weighted by the strengths."""
    rows, weight = rows_of(points, metric, parameters), _usable(strength)
    sums = [float((rows.row(i) * weight).sum()) for i in range(len(rows))]
    return points[int(np.argmin(sums))]


def centers_of(
    points: np.ndarray | PointsOnDevice,
    labels: np.ndarray,
    strength: np.ndarray,
    kind: str | None,
    metric: Metric,
    parameters: Mapping[str, object],
) -> dict[str, np.ndarray]:
    """Return the centers of flat clusters, float64, shape (clusters, dimensions).

    `kind` is the parameter `store_centers`; the result has "centroids", "medoids", or
    both.
    """
    kinds: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
        "centroid": centroid_of,
        "medoid": partial(medoid_of, metric=metric, parameters=parameters),
    }
    members, centers = points_by_label(labels), {}
    for name, center in kinds.items():
        if kind in (name, "both"):
            each = [center(points[m].astype(np.float64), strength[m]) for m in members]
            centers[f"{name}s"] = np.array(each).reshape(-1, points.shape[1])
    return centers


def exemplars_of(tree: CondensedTree, labels: np.ndarray) -> list[np.ndarray]:
    """Return the exemplars of each flat cluster.

    These are the last points of each leaf of the condensed tree that the cluster is or
    contains: the points that leave it at the smallest distance.
    """
    leaf = np.ones(tree.num_clusters, np.bool_)
    leaf[tree.cluster_parent[1:]] = False
    last = tree.point_distance == tree.death[tree.point_cluster]
    return points_by_label(labels, last & leaf[tree.point_cluster])


def _usable(strength: np.ndarray) -> np.ndarray:
    """Return the strengths, or ones if all strengths are zero."""
    return strength if strength.any() else np.ones(len(strength))


def relative_validity(forest: Forest, labels: np.ndarray) -> float:
    """Return the validity of flat clusters, from -1 to 1; a label of -1 is noise.

    If distances tie, there are several minimum spanning trees. The order of the points
    selects one, and the result depends on it.
    """
    count = int(labels.max(initial=-1)) + 1
    if count == 0:
        return 0.0
    one, other = labels[forest.src], labels[forest.dst]
    distance = forest.weight
    largest = float(distance.max(initial=0))
    same = (one >= 0) & (one == other)
    between = (one >= 0) & (other >= 0) & (one != other)
    sparseness, separation = np.zeros(count), np.full(count, np.inf)
    np.maximum.at(sparseness, one[same], distance[same])
    for end in (one, other):
        np.minimum.at(separation, end[between], distance[between])
    to_noise = (one < 0) != (other < 0)
    nearest = float(distance[to_noise].min()) if to_noise.any() else largest
    separation[np.isinf(separation)] = 2 * (largest if count > 1 else nearest)
    larger = np.maximum(separation, sparseness)
    validity = np.zeros(count)
    np.divide(separation - sparseness, larger, out=validity, where=larger > 0)
    sizes = np.bincount(labels[labels >= 0], minlength=count)
    return float((sizes * validity).sum() / len(labels))
