"""Times of the forest kernels on graphs made on the device."""

from collections.abc import Callable
from statistics import median
from typing import Any

import cupy
import numpy as np

from ...backends.base import Band
from ...backends.cpu.backend import CpuBackend
from ...backends.cuda.backend import CudaBackend
from ...backends.cuda.kernels import Kernels
from ...backends.cuda.placed import PlacedRows
from ...backends.cuda.row_solver import RowSolver
from ...backends.cuda.solver import Tools
from ...backends.cuda.transfer import Transfer
from ...graph.model import EdgeList, Rows
from ...graph.tuning import Tuning
from ...host.cores import core_count
from ...kernels.edge_order import pair_order
from .gpu_graphs import KINDS, build

READ_ARCS = 1 << 28  # the time of reading is measured on these
CHECKED_SCALE = 14


class TimedKernels(Kernels):
    """Kernels that note the time of every launch."""

    def __init__(self, key_dtype: np.dtype) -> None:
        super().__init__(key_dtype)
        self.events: list[tuple[str, cupy.cuda.Event, cupy.cuda.Event]] = []

    def _timed(self, name: str, run: Callable[[], None]) -> None:
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        run()
        end.record()
        self.events.append((name, begin, end))

    def launch(self, name: str, threads: int, *args: Any, block: int = 256) -> None:
        """Run and time a kernel."""
        launch = super().launch
        self._timed(name, lambda: launch(name, threads, *args, block=block))

    def launch_together(self, name: str, *args: Any) -> None:
        """Run and time a cooperative kernel."""
        launch = super().launch_together
        self._timed(name, lambda: launch(name, *args))


def measure(
    kind: str, scale: int, degree: int, keys: str, repeat: int, verify: bool
) -> dict[str, Any]:
    """Time the forest of a graph, and compare a forest with the CPU worker's.

    Parameters
    ----------
    verify : bool
        Compare the forest of this graph, and not of a small one of its kind.

    Returns
    -------
    dict
        Milliseconds, by stage as well. The stages are launches, timed in a run of
        their own. `read_ms` is the time of reading the arcs once, by half of a copy's.
    """
    rows = build(KINDS[kind](scale, degree), np.dtype(keys))
    cupy.get_default_memory_pool().free_all_blocks()

    transfer = Transfer()

    def solve(kernels: Kernels) -> Any:
        tools = Tools(kernels, transfer, lambda: 0, Tuning.default)
        return RowSolver(tools, rows.vertices, rows, Band()).solve_rows(False)

    kernels, timed = Kernels(rows.keys.dtype), TimedKernels(rows.keys.dtype)
    solve(kernels)
    total = _milliseconds(lambda: solve(kernels), repeat)
    solve(timed)
    timed.events.clear()
    edges = len(solve(timed).key)
    cupy.cuda.get_current_stream().synchronize()
    stages = [
        (name, round(cupy.cuda.get_elapsed_time(begin, end), 3))
        for name, begin, end in timed.events
    ]
    record = {
        "keys": keys, "n": rows.vertices,
        "occupied": int(cupy.count_nonzero(cupy.diff(rows.indptr))),
        "m": rows.num_arcs // 2, "edges": edges, "ms": total,
        "giga_edges_per_s": rows.num_arcs / 2 / total / 1e6,
        "read_ms": _read_ms(rows, repeat), "stages": stages,
    }  # fmt: skip
    if not verify:
        rows = build(KINDS[kind](CHECKED_SCALE, degree), np.dtype(keys))
    return record | {"verified_edges": rows.num_arcs // 2, "agrees": agrees(rows)}


def _read_ms(rows: PlacedRows, repeat: int) -> float:
    arrays = [array[:READ_ARCS] for array in (rows.ends, rows.keys)]
    pairs = [(cupy.empty_like(array), array) for array in arrays]
    copy = _milliseconds(lambda: [cupy.copyto(*pair) for pair in pairs], repeat)
    return copy / 2 * rows.num_arcs / max(1, len(arrays[0]))


def agrees(placed: PlacedRows) -> bool:
    """Return whether the CPU worker finds the same forest of all rows of a graph."""
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.cuda.Device().synchronize()  # the backend has a stream of its own
    ours = CudaBackend().msf(placed).edges
    copy = Transfer().to_host
    arrays = placed.indptr, placed.ends, placed.keys
    indptr, ends, keys = (copy(array) for array in arrays)
    host = CpuBackend(core_count())
    theirs = host.msf(Rows(0, placed.own, indptr, ends, keys)).edges
    theirs = theirs.take(pair_order(theirs.u, theirs.v, theirs.key, host.threads))
    return all(map(np.array_equal, _columns(ours), _columns(theirs)))


def _columns(edges: EdgeList) -> tuple[np.ndarray, ...]:
    return edges.u, edges.v, edges.key


def _milliseconds(run: Callable[[], Any], repeat: int) -> float:
    """Return the median time of a function on the current stream."""
    taken = []
    for _ in range(repeat):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        run()
        end.record()
        end.synchronize()
        taken.append(cupy.cuda.get_elapsed_time(begin, end))
    return median(taken)
