"""The search of points by matrix products: exact, for many dimensions.

In many dimensions every query visits almost all of a k-d tree. Matrix products of
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

Since |A| |B| <= (|A|^2 + |B|^2) / 2, the sum of these is at most

    gamma / 2 (|A|^2 + |B|^2), gamma = (d + 16) u / (1 - (d + 16) u).

Numbers below 2^-126 may be rounded to zero. Each of the at most 2 d + 16 operations
adds at most 2^-126 then, and each coordinate 2^-126 times the other's, which is less
than (d + 16) 2^-120 in all: the absolute part of the bound.

Neighbours
----------
The product of a tile serves its rows and its columns, so each pair of points is
multiplied once, or twice if the candidates of both are not kept at the same time. A row
keeps the columns whose upper bound of the score is no smaller than the k-th largest
lower bound: every other column is further away than k others. If more columns lie
within the bounds than a row's list can hold, the k nearest stay. Float64 sums by vector
instructions, whose relative error near copies do not raise, leave few columns then; the
distances of these are computed in the order of the dimensions. So no input needs a
second search, however near its points are to each other. Of many equal points only the
smallest are listed (`EqualGroups`).

Components
----------
A round searches from all uncertain points (`search_rounds`). In clusters of equal size
these are nearly all points, in every round. If components are few, one pass over all
pairs of points finds the lightest edge between each two of them instead, and no point
searches again. Points are sorted by component for it, so that consecutive products are
compared with one threshold.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from ...kernels.edge_columns import concatenate, take_rows
from ...kernels.threads import Threads, each_range
from ...native.call_columns import PerCall
from ...native.precompile import compile_for
from ..devices.point_products import (
    NO_POSITION,
    ComponentArrays,
    EdgesBetween,
    PointArrays,
    PointExchange,
    PointProducts,
    ReceivedPoints,
    RemoteQueries,
    query_arrays,
)
from ..kernels.boruvka_steps import PointEdges
from ..kernels.product_filter import (
    Bounds,
    Candidates,
    PairTile,
    QueryRows,
    Searches,
    Tile,
    fill_squares,
    filter_between,
    filter_leaving,
    filter_near,
    filter_near_columns,
    finish_near,
    limit_near,
)
from ..kernels.short_rounds import RoundState
from .blas_threads import one_blas_thread
from .neighbours import Neighbours, weigh_neighbours
from .remote_points import RemotePoints
from .search_steps import Report, no_report
from .surplus_equals import EqualGroups

# Rows and columns of a tile: its products, 8 MB, stay in the processor's cache.
ROWS, COLUMNS = 1024, 2048
# Rows with candidate lists at the same time. A product of two of them serves both.
LISTED_ROWS = 1 << 15
# Candidates that a list holds, per neighbour and at least.
CAPACITY, LEAST_CAPACITY = 4, 64
CENTRE = 4096  # points whose mean is subtracted from all
UNIT_ROUNDING = 2.0**-24
SEED = 42
# Searches from at most this fraction of the points (1 / 32) are cheap: they take a
# sixteenth of the time of a pass over all pairs.
CHEAP_SHARE = 32
# Most pairs of components, per point, for a pass over all pairs of points.
MOST_PAIRS = 4
LONGEST = 2.0**40  # largest scaled coordinate of a point of another rank
GRAIN = 16  # smallest number of rows of a tile for a thread
PIECE = 256  # smallest number of rows or columns of a product for a thread

LEAST_SURPLUS = 3  # equal points: one list of a neighbour needs two of them

ResultT = TypeVar("ResultT")


class ProductSearch:
    """Search by products of points in a random order; see `PointSearch`."""

    def __init__(
        self,
        products: PointProducts,
        point: np.ndarray,
        remote: RemotePoints,
        threads: Threads,
        report: Report = no_report,
    ) -> None:
        self.products, self.point, self.remote = products, point, remote
        self.cheap = remote.total // CHEAP_SHARE
        self.threads, self.report = threads, report

    def neighbours(self, k: int, min_samples: int) -> Neighbours:
        """See `PointSearch.neighbours`."""
        remote, threads = self.remote, self.threads
        distance, positions = self.products.nearest(k, self.report)
        count = len(distance)
        remote.improve_neighbours(distance, positions)
        duplicates = np.flatnonzero(distance[:, 0] == 0)
        threads.map(
            lambda b, e: np.sqrt(distance[b:e], out=distance[b:e]),
            threads.ranges(count),
        )
        all_listed = k == remote.total - 1
        lower_bound = np.full(count, np.inf) if all_listed else distance[:, -1].copy()
        cores = np.zeros(count)
        if min_samples:
            cores = distance[:, min_samples - 1].copy()
            weigh_neighbours(distance, positions, cores, remote, threads)
        return Neighbours(distance, positions, cores, lower_bound, duplicates)

    def lightest(
        self, components: ComponentArrays, queries: np.ndarray, bounded: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointSearch.lightest`.

        Unless `bounded`, each point finds its own lightest edge, at no additional cost,
        so fewer points search in later rounds.
        """
        products, report = self.products, self.report
        ends, weight = products.lightest(components, queries, bounded, report)
        return np.where(ends == NO_POSITION, queries, ends), weight

    def join_few(
        self, state: RoundState, known: PointEdges
    ) -> tuple[PointEdges, PointEdges]:
        """Return no edges, and all known ones; see `PointSearch.join_few`."""
        return PointEdges.empty(0), known

    def between(
        self, components: ComponentArrays, known: PointEdges, uncertain: np.ndarray
    ) -> PointEdges | None:
        """See `PointSearch.between`; None if few points search."""
        # The component with the most uncertain points need not search: the searches of
        # the other components find its edges, too.
        if uncertain.sum() - uncertain.max() <= self.remote.total // 2:
            return None
        return self.pass_all(components, known)

    def pass_all(
        self, components: ComponentArrays, known: PointEdges
    ) -> PointEdges | None:
        """Return the edges of `between` by a pass over all pairs of points. Collective.

        A table has the weight of the lightest edge between each two components. Returns
        None on all ranks if the table is too large for one of them.
        """
        count, ranks = len(components.bound), self.remote.ranks
        passes = self.products.passes * (count <= self.products.most_components)
        if ranks.min(passes) == 0 or ranks.min(passes) < ranks.max(passes):
            return None
        least = np.full((count, count), np.inf)
        for ends in ((known.a, known.b), (known.b, known.a)):
            np.minimum.at(least, ends, known.weight)
        least = ranks.min(least)
        edges = self.products.between(components, least, self.remote, self.report)
        return None if edges is None else PointEdges(*edges)


