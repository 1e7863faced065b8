"""The points of a version in many dimensions on a device; see `ResidentPoints`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...backends import find_accelerator
from ...backends.base import DeviceMemoryError
from ...host.errors import ConfigError
from ...kernels.threads import Threads
from ..coordinates import PointCoordinates, point_coordinates
from ..devices import searches_on
from ..devices.point_products import (
    NO_POSITION,
    PairColumns,
    PairRows,
    PairsWithin,
    PointArrays,
    ResidentPoints,
)
from ..kernels.boruvka_steps import PointEdges, edge_keys, find_first_edges
from ..kernels.changed_points import take_earlier_edges
from ..kernels.changed_products import PartVertices
from ..kernels.kd_tree import LEAF
from ..search.product_search import random_order
from .point_parts import PointPairs, SourceSearch

MOST_ROWS = 1 << 14  # that search together: a few milliseconds between two signals


class DeviceRefusalError(Exception):
    """No device takes the points, or the queries of a search."""


@dataclass(frozen=True, eq=False)
class DevicePart:
    """Points on a device; see `PointPart`. Versions share one copy on the device.

    All methods raise DeviceRefusalError if the device cannot go on.
    """

    search, cheap = "device", 1 << 14
    metric: str
    listed: int  # the most neighbours that a search lists
    point: np.ndarray
    resident: ResidentPoints
    least: np.ndarray  # float64: infinite for removed points, else 0

    @classmethod
    def first(cls, points: PointCoordinates, metric: str, listed: int) -> "DevicePart":
        """Return a part with some points."""
        kind = find_accelerator("auto")[0]
        if kind is None or points.scale.factor != 1:
            raise DeviceRefusalError("no device takes these points")
        point = random_order(len(points.values))
        values = np.asarray(points.values)
        arrays = PointArrays(values, points.largest, points.length, point, point)
        try:
            resident = searches_on(kind).make_resident_points(arrays, listed)
        except (ConfigError, DeviceMemoryError) as error:
            raise DeviceRefusalError(str(error)) from error
        return cls(metric, listed, point, resident, np.zeros(len(point)))

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays that take memory of the host; see `PointPart`."""
        return [self.point, self.least]

    @property
    def group_sizes(self) -> np.ndarray:
        """See `PointPart`."""
        ends = np.append(np.arange(LEAF, len(self.point), LEAF), len(self.point))
        return np.diff(ends, prepend=0)

    def of(
        self, points: np.ndarray, rows: np.ndarray, threads: Threads
    ) -> "DevicePart":
        """See `PointPart`."""
        coordinates = point_coordinates(points[rows], self.metric, threads)
        return DevicePart.first(coordinates, self.metric, self.listed)

    def moved(
        self, points: np.ndarray, row: np.ndarray, removed: np.ndarray
    ) -> "DevicePart":
        """See `PointPart`. Rows keep their order, so ties on the device stay."""
        least = self.least.copy()
        least[removed] = np.inf
        return replace(self, least=least)

    def nearest(
        self,
        queries: np.ndarray,
        starts: np.ndarray,
        bound: np.ndarray,
        k: int,
        threads: Threads,
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointPart`."""
        return self._nearest(queries, k)

    def _nearest(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        vertex = np.zeros(len(self.point), np.uint32)
        none = np.full(1, -1.0)
        columns = PairColumns(vertex, self.least, np.zeros(1, np.uint32), none, none)
        try:
            return self.resident.nearest_to(queries, columns, k)
        except (ConfigError, DeviceMemoryError) as error:
            raise DeviceRefusalError(str(error)) from error

    def reached(
        self, points: np.ndarray, reach: np.ndarray, most: int, threads: Threads
    ) -> PointPairs | None:
        """See `PointPart`."""
        each = np.arange(len(self.point), dtype=np.uint32)
        columns = PairColumns(each, self.least, each, np.zeros(len(each)), reach)
        no_bound = np.full(len(points), -1.0)
        rows = PairRows(points, no_bound, np.full(len(points), NO_POSITION))
        found = [(np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0))]
        count = 0
        for some, pairs in self._pairs(
            len(points), lambda some: (rows.part(some), columns)
        ):
            distance = np.sqrt(pairs.square)
            near = distance <= reach[pairs.position]
            row = pairs.row[near] + np.uint32(some.start)
            found.append((row, pairs.position[near], distance[near]))
            count += len(row)
            if count > most:
                return None
        return PointPairs(*map(np.concatenate, zip(*found, strict=True)))

    def _pairs(
        self, count: int, wanted: Callable[[slice], tuple[PairRows, PairColumns]]
    ) -> Iterator[tuple[slice, PairsWithin]]:
        """Yield pairs of `count` rows, some rows at a time.

        `wanted` is called when rows begin to search. Where their pairs are too many,
        half of them search first.
        """
        begin, size = 0, MOST_ROWS
        while begin < count:
            some = slice(begin, min(begin + size, count))
            try:
                pairs = self.resident.pairs_within(*wanted(some))
            except (ConfigError, DeviceMemoryError) as error:
                raise DeviceRefusalError(str(error)) from error
            if pairs is None:
                size = (some.stop - some.start) // 2
                continue
            yield some, pairs
            begin, size = some.stop, min(2 * size, MOST_ROWS)

    def improve_first_edges(
        self,
        vertices: PartVertices,
        search: SourceSearch,
        first: PointEdges,
        threads: Threads,
    ) -> None:
        """See `PointPart`. The edges of some sources lower the bounds of the next."""
        sources, component = search.sources, search.component

        def offer(source: np.ndarray, position: np.ndarray, square: np.ndarray) -> None:
            """Take pairs of a source and a position as edges."""
            cores = np.maximum(sources.core[source], vertices.cores[position])
            edges = PointEdges(
                sources.vertex[source],
                vertices.vertex[position],
                np.maximum(np.sqrt(square), cores),
                edge_keys(sources.point[source], vertices.row[position]),
            )
            found = PointEdges.empty(len(first.weight))
            find_first_edges(edges, vertices.of_vertex, found)
            take_earlier_edges(first, found)

        # Without a bound, a source has a pair with each point. Near points give one.
        unbounded = np.flatnonzero(first.weight[component] == np.inf)
        if len(unbounded):
            square, position = self._nearest(sources.points[unbounded], self.listed)
            present = position != NO_POSITION
            source = np.repeat(unbounded, present.sum(axis=1))
            offer(source, position[present], square[present])
        least = np.maximum(vertices.lower_bound, vertices.cores)
        np.maximum(least, self.least, out=least)

        def wanted(some: slice) -> tuple[PairRows, PairColumns]:
            bound = first.weight[component[some]]
            bound[sources.core[some] > bound] = -1
            rows = PairRows(sources.points[some], bound, component[some])
            reach = first.weight if search.both else np.full(len(first.weight), -1.0)
            of_vertex, vertex_bound = vertices.of_vertex, vertices.vertex_bound
            return rows, PairColumns(
                vertices.vertex, least, of_vertex, vertex_bound, reach
            )

        for some, pairs in self._pairs(len(component), wanted):
            offer(some.start + pairs.row, pairs.position, pairs.square)
