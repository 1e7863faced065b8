"""Minimum spanning forest of rows that are larger than the device's memory.

The rows stay in host memory and pass through the device in pieces; each piece is copied
while the one before is scanned. A scan adds edges to a list. Before the list can
overflow, it is reduced to its forest, because no other edge of the list can be in the
forest of the whole graph (cycle property). So the device holds two pieces, a list, and
a few words per vertex.

Light edges come first, as in `row_solver`: the first pass takes the edges up to a
sampled cut, the second pass the heavier edges between components. Without ghosts the
second pass reads only the rows outside the giant component.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import cupy
import numpy as np

from ...graph.light_edges import first_share
from ...graph.model import Rows
from ...graph.tuning import Tuning
from ...kernels.edge_columns import copy_rows
from ..base import Band
from ..costs import RowsSize, StreamingNeed
from .kernels import NULL, TILE_THREADS
from .row_solver import SAMPLE, key_bounds
from .solver import NONE, DeviceEdges, Solver, StateField, Tools
from .transfer import Fill, copy_next, fill_from

_COUNTED = 1 << 18  # rows whose degrees stay in the cache


class ChosenRows(NamedTuple):
    """All rows (`row` is None), or some of a whole graph, of which each has arcs."""

    offset: np.ndarray  # int64: the first arc of each row among the chosen rows' arcs
    row: np.ndarray | None

    def cut(self, arcs: int) -> np.ndarray:
        """Return row bounds of pieces of about `arcs` arcs; no row is split."""
        goals = np.arange(0, self.offset[-1], arcs)
        bounds = np.searchsorted(self.offset, goals, side="right") - 1
        return np.unique(np.append(bounds, len(self.offset) - 1))

    def sources(self, rows: Rows, bounds: np.ndarray) -> Iterator[tuple[int, Fill]]:
        """Yield the sources that `PieceBuffer.receive` takes, piece by piece."""
        for begin, end in pairwise(bounds):
            low, high = (int(self.offset[row]) for row in (begin, end))
            yield _whole(self.offset[begin : end + 1])
            for column in (rows.indices, rows.keys):
                fill = self._fill(rows.indptr, column, low)
                yield (high - low) * column.itemsize, fill
            if self.row is not None:
                yield _whole(self.row[begin:end])

    def _fill(self, indptr: np.ndarray, column: np.ndarray, first_arc: int) -> Fill:
        """Return a function that copies a column of the rows from an arc on."""
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
    """A buffer on the device for pieces of rows, and its present piece.

    After the event `scanned` the next piece may replace the present one; `listed`
    (pinned) is then the number of listed edges.
    """

    def __init__(self, rows: Rows, choice: ChosenRows, bounds: np.ndarray) -> None:
        arcs = int(np.diff(choice.offset[bounds]).max(initial=0))
        length = int(np.diff(bounds).max(initial=0))
        self.scanned = cupy.cuda.Event(disable_timing=True)
        memory = cupy.cuda.alloc_pinned_memory(8)
        self.listed = np.frombuffer(memory, np.uint64, 1).reshape(())
        self.listed[...] = 0
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


def piece_arcs(rows: Rows, tuning: Tuning) -> int:
    """Return the arcs that a piece should have."""
    arc_bytes = rows.id_dtype.itemsize + rows.key_dtype.itemsize
    return max(1, tuning.streamed_bytes // arc_bytes)


def longest_piece(rows: Rows, tuning: Tuning) -> int:
    """Return an upper bound of a piece's arcs: about `piece_arcs`, and a row more."""
    row = 0
    for begin in range(0, len(rows), _COUNTED):
        degrees = np.diff(rows.indptr[begin : begin + _COUNTED + 1])
        row = max(row, int(degrees.max()))
    return min(piece_arcs(rows, tuning) + row, rows.num_arcs)


def streaming_need(rows: Rows, tuning: Tuning) -> StreamingNeed:
    """Return the memory of the device that streaming rows needs."""
    return StreamingNeed.of(RowsSize.of(rows), longest_piece(rows, tuning))


# Fraction of the free memory that a solver takes at most; fragmentation of the pool
# makes the rest unusable.
FILLED = 0.9


