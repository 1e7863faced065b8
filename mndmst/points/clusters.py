"""HDBSCAN* and single linkage of points."""

from typing import Any, NamedTuple

import numpy as np

from ..cluster.density import CondensedTree, condensed_tree
from ..cluster.flat import Clustering, flat_clusters
from ..cluster.linkage import single_linkage as linkage_of
from ..host.errors import ConfigError
from .forest import PointForest, points_forest
from .read import checked_points

METHODS = ("eom", "leaf")


class DensityRule(NamedTuple):
    """What makes a cluster, under the names of hdbscan.

    Attributes
    ----------
    min_cluster_size : int
        Fewer points are no cluster.
    min_samples : int or None
        See `points_forest`; `min_cluster_size` by default.
    method : {"eom", "leaf"}
        Clusters of most excess of mass, or those that never split.
    epsilon : float
        Clusters that have split at a smaller distance are taken together.
    """

    min_cluster_size: int = 5
    min_samples: int | None = None
    method: str = "eom"
    epsilon: float = 0.0

    def checked(self) -> "DensityRule":
        """Return the rule with all that is not given; ConfigError if it is none."""
        size = self.min_cluster_size
        samples = size if self.min_samples is None else self.min_samples
        if size < 2 or samples < 1:
            raise ConfigError(
                f"min_cluster_size {size} and min_samples {samples}: give 2 or more, "
                "and 1 or more"
            )
        if self.method not in METHODS:
            raise ConfigError(
                f"no cluster_selection_method '{self.method}'; give eom or leaf"
            )
        if not self.epsilon >= 0:
            raise ConfigError(
                f"cluster_selection_epsilon {self.epsilon}: give 0 or more"
            )
        return self._replace(min_samples=samples)


class DensityClusters(NamedTuple):
    """Clusters of points, and all that led to them.

    Attributes
    ----------
    found : PointForest
        Of mutual reachability distances.
    linkage : ndarray of float64, shape (points - 1, 4)
    tree : CondensedTree
    flat : Clustering
    """

    found: PointForest
    linkage: np.ndarray
    tree: CondensedTree
    flat: Clustering


def hdbscan(
    points: np.ndarray, rule: DensityRule, metric: str = "euclidean", **how: Any
) -> DensityClusters:
    """Return the clusters of HDBSCAN* (Campello, Moulavi, Zimek and Sander, 2015).

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
    rule : DensityRule
    metric : str
    **how
        `approximate`, `neighbours` and `threads` of `points_forest`.

    Raises
    ------
    ConfigError, InputError, MissingExtraError
        As `points_forest` does; or if the rule is none.
    """
    rule = rule.checked()
    found = points_forest(points, metric, rule.min_samples or 0, **how)
    return clusters_of(found, rule)


def clusters_of(found: PointForest, rule: DensityRule) -> DensityClusters:
    """Return the clusters that a forest of mutual reachability distances has."""
    linkage = linkage_of(found.forest)
    tree = condensed_tree(linkage, rule.min_cluster_size)
    flat = flat_clusters(tree, rule.method == "leaf", rule.epsilon)
    return DensityClusters(found, linkage, tree, flat)


def single_linkage(points: Any, metric: str = "euclidean", threads: int = 0) -> Any:
    """Return the single-linkage dendrogram of points, exactly.

    Memory grows with the points, not with their pairs.

    Parameters
    ----------
    points : array-like of numbers, shape (points, dimensions)
    metric : {"euclidean", "manhattan", "cosine", "haversine"}
        For "haversine" latitude and longitude in radians, as in scikit-learn.
    threads : int
        0 for all cores this process may use.

    Returns
    -------
    ndarray of float64, shape (points - 1, 4)
        As `scipy.cluster.hierarchy.linkage(points, "single")` returns it; equal
        distances are in the order of the points' numbers.

    Raises
    ------
    InputError
        If these are no points, or do not suit the metric.

    Examples
    --------
    >>> import mndmst
    >>> mndmst.single_linkage([[0.0], [1.0], [5.0]])[:, 2]
    array([1., 4.])
    """
    given = checked_points(np.asarray(points), "the points: ")
    return linkage_of(points_forest(given, metric, threads=threads).forest)
