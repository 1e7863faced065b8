"""Minimum spanning forests of edges in memory, in any order, on the CPU.

Light edges come first, as for rows (`msf`). Once they have made a giant component, a
heavier edge is a candidate only if one of its ends is outside it. A bitmap of the
vertices outside stays in cache.
"""

import numpy as np

from ...graph.light_edges import (
    doubling_shares,
    first_share,
    giant_component,
    outside_bits,
)
from ...graph.model import EdgeColumns, EdgeList, sample_positions
from ...graph.tuning import Tuning
from ...kernels.edge_columns import EdgePieces, concatenate
from ...kernels.edge_order import in_order
from ...kernels.intrinsics import trailing_zeros
from ...kernels.kruskal import HALF, LOW, find_in_python, unite
from ...kernels.sorting import merge_ascents
from ...kernels.spanning_forest import spanning_edges
from ...kernels.threads import Threads
from ...native.kernel import kernel
from ..base import LabelledForest
from .select import BLOCK, CHUNK, enlarged, masks

SAMPLE = 4096
# For at most this many edges one kernel takes less time than the calls of several.
FEW_EDGES = 4096
# For at most this many edges Python takes as long as the calls around it, and a
# thousandth of the time in which a missing kernel compiles.
VERY_FEW_EDGES = 64


