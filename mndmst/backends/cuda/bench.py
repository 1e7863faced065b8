"""Times of the forest kernels on graphs generated on the device."""

from collections.abc import Callable
from statistics import median
from typing import Any

import cupy
import numpy as np

from ...graph import EdgeList, Rows
from ..base import Band
from ..numba import NumbaBackend
from .backend import CudaBackend
from .kernels import Kernels
from .placed import PlacedRows
from .row_solver import RowSolver

Ends = tuple[int, cupy.ndarray, cupy.ndarray]


def rmat(scale: int) -> Ends:
    """Return n and the ends of 16 n edges (a = .57, b = c = .19)."""
    m = 16 << scale
    u, v = cupy.zeros(m, np.uint64), cupy.zeros(m, np.uint64)
    for _ in range(scale):
        x = cupy.random.random(m, np.float32)
        u = u << 1 | (x >= 0.76)
        v = v << 1 | ((x >= 0.57) & (x < 0.76) | (x >= 0.95))
    return 1 << scale, u, v


def gnm(scale: int) -> Ends:
    """Return n and the ends of 16 n edges chosen uniformly."""
    m = 16 << scale
    u, v = (cupy.random.randint(0, 1 << scale, m, np.uint64) for _ in range(2))
    return 1 << scale, u, v


def road(scale: int) -> Ends:
    """Return n and the ends of a grid's edges, each kept with probability 0.6."""
    rows = 1 << scale // 2
    columns = rows * 5 // 4
    n = rows * columns
    x = cupy.arange(n, dtype=np.uint64)
    right = x[(x % columns < columns - 1) & (cupy.random.random(n) < 0.6)]
    down = x[(x < n - columns) & (cupy.random.random(n) < 0.6)]
    u = cupy.concatenate((right, down))
    v = cupy.concatenate((right + np.uint64(1), down + np.uint64(columns)))
    return n, u, v


KINDS: dict[str, Callable[[int], Ends]] = {"rmat": rmat, "gnm": gnm, "road": road}


def build(n: int, u: cupy.ndarray, v: cupy.ndarray, keys: np.dtype) -> PlacedRows:
    """Return all rows of a graph, with keys hashed from the ends."""
    pairs = cupy.minimum(u, v) << np.uint64(32) | cupy.maximum(u, v)
    pairs = cupy.unique(pairs[u != v])
    pairs = cupy.concatenate((pairs, pairs << np.uint64(32) | pairs >> np.uint64(32)))
    pairs.sort()
    u, v = pairs >> np.uint64(32), pairs & np.uint64(0xFFFFFFFF)
    ends = v.astype(np.uint32)
    x = cupy.minimum(u, v) << np.uint64(32) | cupy.maximum(u, v)
    x = (x ^ x >> np.uint64(31)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    weight = (x >> np.uint64(40)) + np.uint64(1)
    if np.dtype(keys).itemsize == 8:  # the bits of float64 in (0, 1]
        weight = (weight.astype(np.float64) / (1 << 24)).view(np.uint64)
    degree = cupy.bincount(u.astype(np.int64), minlength=n)
    indptr = cupy.zeros(n + 1, np.int64)
    cupy.cumsum(degree, out=indptr[1:])
    empty = cupy.empty(0, np.int64)
    return PlacedRows(
        indptr, ends, weight.astype(keys), empty, 0, 0, np.dtype(np.uint32)
    )


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


def measure(kind: str, scale: int, keys: str, repeat: int) -> dict[str, Any]:
    """Time the forest of a graph; returns milliseconds, by stage as well.

    The stages are launches, timed in a run of their own. `read_ms` is the time of
    reading the arcs once, by half of a copy's.
    """
    rows = build(*KINDS[kind](scale), np.dtype(keys))
    cupy.get_default_memory_pool().free_all_blocks()

    def solve(kernels: Kernels) -> Any:
        return RowSolver(kernels, rows.vertices, rows, Band()).solve_rows(False)

    kernels, timed = Kernels(rows.keys.dtype), TimedKernels(rows.keys.dtype)
    solve(kernels)
    total = _milliseconds(lambda: solve(kernels), repeat)
    solve(timed)
    timed.events.clear()
    edges = solve(timed)
    cupy.cuda.get_current_stream().synchronize()
    stages = [
        (name, round(cupy.cuda.get_elapsed_time(begin, end), 3))
        for name, begin, end in timed.events
    ]
    arrays = [(cupy.empty_like(array), array) for array in (rows.ends, rows.keys)]
    read = _milliseconds(lambda: [cupy.copyto(*pair) for pair in arrays], repeat) / 2
    return {
        "graph": f"{kind}{scale}", "keys": keys, "n": rows.vertices,
        "m": rows.num_arcs // 2, "edges": len(edges.key), "ms": total,
        "giga_edges_per_s": rows.num_arcs / 2 / total / 1e6,
        "read_ms": read, "stages": stages,
    }  # fmt: skip


def agrees(kind: str, scale: int, keys: str) -> bool:
    """Return whether the CPU worker finds the same forest of a graph."""
    placed = build(*KINDS[kind](scale), np.dtype(keys))
    columns = (array.get() for array in (placed.indptr, placed.ends, placed.keys))
    rows = Rows(0, placed.own, *columns)
    ours = _sorted(CudaBackend().msf(placed).edges)
    theirs = _sorted(NumbaBackend().msf(rows).edges)
    return all(map(np.array_equal, ours, theirs))


def _sorted(edges: EdgeList) -> tuple[np.ndarray, ...]:
    order = np.lexsort((edges.v, edges.u))
    return edges.u[order], edges.v[order], edges.key[order]


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
