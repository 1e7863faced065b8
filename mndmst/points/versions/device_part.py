"""The points of a version in many dimensions on a device; see `ResidentPoints`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

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
from ..kernels.neighbour_lists import NeighbourLists
from ..kernels.norms import LARGEST
from ..search.product_search import random_order
from .kept_lists import listed_positions
from .next_points import NextPoints
from .point_parts import (
    PointPairs,
    SourceSearch,
    merge_nearer,
    positions_inside,
    sizes_of_groups,
)

MOST_ROWS = 1 << 14  # that search together: a few milliseconds between two signals
# Points that search the first bounds of components without an edge, or one of each.
BOUNDING = 1 << 10


class DeviceRefusalError(Exception):
    """No device takes the points, or the queries of a search."""


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise errors of the device as DeviceRefusalError."""
    try:
        yield
    except (ConfigError, DeviceMemoryError) as error:
        raise DeviceRefusalError(str(error)) from error


@dataclass(frozen=True, eq=False)
class DevicePart:
    """Points on a device; see `PointPart`. Versions share one copy on the device.

    All methods raise DeviceRefusalError if the device cannot go on.
    """

    search, cheap, small, reachable, near = "device", 1 << 14, 1 << 15, 1 << 9, 0
    metric: str
    listed: int  # the most neighbours that a search lists
    resident: ResidentPoints
    each: np.ndarray  # uint32, on the device: all positions
    least: np.ndarray  # float64: infinite for removed points, else 0
    present: np.ndarray  # `least` on the device

    @classmethod
    def first(
        cls, points: PointCoordinates, metric: str, listed: int
    ) -> tuple["DevicePart", np.ndarray]:
        """Return a part with points, and the point at each position (uint32)."""
        kind = find_accelerator("auto")[0]
        if kind is None or points.scale.factor != 1:
            raise DeviceRefusalError("no device takes these points")
        point = random_order(len(points.values))
        values = np.asarray(points.values)
        arrays = PointArrays(values, points.largest, points.length, point, point)
        with _refusals():
            resident = searches_on(kind).make_resident_points(arrays, listed)
            each = resident.upload(np.arange(len(point), dtype=np.uint32))
            present = resident.upload(least := np.zeros(len(point)))
        return cls(metric, listed, resident, each, least, present), point

    @property
    def size(self) -> int:
        """See `PointPart`."""
        return len(self.least)

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays that take memory of the host; see `PointPart`."""
        return [self.least]

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
    ) -> tuple["DevicePart", np.ndarray]:
        """See `PointPart`."""
        coordinates = point_coordinates(points.at(rows), self.metric, threads)
        return DevicePart.first(coordinates, self.metric, self.listed)

    def moved(
        self,
        points: NextPoints,
        row: np.ndarray,
        removed: np.ndarray,
        threads: Threads,
    ) -> "DevicePart":
        """See `PointPart`. Rows keep their order, so ties on the device stay."""
        least = self.least.copy()
        least[removed] = np.inf
        with _refusals():
            return replace(self, least=least, present=self.resident.upload(least))

    def empty_coordinates(self, count: int) -> np.ndarray:
        """See `PointPart`."""
        with _refusals():
            return self.resident.empty_points(count)

    def copy_coordinates(
        self,
        start: int,
        positions: np.ndarray,
        coordinates: np.ndarray,
        threads: Threads,
    ) -> None:
        """See `PointPart`."""
        index, inside = positions_inside(self, start, positions)
        with _refusals():
            self.resident.copy_points(inside, index, coordinates)

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
        with _refusals():
            squares = self.resident.squares(coordinates, index, inside)
        distance[index] = np.sqrt(squares)

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
        present = self.present
        columns = PairColumns(self.each, present, self.each, present, present)
        found, at = self.nearest_among(queries, distance.shape[1], columns)
        merge_nearer(distance, position, found, at + start)

    def nearest_among(
        self, queries: np.ndarray, k: int, columns: PairColumns
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest columns; see `ResidentPoints.nearest_to`."""
        with _refusals():
            return self.resident.nearest_to(queries, columns, k)

    def reached(
        self, points: np.ndarray, reach: np.ndarray, most: int, threads: Threads
    ) -> PointPairs | None:
        """See `PointPart`."""
        present = self.present
        columns = PairColumns(self.each, present, self.each, present, reach)
        no_bound = np.full(len(points), -1.0)
        rows = PairRows(points, no_bound, np.full(len(points), NO_POSITION))
        found = [(np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0))]
        count = 0
        for some, pairs in self.pairs(
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

    def lists(self, neighbours: np.ndarray, rows: np.ndarray) -> NeighbourLists:
        """Return the lists of all positions of a part that has all points of a version.

        `neighbours` has those of each row (see `PointForest`), and `rows` the row at
        each position.
        """
        listed = listed_positions(neighbours, rows)
        distance, is_listed = np.full(listed.shape, LARGEST), listed != NO_POSITION
        for begin in range(0, self.size, MOST_ROWS):
            some = slice(begin, min(begin + MOST_ROWS, self.size))
            positions = np.arange(some.start, some.stop, dtype=np.uint32)
            row, near = np.nonzero(is_listed[some])[0], listed[some][is_listed[some]]
            with _refusals():
                points = self.resident.empty_points(len(positions))
                self.resident.copy_points(positions, positions - begin, points)
                squares = self.resident.squares(points, row, near)
            distance[some][is_listed[some]] = np.sqrt(squares)
        last = np.count_nonzero(is_listed, axis=1) - 1
        complete = distance[np.arange(self.size), last]
        return NeighbourLists(distance, listed, complete)

    def pairs(
        self, count: int, wanted: Callable[[slice], tuple[PairRows, PairColumns]]
    ) -> Iterator[tuple[slice, PairsWithin]]:
        """Yield pairs of `count` rows, some rows at a time.

        `wanted` is called when rows begin to search. Where their pairs are too many,
        half of them search first.
        """
        begin, size = 0, MOST_ROWS
        while begin < count:
            some = slice(begin, min(begin + size, count))
            with _refusals():
                pairs = self.resident.pairs_within(*wanted(some))
            if pairs is None:
                size = (some.stop - some.start) // 2
                continue
            yield some, pairs
            begin, size = some.stop, min(2 * size, MOST_ROWS)

    def for_rounds(
        self, vertex: np.ndarray, to_new: np.ndarray, to_others: np.ndarray
    ) -> "DeviceRounds":
        """See `PointPart`."""
        bounds = (np.maximum(bound, self.least) for bound in (to_new, to_others))
        with _refusals():
            uploaded = map(self.resident.upload, (vertex, *bounds))
            return DeviceRounds(self, vertex, *uploaded)


@dataclass(frozen=True, eq=False)
class DeviceRounds:
    """The search of a `DevicePart` in rounds; see `RoundSearch`.

    The columns are on the device, by position, and the same in all rounds.
    """

    part: DevicePart
    on_host: np.ndarray  # uint32: the vertices
    vertex: np.ndarray  # uint32
    # float64: lower bounds of edges to new points, and to others; infinite for removed
    # points
    to_new: np.ndarray
    to_others: np.ndarray

    def raised(self, to_others: np.ndarray) -> "DeviceRounds":
        """See `RoundSearch`."""
        with _refusals():
            return replace(self, to_others=self.part.resident.upload(to_others))

    def improve_first_edges(
        self,
        vertices: PartVertices,
        search: SourceSearch,
        first: PointEdges,
        threads: Threads,
    ) -> None:
        """See `RoundSearch`. The edges of some sources lower the bounds of the next."""
        part, sources, component = self.part, search.sources, search.component

        def offer(source: np.ndarray, position: np.ndarray, square: np.ndarray) -> None:
            """Take pairs of a source and a position as edges."""
            cores = np.maximum(sources.core[source], vertices.cores[position])
            edges = PointEdges(
                sources.vertex[source],
                vertices.vertex[position],
                np.maximum(np.sqrt(square), cores),
                edge_keys(sources.point[source], vertices.row[position]),
            )
            _take_edges(edges, vertices, first)

        # Without a bound, a source has a pair with each point. Near points give one.
        self._bound_components(vertices, first, threads)
        unbounded = np.flatnonzero(first.weight[component] == np.inf)
        if len(unbounded):
            every = np.ones(len(vertices.of_vertex), np.bool_)
            columns = self._columns(vertices.of_vertex, every)
            square, position = part.nearest_among(sources.points, part.listed, columns)
            square, position = square[unbounded], position[unbounded]
            present = position != NO_POSITION
            source = np.repeat(unbounded, present.sum(axis=1))
            offer(source, position[present], square[present])

        known_to = np.maximum(sources.core, search.complete)

        def wanted(some: slice) -> tuple[PairRows, PairColumns]:
            bound = first.weight[component[some]]
            bound[known_to[some] > bound] = -1
            rows = PairRows(sources.points[some], bound, component[some])
            reach = first.weight if search.both else np.full(len(first.weight), -1.0)
            least = self.to_new if search.both else self.to_others
            of_vertex, vertex_bound = vertices.of_vertex, vertices.vertex_bound
            return rows, PairColumns(self.vertex, least, of_vertex, vertex_bound, reach)

        for some, pairs in part.pairs(len(component), wanted):
            offer(some.start + pairs.row, pairs.position, pairs.square)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of present points of each vertex."""
        return np.bincount(self.on_host, self.part.least == 0)

    def _columns(self, of_vertex: np.ndarray, wanted: np.ndarray) -> PairColumns:
        """Return columns of which the present points of wanted vertices are found."""
        least, none = np.where(wanted, 0.0, np.inf), np.full(len(of_vertex), -1.0)
        return PairColumns(self.vertex, self.to_new, of_vertex, least, none)

    def _bound_components(
        self, vertices: PartVertices, first: PointEdges, threads: Threads
    ) -> None:
        """Find an edge from some points of each component without one.

        These search among the points of other components: of those with an edge and of
        the largest one, and then from the largest one.
        """
        if not (first.weight == np.inf).any():
            return
        part, of_vertex, vertex = self.part, vertices.of_vertex, vertices.vertex
        points = np.zeros(len(of_vertex))
        points[: len(self.sizes)] = self.sizes
        count = len(first.weight)
        sizes = np.bincount(of_vertex, points, minlength=count).astype(np.int64)
        is_largest = np.arange(len(sizes)) == np.argmax(sizes)
        for some in (~is_largest, is_largest):
            chosen = some & (sizes > 0) & (first.weight == np.inf)
            if not chosen.any():
                continue
            inside = chosen[of_vertex]
            position = np.flatnonzero(inside[vertex] & (part.least == 0))
            position = position.astype(np.uint32)
            each = max(1, BOUNDING // np.count_nonzero(chosen))
            if np.count_nonzero(chosen) > 1:
                order = np.argsort(of_vertex[vertex[position]], kind="stable")
                position = position[order]
            rank = np.arange(len(position)) - np.repeat(
                np.cumsum(sizes[chosen]) - sizes[chosen], sizes[chosen]
            )
            position = position[rank < each]
            queries = part.empty_coordinates(len(position))
            part.copy_coordinates(0, position, queries, threads)
            found = part.nearest_among(queries, 1, self._columns(of_vertex, ~inside))
            square, near = (column[:, 0] for column in found)
            is_found = near != NO_POSITION
            a, b = position[is_found], near[is_found]
            cores = np.maximum(vertices.cores[a], vertices.cores[b])
            edges = PointEdges(
                vertices.vertex[a],
                vertices.vertex[b],
                np.maximum(np.sqrt(square[is_found]), cores),
                edge_keys(vertices.row[a], vertices.row[b]),
            )
            _take_edges(edges, vertices, first)


def _take_edges(edges: PointEdges, vertices: PartVertices, first: PointEdges) -> None:
    """Replace first edges of components by earlier ones."""
    found = PointEdges.empty(len(first.weight))
    find_first_edges(edges, vertices.of_vertex, found)
    take_earlier_edges(first, found)
