"""The points of a version in many dimensions, searched by matrix products.

A product of the few points that search with all points leaves few pairs to compare; see
`search.product_search`. There is no structure but the points themselves.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...kernels.threads import Threads, each_range
from ..coordinates import divided_points, typed_points
from ..devices.point_products import PointArrays
from ..kernels.boruvka_steps import PointEdges
from ..kernels.changed_products import (
    PartVertices,
    improve_by_products,
    list_reached_columns,
)
from ..kernels.kd_tree import LEAF
from ..kernels.neighbour_lists import NeighbourLists, fill_lists
from ..kernels.product_filter import PairTile, Tile
from ..metrics import METRICS, prepared
from ..search.blas_threads import one_blas_thread
from ..search.product_search import (
    COLUMNS,
    ROWS,
    HostProducts,
    RoundedPoints,
    TileMemory,
)
from ..search.surplus_equals import EqualGroups
from .kept_lists import listed_positions
from .next_points import NextPoints
from .pair_distances import blocks, pair_distances
from .point_parts import (
    PointPairs,
    SourceSearch,
    first_edges_each,
    merge_nearer,
    positions_inside,
    sizes_of_groups,
)

# The metrics whose points are searched as they are, but for divisors. Points of others
# are searched as prepared, and each part has a copy of its own.
DIVIDED = ("euclidean", "cosine")
# Bytes of products that the rounds of a change keep: of 335 new points with 100,000.
KEPT = 1 << 27
# The tiles of some columns, which a search within these first edges needs.
TilesOf = Callable[[np.ndarray, PointEdges, TileMemory], Iterator[PairTile]]


@dataclass(frozen=True, eq=False)
class ProductPart:
    """Points for products, which are removed by NaN in their bounds; see `PointPart`.

    All parts of a version have one frame. Those of metrics in DIVIDED refer to the
    version's array of points.
    """

    search, cheap, small, near = "product", 1 << 7, 1 << 10, 128
    reachable = 1 << 13  # copies of a text: a fit would compare all pairs of points
    metric: str
    exact: PointArrays  # numbers are the version's rows
    rounded: RoundedPoints
    equal: EqualGroups  # by position, with removed points

    @classmethod
    def first(
        cls,
        points: np.ndarray,
        metric: str,
        neighbours: np.ndarray,
        threads: Threads,
    ) -> tuple["ProductPart", np.ndarray, NeighbourLists]:
        """Return the only part of a version, the row at each position, and its lists.

        `neighbours` has those of each row; see `PointForest`. Lists are complete up to
        ascending distances: a search of edges up to a weight compares the first
        positions, and need not copy points of single ones.
        """
        row = np.arange(len(points), dtype=np.uint32)
        if metric in DIVIDED:
            exact = PointArrays(*divided_points(points, metric, threads), row, row)
        else:
            exact = _prepared_points(points, metric, row, row)
        lists = NeighbourLists(
            np.empty(neighbours.shape), neighbours, np.empty(len(points))
        )
        ranges = each_range(threads.bounds(len(points), LEAF))
        threads.run(fill_lists, exact, lists, *ranges)
        row = np.argsort(lists.complete, kind="stable").astype(np.uint32)
        listed = listed_positions(neighbours, row)
        lists = NeighbourLists(lists.distance[row], listed, lists.complete[row])
        exact = exact._replace(source=row, point=row)
        products = HostProducts(exact, threads)
        return cls(metric, exact, products.rounded, products.equal), row, lists

    @property
    def size(self) -> int:
        """See `PointPart`."""
        return len(self.rounded.points)

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays that take memory, beside the version's points; see `PointPart`."""
        square, half, _ = self.rounded.bounds
        own = [self.exact.largest, self.exact.length]
        if self.metric not in DIVIDED:
            own.append(self.exact.values)
        return [self.rounded.points, square, half, *own, *self.equal]

    @property
    def group_sizes(self) -> np.ndarray:
        """See `PointPart`."""
        return sizes_of_groups(self.size)

    @property
    def walked(self) -> None:
        """See `PointPart`."""
        return None

    def of(
        self, points: NextPoints, rows: np.ndarray, threads: Threads
    ) -> tuple["ProductPart", np.ndarray]:
        """See `PointPart`."""
        row, own = rows.astype(np.uint32), points.at(rows)
        point = np.arange(len(rows), dtype=np.uint32)
        if self.metric in DIVIDED:
            _, largest, length = divided_points(own, self.metric, threads)
            exact = self._exact(points.all(), row, rows, largest, length)
        else:
            exact = _prepared_points(own, self.metric, point, row)
        rounded = RoundedPoints.within(self.rounded.frame, exact, threads)
        equal = HostProducts(exact, threads, rounded).equal
        return ProductPart(self.metric, exact, rounded, equal), point

    def moved(
        self,
        points: NextPoints,
        row: np.ndarray,
        removed: np.ndarray,
        threads: Threads,
    ) -> "ProductPart":
        """See `PointPart`."""
        bounds = self.rounded.bounds
        half = bounds.half.copy()
        half[removed] = np.nan
        stays = np.flatnonzero(~np.isnan(half))
        largest, length = self.exact.largest, self.exact.length
        if self.metric == "cosine":
            old = self.exact.source[stays]
            largest, length = largest[old], length[old]
        if self.metric in DIVIDED:
            exact = self._exact(points.all(), row, row[stays], largest, length)
        else:
            exact = self.exact._replace(point=row)
        rounded = self.rounded._replace(bounds=bounds._replace(half=half))
        return replace(self, exact=exact, rounded=rounded)

    def _exact(
        self,
        points: np.ndarray,
        row: np.ndarray,
        rows: np.ndarray,
        largest: np.ndarray,
        length: np.ndarray,
    ) -> PointArrays:
        """Return the version's points by position; present `rows` have the divisors."""
        if self.metric == "cosine":
            divisors = np.ones((2, len(points)))
            divisors[:, rows] = largest, length
            largest, length = divisors
        return PointArrays(typed_points(points), largest, length, row, row)

    def empty_coordinates(self, count: int) -> np.ndarray:
        """See `PointPart`."""
        return np.empty((count, self.rounded.points.shape[1]))

    def copy_coordinates(
        self,
        start: int,
        positions: np.ndarray,
        coordinates: np.ndarray,
        threads: Threads,
    ) -> None:
        """See `PointPart`."""
        index, inside = positions_inside(self, start, positions)

        def fill(begin: int, end: int) -> None:
            coordinates[index[begin:end]] = self.exact.coordinates(inside[begin:end])

        threads.map(fill, blocks(len(index)))

    def copy_distances(
        self,
        start: int,
        positions: np.ndarray,
        coordinates: np.ndarray,
        distance: np.ndarray,
        threads: Threads,
    ) -> None:
        """See `PointPart`."""
        index, inside = positions_inside(self, start, positions)
        points, norm = coordinates.__getitem__, METRICS[self.metric].norm
        distance[index] = pair_distances(
            points, index, self.exact.coordinates, inside, norm, threads
        )

    def improve_nearest(
        self,
        queries: np.ndarray,
        starts: np.ndarray,
        distance: np.ndarray,
        position: np.ndarray,
        start: np.uint32,
        threads: Threads,
    ) -> None:
        """See `PointPart`."""
        bound = np.full(len(queries), np.inf)
        k = distance.shape[1]
        found, at = self.products(threads).nearest_to(queries, bound, k)
        merge_nearer(distance, position, found, at + start)

    def reached(
        self, points: np.ndarray, reach: np.ndarray, most: int, threads: Threads
    ) -> PointPairs | None:
        """See `PointPart`."""
        if not self.rounded.frame.suits(points):
            return None
        products = self.products(threads)
        queries, rounded = products.queries(points, np.zeros(len(points), np.uint32))
        none = np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0)
        found: list[tuple[np.ndarray, ...]] = [none]
        counts = [0]

        def list_pairs(tile: Tile) -> tuple[np.ndarray, ...]:
            if sum(counts) > most:
                return none
            pairs = list_reached_columns(
                tile, queries, self.exact, self.rounded.bounds, reach, most
            )
            counts.append(len(pairs[0]))
            return pairs

        for begin in range(0, len(points), ROWS):
            rows = rounded[begin : begin + ROWS]
            found += products.each_tile(rows, begin, list_pairs)
        if sum(counts) > most:
            return None
        return PointPairs(*map(np.concatenate, zip(*found, strict=True)))

    def for_rounds(
        self, vertex: np.ndarray, to_new: np.ndarray, to_others: np.ndarray
    ) -> "ProductRounds":
        """See `PointPart`."""
        return ProductRounds(self)

    def products(self, threads: Threads) -> HostProducts:
        """Return the points as a search takes them."""
        return HostProducts(self.exact, threads, self.rounded, self.equal)


