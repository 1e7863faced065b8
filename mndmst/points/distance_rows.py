"""The exact forest of distances that come row by row: matrices, and SciPy's metrics.

Prim's algorithm needs the distances of one point at a time, so a matrix is read where
it is, memory-mapped or not, and distances of other metrics are never stored. Time grows
with the pairs of points.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from ..api.arrays import minimum_spanning_forest
from ..host.errors import ConfigError, InputError, optional
from ..host.formatting import counted
from .forest import PointForest, forest_of_keys, key_of

Metric = str | Callable[[np.ndarray, np.ndarray], float]

# Metrics of SciPy whose distance of two points does not depend on their places among
# the others, nor on which comes first. Correlation is not: it is a matrix product.
PAIRWISE = (
    "braycurtis", "canberra", "chebyshev", "dice", "hamming", "jaccard", "mahalanobis",
    "minkowski", "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath",
    "sqeuclidean", "yule",
)  # fmt: skip
BINARY = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
# Rows of a matrix that are checked at a time.
BLOCK = 256


class DistanceRows(Protocol):
    """Distances from each point to all points."""

    def __len__(self) -> int: ...

    def row(self, point: int) -> np.ndarray:
        """Return the distances of a point, float64, shape (points,); its own is 0."""


class MatrixRows:
    """The rows of a symmetric matrix; infinity where a distance is missing.

    Raises
    ------
    InputError
        If the matrix is not square or not symmetric, or a distance is NaN or negative.
    """

    def __init__(self, matrix: np.ndarray) -> None:
        if any(
            np.isnan(matrix[begin : begin + BLOCK]).any()
            for begin in range(0, len(matrix), BLOCK)
        ):
            raise InputError(
                "np.nan values found in precomputed-dense distances; inf stands for a "
                "missing distance"
            )
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(
                f"The precomputed distance matrix has shape {matrix.shape}; give a "
                "square one"
            )
        self.matrix, self.exact = matrix, True
        for begin in range(0, len(matrix), BLOCK):
            rows = np.asarray(matrix[begin : begin + BLOCK], np.float64)
            columns = np.asarray(matrix[:, begin : begin + BLOCK], np.float64).T
            if (rows < 0).any():
                raise InputError("The precomputed distance matrix has negative values")
            if not np.array_equal(rows, columns):
                self.exact = False
                if not np.allclose(rows, columns):
                    raise InputError(
                        "The precomputed distance matrix is not symmetric: values on "
                        "both sides of its diagonal differ"
                    )

    def __len__(self) -> int:
        return len(self.matrix)

    def row(self, point: int) -> np.ndarray:
        """Return the distances of a point; of two that rounding made the smaller."""
        row = np.array(self.matrix[point], np.float64)
        if not self.exact:
            np.minimum(row, self.matrix[:, point], out=row)
        row[point] = 0
        return row


class MetricRows:
    """Distances of points by a metric of SciPy, or by a function of two points.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
    metric : str or callable
    parameters : mapping
        Further arguments of the metric, as `p` of minkowski, and `V`, the variances of
        seuclidean or the covariance of mahalanobis.
    """

    def __init__(
        self, points: np.ndarray, metric: Metric, parameters: Mapping[str, Any]
    ) -> None:
        self.points, self.metric, self.parameters = points, metric, dict(parameters)
        if metric in BINARY:
            self.points = points != 0
        if metric == "seuclidean":
            self.parameters.setdefault("V", _variances(points))
        if metric == "mahalanobis" and "VI" not in self.parameters:
            if "V" not in self.parameters:
                raise ConfigError(
                    "mahalanobis: give the covariance V, or its inverse VI"
                )
            self.parameters["VI"] = np.linalg.inv(self.parameters.pop("V"))
        if isinstance(metric, str):
            self._cdist = optional("scipy.spatial.distance", "formats").cdist

    def __len__(self) -> int:
        return len(self.points)

    def row(self, point: int) -> np.ndarray:
        """Return the distances of a point."""
        row = self.from_point(self.points[point])
        row[point] = 0
        if np.isnan(row).any():
            other = int(np.flatnonzero(np.isnan(row))[0])
            raise InputError(f"the distance of points {point} and {other} is NaN")
        return row

    def from_point(self, point: np.ndarray) -> np.ndarray:
        """Return the distances from a point, shape (dimensions,), to all points."""
        if self.metric in BINARY:
            point = point != 0
        if callable(self.metric):
            measure, further = self.metric, self.parameters
            found = (measure(point, other, **further) for other in self.points)
            return np.fromiter(found, np.float64, len(self.points))
        here = point[None, :]
        return self._cdist(here, self.points, self.metric, **self.parameters)[0]


def forest_of_rows(
    rows: DistanceRows, min_samples: int, alpha: float = 1.0
) -> PointForest:
    """Return the exact forest of the distances in rows, by Prim's algorithm.

    Parameters
    ----------
    min_samples : int
        0 for distances; else mutual reachability distances, see `points_forest`.
    alpha : float
        Distances, but not core distances, are divided by it.

    Returns
    -------
    PointForest
        Missing (infinite) distances may leave several trees.
    """
    n = len(rows)
    order = min(min_samples, n - 1)
    cores = np.array([np.partition(rows.row(i), order)[order] for i in range(n)])
    points, outside = np.arange(n, dtype=np.uint32), np.ones(n, np.bool_)
    weight, key = np.full(n, np.inf), np.zeros(n, np.uint64)
    edges: list[tuple[float, int]] = []
    here = 0
    for _ in range(n - 1):
        outside[here] = False
        weight[here] = np.inf
        distance = np.maximum(np.maximum(rows.row(here) / alpha, cores), cores[here])
        edge = key_of(np.full(n, here, np.uint32), points)
        nearer = (distance < weight) | ((distance == weight) & (edge < key))
        nearer &= outside & (distance < np.inf)
        weight[nearer], key[nearer] = distance[nearer], edge[nearer]
        least = weight.min()
        if least == np.inf:  # the tree has ended; the next begins
            here = int(np.flatnonzero(outside)[0])
            continue
        ties = np.flatnonzero(weight == least)
        here = int(ties[np.argmin(key[ties])])
        edges.append((least, int(key[here])))
    weights = np.array([weight for weight, _ in edges], np.float64)
    keys = np.array([edge for _, edge in edges], np.uint64)
    return PointForest(forest_of_keys(weights, keys, n, ""), len(edges), True)


def forest_of_sparse(matrix: Any, min_samples: int, alpha: float = 1.0) -> PointForest:
    """Return the exact forest of a sparse matrix of distances.

    Parameters
    ----------
    matrix : sparse matrix or array of SciPy, shape (points, points)
        Symmetric; distances without an entry are infinite. A point with fewer than
        `min_samples` entries beside the diagonal is in no tree with others.
    """
    matrix = matrix.tocoo()
    n = matrix.shape[0]
    if n != matrix.shape[1]:
        raise InputError(
            f"The precomputed distance matrix has shape {matrix.shape}; give a square "
            "one"
        )
    src, dst = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    distance = matrix.data.astype(np.float64)
    if np.isnan(distance).any() or (distance < 0).any():
        raise InputError("The precomputed distance matrix has NaN or negative values")
    if abs(matrix - matrix.T).max() > 1e-8 * max(distance.max(initial=0), 1e-300):
        raise InputError(
            "The precomputed distance matrix is not symmetric: values on both sides of "
            "its diagonal differ"
        )
    apart = src != dst
    src, dst, distance = (column[apart] for column in (src, dst, distance))
    cores = np.zeros(n)
    if min_samples:
        cores[:] = np.inf
        order = np.lexsort((distance, src))
        begin = np.searchsorted(src[order], np.arange(n + 1))
        place = begin[:-1] + min(min_samples, n - 1) - 1
        enough = place < begin[1:]
        cores[enough] = distance[order][place[enough]]
    distance = np.maximum(np.maximum(distance / alpha, cores[src]), cores[dst])
    near = np.isfinite(distance)
    columns = src[near].astype(np.int64), dst[near].astype(np.int64), distance[near]
    forest = minimum_spanning_forest(*columns, n)
    return PointForest(forest, len(forest), True)


def square_of_condensed(distances: np.ndarray) -> np.ndarray:
    """Return the square matrix of the distances that SciPy's `pdist` returns.

    Raises
    ------
    InputError
        If their number is not that of the pairs of any number of points.
    """
    n = round((1 + np.sqrt(1 + 8 * len(distances))) / 2)
    if n * (n - 1) // 2 != len(distances):
        raise InputError(
            f"{counted(len(distances), 'distance')} in one dimension are not those of "
            "all pairs of points; give as many as SciPy's pdist returns"
        )
    square = np.zeros((n, n))
    upper = np.triu_indices(n, 1)
    square[upper] = distances
    square.T[upper] = distances
    return square


def _variances(points: np.ndarray) -> list[float]:
    """Return the variance of each coordinate; exact sums do not depend on an order."""
    count = len(points)
    means = [math.fsum(column) / count for column in points.T]
    return [
        math.fsum((column - mean) ** 2) / max(count - 1, 1)
        for column, mean in zip(points.T, means, strict=True)
    ]


def check_pairwise(metric: Metric) -> None:
    """Raise ConfigError if no such metric is offered."""
    if not callable(metric) and metric not in PAIRWISE:
        raise ConfigError(
            f"no metric '{metric}'; give euclidean, manhattan, cosine, correlation, "
            f"haversine, precomputed, {', '.join(PAIRWISE)}, or a function of two "
            "points"
        )
