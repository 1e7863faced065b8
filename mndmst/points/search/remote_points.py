"""Points owned by other ranks: location and queries.

Positions are numbered consecutively over all ranks: rank r owns the global positions
[bounds[r], bounds[r + 1]). Each rank subtracts its first global position, modulo 2^32:
its own positions are 0, 1, ...; positions on other ranks are larger.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...comm.communicator import Comm
from ...comm.world import SingleProcess
from ...kernels.threads import Threads, each_range
from ..devices.component_pairs import BLOCK
from ..devices.point_products import (
    NO_POSITION,
    ComponentArrays,
    PointArrays,
    PointProducts,
    ReceivedPoints,
    RemoteQueries,
)
from ..kernels.boruvka_steps import PointEdges, edge_keys
from ..kernels.kd_tree import PointTree
from ..kernels.lightest_edges import lightest_of_queries
from ..kernels.nearest_points import nearest_to_queries
from ..kernels.norms import LARGEST
from ..metrics import Norm
from .build_tree import fill_tree

LEAST_QUERIES = 64  # queries of another rank that are worth a thread


class RemotePoints:
    """The points of other ranks, seen from one rank; in this class there are none.

    `total` is the number of points on all ranks. All methods are collective.
    """

    def __init__(self, total: int) -> None:
        self.ranks: Comm = SingleProcess()
        self.total = total

    def gather_values(self, column: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the values of a column at positions of any rank."""
        return column[positions]

    def improve_neighbours(self, distance: np.ndarray, positions: np.ndarray) -> None:
        """Replace listed neighbours of this rank's points by nearer remote points.

        `distance` has reduced distances, ascending in each row.
        """

    def improve_edges(
        self,
        components: ComponentArrays,
        vertex: np.ndarray,
        queries: np.ndarray,
        searched: np.ndarray,
        edges: PointEdges,
    ) -> None:
        """Replace the queries' first edges by earlier edges to remote points.

        `queries` are positions, `edges` their first edges so far, between vertices (see
        `RoundState`), with an infinite weight if there is none. Lowers `searched`: no
        edge of a query weighs less. Lowers the bounds of components to the edges found.
        """

    def first_at_core_distance(
        self, cores: np.ndarray, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the far end of each point's first remote edge of its core distance.

        Returns positions and points; NO_POSITION if no such end is smaller than the
        point.
        """
        none = np.full(len(positions), NO_POSITION)
        return none, none

    def received(
        self, positions: np.ndarray, components: ComponentArrays
    ) -> Iterator[tuple[ReceivedPoints, int]]:
        """Yield points of other ranks; see `PointExchange.received`."""
        return iter(())


# Returns the positions of the far ends of queries' first edges to a rank's points, or
# NO_POSITION. Each query's bound becomes the edge's weight, or one that all such edges
# exceed.
FirstEdges = Callable[[RemoteQueries], np.ndarray]


@dataclass(frozen=True)
class LocalPoints(ABC):
    """This rank's points, which queries of other ranks search."""

    arrays: PointArrays  # undivided
    norm: Norm

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The least and the largest coordinates; None for searches without boxes."""
        return None

    @property
    def dimensions(self) -> int:
        """The number of coordinates of a point."""
        return self.arrays.values.shape[1]

    def coordinates(self, positions: np.ndarray) -> np.ndarray:
        """Return the coordinates at some positions, float32 or float64."""
        return self.arrays.values[self.arrays.source[positions]]

    @abstractmethod
    def nearest_to(
        self, queries: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the reduced distances and positions of each query's k nearest points.

        Points beyond the limits need not be found. A missing point has NO_POSITION and
        a distance no smaller than the limit.
        """

    @abstractmethod
    def first_edges(self, components: ComponentArrays) -> FirstEdges:
        """Return a search for queries' first edges to these points."""


@dataclass(frozen=True)
class LocalTree(LocalPoints):
    """Points in a tree."""

    tree: PointTree
    threads: Threads

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The box of the root."""
        return self.tree.low[0], self.tree.high[0]

    def nearest_to(
        self, queries: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each query's nearest points; a missing one is at the limit."""
        distance = np.repeat(limits, k).reshape(-1, k)
        positions = np.full(distance.shape, NO_POSITION)
        ranges = each_range(self.threads.bounds(len(queries), LEAST_QUERIES))
        self.threads.run(
            nearest_to_queries, self.tree, queries, distance, positions, *ranges
        )
        return distance, positions

    def first_edges(self, components: ComponentArrays) -> FirstEdges:
        """Return a search for queries' first edges to these points."""
        nodes = len(self.tree.left)
        of_node, node_lower_bound = np.empty(nodes, np.uint32), np.empty(nodes)
        of_tree = fill_tree(self.tree, components, of_node, node_lower_bound)

        def search(queries: RemoteQueries) -> np.ndarray:
            ends = np.empty(len(queries.point), np.uint32)
            ranges = each_range(self.threads.bounds(len(ends), LEAST_QUERIES))
            self.threads.run(
                lightest_of_queries, self.tree, of_tree, queries, ends, *ranges
            )
            return ends

        return search


@dataclass(frozen=True)
class LocalProducts(LocalPoints):
    """Points searched by products."""

    products: PointProducts

    def nearest_to(
        self, queries: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each query's nearest points; a missing one is infinitely far."""
        return self.products.nearest_to(queries, limits, k)

    def first_edges(self, components: ComponentArrays) -> FirstEdges:
        """Return a search for queries' first edges to these points."""

        def search(queries: RemoteQueries) -> np.ndarray:
            ends, weight = self.products.lightest_to(components, queries)
            queries.bound[:] = weight
            return ends

        return search


def merge_nearest(
    distance: np.ndarray,
    positions: np.ndarray,
    new_distance: np.ndarray,
    new_positions: np.ndarray,
) -> None:
    """Replace listed neighbours by nearer new ones; at ties listed ones stay.

    Rows of the new distances and positions may have any length.
    """
    distances = np.append(distance, new_distance, axis=1)
    chosen = np.argsort(distances, axis=1, kind="stable")[:, : distance.shape[1]]
    distance[:] = np.take_along_axis(distances, chosen, axis=1)
    all_positions = np.append(positions, new_positions, axis=1)
    positions[:] = np.take_along_axis(all_positions, chosen, axis=1)


class MpiPoints(RemotePoints):
    """The remote points of one of several ranks.

    Each rank of `ranks` owns at least one point. A message has at most `batch` points.
    """

    def __init__(self, ranks: Comm, local: LocalPoints, batch: int) -> None:
        self.ranks, self.local, self.batch = ranks, local, batch
        self.bounds = np.append(0, np.cumsum(ranks.allgather(len(local.arrays.point))))
        # This rank's first global position
        self.first, self.total = int(self.bounds[ranks.rank]), int(self.bounds[-1])
        self.low = self.high = None
        if local.box is not None:
            self.low, self.high = map(ranks.allgather, local.box)

    def gather_values(self, column: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """See `RemotePoints.gather_values`."""
        unique, inverse = np.unique(
            positions + np.uint32(self.first), return_inverse=True
        )
        counts = np.diff(np.searchsorted(unique, self.bounds))
        received, (requested,) = self.ranks.alltoallv(counts, unique)
        _, (values,) = self.ranks.alltoallv(received, column[requested - self.first])
        return values[inverse]

    def improve_neighbours(self, distance: np.ndarray, positions: np.ndarray) -> None:
        """See `RemotePoints.improve_neighbours`."""
        first, k = np.uint32(self.first), distance.shape[1]

        def answer(queries: np.ndarray, limits: np.ndarray) -> list[np.ndarray]:
            queries = queries.reshape(-1, self.local.dimensions)
            nearest, ends = self.local.nearest_to(queries, limits, k)
            return [nearest.ravel(), (ends + first).ravel()]

        all_positions = np.arange(len(self.local.arrays.point), dtype=np.uint32)
        for step, rank in self._ring():
            gaps = self._gaps(rank, all_positions)
            queries = np.flatnonzero(gaps < distance[:, -1])

            def columns(part: slice, queries: np.ndarray = queries) -> list[np.ndarray]:
                sent = queries[part]
                return [self.local.coordinates(sent), distance[sent, -1]]

            answers = self._query(step, len(queries), columns, answer)
            for part, (nearest, ends) in answers:
                asked = queries[part]
                # A missing neighbour is no nearer than the last listed one, so the
                # merge keeps the listed one.
                listed, listed_ends = distance[asked], positions[asked]
                merge_nearest(
                    listed,
                    listed_ends,
                    nearest.reshape(-1, k),
                    ends.reshape(-1, k) - first,
                )
                distance[asked], positions[asked] = listed, listed_ends

    def improve_edges(
        self,
        components: ComponentArrays,
        vertex: np.ndarray,
        queries: np.ndarray,
        searched: np.ndarray,
        edges: PointEdges,
    ) -> None:
        """See `RemotePoints.improve_edges`."""
        point, bound = self.local.arrays.point, components.bound
        component_of_query = components.of_position[queries]
        first_edges = self.local.first_edges(components)

        def answer(
            points: np.ndarray,
            component: np.ndarray,
            core: np.ndarray,
            received_point: np.ndarray,
            limit: np.ndarray,
        ) -> list[np.ndarray]:
            points = points.reshape(-1, self.local.dimensions)
            received = RemoteQueries(points, component, core, received_point, limit)
            ends = first_edges(received)
            has_edge = ends != NO_POSITION
            end_vertex, end_point = np.full((2, len(ends)), NO_POSITION)
            end_vertex[has_edge] = vertex[ends[has_edge]]
            end_point[has_edge] = point[ends[has_edge]]
            return [received.bound, end_vertex, end_point]

        for step, rank in self._ring():
            bound[:] = self.ranks.min(bound)
            if self.low is not None:  # lower limits spare walks of trees, not products
                np.minimum(searched, bound[component_of_query], out=searched)
            gaps = self._gaps(rank, queries)
            sent = np.flatnonzero(gaps < self.local.norm.limit(searched))

            def columns(part: slice, sent: np.ndarray = sent) -> list[np.ndarray]:
                positions = queries[sent[part]]
                return [
                    self.local.coordinates(positions),
                    component_of_query[sent[part]],
                    components.cores[positions],
                    point[positions],
                    searched[sent[part]],
                ]

            answers = self._query(step, len(sent), columns, answer)
            for part, (weight, end_vertex, end_point) in answers:
                asked = sent[part]
                searched[asked] = np.minimum(searched[asked], weight)
                key = edge_keys(point[queries[asked]], end_point)
                earlier = (weight < edges.weight[asked]) | (
                    (weight == edges.weight[asked]) & (key < edges.key[asked])
                )
                earlier &= end_vertex != NO_POSITION
                asked, weight = asked[earlier], weight[earlier]
                edges.b[asked], edges.key[asked] = end_vertex[earlier], key[earlier]
                edges.weight[asked] = weight
                np.minimum.at(bound, component_of_query[asked], weight)

    def first_at_core_distance(
        self, cores: np.ndarray, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `RemotePoints.first_at_core_distance`."""
        local_point, first = self.local.arrays.point, np.uint32(self.first)
        # All local points are in component 0, and each query in one of its own, with a
        # bound of its own: the query's core distance.
        component_0 = np.zeros(len(local_point), np.uint32)

        def answer(
            points: np.ndarray, core: np.ndarray, point: np.ndarray
        ) -> list[np.ndarray]:
            component = np.arange(1, len(point) + 1, dtype=np.uint32)
            points = points.reshape(-1, self.local.dimensions)
            queries = RemoteQueries(points, component, core, point, core.copy())
            bounds = np.append(np.inf, core)
            components = ComponentArrays(component_0, cores, cores, bounds)
            ends = self.local.first_edges(components)(queries)
            has_edge = ends != NO_POSITION
            end_point = np.full(len(point), NO_POSITION)
            end_point[has_edge] = local_point[ends[has_edge]]
            end_point[end_point > point] = NO_POSITION
            return [ends + first, end_point]

        first_end, first_point = np.full((2, len(positions)), NO_POSITION)
        reduced = self.local.norm.reduced(cores[positions]) * (1 + 1e-15)
        for step, rank in self._ring():
            near = self._gaps(rank, positions) <= reduced
            sent = np.flatnonzero(near & (cores[positions] < LARGEST))

            def columns(part: slice, sent: np.ndarray = sent) -> list[np.ndarray]:
                queries = positions[sent[part]]
                coordinates = self.local.coordinates(queries)
                return [coordinates, cores[queries], local_point[queries]]

            answers = self._query(step, len(sent), columns, answer)
            for part, (end, end_point) in answers:
                smaller = end_point < first_point[sent[part]]
                asked = sent[part][smaller]
                first_end[asked] = end[smaller] - first
                first_point[asked] = end_point[smaller]
        return first_end, first_point

    def received(
        self, positions: np.ndarray, components: ComponentArrays
    ) -> Iterator[tuple[ReceivedPoints, int]]:
        """Yield points of other ranks; see `PointExchange.received`.

        Each rank sends its points to half of the other ranks, which send none back. Two
        ranks at half the circle from each other exchange points; there the smaller rank
        sends one half of its points, and compares received points with the other half.
        """
        ranks, half = self.ranks, len(positions) // 2 // BLOCK * BLOCK
        columns = (
            self.local.arrays.point,
            components.of_position,
            components.cores,
            components.lower_bound,
        )
        for step in range(1, ranks.size // 2 + 1):
            ahead, behind = self._neighbour_ranks(step)
            divided = ahead == behind and ranks.rank < ahead
            sent = positions[half:] if divided else positions
            compared = half if divided else len(positions)
            for begin in range(0, ranks.max(len(sent)), self.batch):
                part = sent[begin : begin + self.batch]
                part = part[part != NO_POSITION]
                message = [column[part] for column in columns]
                message.append(self.local.coordinates(part).ravel())
                received = ReceivedPoints(*ranks.sendrecv(message, ahead, behind))
                if len(received.point) and compared:
                    points = received.points.reshape(len(received.point), -1)
                    yield received._replace(points=points), compared

    def _ring(self) -> Iterator[tuple[int, int]]:
        """Yield (step, rank) for every other rank; each step is a permutation."""
        for step in range(1, self.ranks.size):
            yield step, self._neighbour_ranks(step)[0]

    def _neighbour_ranks(self, step: int) -> tuple[int, int]:
        """Return the ranks `step` ahead of and behind this one, in a circle."""
        rank, size = self.ranks.rank, self.ranks.size
        return (rank + step) % size, (rank - step) % size

    def _query(
        self,
        step: int,
        count: int,
        columns: Callable[[slice], list[np.ndarray]],
        answer: Callable[..., Sequence[np.ndarray]],
    ) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """Send queries to the rank `step` ahead and yield its answers. Collective.

        Every rank exhausts the iterator: all exchange as many batches as the longest
        list needs. `columns` returns the arrays that describe a slice of the queries,
        coordinates first; `answer` takes flattened columns of another rank, and returns
        flat answers. Yields slices of the queries and their answers.
        """
        ahead, behind = self._neighbour_ranks(step)
        for begin in range(0, self.ranks.max(count), self.batch):
            part = slice(begin, begin + self.batch)
            sent = [column.ravel() for column in columns(part)]
            received = self.ranks.sendrecv(sent, ahead, behind)
            yield part, self.ranks.sendrecv(answer(*received), behind, ahead)

    def _gaps(self, rank: int, positions: np.ndarray) -> np.ndarray:
        """Return the reduced distances from local points to the box of a rank."""
        total = np.zeros(len(positions))
        if self.low is None or self.high is None:
            return total
        points = self.local.coordinates(positions)
        for column, low, high in zip(
            points.T, self.low[rank], self.high[rank], strict=True
        ):
            gap = np.maximum(np.maximum(low - column, column - high), 0)
            total = self.local.norm.add(total, gap)
        return total
