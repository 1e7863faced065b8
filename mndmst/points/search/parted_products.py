"""Products of points that a device takes part by part, because its memory is small.

All points are queries to each part, as points of other ranks are.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ..devices.point_products import (
    NO_POSITION,
    ComponentArrays,
    PointArrays,
    PointExchange,
    QueriedProducts,
    RemoteQueries,
    Report,
)
from ..ranks.remote_points import key_of, merge_nearest
from .search_steps import no_report

BATCH_BYTES = 1 << 27  # of the float64 coordinates of queries that search together


class PartedProducts:
    """Points of which one part at a time is on the device; see `PointProducts`.

    `make` returns the products of a part. Raises ConfigError if the first part cannot
    be made.
    """

    most_components = passes = 0

    def __init__(
        self,
        points: PointArrays,
        make: Callable[[PointArrays], QueriedProducts],
        parts: int,
    ) -> None:
        self.points, self.count = points, len(points.source)
        size = -(-self.count // parts)
        self._parts = [
            slice(begin, min(begin + size, self.count))
            for begin in range(0, self.count, size)
        ]
        self._make = make
        self._made: tuple[slice, QueriedProducts] | None = None
        self._products(self._parts[0])
        self._batch = max(1, BATCH_BYTES // (8 * points.values.shape[1]))

    def _products(self, part: slice) -> QueriedProducts:
        """Return the products of a part; those of another are freed before."""
        if self._made is None or self._made[0] != part:
            self._made = None
            arrays = self.points._replace(
                source=self.points.source[part], point=self.points.point[part]
            )
            self._made = part, self._make(arrays)
        return self._made[1]

    def _turns(
        self, count: int, report: Report
    ) -> Iterator[tuple[slice, QueriedProducts, slice]]:
        """Yield each part with its products, and each batch of queries."""
        for turn, part in enumerate(self._parts):
            products = self._products(part)
            for begin in range(0, count, self._batch):
                done = (turn * count + begin) // len(self._parts)
                report(done, count)
                yield part, products, slice(begin, min(begin + self._batch, count))
        report(count, count)

    def nearest(self, k: int, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest`."""
        distance = np.full((self.count, k), np.inf)
        positions = np.full((self.count, k), NO_POSITION)
        for part, products, batch in self._turns(self.count, report):
            # One more than k, since a point may find itself.
            limits = distance[batch, -1]
            points = self.points.plain(batch)
            far, near = products.nearest_to(points, limits, k + 1)
            near[near != NO_POSITION] += np.uint32(part.start)
            own = np.arange(batch.start, batch.stop, dtype=np.uint32)
            far[near == own[:, None]] = np.inf
            merge_nearest(distance[batch], positions[batch], far, near)
        return distance, positions

    def nearest_to(
        self, points: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest_to`."""
        distance = np.full((len(points), k), np.inf)
        positions = np.full((len(points), k), NO_POSITION)
        for part, products, batch in self._turns(len(points), no_report):
            within = np.minimum(limits[batch], distance[batch, -1])
            far, near = products.nearest_to(points[batch], within, k)
            near[near != NO_POSITION] += np.uint32(part.start)
            merge_nearest(distance[batch], positions[batch], far, near)
        return distance, positions

    def lightest(
        self,
        components: ComponentArrays,
        asked: np.ndarray,
        bounded: bool,
        report: Report,
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest`."""
        component = components.of_position[asked]
        weight = np.full(len(asked), np.inf)
        if bounded:
            weight = components.bound[component]

        def queries(batch: slice) -> RemoteQueries:
            positions = asked[batch]
            return RemoteQueries(
                self.points.plain(positions),
                component[batch],
                components.cores[positions],
                self.points.point[positions],
                weight[batch],
            )

        return self._lightest(components, queries, weight, report)

    def lightest_to(
        self, components: ComponentArrays, queries: RemoteQueries
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest_to`."""
        weight = queries.bound.copy()

        def chosen(batch: slice) -> RemoteQueries:
            part = RemoteQueries(*(column[batch] for column in queries))
            return part._replace(bound=weight[batch])

        return self._lightest(components, chosen, weight, no_report)

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
        queries: Callable[[slice], RemoteQueries],
        weight: np.ndarray,
        report: Report,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower the weights of queries, part by part; return the far ends, too."""
        others = np.full(len(weight), NO_POSITION)
        point = self.points.point
        for part, products, batch in self._turns(len(weight), report):
            here = ComponentArrays(
                components.of_position[part],
                components.cores[part],
                components.reach[part],
                components.bound,
            )
            asking = queries(batch)
            ends, low = products.lightest_to(here, asking)
            has = ends != NO_POSITION
            ends[has] += np.uint32(part.start)
            known = others[batch]
            # Of two edges of one weight the first in the order stays.
            key = key_of(asking.point, point[np.where(has, ends, 0)])
            first = key_of(
                asking.point, point[np.where(known == NO_POSITION, 0, known)]
            )
            tied = has & (low == weight[batch])
            tied &= (known == NO_POSITION) | (key < first)
            better = tied | (low < weight[batch])
            others[batch] = np.where(better, ends, known)
            weight[batch] = np.where(better, low, weight[batch])
        return others, weight
