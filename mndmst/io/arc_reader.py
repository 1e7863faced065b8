"""Read the arcs of rows in pieces, and check each while it is in the cache."""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import h5py
import numpy as np

from ..graph.arrival import Arrival
from ..graph.order import id_dtype, key_dtype, key_rule
from ..kernels.inspect import (
    BAD_ID,
    FINE,
    NOT_A_NUMBER,
    NOT_ASCENDING,
    inspect_rows,
)
from ..kernels.threads import Threads
from .chunks import ChunkReader
from .shard_files import ShardFiles

PIECE_BYTES = 4 << 20  # of a column, at the least


class Facts(NamedTuple):
    """What a look at all arcs of some rows tells.

    Attributes
    ----------
    edges : int
        Distinct edges to larger vertices.
    balance : int
        Modulo 2^64; over all rows of a symmetric graph the sum is zero, see
        `inspect_rows`.
    """

    edges: int
    balance: int


class ArcReader:
    """The arcs of the rows [begin, end) of a graph, on their way into memory.

    Parameters
    ----------
    indptr : ndarray
        What `ShardFiles.read_indptr` returns of these rows; changed.

    Attributes
    ----------
    indptr, indices, weights : ndarray
        As `ShardedGraph.read_rows` returns them; at first the latter two are empty.
    arrival : Arrival
        How far these have been filled and looked at.
    """

    def __init__(
        self, graph: ShardFiles, begin: int, end: int, indptr: np.ndarray
    ) -> None:
        self.graph, self.begin, self.end = graph, begin, end
        self._first_arc = int(indptr[0])
        self.indptr = indptr
        if self._first_arc:
            self.indptr -= self._first_arc
        num_arcs = int(self.indptr[-1])
        self.indices = np.empty(num_arcs, id_dtype(graph.num_vertices))
        self.weights = np.empty(num_arcs, graph.weight_dtype)
        self.keys = self.weights.view(key_dtype(graph.weight_dtype))
        self.arrival = Arrival()

    def read(self, threads: Threads, to_keys: bool = True) -> Facts:
        """Read all arcs and check them.

        Parameters
        ----------
        to_keys : bool
            Make keys of the weights, in place.

        Raises
        ------
        InputError
            If a part is damaged, an id is out of range, a row does not ascend or a
            weight is not a number.
        """
        rule = key_rule(self.graph.weight_dtype)
        self._rule = rule if to_keys else rule.unchanged()
        found: list[Facts] = []
        try:
            for part, low, high in self.graph.overlap(self.begin, self.end):
                rows = slice(low - self.begin, high - self.begin + 1)
                with self.graph.open(part) as file:
                    found += self._read_part(part, file, rows, threads)
        except BaseException:
            self.arrival.fail()
            raise
        edges, balances = zip(*found, strict=True) if found else ((), ())
        return Facts(sum(edges), sum(balances) % (1 << 64))

    def _read_part(
        self, part: int, file: h5py.File, rows: slice, threads: Threads
    ) -> list[Facts]:
        path, columns = (
            self.graph.parts[part],
            (file["graph/indices"], file["graph/data"]),
        )
        begin, end = self.indptr[[rows.start, rows.stop - 1]].tolist()
        if begin == end:
            return []
        shift = self._first_arc - int(self.graph.arcdist[part])
        source = begin + shift, end + shift
        # Between two pieces no chunk is divided, or it would have to be read twice
        chunk = max(column.chunks[0] for column in columns)
        step = chunk * -(-PIECE_BYTES // (chunk * columns[0].dtype.itemsize))
        inner = range(source[0] // step * step + step - shift, end, step)
        ids, weights = (ChunkReader(path, column, *source) for column in columns)

        def read(low: int, high: int) -> Facts:
            self._read_ids(part, ids, low + shift, self.indices[low:high])
            weights.read(low + shift, self.weights[low:high])
            facts = self._inspect(part, rows, (low, high))
            self.arrival.note(low, high)
            return facts

        found = threads.map(read, list(pairwise([begin, *inner, end])))
        return [*found, self._inspect_seams(part, inner)]

    def _read_ids(
        self, part: int, ids: ChunkReader, source: int, target: np.ndarray
    ) -> None:
        """Read ids without a copy if the widths agree, else checked through one."""
        if ids.dataset.dtype.itemsize == target.itemsize:
            ids.read(source, target)
            return
        signed = np.empty(len(target), ids.dataset.dtype)
        ids.read(source, signed)
        wrong = signed[(signed < 0) | (signed >= self.graph.num_vertices)]
        if len(wrong):
            raise self.graph.wrong(part, f"an id, {wrong[0]}, is out of range")
        target[:] = signed

    def _inspect(self, part: int, rows: slice, arcs: tuple[int, int]) -> Facts:
        """Check some arcs of rows."""
        columns = self.indptr[rows], self.indices, self.keys
        status, vertex, arc, edges, balance = inspect_rows(
            *columns, self.begin + rows.start, arcs, self.graph.num_vertices, self._rule
        )
        if status != FINE:
            head = self._id_in_file(arc)
            what = {
                BAD_ID: f"arc ({vertex}, {head}): an id is out of range",
                NOT_ASCENDING: f"the ids of a row do not ascend (vertex {vertex})",
                NOT_A_NUMBER: f"the weight of arc ({vertex}, {head}) is NaN",
            }
            raise self.graph.wrong(part, what[status])
        return Facts(int(edges), int(balance))

    def _id_in_file(self, arc: int) -> int:
        """Return the id of an arc as the file has it, where ids are signed."""
        return int(self.indices.view(f"i{self.indices.itemsize}")[arc])

    def _inspect_seams(self, part: int, seams: Iterable[int]) -> Facts:
        """Check rows where they were divided; count an edge on both sides once."""
        repeats = 0
        for arc in seams:
            row = int(np.searchsorted(self.indptr, arc, "right")) - 1
            if self.indptr[row] == arc:
                continue
            vertex, (before, head) = self.begin + row, self.indices[arc - 1 : arc + 1]
            if head < before:
                raise self.graph.wrong(
                    part, f"the ids of a row do not ascend (vertex {vertex})"
                )
            repeats += int(head == before and head > vertex)
        return Facts(-repeats, 0)
