"""The certificate of a forest of points by a metric that compares all pairs.

The edges are taken in ascending order, and each merges two components. No pair of
points from both may precede the edge (the cycle property), so each pair of points is
compared exactly once. Distances are computed here, not by the solver's code; those of
SciPy's metrics are by definition the ones that SciPy returns.
"""

from collections.abc import Callable

import numpy as np

from ...certificate.candidate import LIMIT
from ...host.errors import InputError, optional
from ...io.formats.matrix_values import check_square
from ..metrics import METRICS, Norm, from_norm, prepared
from ..row_metrics import row_metric

# Metrics of SciPy that compare presence.
PRESENCE = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")


def norm_distances(
    points: np.ndarray, norm: Norm, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Return the distances of pairs of points, added up in the order of dimensions.

    `a` and `b` are indices of `points` and broadcast against each other.
    """
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape))
    for column in points.T:
        gap = np.abs(column[a] - column[b])
        if norm == Norm.CHEBYSHEV:
            np.maximum(total, gap, out=total)
        else:
            total += gap * gap if norm == Norm.EUCLIDEAN else gap
    return np.sqrt(total) if norm == Norm.EUCLIDEAN else total


class PairDistances:
    """Distances between points, from their definition.

    The metric and its parameters are those that `simplified` returns.
    """

    def __init__(
        self, points: np.ndarray, metric: str, parameters: dict[str, object]
    ) -> None:
        self.points, self.metric, self.parameters = points, metric, parameters
        self._cdist: Callable[..., np.ndarray] | None = None
        if metric in METRICS:
            self.points = prepared(points, metric)
        elif metric == "precomputed":
            check_square(points)
        elif not row_metric(metric, parameters):
            self._cdist = optional("scipy.spatial.distance", "formats").cdist
            self.points = points != 0 if metric in PRESENCE else points
            if "V" in parameters and metric == "mahalanobis":
                inverse = np.linalg.inv(parameters["V"])  # type: ignore[call-overload]
                self.parameters = {"VI": inverse}
            return
        self.rule = parameters.get("missing_rule", "ignore")
        missing = parameters.get("missing")
        self.present = np.ones(points.shape, np.bool_)
        if missing is not None:
            self.present = points != missing
        if metric in ("alleles", "allele_shares"):
            self.present = points > 0
        if metric == "periodic":
            side = np.asarray(parameters["boxsize"], np.float64)
            if side.shape not in ((), points.shape[1:]) or not (side >= 0).all():
                raise InputError(f"boxsize {side.tolist()} does not suit the points")
            self.side = np.broadcast_to(side, points.shape[1])

    def between(self, point: int, others: np.ndarray) -> np.ndarray:
        """Return the distances of a point to some others (float64)."""
        if self.metric in METRICS:
            norm = METRICS[self.metric].norm
            distances = norm_distances(self.points, norm, np.array(point), others)
            return from_norm(distances, self.metric)
        if self.metric == "precomputed":
            row, column = self.points[point, others], self.points[others, point]
            nearest = self._of_values(row, column)
            return np.where(others == point, 0.0, nearest)
        one, other = self.points[point], self.points[others]
        if self._cdist is not None:
            return self._cdist(one[None], other, self.metric, **self.parameters)[0]
        if self.metric == "periodic":
            return self._periodic(one, other)
        both = self.present[point] & self.present[others]
        if self.metric == "jaccard":
            either = ((one != 0) | (other != 0)) & both
            unlike = ((one != 0) != (other != 0)) & both
            compared = either.sum(axis=1)
            empty = (both.sum(axis=1) == 0) & (not self.present.all())
        else:
            unlike = (one != other) & both
            if self.rule == "differ":
                unlike |= ~both
            all_columns = np.full(len(others), self.points.shape[1])
            compared = both.sum(axis=1) if self.rule == "ignore" else all_columns
            empty = compared == 0
        if self.metric == "alleles":
            return np.where(empty, len(one), unlike.sum(axis=1)).astype(np.float64)
        quotient = unlike.sum(axis=1) / np.maximum(compared, 1)
        return np.where(compared == 0, empty.astype(np.float64), quotient)

    def _of_values(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return the smaller distances of the mirrored values of a matrix."""
        name = self.parameters.get("from")
        if name is None:
            return np.minimum(row, column)
        gap = 1 - np.clip(np.maximum(row, column).astype(np.float64), -1, 1)
        match name:
            case "correlation":
                return np.sqrt(2 * gap)
            case "correlation:1-r":
                return gap
        raise InputError(f"distances from {name} cannot be checked")

    def _periodic(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        squares = np.zeros(len(other))
        for k, side in enumerate(self.side.tolist()):
            direct = np.abs(other[:, k] - one[k])
            # Or across the side; a side of 0 leaves `direct`
            nearer = np.minimum(direct, np.abs(side - direct))
            squares = squares + nearer * nearer
        return np.sqrt(squares)


def pairwise_problems(
    distances: PairDistances,
    min_samples: int,
    u: np.ndarray,
    v: np.ndarray,
    given: np.ndarray,
    alpha: float = 1.0,
) -> list[str]:
    """Return why edges are not the minimum spanning tree; [] if they are.

    Distances, but not core distances, are divided by `alpha`.
    """
    n = len(distances.points)
    cores = np.zeros(n)
    if min_samples:
        points = np.arange(n)
        for point in range(n):
            row = distances.between(point, np.delete(points, point))
            cores[point] = np.partition(row, min_samples - 1)[min_samples - 1]

    def weights(point: int, others: np.ndarray) -> np.ndarray:
        core = np.maximum(cores[others], cores[point])
        return np.maximum(distances.between(point, others) / alpha, core)

    right = np.array([weights(a, np.array([b]))[0] for a, b in zip(u, v, strict=True)])
    if wrong := wrong_weights(u, v, given, right):
        return wrong
    component = np.arange(n)
    members = {point: np.array([point]) for point in range(n)}
    for edge in np.lexsort((v, u, given)).tolist():
        a, b = component[u[edge]], component[v[edge]]
        if a == b:
            return ["the edges close a cycle, and do not join all points"]
        if len(members[a]) > len(members[b]):
            a, b = b, a
        others, claimed = members[b], (u[edge], v[edge], given[edge])
        for point in members[a].tolist():
            weight = weights(point, others)
            if problems := preceding(point, others, weight, claimed):
                return problems
        component[members[a]] = b
        members[b] = np.concatenate([others, members.pop(a)])
    return []


def wrong_weights(
    u: np.ndarray, v: np.ndarray, given: np.ndarray, right: np.ndarray
) -> list[str]:
    """Return messages for the first edges whose weights are not their distances."""
    return [
        f"edge ({u[i]}, {v[i]}) has weight {given[i]}, its points {right[i]}"
        for i in np.flatnonzero(right != given)[:LIMIT].tolist()
    ]


def preceding(
    a: np.ndarray | int,
    b: np.ndarray,
    weight: np.ndarray,
    claimed: tuple[np.ndarray | float, ...],
    as_given: Callable[[np.ndarray], np.ndarray] = lambda weight: weight,
) -> list[str]:
    """Return messages for the first pairs (a, b) that precede their claimed edges.

    `claimed` has two ends and a weight; it and `a` broadcast against `b`. `as_given`
    turns weights into those of the forest file.
    """
    low, high = np.minimum(a, b), np.maximum(a, b)
    u, v, bound = (np.broadcast_to(column, b.shape) for column in claimed)
    same = weight == bound
    before = (weight < bound) | (same & (low < u)) | (same & (low == u) & (high < v))
    first = np.flatnonzero(before)[:LIMIT]
    return [
        f"edge ({low[i]}, {high[i]}) weight {x} comes before ({u[i]}, {v[i]}), and is "
        "not there"
        for i, x in zip(first.tolist(), as_given(weight[first]), strict=True)
    ]
