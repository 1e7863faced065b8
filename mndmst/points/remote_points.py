"""Points owned by other ranks: location and queries.

The positions of the ranks' trees are numbered consecutively. Rank r owns the global
positions [bounds[r], bounds[r + 1]). A rank counts positions from its own first one,
modulo 2^32: its own are 0, 1, ...; positions on other ranks are larger.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..backends.point_products import NO_POSITION, ComponentArrays, RemoteQueries
from ..comm.communicator import Comm
from ..kernels.threads import Threads
from .kernels.boruvka_steps import PointEdges
from .kernels.kd_tree import PointTree
from .kernels.lightest_edges import (
    TreeComponents,
    lightest_of_queries,
    sum_up,
)
from .kernels.nearest_points import nearest_to_queries
from .kernels.norms import LARGEST
from .metrics import Norm

LEAST_QUERIES = 64  # least queries of another rank for a thread


def key_of(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the order of edges of one weight: the smaller number, then the larger."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    return low.astype(np.uint64) << np.uint64(32) | high


class RankReductions(Protocol):
    """The collective operations on small arrays that a search needs; see `Comm`."""

    @property
    def rank(self) -> int:
        """Number of this rank."""

    def sum(self, value: Any) -> Any:
        """Return the sum over all ranks."""

    def min(self, value: Any) -> Any:
        """Return the minimum over all ranks."""

    def max(self, value: Any) -> Any:
        """Return the maximum over all ranks."""

    def exscan(self, value: Any) -> Any:
        """Return the sum over the ranks before this one."""


class OneRank:
    """A process alone, without MPI."""

    rank = 0

    def sum(self, value: Any) -> Any:
        """Return the value."""
        return value

    min = max = sum

    def exscan(self, value: Any) -> Any:
        """Return 0."""
        return 0


class RemotePoints(Protocol):
    """The points of other ranks, seen from one rank. All methods are collective.

    Attributes
    ----------
    ranks : RankReductions
    total : int
        Number of points on all ranks.
    """

    ranks: RankReductions
    total: int

    def gather_values(self, column: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the values of a column, on their owners, at positions."""

    def improve_neighbours(self, distance: np.ndarray, positions: np.ndarray) -> None:
        """Replace the listed neighbours of this rank's points by nearer remote ones.

        Parameters
        ----------
        distance : ndarray of float64, shape (points, k)
            Reduced distances, ascending.
        positions : ndarray of uint32, shape (points, k)
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

        Parameters
        ----------
        components : ComponentArrays
            Its bounds are lowered by the edges found.
        vertex : ndarray of uint32, shape (points,)
            The vertex of each point; see `BoruvkaRounds`.
        queries : ndarray of uint32
            The positions that search.
        low : ndarray of float64, shape (queries,)
            A weight below which no edge of the query is missed. Lowered.
        found : PointEdges
            The first edges so far, between vertices; of infinite weight if there is
            none.
        """

    def first_at_core_distance(
        self, cores: np.ndarray, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each point's first remote edge that weighs its core distance.

        Returns
        -------
        ends : ndarray of uint32
            Positions.
        rows : ndarray of uint32
            The users' numbers of the ends; the largest number if no end has a smaller
            number than the point.
        """


class NoRemotePoints:
    """The remote points of a process that owns all points: none."""

    def __init__(self, total: int) -> None:
        self.ranks: RankReductions = OneRank()
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


@dataclass(frozen=True)
class OwnedTree:
    """The tree of a rank's points.

    Attributes
    ----------
    tree : PointTree
        Its rows are the users' numbers of the points.
    points : ndarray of float64, shape (points, dimensions)
        By user's number, ascending.
    order : ndarray of uint32, shape (points,)
        The index in `points` of the point at each position.
    norm : Norm
    """

    tree: PointTree
    points: np.ndarray
    order: np.ndarray
    norm: Norm

    def coordinates(self, positions: np.ndarray) -> np.ndarray:
        """Return the points at some positions."""
        return self.points[self.order[positions]]


class MpiPoints:
    """The remote points of a rank of several; see `RemotePoints`.

    Parameters
    ----------
    comm : Comm
        Ranks that own at least one point each.
    owned : OwnedTree
    threads : Threads
    batch : int
        Points per message.

    Attributes
    ----------
    bounds : ndarray of int64, shape (ranks + 1,)
    first : int
        This rank's first global position.
    """

    def __init__(
        self, comm: Comm, owned: OwnedTree, threads: Threads, batch: int
    ) -> None:
        self.comm, self.owned, self.threads, self.batch = comm, owned, threads, batch
        self.ranks: RankReductions = comm
        tree = owned.tree
        self.bounds = np.append(0, np.cumsum(comm.allgather(len(tree.rows))))
        self.first, self.total = int(self.bounds[comm.rank]), int(self.bounds[-1])
        self.low, self.high = comm.allgather(tree.low[0]), comm.allgather(tree.high[0])
        nodes = len(tree.left)
        self._of_node, self._least_reach = np.empty(nodes, np.uint32), np.empty(nodes)

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
        tree, first = self.owned.tree, np.uint32(self.first)
        k, dimensions = distance.shape[1], self.owned.points.shape[1]
        points = self.owned.coordinates(np.arange(len(tree.rows)))

        def answer(queries: np.ndarray, limits: np.ndarray) -> list[np.ndarray]:
            queries = queries.reshape(-1, dimensions)
            far = np.repeat(limits, k).reshape(-1, k)
            near = np.full(far.shape, NO_POSITION)
            ranges = self.threads.ranges(len(queries), LEAST_QUERIES)
            self.threads.map(
                nearest_to_queries, [(tree, queries, far, near, *b) for b in ranges]
            )
            near += first
            return [far.ravel(), near.ravel()]

        for step, rank in self._ring():
            near_box = self._distances_to_box(rank, points) < distance[:, -1]
            asking = np.flatnonzero(near_box)
            columns = points[asking], distance[asking, -1]
            for part, (far, near) in self._query(step, columns, answer):
                here = asking[part]
                # A missing neighbour has the distance of the last one listed, which
                # the stable sort prefers.
                both = np.append(distance[here], far.reshape(-1, k), axis=1)
                every = np.append(positions[here], near.reshape(-1, k) - first, axis=1)
                chosen = np.argsort(both, axis=1, kind="stable")[:, :k]
                distance[here] = np.take_along_axis(both, chosen, axis=1)
                positions[here] = np.take_along_axis(every, chosen, axis=1)

    def improve_edges(
        self,
        components: ComponentArrays,
        vertex: np.ndarray,
        queries: np.ndarray,
        low: np.ndarray,
        found: PointEdges,
    ) -> None:
        """Replace the queries' first edges by earlier remote ones. Collective."""
        tree, bound = self.owned.tree, components.bound
        own = components.of_place[queries]
        summed = self._summed(components)

        def answer(
            points: np.ndarray,
            component: np.ndarray,
            core: np.ndarray,
            row: np.ndarray,
            limit: np.ndarray,
        ) -> list[np.ndarray]:
            points = points.reshape(-1, tree.low.shape[1])
            received = RemoteQueries(points, component, core, row, limit)
            ends = self._ends(summed, received)
            has = ends != NO_POSITION
            far, rows = np.full(len(row), NO_POSITION), np.full(len(row), NO_POSITION)
            far[has], rows[has] = vertex[ends[has]], tree.rows[ends[has]]
            return [received.bound, far, rows]

        for step, rank in self._ring():
            bound[:] = self.comm.min(bound)
            np.minimum(low, bound[own], out=low)
            gap = self._distances_to_box(rank, self.owned.coordinates(queries))
            asking = np.flatnonzero(gap < self._limit_of(low))
            chosen = queries[asking]
            columns = (
                self.owned.coordinates(chosen),
                own[asking],
                components.cores[chosen],
                tree.rows[chosen],
                low[asking],
            )
            for part, (weight, end, row) in self._query(step, columns, answer):
                here = asking[part]
                low[here] = np.minimum(low[here], weight)
                key = key_of(tree.rows[queries[here]], row)
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
        tree, owned = self.owned.tree, self.owned
        none = np.zeros(len(owned.points), np.uint32)
        alike = self._summed(ComponentArrays(none, cores, cores, cores))

        def answer(points: np.ndarray, core: np.ndarray, row: np.ndarray) -> list:
            # Each query is a component of its own, with a bound of its own.
            component = np.arange(1, len(row) + 1, dtype=np.uint32)
            points = points.reshape(-1, tree.low.shape[1])
            queries = RemoteQueries(points, component, core, row, core.copy())
            ends = self._ends(alike._replace(bound=np.append(np.inf, core)), queries)
            found = np.flatnonzero(ends != NO_POSITION)
            rows = np.full(len(row), NO_POSITION)
            rows[found] = tree.rows[ends[found]]
            rows[rows > row] = NO_POSITION
            return [ends + np.uint32(self.first), rows]

        ends = np.full(len(positions), NO_POSITION)
        rows = np.full(len(positions), NO_POSITION)
        points = owned.coordinates(positions)
        reduced = owned.norm.reduced(cores[positions]) * (1 + 1e-15)
        for step, rank in self._ring():
            near = self._distances_to_box(rank, points) <= reduced
            asking = np.flatnonzero(near & (cores[positions] < LARGEST))
            chosen = positions[asking]
            columns = points[asking], cores[chosen], tree.rows[chosen]
            for part, (end, row) in self._query(step, columns, answer):
                smaller = row < rows[asking[part]]
                here = asking[part][smaller]
                ends[here] = end[smaller] - np.uint32(self.first)
                rows[here] = row[smaller]
        return ends, rows

    def _ring(self) -> Iterator[tuple[int, int]]:
        """Yield (step, rank) for every other rank; each step is a permutation."""
        for step in range(1, self.comm.size):
            yield step, (self.comm.rank + step) % self.comm.size

    def _query(
        self,
        step: int,
        columns: Sequence[np.ndarray],
        answer: Callable[..., Sequence[np.ndarray]],
    ) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """Send points to the rank `step` ahead and yield its answers. Collective.

        Every rank exhausts the iterator: ranks exchange batches until the longest
        column has been sent.

        Parameters
        ----------
        columns : sequence of ndarray, first axis points
        answer : callable
            Computes flat answers from the flattened columns of another rank.

        Yields
        ------
        batch : slice
            The points that the answers belong to.
        answers : list of ndarray
        """
        comm = self.comm
        ahead, behind = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        for begin in range(0, comm.max(len(columns[0])), self.batch):
            part = slice(begin, begin + self.batch)
            received = comm.sendrecv([c[part].ravel() for c in columns], ahead, behind)
            yield part, comm.sendrecv(answer(*received), behind, ahead)

    def _distances_to_box(self, rank: int, points: np.ndarray) -> np.ndarray:
        """Return the reduced distances of points to the box of a rank's points."""
        total = np.zeros(len(points))
        for column, low, high in zip(
            points.T, self.low[rank], self.high[rank], strict=True
        ):
            gap = np.maximum(np.maximum(low - column, column - high), 0)
            total = self.owned.norm.add(total, gap)
        return total

    def _limit_of(self, weight: np.ndarray) -> np.ndarray:
        """Return reduced distances above that of every point within a distance."""
        with np.errstate(over="ignore"):
            limit = self.owned.norm.reduced(weight)
            return np.minimum(limit * (1 + 1e-15) + 1e-322, LARGEST)

    def _summed(self, components: ComponentArrays) -> TreeComponents:
        """Return components with the components of this rank's nodes."""
        summed = TreeComponents(
            of_position=components.of_place,
            of_node=self._of_node,
            cores=components.cores,
            reach=components.reach,
            least_reach=self._least_reach,
            bound=components.bound,
        )
        sum_up(self.owned.tree, summed)
        return summed

    def _ends(self, components: TreeComponents, queries: RemoteQueries) -> np.ndarray:
        """Return the far ends of remote queries' first edges into this rank's tree."""
        ends = np.empty(len(queries.row), np.uint32)
        ranges = self.threads.ranges(len(ends), LEAST_QUERIES)
        self.threads.map(
            lightest_of_queries,
            [(self.owned.tree, components, queries, ends, *r) for r in ranges],
        )
        return ends
