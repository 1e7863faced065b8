"""Minimum spanning forests of CSR rows on the CPU.

Light edges first [1, 2]: the edges below a sampled quantile, about as many as
there are vertices, join most vertices into one giant component. Every heavier edge
of the forest then has an end outside it, and only the rows there are read again.
Without a giant component the next, larger band of edges follows; a sparse graph is
one band.

[1] Osipov, Sanders, Singler: The filter-Kruskal minimum spanning tree algorithm,
    ALENEX 2009. [2] Fallin, Gonzalez, Seo, Burtscher: A high-performance MST
    implementation for GPUs, SC 2023.
"""

import numpy as np

from ...graph import EdgeList, Rows, component_of
from ..base import Band, Forest
from .finish import heavy_edges
from .kruskal import flatten, in_order, kruskal, pack_pairs
from .lists import compact, first_of_pairs, take
from .select import BLOCK, select
from .sorting import sort_positions
from .threads import Threads

# Edges of the first band per vertex: fewer leave no giant component, more cost sort.
LIGHT_EDGES_PER_VERTEX = 1.3
# Below this many arcs per vertex nothing is gained by leaving edges out.
SPARSE_ARCS_PER_VERTEX = 6
# The share of arcs in rows of the giant component from which the rest is read apart.
GIANT_SHARE = 0.5
SAMPLE = 4096


def msf(rows: Rows, threads: Threads) -> Forest:
    """Return the forest of rows that are the whole graph, edges in no order."""
    parent = np.arange(len(rows), dtype=np.uint32)
    forest = _empty_columns(rows, len(rows) + 1)
    count = 0

    def join(edges: EdgeList) -> None:
        nonlocal count
        kept = spanning_edges(edges.key, edges.u, edges.v, parent, threads)
        count = int(take(*_columns(edges), kept, count, *forest))

    for low, high in _bands(rows):
        found = band_edges(rows, Band(low, high), threads)
        if low is not None:
            found = found.take(parent[found.u] != parent[found.v])
        join(found)
        giant = None if high is None else _giant(rows, parent)
        if giant is not None:
            join(_heavy_edges(rows, parent, giant, high, threads))
            break
    return Forest(EdgeList(*(column[:count] for column in forest)), parent)


def band_forest(
    rows: Rows, band: Band, label: np.ndarray | None, threads: Threads
) -> EdgeList:
    """Return the forest of a band, with ghosts as ordinary vertices."""
    found = band_edges(rows, band, threads)
    ends = [found.u, found.v]
    if label is not None:
        ends = [component_of(end, rows, label) for end in ends]
        apart = ends[0] != ends[1]
        found, ends = found.take(apart), [end[apart] for end in ends]
    labels, a, b = compact(*ends, rows.first, rows.last)
    parent = np.arange(len(labels), dtype=np.uint32)
    return found.take(spanning_edges(found.key, a, b, parent, threads))


def band_edges(rows: Rows, band: Band, threads: Threads) -> EdgeList:
    """Return all edges of a band that the rows hold, in (u, v) order."""
    kind = rows.keys.dtype.type
    largest = int(np.iinfo(kind).max)
    if rows.num_arcs == 0 or band.low == largest:
        return EdgeList.empty(rows.indices.dtype, rows.keys.dtype)
    low = kind(0 if band.low is None else band.low + 1)
    high = kind(largest if band.high is None else band.high)
    arcs = rows.num_arcs
    share = _share(rows, low, high)

    def chunk(begin, end):
        room = int((end - begin) * min(1.0, 1.1 * share) / 2) + BLOCK
        return select(
            rows.indptr, rows.indices, rows.keys, rows.first, low, high, begin, end,
            *_empty_columns(rows, room),
        )  # fmt: skip

    chunks = threads.map(chunk, threads.ranges(arcs, align=BLOCK))
    columns = [_joined(column) for column in zip(*chunks, strict=True)]
    upper = _without_repeats(*columns[:3])
    if len(columns[3]) == 0:
        return upper
    order = sort_positions(columns[3].astype(np.uint64))
    lower = _without_repeats(*(column[order] for column in columns[3:]))
    pairs = zip(_columns(lower), _columns(upper), strict=True)
    return EdgeList(*(_joined(pair) for pair in pairs))


def _columns(edges: EdgeList) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return edges.u, edges.v, edges.key


