"""Graphs for benchmarks, made on the device."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import cupy
import numpy as np

from ...backends.cuda.kernels import Kernels
from ...backends.cuda.placed import PlacedRows

BLOCK_ARCS = 1 << 29  # arcs sorted at a time
_SAMPLE = 1 << 20
_LOW_HALF = np.uint64(0xFFFFFFFF)


class ArcSource(NamedTuple):
    """Where the arcs of a graph come from.

    Attributes
    ----------
    vertices : int
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


def build(source: ArcSource, keys: np.dtype) -> PlacedRows:
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
    return PlacedRows(
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
