"""The order of edges, and the spread of their weights over the arcs of a rank's rows.

Edges are numbered by (src, dst) with src < dst, so by the rows of their smaller ends:
every rank has consecutive ones. A row also has the arcs that lead to smaller vertices,
whose weights come from the rows of those, maybe on other ranks.
"""

from collections.abc import Iterator
from copy import copy
from itertools import pairwise

import numpy as np

from ..comm.communicator import Comm
from ..graph.model import Rows
from ..graph.order import KeyRule, key_dtype, key_rule
from ..host.errors import InputError
from ..kernels.threads import Threads, each_range
from ..native.call_columns import ArrayPieces
from .kernels.edge_buckets import (
    EdgeBuckets,
    choose_blocks,
    choose_buckets,
    distribute,
    distribute_edges,
    find_targets,
    find_upward,
    scatter,
    take_upward,
)

# 2^17 arcs of a block, with keys of 64 bits a megabyte, stay in the cache of a core.
BLOCK_BITS = 17


def tails_of(rows: Rows) -> np.ndarray:
    """Return the vertex of its row for each arc, of the type of ids."""
    vertices = np.arange(rows.first, rows.last).astype(rows.indices.dtype)
    return np.repeat(vertices, np.diff(rows.indptr))


class EdgeOrder:
    """The edges that begin at the rows of a rank, and the arcs that get their weights.

    The constructor is collective. The object has 16 bytes for each row, 2 for each edge
    that begins here or comes from another rank, and 4 for each arc to a smaller vertex,
    or 8 from 2^32 arcs on.
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
        # The number of edges of each rank.
        self.counts = tuple(comm.allgather(self.count).tolist())
        # The number of this rank's first edge, and its number of edges.
        self.first = sum(self.counts[: comm.rank])
        # Each thread gets rows with about the same number of edges
        parts = [bounds[0] for bounds in threads.ranges(self.count)]
        cuts = np.searchsorted(self._edges, parts[1:]).tolist()
        self._parts = list(pairwise([0, *cuts, len(rows)]))
        self._assign_targets(vtxdist)

    def _assign_targets(self, vtxdist: np.ndarray) -> None:
        """Find each edge's bucket, and the arc from its larger to its smaller end."""
        rows, comm = self._rows, self.comm
        self._blocks = (rows.num_arcs >> BLOCK_BITS) + 1
        buckets = self._blocks + comm.size
        kind = np.dtype("u2" if buckets < 1 << 16 else "u4")
        counts = np.zeros((len(self._parts) + 1, buckets), np.int64)
        bucket = np.empty(self.count, kind)
        self.threads.map(choose_buckets, [
            (rows.csr, self._upward, part, (BLOCK_BITS, self._blocks), vtxdist,
             EdgeBuckets(bucket[self._slice(part)], count))
            for part, count in zip(self._parts, counts[1:], strict=True)
        ])  # fmt: skip
        heads = self.of_edges(rows.indices)
        self._counts = counts[:, self._blocks :].sum(axis=0)
        away = np.flatnonzero(bucket >= self._blocks)
        away = away[np.argsort(bucket[away], kind="stable")]
        _, (received,) = comm.alltoallv(self._counts, heads[away])
        received = received.astype(np.int64) - rows.first
        from_others = np.empty(len(received), kind)
        choose_blocks(
            rows.indptr, received, BLOCK_BITS, EdgeBuckets(from_others, counts[0])
        )
        # A bucket holds the edges from other ranks first, then the edges of each part
        total = np.cumsum(counts.sum(axis=0))
        before = total - counts.sum(axis=0) + np.cumsum(counts, axis=0) - counts
        self._here = int(total[self._blocks - 1])
        self._received, *self._local = (
            EdgeBuckets(part, begin)
            for part, begin in zip(
                [from_others, *(bucket[self._slice(p)] for p in self._parts)],
                before, strict=True,
            )
        )  # fmt: skip
        wide = rows.num_arcs >= 1 << 32
        self._target = np.empty(self._here, np.int64 if wide else np.uint32)
        next_arc, smaller = rows.indptr[:-1].copy(), heads.astype(np.int64) - rows.first
        lists = [received, *(smaller[self._slice(part)] for part in self._parts)]
        for ends, (chosen, begin) in zip(
            lists, [self._received, *self._local], strict=True
        ):
            find_targets(
                ends, chosen, self._blocks, begin.copy(), next_arc, self._target
            )

    def _slice(self, rows: tuple[int, int]) -> slice:
        """Return the range of the edges of some rows among this rank's edges."""
        return slice(*self._edges[list(rows)].tolist())

    def over(self, rows: Rows) -> "EdgeOrder":
        """Return this order over rows with the same arcs and other weights."""
        order = copy(self)
        order._rows = rows
        return order

    @property
    def nbytes(self) -> int:
        """Bytes of this order, the rows not included."""
        arrays = [self._upward, self._edges, self._target, self._counts]
        for edges in (self._received, *self._local):
            arrays += [edges.bucket, edges.next_slot]
        return sum(array.nbytes for array in arrays)

    def of_edges(self, values: np.ndarray) -> np.ndarray:
        """Return the values of this rank's edges, given the values of all arcs."""
        rows, edges = self._rows, self._edges
        result = np.empty(self.count, values.dtype)
        bounds = self.threads.bounds(len(rows))
        out = ArrayPieces.of(result, edges[bounds])
        ranges = each_range(bounds)
        self.threads.run(take_upward, rows.indptr, self._upward, *ranges, values, out)
        return result

    def batches(self, keys: np.ndarray, most: int) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield src, dst and key of the edges by rows, given the keys of all arcs.

        A batch has at most `most` edges, unless a row has more.
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

    def spread(self, weights: np.ndarray, maximum: bool = False) -> np.ndarray:
        """Return each arc's key, given the weights of the ranks' edges. Collective.

        If `maximum`, keys descend with weights. Raises InputError on every rank if a
        weight is NaN.
        """
        rows, rule = self._rows, key_rule(weights.dtype, maximum)
        dtype = key_dtype(weights.dtype)
        keys = np.empty(rows.num_arcs, dtype)
        bucketed = np.empty(self._here + int(self._counts.sum()), dtype)
        with self.comm.raise_on_all():
            self._distribute(weights, rule, keys, bucketed)
        _, (received,) = self.comm.alltoallv(self._counts, bucketed[self._here :])
        distribute(received, _copied(self._received), bucketed)
        ranges = each_range(self.threads.bounds(self._here))
        self.threads.run(scatter, bucketed, self._target, *ranges, keys)
        return keys

    def _distribute(
        self, weights: np.ndarray, rule: KeyRule, keys: np.ndarray, bucketed: np.ndarray
    ) -> None:
        """Write the keys of this rank's edges to arcs and buckets; refuse NaN."""
        bits = np.require(weights, requirements=["C", "W"]).view(keys.dtype)
        calls = [
            (bits[self._slice(part)], rule, self._rows.csr, self._upward, part,
             _copied(local), (keys, bucketed))
            for part, local in zip(self._parts, self._local, strict=True)
        ]  # fmt: skip
        if any(self.threads.map(distribute_edges, calls)):
            edge = self.first + int(np.flatnonzero(np.isnan(weights))[0])
            raise InputError(f"the weight of edge {edge} is NaN. Give a number.")


def _copied(edges: EdgeBuckets) -> EdgeBuckets:
    """Return edges whose next slots a kernel may advance."""
    return EdgeBuckets(edges.bucket, edges.next_slot.copy())