def _empty_columns(rows: Rows, length: int) -> list[np.ndarray]:
    """Return room for edges; NumPy's large arrays get huge pages, Numba's do not."""
    ids, keys = rows.indices.dtype, rows.keys.dtype
    return [np.empty(length, dtype) for dtype in (ids, ids, keys)]


def _joined(arrays) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _without_repeats(u, v, key) -> EdgeList:
    """Drop all but the lightest of parallel edges, which stand side by side."""
    edges = EdgeList(u, v, key)
    if len(key) > 1 and ((u[1:] == u[:-1]) & (v[1:] == v[:-1])).any():
        positions = np.arange(len(key), dtype=np.uint64)
        return edges.take(first_of_pairs(positions, u, v, key))
    return edges


def _share(rows: Rows, low, high) -> float:
    """Return about the share of arcs with low <= key <= high."""
    keys = _sample(rows)
    return float(((keys >= low) & (keys <= high)).mean())


def _sample(rows: Rows) -> np.ndarray:
    """Return some keys, evenly spread over the arcs and jittered."""
    generator = np.random.default_rng(len(rows))
    return rows.keys[generator.integers(0, rows.num_arcs, SAMPLE)]


def _bands(rows: Rows):
    """Yield the bounds of bands of growing size; the last is open above."""
    occupied = np.count_nonzero(rows.indptr[1:] != rows.indptr[:-1])
    low = None
    if rows.num_arcs > SPARSE_ARCS_PER_VERTEX * occupied:
        sample = np.sort(_sample(rows))
        share = 2 * LIGHT_EDGES_PER_VERTEX * occupied / rows.num_arcs
        while share < 0.5:
            high = int(sample[int(share * SAMPLE)])
            if high != low:
                yield low, high
            low, share = high, 2 * share
    yield low, None


def spanning_edges(
    key: np.ndarray, a: np.ndarray, b: np.ndarray, parent: np.ndarray, threads: Threads
) -> np.ndarray:
    """Return a mask of the edges that join components; `parent` is updated.

    Parameters
    ----------
    key, a, b : ndarray
        Edges and their ends as positions in `parent`; the place in the list
        decides between equal keys.
    """
    kept = np.zeros(len(key), np.bool_)
    order = sort_positions(key, threads)
    pairs, sorted_pairs = np.empty_like(order), np.empty_like(order)
    ranges = threads.ranges(len(order))
    threads.map(lambda begin, end: pack_pairs(a, b, begin, end, pairs), ranges)
    threads.map(
        lambda begin, end: in_order(order, pairs, begin, end, sorted_pairs), ranges
    )
    kruskal(order, sorted_pairs, parent, kept)
    flatten(parent)
    return kept


def _giant(rows: Rows, root: np.ndarray) -> int | None:
    """Return the component that most arcs leave from, if it has a clear majority."""
    generator = np.random.default_rng(rows.num_arcs)
    arcs = generator.integers(0, rows.num_arcs, 1024)
    tails = np.searchsorted(rows.indptr, arcs, side="right") - 1
    components, counts = np.unique(root[tails], return_counts=True)
    best = int(counts.argmax())
    share = counts[best] / len(arcs)
    return int(components[best]) if share > GIANT_SHARE else None


def _heavy_edges(rows, root, giant, above, threads) -> EdgeList:
    """Return the edges above a key that may still join components."""
    occupied = rows.indptr[1:] != rows.indptr[:-1]
    outside = np.flatnonzero((root != np.uint32(giant)) & occupied)
    above = rows.keys.dtype.type(above)

    def chunk(begin, end):
        return heavy_edges(
            rows.indptr, rows.indices, rows.keys, root, giant, above,
            outside[begin:end],
        )  # fmt: skip

    chunks = threads.map(chunk, threads.ranges(len(outside)))
    edges = EdgeList(*(_joined(column) for column in zip(*chunks, strict=True)))
    return edges.take(pair_order(*_columns(edges)))


def pair_order(u: np.ndarray, v: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Return positions in (u, v) order, only the lightest of parallel edges."""
    if len(u) == 0:
        return np.empty(0, np.uint64)
    bits = int(v.max()).bit_length()  # u < v
    if bits > 32:
        order = np.lexsort((v, u)).astype(np.uint64)
    else:
        wide = u.astype(np.uint64)
        wide <<= np.uint64(bits)
        wide |= v.astype(np.uint64)
        order = sort_positions(wide)
    return order[first_of_pairs(order, u, v, key)]