def complete_graph(vertices: int, keys: np.dtype) -> Rows:
    """Return the rows of a complete graph with distinct keys."""
    tail, head = np.divmod(np.arange(vertices**2), vertices)
    tail, head = (end[tail != head] for end in (tail, head))
    key = np.minimum(tail, head) * vertices + np.maximum(tail, head)
    indptr = np.arange(0, len(tail) + 1, vertices - 1)
    return Rows(0, vertices, indptr, head.astype(np.uint32), key.astype(keys))


class StreamedRows(NamedTuple):
    """Rows in host memory whose forest is computed on the device.

    Global ids serve as local ones.
    """

    rows: Rows
    need: StreamingNeed

    @classmethod
    def of(cls, rows: Rows, tuning: Tuning) -> "StreamedRows":
        """Return rows with the memory that they need."""
        return cls(rows, streaming_need(rows, tuning))

    @property
    def keys(self) -> np.ndarray:
        """The keys, in host memory."""
        return self.rows.keys

    @property
    def id_dtype(self) -> np.dtype:
        """The type of global ids."""
        return self.rows.indices.dtype

    def to_global(self, local: cupy.ndarray) -> cupy.ndarray:
        """Return the global ids, of the type the rows have, of local ones."""
        return local.astype(self.id_dtype, copy=False)


