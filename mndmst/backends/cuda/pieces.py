"""Pieces of rows on their way from host memory to the device."""

from typing import NamedTuple

import cupy
import numpy as np

from ...graph import Rows
from ..numba.rows import copy_rows
from .transfer import Fill, Transfer, fill_from

PIECE_BYTES = 256 << 20  # of arcs; long enough to make a launch cheap


class Choice(NamedTuple):
    """All rows or some, with their arcs counted as if they lay side by side."""

    offset: np.ndarray
    row: np.ndarray | None
    begin: np.ndarray | None = None

    @classmethod
    def of(cls, rows: Rows, mask: np.ndarray) -> "Choice":
        """Choose rows by a mask."""
        row = np.flatnonzero(mask)
        begin = rows.indptr[row]
        offset = np.zeros(len(row) + 1, np.int64)
        np.cumsum(rows.indptr[row + 1] - begin, out=offset[1:])
        return cls(offset, row, begin)

    def cut(self, arcs: int) -> np.ndarray:
        """Return bounds that cut the rows by arcs; none is divided."""
        goals = np.arange(0, self.offset[-1], arcs)
        bounds = np.searchsorted(self.offset, goals, side="right") - 1
        return np.unique(np.append(bounds, len(self.offset) - 1))

    def fill(self, column: np.ndarray, first_arc: int) -> Fill:
        """Return what copies a column of the rows from an arc on."""
        if self.row is None:
            return fill_from(column[first_arc:])

        def fill(piece: np.ndarray, low: int) -> None:
            out = piece.view(column.dtype)
            arc = first_arc + low // column.itemsize
            copy_rows(column, self.begin, self.offset, arc, out)

        return fill


class Piece:
    """Room on the device for any piece of some rows, and the piece that is there."""

    def __init__(self, rows: Rows, choice: Choice, bounds: np.ndarray) -> None:
        arcs = int(np.diff(choice.offset[bounds]).max(initial=0))
        self.scanned = cupy.cuda.Event(disable_timing=True)
        self._arrays = (
            cupy.empty(int(np.diff(bounds).max(initial=0)) + 1, np.int64),
            cupy.empty(arcs, rows.indices.dtype),
            cupy.empty(arcs, rows.keys.dtype),
        )

    def send(
        self, transfer: Transfer, rows: Rows, choice: Choice, begin: int, end: int
    ) -> None:
        """Begin to copy rows [begin, end) of a choice; the current stream does it."""
        low, high = (int(choice.offset[row]) for row in (begin, end))
        self.num_rows, self.num_arcs = int(end - begin), high - low
        self.first = rows.first + int(begin)
        lengths = (self.num_rows + 1, self.num_arcs, self.num_arcs)
        self.offset, ends, self.keys = (
            array[:length] for array, length in zip(self._arrays, lengths, strict=True)
        )
        transfer.send(self.offset, fill_from(choice.offset[begin : end + 1]))
        self.offset -= low
        transfer.send(ends, choice.fill(rows.indices, low))
        transfer.send(self.keys, choice.fill(rows.keys, low))
        self.ends = ends.astype(np.uint32, copy=False)
        self.vertex = None
        if choice.row is not None:
            vertex = (rows.first + choice.row[begin:end]).astype(np.uint32)
            self.vertex = cupy.empty(self.num_rows, np.uint32)
            transfer.send(self.vertex, fill_from(vertex))


def piece_arcs(rows: Rows) -> int:
    """Return the arcs that a piece should have."""
    return max(1, PIECE_BYTES // (rows.indices.itemsize + rows.keys.itemsize))


def longest_piece(rows: Rows) -> int:
    """Return the arcs that no piece exceeds: it may have a row more than it should."""
    row = int(np.diff(rows.indptr).max(initial=0))
    return min(piece_arcs(rows) + row, rows.num_arcs)
