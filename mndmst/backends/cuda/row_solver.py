"""Minimum spanning forest of uploaded rows.

1. Every vertex hooks along its lightest arc: a Borůvka round without conflicts.
2. Rounds on the list of light edges, about one per vertex, make one giant component
   in most graphs.
3. Rounds on the remaining edges between components. Without ghosts only the rows
   outside the giant component are scanned.

Light edges first is filter-Kruskal (Osipov, Sanders and Singler 2009).
"""

from typing import NamedTuple

import cupy
import numpy as np

from ...graph.light_edges import first_share
from ...host.formatting import counted
from ...host.memory_costs import LISTED_EDGE_BYTES
from ..base import Band, DeviceMemoryError
from .device_rows import DeviceRows
from .kernels import NULL, TILE_THREADS
from .solver import NONE, DeviceEdges, Solver, StateField, Tools

SAMPLE = 8192  # arcs that estimate the cut
LISTED_SHARE = 0.8  # of the free memory; pools leave holes
# Limits beyond which the device has too little memory: the number of lists that hold
# all edges; and the number of consecutive lists that overflow, although the cut of each
# was estimated to fill half of the list.
MOST_LISTS, MOST_OVERFLOWS = 1024, 16


class RowSolver(Solver):
    """The computation of the forest of a band of rows.

    The list of edges takes at most `LISTED_SHARE` of the bytes that the tools allow.
    Raises DeviceMemoryError if no edge fits, or so few edges fit that the list
    overflows again and again: the cut is the key of a sampled arc, so a list cannot be
    arbitrarily short.
    """

    def __init__(
        self, tools: Tools, vertices: int, rows: DeviceRows, band: Band
    ) -> None:
        kernels, self._tuning = tools.kernels, tools.tuning
        super().__init__(kernels, vertices)
        self._rows, self._band = rows, band
        self._bounds = key_bounds(band, kernels.key)
        self._chosen = DeviceEdges.empty(vertices, kernels.key)
        each = LISTED_EDGE_BYTES + np.dtype(kernels.key).itemsize
        arrays = (self.parent, self._fresh, self._best, *self._chosen)
        held = rows.nbytes + sum(array.nbytes for array in arrays)
        nbytes = int(LISTED_SHARE * tools.free_nbytes(held))
        self._limit = min(nbytes // each, self._tuning.most_listed)

    def solve_rows(self, labelled: bool) -> DeviceEdges:
        """Return the forest, in no order.

        With `labelled` it continues from the components of `start_from`; otherwise the
        first round makes the components.
        """
        rows = self._rows
        if rows.num_arcs == 0:
            vertices = np.uint64(self.vertices)
            self.kernels.launch("number_vertices", self.vertices, self.parent, vertices)
            return self._chosen.cut(0)
        choice = _Choice(rows.indptr, None, rows.num_arcs)
        solved, share = 0.0, self._light_share()
        capacity = self._expected(share)
        first, overflows = not labelled, 0
        while choice.num_arcs:
            capacity = min(capacity, self._limit)
            self._set_cut(share, again=solved > 0)
            edges = self._scan(choice, capacity, first)
            if first:
                self._hook()
                first = False
            self._run_rounds(edges, self._chosen)
            if share is not None:
                self._over_levels("flatten")
                self._list_outside()
            state = self.state.get()
            listed = int(state[StateField.LISTED])
            if listed > capacity:  # nothing was solved: enlarge the list, or list less
                capacity = listed
                if listed > self._limit:
                    overflows += 1
                    far = listed > MOST_LISTS * self._limit
                    if far or overflows > MOST_OVERFLOWS:
                        raise self._list_error(listed)
                    upper = 1.0 if share is None else share
                    share = solved + (upper - solved) * self._limit / listed / 2
            elif share is None:
                break
            else:
                solved, share, overflows = share, None, 0
                if rows.complete:
                    choice = self._outside(int(state[StateField.OUTSIDE]))
                capacity = min(
                    choice.num_arcs, 4 * self.vertices + self._tuning.listed_slack
                )
        return self._chosen.cut(int(state[StateField.CHOSEN]))

    def lightest_arcs(self, high: int | None) -> tuple[cupy.ndarray, DeviceEdges]:
        """Return the position of each row's lightest arc (NONE without one), and edges.

        The edges are those up to the key `high`, in no order. The band of the solver
        must be open on both sides.
        """
        rows = self._rows
        if rows.num_arcs == 0:
            self._clear_best()
            return self._best[: rows.num_rows], self._chosen.cut(0)
        cut = int(NONE) if high is None else high
        self.set_state(StateField.CUT_KEY, cut, int(NONE))  # and the cut's end
        choice = _Choice(rows.indptr, None, rows.num_arcs)
        capacity = min(self._expected(None), self._limit)
        edges = self._scan(choice, capacity, first=True)
        listed = int(self.state[StateField.LISTED])
        if listed > self._limit:
            raise self._list_error(listed)
        if listed > capacity:
            edges = self._scan(choice, listed, first=True)
        return self._best[: rows.num_rows], edges.cut(listed)

    def _list_error(self, listed: int) -> DeviceMemoryError:
        """Return the error of a list that is too long for the device."""
        limit, needed = counted(self._limit, "edge"), counted(listed, "edge")
        return DeviceMemoryError(
            f"the GPU has room for a list of {limit}, and {needed} must be listed at "
            "once. Give --gpu-memory more, the GPU a smaller share with --ratio, or "
            "use more ranks."
        )

    def _light_share(self) -> float | None:
        """Return the share of the arcs that is listed first; None: all."""
        if self._band.high is not None:
            return None
        per_vertex, edges = self._tuning.device_light_edges, self._rows.num_arcs / 2
        return first_share(edges, self.vertices, per_vertex, self._tuning)

    def _expected(self, share: float | None) -> int:
        arcs, slack = self._rows.num_arcs, self._tuning.listed_slack
        if share is None:
            return min(arcs, int(self._tuning.dense_edges * self.vertices) + slack)
        return int(1.25 * share * arcs) + slack

    def _set_cut(self, share: float | None, again: bool) -> None:
        """Set the cut so that a share of the band's arcs is before it.

        The first time, a skewed degree distribution lowers the share, because hubs make
        a giant component with fewer edges.
        """
        if share is None:
            self.set_state(StateField.CUT_KEY, int(NONE), int(NONE))
            if again or self.kernels.key is np.uint32:
                return  # wide keys need the least and the greatest of a sample
        rows = self._rows
        self.set_state(StateField.DEGREES, 0)
        keys = cupy.empty(SAMPLE, self.kernels.key)
        ends = cupy.empty(SAMPLE, np.uint32)
        self.kernels.launch(
            "draw_sample", SAMPLE, rows.indptr, np.uint64(rows.num_rows),
            np.uint32(rows.first), rows.ends, rows.keys, np.uint64(rows.num_arcs),
            *self._bounds, keys, ends, np.uint32(SAMPLE), self.state,
        )  # fmt: skip
        mean = 0.0 if again else rows.num_arcs / rows.num_rows
        self.kernels.launch(
            "choose_cut", 32 * SAMPLE, keys, ends, np.uint32(SAMPLE),
            np.float64(1.0 if share is None else share), np.float64(mean),
            np.uint32(share is not None), self.state,
        )  # fmt: skip

    def _scan(self, choice: "_Choice", capacity: int, first: bool) -> DeviceEdges:
        """List the edges of chosen rows up to the cut.

        With `first` it also finds each row's lightest arc.
        """
        rows = self._rows
        edges = DeviceEdges.empty(capacity, self.kernels.key)
        self.set_state(StateField.LISTED, 0, capacity)
        tile_row = self.kernels.tile_rows(choice.offset, choice.rows, choice.num_arcs)
        if first:
            self._clear_best()
            name = "scan_first"
        else:
            name = "scan_all" if choice.vertex is None else "scan_chosen"
        self.kernels.launch(
            name, TILE_THREADS * (len(tile_row) - 1), choice.offset,
            NULL if choice.vertex is None else choice.vertex, rows.indptr,
            np.uint64(choice.num_arcs), np.uint32(rows.first), np.uint32(rows.first),
            np.uint64(rows.num_rows), rows.ends, rows.keys, tile_row, self.parent,
            *self._bounds, self._best, *edges, self.state,
        )  # fmt: skip
        return edges

    def _clear_best(self) -> None:
        self._best.data.memset_async(0xFF, self._best.nbytes)  # NONE

    def _hook(self) -> None:
        """Hook every vertex along its lightest arc, and make level 1."""
        rows, first = self._rows, np.uint32(self._rows.first)
        num_rows = rows.num_rows
        nearest = self._fresh[self.vertices :]  # is not used before the rounds
        self.kernels.launch(
            "find_nearest", num_rows, self._best, rows.ends, first, np.uint64(num_rows),
            nearest,
        )  # fmt: skip
        self.kernels.launch(
            "hook_vertices", self.vertices, nearest, self._best, rows.keys, first,
            np.uint64(num_rows), self.parent, self._fresh, np.uint64(self.vertices),
            *self._chosen, self.state,
        )  # fmt: skip
        self._over_levels("contract")

    def _list_outside(self) -> None:
        """List the rows outside the giant component, if no vertex is a ghost."""
        rows = self._rows
        if not rows.complete:
            return
        self.kernels.launch(
            "find_giant", 1024, rows.ends, np.uint64(rows.num_arcs), self.parent,
            self.state, block=1024,
        )  # fmt: skip
        self._outside_vertex = cupy.empty(rows.num_rows, np.uint32)
        self._outside_degree = cupy.empty(rows.num_rows, np.int64)
        self.kernels.launch(
            "list_outside", rows.num_rows, rows.indptr, np.uint32(rows.first),
            np.uint64(rows.num_rows), self.parent, np.uint64(self.vertices),
            self._outside_vertex, self._outside_degree, self.state,
        )  # fmt: skip

    def _outside(self, count: int) -> "_Choice":
        offset = self.kernels.prefix_sums("degrees", self._outside_degree[:count])
        return _Choice(offset, self._outside_vertex[:count], int(offset[-1]))


class _Choice(NamedTuple):
    """Rows to scan."""

    offset: cupy.ndarray  # int64: the first arc of each row among the chosen rows' arcs
    vertex: cupy.ndarray | None  # None: all rows
    num_arcs: int

    @property
    def rows(self) -> int:
        return len(self.offset) - 1


def key_bounds(band: Band, key: type) -> tuple[np.unsignedinteger, np.unsignedinteger]:
    """Return the least and the greatest key of a band."""
    top = int(np.iinfo(key).max)
    low, high = band.low, band.high
    if low is not None and low >= top:
        return key(1), key(0)  # no key at all
    return key(0 if low is None else low + 1), key(top if high is None else high)
