"""Points as distances take them, of the type in which the user gives them.

Distances are sums of float64 squares. Cosine distances take points of length 1, whose
coordinates are quotients: two divisors for each point stand for a float64 copy of all.
"""

from dataclasses import dataclass

import numpy as np

from ..host.errors import InputError
from .metrics import METRICS, Norm, check_metric, prepared
from .scale import Scale, extremes, scale_for

ROWS = 1 << 14  # points that are looked at together
# Of fewer coordinates a float64 copy takes little memory and spares later divisions.
COPIED = 1 << 24
# Types whose numbers are all float32 numbers, too.
SMALL = ("b1", "i1", "u1", "i2", "u2", "f2", "f4")


@dataclass(frozen=True)
class PointCoordinates:
    """Points before searches: coordinates, divisors and the scale.

    Attributes
    ----------
    values : ndarray of float32 or float64, shape (points, dimensions)
    largest, length : ndarray of float64, shape (points,)
        Divisors of each point's coordinates, the first before the second; empty if
        there are none.
    scale : Scale
        Which `values` have been multiplied by.
    """

    values: np.ndarray
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


def point_coordinates(points: np.ndarray, metric: str) -> PointCoordinates:
    """Return points of any type of numbers for searches by a metric.

    Raises
    ------
    ConfigError, InputError
        As `prepared` does.
    """
    check_metric(metric)
    none = np.empty(0)
    if metric == "cosine":
        divided = _directions(_typed(points))
        span = [extremes(divided.of(part)) for part in _parts(len(points))]
        smallest, largest = min(s for s, _ in span), max(x for _, x in span)
        scale = scale_for(Norm.EUCLIDEAN, smallest, largest)
        if scale.factor == 1 and points.size > COPIED:
            return divided
        return PointCoordinates(scale.scaled(divided.all()), none, none, scale)
    values = _typed(points) if metric == "euclidean" else points.astype(np.float64)
    values = prepared(values, metric)
    scale = scale_for(METRICS[metric].norm, *extremes(values))
    if scale.factor != 1:
        values = scale.scaled(values.astype(np.float64))
    return PointCoordinates(values, none, none, scale)


def float_type(dtype: np.dtype) -> type[np.float32] | type[np.float64]:
    """Return float32 if that holds all numbers of a type; else float64."""
    return np.float32 if dtype.str[1:] in SMALL else np.float64


def _typed(points: np.ndarray) -> np.ndarray:
    return points.astype(float_type(points.dtype), order="C", copy=False)


def _directions(values: np.ndarray) -> PointCoordinates:
    """Return points with the divisors that give them length 1; see `prepared`."""
    largest, length = np.empty(len(values)), np.empty(len(values))
    for part in _parts(len(values)):
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
    return PointCoordinates(values, largest, length, Scale())


def _parts(count: int) -> list[slice]:
    return [slice(begin, begin + ROWS) for begin in range(0, count, ROWS)]
