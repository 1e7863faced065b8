"""HDBSCAN* with the interface of scikit-learn's estimators."""

from typing import Any, Self

import numpy as np

from .clusters import DensityRule, hdbscan
from .read import check_integers, checked_points

try:  # its tools take the estimator for one of theirs by these classes
    from sklearn.base import BaseEstimator, ClusterMixin
    from sklearn.utils.validation import validate_data
except ImportError:
    BaseEstimator, ClusterMixin = object, type("ClusterMixin", (), {})
    validate_data = None


class HDBSCAN(ClusterMixin, BaseEstimator):
    """Clusters of any density, from the exact forest of mutual reachability.

    Parameters
    ----------
    min_cluster_size : int
        Fewer points are no cluster.
    min_samples : int, optional
        The core distance of a point is that to its neighbour of this number, the point
        itself not counted. This is hdbscan's convention; scikit-learn counts the point,
        so its `min_samples` is larger by 1. `min_cluster_size` by default.
    cluster_selection_epsilon : float
        Clusters that have split at a smaller distance are taken together.
    metric : {"euclidean", "manhattan", "cosine", "haversine"}
        For "haversine" latitude and longitude in radians.
    cluster_selection_method : {"eom", "leaf"}
        Clusters of most excess of mass, or those that never split.
    approximate : bool
        Use the forest of the nearest neighbours' graph, not the exact one.
    n_jobs : int, optional
        Threads; all cores this process may use by default, and with -1.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (points,)
        0, 1, ... by first points; -1 is noise.
    probabilities_ : ndarray of float64, shape (points,)
        How deep in its cluster a point is, 0 to 1.
    linkage_ : ndarray of float64, shape (points - 1, 4)
        The single-linkage dendrogram of mutual reachability distances, as SciPy's.
    condensed_tree_ : CondensedTree
    forest_ : Forest
        The minimum spanning forest of mutual reachability distances.
    exact_ : bool
        Whether it is that of all distances; always so without `approximate`.
    n_features_in_ : int

    Examples
    --------
    >>> import mndmst
    >>> points = [[0.0], [1.0], [2.0], [50.0], [51.0], [53.0]]
    >>> mndmst.HDBSCAN(min_cluster_size=3, min_samples=1).fit(points).labels_
    array([0, 0, 0, 1, 1, 1])
    """

    def __init__(
        self,
        min_cluster_size: int = 5,
        min_samples: int | None = None,
        cluster_selection_epsilon: float = 0.0,
        metric: str = "euclidean",
        cluster_selection_method: str = "eom",
        approximate: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.metric = metric
        self.cluster_selection_method = cluster_selection_method
        self.approximate = approximate
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803, as scikit-learn has it
        """Find the clusters of points.

        Parameters
        ----------
        X : array-like of numbers, shape (points, dimensions)
        y : None
            Ignored.

        Raises
        ------
        ConfigError
            If a parameter is none.
        InputError
            If the points do not suit the metric; ValueError, by scikit-learn, if they
            are none.
        """
        check_integers(np.asarray(X), "X: ")  # scikit-learn would round them
        if validate_data is not None:
            X = validate_data(self, X, dtype=np.float64)  # noqa: N806
        points = checked_points(np.asarray(X), "X: ")
        self.n_features_in_ = points.shape[1]
        rule = DensityRule(
            self.min_cluster_size,
            self.min_samples,
            self.cluster_selection_method,
            self.cluster_selection_epsilon,
        )
        how = {"approximate": self.approximate, "threads": max(self.n_jobs or 0, 0)}
        clusters = hdbscan(points, rule, self.metric, **how)
        self.labels_, self.probabilities_ = clusters.flat
        self.linkage_, self.condensed_tree_ = clusters.linkage, clusters.tree
        self.forest_, self.exact_ = clusters.found.forest, clusters.found.exact
        return self

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:  # noqa: N803
        """Find the clusters of points and return their labels; see `fit`."""
        return self.fit(X).labels_
