"""Pieces of rows on their way from host memory to the device."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import cupy
import numpy as np

from ...graph.model import Rows
from ...kernels.rows import copy_rows
from .transfer import Fill, copy_next, fill_from

PIECE_BYTES = 64 << 20  # of arcs; long enough to make a launch cheap
_COUNTED = 1 << 18  # rows whose degrees stay in the cache


class ChosenRows(NamedTuple):
    """All rows, or some of a whole graph, of which each has arcs.

    Attributes
    ----------
    offset : ndarray of int64, shape (chosen + 1,)
        Where each row begins, if they lie side by side.
    row : ndarray of uint32, shape (chosen,), or None
    """

    offset: np.ndarray
    row: np.ndarray | None

    def cut(self, arcs: int) -> np.ndarray:
        """Return bounds that cut the rows by arcs; none is divided."""
        goals = np.arange(0, self.offset[-1], arcs)
        bounds = np.searchsorted(self.offset, goals, side="right") - 1
        return np.unique(np.append(bounds, len(self.offset) - 1))

    def sources(self, rows: Rows, bounds: np.ndarray) -> Iterator[tuple[int, Fill]]:
        """Yield what `PieceBuffer.receive` takes, for every piece between bounds."""
        for begin, end in pairwise(bounds):
            low, high = (int(self.offset[row]) for row in (begin, end))
            yield _whole(self.offset[begin : end + 1])
            for column in (rows.indices, rows.keys):
                fill = self._fill(rows.indptr, column, low)
                yield (high - low) * column.itemsize, fill
            if self.row is not None:
                yield _whole(self.row[begin:end])

    def _fill(self, indptr: np.ndarray, column: np.ndarray, first_arc: int) -> Fill:
        """Return what copies a column of the rows from an arc on."""
        if self.row is None:
            return fill_from(column[first_arc:])

        def fill(piece: np.ndarray, low: int) -> None:
            out = piece.view(column.dtype)
            arc = first_arc + low // column.itemsize
            copy_rows(column, indptr, self.row, self.offset, arc, out)

        return fill


def _whole(array: np.ndarray) -> tuple[int, Fill]:
    return array.nbytes, fill_from(array)


class PieceBuffer:
    """Room on the device for any piece of some rows, and the piece that is there.

    Attributes
    ----------
    scanned : cupy.cuda.Event
        When it may be replaced.
    found : ndarray of uint64, shape ()
        Pinned: how many edges had been found by then.
    """

    def __init__(self, rows: Rows, choice: ChosenRows, bounds: np.ndarray) -> None:
        arcs = int(np.diff(choice.offset[bounds]).max(initial=0))
        length = int(np.diff(bounds).max(initial=0))
        self.scanned = cupy.cuda.Event(disable_timing=True)
        memory = cupy.cuda.alloc_pinned_memory(8)
        self.found = np.frombuffer(memory, np.uint64, 1).reshape(())
        self.found[...] = 0
        self._rows, self._choice = rows, choice
        self._offset = cupy.empty(length + 1, np.int64)
        self._ends = cupy.empty(arcs, rows.indices.dtype)
        self._keys = cupy.empty(arcs, rows.keys.dtype)
        self._vertex, self.num_arcs = None, 0
        if choice.row is not None:
            self._vertex = cupy.empty(length, np.uint32)

    def receive(self, filled: Iterator[np.ndarray], begin: int, end: int) -> None:
        """Copy rows [begin, end) of the choice, on the current stream."""
        low, high = (int(self._choice.offset[row]) for row in (begin, end))
        self.num_rows, self.num_arcs = int(end - begin), high - low
        self.first = self._rows.first + int(begin)
        self.offset = self._offset[: self.num_rows + 1]
        self.keys, ends = self._keys[: self.num_arcs], self._ends[: self.num_arcs]
        for array in (self.offset, ends, self.keys):
            copy_next(filled, array)
        self.offset -= low
        self.ends = ends.astype(np.uint32, copy=False)
        self.vertex = self._vertex
        if self.vertex is not None:
            copy_next(filled, self.vertex[: self.num_rows])


def piece_arcs(rows: Rows) -> int:
    """Return the arcs that a piece should have."""
    return max(1, PIECE_BYTES // (rows.indices.itemsize + rows.keys.itemsize))


def longest_piece(rows: Rows) -> int:
    """Return the arcs that no piece exceeds: it may have a row more than it should."""
    row = 0
    for begin in range(0, len(rows), _COUNTED):
        degrees = np.diff(rows.indptr[begin : begin + _COUNTED + 1])
        row = max(row, int(degrees.max()))
    return min(piece_arcs(rows) + row, rows.num_arcs)
