"""The points of other ranks: who has them, and how they are asked.

The places of a rank's tree are numbered after those of the ranks before it, so that
each place has one number among all: a global place.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..comm.communicator import Comm
from .kernels.tree import PointTree

# Points that are asked about in one message.
BATCH = 1 << 16


class Others:
    """What a rank knows of the trees of all.

    Parameters
    ----------
    comm : Comm
        Of ranks that have points.
    tree : PointTree
        That of this rank.

    Attributes
    ----------
    bounds : ndarray of int64, shape (ranks + 1,)
        Rank r has the global places [bounds[r], bounds[r + 1]).
    first : int
        The first of this rank.
    """

    def __init__(self, comm: Comm, tree: PointTree) -> None:
        self.comm, self.manhattan = comm, tree.manhattan
        self.bounds = np.append(0, np.cumsum(comm.allgather(len(tree.rows))))
        self.first = int(self.bounds[comm.rank])
        self.low, self.high = comm.allgather(tree.low[0]), comm.allgather(tree.high[0])

    @property
    def count(self) -> int:
        """How many points all ranks have."""
        return int(self.bounds[-1])

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield (step, rank) for all other ranks, each rank another one at a time."""
        for step in range(1, self.comm.size):
            yield step, (self.comm.rank + step) % self.comm.size

    def gaps(self, rank: int, points: np.ndarray) -> np.ndarray:
        """Return the reduced distances of points to the box of a rank."""
        total = np.zeros(len(points))
        for column, low, high in zip(
            points.T, self.low[rank], self.high[rank], strict=True
        ):
            gap = np.maximum(np.maximum(low - column, column - high), 0)
            total += gap if self.manhattan else gap * gap
        return total

    def ask(
        self,
        step: int,
        columns: Sequence[np.ndarray],
        answer: Callable[..., Sequence[np.ndarray]],
    ) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """Ask the rank so many steps on, in batches. Collective; to be exhausted.

        Parameters
        ----------
        columns : sequence of ndarray, shape (points,) or (points, dimensions)
        answer : callable
            Takes such columns of another rank, all flat, and returns flat ones.

        Yields
        ------
        (slice, list of ndarray)
            Which points were asked about, and what is answered.
        """
        comm = self.comm
        there, back = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        for begin in range(0, comm.max(len(columns[0])), BATCH):
            part = slice(begin, begin + BATCH)
            asked = comm.sendrecv([c[part].ravel() for c in columns], there, back)
            yield part, comm.sendrecv(answer(*asked), back, there)

    def fetch(self, column: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return what the ranks have in a column for some global places. Collective."""
        asked, position = np.unique(places, return_inverse=True)
        counts = np.diff(np.searchsorted(asked, self.bounds))
        received, (wanted,) = self.comm.alltoallv(counts, asked.astype(np.uint32))
        _, (told,) = self.comm.alltoallv(received, column[wanted - self.first])
        return told[position]
