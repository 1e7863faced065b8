"""The search of points by matrix products: exact, for many dimensions.

A k-d tree of many dimensions is visited almost whole by every query. Matrix products of
float32 points then cost less: they find for each point the few others that may be its
neighbours, and float64 distances decide between these. The result has the same bits as
that of the tree, since both compare the same float64 distances.

The bound
---------
Let a and b be two points less a common centre, times a power of two that keeps their
lengths at most 1, and A and B their roundings to float32. Let u = 2^-24, and let d be
the number of dimensions. A score stands for a distance:

    score(A, B) = A.B - |B|^2 / 2 = (|A|^2 - |A - B|^2) / 2.

For one A, a larger score is a smaller distance. The computed score differs from
(|A|^2 - D) / 2, in which D is the float64 square of the distance of a and b, by

- the float32 product: d products and d - 1 additions in any order, fused or not, are
  off by at most g |A| |B|, g = d u / (1 - d u) (Higham, Accuracy and Stability of
  Numerical Algorithms, 3.1);
- the rounding of |B|^2 / 2 to float32, u |B|^2 / 2, and the subtraction, at most
  u (|A| |B| (1 + g) + |B|^2 / 2);
- the points: |A - a| <= u |a| and |B - b| <= u |b|, up to factors 1 + 2^-28 for the
  float64 subtraction of the centre, so |A - B|^2 and |a - b|^2 differ by less than
  4.1 u (|A|^2 + |B|^2), of which the score has half;
- the float64 distance: d + 2 roundings of 2^-53 in a sum of squares, less than
  u (|A|^2 + |B|^2) / 100 while d < 2^20.

Since |A| |B| <= (|A|^2 + |B|^2) / 2, all of it is at most

    gamma / 2 (|A|^2 + |B|^2), gamma = (d + 16) u / (1 - (d + 16) u).

Numbers below 2^-126 may be rounded to zero. Each of the at most 2 d + 16 operations
adds at most 2^-126 then, and each coordinate 2^-126 times the other's, which is less
than (d + 16) 2^-120 in all: the absolute part of the bound.

Neighbours
----------
A row keeps the columns whose upper bound of the score is no smaller than the k-th
largest lower bound. Each column that it drops is further away than k others. Where
more columns lie within the bounds than a row can keep, such as equal points, the row
computes their float64 distances at once and keeps the k nearest. So no input needs
another search, however near its points are to each other.
"""

import math
from collections.abc import Iterator

import numpy as np

from ..backends.point_products import ComponentArrays, PointArrays, PointProducts
from ..kernels.threads import Threads
from .kernels.lightest_edges import NO_POSITION
from .kernels.nearest_points import weigh
from .kernels.product_filter import (
    UNKNOWN,
    Asking,
    Bounds,
    Candidates,
    Tile,
    fill_squares,
    filter_leaving,
    filter_near,
    finish_near,
)
from .neighbours import Neighbours
from .remote_points import NoRemotePoints, RemotePoints
from .search_steps import Report

# Rows and columns of a tile: its products, 8 MB, stay in the processor's cache.
ROWS, COLUMNS = 1024, 2048
# Candidates that a row can keep, for each neighbour and at least.
CAPACITY, LEAST_CAPACITY = 4, 64
CENTRE = 4096  # points whose mean is subtracted from all
UNIT_ROUNDING = 2.0**-24
SEED = 42
GRAIN = 16  # rows of a tile that are worth a thread


