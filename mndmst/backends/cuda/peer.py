"""Forests that GPUs of one host send to each other directly.

A process opens memory of another one's device by a handle (CUDA IPC). Copies use the
link between the two: NVLink, the bus, or none on one device.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, TypeVar

import cupy
import numpy as np
from cupy.cuda.memory import OutOfMemoryError

from ...graph.model import EdgeList
from ..base import Band, DeviceMemoryError, DevicePeer
from .device_rows import DeviceRows
from .row_solver import RowSolver
from .row_steps import gather
from .solver import DeviceEdges, Solver, Tools

Result = TypeVar("Result")


class Block(NamedTuple):
    """Bytes on a device, and the handle by which another process opens them."""

    handle: bytes
    nbytes: int


class PublishedForest(NamedTuple):
    """The columns of a forest."""

    block: Block
    edges: int


class MergedForest(NamedTuple):
    """Labels of all vertices, and after them marks of all published edges.

    The marks of rank r's edges are [bounds[r], bounds[r + 1]).
    """

    block: Block
    bounds: list[int]


class CudaPeer(DevicePeer[PublishedForest, MergedForest]):
    """See `DevicePeer`; `current` makes device and stream current for a step."""

    def __init__(
        self,
        current: Callable[[], AbstractContextManager[None]],
        tools: Tools,
        rows: DeviceRows,
        num_vertices: int,
    ) -> None:
        self._current, self._tools, self._kernels = current, tools, tools.kernels
        self._rows, self._num_vertices = rows, num_vertices
        self._published: cupy.ndarray | None = None
        self._merged: cupy.ndarray | None = None

    def _try(self, step: Callable[[], Result]) -> Result | None:
        try:
            with self._current():
                return step()
        except (DeviceMemoryError, cupy.cuda.runtime.CUDARuntimeError):
            return None

    def publish(self) -> PublishedForest | None:
        """See `DevicePeer.publish`."""
        return self._try(self._publish)

    def _publish(self) -> PublishedForest:
        rows = self._rows
        solver = RowSolver(self._tools, rows.vertices, rows, Band())
        edges = solver.solve_rows(labelled=False)
        del solver
        order, count = edges.order(self._kernels, rows.first)  # smaller ends in rows
        self._published = _new_block(count * (8 + edges.key.dtype.itemsize))
        columns = self._columns(self._published)
        gather(rows, self._kernels, edges, order, count, columns)
        return PublishedForest(_shared(self._published), count)

    def _columns(self, block: cupy.ndarray) -> DeviceEdges:
        """Return the columns of edges that are stored one behind the other in bytes."""
        count = block.nbytes // (8 + np.dtype(self._kernels.key).itemsize)
        ends = block[: 8 * count].view(np.uint32)
        key = block[8 * count :].view(self._kernels.key)
        return DeviceEdges(ends[:count], ends[count:], key)

    def merge(
        self, published: Sequence[PublishedForest], rank: int
    ) -> MergedForest | None:
        """See `DevicePeer.merge`."""
        return self._try(lambda: self._merge(published, rank))

    def _merge(
        self, published: Sequence[PublishedForest], rank: int
    ) -> MergedForest | None:
        bounds = np.cumsum([0, *(forest.edges for forest in published)]).tolist()
        if not 0 < bounds[-1] <= self._tools.tuning.most_listed:
            return None
        edges = DeviceEdges.empty(bounds[-1], self._kernels.key)
        for number, forest in enumerate(published):
            local = self._published if number == rank else None
            with _opened(forest.block, local) as block:
                for all_, some in zip(edges, self._columns(block), strict=True):
                    _copy(some, all_[slice(*bounds[number : number + 2])])
        labels = 4 * self._num_vertices
        solver = Solver(self._kernels, self._num_vertices)
        marks = solver.solve(edges)
        del edges
        self._merged = _new_block(labels + len(marks))
        _copy(marks, self._merged[labels:])
        _copy(solver.labels(), self._merged[:labels])
        return MergedForest(_shared(self._merged), bounds)

    def receive(
        self, merged: MergedForest, rank: int
    ) -> tuple[EdgeList, np.ndarray] | None:
        """See `DevicePeer.receive`."""
        return self._try(lambda: self._receive(merged, rank))

    def _receive(self, merged: MergedForest, rank: int) -> tuple[EdgeList, np.ndarray]:
        rows, marks = self._rows, 4 * self._num_vertices
        first, last = rows.first_global, rows.first_global + rows.num_rows
        begin, end = (marks + bound for bound in merged.bounds[rank : rank + 2])
        with _opened(merged.block, self._merged) as block:
            label = _copy(block[4 * first : 4 * last])
            marks = _copy(block[begin:end])
        columns, count = self._columns(self._published), np.uint64(len(marks))
        offsets = self._kernels.prefix_sums("marks", marks)
        selected = DeviceEdges.empty(int(offsets[-1]), self._kernels.key)
        self._kernels.launch(
            "select_edges", len(marks), marks, offsets, count, *columns, *selected
        )
        u, v, key, labels = self._tools.transfer.all_to_host(
            *selected, label.view(np.uint32)
        )
        return EdgeList(u, v, key), labels


def _new_block(nbytes: int) -> cupy.ndarray:
    """Allocate bytes outside CuPy's pool: a handle identifies a whole allocation."""
    try:
        memory = cupy.cuda.Memory(max(1, nbytes))
    except OutOfMemoryError:  # the pool may hold free blocks
        cupy.get_default_memory_pool().free_all_blocks()
        memory = cupy.cuda.Memory(max(1, nbytes))
    return cupy.ndarray(nbytes, np.uint8, cupy.cuda.MemoryPointer(memory, 0))


def _shared(block: cupy.ndarray) -> Block:
    cupy.cuda.get_current_stream().synchronize()
    return Block(cupy.cuda.runtime.ipcGetMemHandle(block.data.ptr), block.nbytes)


@contextmanager
def _opened(block: Block, local: cupy.ndarray | None) -> Iterator[cupy.ndarray]:
    """Open the bytes of a block; `local` are its bytes if this process made it."""
    if local is not None:
        yield local
        return
    runtime = cupy.cuda.runtime
    pointer = runtime.ipcOpenMemHandle(block.handle)
    try:
        device = cupy.cuda.Device().id
        memory = cupy.cuda.UnownedMemory(pointer, block.nbytes, None, device)
        yield cupy.ndarray(block.nbytes, np.uint8, cupy.cuda.MemoryPointer(memory, 0))
        cupy.cuda.get_current_stream().synchronize()
    finally:
        runtime.ipcCloseMemHandle(pointer)


def _copy(source: cupy.ndarray, target: cupy.ndarray | None = None) -> cupy.ndarray:
    """Copy an array that may be on another device, where no kernel can read it."""
    if target is None:
        target = cupy.empty_like(source)
    stream = cupy.cuda.get_current_stream()
    target.data.copy_from_device_async(source.data, source.nbytes, stream)
    return target
