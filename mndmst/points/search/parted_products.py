"""Products of points that exceed a device's memory: it holds one part at a time.

All points are queries to each part, as points of other ranks are.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ..devices.point_products import (
    NO_POSITION,
    ComponentArrays,
    PointArrays,
    PointExchange,
    PointProducts,
    RemoteQueries,
    Report,
)
from ..kernels.boruvka_steps import edge_keys
from .remote_points import merge_nearest
from .search_steps import no_report

BATCH_BYTES = 1 << 27  # of the float64 coordinates of queries that are sent at once


class PartedProducts:
    """Points of which one part at a time is on the device; see `PointProducts`.

    `make` puts a part on the device and returns its products. Raises its ConfigError
    for the first part.
    """

    most_components = passes = 0

    def __init__(
        self,
        points: PointArrays,
        make: Callable[[PointArrays], PointProducts],
        parts: int,
    ) -> None:
        self.points, self.count = points, len(points.source)
        size = -(-self.count // parts)
        self._parts = [
            slice(begin, min(begin + size, self.count))
            for begin in range(0, self.count, size)
        ]
        self._make = make
        # The part on the device
        self._current: tuple[slice, PointProducts] | None = None
        self._products(self._parts[0])
        self._batch = max(1, BATCH_BYTES // (8 * points.values.shape[1]))

    def _products(self, part: slice) -> PointProducts:
        """Return the products of a part; free those of another part before."""
        if self._current is None or self._current[0] != part:
            self._current = None
            arrays = self.points._replace(
                source=self.points.source[part], point=self.points.point[part]
            )
            self._current = part, self._make(arrays)
        return self._current[1]

    def _batches(
        self, count: int, report: Report
    ) -> Iterator[tuple[slice, PointProducts, slice]]:
        """Yield every part with its products, and every batch of `count` queries."""
        for i, part in enumerate(self._parts):
            products = self._products(part)
            for begin in range(0, count, self._batch):
                done = (i * count + begin) // len(self._parts)
                report(done, count)
                yield part, products, slice(begin, min(begin + self._batch, count))
        report(count, count)

    def nearest(self, k: int, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest`."""
        distance = np.full((self.count, k), np.inf)
        positions = np.full((self.count, k), NO_POSITION)
        for part, products, batch in self._batches(self.count, report):
            limits = distance[batch, -1]
            points = self.points.coordinates(batch)
            # One more than k: the point itself may be among them.
            nearest, ends = products.nearest_to(points, limits, k + 1)
            ends[ends != NO_POSITION] += np.uint32(part.start)
            queries = np.arange(batch.start, batch.stop, dtype=np.uint32)
            nearest[ends == queries[:, None]] = np.inf
            merge_nearest(distance[batch], positions[batch], nearest, ends)
        return distance, positions

    def nearest_to(
        self, points: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest_to`."""
        distance = np.full((len(points), k), np.inf)
        positions = np.full((len(points), k), NO_POSITION)
        for part, products, batch in self._batches(len(points), no_report):
            within = np.minimum(limits[batch], distance[batch, -1])
            nearest, ends = products.nearest_to(points[batch], within, k)
            ends[ends != NO_POSITION] += np.uint32(part.start)
            merge_nearest(distance[batch], positions[batch], nearest, ends)
        return distance, positions

    def lightest(
        self,
        components: ComponentArrays,
        queries: np.ndarray,
        bounded: bool,
        report: Report,
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest`."""
        component = components.of_position[queries]
        weight = np.full(len(queries), np.inf)
        if bounded:
            weight = components.bound[component]

        def queries_of(batch: slice) -> RemoteQueries:
            positions = queries[batch]
            return RemoteQueries(
                self.points.coordinates(positions),
                component[batch],
                components.cores[positions],
                self.points.point[positions],
                weight[batch],
            )

        return self._lightest(components, queries_of, weight, report)

    def lightest_to(
        self, components: ComponentArrays, queries: RemoteQueries
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest_to`."""
        weight = queries.bound.copy()

        def queries_of(batch: slice) -> RemoteQueries:
            part = RemoteQueries(*(column[batch] for column in queries))
            return part._replace(bound=weight[batch])

        return self._lightest(components, queries_of, weight, no_report)

    def between(
        self,
        components: ComponentArrays,
        least: np.ndarray,
        exchange: PointExchange,
        report: Report,
    ) -> None:
        """Return None: not all points are on the device."""

    def _lightest(
        self,
        components: ComponentArrays,
        queries_of: Callable[[slice], RemoteQueries],
        weight: np.ndarray,
        report: Report,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Search part by part; return the far ends and weights of the lightest edges.

        `weight` has upper bounds, which become the weights.
        """
        ends = np.full(len(weight), NO_POSITION)
        point = self.points.point
        for part, products, batch in self._batches(len(weight), report):
            of_part = ComponentArrays(
                components.of_position[part],
                components.cores[part],
                components.lower_bound[part],
                components.bound,
            )
            queries, known = queries_of(batch), ends[batch]
            new, new_weight = products.lightest_to(of_part, queries)
            has_edge, had_edge = new != NO_POSITION, known != NO_POSITION
            new[has_edge] += np.uint32(part.start)
            # Of two edges of equal weight the one of the smaller key stays.
            new_key = edge_keys(queries.point, point[np.where(has_edge, new, 0)])
            known_key = edge_keys(queries.point, point[np.where(had_edge, known, 0)])
            tied = has_edge & (new_weight == weight[batch])
            tied &= ~had_edge | (new_key < known_key)
            better = tied | (new_weight < weight[batch])
            ends[batch] = np.where(better, new, known)
            weight[batch] = np.where(better, new_weight, weight[batch])
        return ends, weight