class ProductSearch:
    """Points in a random order, searched by products; see `PointSearch`.

    Parameters
    ----------
    products : PointProducts
        Of the host or of a device.
    rows : ndarray of uint32, shape (points,)
        See `random_order`.
    threads : Threads
    report : Report
    """

    def __init__(
        self,
        products: PointProducts,
        rows: np.ndarray,
        threads: Threads,
        report: Report,
    ) -> None:
        self.products, self.rows = products, rows
        self.threads, self.report = threads, report
        self.remote: RemotePoints = NoRemotePoints(len(rows))

    def neighbours(self, k: int, min_samples: int) -> Neighbours:
        """See `PointSearch.neighbours`."""
        distance, places = self.products.nearest(k, self.report)
        count = len(distance)
        doubled = np.flatnonzero(distance[:, 0] == 0)
        ranges = self.threads.ranges(count)
        for begin, end in ranges:
            np.sqrt(distance[begin:end], out=distance[begin:end])
        reach = distance[:, -1].copy() if k < count - 1 else np.full(count, np.inf)
        cores = np.zeros(count)
        if min_samples:
            cores = distance[:, min_samples - 1].copy()
            self.threads.map(weigh, [(distance, places, cores, *r) for r in ranges])
        return Neighbours(distance, places, cores, reach, doubled)

    def lightest(
        self, components: ComponentArrays, asked: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointSearch.lightest`."""
        return self.products.lightest(components, asked, self.report)


def random_order(count: int) -> np.ndarray:
    """Return the numbers of points in the order in which products take them.

    The first points that a row meets are a sample of all then, so its threshold soon
    passes few others.
    """
    return np.random.default_rng(SEED).permutation(count).astype(np.uint32)


class HostProducts:
    """Products by NumPy's BLAS, and kernels that filter them; see `PointProducts`.

    Parameters
    ----------
    points : PointArrays
        Finite, and scaled as `scale` asks for.
    threads : Threads
    """

    def __init__(self, points: PointArrays, threads: Threads) -> None:
        self.threads, self.exact = threads, points
        self.points, unit = _rounded(points)
        self.bounds = self._bounds(unit)

    def _bounds(self, unit: float) -> Bounds:
        count, dimensions = self.points.shape
        square = np.empty(count)
        ranges = self.threads.ranges(count, ROWS)
        self.threads.map(fill_squares, [(self.points, square, *r) for r in ranges])
        terms = (dimensions + 16) * UNIT_ROUNDING
        gamma, absolute = terms / (1 - terms), (dimensions + 16) * 2.0**-120
        half = (square / 2 * (1 - gamma)).astype(np.float32)
        return Bounds(square, half, gamma, absolute, unit)

    def nearest(self, k: int, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest`."""
        count = len(self.points)
        distance, places = np.empty((count, k)), np.empty((count, k), np.uint32)
        room = min(ROWS, count), max(LEAST_CAPACITY, CAPACITY * k)
        lists = Candidates(
            np.empty(room, np.float32),
            np.empty(room, np.uint32),
            np.full(room, UNKNOWN),
            np.empty(room[0], np.int64),
            np.empty(room[0], np.float32),
        )
        every = np.arange(count, dtype=np.uint32)
        for first in range(0, count, ROWS):
            report(first, count)
            rows = every[first : first + ROWS]
            lists.count[:], lists.threshold[:] = 0, -np.inf
            ranges = self.threads.ranges(len(rows), GRAIN, each=4)
            for tile in self._tiles(rows, first):
                given = tile, self.exact, self.bounds, lists, k
                self.threads.map(filter_near, [(*given, *r) for r in ranges])
            found = first, self.exact, self.bounds, lists, distance, places
            self.threads.map(finish_near, [(*found, *r) for r in ranges])
        report(count, count)
        return distance, places

    def lightest(
        self, components: ComponentArrays, asked: np.ndarray, report: Report
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest`."""
        bound = components.bound[components.of_place[asked]]
        asking = Asking(asked, np.full(len(asked), NO_POSITION), bound)
        for first in range(0, len(asked), ROWS):
            report(first, len(asked))
            rows = asked[first : first + ROWS]
            ranges = self.threads.ranges(len(rows), GRAIN, each=4)
            for tile in self._tiles(rows, first):
                given = tile, asking, components, self.exact, self.bounds
                self.threads.map(filter_leaving, [(*given, *r) for r in ranges])
        report(len(asked), len(asked))
        missing = asking.others == NO_POSITION
        return np.where(missing, asked, asking.others), asking.weight

    def _tiles(self, rows: np.ndarray, first: int) -> Iterator[Tile]:
        """Multiply some points with all points, tile by tile."""
        block, count = self.points[rows], len(self.points)
        room = np.empty(len(rows) * min(COLUMNS, count), np.float32)
        for column in range(0, count, COLUMNS):
            others = self.points[column : column + COLUMNS]
            product = room[: len(rows) * len(others)].reshape(len(rows), len(others))
            yield Tile(np.matmul(block, others.T, out=product), first, column)


def _rounded(exact: PointArrays) -> tuple[np.ndarray, float]:
    """Return the float32 points of `Bounds`, and the unit of their scores."""
    values, number = exact.values, exact.number
    count, dimensions = values.shape
    centre = _plain(exact, number[:CENTRE]).mean(axis=0)
    largest = max(
        float(np.abs(_plain(exact, number[begin : begin + CENTRE]) - centre).max())
        for begin in range(0, count, CENTRE)
    )
    factor = 1.0
    if largest > 0:
        exponent = math.frexp(largest)[1] + math.ceil(math.log2(dimensions) / 2)
        factor = math.ldexp(1.0, -exponent)
    points = np.empty((count, dimensions), np.float32)
    for begin in range(0, count, CENTRE):
        part = _plain(exact, number[begin : begin + CENTRE]) - centre
        points[begin : begin + CENTRE] = part * factor
    return points, factor * factor


def _plain(exact: PointArrays, rows: np.ndarray) -> np.ndarray:
    """Return the float64 coordinates of some rows, as distances take them."""
    plain = exact.values[rows].astype(np.float64)
    if len(exact.length):
        plain = plain / exact.largest[rows, None] / exact.length[rows, None]
    return plain
