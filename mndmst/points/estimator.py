"""HDBSCAN* with the interface of hdbscan's and scikit-learn's estimators."""

import inspect
import math
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import numpy as np

from ..api.forest import Forest
from ..api.inputs import (
    TIMES,
    as_flag,
    check_listed_integers,
    check_nothing_masked,
    check_table_columns,
    check_values,
)
from ..backends import holder_of
from ..host.cores import MOST_THREADS, core_count
from ..host.errors import ConfigError, InputError, InputTypeError, shown
from ..host.formatting import counted
from ..host.progress import Progress
from ..io.formats.point_columns import check_angles
from ..io.formats.point_tables import check_integers
from ..kernels.threads import Threads
from .clusters.cluster_measures import (
    NO_CENTERS,
    centers_of,
    centroid_of,
    exemplars_of,
    medoid_of,
    relative_validity,
)
from .clusters.cluster_numbers import ClusterEvent, ClusterNumbers
from .clusters.cluster_pictures import ClusterPictures
from .clusters.density import Clustering
from .clusters.density_clusters import (
    DensityClusters,
    DensityRule,
    clusters_of,
    density_rule,
)
from .clusters.prediction import (
    Connections,
    FlatMembership,
    TrainingPoints,
    predicted_labels,
    predicted_scores,
)
from .clusters.tree_views import CondensedTreeView, SingleLinkageTree, SpanningTree
from .coordinates import (
    LABEL_CODES,
    PROBABILITY_CODES,
    coded,
    finite_rows,
    largest_magnitude,
    largest_sizes,
)
from .devices import searches_on
from .devices.point_products import PointsOnDevice
from .pairwise_forest import (
    NO_NEAREST,
    NO_POINTS,
    Metric,
    check_forest,
    matrix_forest,
    metric_forest,
    parameters_of,
    points_of_pairs,
)
from .point_files import LARGEST, matrix_note
from .point_forest import PointForest
from .search_reporter import SearchReporter
from .versions.cluster_version import ClusterVersion
from .versions.point_batch import PointIds
from .versions.point_version import ForestRule, PointVersion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from scipy.sparse import sparray
    from sklearn.utils import Tags

try:  # its tools take the estimator for one of theirs by these classes
    from sklearn.base import BaseEstimator, ClusterMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import validate_data
except ImportError:
    BaseEstimator, ClusterMixin = object, type("ClusterMixin", (), {})
    NotFittedError = type("NotFittedError", (ValueError, AttributeError), {})
    available_if = lambda _: lambda method: method  # noqa: E731
    validate_data = None

# Parameters of hdbscan and scikit-learn that change nothing here: name and default.
WITHOUT_EFFECT = {
    "algorithm": ("best", "auto"),
    "leaf_size": (40,),
    "memory": (None,),
    "approx_min_span_tree": (True,),
    "gen_min_span_tree": (False,),
    "core_dist_n_jobs": (4, None),
    "prediction_data": (False,),
}
# Algorithms of hdbscan and scikit-learn, and the metrics that those with trees refuse:
# code that names both has never run there, and one of the two may be a mistake.
ANY_DISTANCES = ("best", "generic", "auto", "brute")
NOT_IN_TREES = ("correlation", "cosine", "sqeuclidean", "yule", "precomputed")
NOT_IN_KD_TREES = (
    *NOT_IN_TREES, "braycurtis", "canberra", "dice", "hamming", "haversine", "jaccard",
    "mahalanobis", "pyfunc", "rogerstanimoto", "russellrao", "seuclidean",
    "sokalmichener", "sokalsneath", "kulsinski", "matching", "wminkowski",
)  # fmt: skip
UNKNOWN_METRICS = {
    **dict.fromkeys(ANY_DISTANCES, ()),
    **dict.fromkeys(("kd_tree", "prims_kdtree", "boruvka_kdtree"), NOT_IN_KD_TREES),
    **dict.fromkeys(("ball_tree", "prims_balltree", "boruvka_balltree"), NOT_IN_TREES),
}
FLOATS = (np.float64, np.float32, np.float16)
# Metrics that a device searches where the points lie.
ON_DEVICE = ("euclidean", "l2", "cosine")

Value = TypeVar("Value")
Points = TypeVar("Points", np.ndarray, PointsOnDevice)


class OnDemand(Generic[Value]):
    """A value computed on first use, without a change of the estimator that owns it."""

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute = compute

    @cached_property
    def value(self) -> Value:
        """The value."""
        return self._compute()


