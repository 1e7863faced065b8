"""The exact forest of points by any metric, and of matrices of distances.

A tree search serves the metrics that a Euclidean or Manhattan distance orders. Other
metrics, and distances scaled by `alpha`, compare all pairs of points.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..api.forest import Forest
from ..host.errors import ConfigError, InputError
from .distance_rows import (
    DistanceRows,
    MatrixRows,
    Metric,
    MetricRows,
    check_pairwise,
    forest_of_rows,
    forest_of_sparse,
    square_of_condensed,
)
from .forest import PointForest, points_forest
from .metric import METRICS, prepared, shown

ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}


class PreparedRows:
    """Distances of a metric that searches order by a distance of prepared points."""

    def __init__(self, points: np.ndarray, metric: str) -> None:
        norm = "cityblock" if metric == "manhattan" else "euclidean"
        self.metric = metric
        self.rows = MetricRows(prepared(points, metric), norm, {})

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, point: int) -> np.ndarray:
        """Return the distances of a point."""
        return shown(self.rows.row(point), self.metric)


def metric_forest(
    points: np.ndarray,
    metric: Metric,
    min_samples: int,
    *,
    alpha: float = 1.0,
    parameters: Mapping[str, Any] | None = None,
    approximate: bool = False,
    threads: int = 0,
) -> PointForest:
    """Return the forest of mutual reachability distances of points.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
        Rows that are not finite are trees of their own.
    metric : str or callable
        See `HDBSCAN`.
    min_samples : int
        See `points_forest`.
    alpha : float
        Distances, but not core distances, are divided by it.
    parameters : mapping, optional
        Further arguments of the metric.
    approximate, threads
        See `points_forest`.

    Raises
    ------
    ConfigError
        If there is no such metric, or it is not offered with `approximate`.
    InputError
        If the points do not suit the metric.
    """
    name, further = simplified(metric, dict(parameters or {}))
    finite = np.isfinite(points).all(axis=1)
    kept = points if finite.all() else points[finite]
    if name == "correlation":
        name, kept = "cosine", kept - kept.mean(axis=1, keepdims=True)
    if len(kept) == 0:
        none = np.empty(0, np.int64)
        found = PointForest(Forest(none, none, np.empty(0), none), 0, True)
    elif name in METRICS and alpha == 1:
        found = points_forest(
            kept, str(name), min_samples, approximate=approximate, threads=threads
        )
    elif approximate:
        raise ConfigError(
            f"approximate takes the metrics {', '.join(METRICS)} with alpha 1"
        )
    else:
        found = forest_of_rows(rows_of(kept, name, further), min_samples, alpha)
    return found if finite.all() else _among_all(found, finite)


def rows_of(
    points: np.ndarray, metric: Metric, parameters: Mapping[str, Any]
) -> DistanceRows:
    """Return the distances of finite points by a metric, row by row.

    Raises
    ------
    ConfigError, InputError
        As `metric_forest` does.
    """
    name, further = simplified(metric, dict(parameters))
    if name == "correlation":
        name, points = "cosine", points - points.mean(axis=1, keepdims=True)
    if name in METRICS:
        return PreparedRows(points, str(name))
    check_pairwise(name)
    return MetricRows(points, name, further)


def matrix_forest(distances: Any, min_samples: int, alpha: float = 1.0) -> PointForest:
    """Return the forest of mutual reachability distances of a matrix of distances.

    Parameters
    ----------
    distances : ndarray or sparse matrix
        Shape (points, points), or (pairs,) as SciPy's `pdist` returns them.

    Raises
    ------
    InputError
        If it is not such a matrix.
    """
    if hasattr(distances, "tocoo"):
        return forest_of_sparse(distances, min_samples, alpha)
    if distances.dtype.kind not in "biuf":
        raise InputError(f"distances of type {distances.dtype} are not numbers")
    if distances.ndim == 1:
        distances = square_of_condensed(distances)
    return forest_of_rows(MatrixRows(distances), min_samples, alpha)


def simplified(metric: Metric, further: dict[str, Any]) -> tuple[Metric, dict]:
    """Return a metric under its first name, and the arguments that remain."""
    if callable(metric):
        return metric, further
    if not isinstance(metric, str):
        raise ConfigError(f"no metric {metric!r}; give a name or a function")
    if metric == "minkowski":
        p = further.get("p", 2)
        if not p >= 1:
            raise ConfigError(f"minkowski p {p}: give 1 or more")
        if "w" not in further and p in (1, 2, np.inf):
            return {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}[p], {}
    return ALIASES.get(metric, metric), further


def _among_all(found: PointForest, finite: np.ndarray) -> PointForest:
    """Return the forest with points that are not finite as trees of their own."""
    number = np.flatnonzero(finite)
    forest = found.forest
    labels = np.arange(len(finite))
    labels[finite] = number[forest.labels]
    src, dst = number[forest.src], number[forest.dst]
    forest = Forest(src, dst, forest.weight, labels)
    return PointForest(forest, found.certain, found.exact)