def few_pairs(components: int, points: int) -> bool:
    """Return whether a table of all pairs of components is small beside the points."""
    return components * components <= MOST_PAIRS * points


def random_order(count: int) -> np.ndarray:
    """Return points in a random order.

    The first tiles of a row are a sample of all points then, after which few further
    points pass the row's threshold.
    """
    return np.random.default_rng(SEED).permutation(count).astype(np.uint32)


class ProductFrame(NamedTuple):
    """The centre and the power of two by which points are rounded to float32."""

    centre: np.ndarray
    factor: float

    def suits(self, points: np.ndarray) -> bool:
        """Return whether products of rounded points certainly do not overflow."""
        size = np.abs(points - self.centre).max(initial=0)
        return bool(size * self.factor <= LONGEST)

    def rounded(self, exact: PointArrays, threads: Threads) -> np.ndarray:
        """Return points less the centre, scaled, as float32."""
        points = np.empty((len(exact.source), len(self.centre)), np.float32)

        def fill(part: slice) -> None:
            points[part] = (exact.coordinates(part) - self.centre) * self.factor

        threads.map(fill, [(part,) for part in _parts(len(points))])
        return points


class RoundedPoints(NamedTuple):
    """Points as products take them, and the error bounds of their scores."""

    frame: ProductFrame
    points: np.ndarray  # float32
    bounds: Bounds

    @classmethod
    def of(
        cls, exact: PointArrays, threads: Threads, largest: float = 0.0
    ) -> "RoundedPoints":
        """Return points in a frame for them, and for coordinates up to `largest`.

        That is how far coordinates are from the centre.
        """
        step = max(1, len(exact.source) // CENTRE)
        centre = exact.coordinates(slice(0, CENTRE * step, step)).mean(axis=0)
        sizes = threads.map(
            lambda part: float(np.abs(exact.coordinates(part) - centre).max(initial=0)),
            [(part,) for part in _parts(len(exact.source))],
        )
        largest, factor = max(largest, *sizes), 1.0
        if largest > 0:
            dimensions = len(centre)
            exponent = math.frexp(largest)[1] + math.ceil(math.log2(dimensions) / 2)
            factor = math.ldexp(1.0, -exponent)
        return cls.within(ProductFrame(centre, factor), exact, threads)

    @classmethod
    def within(
        cls, frame: ProductFrame, exact: PointArrays, threads: Threads
    ) -> "RoundedPoints":
        """Return points in a given frame, which suits them."""
        points = frame.rounded(exact, threads)
        square, dimensions = squares_of(points, threads), points.shape[1]
        terms = (dimensions + 16) * UNIT_ROUNDING
        gamma, absolute = terms / (1 - terms), (dimensions + 16) * 2.0**-120
        half = (square / 2 * (1 - gamma)).astype(np.float32)
        numbers = np.array([gamma, absolute, frame.factor**2])
        return cls(frame, points, Bounds(square, half, numbers))


def squares_of(points: np.ndarray, threads: Threads) -> np.ndarray:
    """Return the squared lengths of float32 points, as float64."""
    square = np.empty(len(points))
    ranges = each_range(threads.bounds(len(points), ROWS))
    threads.run(fill_squares, points, square, *ranges)
    return square


class TileMemory:
    """Memory of the columns and of the products of a tile, for one thread."""

    def __init__(self, dimensions: int) -> None:
        self.columns = np.empty((COLUMNS, dimensions), np.float32)
        self.product = np.empty(ROWS * 3 * COLUMNS // 2, np.float32)


class HostProducts:
    """Products by NumPy's BLAS, and kernels that filter them; see `PointProducts`.

    Coordinates are finite, and scaled as `points/scale.py` says.
    """

    def __init__(
        self,
        points: PointArrays,
        threads: Threads,
        rounded: RoundedPoints | None = None,
        equal: EqualGroups | None = None,
    ) -> None:
        compile_for("products")
        self.threads, self.exact, self.passes = threads, points, 1
        self.most_components = math.isqrt(MOST_PAIRS * len(points.source))
        self._set(rounded or RoundedPoints.of(points, threads))
        self._equal = equal

    def _set(self, rounded: RoundedPoints) -> None:
        self.rounded = rounded
        self.points, self.bounds = rounded.points, rounded.bounds

    def queries(
        self, points: np.ndarray, point: np.ndarray
    ) -> tuple[QueryRows, np.ndarray]:
        """Return other points as rows for the kernels, and rounded points."""
        points = points.astype(np.float64, copy=False)
        if not self.rounded.frame.suits(points):
            size = np.abs(points - self.rounded.frame.centre).max()
            self._set(RoundedPoints.of(self.exact, self.threads, float(size)))
        exact = query_arrays(points, point)
        rounded = self.rounded.frame.rounded(exact, self.threads)
        square = squares_of(rounded, self.threads)
        return QueryRows(exact, square, exact.source, False), rounded

    def nearest(self, k: int, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest`."""
        count = len(self.points)
        all_positions = np.arange(count, dtype=np.uint32)
        queries = QueryRows(self.exact, self.bounds.square, all_positions, True)
        distance, positions = np.empty((count, k)), np.empty((count, k), np.uint32)
        lists, bounds = _candidates(min(LISTED_ROWS, count), k), self._listed(k)
        for begin in range(0, count, LISTED_ROWS):
            end = min(begin + LISTED_ROWS, count)
            _clear(lists)
            for first in range(begin, end, ROWS):
                report(begin + _progress(first - begin, end - begin), count)
                last = min(first + ROWS, end)
                block = self.points[first:last]
                row_lists = _slice(lists, first - begin, last - begin)
                for tile in self.tiles(block, first, first, end):
                    self._filter(tile, queries, bounds, row_lists, k)
                    self._filter_columns(tile, queries, bounds, lists, begin, k)
                for outside in ((0, begin), (end, count)):
                    for tile in self.tiles(block, first, *outside):
                        self._filter(tile, queries, bounds, row_lists, k)
            used = _slice(lists, 0, end - begin)
            self._finish(begin, queries, used, distance, positions)
        report(count, count)
        return distance, positions

    def nearest_to(
        self, points: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest_to`."""
        queries, rounded = self.queries(points, np.zeros(len(points), np.uint32))
        count = len(points)
        distance, positions = np.empty((count, k)), np.empty((count, k), np.uint32)
        all_lists, bounds = _candidates(min(ROWS, count), k), self._listed(k)
        for first in range(0, count, ROWS):
            lists = _slice(all_lists, 0, min(ROWS, count - first))
            _clear(lists)
            self.threads.run(
                limit_near,
                first,
                queries,
                self.bounds,
                lists,
                limits,
                *self._ranges(len(lists.count)),
            )
            block = rounded[first : first + ROWS]
            for tile in self.tiles(block, first, 0, len(self.points)):
                self._filter(tile, queries, bounds, lists, k)
            self._finish(first, queries, lists, distance, positions)
        return distance, positions

    def _ranges(self, count: int) -> tuple[PerCall, PerCall]:
        """Return ranges of the rows or columns of a tile, several per thread."""
        return each_range(self.threads.bounds(count, GRAIN, each=4))

    @property
    def equal(self) -> EqualGroups:
        """The groups of equal points that some list of neighbours may not need."""
        if self._equal is None:
            self._equal = EqualGroups.of(
                self.exact.coordinates, self.bounds.square, LEAST_SURPLUS
            )
        return self._equal

    def _listed(self, k: int) -> Bounds:
        """Return bounds with which no list of k neighbours has surplus equals."""
        half = self.bounds.half
        surplus = self.equal.surplus(k, self.exact.point, ~np.isnan(half))
        if len(surplus):
            half = half.copy()
            half[surplus] = np.nan
        return self.bounds._replace(half=half)

    def _filter(
        self,
        tile: Tile,
        queries: QueryRows,
        bounds: Bounds,
        lists: Candidates,
        k: int,
    ) -> None:
        """Add the columns of a tile to the candidates of its rows."""
        self.threads.run(
            filter_near,
            tile,
            queries,
            self.exact,
            bounds,
            lists,
            k,
            *self._ranges(len(tile.product)),
        )

    def _filter_columns(
        self,
        tile: Tile,
        queries: QueryRows,
        bounds: Bounds,
        lists: Candidates,
        begin: int,
        k: int,
    ) -> None:
        """Add the rows of a tile to the candidates of the columns at later positions.

        `lists` has the candidates of the positions from `begin` on.
        """
        rows, columns = tile.product.shape
        later = max(0, tile.first_row + rows - tile.first_column)
        if later >= columns:
            return
        first = tile.first_column - begin
        column_lists = _slice(lists, first, first + columns)
        ranges = each_range(later + self.threads.bounds(columns - later, GRAIN))
        self.threads.run(
            filter_near_columns,
            tile,
            queries,
            self.exact,
            bounds,
            column_lists,
            k,
            *ranges,
        )

    def _finish(
        self,
        first: int,
        queries: QueryRows,
        lists: Candidates,
        distance: np.ndarray,
        positions: np.ndarray,
    ) -> None:
        """Write the nearest neighbours of the rows whose candidates are in lists."""
        self.threads.run(
            finish_near,
            first,
            queries,
            self.exact,
            self.bounds,
            lists,
            distance,
            positions,
            *self._ranges(len(lists.count)),
        )

    def lightest(
        self,
        components: ComponentArrays,
        queries: np.ndarray,
        bounded: bool,
        report: Report,
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest`."""
        rows = QueryRows(self.exact, self.bounds.square, queries, True)
        bound = np.full(len(queries), np.inf)
        if bounded:
            bound = components.bound[components.of_position[queries]]
        ends = np.full(len(queries), NO_POSITION)
        searches = Searches(
            components.of_position, components.cores, ends, bound, bounded
        )
        return self._lightest(rows, self.points, searches, components, report)

    def lightest_to(
        self, components: ComponentArrays, queries: RemoteQueries
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest_to`."""
        rows, rounded = self.queries(queries.points, queries.point)
        ends = np.full(len(queries.bound), NO_POSITION)
        searches = Searches(
            queries.component, queries.core, ends, queries.bound.copy(), False
        )
        return self._lightest(rows, rounded, searches, components, no_report)

    def _lightest(
        self,
        queries: QueryRows,
        rounded: np.ndarray,
        searches: Searches,
        components: ComponentArrays,
        report: Report,
    ) -> tuple[np.ndarray, np.ndarray]:
        count = len(queries.positions)
        for first in range(0, count, ROWS):
            report(first, count)
            rows = queries.positions[first : first + ROWS]
            ranges = self._ranges(len(rows))
            for tile in self.tiles(rounded[rows], first, 0, len(self.points)):
                self.threads.run(
                    filter_leaving,
                    tile,
                    queries,
                    searches,
                    components,
                    self.exact,
                    self.bounds,
                    *ranges,
                )
        report(count, count)
        return searches.ends, searches.weight

    def between(
        self,
        components: ComponentArrays,
        least: np.ndarray,
        exchange: PointExchange,
        report: Report,
    ) -> EdgesBetween:
        """See `PointProducts.between`."""
        searching = np.flatnonzero(components.lower_bound < np.inf)
        order = searching[np.argsort(components.of_position[searching], kind="stable")]
        order = order.astype(np.uint32)
        edges = [self._between(order, order, components, least, report)]
        for received, compared in exchange.received(order, components):
            for begin in range(0, compared, LISTED_ROWS):
                local = order[begin : min(begin + LISTED_ROWS, compared)]
                edges.append(self._between_received(received, local, components, least))
        return EdgesBetween(*PointEdges.concatenate(edges))

    def _between_received(
        self,
        received: ReceivedPoints,
        positions: np.ndarray,
        components: ComponentArrays,
        least: np.ndarray,
    ) -> PointEdges:
        """Return the lightest edges between components of received and of local points.

        Copies both to products of their own, which takes little time beside the
        multiplications.
        """
        local = self.exact
        values = local.values[local.source[positions]]
        values = np.concatenate([values, received.points])
        both = query_arrays(values, np.append(local.point[positions], received.point))
        together = ComponentArrays(
            np.append(components.of_position[positions], received.component),
            np.append(components.cores[positions], received.core),
            np.append(components.lower_bound[positions], received.lower_bound),
            components.bound,
        )
        columns, rows = np.split(both.source, [len(positions)])
        products = HostProducts(both, self.threads)
        return products._between(rows, columns, together, least, no_report)

    def _between(
        self,
        order: np.ndarray,
        others: np.ndarray,
        components: ComponentArrays,
        least: np.ndarray,
        report: Report,
    ) -> PointEdges:
        """Return the lightest edges between the components of two lists of positions.

        Positions are in the order of their components. If both lists are one object,
        each pair of its positions is compared once.
        """
        edges, buffer = [PointEdges.empty(0)], np.empty(ROWS * COLUMNS, np.float32)
        of_position, count = components.of_position, len(order)
        for first in range(0, count, ROWS):
            report(_progress(first, count), count)
            rows = order[first : first + ROWS]
            for column in range(first if order is others else 0, len(others), COLUMNS):
                columns = others[column : column + COLUMNS]
                ends = of_position[[rows[0], rows[-1], columns[0], columns[-1]]]
                if ends.min() == ends.max():
                    continue  # all positions of the tile are in one component
                block, other = self.points[rows], self.points[columns]
                tile = PairTile(self._multiply(block, other, buffer), rows, columns)
                parts = self.threads.run(
                    filter_between,
                    tile,
                    components,
                    least,
                    self.exact,
                    self.bounds,
                    *self._ranges(len(rows)),
                )
                a, b, weight, key = concatenate(parts, self.threads)
                edges.append(PointEdges(of_position[a], of_position[b], weight, key))
        report(count, count)
        return PointEdges.concatenate(edges)

    def tiles(
        self, block: np.ndarray, first: int, begin: int, end: int
    ) -> Iterator[Tile]:
        """Multiply some rounded rows with the points [begin, end), tile by tile."""
        buffer = np.empty(len(block) * min(COLUMNS, end - begin), np.float32)
        for column in range(begin, end, COLUMNS):
            others = self.points[column : min(column + COLUMNS, end)]
            yield Tile(self._multiply(block, others, buffer), first, column)

    def each_tile(
        self, rows: np.ndarray, first: int, work: Callable[[Tile], ResultT]
    ) -> list[ResultT]:
        """Return `work` of each tile of some rounded rows with all points, in order.

        `first` is the index of the first row. Each thread multiplies columns of its
        own, so `work` runs on several threads. A tile is valid during its call.
        """
        begins, found = range(0, len(self.points), COLUMNS), {}
        remaining = iter(begins)

        def multiply() -> None:
            buffer = np.empty(len(rows) * COLUMNS, np.float32)
            for begin in remaining:
                others = self.points[begin : begin + COLUMNS]
                found[begin] = work(Tile(_product(rows, others, buffer), first, begin))

        with one_blas_thread():
            self.threads.map(multiply, [()] * min(self.threads.count, len(begins)))
        return [found[begin] for begin in begins]

    def pair_tiles(
        self,
        rounded: np.ndarray,
        rows: np.ndarray,
        columns: np.ndarray,
        memory: TileMemory,
    ) -> Iterator[PairTile]:
        """Multiply some rounded points, named by `rows`, with those at `columns`.

        There are at most COLUMNS ascending columns; if most positions between them are
        columns, tiles have all these. A tile is valid until the next one in this
        memory. For one of the threads that search: the caller limits BLAS to one.
        """
        begin, end = int(columns[0]), int(columns[-1]) + 1
        if 2 * (end - begin) <= 3 * len(columns):
            columns = np.arange(begin, end, dtype=np.uint32)
            others = self.points[begin:end]
        else:
            others = memory.columns[: len(columns)]
            take_rows(self.points, columns, others, 0, len(columns))
        for first in range(0, len(rows), ROWS):
            some = rows[first : first + ROWS]
            product = _product(rounded[some], others, memory.product)
            yield PairTile(product, some, columns)

    def _multiply(
        self, block: np.ndarray, others: np.ndarray, buffer: np.ndarray
    ) -> np.ndarray:
        """Return the inner products of rounded points, written to `buffer`."""
        product = _matrix(buffer, len(block), len(others))

        def fill(row: int, last_row: int, column: int, last_column: int) -> None:
            np.matmul(
                block[row:last_row],
                others[column:last_column].T,
                out=product[row:last_row, column:last_column],
            )

        rows, columns = (self.threads.ranges(len(x), PIECE) for x in (block, others))
        with one_blas_thread():
            self.threads.map(fill, [(*r, *c) for r in rows for c in columns])
        return product


def _product(block: np.ndarray, others: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    """Return the inner products of rounded points, written to `buffer`."""
    product = _matrix(buffer, len(block), len(others))
    return np.matmul(block, others.T, out=product)


def _matrix(buffer: np.ndarray, rows: int, columns: int) -> np.ndarray:
    return buffer[: rows * columns].reshape(rows, columns)


def _progress(rows: int, count: int) -> int:
    """Return how many of `count` equal parts of all products the first rows take.

    Each row is multiplied with the rows from itself on, so the first take the most.
    """
    return rows * (2 * count - rows) // count


def _candidates(rows: int, k: int) -> Candidates:
    """Return uninitialized candidate lists of rows."""
    shape = rows, max(LEAST_CAPACITY, CAPACITY * k)
    return Candidates(
        np.empty(shape, np.float32),
        np.empty(shape, np.uint32),
        np.empty(shape),
        np.empty(rows, np.int64),
        np.empty(rows, np.float32),
    )


def _clear(lists: Candidates) -> None:
    lists.count[:], lists.threshold[:] = 0, -np.inf


def _slice(lists: Candidates, first: int, last: int) -> Candidates:
    """Return the candidates of the rows [first, last)."""
    return Candidates(*(column[first:last] for column in lists))


def _parts(count: int) -> list[slice]:
    return [slice(begin, begin + CENTRE) for begin in range(0, count, CENTRE)]
