"""The exact forest of points by any metric, and of matrices of distances.

`points_forest` searches by the metrics of `metrics.METRICS`. For all others, and for
distances divided by `alpha`, Prim's algorithm takes the distances of one point at a
time: a matrix is not copied, it may be memory-mapped, and distances of other metrics
are never stored. Its time grows with the number of pairs of points.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from ..api.arrays import minimum_spanning_forest
from ..api.forest import Forest
from ..host.cores import core_count
from ..host.errors import ConfigError, InputError, optional
from ..host.formatting import counted
from ..io.formats.matrix_values import (
    DISTANCES,
    FROM_OPTION,
    MatrixValues,
    check_square,
    check_values,
    values_from,
)
from ..kernels.threads import Threads
from .coordinates import finite_rows
from .devices.point_products import PointsOnDevice
from .kernels.boruvka_steps import edge_keys
from .metrics import METRICS, from_norm, prepared, resembles_similarities
from .point_forest import PointForest, forest_of_keys, points_forest
from .row_metrics import (
    PERIODIC,
    ROW_METRICS,
    DistanceRows,
    SearchableRows,
    row_metric,
)
from .search.search_choice import check_search
from .search_reporter import SearchReporter

if TYPE_CHECKING:
    from scipy.sparse import sparray

Metric = str | Callable[[np.ndarray, np.ndarray], float]
PRECOMPUTED = "precomputed"
ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}

# Metrics of SciPy, with their parameters, that are symmetric and depend on two points
# alone.
PAIRWISE = {
    "minkowski": ("p", "w"),
    "seuclidean": ("V",),
    "mahalanobis": ("V", "VI"),
    **dict.fromkeys(
        ("braycurtis", "canberra", "dice", "hamming", "jaccard", "rogerstanimoto",
         "russellrao", "sokalsneath", "sqeuclidean", "yule"),
        ("w",),
    ),
}  # fmt: skip
# Names of metrics that compare all pairs of points
ALL_PAIRS = (*PAIRWISE, *(m for m in ROW_METRICS if m not in (*PAIRWISE, PERIODIC)))
BINARY = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
NEGATIVE = (
    "Negative values in data: the precomputed distance matrix has one; for "
    f"correlations give {FROM_OPTION}"
)
NOT_SYMMETRIC = (
    "The precomputed distance matrix is not symmetric: values on both sides of its "
    "diagonal differ"
)
SIMILARITIES = (
    "The precomputed distance matrix has the largest value of every row on its "
    "diagonal, as one of similarities; give distances, or for correlations "
    f"{FROM_OPTION}"
)
NO_POINTS = "precomputed distances have no points, so nothing can be predicted"
NO_NEAREST = (
    "noise 'nearest' measures distances to exemplars, and precomputed distances have "
    "no points"
)
# Most points of which a search may list all neighbours.
MOST_LISTED = 2000
# Rows of a matrix that are checked at once.
BLOCK = 256
# Rows of distances between two progress reports.
REPORTED_ROWS = 64


class MatrixRows:
    """The rows of a symmetric matrix; infinity where a distance is missing.

    Raises InputError if the matrix is not square or not symmetric, or a distance is NaN
    or negative, or the diagonal has the largest value of each row. Of a matrix of other
    `values` than distances, `check_values` raises it.
    """

    def __init__(self, matrix: np.ndarray, values: MatrixValues = DISTANCES) -> None:
        if values is DISTANCES and any(
            np.isnan(matrix[begin : begin + BLOCK]).any()
            for begin in range(0, len(matrix), BLOCK)
        ):
            raise InputError(
                "np.nan values found in precomputed-dense distances; inf stands for a "
                "missing distance"
            )
        check_square(matrix)
        if values is not DISTANCES:
            check_values("", matrix, values)
        self.matrix, self.values, self.exact = matrix, values, True
        largest = np.empty(len(matrix))
        for begin in range(0, len(matrix), BLOCK):
            rows = np.asarray(matrix[begin : begin + BLOCK], np.float64)
            columns = np.asarray(matrix[:, begin : begin + BLOCK], np.float64).T
            if values is DISTANCES and (rows < 0).any():
                raise InputError(NEGATIVE)
            largest[begin : begin + BLOCK] = rows.max(axis=1)
            if not np.array_equal(rows, columns):
                self.exact = False
                if not np.allclose(rows, columns):
                    raise InputError(NOT_SYMMETRIC)
        if values is DISTANCES and resembles_similarities(matrix.diagonal(), largest):
            raise InputError(SIMILARITIES)

    def __len__(self) -> int:
        return len(self.matrix)

    def from_points(self, points: np.ndarray) -> Iterator[np.ndarray]:
        """Raise ConfigError: a matrix has no distances of new points."""
        raise ConfigError(NO_POINTS)

    def row(self, point: int) -> np.ndarray:
        """Return a point's distances, the smaller where rounding made two differ."""
        row = self._distances(self.matrix[point])
        if not self.exact:
            np.minimum(row, self._distances(self.matrix[:, point]), out=row)
        row[point] = 0
        return row

    def _distances(self, row: np.ndarray) -> np.ndarray:
        return self.values.distances(np.array(row, np.float64))


