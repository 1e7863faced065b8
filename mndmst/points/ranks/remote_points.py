"""Points owned by other ranks: location and queries.

The positions of the ranks' trees are numbered consecutively. Rank r owns the global
positions [bounds[r], bounds[r + 1]). A rank counts positions from its own first one,
modulo 2^32: its own are 0, 1, ...; positions on other ranks are larger.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...comm.communicator import Comm
from ...comm.world import SingleProcess
from ...kernels.threads import Threads, each_range
from ..devices.component_pairs import BLOCK
from ..devices.point_products import (
    NO_POSITION,
    ComponentArrays,
    PointArrays,
    PointExchange,
    QueriedProducts,
    ReceivedPoints,
    RemoteQueries,
)
from ..kernels.boruvka_steps import PointEdges
from ..kernels.kd_tree import PointTree
from ..kernels.lightest_edges import (
    TreeComponents,
    lightest_of_queries,
    sum_up,
)
from ..kernels.nearest_points import nearest_to_queries
from ..kernels.norms import LARGEST
from ..metrics import Norm

LEAST_QUERIES = 64  # least queries of another rank for a thread


def key_of(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the order of edges of one weight: the smaller number, then the larger."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    return low.astype(np.uint64) << np.uint64(32) | high


class RemotePoints(PointExchange, Protocol):
    """The points of other ranks, seen from one rank. All methods are collective.

    Attributes
    ----------
    total : int
        Number of points on all ranks.
    """

    total: int

    def gather_values(self, column: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the values of a column, on their owners, at positions."""

    def improve_neighbours(self, distance: np.ndarray, positions: np.ndarray) -> None:
        """Replace the listed neighbours of this rank's points by nearer remote ones.

        `distance` has reduced distances, ascending in each row.
        """

    def improve_edges(
        self,
        components: ComponentArrays,
        vertex: np.ndarray,
        queries: np.ndarray,
        low: np.ndarray,
        found: PointEdges,
    ) -> None:
        """Replace the queries' first edges by earlier ones to remote points.

        `components` have their bounds lowered by the edges found. `vertex` is the
        vertex of each point; see `BoruvkaRounds`. `queries` are positions; below the
        weights `low`, which are lowered, no edge of a query is missed. `found` has the
        first edges so far, between vertices; of infinite weight if there is none.
        """

    def first_at_core_distance(
        self, cores: np.ndarray, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each point's first remote edge that weighs its core distance.

        The result has positions of the ends, and their users' numbers; the largest
        number if no end has a smaller number than the point.
        """


class NoRemotePoints:
    """The remote points of a process that owns all points: none."""

    def __init__(self, total: int) -> None:
        self.ranks: Comm = SingleProcess()
        self.total = total

    def gather_values(self, column: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the values of a column at positions."""
        return column[positions]

    def improve_neighbours(self, distance: np.ndarray, positions: np.ndarray) -> None:
        """Do nothing."""

    def improve_edges(
        self,
        components: ComponentArrays,
        vertex: np.ndarray,
        queries: np.ndarray,
        low: np.ndarray,
        found: PointEdges,
    ) -> None:
        """Do nothing."""

    def first_at_core_distance(
        self, cores: np.ndarray, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return no edges."""
        none = np.full(len(positions), NO_POSITION)
        return none, none

    def received(
        self, positions: np.ndarray, components: ComponentArrays
    ) -> Iterator[tuple[ReceivedPoints, int]]:
        """Yield none."""
        return iter(())


# Finds the far ends of queries' first edges into a rank's points, or NO_POSITION; each
# bound becomes the weight found, or a weight that all such edges exceed.
FirstEdges = Callable[[RemoteQueries], np.ndarray]


class OwnPoints(Protocol):
    """A rank's points, as the queries of other ranks search them."""

    @property
    def rows(self) -> np.ndarray:
        """The users' numbers of the points, uint32, by position."""

    @property
    def dimensions(self) -> int:
        """The number of coordinates of a point."""

    @property
    def norm(self) -> Norm:
        """The norm of distances."""

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The least and the largest coordinates; None where boxes exclude no point."""

    def coordinates(self, positions: np.ndarray) -> np.ndarray:
        """Return the points at some positions, float32 or float64."""

    def nearest_to(
        self, queries: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the reduced distances and positions of each query's k nearest points.

        Points beyond the limits need not be found. A missing point has NO_POSITION and
        a distance no smaller than the limit.
        """

    def first_edges(self, components: ComponentArrays) -> FirstEdges:
        """Return the search of first edges into the components of these points."""


@dataclass(frozen=True)
class OwnTree:
    """Points in a tree, whose rows are the users' numbers; see `OwnPoints`."""

    tree: PointTree
    points: np.ndarray  # by user's number, ascending
    order: np.ndarray  # uint32: the index in `points` of the point at each position
    norm: Norm
    threads: Threads

    @property
    def rows(self) -> np.ndarray:
        """The users' numbers of the points."""
        return self.tree.rows

    @property
    def dimensions(self) -> int:
        """The number of coordinates of a point."""
        return self.points.shape[1]

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The box of the root."""
        return self.tree.low[0], self.tree.high[0]

    def coordinates(self, positions: np.ndarray) -> np.ndarray:
        """Return the points at some positions."""
        return self.points[self.order[positions]]

    def nearest_to(
        self, queries: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each query's nearest points; a missing one is at the limit."""
        far = np.repeat(limits, k).reshape(-1, k)
        near = np.full(far.shape, NO_POSITION)
        ranges = each_range(self.threads.bounds(len(queries), LEAST_QUERIES))
        self.threads.run(nearest_to_queries, self.tree, queries, far, near, *ranges)
        return far, near

    def first_edges(self, components: ComponentArrays) -> FirstEdges:
        """Return the search of first edges into the components of these points."""
        nodes = len(self.tree.left)
        summed = TreeComponents(
            of_position=components.of_position,
            of_node=np.empty(nodes, np.uint32),
            cores=components.cores,
            reach=components.reach,
            least_reach=np.empty(nodes),
            bound=components.bound,
        )
        sum_up(self.tree, summed)

        def search(queries: RemoteQueries) -> np.ndarray:
            ends = np.empty(len(queries.point), np.uint32)
            ranges = each_range(self.threads.bounds(len(ends), LEAST_QUERIES))
            self.threads.run(
                lightest_of_queries, self.tree, summed, queries, ends, *ranges
            )
            return ends

        return search


@dataclass(frozen=True)
class OwnProducts:
    """Points in products; see `OwnPoints`.

    Attributes
    ----------
    products : QueriedProducts
    arrays : PointArrays
        Without divisors.
    """

    products: QueriedProducts
    arrays: PointArrays
    norm: Norm = Norm.EUCLIDEAN
    box: None = None

    @property
    def rows(self) -> np.ndarray:
        """The users' numbers of the points."""
        return self.arrays.point

    @property
    def dimensions(self) -> int:
        """The number of coordinates of a point."""
        return self.arrays.values.shape[1]

    def coordinates(self, positions: np.ndarray) -> np.ndarray:
        """Return the points at some positions."""
        return self.arrays.values[self.arrays.source[positions]]

    def nearest_to(
        self, queries: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each query's nearest points; a missing one is infinitely far."""
        return self.products.nearest_to(queries, limits, k)

    def first_edges(self, components: ComponentArrays) -> FirstEdges:
        """Return the search of first edges into the components of these points."""

        def search(queries: RemoteQueries) -> np.ndarray:
            ends, weight = self.products.lightest_to(components, queries)
            queries.bound[:] = weight
            return ends

        return search


def merge_nearest(
    distance: np.ndarray, positions: np.ndarray, far: np.ndarray, near: np.ndarray
) -> None:
    """Replace listed neighbours by nearer ones; of equally near ones, listed ones stay.

    `far` and `near` are distances and positions of others, in rows of any length.
    """
    both, every = np.append(distance, far, axis=1), np.append(positions, near, axis=1)
    chosen = np.argsort(both, axis=1, kind="stable")[:, : distance.shape[1]]
    distance[:] = np.take_along_axis(both, chosen, axis=1)
    positions[:] = np.take_along_axis(every, chosen, axis=1)


class MpiPoints:
    """The remote points of a rank of several; see `RemotePoints`.

    Each rank of `comm` owns at least one point; a message has `batch` points. Rank r
    has the global positions [bounds[r], bounds[r + 1]), and `first` is this rank's
    first.
    """

    def __init__(self, comm: Comm, own: OwnPoints, batch: int) -> None:
        self.comm, self.own, self.batch = comm, own, batch
        self.ranks = comm
        self.bounds = np.append(0, np.cumsum(comm.allgather(len(own.rows))))
        self.first, self.total = int(self.bounds[comm.rank]), int(self.bounds[-1])
        self.low = self.high = None
        if own.box is not None:
            self.low, self.high = map(comm.allgather, own.box)

    def gather_values(self, column: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the values of a column, on their owners, at positions. Collective."""
        unique, inverse = np.unique(
            positions + np.uint32(self.first), return_inverse=True
        )
        counts = np.diff(np.searchsorted(unique, self.bounds))
        received, (requested,) = self.comm.alltoallv(counts, unique)
        _, (values,) = self.comm.alltoallv(received, column[requested - self.first])
        return values[inverse]

    def improve_neighbours(self, distance: np.ndarray, positions: np.ndarray) -> None:
        """Replace the listed neighbours by nearer remote ones. Collective."""
        first, k = np.uint32(self.first), distance.shape[1]

        def answer(queries: np.ndarray, limits: np.ndarray) -> list[np.ndarray]:
            queries = queries.reshape(-1, self.own.dimensions)
            far, near = self.own.nearest_to(queries, limits, k)
            return [far.ravel(), (near + first).ravel()]

        every = np.arange(len(self.own.rows), dtype=np.uint32)
        for step, rank in self._ring():
            asking = np.flatnonzero(self._gaps(rank, every) < distance[:, -1])

            def columns(part: slice, asking: np.ndarray = asking) -> list[np.ndarray]:
                here = asking[part]
                return [self.own.coordinates(here), distance[here, -1]]

            for part, (far, near) in self._query(step, len(asking), columns, answer):
                here = asking[part]
                # A missing neighbour is no nearer than the last one listed, which the
                # merge prefers.
                far, near = far.reshape(-1, k), near.reshape(-1, k) - first
                listed, ends = distance[here], positions[here]
                merge_nearest(listed, ends, far, near)
                distance[here], positions[here] = listed, ends

    def improve_edges(
        self,
        components: ComponentArrays,
        vertex: np.ndarray,
        queries: np.ndarray,
        low: np.ndarray,
        found: PointEdges,
    ) -> None:
        """Replace the queries' first edges by earlier remote ones. Collective."""
        rows, bound = self.own.rows, components.bound
        own = components.of_position[queries]
        first_edges = self.own.first_edges(components)

        def answer(
            points: np.ndarray,
            component: np.ndarray,
            core: np.ndarray,
            row: np.ndarray,
            limit: np.ndarray,
        ) -> list[np.ndarray]:
            points = points.reshape(-1, self.own.dimensions)
            received = RemoteQueries(points, component, core, row, limit)
            ends = first_edges(received)
            has = ends != NO_POSITION
            far, far_rows = np.full((2, len(row)), NO_POSITION)
            far[has], far_rows[has] = vertex[ends[has]], rows[ends[has]]
            return [received.bound, far, far_rows]

        for step, rank in self._ring():
            bound[:] = self.comm.min(bound)
            if self.low is not None:  # a bound spares queries a part of the tree
                np.minimum(low, bound[own], out=low)
            asking = np.flatnonzero(self._gaps(rank, queries) < self._limit_of(low))

            def columns(part: slice, asking: np.ndarray = asking) -> list[np.ndarray]:
                here = asking[part]
                chosen = queries[here]
                cores, chosen_rows = components.cores[chosen], rows[chosen]
                points = self.own.coordinates(chosen)
                return [points, own[here], cores, chosen_rows, low[here]]

            found_there = self._query(step, len(asking), columns, answer)
            for part, (weight, end, row) in found_there:
                here = asking[part]
                low[here] = np.minimum(low[here], weight)
                key = key_of(rows[queries[here]], row)
                earlier = (weight < found.weight[here]) | (
                    (weight == found.weight[here]) & (key < found.key[here])
                )
                earlier &= end != NO_POSITION
                here = here[earlier]
                found.b[here], found.key[here] = end[earlier], key[earlier]
                found.weight[here] = weight[earlier]
                np.minimum.at(bound, own[here], weight[earlier])

    def first_at_core_distance(
        self, cores: np.ndarray, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each point's first remote edge of its core distance. Collective."""
        rows_of, count = self.own.rows, len(self.own.rows)
        none = np.zeros(count, np.uint32)

        def answer(points: np.ndarray, core: np.ndarray, row: np.ndarray) -> list:
            # Each query is a component of its own, with a bound of its own.
            component = np.arange(1, len(row) + 1, dtype=np.uint32)
            points = points.reshape(-1, self.own.dimensions)
            queries = RemoteQueries(points, component, core, row, core.copy())
            bounds = np.append(np.inf, core)
            alike = ComponentArrays(none, cores, cores, bounds)
            ends = self.own.first_edges(alike)(queries)
            found = np.flatnonzero(ends != NO_POSITION)
            rows = np.full(len(row), NO_POSITION)
            rows[found] = rows_of[ends[found]]
            rows[rows > row] = NO_POSITION
            return [ends + np.uint32(self.first), rows]

        ends = np.full(len(positions), NO_POSITION)
        rows = np.full(len(positions), NO_POSITION)
        reduced = self.own.norm.reduced(cores[positions]) * (1 + 1e-15)
        for step, rank in self._ring():
            near = self._gaps(rank, positions) <= reduced
            asking = np.flatnonzero(near & (cores[positions] < LARGEST))

            def columns(part: slice, asking: np.ndarray = asking) -> list[np.ndarray]:
                chosen = positions[asking[part]]
                return [self.own.coordinates(chosen), cores[chosen], rows_of[chosen]]

            for part, (end, row) in self._query(step, len(asking), columns, answer):
                smaller = row < rows[asking[part]]
                here = asking[part][smaller]
                ends[here] = end[smaller] - np.uint32(self.first)
                rows[here] = row[smaller]
        return ends, rows

    def received(
        self, positions: np.ndarray, components: ComponentArrays
    ) -> Iterator[tuple[ReceivedPoints, int]]:
        """Yield points of other ranks; see `PointExchange.received`.

        Half of the ranks send all points to a rank, which sends none back. Two ranks
        that send to each other divide the positions of the first.
        """
        comm, half = self.comm, len(positions) // 2 // BLOCK * BLOCK
        for step in range(1, comm.size // 2 + 1):
            ahead = (comm.rank + step) % comm.size
            behind = (comm.rank - step) % comm.size
            divided = ahead == behind and comm.rank < ahead
            sent = positions[half:] if divided else positions
            met = half if divided else len(positions)
            for begin in range(0, comm.max(len(sent)), self.batch):
                part = sent[begin : begin + self.batch]
                part = part[part != NO_POSITION]
                columns = self.own.rows, components.of_position, components.cores
                given = [column[part] for column in (*columns, components.reach)]
                given.append(self.own.coordinates(part).ravel())
                arrived = ReceivedPoints(*comm.sendrecv(given, ahead, behind))
                if len(arrived.point) and met:
                    points = arrived.points.reshape(len(arrived.point), -1)
                    yield arrived._replace(points=points), met

    def _ring(self) -> Iterator[tuple[int, int]]:
        """Yield (step, rank) for every other rank; each step is a permutation."""
        for step in range(1, self.comm.size):
            yield step, (self.comm.rank + step) % self.comm.size

    def _query(
        self,
        step: int,
        count: int,
        columns: Callable[[slice], list[np.ndarray]],
        answer: Callable[..., Sequence[np.ndarray]],
    ) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """Send queries to the rank `step` ahead and yield its answers. Collective.

        Every rank exhausts the iterator: ranks exchange batches until the longest list
        has been sent. `columns` returns the arrays that describe some of the queries,
        the points first; `answer` computes flat answers from the flattened columns of
        another rank. Yields the slice of the queries that answers belong to, and the
        answers.
        """
        comm = self.comm
        ahead, behind = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        for begin in range(0, comm.max(count), self.batch):
            part = slice(begin, begin + self.batch)
            sent = [column.ravel() for column in columns(part)]
            received = comm.sendrecv(sent, ahead, behind)
            yield part, comm.sendrecv(answer(*received), behind, ahead)

    def _gaps(self, rank: int, positions: np.ndarray) -> np.ndarray:
        """Return the reduced distances of points to the box of a rank's points."""
        total = np.zeros(len(positions))
        if self.low is None or self.high is None:
            return total
        points = self.own.coordinates(positions)
        for column, low, high in zip(
            points.T, self.low[rank], self.high[rank], strict=True
        ):
            gap = np.maximum(np.maximum(low - column, column - high), 0)
            total = self.own.norm.add(total, gap)
        return total

    def _limit_of(self, weight: np.ndarray) -> np.ndarray:
        """Return reduced distances above that of every point within a distance."""
        with np.errstate(over="ignore"):
            limit = self.own.norm.reduced(weight)
            return np.minimum(limit * (1 + 1e-15) + 1e-322, LARGEST)
