"""A power of two that keeps the squares of distances within the range of float64.

Searches compare squares of distances. The square of 1e-200 underflows to 0, so that
points so near each other would count as equal. Products with a power of two are exact:
points that are scaled by one have the same forest, and its distances are scaled back
exactly. Where coordinates span more than the range of float64's squares, the edges of
the forest are looked at in the end (`Scale.check`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..host.errors import InputError
from ..kernels.threads import ALONE, Threads, each_range
from .kernels.extremes import find_extremes
from .metrics import Norm

# Two different float64 of at least this size differ by 2^-511 or more, whose square is
# a normal number.
SMALLEST = 2.0**-458
# A distance below it has a square that is rounded to fewer digits, or to zero.
LEAST_DISTANCE = 2.0**-511
# The largest coordinate is scaled to less than 2^HIGHEST; products with more than
# 2^MOST are not finite.
HIGHEST, MOST = 490, 1000
# Points that are looked at together.
ROWS = 1 << 16
# Points whose extremes NumPy finds, without a kernel to compile.
FEW_POINTS = 1 << 9


@dataclass(frozen=True)
class Scale:
    """How points are scaled before distances are computed.

    With a `wide` scale, coordinates span powers of ten so different that squares may be
    zero for any factor.
    """

    factor: float = 1.0  # a power of two; 1 for nearly all points
    wide: bool = False

    def scaled(self, points: np.ndarray) -> np.ndarray:
        """Return the points that are computed on; a copy unless the factor is 1."""
        return points if self.factor == 1 else points * self.factor

    def original(self, distance: np.ndarray) -> np.ndarray:
        """Return distances of the points themselves."""
        return distance if self.factor == 1 else distance / self.factor

    def check(
        self, weight: np.ndarray, differ: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        """Refuse a forest if the square of a distance may have been rounded to zero.

        `weight` has distances between scaled points; `differ` takes positions of edges,
        and returns whether their ends differ in any coordinate. Raises InputError if
        points differ that are nearer than float64's squares tell.
        """
        if not self.wide:
            return
        near = np.flatnonzero(weight < LEAST_DISTANCE)
        if ((weight[near] > 0) | differ(near)).any():
            raise InputError(
                f"points are nearer than {LEAST_DISTANCE / self.factor:.1g} and not "
                "equal, beside coordinates so large that float64 cannot hold the "
                "squares of both. Set tiny coordinates to zero, or scale the columns."
            )


def extremes(points: np.ndarray, threads: Threads = ALONE) -> tuple[float, float]:
    """Return the sizes of the smallest coordinate other than 0 and of the largest.

    Without such coordinates they are infinity and 0.
    """
    typed = points.dtype in (np.float32, np.float64) and points.flags.c_contiguous
    if typed and len(points) > FEW_POINTS:
        kind = points.dtype.type
        bits = points.reshape(-1).view(f"u{points.itemsize}")
        ranges = each_range(threads.bounds(len(bits)))
        low, high = map(np.asarray, threads.run(find_extremes, bits, *ranges))
        if not high.any():
            return math.inf, 0.0
        unsigned = bits.dtype.type
        smallest, largest = unsigned(low[high > 0].min()), unsigned(high.max())
        return float(smallest.view(kind)), float(largest.view(kind))
    smallest, largest = math.inf, 0.0
    for begin in range(0, len(points), ROWS):
        size = np.abs(points[begin : begin + ROWS])
        largest = max(largest, float(size.max(initial=0)))
        smallest = min(smallest, float(size.min(initial=math.inf, where=size > 0)))
    return smallest, largest


def scale_for(norm: Norm, smallest: float, largest: float) -> Scale:
    """Return how points are scaled whose coordinates have these `extremes`.

    Only Euclidean distances have squares; points of other norms stay as they are.
    """
    if norm != Norm.EUCLIDEAN or smallest >= SMALLEST:
        return Scale()
    exponent = min(HIGHEST - math.frexp(largest)[1], MOST)
    factor = math.ldexp(1.0, exponent)
    return Scale(factor, smallest * factor < SMALLEST)