class StreamSolver(Solver):
    """The computation of the forest of a band of rows in host memory.

    It takes at most `nbytes` of the device.
    """

    def __init__(self, tools: Tools, streamed: StreamedRows, nbytes: int) -> None:
        rows, need = streamed
        kernels, self._tuning = tools.kernels, tools.tuning
        super().__init__(kernels, rows.num_vertices)
        self._rows, self._transfer = rows, tools.transfer
        self._copying = cupy.cuda.Stream(non_blocking=True)
        fitting = (nbytes - need.fixed) // need.listed
        most = max(need.edges, min(fitting, rows.num_arcs + self.vertices))
        self._listed = DeviceEdges.empty(
            min(most, self._tuning.most_listed), kernels.key
        )
        self._chosen = DeviceEdges.empty(self.vertices, kernels.key)
        self._component = cupy.arange(self.vertices, dtype=np.uint32)
        self._degree = cupy.zeros(len(rows), np.uint32)

    @classmethod
    def of(cls, rows: StreamedRows, tools: Tools) -> "StreamSolver":
        """Return a solver that takes most of the free memory of the device."""
        return cls(tools, rows, int(FILLED * tools.free_nbytes(0)))

    def solve_rows(self, band: Band, label: np.ndarray | None) -> DeviceEdges:
        """Return the forest, in no order; `label` as in `Backend.band_forest`."""
        rows = self._rows
        if label is not None:
            self._component[rows.first : rows.last] = self._transfer.to_device(
                label.astype(np.uint32)
            )
        cut, ends = self._sample(band)
        everything = ChosenRows(rows.indptr, None)
        if cut is None:
            return self._pass(everything, band)
        light = self._pass(everything, Band(band.low, cut))
        light = DeviceEdges(*(column.copy() for column in light))
        self._over_levels("flatten")
        self._component = self.parent[: self.vertices] - np.uint32(self.vertices)
        rest = self._outside(ends) if rows.complete else everything
        heavy = self._pass(rest, Band(cut, band.high))
        pairs = zip(light, heavy, strict=True)
        return DeviceEdges(*(cupy.concatenate(pair) for pair in pairs))

    def _sample(self, band: Band) -> tuple[int | None, np.ndarray]:
        """Return the largest key of light edges, and the far ends of sampled arcs.

        The key is None if all edges are light.
        """
        rows = self._rows
        if rows.num_arcs == 0:
            return None, rows.indices
        arcs = np.random.default_rng(0).integers(0, rows.num_arcs, SAMPLE)
        keys, ends = rows.keys[arcs], rows.indices[arcs].astype(np.int64)
        tails = rows.first + np.searchsorted(rows.indptr, arcs, side="right") - 1
        once = (tails < ends) | (ends < rows.first) | (ends >= rows.last)
        low, high = key_bounds(band, self.kernels.key)
        keys = np.sort(keys[once & (keys >= low) & (keys <= high)])
        edges = len(keys) / SAMPLE * rows.num_arcs
        per_vertex = self._tuning.streamed_light_edges
        share = first_share(edges, self.vertices, per_vertex, self._tuning)
        if share is None:
            return None, ends
        self.set_state(StateField.LEAST_KEY, int(keys[0]), int(keys[-1]))
        return int(keys[int(share * len(keys))]), ends

    def _outside(self, ends: np.ndarray) -> ChosenRows:
        """Choose the rows outside the component that has most of the `ends`."""
        components, counts = cupy.unique(
            self._component[cupy.asarray(ends)], return_counts=True
        )
        self._giant = components[counts.argmax()]
        outside = (self._degree > 0) & (self._component != self._giant)
        row = cupy.flatnonzero(outside).astype(np.uint32)
        offset = cupy.zeros(len(row) + 1, np.int64)
        cupy.cumsum(self._degree[row], out=offset[1:])
        to_host = self._transfer.to_host
        return ChosenRows(to_host(offset), to_host(row))

    def _pass(self, choice: ChosenRows, band: Band) -> DeviceEdges:
        """Return the forest of a band of chosen rows, as views into `_chosen`."""
        bounds = choice.cut(piece_arcs(self._rows, self._tuning))
        pieces = [PieceBuffer(self._rows, choice, bounds) for _ in range(2)]
        filled = self._transfer.filled(choice.sources(self._rows, bounds))
        computing = cupy.cuda.get_current_stream()
        capacity = len(self._listed.key)
        self.set_state(StateField.LISTED, 0, capacity)
        self.set_state(StateField.CUT_KEY, int(NONE), int(NONE))
        for number, (begin, end) in enumerate(pairwise(bounds)):
            before, piece = pieces[number % 2 - 1], pieces[number % 2]
            piece.scanned.synchronize()
            with self._copying:
                piece.receive(filled, begin, end)
                computing.wait_event(self._copying.record())
            # `piece.listed` is from two scans ago; the last scan may still run.
            if int(piece.listed) + before.num_arcs + piece.num_arcs > capacity:
                before.listed[...] = self._reduce_if_full(piece.num_arcs)
            self._scan(piece, band)
            self.state[StateField.LISTED].get(out=piece.listed, blocking=False)
            piece.scanned.record(computing)
        return self._solve_listed()

    def _reduce_if_full(self, arcs: int) -> int:
        """Reduce the list unless `arcs` more edges fit; return its length."""
        listed = int(self.state[StateField.LISTED])
        if listed + arcs <= len(self._listed.key):
            return listed
        return self._reduce()

    def _solve_listed(self) -> DeviceEdges:
        self.start_from(self._component)
        self.set_state(StateField.CHOSEN, 0)
        self._run_rounds(self._listed, self._chosen)
        return self._chosen.cut(int(self.state[StateField.CHOSEN]))

    def _reduce(self) -> int:
        """Replace the list by its forest; return its length."""
        forest = self._solve_listed()
        for column, forest_column in zip(self._listed, forest, strict=True):
            column[: len(forest_column)] = forest_column
        self.set_state(StateField.LISTED, len(forest.key))
        return len(forest.key)

    def _scan(self, piece: PieceBuffer, band: Band) -> None:
        """Add the edges of a piece that lie between components to the list."""
        rows, arcs = self._rows, piece.num_arcs
        tile_row = self.kernels.tile_rows(piece.offset, piece.num_rows, arcs)
        chosen = piece.vertex is not None
        if chosen:
            self.state[StateField.GIANT] = self._giant
        else:
            row = piece.first - rows.first
            self._degree[row : row + piece.num_rows] = cupy.diff(piece.offset)
        self.kernels.launch(
            "scan_chosen" if chosen else "scan_all", TILE_THREADS * (len(tile_row) - 1),
            piece.offset, piece.vertex if chosen else NULL, NULL, np.uint64(arcs),
            np.uint32(piece.first), np.uint32(rows.first), np.uint64(len(rows)),
            piece.ends, piece.keys, tile_row, self._component,
            *key_bounds(band, self.kernels.key), self._best, *self._listed, self.state,
        )  # fmt: skip
