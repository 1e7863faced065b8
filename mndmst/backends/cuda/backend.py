"""The steps of `Backend` on one CUDA device."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import cupy
import numpy as np

from ...graph.model import EdgeList, ReducedGraph, Rows
from ...host.errors import ConfigError
from ...kernels.columns import without_repeats
from ..base import Backend, Band, DeviceMemoryError, Forest, Growth, Memory
from . import unavailable
from .kernels import Kernels
from .listed import place_edges
from .peer import CudaPeer
from .placed import MAX_VERTICES, PlacedRows, place, placed_nbytes
from .row_solver import RowSolver
from .solver import Edges, Solver
from .state import NONE
from .streamed import Need, StreamedRows, StreamSolver
from .transfer import Transfer

# Below so many edges a reduced graph is solved on the host before the device has
# been told about it.
SMALL_EDGES = 100_000
FILLED = 0.9  # of the free memory is taken where it is short; pools leave holes


class CudaBackend(Backend):
    """One device; its steps may be called from any one thread at a time.

    Parameters
    ----------
    device : int
        Number of the device among those that are visible.
    host : Backend, optional
        Solves small reduced graphs, and looks into rows that stay in host memory;
        the Numba backend by default.
    limit : int
        Bytes of the device it may take; 0 is no limit.
    sharers : int
        How many ranks use the device: each leaves the others their share.

    Raises
    ------
    ConfigError
        If the device cannot be used.
    """

    name = "cuda"

    def __init__(
        self,
        device: int = 0,
        host: Backend | None = None,
        limit: int = 0,
        sharers: int = 1,
    ) -> None:
        reason = unavailable()
        if reason is not None:
            raise ConfigError(f"--backend cuda: {reason}")
        count = cupy.cuda.runtime.getDeviceCount()
        if not 0 <= device < count:
            raise ConfigError(
                f"CUDA device {device} does not exist; {count} are visible, from 0 on"
            )
        if host is None:
            from ..cpu.backend import CpuBackend

            host = CpuBackend()
        self.host = host
        self._limit, self._sharers = limit, sharers
        self.device = cupy.cuda.Device(device)
        self._kernels: dict[np.dtype, Kernels] = {}

    # Made by the first step: to start the device takes time, which another thread may
    # have for it.

    @cached_property
    def _stream(self) -> cupy.cuda.Stream:
        with self.device:
            return cupy.cuda.Stream(non_blocking=True)

    @cached_property
    def _transfer(self) -> Transfer:
        with self.device:
            return Transfer()

    @contextmanager
    def _current(self) -> Iterator[None]:
        # Device and stream are current per thread, so each step sets them.
        with self.device, self._stream:
            try:
                yield
                self._stream.synchronize()
            except cupy.cuda.memory.OutOfMemoryError as error:
                raise DeviceMemoryError(
                    f"{self.describe()} has too little free memory ({error}). Give "
                    "the GPU a smaller share with --ratio, or use more ranks."
                ) from error

    def _kernels_for(self, keys: np.dtype) -> Kernels:
        if keys not in self._kernels:
            self._kernels[keys] = Kernels(keys)
        return self._kernels[keys]

    def describe(self) -> str:
        """Return the device's name for reports."""
        name = cupy.cuda.runtime.getDeviceProperties(self.device.id)["name"]
        return f"{name.decode()} ({self.device.id})"

    def memory(self) -> Memory:
        """Return what may be taken; what CuPy's pool holds back is free."""
        with self.device:
            free, total = cupy.cuda.runtime.memGetInfo()
            free += cupy.get_default_memory_pool().free_bytes()
        limit = self._limit or total
        return Memory(min(total, limit), min(free // self._sharers, limit))

    def rows_nbytes(self, rows: Rows) -> int:
        """Return the least bytes that `place` and the steps on rows will need."""
        placed = placed_nbytes(rows)
        if placed <= self.memory().free or rows.num_vertices > MAX_VERTICES:
            return placed
        return min(placed, Need.of(rows).nbytes)

    # Steps on rows

    def place(self, rows: Rows) -> PlacedRows | StreamedRows:
        """Bring rows to the device, or leave them in host memory if they do not fit.

        See `placed.place` and `streamed`.
        """
        if self.rows_nbytes(rows) < placed_nbytes(rows):
            return StreamedRows.of(rows)
        with self._current():
            return place(rows, self._transfer)

    def _stream_solver(self, rows: StreamedRows) -> StreamSolver:
        kernels = self._kernels_for(rows.keys.dtype)
        nbytes = int(FILLED * self.memory().free)
        return StreamSolver(kernels, rows, self._transfer, nbytes)

    def msf_of_edges(
        self, num_vertices: int, src: Any, dst: Any, weight: Any, maximum: bool
    ) -> Forest:
        """Return the forest of edges in arrays of this device; see `place_edges`."""
        with self._current():
            rows = place_edges(num_vertices, src, dst, weight, maximum)
        return self.msf(rows)

    def msf(self, rows: PlacedRows | StreamedRows) -> Forest:
        """Return the forest of rows that are the whole graph (no ghosts)."""
        with self._current():
            solver: RowSolver | StreamSolver
            if isinstance(rows, StreamedRows):
                solver = self._stream_solver(rows)
                edges = solver.solve_rows(Band(), None)
            else:
                kernels = self._kernels_for(rows.keys.dtype)
                solver = RowSolver(kernels, rows.vertices, rows, Band())
                edges = solver.solve_rows(labelled=False)
            label = rows.to_global(solver.labels())
            return Forest(self._edge_list(rows, edges), self._transfer.to_host(label))

    def band_forest(
        self, rows: PlacedRows | StreamedRows, band: Band, label: np.ndarray | None
    ) -> EdgeList:
        """Return the forest of a band, with ghosts as ordinary vertices."""
        with self._current():
            if isinstance(rows, StreamedRows):
                streamed = self._stream_solver(rows)
                return self._edge_list(rows, streamed.solve_rows(band, label))
            kernels = self._kernels_for(rows.keys.dtype)
            if label is None:
                solver = RowSolver(kernels, rows.vertices, rows, band)
            else:
                component, count = self._components(rows, label)
                solver = RowSolver(kernels, count, rows, band)
                solver.start_from(component)
            return self._edge_list(rows, solver.solve_rows(label is not None))

    def row_hooks(
        self, rows: PlacedRows | StreamedRows, band: Band
    ) -> tuple[np.ndarray, np.ndarray, EdgeList]:
        """Return where rows hook, and the edges of the lightest band."""
        if isinstance(rows, StreamedRows):
            return self.host.row_hooks(rows.rows, band)
        with self._current():
            kernels = self._kernels_for(rows.keys.dtype)
            solver = RowSolver(kernels, rows.vertices, rows, Band())
            best, edges = solver.lightest_arcs(band.high)
            far = cupy.arange(rows.own, dtype=np.uint32)
            far += np.uint32(rows.first)
            key = cupy.zeros(rows.own, rows.keys.dtype)
            some = best != NONE
            arc = best[some].astype(np.int64)
            far[some] = rows.ends[arc]
            key[some] = rows.keys[arc]
            others = edges.v != far[edges.u - np.uint32(rows.first)]
            edges = Edges(*(column[others] for column in edges))
            listed = self._edge_list(rows, edges)
            to_host = self._transfer.to_host
            hook = to_host(rows.to_global(far).astype(np.uint32))
            key = to_host(key)
        return hook, key, without_repeats(listed.u, listed.v, listed.key)

    def peer(
        self, rows: PlacedRows | StreamedRows, num_vertices: int
    ) -> CudaPeer | None:
        """Return placed rows as what merges with those on other GPUs of the host."""
        if isinstance(rows, StreamedRows) or num_vertices > MAX_VERTICES:
            return None
        kernels = self._kernels_for(rows.keys.dtype)
        return CudaPeer(self._current, kernels, rows, num_vertices, self._transfer)

    def _components(
        self, rows: PlacedRows, label: np.ndarray
    ) -> tuple[cupy.ndarray, int]:
        """Return a component for each local vertex, and how many numbers it takes.

        A label that is a vertex here gets that vertex's number, so that it meets
        the ghost of the same id; other labels are numbered after the vertices.
        """
        ids = self._transfer.to_device(np.asarray(label, np.int64))
        local = rows.to_local(ids)
        known = rows.to_global(cupy.minimum(local, rows.vertices - 1)) == ids
        others = cupy.unique(ids[~known])
        number = rows.vertices + cupy.searchsorted(others, ids)
        count = rows.vertices + len(others)
        component = cupy.arange(count, dtype=np.uint32)
        component[rows.first : rows.first + rows.own] = cupy.where(known, local, number)
        return component, count

    def _edge_list(self, rows: PlacedRows | StreamedRows, edges: Edges) -> EdgeList:
        """Bring edges to the host, sorted by their ends."""
        u, v, key = edges.in_order()
        to_host = self._transfer.to_host
        return EdgeList(
            to_host(rows.to_global(u)), to_host(rows.to_global(v)), to_host(key)
        )

    # Steps on reduced graphs

    def forest(self, graph: ReducedGraph) -> Growth:
        """Return the forest of a reduced graph, ghosts as ordinary vertices."""
        if len(graph) < SMALL_EDGES:
            return self.host.forest(graph)
        with self._current():
            to_device, to_host = self._transfer.to_device, self._transfer.to_host
            a, b = (to_device(ends.astype(np.uint32)) for ends in (graph.a, graph.b))
            edges = Edges(a, b, to_device(graph.edges.key))
            kernels = self._kernels_for(graph.edges.key.dtype)
            solver = Solver(kernels, len(graph.labels))
            final = to_host(solver.solve(edges)).view(bool)
            return Growth(final, to_host(solver.labels()).astype(graph.a.dtype))

    def grow(self, graph: ReducedGraph) -> Growth:
        """Grow components, except across borders.

        The contraction of a graph and that of its forest are the same (cut and
        cycle properties), so a large graph is thinned here and grown on the host.
        """
        if len(graph) < SMALL_EDGES:
            return self.host.grow(graph)
        kept = np.flatnonzero(self.forest(graph).final)
        growth = self.host.grow(graph.take(kept))
        final = np.zeros(len(graph), bool)
        final[kept[growth.final]] = True
        return Growth(final, growth.root)