class HDBSCAN(ClusterMixin, BaseEstimator):
    """Clusters of any density, from the exact forest of mutual reachability.

    Parameters have the names, defaults and order of hdbscan. Labels do not depend on
    the order of the points.

    Parameters
    ----------
    min_cluster_size : int
        Smallest number of points that form a cluster.
    min_samples : int, optional
        Neighbours within the core distance, not counting the point itself, as in
        hdbscan; scikit-learn counts it, so its `min_samples` is larger by 1.
        `min_cluster_size` by default. More than all other points is an error.
    cluster_selection_epsilon : float
        Merge clusters born below this distance into their first ancestor born above
        it.
    cluster_selection_persistence : float
        Merge leaves of the condensed tree of a smaller persistence, in 1 / distance.
    max_cluster_size : int, optional
        Do not select larger clusters; with eom only, 0 for no limit, or None.
    metric : str or callable
        "euclidean" ("l2"), "manhattan" ("l1", "cityblock"), "chebyshev", "cosine",
        "correlation", "haversine" of latitude and longitude in radians: fast.
        "precomputed", a metric of SciPy that `pairwise_forest.PAIRWISE` names, or a
        function of two points: all pairs of points are compared.
    alpha : float
        Divide distances, but not core distances, by this number; compares all pairs of
        points unless it is 1. As in robust single linkage.
    p : float, optional
        Of the metric "minkowski".
    V : array-like of numbers, optional
        Variances for the metric "seuclidean", the covariance for "mahalanobis".
    algorithm, leaf_size, memory, approx_min_span_tree, gen_min_span_tree, \
core_dist_n_jobs, prediction_data
        Accepted for code that was written for hdbscan or scikit-learn; they change
        nothing, and a UserWarning says so.
    cluster_selection_method : {"eom", "leaf"}
        Select clusters by excess of mass, or the leaves of the condensed tree.
    allow_single_cluster : bool
        Allow a single cluster, whose outliers are noise.
    cluster_selection_epsilon_max : float
        Do not select clusters born above this distance; with eom only.
    metric_params : dict, optional
        Further arguments of the metric. "euclidean" takes `boxsize`, the sides of a
        periodic box; "hamming" and "jaccard" take `missing`, the number that marks a
        missing entry. "hamming", "alleles" and "allele_shares" take `missing_rule`:
        "ignore", "equal" or "differ"; alleles of 0 and below are missing. "precomputed"
        takes `from`, "correlation" or "correlation:1-r": the matrix has correlations r,
        and distances are sqrt(2(1-r)) or 1-r.
    store_centers : {"centroid", "medoid", "both"}, optional
        Compute the mean point of each cluster, weighted by probabilities, or the
        medoid, or both: `centroids_` and `medoids_`.
    copy : bool, optional
        Keep a copy of the points. By default the estimator keeps an array of floats
        itself, as scikit-learn's estimators of neighbours do: an array that changes
        after `fit` changes predictions. No array of the user is written to.
    n_jobs : int, optional
        Threads; all cores this process may use by default, and with -1; all but one
        with -2, and so on.
    approximate : bool
        Use the forest of the nearest neighbours' graph, not the exact one.
    non_finite : {"noise", "codes", "error"}
        Take rows with NaN or infinite coordinates as noise, or give them the labels -3
        with NaN and -2 without, or refuse them. hdbscan takes them as noise;
        scikit-learn gives the labels, and NaN the probability NaN.
    noise : {"keep", "nearest"}
        Keep noise, or give each noise point the cluster of its largest membership,
        which is its probability; also in predictions. Other results, such as
        exemplars, are those of the clusters without these points.
    search : {"auto", "tree", "product"}
        Find neighbours by a k-d tree, or by matrix products, on a GPU where there is
        one. It changes the time and no result; "auto" probes a sample of the points.
    verbose : bool
        Write the progress of `fit`, and which search is taken, to standard error.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (points,)
        0, 1, ... by smallest points; -1 is noise, see also `non_finite`.
    probabilities_ : ndarray of float64, shape (points,)
        How deep in its cluster a point is, 0 to 1.
    cluster_persistence_ : ndarray of float64, shape (clusters,)
        How long each cluster lasts, 0 to 1.
    outlier_scores_ : ndarray of float64, shape (points,)
        GLOSH, 0 to 1.
    condensed_tree_, single_linkage_tree_, minimum_spanning_tree_
        With `to_numpy`, `to_pandas`, `to_networkx` and `plot`, see `tree_views`.
    exemplars_ : list of ndarray, shape (exemplars, dimensions)
        The points of each cluster that leave its leaves last.
    relative_validity_ : float
        DBCV, computed from the spanning tree, -1 to 1.
    centroids_, medoids_ : ndarray of float64, shape (clusters, dimensions)
        With `store_centers`; weighted by the probabilities.
    linkage_ : ndarray of float64, shape (points - 1, 4)
        The single-linkage dendrogram of mutual reachability distances, as SciPy's.
    forest_ : Forest
        The minimum spanning forest of mutual reachability distances.
    exact_ : bool
        Whether it is that of all distances; always so without `approximate`.
    ids_ : ndarray of int64, shape (points,)
        The id of each present point: 0, 1, ... after `fit`, unless given.
    cluster_numbers_ : ndarray of int64, shape (clusters,)
        The label of each cluster in other attributes: 0, 1, ... after `fit`. Clusters
        keep it in later versions.
    version_ : int
        How many batches of `update`, `insert` and `remove` there were since `fit`.
    events_ : list of ClusterEvent
        Clusters that were born, died, split or merged, with their numbers and sizes.
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
        cluster_selection_persistence: float = 0.0,
        max_cluster_size: int | None = 0,
        metric: Metric = "euclidean",
        alpha: float = 1.0,
        p: float | None = None,
        V: object = None,  # noqa: N803, as SciPy has it
        algorithm: str = "best",
        leaf_size: int = 40,
        memory: object = None,
        approx_min_span_tree: bool = True,
        gen_min_span_tree: bool = False,
        core_dist_n_jobs: int | None = 4,
        cluster_selection_method: str = "eom",
        allow_single_cluster: bool = False,
        prediction_data: bool = False,
        cluster_selection_epsilon_max: float = math.inf,
        metric_params: Mapping[str, object] | None = None,
        store_centers: str | None = None,
        n_jobs: int | None = None,
        copy: bool | None = None,
        approximate: bool = False,
        non_finite: str = "noise",
        noise: str = "keep",
        search: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.cluster_selection_persistence = cluster_selection_persistence
        self.max_cluster_size = max_cluster_size
        self.metric = metric
        self.alpha = alpha
        self.p = p
        self.V = V
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.memory = memory
        self.approx_min_span_tree = approx_min_span_tree
        self.gen_min_span_tree = gen_min_span_tree
        self.core_dist_n_jobs = core_dist_n_jobs
        self.cluster_selection_method = cluster_selection_method
        self.allow_single_cluster = allow_single_cluster
        self.prediction_data = prediction_data
        self.cluster_selection_epsilon_max = cluster_selection_epsilon_max
        self.metric_params = metric_params
        self.store_centers = store_centers
        self.n_jobs = n_jobs
        self.copy = copy
        self.approximate = approximate
        self.non_finite = non_finite
        self.noise = noise
        self.search = search
        self.verbose = verbose

    def fit(
        self,
        X: object,  # noqa: N803, as scikit-learn has it
        y: object = None,
        *,
        ids: object = None,
    ) -> Self:
        """Find the clusters of points.

        Parameters
        ----------
        X : array-like or sparse matrix of numbers, shape (points, dimensions)
            With metric "precomputed" distances: a square matrix, in which infinity is a
            missing distance; the result of SciPy's `pdist`; or a sparse matrix, in
            which all others are missing.
        y : None
            Ignored.
        ids : array-like of int, optional
            The ids of the points, for `remove`; 0, 1, ... by default.

        Raises
        ------
        ConfigError
            If a parameter is out of range.
        InputError
            If the points do not suit the metric, or are none.
        """
        rule = self._rule()
        # Results on demand take the parameters of the fit
        self._epsilon = rule.selection.epsilon
        self._measure = self.metric, self._metric_parameters()
        self._check_algorithm(hasattr(X, "tocoo"))
        self._warn_of_parameters_without_effect()
        if self.metric == "precomputed" and self.noise == "nearest":
            raise ConfigError(NO_NEAREST)
        if self.metric == "precomputed":
            self._points = None
            self._search: OnDemand[TrainingPoints] | None = None
            forest = self._forest_of_matrix(X, rule)
            self._clusters = OnDemand(
                partial(clusters_of, forest, rule, self._threads())
            )
        else:
            self._points = self._checked(X)
            if self.copy and isinstance(self._points, np.ndarray):
                self._points = self._points.copy()
            if isinstance(self._points, np.ndarray) and (
                note := matrix_note(self._points)
            ):
                _warn(f"X {note} (metric='precomputed' takes distances)")
            _check_points(rule, len(self._points))
            self._forest_rule = ForestRule(
                self.metric,
                rule.samples,
                float(self.alpha),
                self._measure[1],
                bool(self.approximate),
                self.search,
                self._threads(),
            )
            parameters = self._forest_rule.parameters_for(self._points)
            self._measure = self.metric, parameters
            self._prepare(self._points, rule)
        if self._points is not None and rule.finds_no_cluster(len(self._points)):
            check_forest(self._points, self.metric, **self._options())  # type: ignore[arg-type]
            flat = Clustering.all_noise(len(self._points))
        else:
            flat = self._clusters.value.flat
        self._fit_rule = rule
        first_ids = partial(PointIds.first, len(flat.labels), ids)
        self._first_ids: OnDemand[PointIds] | None = OnDemand(first_ids)
        if ids is not None:  # they may be wrong, or change later
            self._first_ids.value  # noqa: B018
        self._followed: ClusterVersion | None = None
        self.events_: list[ClusterEvent] = []
        self._publish(flat, ClusterNumbers.first(int(flat.labels.max()) + 1))
        return self

    def insert(self, X: object, ids: object = None) -> np.ndarray:  # noqa: N803
        """Add points; see `update`.

        Parameters
        ----------
        X : array-like or sparse matrix of numbers, shape (points, dimensions)
        ids : array-like of int, optional
            Their ids, which no point had before; the next integers by default.

        Returns
        -------
        ndarray of int64, shape (points,)
            The ids.
        """
        return self.update(insert=X, ids=ids)

    def remove(self, ids: object) -> None:
        """Remove the points with some ids; see `update`."""
        self.update(remove=ids)

    def update(
        self, insert: object = None, ids: object = None, remove: object = None
    ) -> np.ndarray:
        """Remove points and add others, in one batch.

        Fitted attributes become those of the present points: the points that stay, in
        their order, then the new ones. They equal those of `fit`, except that clusters
        keep their numbers. `events_` lists births, deaths, splits and merges of
        clusters. A batch of at most 1 / 256 of the points, or 1 / 64 where a device
        searches by products and 1 / 32 where the host does, takes a fraction of the
        time of `fit`; where the metric compares all pairs, each batch takes that time.

        Parameters of the clusters may have changed since the last version, such as
        `min_cluster_size` by `set_params`; without points, `update` applies them to the
        present ones. This needs no new search of the points unless `min_samples`
        changes, which is `min_cluster_size` if it is None. `search` and `n_jobs` stay
        those of `fit`.

        Parameters
        ----------
        insert, ids
            As `insert` takes them.
        remove : array-like of int, optional
            Ids of present points; removed before the others are added.

        Returns
        -------
        ndarray of int64
            The ids of the new points.

        Raises
        ------
        ConfigError
            If distances are precomputed, the forest is approximate, or a parameter of
            the distances has changed since `fit`.
        InputError
            If an id is unknown, given twice or was given before, or a point is not
            finite or has other dimensions. Nothing changes then.
        """
        if insert is not None:
            self._points_of_fit()
            insert = self._checked_on_host(insert, False)
        rule, followed = self._rule(), self._version()
        self._check_same_distances()
        batch = followed.version.check(remove, insert, ids)
        if rule.samples != followed.rule.samples:  # a given one must be possible
            present, gone = len(followed.version.points), len(batch.removed)
            rule.check_points(present - gone + len(batch.ids))
        self._followed, events = followed.changed(batch, rule)
        self._first_ids = None
        version = self._followed.version
        self._points = version.points
        self._epsilon = rule.selection.epsilon
        self._measure = self._measure[0], version.rule.parameters_for(version.points)
        self._clusters = OnDemand(self._followed.all_clusters)
        self._search = self._search_on_demand(version.points, rule)
        self.events_ += events
        self._publish(self._followed.flat, self._followed.numbers)
        return batch.ids

    @property
    def ids_(self) -> np.ndarray:
        """The id of each present point."""
        self._check_fitted()
        if self._followed is not None:
            return self._followed.version.ids
        assert self._first_ids is not None
        return self._first_ids.value.ids

    @property
    def version_(self) -> int:
        """The number of batches since `fit`."""
        self._check_fitted()
        return self._followed.version.number if self._followed else 0

    @property
    def cluster_numbers_(self) -> np.ndarray:
        """The label of each cluster, in the order of other attributes."""
        self._check_fitted()
        return self._numbers.numbers

    def _version(self) -> ClusterVersion:
        """Return the present points with their clusters, for a batch to change."""
        points = self._points_of_fit()
        if self._followed is not None:
            return self._followed
        if self.approximate:
            raise ConfigError(
                "approximate forests do not follow their points; leave approximate out"
            )
        clusters = self._fitted()
        version = PointVersion.first(
            np.asarray(points),
            self._forest_rule,
            ids=self.ids_,
            point_forest=clusters.point_forest,
        )
        return ClusterVersion(version, self._fit_rule, clusters, self._numbers)

    def _check_same_distances(self) -> None:
        """Raise ConfigError if parameters of the distances changed since the fit."""
        now, then = self._metric_parameters(), self._forest_rule.parameters
        same = {
            "metric": self.metric == self._forest_rule.metric,
            "alpha": self.alpha == self._forest_rule.alpha,
            "approximate": self.approximate == self._forest_rule.approximate,
            "a parameter of the metric": now.keys() == then.keys()
            and all(
                np.array_equal(np.asarray(now[name]), np.asarray(then[name]))
                for name in now
            ),
        }
        for name, is_same in same.items():
            if not is_same:
                raise ConfigError(
                    f"{name} changed since fit, and clusters follow their points under "
                    "one metric; set the former value, or call fit"
                )

    def _publish(self, flat: Clustering, numbers: ClusterNumbers) -> None:
        """Set the attributes of clusters, with their numbers."""
        for name in ("_exemplars", "_validity"):
            self.__dict__.pop(name, None)
        shown = flat
        if self.noise == "nearest" and flat.labels.max(initial=-1) >= 0:
            shown = self._membership.without_noise(flat, *self._own_connections())
        self._numbers, self._shown = numbers, shown.labels
        self.labels_ = self._coded(numbers.of(shown.labels), LABEL_CODES)
        self.probabilities_ = self._coded(shown.probabilities, PROBABILITY_CODES)
        if self._points is not None and self.store_centers is not None:
            centers = centers_of(
                self._points,
                flat.labels,
                flat.probabilities,
                self.store_centers,
                *self._measure,
            )
            for name, points in centers.items():
                setattr(self, f"{name}_", points)

    def fit_predict(self, X: object, y: object = None) -> np.ndarray:  # noqa: N803
        """Find the clusters of points and return their labels; see `fit`."""
        return self.fit(X).labels_

    def dbscan_clustering(
        self, cut_distance: float, min_cluster_size: int = 5
    ) -> np.ndarray:
        """Return the labels of DBSCAN*: DBSCAN without border points.

        Parameters
        ----------
        cut_distance : float
            Points at a smaller mutual reachability distance are together.
        min_cluster_size : int
            Points of smaller clusters are noise.
        """
        tree = self.single_linkage_tree_
        labels = tree.get_clusters(cut_distance, min_cluster_size)
        return self._coded(labels, LABEL_CODES)

    @available_if(lambda self: self.metric != "precomputed")
    def predict(self, X: object) -> np.ndarray:  # noqa: N803
        """Return the labels of new points; see `approximate_predict`."""
        return self.approximate_predict(X)[0]

    def approximate_predict(self, X: object) -> tuple[np.ndarray, np.ndarray]:  # noqa: N803
        """Return the labels and probabilities of new points in the clusters of the fit.

        Clusters do not change, see `prediction`; points that belong to none are noise.

        Parameters
        ----------
        X : array-like or sparse matrix of numbers, shape (points, dimensions)

        Returns
        -------
        labels : ndarray of int64, shape (points,)
        probabilities : ndarray of float64, shape (points,)
        """
        points, connections = self._connected(X)
        clusters = self._fitted()
        flat = Clustering(
            *predicted_labels(
                clusters.tree,
                clusters.chosen,
                clusters.flat.labels,
                self._epsilon,
                connections,
            )
        )
        if self.noise == "nearest":
            flat = self._membership.without_noise(flat, points, connections)
        return self._numbers.of(flat.labels), flat.probabilities

    def generate_prediction_data(self) -> None:
        """Do nothing: predictions need no preparation. Scripts for hdbscan call it."""
        self._points_of_fit()

    def approximate_predict_scores(self, X: object) -> np.ndarray:  # noqa: N803
        """Return the outlier scores (GLOSH) of new points, float64, 0 to 1."""
        connections = self._connected(X)[1]
        return predicted_scores(self._fitted().tree, connections)

    def membership_vector(self, X: object) -> np.ndarray:  # noqa: N803
        """Return the membership of new points in each cluster.

        Returns
        -------
        ndarray of float64, shape (points, clusters)
            Rows add up to the probability of being in any cluster; rows that are not
            finite have zeros.
        """
        return self._membership.memberships(*self._connected(X))

    def all_points_membership_vectors(self) -> np.ndarray:
        """Return the membership of the points of the fit in each cluster.

        Returns
        -------
        ndarray of float64, shape (points, clusters)
            As from `membership_vector`.
        """
        return self._membership.memberships(*self._own_connections())

    def plot(self, kind: str = "clusters", axis: "Axes | None" = None) -> "Axes":
        """Draw a picture of the clusters, in the colours that all kinds share.

        Parameters
        ----------
        kind : {"clusters", "condensed", "dendrogram", "reachability"}
            Points in the plane, of more dimensions along their first two principal
            components; the condensed tree; the large branches of the dendrogram; or
            the distance at which each point joins the points before it.
        axis : Axes of Matplotlib, optional
            Those of pyplot by default: the current ones if empty, or a new figure's.

        Returns
        -------
        Axes

        Raises
        ------
        ValueError
            If there is no such picture, or precomputed distances have no points.
        """
        clusters = self._fitted()
        pictures = ClusterPictures(
            clusters.linkage,
            self._coded(self._shown, LABEL_CODES),
            None if self._points is None else np.asarray(self._points),
            getattr(self, "feature_names_in_", None),
            clusters.tree,
            clusters.chosen,
            source="precomputed distances" if self._points is None else "the points",
        )
        return pictures.draw(kind, axis)

    @property
    def cluster_persistence_(self) -> np.ndarray:
        """How long each cluster lasts, 0 to 1."""
        if hasattr(self, "labels_") and self.labels_.max(initial=-1) < 0:
            return np.empty(0)  # without the forest, which may not have been needed
        return self._fitted().persistence

    @property
    def outlier_scores_(self) -> np.ndarray:
        """The GLOSH outlier scores of the points."""
        return self._fitted().outlier_scores

    @property
    def linkage_(self) -> np.ndarray:
        """The single-linkage dendrogram, as SciPy has it."""
        return self._fitted().linkage

    @property
    def forest_(self) -> Forest:
        """The minimum spanning forest of mutual reachability distances."""
        self._check_fitted()
        if self._followed is not None:
            return self._followed.version.forest  # that of no points, too
        return self._fitted().point_forest.forest

    @property
    def exact_(self) -> bool:
        """Whether the forest is that of all distances."""
        return self._fitted().point_forest.exact

    @property
    def condensed_tree_(self) -> CondensedTreeView:
        """The condensed tree, and the clusters that are selected in it."""
        clusters = self._fitted()
        return CondensedTreeView(clusters.tree, clusters.chosen, clusters.flat.labels)

    @property
    def single_linkage_tree_(self) -> SingleLinkageTree:
        """The single-linkage dendrogram of mutual reachability distances."""
        return SingleLinkageTree(self._fitted().linkage)

    @property
    def minimum_spanning_tree_(self) -> SpanningTree:
        """The minimum spanning forest of mutual reachability distances."""
        points = None if self._points is None else np.asarray(self._points)
        return SpanningTree(self.forest_, points)

    @property
    def exemplars_(self) -> list[np.ndarray]:
        """The points of each cluster that leave the leaves below it last."""
        if self._points is None:
            self._fitted()
            raise AttributeError("precomputed distances have no points for exemplars_")
        return self._exemplars

    @cached_property
    def _exemplars(self) -> list[np.ndarray]:
        assert self._points is not None
        clusters = self._fitted()
        members = exemplars_of(clusters.tree, clusters.flat.labels)
        return [self._points[points].astype(np.float64) for points in members]

    @property
    def relative_validity_(self) -> float:
        """DBCV of the labels, computed from the spanning tree alone."""
        return self._validity

    @cached_property
    def _validity(self) -> float:
        return relative_validity(self.forest_, self._fitted().flat.labels)

    def weighted_cluster_centroid(self, cluster_id: int) -> np.ndarray:
        """Return the mean of a cluster's points, weighted by their probabilities.

        Raises
        ------
        ValueError
            If there is no such cluster.
        """
        return centroid_of(*self._members(cluster_id))

    def weighted_cluster_medoid(self, cluster_id: int) -> np.ndarray:
        """Return the point of a cluster with the least weighted sum of distances.

        Raises
        ------
        ValueError
            If there is no such cluster.
        """
        points, strength = self._members(cluster_id)
        return medoid_of(points, strength, *self._measure)

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        distances = self.metric == "precomputed"
        tags.input_tags.pairwise = distances  # a part takes rows and columns
        correlations = "from" in (self.metric_params or {})
        tags.input_tags.positive_only = distances and not correlations
        tags.input_tags.allow_nan = self.non_finite != "error" and not distances
        tags.input_tags.sparse = True
        return tags

    def _rule(self) -> DensityRule:
        """Return the rule of the parameters; ConfigError if one is out of range."""
        rule = density_rule(self)
        as_flag(self.approximate, "approximate")
        if self.copy is not None:
            as_flag(self.copy, "copy")
        if not isinstance(self.metric_params, Mapping | None):
            raise ConfigError(
                f"metric_params {shown(self.metric_params)}: give a dict of arguments "
                "of the metric"
            )
        self._threads()
        if self.metric == "precomputed" and self.store_centers is not None:
            raise ConfigError(NO_CENTERS)
        if self.metric == "precomputed" and self.search != "auto":
            raise ConfigError(
                f"search {self.search!r} searches points, and precomputed has none; "
                "leave search out"
            )
        return rule

    def _check_algorithm(self, sparse: bool) -> None:
        """Refuse an algorithm of a name or for a metric that the other packages refuse.

        The algorithm changes nothing here.
        """
        if self.algorithm not in UNKNOWN_METRICS:
            raise ConfigError(
                f"no algorithm {self.algorithm!r}; leave it out: it changes nothing"
            )
        refused = UNKNOWN_METRICS[self.algorithm]
        of_trees = self.algorithm in ("kd_tree", "ball_tree")
        if (of_trees and callable(self.metric)) or self.metric in refused:
            tree = "KDTree" if "kd" in self.algorithm else "BallTree"
            raise ConfigError(
                f"{self.metric} is not a valid metric for a {tree}-based algorithm. "
                "Please select a different metric. Or leave algorithm out: it changes "
                "nothing."
            )
        if of_trees and sparse:
            raise ConfigError(
                "Sparse data matrices only support algorithm `brute`. Leave algorithm "
                "out: it changes nothing."
            )

    def _warn_of_parameters_without_effect(self) -> None:
        given = [
            name
            for name, defaults in WITHOUT_EFFECT.items()
            if getattr(self, name) not in defaults
        ]
        for name in ("p", "V"):
            if getattr(self, name) is not None and not self._taken([name]):
                _warn(f"mndmst.HDBSCAN: {name} changes nothing with {self.metric}")
        if given:
            _warn(
                f"mndmst.HDBSCAN: {', '.join(given)} "
                f"{'changes' if len(given) == 1 else 'change'} nothing; the forest is "
                "always exact and kept, and predictions need no preparation"
            )

    def _metric_parameters(self) -> dict[str, object]:
        of_names = {name: getattr(self, name) for name in self._taken(("p", "V"))}
        return of_names | dict(self.metric_params or {})

    def _taken(self, names: Sequence[str]) -> list[str]:
        """Return the names of given parameters that the metric takes."""
        given = [name for name in names if getattr(self, name) is not None]
        if callable(self.metric):
            return given
        return [name for name in given if name in parameters_of(str(self.metric))]

    def _threads(self) -> int:
        """Return the number of threads, 0 for all; ConfigError if it is not one."""
        jobs = self.n_jobs
        if jobs is None or (_is(jobs, numbers.Integral) and jobs == -1):
            return 0
        if not _is(jobs, numbers.Integral) or jobs == 0 or jobs > MOST_THREADS:
            raise ConfigError(
                f"n_jobs {shown(jobs)}: give a number of threads from 1 to "
                f"{MOST_THREADS:,}, or -1 for all cores"
            )
        return int(jobs) if jobs > 0 else max(core_count() + 1 + int(jobs), 1)

    def _checked(self, X: object) -> np.ndarray | PointsOnDevice:  # noqa: N803
        """Return points as floating-point numbers; some may not be finite.

        Float16 and float32 stay as they are: no search needs a float64 copy of all.
        Points on a device stay there.
        """
        kind = holder_of(X)
        if kind is not None and self.metric in ON_DEVICE:
            (array,) = kind.as_arrays(X)
            if array.ndim == 2 and array.dtype in FLOATS and array.size:
                return self._checked_values(
                    searches_on(kind).points_on_device(array), True
                )
        return self._checked_on_host(X, True)

    def _checked_on_host(self, X: object, reset: bool) -> np.ndarray:  # noqa: N803
        """Return points as `_checked` does, on the host; `reset` as in scikit-learn."""
        check_nothing_masked(X, "X")
        kind = holder_of(X)
        if kind is not None:
            X = kind.to_host(*kind.as_arrays(X))  # noqa: N806
        if hasattr(X, "toarray"):
            if X.dtype.kind in "iu":  # type: ignore[attr-defined]
                check_integers(X.toarray(), "X: ")
        else:
            check_table_columns(X, "X: ")
            if self.metric == "haversine":
                check_angles(list(getattr(X, "columns", ())), "X")
            array = _as_array(X)
            if array.ndim:  # scikit-learn would round large integers
                check_integers(array, "X: ")
                check_listed_integers(X, array, "X: ")
        if validate_data is not None:
            X = validate_data(  # noqa: N806
                self,
                X,
                reset=reset,
                dtype=FLOATS,
                accept_sparse=True,
                ensure_all_finite=False,
            )
        points = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        if points.ndim != 2 or points.dtype.kind not in "biuf" or points.size == 0:
            raise InputError(f"X: has {points.dtype}{list(points.shape)}, no points.")
        if points.dtype not in FLOATS:
            points = points.astype(np.float64)
        return self._checked_values(points, reset)

    def _checked_values(self, points: Points, reset: bool) -> Points:
        """Return points themselves if distances can be computed with them."""
        threads = Threads(self._threads() or core_count())
        if not largest_magnitude(points, threads) <= LARGEST:  # or it is not a number
            self._check_large(points, threads)
        if reset:
            self.n_features_in_ = int(points.shape[1])
        return points

    def _check_large(self, points: Points, threads: Threads) -> None:
        """Raise InputError for large coordinates, and infinity and NaN if refused."""
        finite = finite_rows(points, threads)
        if self.non_finite == "error" and not finite.all():
            point = int(np.flatnonzero(~finite)[0])
            raise InputError(
                f"X: point {point} has a coordinate that is NaN or infinite."
            )
        large = np.zeros(len(points), np.bool_)
        if points.dtype == np.float64:
            large = finite & (largest_sizes(points, threads) > LARGEST)
        if large.any():
            point = int(np.flatnonzero(large)[0])
            raise InputError(
                f"X: point {point} has a coordinate beyond {LARGEST:g}, whose "
                "distances float64 cannot hold. Scale it."
            )

    def _prepare(self, points: np.ndarray | PointsOnDevice, rule: DensityRule) -> None:
        """Prepare clusters and predictions, with the parameters of now."""
        metric, options = self.metric, self._options()
        threads, verbose = self._threads(), bool(self.verbose)
        self._clusters = OnDemand(
            partial(
                _clusters_of_points, points, metric, rule, threads, verbose, options
            )
        )
        self._search = self._search_on_demand(points, rule)

    def _search_on_demand(
        self, points: np.ndarray | PointsOnDevice, rule: DensityRule
    ) -> OnDemand[TrainingPoints]:
        return OnDemand(
            partial(
                _training_points,
                points,
                *self._measure,
                rule.samples,
                self._forest_rule.alpha,
                self._clusters,
                self._threads(),
            )
        )

    def _options(self) -> dict[str, object]:
        """Return the options of `check_forest` and `metric_forest`."""
        return {
            "alpha": float(self.alpha),
            "parameters": self._measure[1],
            "approximate": bool(self.approximate),
            "search": self.search,
        }

    def _forest_of_matrix(
        self,
        X: object,  # noqa: N803
        rule: DensityRule,
    ) -> PointForest:
        check_nothing_masked(X, "X")
        matrix: np.ndarray | sparray = X if hasattr(X, "tocoo") else _as_array(X)
        if validate_data is not None and getattr(X, "ndim", 2) == 2:
            matrix = validate_data(
                self, X, dtype=np.float64, accept_sparse=True, ensure_all_finite=False
            )
        if matrix.ndim == 2:
            self.n_features_in_ = matrix.shape[1]
        if matrix.ndim in (1, 2):
            rows = matrix.shape[0]
            _check_points(rule, rows if matrix.ndim == 2 else points_of_pairs(rows))
        parameters = self._measure[1]
        return matrix_forest(matrix, rule.samples, float(self.alpha), parameters)

    def _coded(self, values: np.ndarray, codes: tuple[float, float]) -> np.ndarray:
        """Return values of points, with the codes if the parameters ask for them."""
        if self.non_finite != "codes" or self._points is None:
            return values
        return coded(values, self._points, codes)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_clusters"):
            raise NotFittedError("HDBSCAN has not been fitted; call fit first")

    def _fitted(self) -> DensityClusters:
        self._check_fitted()
        return self._clusters.value

    def _points_of_fit(self) -> np.ndarray | PointsOnDevice:
        """Return the points of the fit."""
        self._check_fitted()
        if self._points is None:
            raise ConfigError(NO_POINTS)
        return self._points

    def _connected(self, X: object) -> tuple[np.ndarray, Connections]:  # noqa: N803
        """Return new points, and where they join the points of the fit."""
        fit_points = self._points_of_fit()
        points = self._checked_on_host(X, False).astype(np.float64, copy=False)
        if points.shape[1] != fit_points.shape[1]:
            raise InputError(
                f"X: has {counted(points.shape[1], 'dimension')}, and the points "
                f"of the fit {fit_points.shape[1]}"
            )
        assert self._search is not None
        return points, self._search.value.connect(points)

    def _own_connections(self) -> tuple[np.ndarray, Connections]:
        """Return the points of the fit, each connected to itself."""
        points = np.asarray(self._points_of_fit(), np.float64)
        leaving = self._fitted().tree.point_distance
        return points, Connections(np.arange(len(points)), leaving)

    @property
    def _membership(self) -> FlatMembership:
        """The clusters of the fit, for memberships in them."""
        clusters = self._fitted()
        return FlatMembership(
            clusters.tree,
            clusters.chosen,
            clusters.flat.labels,
            self.exemplars_,
            *self._measure,
        )

    def _members(self, cluster: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of a cluster, and their probabilities."""
        self._fitted()
        if self._points is None:
            raise ConfigError("precomputed distances have no points to take centres of")
        given = self._numbers.numbers
        if not _is(cluster, numbers.Integral) or cluster not in given:
            raise ConfigError(
                f"no cluster {shown(cluster)}: clusters are numbered from 0 on, and "
                "noise (-1) is not one"
            )
        flat = self._fitted().flat
        inside = flat.labels == np.flatnonzero(given == cluster)[0]
        return self._points[inside].astype(np.float64), flat.probabilities[inside]


