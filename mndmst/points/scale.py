"""A power of two that keeps the squares of distances within the range of float64.

Searches compare squares of distances. The square of 1e-200 underflows to 0, so points
at this distance would count as equal. Multiplication by a power of two is exact: scaled
points have the same forest, and its distances are scaled back exactly. If coordinates
span more than the range of squares in float64, the edges of the finished forest are
checked (`Scale.check`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..host.errors import InputError
from ..kernels.threads import ALONE, Threads, each_range
from .kernels.extremes import find_extremes
from .metrics import Norm

# Two different float64 numbers of at least this magnitude differ by at least 2^-511,
# whose square is a normal number.
SMALLEST = 2.0**-458
# The square of a smaller distance is rounded to fewer digits, or to zero.
LEAST_DISTANCE = 2.0**-511
# The largest coordinate is scaled to less than 2^HIGHEST, by a factor up to 2^MOST.
HIGHEST, MOST = 490, 1000
# Points of a block that NumPy takes at once.
ROWS = 1 << 16
# Up to this many points NumPy finds extremes: no kernel is compiled.
FEW_POINTS = 1 << 9


@dataclass(frozen=True)
class Scale:
    """The factor of points before distances are computed.

    With a `wide` range of coordinates, squares may underflow for any factor.
    """

    factor: float = 1.0  # a power of two; 1 for nearly all points
    wide: bool = False

    def scaled(self, points: np.ndarray) -> np.ndarray:
        """Return scaled points; a copy unless the factor is 1."""
        return points if self.factor == 1 else points * self.factor

    def original(self, distance: np.ndarray) -> np.ndarray:
        """Return the distances of unscaled points."""
        return distance if self.factor == 1 else distance / self.factor

    def check(
        self, weight: np.ndarray, differ: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        """Raise InputError if the square of a distance may have underflowed.

        `weight` has the edges' distances between scaled points; `differ` takes indices
        of edges, and returns whether their ends differ in any coordinate.
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
    """Return the smallest magnitude of a coordinate other than 0, and the largest.

    If all coordinates are 0, they are infinity and 0. The largest is not finite if any
    coordinate is not.
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
        sizes = np.abs(points[begin : begin + ROWS])
        largest = float(np.maximum(largest, sizes.max(initial=0)))  # keeps NaN
        smallest = min(smallest, float(sizes.min(initial=math.inf, where=sizes > 0)))
    return smallest, largest


def scale_for(norm: Norm, smallest: float, largest: float) -> Scale:
    """Return the scale of points with these `extremes`; 1 unless Euclidean."""
    if norm != Norm.EUCLIDEAN or smallest >= SMALLEST:
        return Scale()
    exponent = min(HIGHEST - math.frexp(largest)[1], MOST)
    factor = math.ldexp(1.0, exponent)
    return Scale(factor, smallest * factor < SMALLEST)
