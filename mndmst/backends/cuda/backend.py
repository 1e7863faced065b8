"""The steps of `Backend` on one CUDA device."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import RLock
from typing import cast

import cupy
import numpy as np
from cupy.cuda.memory import OutOfMemoryError
from cupy.cuda.runtime import CUDARuntimeError

from ...graph.model import EdgeList, ReducedGraph, Rows
from ...graph.order import key_dtype
from ...graph.tuning import Tuning
from ...host.errors import ConfigError
from ...kernels.arc_inspection import ArcFacts
from ...kernels.edge_order import drop_parallel_edges
from ...kernels.hooks import Hooks
from ...native.loader import announced
from ..base import (
    Backend,
    Band,
    ContractedComponents,
    DeviceMemoryError,
    HostBackend,
    LabelledForest,
    Memory,
    Peer,
)
from ..costs import MAX_DEVICE_VERTICES, RowsSize
from . import unavailable
from .device_rows import DeviceRows, rows_of_edges, upload
from .kernels import Kernels, order_of
from .peer import CudaPeer
from .row_steps import band_forest, forest, inspect, list_hooks, msf
from .solver import Tools
from .streamed import StreamedRows, complete_graph, streaming_need
from .transfer import Transfer

# The CUDA runtime's status for a lack of memory, also of memory to start a device,
# whose context takes some hundred megabytes.
ERROR_MEMORY_ALLOCATION = 2


def lacks_memory(error: Exception) -> bool:
    """Return whether an error of CUDA or CuPy is a lack of device memory."""
    status = getattr(error, "status", ERROR_MEMORY_ALLOCATION)
    return status == ERROR_MEMORY_ALLOCATION


class CudaBackend(Backend[DeviceRows | StreamedRows, cupy.ndarray]):
    """One CUDA device; a lock lets one step run at a time, also for several threads.

    `host` (by default a `CpuBackend`) solves small reduced graphs, and hooks rows that
    stay in host memory. `limit` is the largest number of bytes of device memory that
    steps may use; 0 means no limit. Raises ConfigError if the device cannot be used.
    """

    name = "cuda"
    inspects_arcs = True

    def __init__(
        self,
        device: int = 0,
        host: HostBackend | None = None,
        limit: int = 0,
        tuning: Tuning | None = None,
    ) -> None:
        self.tuning = tuning or Tuning.default
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
        self._limit = limit
        self.device = cupy.cuda.Device(device)
        self._kernels: dict[np.dtype, Kernels] = {}
        # Types of keys for which the kernels of streaming have been compiled
        self._streaming: set[np.dtype] = set()
        self._steps = RLock()
        self._transfer = Transfer()

    @cached_property
    def _stream(self) -> cupy.cuda.Stream:
        # Created on first use, because it starts the device. Starting takes time, so a
        # background thread does it.
        with self.device:
            return cupy.cuda.Stream(non_blocking=True)

    @contextmanager
    def _current(self) -> Iterator[None]:
        # Device and stream are current per thread, so each step sets them. Steps share
        # the stream and the pinned pieces, so a step waits for another thread's step.
        try:
            with self._steps, self.device, self._stream:
                yield
                self._stream.synchronize()
        except (OutOfMemoryError, CUDARuntimeError) as error:
            if not lacks_memory(error):
                raise
            raise DeviceMemoryError(
                f"CUDA device {self.device.id} has too little free memory ({error}). "
                "Give the GPU a smaller share with --ratio, or use more ranks."
            ) from error

    def _kernels_for(self, keys: np.dtype) -> Kernels:
        if keys not in self._kernels:
            self._kernels[keys] = Kernels(keys)
        return self._kernels[keys]

    def _tools(self, keys: np.dtype) -> Tools:
        return Tools(
            self._kernels_for(keys),
            self._transfer,
            self._room,
            self.tuning,
        )

    def _room(self, held: int) -> int:
        """Return the bytes that a step may allocate besides the `held` bytes it has."""
        free = self.memory().free
        return min(free, max(0, self._limit - held)) if self._limit else free

    def describe(self) -> str:
        """Return the device's name for reports."""
        name = cupy.cuda.runtime.getDeviceProperties(self.device.id)["name"]
        return f"{name.decode()} ({self.device.id})"

    def start(self, keys: np.dtype) -> None:
        """See `Backend.start`: pin memory, load our kernels, and Thrust's sort.

        A tiny sort runs on a stream of its own: another thread may be copying rows.
        """
        with self.device:
            self._transfer.pin()
        self._kernels_for(np.dtype(keys)).load(self.device)
        with self.device, cupy.cuda.Stream(non_blocking=True) as stream:
            order_of(cupy.zeros(64, np.uint64))
            stream.synchronize()

    def memory(self) -> Memory:
        """Return the memory that may be taken; free memory in CuPy's pool counts.

        A device that has too little memory to be started has none.
        """
        try:
            with self.device:
                free, total = cupy.cuda.runtime.memGetInfo()
                free += cupy.get_default_memory_pool().free_bytes()
        except CUDARuntimeError as error:
            if not lacks_memory(error):
                raise
            return Memory(0, 0)
        limit = self._limit or total
        return Memory(min(total, limit), min(free, limit))

    def rows_nbytes(self, rows: Rows) -> int:
        """Return the least bytes that `upload` and the steps on rows need."""
        nbytes = RowsSize.of(rows).held_nbytes
        if nbytes <= self.memory().free or rows.num_vertices > MAX_DEVICE_VERTICES:
            return nbytes
        return min(nbytes, streaming_need(rows, self.tuning).nbytes)

    # Steps on rows

    def upload(self, rows: Rows) -> DeviceRows | StreamedRows:
        """Copy rows to the device, or leave them in host memory if they do not fit.

        See `device_rows.upload` and `streamed`.
        """
        if self.rows_nbytes(rows) < RowsSize.of(rows).held_nbytes:
            self._compile_streaming(rows.key_dtype)
            return StreamedRows.of(rows, self.tuning)
        with self._current():
            kernels = self._kernels_for(rows.key_dtype)
            return upload(rows, self._transfer, kernels, self.tuning)

    def _compile_streaming(self, keys: np.dtype) -> None:
        """Stream a tiny graph once, so that CuPy compiles its kernels now.

        Compilation takes seconds, which pass while threads read the rows.
        """
        if keys in self._streaming:
            return
        self._streaming.add(keys)
        tiny = StreamedRows.of(complete_graph(64, keys), self.tuning)
        with announced():
            self.msf(tiny)

    def inspect_arcs(
        self, rows: DeviceRows | StreamedRows, num_vertices: int
    ) -> ArcFacts | None:
        """See `Backend.inspect_arcs`; None for streamed rows."""
        if isinstance(rows, StreamedRows):
            return None
        with self._current():
            return inspect(rows, num_vertices, self._kernels_for(rows.keys.dtype))

    def msf_of_edges(
        self,
        num_vertices: int,
        src: cupy.ndarray,
        dst: cupy.ndarray,
        weight: cupy.ndarray,
        maximum: bool,
    ) -> LabelledForest:
        """See `Backend.msf_of_edges` and `rows_of_edges`."""
        with self._current():
            kernels = self._kernels_for(key_dtype(weight.dtype))
            rows = rows_of_edges(num_vertices, src, dst, weight, maximum, kernels)
        return self.msf(rows)

    def msf(self, rows: DeviceRows | StreamedRows) -> LabelledForest:
        """See `Backend.msf`."""
        with self._current():
            edges, label = msf(rows, self._tools(rows.keys.dtype))

        def labels() -> np.ndarray:
            with self._current():
                return self._transfer.to_host(label)

        return LabelledForest(edges, labels)

    def band_forest(
        self, rows: DeviceRows | StreamedRows, band: Band, label: np.ndarray | None
    ) -> EdgeList:
        """See `Backend.band_forest`."""
        with self._current():
            return band_forest(rows, band, label, self._tools(rows.keys.dtype))

    def row_hooks(
        self, rows: DeviceRows | StreamedRows, band: Band, hooks: Hooks
    ) -> EdgeList:
        """See `Backend.row_hooks`."""
        if isinstance(rows, StreamedRows):
            return self.host.row_hooks(rows.rows, band, hooks)
        with self._current():
            edges = list_hooks(rows, band, hooks, self._tools(rows.keys.dtype))
        return drop_parallel_edges(edges.u, edges.v, edges.key)

    def peer(self, rows: DeviceRows | StreamedRows, num_vertices: int) -> Peer | None:
        """Return uploaded rows as a peer of other GPUs of the host."""
        if isinstance(rows, StreamedRows) or num_vertices > MAX_DEVICE_VERTICES:
            return None
        tools = self._tools(rows.keys.dtype)
        peer = CudaPeer(self._current, tools, rows, num_vertices)
        return cast(Peer, peer)  # only other CUDA peers read its results

    # Steps on reduced graphs

    def forest(self, graph: ReducedGraph) -> ContractedComponents:
        """See `Backend.forest`; the host solves small graphs."""
        if len(graph) < self.tuning.device_edges:
            return self.host.forest(graph)
        with self._current():
            return forest(graph, self._tools(graph.edges.key.dtype))

    def contract(self, graph: ReducedGraph) -> ContractedComponents:
        """Contract components, except across borders.

        The contraction of a graph and that of its forest are the same (cut and cycle
        properties). So this device filters a large graph to its forest, and the host
        contracts the forest.
        """
        if len(graph) < self.tuning.device_edges:
            return self.host.contract(graph)
        filtered = np.flatnonzero(self.forest(graph).in_forest)
        contracted = self.host.contract(graph.take(filtered))
        in_forest = np.zeros(len(graph), bool)
        in_forest[filtered[contracted.in_forest]] = True
        return ContractedComponents(in_forest, contracted.root)
