"""Graphs made on the device, and times of the forest kernels on them."""

from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

import cupy
import numpy as np

from mndmst.backends.base import Band
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.backends.cuda.backend import CudaBackend
from mndmst.backends.cuda.device_rows import DeviceRows
from mndmst.backends.cuda.kernels import Kernels
from mndmst.backends.cuda.row_solver import RowSolver
from mndmst.backends.cuda.solver import Tools
from mndmst.backends.cuda.transfer import Transfer
from mndmst.graph.model import EdgeList, Rows
from mndmst.graph.tuning import Tuning
from mndmst.host.cores import core_count
from mndmst.kernels.edge_order import pair_order

BLOCK_ARCS = 1 << 29  # arcs sorted at a time
_SAMPLE = 1 << 20
_LOW_HALF = np.uint64(0xFFFFFFFF)


class ArcSource(NamedTuple):
    """Where the arcs of a graph come from.

    Attributes
    ----------
    arcs : int
        At the most.
    bounds : list of int
        Vertices that cut the arcs into blocks.
    between : callable
        Returns the arcs with tails in a range, (tail, head) in one word (uint64), in
        any order, repeats included.
    """

    vertices: int
    arcs: int
    bounds: list[int]
    between: Callable[[int, int], cupy.ndarray]


def rmat(scale: int, degree: int) -> ArcSource:
    """Return `degree` edges for each of 2^scale vertices; a = .57, b = c = .19."""
    return _quadrants(scale, degree, (0.57, 0.76, 0.95))


def gnm(scale: int, degree: int) -> ArcSource:
    """Return `degree` edges for each of 2^scale vertices, chosen uniformly."""
    return _quadrants(scale, degree, (0.25, 0.5, 0.75))


def _quadrants(scale: int, degree: int, shares: tuple[float, ...]) -> ArcSource:
    kernels = Kernels(np.dtype(np.uint32))
    count = cupy.empty(1, np.uint64)
    steps = [np.uint32(round(65536 * share)) for share in shares]
    vertices, edges = 1 << scale, degree << scale

    def draw(edges: int, low: int, high: int, room: int) -> cupy.ndarray:
        arcs = cupy.empty(room, np.uint64)
        count.fill(0)
        kernels.launch(
            "draw_arcs", edges, np.uint64(edges), np.uint32(scale), *steps,
            np.uint64(low), np.uint64(high), arcs, np.uint64(room), count,
        )  # fmt: skip
        found = int(count[0])
        return arcs[:found] if found <= room else draw(edges, low, high, found)

    sampled = min(_SAMPLE, edges)
    tails = cupy.sort(draw(sampled, 0, vertices, 2 * sampled) >> np.uint64(32))
    blocks = -(-2 * edges // BLOCK_ARCS)
    cuts = tails[len(tails) * cupy.arange(1, blocks) // blocks] if blocks > 1 else []
    bounds = np.unique([0, *map(int, cuts), vertices]).tolist()
    room = min(2 * edges, BLOCK_ARCS * 5 // 4)
    return ArcSource(
        vertices, 2 * edges, bounds, lambda low, high: draw(edges, low, high, room)
    )


def road(scale: int, degree: int) -> ArcSource:
    """Return a grid's edges, each kept with probability 0.6; `degree` has no say."""
    rows = 1 << scale // 2
    columns = rows * 5 // 4
    n = rows * columns
    x = cupy.arange(n, dtype=np.uint64)
    right = x[(x % columns < columns - 1) & (cupy.random.random(n) < 0.6)]
    down = x[(x < n - columns) & (cupy.random.random(n) < 0.6)]
    u = cupy.concatenate((right, down))
    v = cupy.concatenate((right + np.uint64(1), down + np.uint64(columns)))
    arcs = cupy.concatenate((u << np.uint64(32) | v, v << np.uint64(32) | u))
    return ArcSource(n, len(arcs), [0, n], lambda low, high: arcs)


KINDS: dict[str, Callable[[int, int], ArcSource]] = {
    "rmat": rmat,
    "gnm": gnm,
    "road": road,
}


def build(source: ArcSource, keys: np.dtype) -> DeviceRows:
    """Return all rows of a graph, with keys hashed from the ends."""
    ends = cupy.empty(source.arcs, np.uint32)
    weights = cupy.empty(source.arcs, keys)
    indptr = cupy.zeros(source.vertices + 1, np.int64)
    count = 0
    for low, high in pairwise(source.bounds):
        arcs = cupy.sort(source.between(low, high))
        first = cupy.ones(len(arcs), np.bool_)
        first[1:] = arcs[1:] != arcs[:-1]
        arcs = arcs[first]
        place = slice(count, count + len(arcs))
        ends[place] = arcs & _LOW_HALF
        weights[place] = _weights(arcs, keys)
        row = (arcs >> np.uint64(32)).astype(np.int64) - low
        indptr[low + 1 : high + 1] = cupy.bincount(row, minlength=high - low)
        count += len(arcs)
    cupy.cumsum(indptr, out=indptr)
    empty = cupy.empty(0, np.int64)
    return DeviceRows(
        indptr, ends[:count], weights[:count], empty, 0, 0, np.dtype(np.uint32)
    )


def _weights(arcs: cupy.ndarray, keys: np.dtype) -> cupy.ndarray:
    """Return integers up to 2^24 or, with 64 bits, floats in (0, 1] as keys."""
    u, v = arcs >> np.uint64(32), arcs & _LOW_HALF
    x = cupy.minimum(u, v) << np.uint64(32) | cupy.maximum(u, v)
    x = (x ^ x >> np.uint64(31)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    weight = (x >> np.uint64(40)) + np.uint64(1)
    if np.dtype(keys).itemsize == 8:
        return (weight.astype(np.float64) / (1 << 24)).view(np.uint64)
    return weight


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
        free, _ = cupy.cuda.runtime.memGetInfo()
        tools = Tools(kernels, transfer, lambda _: free, Tuning.default)
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


def _read_ms(rows: DeviceRows, repeat: int) -> float:
    arrays = [array[:READ_ARCS] for array in (rows.ends, rows.keys)]
    copies = [cupy.empty_like(array) for array in arrays]

    def copy_all() -> None:
        for target, array in zip(copies, arrays, strict=True):
            cupy.copyto(target, array)

    copy = _milliseconds(copy_all, repeat)
    return copy / 2 * rows.num_arcs / max(1, len(arrays[0]))


def agrees(on_device: DeviceRows) -> bool:
    """Return whether the CPU worker finds the same forest of all rows of a graph."""
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.cuda.Device().synchronize()  # the backend has a stream of its own
    ours = CudaBackend().msf(on_device).edges
    copy = Transfer().to_host
    arrays = on_device.indptr, on_device.ends, on_device.keys
    indptr, ends, keys = (copy(array) for array in arrays)
    host = CpuBackend(core_count())
    theirs = host.msf(Rows(0, on_device.num_rows, indptr, ends, keys)).edges
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
