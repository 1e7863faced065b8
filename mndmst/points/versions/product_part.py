"""The points of a version in many dimensions, searched by matrix products.

A product of the few points that search with all points leaves few pairs to compare; see
`search.product_search`. There is no structure but the points themselves.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...kernels.threads import Threads
from ..coordinates import divided_points, typed_points
from ..devices.point_products import PointArrays
from ..kernels.boruvka_steps import PointEdges
from ..kernels.changed_points import EdgeSources
from ..kernels.changed_products import (
    PartVertices,
    improve_by_products,
    list_reached_columns,
)
from ..kernels.kd_tree import LEAF
from ..search.product_search import ROWS, HostProducts, RoundedPoints, random_order

# The metrics whose points are searched as they are, but for divisors.
DIVIDED = ("euclidean", "cosine")
# Sources that search together, in the order of their bounds: smaller ones exclude more
# points.
GROUP = 256


@dataclass(frozen=True, eq=False)
class ProductPart:
    """Points for products, which are removed by NaN in their bounds; see `PointPart`.

    All parts of a version have one frame, and refer to the version's array of points.
    """

    search = "product"
    metric: str
    point: np.ndarray
    # Values, divisors and numbers are those of the version's rows
    exact: PointArrays
    rounded: RoundedPoints

    @classmethod
    def first(cls, points: np.ndarray, metric: str, threads: Threads) -> "ProductPart":
        """Return the only part of a version."""
        point = random_order(len(points))
        values, largest, length = divided_points(points, metric, threads)
        exact = PointArrays(values, largest, length, point, point)
        return cls(metric, point, exact, RoundedPoints.of(exact, threads))

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays that take memory, beside the version's points; see `PointPart`."""
        square, half, _ = self.rounded.bounds
        divisors = [self.exact.largest, self.exact.length]
        return [self.point, self.rounded.points, square, half, *divisors]

    @property
    def group_sizes(self) -> np.ndarray:
        """See `PointPart`."""
        ends = np.append(np.arange(LEAF, len(self.point), LEAF), len(self.point))
        return np.diff(ends, prepend=0)

    def of(
        self, points: np.ndarray, rows: np.ndarray, threads: Threads
    ) -> "ProductPart":
        """See `PointPart`."""
        _, largest, length = divided_points(points[rows], self.metric, threads)
        row = rows.astype(np.uint32)
        exact = self._exact(points, row, rows, largest, length)
        rounded = RoundedPoints.within(self.rounded.frame, exact, threads)
        point = np.arange(len(rows), dtype=np.uint32)
        return ProductPart(self.metric, point, exact, rounded)

    def moved(
        self, points: np.ndarray, row: np.ndarray, removed: np.ndarray
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
        exact = self._exact(points, row, row[stays], largest, length)
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
        """Return the points by position; `rows`, those present, have these divisors."""
        if self.metric == "cosine":
            divisors = np.ones((2, len(points)))
            divisors[:, rows] = largest, length
            largest, length = divisors
        return PointArrays(typed_points(points), largest, length, row, row)

    def nearest(
        self, queries: np.ndarray, k: int, threads: Threads
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointPart`."""
        return self.products(threads).nearest_to(
            queries, np.full(len(queries), np.inf), k
        )

    def reached(
        self, points: np.ndarray, reach: np.ndarray, most: int, threads: Threads
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """See `PointPart`."""
        if not self.rounded.frame.suits(points):
            return None
        products = self.products(threads)
        queries, rounded = products.queries(points, np.zeros(len(points), np.uint32))
        found = [(np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0))]
        count = 0
        for begin in range(0, len(points), ROWS):
            block = rounded[begin : begin + ROWS]
            for tile in products.tiles(block, begin, 0, len(self.point)):
                pairs = list_reached_columns(
                    tile, queries, self.exact, self.rounded.bounds, reach, most
                )
                count += len(pairs[0])
                if count > most:
                    return None
                found.append(pairs)
        query, position, distance = map(np.concatenate, zip(*found, strict=True))
        return query, position, distance

    def improve_first_edges(
        self,
        vertices: PartVertices,
        sources: EdgeSources,
        starts: np.ndarray,
        component: np.ndarray,
        first: PointEdges,
        both: bool,
        threads: Threads,
    ) -> None:
        """See `PointPart`."""
        products = self.products(threads)
        queries, rounded = products.queries(sources.points, sources.point)
        bound = first.weight[component]
        lower_bound = np.maximum(
            vertices.lower_bound, vertices.vertex_bound[vertices.vertex]
        )
        order = np.argsort(bound, kind="stable").astype(np.uint32)
        for begin in range(0, len(order), GROUP):
            rows = order[begin : begin + GROUP]
            most = bound[rows[-1]]
            if both:
                most = np.maximum(
                    first.weight[vertices.of_vertex[vertices.vertex]], most
                )
            within = lower_bound <= most
            columns = np.flatnonzero(within & ~np.isnan(self.rounded.bounds.half))
            for tile in products.pair_tiles(rounded, rows, columns.astype(np.uint32)):
                improve_by_products(
                    tile,
                    queries,
                    self.exact,
                    self.rounded.bounds,
                    sources,
                    vertices,
                    component,
                    first,
                    int(both),
                )

    def products(self, threads: Threads) -> HostProducts:
        """Return the points as a search takes them."""
        return HostProducts(self.exact, threads, self.rounded)
