"""Points for searches: coordinates in the user's type, and their divisors.

Distances are sums of float64 squares. Cosine distances take points of length 1, whose
coordinates are quotients. Two divisors for each point avoid a float64 copy of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..kernels.threads import ALONE, Threads
from .devices.point_products import PointsOnDevice
from .metrics import METRICS, Norm, check_directions, check_metric, prepared
from .scale import SMALLEST, Scale, extremes, scale_for

ROWS = 1 << 14  # points of a block that a thread takes at once
# A float64 copy of so few coordinates takes little memory and avoids later divisions.
COPIED = 1 << 24
# Points whose lengths the host compares with the device's: the bits must agree.
COMPARED = 64
# Labels and probabilities of points with infinite coordinates but no NaN, and of points
# with NaN, as in scikit-learn.
LABEL_CODES, PROBABILITY_CODES = (-2, -3), (0, np.nan)
# Types whose numbers float32 represents exactly.
SMALL = ("b1", "i1", "u1", "i2", "u2", "f2", "f4")


@dataclass(frozen=True)
class PointCoordinates:
    """Points by number: coordinates, their divisors and their scale.

    Each point's coordinates are divided by `largest`, then by `length` (float64); both
    are empty if coordinates are not divided. `values` are scaled.
    """

    values: np.ndarray | PointsOnDevice
    largest: np.ndarray
    length: np.ndarray
    scale: Scale

    def of(self, points: np.ndarray | slice) -> np.ndarray:
        """Return the float64 coordinates of some points, divided and scaled."""
        chosen = np.ascontiguousarray(self.values[points], np.float64)
        if len(self.length) == 0:
            return chosen
        return chosen / self.largest[points, None] / self.length[points, None]

    def all(self) -> np.ndarray:
        """Return the float64 coordinates of all points; no copy of float64 `values`."""
        return self.of(slice(None))


def unscaled(points: np.ndarray | PointsOnDevice) -> PointCoordinates:
    """Return points whose coordinates are neither divided nor scaled."""
    none = np.empty(0)
    return PointCoordinates(points, none, none, Scale())


def point_coordinates(
    points: np.ndarray | PointsOnDevice, metric: str, threads: Threads = ALONE
) -> PointCoordinates:
    """Return points for searches by a metric; see `prepared` for errors.

    Points on a device stay there for Euclidean and cosine distances.
    """
    check_metric(metric)
    none = np.empty(0)
    if not isinstance(points, np.ndarray):
        on_device = _on_device(points, metric)
        if on_device is not None:
            return on_device
        points = np.asarray(points)
    if metric == "cosine":
        divided = _directions(typed_points(points), threads)
        if points.size <= COPIED:
            divided = unscaled(divided.all())
        calls = [(part,) for part in _parts(len(points))]
        parts = threads.map(lambda part: extremes(divided.of(part)), calls)
        smallest, largest = min(low for low, _ in parts), max(high for _, high in parts)
        scale = scale_for(Norm.EUCLIDEAN, smallest, largest)
        if scale.factor == 1:
            return divided
        return PointCoordinates(scale.scaled(divided.all()), none, none, scale)
    values = (
        typed_points(points) if metric == "euclidean" else points.astype(np.float64)
    )
    values = prepared(values, metric)
    scale = scale_for(METRICS[metric].norm, *extremes(values, threads))
    if scale.factor != 1:
        values = scale.scaled(values.astype(np.float64))
    return PointCoordinates(values, none, none, scale)


def divided_points(
    points: np.ndarray, metric: str, threads: Threads = ALONE
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Euclidean or cosine points in their own type, and their divisors.

    They are not scaled; for divisors see `PointCoordinates`.
    """
    values = typed_points(points)
    if metric == "cosine":
        divided = _directions(values, threads)
        return values, divided.largest, divided.length
    return values, np.empty(0), np.empty(0)


def typed_points(points: np.ndarray) -> np.ndarray:
    """Return points as float32 or float64; no copy if they are."""
    return points.astype(float_type(points.dtype), order="C", copy=False)


def float_type(dtype: np.dtype) -> type[np.float32] | type[np.float64]:
    """Return float32 if it represents all numbers of a type, else float64."""
    return np.float32 if dtype.str[1:] in SMALL else np.float64


def finite_rows(
    points: np.ndarray | PointsOnDevice, threads: Threads = ALONE
) -> np.ndarray:
    """Return for each point whether all its coordinates are finite."""
    if not isinstance(points, np.ndarray):
        return np.isfinite(points.measures.largest)
    # Nearly always all are: one pass of a kernel, without threads of Python
    if points.dtype.kind == "f" and np.isfinite(extremes(points, threads)[1]):
        return np.ones(len(points), np.bool_)
    return _by_part(lambda part: np.isfinite(part).all(axis=1), points, threads)


def coded(
    values: np.ndarray,
    points: np.ndarray | PointsOnDevice,
    codes: tuple[float, float],
) -> np.ndarray:
    """Return values of points, with codes for points that are not finite."""
    result = values.copy()
    not_finite = np.flatnonzero(~finite_rows(points))
    result[not_finite] = codes[0]
    result[not_finite[np.isnan(points[not_finite]).any(axis=1)]] = codes[1]
    return result


def largest_magnitude(
    points: np.ndarray | PointsOnDevice, threads: Threads = ALONE
) -> float:
    """Return the largest magnitude of a coordinate; not finite if any is not."""
    if not isinstance(points, np.ndarray):
        return float(points.measures.largest.max())
    return extremes(points, threads)[1]


def largest_sizes(
    points: np.ndarray | PointsOnDevice, threads: Threads = ALONE
) -> np.ndarray:
    """Return for each point the largest magnitude of its coordinates."""
    if not isinstance(points, np.ndarray):
        return points.measures.largest
    return _by_part(lambda part: np.abs(part).max(axis=1, initial=0), points, threads)


def _on_device(points: PointsOnDevice, metric: str) -> PointCoordinates | None:
    """Return points that stay on a device; None if they must go to the host."""
    smallest, largest, length = points.measures
    if metric == "cosine" and largest.all():
        host_length = _directions(points[:COMPARED], ALONE).length
        if not np.array_equal(host_length, length[:COMPARED]):
            return None  # this NumPy adds up in another order than the device
        smallest = smallest / largest / length
    elif metric != "euclidean":
        return None
    if smallest.min() < SMALLEST:
        return None
    if metric == "euclidean":
        return unscaled(points)
    return PointCoordinates(points, largest, length, Scale())


def _directions(values: np.ndarray, threads: Threads) -> PointCoordinates:
    """Return points with the divisors that give them length 1; see `prepared`."""
    largest, length = np.empty(len(values)), np.empty(len(values))

    def divide(part: slice) -> None:
        block = values[part].astype(np.float64)
        largest[part] = np.abs(block).max(axis=1, initial=0)
        check_directions(largest[part], part.start)
        block /= largest[part, None]
        length[part] = np.sqrt((block * block).sum(axis=1))

    threads.map(divide, [(part,) for part in _parts(len(values))])
    return PointCoordinates(values, largest, length, Scale())


def _by_part(
    function: Callable[[np.ndarray], np.ndarray], points: np.ndarray, threads: Threads
) -> np.ndarray:
    """Return a function's values of all points, which threads compute by parts."""
    calls = [(points[part],) for part in _parts(len(points))]
    return np.concatenate([function(points[:0]), *threads.map(function, calls)])


def _parts(count: int) -> list[slice]:
    return [slice(begin, begin + ROWS) for begin in range(0, count, ROWS)]
