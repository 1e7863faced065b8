"""Points as distances take them, of the type in which the user gives them.

Distances are sums of float64 squares. Cosine distances take points of length 1, whose
coordinates are quotients: two divisors for each point stand for a float64 copy of all.
"""

from dataclasses import dataclass

import numpy as np

from ..host.errors import InputError
from ..kernels.threads import ALONE, Threads
from .devices.point_products import PointsOnDevice
from .metrics import METRICS, Norm, check_metric, prepared
from .scale import SMALLEST, Scale, extremes, scale_for

ROWS = 1 << 14  # points that are looked at together
# Of fewer coordinates a float64 copy takes little memory and spares later divisions.
COPIED = 1 << 24
# Points whose lengths a device and the host both compute: the bits must agree.
COMPARED = 64
# Labels and probabilities of rows with infinities alone, and of rows with NaN, as in
# scikit-learn.
LABEL_CODES, PROBABILITY_CODES = (-2, -3), (0, np.nan)
# Types whose numbers are all float32 numbers, too.
SMALL = ("b1", "i1", "u1", "i2", "u2", "f2", "f4")


@dataclass(frozen=True)
class PointCoordinates:
    """Points before searches: coordinates, divisors and the scale.

    Each point's coordinates are divided by `largest`, then by `length` (float64); both
    are empty without divisors. `values` have been multiplied by the scale.
    """

    values: np.ndarray | PointsOnDevice
    largest: np.ndarray
    length: np.ndarray
    scale: Scale

    def of(self, rows: np.ndarray | slice) -> np.ndarray:
        """Return the float64 coordinates of some points that distances are sums of."""
        chosen = np.ascontiguousarray(self.values[rows], np.float64)
        if len(self.length) == 0:
            return chosen
        return chosen / self.largest[rows, None] / self.length[rows, None]

    def all(self) -> np.ndarray:
        """Return the float64 coordinates of all points; a copy unless they are that."""
        return self.of(slice(None))


def unscaled(points: np.ndarray) -> PointCoordinates:
    """Return points whose coordinates are taken as they are."""
    none = np.empty(0)
    return PointCoordinates(points, none, none, Scale())


def point_coordinates(
    points: np.ndarray | PointsOnDevice, metric: str, threads: Threads = ALONE
) -> PointCoordinates:
    """Return points of any type of numbers for searches by a metric.

    Points on a device stay there for Euclidean and cosine distances. Raises errors as
    `prepared` does.
    """
    check_metric(metric)
    none = np.empty(0)
    if not isinstance(points, np.ndarray):
        on_device = _on_device(points, metric)
        if on_device is not None:
            return on_device
        points = np.asarray(points)
    if metric == "cosine":
        divided = _directions(_typed(points), threads)
        if points.size <= COPIED:
            divided = unscaled(divided.all())
        calls = [(part,) for part in _parts(len(points))]
        span = threads.map(lambda part: extremes(divided.of(part)), calls)
        smallest, largest = min(s for s, _ in span), max(x for _, x in span)
        scale = scale_for(Norm.EUCLIDEAN, smallest, largest)
        if scale.factor == 1:
            return divided
        return PointCoordinates(scale.scaled(divided.all()), none, none, scale)
    values = _typed(points) if metric == "euclidean" else points.astype(np.float64)
    values = prepared(values, metric)
    scale = scale_for(METRICS[metric].norm, *extremes(values, threads))
    if scale.factor != 1:
        values = scale.scaled(values.astype(np.float64))
    return PointCoordinates(values, none, none, scale)


def float_type(dtype: np.dtype) -> type[np.float32] | type[np.float64]:
    """Return float32 if that holds all numbers of a type; else float64."""
    return np.float32 if dtype.str[1:] in SMALL else np.float64


def finite_rows(
    points: np.ndarray | PointsOnDevice, threads: Threads = ALONE
) -> np.ndarray:
    """Return for each point whether all its coordinates are finite."""
    if not isinstance(points, np.ndarray):
        return np.isfinite(points.measures.largest)
    finite = np.empty(len(points), np.bool_)

    def look(part: slice) -> None:
        finite[part] = np.isfinite(points[part]).all(axis=1)

    threads.map(look, [(part,) for part in _parts(len(points))])
    return finite


def coded(
    values: np.ndarray,
    points: np.ndarray | PointsOnDevice,
    codes: tuple[float, float],
) -> np.ndarray:
    """Return values of points, with codes for rows that are not finite."""
    result = values.copy()
    unknown = np.flatnonzero(~finite_rows(points))
    result[unknown] = codes[0]
    result[unknown[np.isnan(points[unknown]).any(axis=1)]] = codes[1]
    return result


def largest_sizes(
    points: np.ndarray | PointsOnDevice, threads: Threads = ALONE
) -> np.ndarray:
    """Return for each point the size of its largest coordinate."""
    if not isinstance(points, np.ndarray):
        return points.measures.largest
    largest = np.empty(len(points))

    def look(part: slice) -> None:
        largest[part] = np.abs(points[part]).max(axis=1, initial=0)

    threads.map(look, [(part,) for part in _parts(len(points))])
    return largest


def _on_device(points: PointsOnDevice, metric: str) -> PointCoordinates | None:
    """Return points that stay on a device; None if the host must scale them."""
    smallest, largest, length = points.measures
    none = np.empty(0)
    if metric == "cosine" and largest.all():
        some = _directions(points[:COMPARED], ALONE).length
        if not np.array_equal(some, length[:COMPARED]):
            return None  # NumPy adds up in another order than the device
        smallest = smallest / largest / length
    elif metric != "euclidean":
        return None
    if smallest.min() < SMALLEST:
        return None
    if metric == "euclidean":
        return PointCoordinates(points, none, none, Scale())
    return PointCoordinates(points, largest, length, Scale())


def _typed(points: np.ndarray) -> np.ndarray:
    return points.astype(float_type(points.dtype), order="C", copy=False)


def _directions(values: np.ndarray, threads: Threads) -> PointCoordinates:
    """Return points with the divisors that give them length 1; see `prepared`."""
    largest, length = np.empty(len(values)), np.empty(len(values))

    def divide(part: slice) -> None:
        block = values[part].astype(np.float64)
        largest[part] = np.abs(block).max(axis=1, initial=0)
        if (largest[part] == 0).any():
            zero = part.start + int(np.flatnonzero(largest[part] == 0)[0])
            raise InputError(
                f"point {zero} is zero in all coordinates, so it has no direction and "
                "no cosine distance. Leave such points out."
            )
        block /= largest[part, None]
        length[part] = np.sqrt((block * block).sum(axis=1))

    threads.map(divide, [(part,) for part in _parts(len(values))])
    return PointCoordinates(values, largest, length, Scale())


def _parts(count: int) -> list[slice]:
    return [slice(begin, begin + ROWS) for begin in range(0, count, ROWS)]
