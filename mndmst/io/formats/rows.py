"""Graphs that are stored as rows of neighbours (CSR), read by ranges of arcs."""

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from ...graph.order import id_dtype
from ...host.errors import InputError
from ...host.formatting import counted
from ..edge_file import PIECE_ENTRIES, EdgeFile, RowPiece, Rows
from ..edges import Edges, as_ids, checked_edges, supported_weights
from ..kernels.partitioner import fill_tails
from .binary import Binary, Column
from .files import COMPRESSIONS

# What is read at once: arcs that stay in the caches of a core, and rows
PIECE_ARCS = 1 << 17
PIECE_ROWS = 1 << 16


class RowsFile(EdgeFile):
    """Rows that lie in a file as two or three arrays. It counts in arcs.

    Parameters
    ----------
    file : Binary
    indptr : Column
        For each vertex, and for the end, where its row begins.
    indices : Column
        The neighbours; or, with the weights, records `id` and `weight`.
    weight : Column, optional
        Without it, weights are 1.
    unit : int
        A row begins `unit` times its first arc after `base`.
    base : int
    both_directions : bool

    Raises
    ------
    InputError
        If the rows do not follow each other from the first arc to the last.
    """

    rereadable = True

    def __init__(
        self,
        file: Binary,
        indptr: Column,
        indices: Column,
        weight: Column | None = None,
        unit: int = 1,
        base: int = 0,
        both_directions: bool = True,
    ) -> None:
        self.path = file.path
        self.name = str(file.path)
        self.seekable = file.path.suffix not in COMPRESSIONS
        self.length = self.num_entries = indices.length
        self.num_vertices: int = indptr.length - 1
        self.weight_dtype = _weight_dtype(self.name, indices, weight)
        self.both_directions = both_directions
        if self.num_vertices < 0:
            raise InputError(f"{file.path}: says it has less than no vertices.")
        if weight is not None and weight.length != indices.length:
            raise InputError(
                f"{file.path}: has {counted(weight.length, 'weight')} for "
                f"{counted(indices.length, 'arc')}. It is damaged: copy it again."
            )
        self._file = file
        self._indptr, self._indices, self._weight = indptr, indices, weight
        self._unit, self._base = unit, base
        self._check()

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the arcs [begin, end); see `EdgeFile`."""
        for piece in self.row_pieces(begin, end):
            src = np.empty(len(piece), id_dtype(self.num_vertices))
            fill_tails(piece.indptr, piece.first, src)
            yield checked_edges(
                self.path, self.num_vertices, src, piece.heads, piece.weights,
                directed=True, before=begin,
            )  # fmt: skip
            begin += len(piece)

    def row_pieces(self, begin: int, end: int) -> Iterator[RowPiece]:
        """Yield the arcs [begin, end) by rows; see `EdgeFile`."""
        for block in self._blocks(begin):
            begins = self._begins(block, block + PIECE_ROWS)
            stop = min(end, int(begins[-1]))
            for low in range(begin, stop, PIECE_ARCS):
                high = min(low + PIECE_ARCS, stop)
                first = int(np.searchsorted(begins, low, "right")) - 1
                last = int(np.searchsorted(begins, high, "left"))
                indptr = np.clip(begins[first : last + 1], low, high) - low
                heads, weights = self._arcs(low, high)
                heads = heads.astype(heads.dtype.newbyteorder("="), copy=False)
                weights = supported_weights(self.name, weights)
                yield RowPiece(block + first, indptr, heads, weights)
            begin = stop
            if begin == end:
                return

    def rows(self, first: int, end: int) -> Rows:
        """Return the rows of the vertices [first, end); see `EdgeFile`."""
        begins = self._begins(first, end)
        heads, weights = self._arcs(*begins[[0, -1]].tolist())
        ids = as_ids(heads, id_dtype(self.num_vertices))
        return begins - begins[0], ids, supported_weights(self.name, weights)

    def _blocks(self, arc: int) -> range:
        """Return the first rows of blocks, from the one that has an arc on."""
        rows = range(0, self.num_vertices, PIECE_ROWS)
        place = bisect_right(rows, arc, key=lambda row: int(self._begins(row, row)[0]))
        return rows[max(0, place - 1) :]

    def _begins(self, low: int, high: int) -> np.ndarray:
        """Return the first arc of the rows [low, high], as far as there are any."""
        high = min(high, self.num_vertices)
        begins = self._file.read(self._indptr, low, high + 1).astype(np.int64)
        begins -= self._base
        if self._unit > 1:  # numbers are divided one by one
            begins //= self._unit
        return begins

    def _arcs(self, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Return heads and weights of the arcs [low, high)."""
        heads = self._file.read(self._indices, low, high)
        if heads.dtype.names:
            return heads["id"].copy(), heads["weight"].copy()
        if self._weight is None:
            return heads, np.ones(len(heads), np.int32)
        return heads, self._file.read(self._weight, low, high)

    def _check(self) -> None:
        """Look at all row beginnings, a bounded number at a time."""
        for low in range(0, self.num_vertices + 1, PIECE_ENTRIES):
            high = min(low + PIECE_ENTRIES, self.num_vertices)
            begins = self._file.read(self._indptr, low, high + 1)
            wrong = begins[1:] < begins[:-1]
            askew = self._unit > 1 and ((begins - self._base) % self._unit).any()
            if wrong.any() or askew:
                row = low + int(wrong.argmax()) if wrong.any() else low
                raise InputError(
                    f"{self.path}: the rows from vertex {row} on (counted from 0) do "
                    "not follow each other. The file is damaged or of another format: "
                    "copy it again, or name its format."
                )
        ends = [int(self._begins(v, v)[0]) for v in (0, self.num_vertices)]
        if ends != [0, self.length]:
            raise InputError(
                f"{self.path}: its rows go from arc {ends[0]} to {ends[1]}, but it has "
                f"{counted(self.length, 'arc')}. The file is damaged or of another "
                "format: copy it again, or name its format."
            )


def _weight_dtype(name: str, indices: Column, weight: Column | None) -> np.dtype:
    """Return the type that checked weights have."""
    dtype = np.dtype(np.int32) if weight is None else weight.dtype
    if indices.dtype.names:
        dtype = indices.dtype["weight"]
    return supported_weights(name, np.empty(0, dtype)).dtype
