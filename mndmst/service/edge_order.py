"""The order of edges: where a weight for each edge belongs in the rows of a rank.

Edges are numbered by (src, dst) with src < dst, so by the rows of their smaller ends:
every rank has consecutive ones. A row also has the arcs that lead to smaller vertices,
whose weights come from the rows of those, maybe on other ranks.
"""

from collections.abc import Iterator

import numpy as np

from ..comm.communicator import Comm
from ..graph.model import Rows
from ..kernels.owners import by_owner
from ..kernels.threads import Threads
from .kernels.edge_places import find_upward, gather, place_arcs, take_upward


def tails_of(rows: Rows) -> np.ndarray:
    """Return the vertex of its row for each arc, of the type of ids."""
    vertices = np.arange(rows.first, rows.last).astype(rows.indices.dtype)
    return np.repeat(vertices, np.diff(rows.indptr))


class EdgeOrder:
    """The edges that begin at the rows of a rank, and how their weights spread.

    Made collectively. It takes 4 bytes an arc, or 8 from 2^32 edges of a rank on.

    Parameters
    ----------
    vtxdist : ndarray of int64, shape (ranks + 1,)

    Attributes
    ----------
    first, count : int
        The number of this rank's first edge, and how many it has.
    """

    def __init__(
        self, comm: Comm, rows: Rows, vtxdist: np.ndarray, threads: Threads
    ) -> None:
        self.comm, self.threads, self._rows = comm, threads, rows
        self._upward = np.empty(len(rows), np.int64)
        find_upward(rows.indptr, rows.indices, rows.first, self._upward)
        self._edges = np.zeros(len(rows) + 1, np.int64)  # before each row
        np.cumsum(rows.indptr[1:] - self._upward, out=self._edges[1:])
        self.count = int(self._edges[-1])
        self.first = comm.exscan(self.count)
        heads = self.of_edges(rows.indices)
        # The edges whose larger end is on another rank, by that rank
        cut = np.flatnonzero(heads >= rows.last)
        order, self._counts = by_owner(heads[cut], vtxdist)
        self._sent = cut[order]
        _, (arrived,) = comm.alltoallv(self._counts, heads[self._sent])
        wide = self.count + len(arrived) >= 1 << 32
        self._place = np.empty(rows.num_arcs, np.int64 if wide else np.uint32)
        place_arcs(rows.csr, self._upward, arrived, self._place)

    def of_edges(self, values: np.ndarray) -> np.ndarray:
        """Return the values of own edges, given those of all arcs."""
        found = np.empty(self.count, values.dtype)
        rows = self._rows
        take_upward(rows.indptr, self._upward, 0, len(rows), values, found)
        return found

    def batches(self, keys: np.ndarray, most: int) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield src, dst and key of own edges, row by row.

        Parameters
        ----------
        keys : ndarray
            Of all arcs.
        most : int
            Edges of a batch, unless a row has more.
        """
        rows, begin = self._rows, 0
        while begin < len(rows):
            goal = self._edges[begin] + most
            end = int(np.searchsorted(self._edges, goal, side="right")) - 1
            end = max(end, begin + 1)
            degrees = np.diff(self._edges[begin : end + 1])
            src = np.repeat(np.arange(rows.first + begin, rows.first + end), degrees)
            columns = []
            for values in (rows.indices, keys):
                column = np.empty(len(src), values.dtype)
                take_upward(rows.indptr, self._upward, begin, end, values, column)
                columns.append(column)
            if len(src):
                yield src, *columns
            begin = end

    def spread(self, weights: np.ndarray) -> np.ndarray:
        """Return the value of each arc (collective), given that of each own edge."""
        _, (arrived,) = self.comm.alltoallv(self._counts, weights[self._sent])
        every = np.concatenate([weights, arrived, np.zeros(1, weights.dtype)])
        result = np.empty(len(self._place), weights.dtype)

        def work(begin: int, end: int) -> None:
            gather(every, self._place, begin, end, result)

        self.threads.map(work, self.threads.ranges(len(result)))
        return result