def _clusters_of_points(
    points: np.ndarray | PointsOnDevice,
    metric: Metric,
    rule: DensityRule,
    threads: int,
    verbose: bool,
    options: dict[str, object],
) -> DensityClusters:
    progress = Progress(True, verbose=True) if verbose else None
    forest = metric_forest(
        points,
        metric,
        rule.samples,
        threads=threads,
        reporter=SearchReporter(progress),
        **options,  # type: ignore[arg-type]
    )
    return clusters_of(forest, rule, threads)


def _training_points(
    points: np.ndarray | PointsOnDevice,
    metric: Metric,
    parameters: Mapping[str, object],
    samples: int,
    alpha: float,
    clusters: OnDemand[DensityClusters],
    threads: int,
) -> TrainingPoints:
    return TrainingPoints(
        points,
        metric,
        parameters,
        samples,
        alpha,
        clusters.value.tree.point_distance,
        threads,
        clusters.value.point_forest.search,
    )


def _check_points(rule: DensityRule, count: int) -> None:
    """Refuse more neighbours than points, and warn if there can be no cluster."""
    rule.check_points(count)
    if rule.too_few(count):
        _warn(rule.too_few(count))


def _warn(text: str) -> None:
    """Warn of a call; the warning names the line that calls the estimator."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


def _as_array(values: object) -> np.ndarray:
    """Return values as an array; InputError for names, times or uneven rows."""
    if isinstance(values, str | PathLike):
        raise InputTypeError(
            f"X: {shown(values)} is not points. mndmst.read_points reads a file."
        )
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"X: has rows of several lengths ({error}).") from error
    if array.dtype.kind in TIMES:  # scikit-learn would take them for numbers
        raise InputError(f"X: has {array.dtype}. Give numbers.")
    if array.ndim == 1:
        check_values(array, "X:")
    return array


def _is(value: object, kind: type) -> bool:
    """Return whether a value is a number of a kind; booleans are not."""
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)
