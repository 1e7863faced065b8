"""Metrics that order points as a norm does, so that a tree can search them.

Each metric prepares the points; a search compares distances of the norm, which are then
turned into those of the metric. The cosine, correlation and haversine distances grow
with the chord between points of a sphere, so their norm is Euclidean.

A new metric of a norm below is one entry in `METRICS`. A new norm is one member of
`Norm`, with a branch in each of its methods, in each function of `kernels/norms.py` and
in `kernels/leaf_vectors_llvm.py` on the host, in `cuda/kernels/point_tree.cu` on a GPU,
and in `certificate/pairwise_certificate.py`, which computes its own distances.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from ..host.errors import ConfigError, InputError
from .kernels.norms import CHEBYSHEV, EUCLIDEAN, LARGEST, MANHATTAN

POLE = np.pi / 2
# Float32 rounds the latitude of a pole up by 4.4e-8.
BEYOND_POLE = 1e-7


class Norm(IntEnum):
    """Norms of differences; see `kernels.norms` for reduced distances."""

    MANHATTAN = MANHATTAN
    EUCLIDEAN = EUCLIDEAN
    CHEBYSHEV = CHEBYSHEV

    @property
    def p(self) -> float:
        """The exponent of the norm as SciPy's Minkowski distance takes it."""
        return {1: 1, 2: 2, 3: np.inf}[self]

    @property
    def scipy_name(self) -> str:
        """The name of the norm's distance in SciPy's `cdist`."""
        return {1: "cityblock", 2: "euclidean", 3: "chebyshev"}[self]

    def add(self, total: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """Return reduced distances after adding the gaps (0 or more) of a dimension."""
        if self == Norm.CHEBYSHEV:
            return np.maximum(total, gap)
        return total + (gap * gap if self == Norm.EUCLIDEAN else gap)

    def total(self, gaps: np.ndarray) -> np.ndarray:
        """Return the reduced distance of each row of gaps, added in their order."""
        terms = self.add(np.zeros(1), gaps)
        add = np.maximum if self == Norm.CHEBYSHEV else np.add
        return add.accumulate(terms, axis=1)[:, -1]

    def reduced(self, distance: np.ndarray) -> np.ndarray:
        """Return the reduced distances of distances."""
        return distance * distance if self == Norm.EUCLIDEAN else distance

    def limit(self, distance: np.ndarray) -> np.ndarray:
        """Return reduced distances above those of all points within a distance."""
        with np.errstate(over="ignore"):
            reduced = self.reduced(distance)
            return np.minimum(reduced * (1 + 1e-15) + 1e-322, LARGEST)

    def distance(self, reduced: np.ndarray) -> np.ndarray:
        """Return the distances of reduced distances."""
        return np.sqrt(reduced) if self == Norm.EUCLIDEAN else reduced


@dataclass(frozen=True)
class TreeMetric:
    """A metric that a tree of points can search.

    `prepare` takes points and the first one's number for messages, and returns the
    points to search; it raises InputError for a point that does not suit the metric.
    `from_norm` turns distances of the norm into those of the metric, elementwise and
    monotonically.
    """

    norm: Norm
    prepare: Callable[[np.ndarray, int], np.ndarray]
    from_norm: Callable[[np.ndarray], np.ndarray]

    @property
    def is_norm(self) -> bool:
        """Whether its distances are those of the norm."""
        return self.from_norm is _unchanged


def check_metric(metric: str) -> None:
    """Raise ConfigError if there is no such metric."""
    if metric not in METRICS:
        raise ConfigError(f"no metric '{metric}'; give one of {', '.join(METRICS)}")


def prepared(points: np.ndarray, metric: str, first: int = 0) -> np.ndarray:
    """Return the points that a search for a metric compares.

    Messages number points from `first` on. Raises ConfigError for an unknown metric,
    InputError for a point that does not suit it.
    """
    check_metric(metric)
    return METRICS[metric].prepare(points, first)


def from_norm(distance: np.ndarray, metric: str) -> np.ndarray:
    """Return distances of a metric from distances of its norm."""
    return METRICS[metric].from_norm(distance)


def check_directions(largest: np.ndarray, first: int) -> None:
    """Raise InputError if a point's largest magnitude is 0."""
    if not largest.all():
        zero = first + int(np.flatnonzero(largest == 0)[0])
        raise InputError(
            f"point {zero} is zero in all coordinates, so it has no direction and "
            "no cosine distance. Leave such points out."
        )


def resembles_similarities(diagonal: np.ndarray, largest: np.ndarray) -> bool:
    """Return whether a matrix may hold similarities, by the largest value of each row.

    Then the diagonal, which is 0 in a matrix of distances, has these values: nothing is
    more similar to a point than itself.
    """
    has_largest = len(diagonal) > 1 and (diagonal >= largest).all()
    return bool(has_largest and diagonal.any())


def _unchanged(values: np.ndarray, first: int = 0) -> np.ndarray:
    return values


def _on_sphere(points: np.ndarray, first: int) -> np.ndarray:
    """Return points scaled to length 1."""
    points = np.ascontiguousarray(points)  # sums of rows have the same bits then
    largest = np.abs(points).max(axis=1, initial=0)
    check_directions(largest, first)
    points = points / largest[:, None]
    return points / np.sqrt((points * points).sum(axis=1))[:, None]


def _centred_on_sphere(points: np.ndarray, first: int) -> np.ndarray:
    """Return points less the means of their coordinates, scaled to length 1."""
    points = np.ascontiguousarray(points)  # as above
    centred = points - points.mean(axis=1, keepdims=True)
    constant = np.flatnonzero(~centred.any(axis=1))
    if len(constant):
        raise InputError(
            f"point {first + int(constant[0])} has equal coordinates, so it has no "
            "correlation distance. Leave such points out."
        )
    return _on_sphere(centred, first)


def _on_globe(points: np.ndarray, first: int) -> np.ndarray:
    """Return the points of the unit sphere at latitudes and longitudes."""
    limits = np.array([POLE, 2 * np.pi]) + BEYOND_POLE
    if points.shape[1] != len(limits) or (np.abs(points) > limits).any():
        raise InputError(
            "haversine distances take points with a latitude and a longitude, in "
            "radians; np.radians converts degrees."
        )
    latitude, longitude = np.clip(points[:, 0], -POLE, POLE), points[:, 1]
    radius = np.cos(latitude)
    columns = radius * np.cos(longitude), radius * np.sin(longitude), np.sin(latitude)
    return np.stack(columns, axis=1)


def _one_minus_cosine(chord: np.ndarray) -> np.ndarray:
    return chord * chord / 2


def _arc(chord: np.ndarray) -> np.ndarray:
    return 2 * np.arcsin(np.minimum(chord / 2, 1))


METRICS = {
    "euclidean": TreeMetric(Norm.EUCLIDEAN, _unchanged, _unchanged),
    "manhattan": TreeMetric(Norm.MANHATTAN, _unchanged, _unchanged),
    "chebyshev": TreeMetric(Norm.CHEBYSHEV, _unchanged, _unchanged),
    "cosine": TreeMetric(Norm.EUCLIDEAN, _on_sphere, _one_minus_cosine),
    "correlation": TreeMetric(Norm.EUCLIDEAN, _centred_on_sphere, _one_minus_cosine),
    "haversine": TreeMetric(Norm.EUCLIDEAN, _on_globe, _arc),
}
