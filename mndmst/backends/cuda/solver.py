"""Minimum spanning forest of placed rows, or of a list of edges.

The order of work, for rows: 1. every vertex takes its lightest arc, which is one
round of Boruvka without a single conflict; 2. rounds on the list of light edges,
about as many as vertices, which leave one giant component in most graphs; 3. rounds
on what is left, for which only the rows outside the giant component are read.
Filtering heavy edges follows filter-Kruskal (Osipov, Sanders and Singler 2009), the
rounds ECL-MST (Fallin, Gonzalez, Seo and Burtscher 2023).
"""

from enum import IntEnum, auto
from typing import Any, NamedTuple

import cupy
import numpy as np

from ..base import Band
from .kernels import NULL, TILE, Kernels
from .placed import PlacedRows

SAMPLE = 8192  # arcs that estimate the cut
LIGHT_EDGES = 1.25  # light edges per vertex where degrees are even
SPARSE_EDGES = 3.0  # edges per vertex below which all are light
EDGE_NBYTES = 48  # of a listed edge, with both lists of live edges
ENDLESS = np.uint64((1 << 64) - 1)  # NONE of common.cuh; a cut after all edges
SLACK = 1 << 16  # places beyond what a sample lets expect


class _State(IntEnum):
    """Fields of `State` in common.cuh, in its order."""

    FOUND = 0
    CAPACITY = auto()
    CHOSEN = auto()
    SIZE = auto()
    LEVEL1 = auto()
    TOP = auto()
    NEXT = auto()
    LIVE = auto()
    LIVE_OTHER = auto()
    GIANT = auto()
    AGAIN = auto()
    AGAIN_1 = auto()
    AGAIN_2 = auto()
    ARRIVED = auto()
    GENERATION = auto()
    CUT_KEY = auto()
    CUT_END = auto()
    LEAST_KEY = auto()
    GREATEST_KEY = auto()
    DEGREES = auto()
    OUTSIDE = auto()


class Edges(NamedTuple):
    """Edges on the device: ends and keys."""

    u: cupy.ndarray
    v: cupy.ndarray
    key: cupy.ndarray


