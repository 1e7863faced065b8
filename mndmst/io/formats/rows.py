"""Graphs that are stored as rows of neighbours (CSR), read by ranges of arcs."""

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from ...errors import InputError
from ...order import id_dtype
from ..edge_file import PIECE_ENTRIES, EdgeFile
from ..edges import Edges, checked_edges, supported_weights
from .binary import Binary, Column, contents
from .files import COMPRESSIONS


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
                f"{file.path}: has {weight.length} weights for {indices.length} arcs. "
                "It is damaged: copy it again."
            )
        self._columns = indptr, indices, weight
        self._unit, self._base = unit, base
        self._check(indptr.of(file.contents))

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the arcs [begin, end); see `EdgeFile`."""
        held = None
        for low in range(begin, end, PIECE_ENTRIES):
            if held is None or self.seekable:  # an old map would keep what was read
                held = contents(self.path)
            indptr, indices = (column.of(held) for column in self._columns[:2])
            weights = self._columns[2] and self._columns[2].of(held)
            arcs = slice(low, min(low + PIECE_ENTRIES, end))
            dst = indices[arcs]
            if dst.dtype.names:
                dst, weight = dst["id"], dst["weight"]
            elif weights is None:
                weight = np.ones(len(dst), np.int32)
            else:
                weight = weights[arcs]
            # What is mapped may lie askew; kernels want arrays of their own
            dst, weight = np.array(dst), np.array(weight)
            src = self._tails(indptr, arcs.start, arcs.stop)
            yield checked_edges(
                self.path, self.num_vertices, src, dst, weight, True, arcs.start
            )

    def _tails(self, indptr: np.ndarray, low: int, high: int) -> np.ndarray:
        """Return the vertices in whose rows the arcs [low, high) are."""
        # Bisected by hand: NumPy would first copy an array that lies askew
        first, last = (
            bisect_right(indptr, self._base + self._unit * arc) - 1
            for arc in (low, high - 1)
        )
        begins = self._arcs(indptr[first : last + 2])
        lengths = np.diff(np.clip(begins, low, high))
        ids = id_dtype(self.num_vertices)
        return np.repeat(np.arange(first, last + 1, dtype=ids), lengths)

    def _arcs(self, begins: np.ndarray) -> np.ndarray:
        return (begins.astype(np.int64) - self._base) // self._unit

    def _check(self, indptr: np.ndarray) -> None:
        """Look at all row beginnings, a bounded number at a time."""
        for low in range(0, len(indptr), PIECE_ENTRIES):
            begins = indptr[low : low + PIECE_ENTRIES + 1].astype(np.int64)
            wrong = np.diff(begins) < 0
            if wrong.any() or ((begins - self._base) % self._unit).any():
                row = low + int(wrong.argmax()) if wrong.any() else low
                raise InputError(
                    f"{self.path}: the rows from vertex {row} on (counted from 0) do "
                    "not follow each other. The file is damaged or of another format: "
                    "copy it again, or name its format."
                )
        ends = self._arcs(indptr[[0, -1]]).tolist()
        if ends != [0, self.length]:
            raise InputError(
                f"{self.path}: its rows go from arc {ends[0]} to {ends[1]}, but it has "
                f"{self.length} arcs. The file is damaged or of another format: copy "
                "it again, or name its format."
            )


def _weight_dtype(name: str, indices: Column, weight: Column | None) -> np.dtype:
    """Return the type that checked weights have."""
    dtype = np.dtype(np.int32) if weight is None else weight.dtype
    if indices.dtype.names:
        dtype = indices.dtype["weight"]
    return supported_weights(name, np.empty(0, dtype)).dtype