def checked_distances(row: np.ndarray, point: str) -> np.ndarray:
    """Return distances unchanged; raise InputError if one is negative or NaN."""
    wrong = ~(row >= 0)
    if wrong.any():
        other = int(wrong.argmax())
        raise InputError(
            f"the distance of {point} from point {other} is {row[other]:g}; a metric "
            "returns 0 or more"
        )
    return row


class MetricRows:
    """Distances of points by a metric of SciPy, or by a function of two points.

    `parameters` are arguments of the metric, such as `p` of minkowski, and `V`, the
    variances of seuclidean or the covariance of mahalanobis.
    """

    def __init__(
        self, points: np.ndarray, metric: Metric, parameters: Mapping[str, object]
    ) -> None:
        self.points, self.metric = points, metric
        self.parameters = further = with_variances(points, metric, parameters)
        if metric in BINARY:
            self.points = points = points != 0
        if callable(metric):
            return
        self._cdist = cdist = optional("scipy.spatial.distance", "formats").cdist
        if metric == "mahalanobis" and not further:
            raise ConfigError("mahalanobis: give the covariance V, or its inverse VI")
        try:
            if metric == "mahalanobis" and "VI" not in further:
                further["VI"] = np.linalg.inv(further.pop("V"))  # type: ignore[call-overload]
            cdist(points[:1], points[:1], metric, **further)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{metric} of these points: {error}") from error

    def __len__(self) -> int:
        return len(self.points)

    def row(self, point: int) -> np.ndarray:
        """Return a point's distances to all points."""
        row = self._distances(self.points[point])
        row[point] = 0
        return checked_distances(row, f"point {point}")

    def from_points(self, points: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the distances from each of some new points to all points."""
        return map(self._distances, points != 0 if self.metric in BINARY else points)

    def _distances(self, point: np.ndarray) -> np.ndarray:
        if callable(self.metric):
            measure, parameters = self.metric, self.parameters
            distances = (measure(point, other, **parameters) for other in self.points)
            return np.fromiter(distances, np.float64, len(self.points))
        one = point[None, :]
        return self._cdist(one, self.points, self.metric, **self.parameters)[0]


def forest_of_rows(
    rows: DistanceRows,
    min_samples: int,
    alpha: float = 1.0,
    reporter: SearchReporter | None = None,
) -> PointForest:
    """Return the exact forest of the distances in rows, by Prim's algorithm.

    See `points_forest` for `min_samples`. Distances, but not core distances, are
    divided by `alpha`. Missing (infinite) distances may leave several trees.
    """
    reporter = reporter or SearchReporter()
    n = len(rows)
    order = min(min_samples, n - 1)
    cores = np.zeros(n)
    reporter.phase = "distances between all pairs"
    first_pass = n if order else 0  # rows, for the core distances
    for i in range(first_pass):
        if i % REPORTED_ROWS == 0:
            reporter.rows(i, first_pass + n)
        row = rows.row(i)
        cores[i] = row.max() if order == n - 1 else np.partition(row, order)[order]
    if order == n - 1 and alpha >= 1 and np.isfinite(cores).all():
        return _forest_of_largest(cores)
    points, outside = np.arange(n, dtype=np.uint32), np.ones(n, np.bool_)
    weight, key = np.full(n, np.inf), np.zeros(n, np.uint64)
    edges: list[tuple[float, int]] = []
    current = 0
    for done in range(n - 1):
        if done % REPORTED_ROWS == 0:
            reporter.rows(first_pass + done, first_pass + n)
        outside[current] = False
        weight[current] = np.inf
        distance = rows.row(current) / alpha
        distance = np.maximum(np.maximum(distance, cores), cores[current])
        new_key = edge_keys(np.full(n, current, np.uint32), points)
        nearer = (distance < weight) | ((distance == weight) & (new_key < key))
        nearer &= outside & (distance < np.inf)
        weight[nearer], key[nearer] = distance[nearer], new_key[nearer]
        least = weight.min()
        if least == np.inf:  # no edge leaves the tree: begin the next one
            current = int(np.flatnonzero(outside)[0])
            continue
        ties = np.flatnonzero(weight == least)
        current = int(ties[np.argmin(key[ties])])
        edges.append((least, int(key[current])))
    weights = np.array([weight for weight, _ in edges], np.float64)
    keys = np.array([edge for _, edge in edges], np.uint64)
    return PointForest(forest_of_keys(weights, keys, n), len(edges), True)


def _forest_of_largest(cores: np.ndarray) -> PointForest:
    """Return the forest if each core distance is the largest distance of its point.

    An edge then weighs as much as the larger core distance of its ends: at the weight
    of its core distance, a point has edges to all points of at most this core distance.
    The first of these edges leads to the smallest of these points.
    """
    n = len(cores)
    points = np.arange(n)
    levels, level = np.unique(cores, return_inverse=True)
    smallest = np.full(len(levels), n)
    np.minimum.at(smallest, level, points)
    smallest = np.minimum.accumulate(smallest)  # point of this level and all below
    joined = points[smallest[level] != points]
    lowered = np.flatnonzero(smallest[1:] < smallest[:-1]) + 1
    src = np.concatenate([smallest[level[joined]], smallest[lowered]])
    dst = np.concatenate([joined, smallest[lowered - 1]])
    weights = np.concatenate([cores[joined], levels[lowered]])
    keys = edge_keys(src.astype(np.uint32), dst.astype(np.uint32))
    return PointForest(forest_of_keys(weights, keys, n), n - 1, True)


def forest_of_sparse(
    matrix: "sparray", min_samples: int, alpha: float = 1.0
) -> PointForest:
    """Return the exact forest of a sparse symmetric matrix of distances.

    Distances without an entry are infinite. A point with fewer than `min_samples`
    entries off the diagonal is a tree of its own.
    """
    matrix = matrix.tocoo()
    check_square(matrix)
    n = matrix.shape[0]
    src, dst = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    distance = matrix.data.astype(np.float64)
    if np.isnan(distance).any():
        raise InputError("The precomputed distance matrix has NaN")
    if (distance < 0).any():
        raise InputError(NEGATIVE)
    if abs(matrix - matrix.T).max() > 1e-8 * max(distance.max(initial=0), 1e-300):
        raise InputError(NOT_SYMMETRIC)
    off_diagonal = src != dst
    largest = np.zeros(n)
    np.maximum.at(largest, src[off_diagonal], distance[off_diagonal])
    if resembles_similarities(matrix.diagonal(), largest):
        raise InputError(SIMILARITIES)
    src, dst, distance = (column[off_diagonal] for column in (src, dst, distance))
    cores = np.zeros(n)
    if min_samples:
        cores[:] = np.inf
        order = np.lexsort((distance, src))
        begin = np.searchsorted(src[order], np.arange(n + 1))
        index = begin[:-1] + min(min_samples, n - 1) - 1
        enough = index < begin[1:]
        cores[enough] = distance[order][index[enough]]
    distance = np.maximum(np.maximum(distance / alpha, cores[src]), cores[dst])
    finite = np.isfinite(distance)
    src, dst = src[finite].astype(np.int64), dst[finite].astype(np.int64)
    forest = minimum_spanning_forest(src, dst, distance[finite], n)
    return PointForest(forest, len(forest), True)


def square_of_condensed(distances: np.ndarray) -> np.ndarray:
    """Return the square matrix of distances as SciPy's `pdist` returns them.

    Raises InputError as `points_of_pairs` does.
    """
    n = points_of_pairs(len(distances))
    square = np.zeros((n, n))
    upper = np.triu_indices(n, 1)
    square[upper] = distances
    square.T[upper] = distances
    return square


def points_of_pairs(pairs: int) -> int:
    """Return the number of points with `pairs` pairs; InputError if there is none."""
    n = round((1 + math.sqrt(1 + 8 * pairs)) / 2)
    if n * (n - 1) // 2 != pairs:
        raise InputError(
            f"{counted(pairs, 'distance')} in one dimension are not one for each pair "
            "of points; give the result of SciPy's pdist"
        )
    return n


def with_variances(
    points: np.ndarray | PointsOnDevice,
    metric: Metric,
    parameters: Mapping[str, object],
) -> dict[str, object]:
    """Return the parameters of a metric; for seuclidean, with the variances as V.

    The sums are exact, so they do not depend on the order of the points. Points that
    are not finite are left out.
    """
    if metric != "seuclidean" or "V" in parameters:
        return dict(parameters)
    columns = points[finite_rows(points)].astype(np.float64, copy=False).T
    count = columns.shape[1]
    means = [math.fsum(column) / max(count, 1) for column in columns]
    variances = [
        math.fsum((column - mean) ** 2) / max(count - 1, 1)
        for column, mean in zip(columns, means, strict=True)
    ]
    return {**parameters, "V": variances}


def check_pairwise(metric: Metric) -> None:
    """Raise ConfigError unless a metric is a function or in `ALL_PAIRS`."""
    if not callable(metric) and metric not in ALL_PAIRS:
        raise ConfigError(
            f"no metric '{metric}'; give {', '.join(METRICS)}, precomputed, "
            f"{', '.join(ALL_PAIRS)}, or a function of two points"
        )


class PreparedRows:
    """Distances of a metric in `METRICS`, from its norm between prepared points."""

    def __init__(self, points: np.ndarray, metric: str) -> None:
        norm = METRICS[metric].norm.scipy_name
        self.metric = metric
        self.rows = MetricRows(prepared(points, metric), norm, {})

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, point: int) -> np.ndarray:
        """Return a point's distances to all points."""
        return from_norm(self.rows.row(point), self.metric)


def metric_forest(
    points: np.ndarray | PointsOnDevice,
    metric: Metric,
    min_samples: int,
    *,
    alpha: float = 1.0,
    parameters: Mapping[str, object] | None = None,
    approximate: bool = False,
    neighbours: int = 0,
    threads: int = 0,
    search: str = "auto",
    reporter: SearchReporter | None = None,
) -> PointForest:
    """Return the forest of mutual reachability distances of points.

    Points that are not finite are trees of their own. See `HDBSCAN` for the metric and
    its `parameters`, `points_forest` for other options. Distances, but not core
    distances, are divided by `alpha`. Raises ConfigError for an unknown metric, or one
    that does not go with `approximate` or `search`; InputError if the points do not
    suit the metric.
    """
    name, further = simplified(metric, dict(parameters or {}))
    _check_request(name, alpha, approximate, search)
    finite_points, finite = _finite(points, threads)
    if len(finite_points) == 0:
        none = np.empty(0, np.int64)
        forest = PointForest(Forest(none, none, np.empty(0), none), 0, True)
    elif (
        name in METRICS
        and alpha == 1
        and not lists_all(min_samples, len(finite_points))
    ):
        forest = points_forest(
            finite_points,
            str(name),
            min_samples,
            approximate=approximate,
            neighbours=neighbours,
            threads=threads,
            search=search,
            reporter=reporter,
        )
    else:
        rows = rows_of(np.asarray(finite_points, np.float64), name, further)
        forest = forest_of_rows(rows, min_samples, alpha, reporter)
    return forest if finite.all() else _with_single_trees(forest, finite)


def check_forest(
    points: np.ndarray | PointsOnDevice,
    metric: Metric,
    *,
    alpha: float = 1.0,
    parameters: Mapping[str, object] | None = None,
    approximate: bool = False,
    search: str = "auto",
) -> None:
    """Raise the errors that `metric_forest` raises before it searches."""
    name, further = simplified(metric, dict(parameters or {}))
    _check_request(name, alpha, approximate, search)
    finite_points = np.asarray(_finite(points, 1)[0], np.float64)
    if name in METRICS:
        prepared(finite_points, str(name))
    elif len(finite_points):
        searchable_rows(finite_points, name, further)


def _check_request(name: Metric, alpha: float, approximate: bool, search: str) -> None:
    if name in METRICS and alpha == 1:
        check_search(search, str(name))
    elif approximate:
        raise ConfigError(
            f"approximate takes the metrics {', '.join(METRICS)} with alpha 1"
        )
    elif search != "auto":
        raise ConfigError(
            f"search {search!r} takes the metrics {', '.join(METRICS)} with alpha 1; "
            "leave it out to compute all distances"
        )


def _finite(
    points: np.ndarray | PointsOnDevice, threads: int
) -> tuple[np.ndarray | PointsOnDevice, np.ndarray]:
    """Return the finite points, and for each point whether it is finite."""
    finite = finite_rows(points, Threads(threads or core_count()))
    return (points if finite.all() else points[finite]), finite


def lists_all(min_samples: int, points: int) -> bool:
    """Return whether a search would list all neighbours of too many points."""
    return min_samples >= points - 1 >= MOST_LISTED


def rows_of(
    points: np.ndarray, metric: Metric, parameters: Mapping[str, object]
) -> DistanceRows:
    """Return the distances of finite points by a metric, as rows."""
    name, further = simplified(metric, dict(parameters))
    if name in METRICS:
        return PreparedRows(points, str(name))
    return searchable_rows(points, name, further)


def searchable_rows(
    points: np.ndarray, name: Metric, further: dict[str, object]
) -> SearchableRows:
    """Return the distances by a `simplified` metric outside `METRICS`, as rows.

    For "precomputed", `points` are a matrix of distances.
    """
    if name == PRECOMPUTED:
        return MatrixRows(points, values_from(further.get("from")))
    if isinstance(name, str) and name in ROW_METRICS and row_metric(name, further):
        return ROW_METRICS[name].rows(points, **further)
    check_pairwise(name)
    return MetricRows(points, name, further)


def matrix_forest(
    distances: "np.ndarray | sparray",
    min_samples: int,
    alpha: float = 1.0,
    parameters: Mapping[str, object] | None = None,
) -> PointForest:
    """Return the forest of mutual reachability distances of a matrix of distances.

    The matrix is square, dense or sparse, or the result of SciPy's `pdist`; InputError
    if it is neither. With the parameter "from" it is square and dense, and its values
    are converted to distances.
    """
    _, further = simplified(PRECOMPUTED, dict(parameters or {}))
    values = values_from(further.get("from"))
    is_sparse = hasattr(distances, "tocoo")
    if values is not DISTANCES and (is_sparse or distances.ndim != 2):
        raise InputError(f"{values.noun}s of all pairs are a dense square matrix")
    if is_sparse:
        return forest_of_sparse(distances, min_samples, alpha)
    if distances.dtype.kind not in "biuf":
        raise InputError(f"distances of type {distances.dtype} are not numbers")
    if distances.ndim == 1:
        distances = square_of_condensed(distances)
    return forest_of_rows(MatrixRows(distances, values), min_samples, alpha)


def parameters_of(metric: str) -> tuple[str, ...]:
    """Return the names of all parameters that a metric of points takes."""
    if metric == PRECOMPUTED:
        return ("from",)
    name = PERIODIC if metric in ("euclidean", "l2") else metric
    parameters = ROW_METRICS[name].parameters if name in ROW_METRICS else ()
    return (*parameters, *PAIRWISE.get(metric, ()))


def simplified(
    metric: Metric, further: dict[str, object]
) -> tuple[Metric, dict[str, object]]:
    """Return a metric's name without aliases, and the parameters that it still takes.

    Raises ConfigError if the metric does not take a parameter.
    """
    if callable(metric):
        return metric, further
    if not isinstance(metric, str):
        raise ConfigError(f"no metric {metric!r}; give a name or a function")
    for wrong in further.keys() - parameters_of(metric):
        metrics = ("euclidean", PRECOMPUTED, *ALL_PAIRS)
        takers = [m for m in metrics if wrong in parameters_of(m)]
        raise ConfigError(
            f"{wrong} goes with the metric {', '.join(takers) or 'of a function'}, not "
            f"with {metric}"
        )
    if metric == "minkowski":
        p = further.get("p", 2)
        if not isinstance(p, Real) or not float(p) >= 1:
            raise ConfigError(f"minkowski p {p}: give 1 or more")
        if "w" not in further and p in (1, 2, np.inf):
            return {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}[float(p)], {}
    name = ALIASES.get(metric, metric)
    return row_metric(name, further) or name, further


def _with_single_trees(of_finite: PointForest, finite: np.ndarray) -> PointForest:
    """Return the forest of all points; those that are not finite are single trees."""
    point, forest = np.flatnonzero(finite), of_finite.forest
    labels = np.arange(len(finite))
    labels[finite] = point[forest.labels]
    src, dst = point[forest.src], point[forest.dst]
    forest = Forest(src, dst, forest.weight, labels)
    return replace(of_finite, forest=forest, radius=None, neighbours=None)