class Solver:
    """One computation of a forest.

    Attributes
    ----------
    parent : device array of uint32
        The stack of components that components.cuh describes.
    """

    def __init__(self, kernels: Kernels, vertices: int) -> None:
        self.kernels = kernels
        self.vertices = vertices
        self.state = cupy.zeros(len(_State), np.uint64)
        self.state[_State.GREATEST_KEY] = np.iinfo(kernels.key).max
        self.parent = cupy.empty(3 * vertices + 64, np.uint32)
        self._fresh = cupy.empty(2 * vertices + 64, np.uint32)
        self._best = cupy.empty(vertices, np.uint64)
        self._hooked = False

    def start_from(self, component: cupy.ndarray) -> None:
        """Begin with every vertex in a component, numbered below `vertices`."""
        n = self.vertices
        self.parent[:n] = component
        self.parent[:n] += np.uint32(n)
        self.parent[n : 2 * n] = cupy.arange(n, 2 * n, dtype=np.uint32)
        self.state[_State.SIZE] = n

    # A list of edges

    def solve_list(self, edges: Edges) -> cupy.ndarray:
        """Mark (uint8) the forest's edges; equal keys are ordered by position."""
        self.start_from(cupy.arange(self.vertices, dtype=np.uint32))
        self.state[_State.FOUND] = self.state[_State.CAPACITY] = len(edges.key)
        self.state[_State.LEAST_KEY] = edges.key.min()
        self.state[_State.GREATEST_KEY] = edges.key.max()
        mark = cupy.zeros(len(edges.key), np.uint8)
        self._run_rounds(edges, mark=mark)
        return mark

    # Rows

    def solve_rows(self, rows: PlacedRows, band: Band, labelled: bool) -> Edges:
        """Return the forest of a band of rows, in no order.

        With `labelled` the components of `start_from` are kept; otherwise the first
        round on rows makes them.
        """
        self._rows, self._band = rows, band
        self._chosen = self._new_list(self.vertices)
        if rows.num_arcs == 0:
            self.parent[: self.vertices] = cupy.arange(self.vertices, dtype=np.uint32)
            return _cut(self._chosen, 0)
        everything = _Choice(rows.indptr, None, rows.num_arcs)
        choice, solved, share = everything, 0.0, self._light_share()
        capacity = self._expected(share)
        best = None if labelled else self._best
        while True:
            self._sample(share, even=solved > 0)
            edges = self._scan(choice, share, capacity, best)
            if best is not None:
                self._hook()
                best = None
            self._run_rounds(edges)
            if share is not None:
                self._flatten()
                if rows.complete:
                    self._list_outside()
            state = self.state.get()
            found = int(state[_State.FOUND])
            if found > capacity:  # nothing was solved: list again, all or less
                limit = _free_nbytes() // EDGE_NBYTES
                capacity = min(found, limit)
                if found > limit:
                    upper = 1.0 if share is None else share
                    share = solved + (upper - solved) * limit / found / 2
                continue
            self._hooked = False
            if share is None:
                return _cut(self._chosen, int(state[_State.CHOSEN]))
            else:
                solved, share = share, None
                if rows.complete:
                    choice = self._outside(int(state[_State.OUTSIDE]))
                capacity = min(choice.num_arcs, 4 * self.vertices + SLACK)
                if choice.num_arcs == 0:
                    return _cut(self._chosen, int(state[_State.CHOSEN]))

    def _light_share(self) -> float | None:
        """Return the share of the arcs that is listed first; None: all."""
        edges = self._rows.num_arcs / 2
        if self._band.high is not None or edges <= SPARSE_EDGES * self.vertices:
            return None
        return LIGHT_EDGES * self.vertices / edges

    def _expected(self, share: float | None) -> int:
        arcs = self._rows.num_arcs
        if share is not None:
            return int(1.25 * share * arcs) + SLACK
        return min(arcs, int(SPARSE_EDGES * self.vertices) + SLACK)

    def _sample(self, share: float | None, even: bool) -> None:
        """Set the cut so that a share of the band's arcs is before it.

        Unless told that degrees are `even`, the share shrinks with their skew.
        """
        if share is None:
            self.state[_State.CUT_KEY : _State.CUT_END + 1] = ENDLESS
            if self.kernels.key is np.uint32:
                return
        rows = self._rows
        keys = cupy.empty(SAMPLE, self.kernels.key)
        ends = cupy.empty(SAMPLE, np.uint32)
        self.kernels.launch(
            "draw_sample", SAMPLE, rows.indptr, np.uint64(rows.own),
            np.uint32(rows.first), rows.ends, rows.keys, np.uint64(rows.num_arcs),
            *self._bounds(), keys, ends, np.uint32(SAMPLE), self.state,
        )  # fmt: skip
        mean = 0.0 if even else rows.num_arcs / rows.own
        self.kernels.launch(
            "choose_cut", 32 * SAMPLE, keys, ends, np.uint32(SAMPLE),
            np.float64(1.0 if share is None else share), np.float64(mean),
            np.uint32(share is not None), self.state,
        )  # fmt: skip

    def _bounds(self) -> tuple[Any, Any]:
        """Return the least and the greatest key of the band."""
        key, top = self.kernels.key, int(np.iinfo(self.kernels.key).max)
        low, high = self._band
        if low is not None and low >= top:
            return key(1), key(0)  # no key at all
        return key(0 if low is None else low + 1), key(top if high is None else high)

    def _scan(
        self,
        choice: "_Choice",
        share: float | None,
        capacity: int,
        best: cupy.ndarray | None,
    ) -> Edges:
        """List the edges of chosen rows up to the cut; find each row's lightest."""
        rows, state = self._rows, self.state
        edges = self._new_list(capacity)
        state[_State.FOUND] = 0
        state[_State.CAPACITY] = capacity
        tiles = -(-choice.num_arcs // TILE)
        tile_row = cupy.empty(tiles + 1, np.uint32)
        arcs = np.uint64(choice.num_arcs)
        self.kernels.launch(
            "find_tiles", tiles + 1, choice.offset, np.uint64(choice.rows), arcs,
            tile_row, np.uint64(tiles),
        )  # fmt: skip
        if best is not None:
            best.fill(ENDLESS)
        name = "scan_all" if best is None else "scan_first"
        self.kernels.launch(
            name if choice.vertex is None else "scan_chosen", tiles * 256,
            choice.offset, NULL if choice.vertex is None else choice.vertex,
            rows.indptr, arcs, np.uint32(rows.first), np.uint64(rows.own),
            rows.ends, rows.keys, tile_row, self.parent, *self._bounds(),
            NULL if best is None else best, *edges, state,
        )  # fmt: skip
        return edges

    def _hook(self) -> None:
        rows, n = self._rows, np.uint64(self.vertices)
        first, own = np.uint32(rows.first), np.uint64(rows.own)
        nearest = cupy.empty(self.vertices, np.uint32)
        self.kernels.launch(
            "find_nearest", self.vertices, self._best, rows.ends, first, own, nearest, n
        )
        self.kernels.launch(
            "hook_vertices", self.vertices, nearest, self._best, rows.keys, first, own,
            self.parent, self._fresh, n, *self._chosen, self.state,
        )  # fmt: skip
        self._hooked = True

    def _run_rounds(self, edges: Edges, mark: cupy.ndarray | None = None) -> None:
        lists = [cupy.empty((len(edges.key), 4), np.uint32) for _ in range(2)]
        chosen = (NULL, NULL, NULL) if mark is not None else self._chosen
        self.kernels.launch_together(
            "run_rounds", self.state, np.uint32(self._hooked),
            np.uint64(self.vertices), self.parent, self._fresh, self._best,
            *lists, *edges, np.uint32(mark is not None),
            NULL if mark is None else mark, *chosen,
        )  # fmt: skip

    def _flatten(self) -> None:
        self.kernels.launch_together(
            "flatten", self.state, self.parent, self._fresh, np.uint64(self.vertices)
        )

    def _list_outside(self) -> None:
        rows = self._rows
        self.kernels.launch(
            "find_giant", 1024, rows.ends, np.uint64(rows.num_arcs), self.parent,
            self.state, block=1024,
        )  # fmt: skip
        self._outside_vertex = cupy.empty(rows.own, np.uint32)
        self._outside_degree = cupy.empty(rows.own, np.int64)
        self.kernels.launch(
            "list_outside", rows.own, rows.indptr, np.uint32(rows.first),
            np.uint64(rows.own), self.parent, np.uint64(self.vertices),
            self._outside_vertex, self._outside_degree, self.state,
        )  # fmt: skip

    def _outside(self, count: int) -> "_Choice":
        offset = cupy.zeros(count + 1, np.int64)
        cupy.cumsum(self._outside_degree[:count], out=offset[1:])
        return _Choice(offset, self._outside_vertex[:count], int(offset[-1]))

    def _new_list(self, length: int) -> Edges:
        u, v = cupy.empty(length, np.uint32), cupy.empty(length, np.uint32)
        return Edges(u, v, cupy.empty(length, self.kernels.key))

    # Labels

    def labels(self) -> cupy.ndarray:
        """Return for each vertex the smallest vertex of its tree (uint32)."""
        self._flatten()
        n = np.uint64(self.vertices)
        smallest = cupy.full(self.vertices, np.iinfo(np.uint32).max, np.uint32)
        label = cupy.empty(self.vertices, np.uint32)
        self.kernels.launch("find_smallest", self.vertices, self.parent, n, smallest)
        self.kernels.launch(
            "write_labels", self.vertices, self.parent, n, smallest, label
        )
        return label


class _Choice(NamedTuple):
    """Rows to scan: where their arcs begin, counted over the chosen rows alone."""

    offset: cupy.ndarray
    vertex: cupy.ndarray | None  # None: all rows
    num_arcs: int

    @property
    def rows(self) -> int:
        return len(self.offset) - 1


def _cut(edges: Edges, length: int) -> Edges:
    return Edges(*(column[:length] for column in edges))


def _free_nbytes() -> int:
    """Return the bytes that new arrays may take."""
    free, _ = cupy.cuda.runtime.memGetInfo()
    return int(0.8 * (free + cupy.get_default_memory_pool().free_bytes()))