class ProductRounds:
    """The search of a part's points in the rounds of one change; see `RoundSearch`.

    Products with the points that search in all rounds are kept from round to round if
    all of them take up to KEPT bytes.
    """

    def __init__(self, part: ProductPart) -> None:
        """Search the points of a part."""
        self.part = part
        self.kept: dict[int, PairTile] = {}  # by the first of up to COLUMNS positions

    def raised(self, to_others: np.ndarray) -> "ProductRounds":
        """See `RoundSearch`."""
        return self

    def improve_first_edges(
        self,
        vertices: PartVertices,
        search: SourceSearch,
        first: PointEdges,
        threads: Threads,
    ) -> None:
        """See `RoundSearch`."""
        part, component, complete = self.part, search.component, search.complete
        of_position = vertices.of_vertex[vertices.vertex]
        lower_bound = np.maximum(
            vertices.lower_bound, vertices.vertex_bound[vertices.vertex]
        )
        lower_bound[np.isnan(part.rounded.bounds.half)] = np.inf
        products = part.products(threads)
        queries, rounded = products.queries(search.sources.points, search.sources.point)

        def improve(columns: np.ndarray, tiles_of: TilesOf) -> None:
            """Compare the sources with columns, each thread with some of these."""
            cuts = range(COLUMNS, len(columns), COLUMNS)
            blocks = np.split(columns, cuts) if len(columns) else []
            remaining = iter(blocks)

            def compare(own: PointEdges) -> None:
                memory = TileMemory(rounded.shape[1])
                for some in remaining:
                    for tile in tiles_of(some, own, memory):
                        improve_by_products(
                            tile,
                            queries,
                            part.exact,
                            part.rounded.bounds,
                            search.sources,
                            vertices,
                            component,
                            own,
                            int(search.both),
                        )

            count = max(1, min(threads.count, len(blocks)))
            with one_blas_thread(), first_edges_each(first, count) as edges:
                threads.map(compare, [(own,) for own in edges])

        def within_own(
            some: np.ndarray, own: PointEdges, memory: TileMemory
        ) -> Iterator[PairTile]:
            """Multiply sources of edges within the bounds of their own components."""
            least = np.maximum(complete, lower_bound[some].min())
            rows = np.flatnonzero(least <= own.weight[component]).astype(np.uint32)
            if len(rows):
                yield from products.pair_tiles(rounded, rows, some, memory)

        def within_theirs(
            some: np.ndarray, own: PointEdges, memory: TileMemory
        ) -> Iterator[PairTile]:
            """Multiply sources of edges within the bounds of the columns' ends."""
            largest = own.weight[of_position[some]].max()
            rows = np.flatnonzero(complete <= largest).astype(np.uint32)
            if len(rows):
                yield from products.pair_tiles(rounded, rows, some, memory)

        def all_kept(
            some: np.ndarray, own: PointEdges, memory: TileMemory
        ) -> Iterator[PairTile]:
            """Multiply all sources, once in all rounds."""
            begin = int(some[0])
            if begin not in self.kept:
                product = rounded @ part.rounded.points[begin : begin + len(some)].T
                rows = np.arange(len(rounded), dtype=np.uint32)
                self.kept[begin] = PairTile(product, rows, some)
            yield self.kept[begin]

        bound = first.weight[component]
        rows = complete <= bound
        within = lower_bound <= bound[rows].max(initial=-np.inf)
        if search.both and 4 * len(rounded) * part.size <= KEPT:
            within |= lower_bound <= first.weight[of_position]
            begins = np.arange(0, len(within), COLUMNS)
            needed = np.logical_or.reduceat(within, begins)
            columns = np.arange(len(within), dtype=np.uint32)
            improve(columns[np.repeat(needed, COLUMNS)[: len(within)]], all_kept)
            return
        own = component[rows]
        if len(own) and own.min() == own.max():
            within &= of_position != own[0]
        improve(np.flatnonzero(within).astype(np.uint32), within_own)
        if search.both:
            within = lower_bound <= first.weight[of_position]
            improve(np.flatnonzero(within).astype(np.uint32), within_theirs)


def _prepared_points(
    points: np.ndarray, metric: str, source: np.ndarray, row: np.ndarray
) -> PointArrays:
    """Return points as prepared for a metric, at `source` by position."""
    values = prepared(points.astype(np.float64, copy=False), metric)
    return PointArrays.undivided(values, source, row)