def forest_of_edges(
    num_vertices: int,
    src: np.ndarray,
    dst: np.ndarray,
    key: np.ndarray,
    threads: Threads,
) -> LabelledForest:
    """Return the forest of edges in any order and direction, in (u, v) order.

    There are fewer than 2^32 vertices; loops and parallel edges may occur. The label of
    a vertex is the smallest vertex of its tree.
    """
    every = EdgeColumns(src, dst, key)
    if len(key) <= VERY_FEW_EDGES:
        return forest_without_kernels(num_vertices, every)
    if len(key) <= FEW_EDGES:
        u, v, chosen, parent = small_forest(num_vertices, every)
        return LabelledForest(EdgeList(u, v, chosen), lambda: parent)
    parent = np.arange(num_vertices, dtype=np.uint32)
    outside = np.full(num_vertices // 8 + 1, 255, np.uint8)
    forests = [EdgeList.empty(src.dtype, key.dtype)]
    giant, low, largest = None, -1, int(np.iinfo(key.dtype).max)
    for high in [*_cuts(num_vertices, key, threads.tuning), largest]:
        if giant is not None:
            high = largest
        edges = _band(every, low, high, parent, outside, threads)
        mask = spanning_edges(edges.key, edges.u, edges.v, parent, threads)
        forests.append(edges.take(mask))
        if high == largest:
            break
        giant, low = giant_component(parent[_sample(src)], threads.tuning), high
        if giant is not None:
            outside = outside_bits(parent, giant)
    columns = (
        np.concatenate([getattr(edges, name) for edges in forests])
        for name in ("u", "v", "key")
    )
    return LabelledForest(in_order(EdgeList(*columns), threads), lambda: parent)


def _cuts(num_vertices: int, key: np.ndarray, tuning: Tuning) -> list[int]:
    """Return the last keys of all bands but the last; each band is twice as large.

    A band ends at a key, so edges with equal keys are in one band.
    """
    share = first_share(len(key), num_vertices, tuning.light_edges, tuning)
    if share is None:
        return []
    last = [int(share * SAMPLE) for share in doubling_shares(share)]
    return sorted(set(np.sort(_sample(key))[last].tolist()))


def _sample(values: np.ndarray) -> np.ndarray:
    return values[sample_positions(len(values), SAMPLE)]


def _band(
    edges: EdgeColumns,
    low: int,
    high: int,
    parent: np.ndarray,
    outside: np.ndarray,
    threads: Threads,
) -> EdgeList:
    """Return the edges of a band that may be in the forest, in (u, v) order."""
    # low + 1 cannot overflow: low is below some key of the type.
    least, most = (edges.key.dtype.type(key) for key in (low + 1, high))
    pieces = EdgePieces.of(edges, threads.bounds(len(edges.key)))
    columns = threads.run(edges_to_try, pieces, least, most, parent, outside)
    return in_order(EdgeList(*concatenate(columns, threads)), threads)


def forest_without_kernels(num_vertices: int, edges: EdgeColumns) -> LabelledForest:
    """Return the result of `small_forest` without a kernel, in 1 us per edge."""
    src, dst, key = edges
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    order = np.lexsort((high, low, key))
    parent: dict[int, int] = {}
    chosen = []
    ends = zip(low[order].tolist(), high[order].tolist(), strict=True)
    for edge, (u, v) in zip(order.tolist(), ends, strict=True):
        roots = find_in_python(parent, u), find_in_python(parent, v)
        smaller, larger = sorted(roots)
        if smaller != larger:
            parent[larger] = smaller
            chosen.append(edge)
    label = np.arange(num_vertices, dtype=np.uint32)
    for vertex in parent:
        label[vertex] = find_in_python(parent, vertex)
    forest = np.array(chosen, np.int64)
    forest = forest[np.lexsort((high[forest], low[forest]))]
    edges_of_forest = EdgeList(low[forest], high[forest], key[forest])
    return LabelledForest(edges_of_forest, lambda: label)


@kernel
def small_forest(num_vertices, edges):
    """Return u, v and key of the forest in (u, v) order, and each vertex's label."""
    src, dst, key = edges
    pairs, keys = np.empty(len(key), np.uint64), key.copy()
    for i in range(len(key)):
        low, high = min(src[i], dst[i]), max(src[i], dst[i])
        pairs[i] = (np.uint64(low) << HALF) | np.uint64(high)
    # A pair identifies its edge, so pairs are sorted and not positions.
    merge_ascents(keys, pairs)
    parent = np.empty(num_vertices, np.uint32)
    for vertex in range(num_vertices):
        parent[vertex] = vertex
    used = 0
    for i in range(len(keys)):
        pair = pairs[i]
        pairs[used], keys[used] = pair, keys[i]
        used += unite(parent, pair >> HALF, pair & LOW)
    pairs, keys = pairs[:used], keys[:used]
    merge_ascents(pairs, keys)
    u, v = np.empty(used, src.dtype), np.empty(used, dst.dtype)
    for i in range(used):
        u[i], v[i] = pairs[i] >> HALF, pairs[i] & LOW
    for vertex in range(num_vertices):  # links lead to smaller vertices
        parent[vertex] = parent[parent[vertex]]
    return u, v, keys.copy(), parent


@kernel
def _is_outside(outside, vertex):
    """Return the bit of a vertex, 0 or 1."""
    vertex = np.uint64(vertex)
    return (outside[vertex >> np.uint64(3)] >> np.uint8(vertex & np.uint64(7))) & 1


@kernel
def edges_to_try(edges, least, most, parent, outside):
    """Return u, v, key of the edges that may be in the forest.

    They have least <= key <= most, an end outside the giant component, and ends in two
    components.
    """
    src, dst, key = edges
    capacity = 1024
    u, v = np.empty(capacity, src.dtype), np.empty(capacity, src.dtype)
    chosen, used = np.empty(capacity, key.dtype), np.uint64(0)
    words = np.empty(CHUNK // BLOCK + 1, np.uint64)
    for start in range(0, len(key), CHUNK):
        stop = min(start + CHUNK, len(key))
        masks(key, start, stop, least, most, words)
        for block in range((stop - start) // BLOCK + 1):
            word = words[block]
            if used + np.uint64(BLOCK) > np.uint64(len(chosen)):
                columns = EdgeColumns(u, v, chosen)
                u, v, chosen = enlarged(columns, used, np.uint64(BLOCK))
            while word:
                i = np.uint64(start + block * BLOCK) + trailing_zeros(word)
                word &= word - np.uint64(1)
                x, y = src[i], dst[i]
                if not (_is_outside(outside, x) | _is_outside(outside, y)):
                    continue
                if parent[x] != parent[y]:
                    u[used], v[used], chosen[used] = min(x, y), max(x, y), key[i]
                    used += np.uint64(1)
    return u[:used], v[:used], chosen[:used]
