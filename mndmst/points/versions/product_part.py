"""The points of a version in many dimensions, searched by matrix products.

A product of the few points that search with all points leaves few pairs to compare; see
`search.product_search`. There is no structure but the points themselves.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...kernels.threads import Threads, each_range
from ..coordinates import divided_points, typed_points
from ..devices.point_products import NO_POSITION, PointArrays
from ..kernels.boruvka_steps import PointEdges
from ..kernels.changed_products import (
    PartVertices,
    improve_by_products,
    list_reached_columns,
)
from ..kernels.kd_tree import LEAF
from ..kernels.neighbour_lists import NeighbourLists, fill_lists
from ..metrics import METRICS, prepared
from ..point_forest import neighbours_to_list
from ..search.product_search import (
    COLUMNS,
    ROWS,
    HostProducts,
    RoundedPoints,
    random_order,
)
from ..search.search_steps import no_report
from .pair_distances import blocks, pair_distances
from .point_parts import (
    FURTHER,
    PointPairs,
    SourceSearch,
    merge_nearer,
    positions_inside,
    sizes_of_groups,
)

# The metrics whose points are searched as they are, but for divisors. Points of others
# are searched as prepared, and each part has a copy of its own.
DIVIDED = ("euclidean", "cosine")


@dataclass(frozen=True, eq=False)
class ProductPart:
    """Points for products, which are removed by NaN in their bounds; see `PointPart`.

    All parts of a version have one frame. Those of metrics in DIVIDED refer to the
    version's array of points.
    """

    search, cheap, small, further = "product", 1 << 7, 1 << 10, FURTHER
    reachable = 1 << 13  # copies of a text: a fit would compare all pairs of points
    metric: str
    exact: PointArrays  # numbers are the version's rows
    rounded: RoundedPoints

    @classmethod
    def first(
        cls, points: np.ndarray, metric: str, threads: Threads
    ) -> tuple["ProductPart", np.ndarray]:
        """Return the only part of a version, and the row of each position (uint32)."""
        point = random_order(len(points))
        if metric in DIVIDED:
            divided = divided_points(points, metric, threads)
            exact = PointArrays(*divided, point, point)
        else:
            exact = _prepared_points(points, metric, point, point)
        return cls(metric, exact, RoundedPoints.of(exact, threads)), point

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
        return [self.rounded.points, square, half, *own]

    @property
    def group_sizes(self) -> np.ndarray:
        """See `PointPart`."""
        return sizes_of_groups(self.size)

    @property
    def walked(self) -> None:
        """See `PointPart`."""
        return None

    def of(
        self, points: np.ndarray, rows: np.ndarray, threads: Threads
    ) -> tuple["ProductPart", np.ndarray]:
        """See `PointPart`."""
        row = rows.astype(np.uint32)
        point = np.arange(len(rows), dtype=np.uint32)
        if self.metric in DIVIDED:
            _, largest, length = divided_points(points[rows], self.metric, threads)
            exact = self._exact(points, row, rows, largest, length)
        else:
            exact = _prepared_points(points[rows], self.metric, point, row)
        rounded = RoundedPoints.within(self.rounded.frame, exact, threads)
        return ProductPart(self.metric, exact, rounded), point

    def lists(
        self, order: int, neighbours: np.ndarray | None, threads: Threads
    ) -> NeighbourLists:
        """Return the lists of neighbours, at least `order` of each point.

        The part is the only one of its version. `neighbours` has its neighbours if they
        are known; see `PointForest`.
        """
        count, row = self.size, self.exact.point
        if neighbours is None:
            k = neighbours_to_list(0, order, count)
            position = self.products(threads).nearest(k, no_report)[1]
        else:
            position_of = np.empty(count, np.uint32)
            position_of[row] = np.arange(count, dtype=np.uint32)
            position = neighbours[row]
            listed = position != NO_POSITION
            position[listed] = position_of[position[listed]]
        distance, complete = np.empty(position.shape), np.empty(count)
        lists = NeighbourLists(distance, position, complete)
        ranges = each_range(threads.bounds(count, LEAF))
        threads.run(fill_lists, self.exact, lists, *ranges)
        return lists

    def moved(
        self,
        points: np.ndarray,
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
            exact = self._exact(points, row, row[stays], largest, length)
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
        found = [(np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0))]
        count = 0
        for begin in range(0, len(points), ROWS):
            block = rounded[begin : begin + ROWS]
            for tile in products.tiles(block, begin, 0, self.size):
                pairs = list_reached_columns(
                    tile, queries, self.exact, self.rounded.bounds, reach, most
                )
                count += len(pairs[0])
                if count > most:
                    return None
                found.append(pairs)
        return PointPairs(*map(np.concatenate, zip(*found, strict=True)))

    def for_rounds(
        self, vertex: np.ndarray, cores: np.ndarray, lower_bound: np.ndarray
    ) -> "ProductPart":
        """See `PointPart`."""
        return self

    def improve_first_edges(
        self,
        vertices: PartVertices,
        search: SourceSearch,
        first: PointEdges,
        threads: Threads,
    ) -> None:
        """See `RoundSearch`."""
        sources, component, complete = search.sources, search.component, search.complete
        of_position = vertices.of_vertex[vertices.vertex]
        lower_bound = np.maximum(
            vertices.lower_bound, vertices.vertex_bound[vertices.vertex]
        )
        lower_bound[np.isnan(self.rounded.bounds.half)] = np.inf
        products = self.products(threads)
        queries, rounded = products.queries(sources.points, sources.point)

        def improve(rows: np.ndarray, columns: np.ndarray) -> None:
            for tile in products.pair_tiles(rounded, rows, columns):
                improve_by_products(
                    tile,
                    queries,
                    self.exact,
                    self.rounded.bounds,
                    sources,
                    vertices,
                    component,
                    first,
                    int(search.both),
                )

        bound = first.weight[component]
        rows = np.flatnonzero(complete <= bound).astype(np.uint32)
        within = lower_bound <= bound[rows].max(initial=-np.inf)
        own = component[rows]
        if len(own) and own.min() == own.max():
            within &= of_position != own[0]
        columns = np.flatnonzero(within).astype(np.uint32)
        # Ascending, so that a row within a smaller bound is in the first tiles alone
        columns = columns[np.argsort(lower_bound[columns])]
        for begin in range(0, len(columns), COLUMNS):
            some = columns[begin : begin + COLUMNS]
            bound = first.weight[component[rows]]
            least = np.maximum(complete[rows], lower_bound[some[0]])
            rows = rows[least <= bound]
            if len(rows) == 0:
                break
            improve(rows, some)
        if search.both:
            bound = first.weight[of_position]
            within = lower_bound <= bound
            most = bound[within].max(initial=-np.inf)
            rows = np.flatnonzero(complete <= most).astype(np.uint32)
            improve(rows, np.flatnonzero(within).astype(np.uint32))

    def products(self, threads: Threads) -> HostProducts:
        """Return the points as a search takes them."""
        return HostProducts(self.exact, threads, self.rounded)


def _prepared_points(
    points: np.ndarray, metric: str, source: np.ndarray, row: np.ndarray
) -> PointArrays:
    """Return points as prepared for a metric, at `source` by position."""
    values = prepared(points.astype(np.float64, copy=False), metric)
    return PointArrays.undivided(values, source, row)
