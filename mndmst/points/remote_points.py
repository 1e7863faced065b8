"""Points owned by other ranks: location and queries.

The positions of the ranks' trees are numbered consecutively. Rank r owns the global
positions [bounds[r], bounds[r + 1]). A rank counts positions from its own first one,
modulo 2^32: its own are 0, 1, ..., and those of other ranks are larger.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from ..comm.communicator import Comm
from .kernels.kd_tree import PointTree
from .metrics import Norm


class Ranks(Protocol):
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
    """Access to the points of other ranks.

    Attributes
    ----------
    ranks : Ranks
    first : int
        This rank's first global position.
    total : int
        Number of points on all ranks.
    """

    ranks: Ranks
    first: int
    total: int

    def ring(self) -> Iterator[tuple[int, int]]:
        """Yield (step, rank) for every other rank; each step is a permutation."""

    def distances_to_box(self, rank: int, points: np.ndarray) -> np.ndarray:
        """Return the reduced distances of points to the box of a rank's points."""

    def query(
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

    def gather_values(self, column: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the values of a column, on their owners, at positions. Collective."""


class NoRemotePoints:
    """The remote points of a process that owns all points: none."""

    def __init__(self, total: int) -> None:
        self.ranks: Ranks = OneRank()
        self.first, self.total = 0, total

    def ring(self) -> Iterator[tuple[int, int]]:
        """Yield nothing."""
        return iter(())

    def distances_to_box(self, rank: int, points: np.ndarray) -> np.ndarray:
        """Refuse: there is no other rank."""
        raise LookupError(f"no rank {rank}")

    def query(
        self,
        step: int,
        columns: Sequence[np.ndarray],
        answer: Callable[..., Sequence[np.ndarray]],
    ) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """Yield nothing."""
        return iter(())

    def gather_values(self, column: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the values of a column at positions."""
        return column[positions]


class MpiPoints:
    """The remote points of a rank of several.

    Parameters
    ----------
    comm : Comm
        Ranks that own at least one point each.
    tree : PointTree
        This rank's tree.
    norm : Norm
    batch : int
        Points per message.
    """

    def __init__(self, comm: Comm, tree: PointTree, norm: Norm, batch: int) -> None:
        self.comm, self.norm, self.batch = comm, norm, batch
        self.ranks: Ranks = comm
        self.bounds = np.append(0, np.cumsum(comm.allgather(len(tree.rows))))
        self.first, self.total = int(self.bounds[comm.rank]), int(self.bounds[-1])
        self.low, self.high = comm.allgather(tree.low[0]), comm.allgather(tree.high[0])

    def ring(self) -> Iterator[tuple[int, int]]:
        """Yield (step, rank) for every other rank; see `RemotePoints`."""
        for step in range(1, self.comm.size):
            yield step, (self.comm.rank + step) % self.comm.size

    def distances_to_box(self, rank: int, points: np.ndarray) -> np.ndarray:
        """Return the reduced distances of points to the box of a rank's points."""
        total = np.zeros(len(points))
        for column, low, high in zip(
            points.T, self.low[rank], self.high[rank], strict=True
        ):
            gap = np.maximum(np.maximum(low - column, column - high), 0)
            total = self.norm.add(total, gap)
        return total

    def query(
        self,
        step: int,
        columns: Sequence[np.ndarray],
        answer: Callable[..., Sequence[np.ndarray]],
    ) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """Send points to the rank `step` ahead and yield its answers. Collective."""
        comm = self.comm
        ahead, behind = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        for begin in range(0, comm.max(len(columns[0])), self.batch):
            part = slice(begin, begin + self.batch)
            received = comm.sendrecv([c[part].ravel() for c in columns], ahead, behind)
            yield part, comm.sendrecv(answer(*received), behind, ahead)

    def gather_values(self, column: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the values of a column, on their owners, at positions. Collective."""
        unique, inverse = np.unique(
            positions + np.uint32(self.first), return_inverse=True
        )
        counts = np.diff(np.searchsorted(unique, self.bounds))
        received, (requested,) = self.comm.alltoallv(counts, unique)
        _, (values,) = self.comm.alltoallv(received, column[requested - self.first])
        return values[inverse]
