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
from .cuts import Cut, Segment, band_segments, cuts, sample_arcs, segments
from .finish import heavy_edges
from .kruskal import flatten, in_order, kruskal, pack_pairs
from .lists import compact, first_of_pairs, take
from .select import BLOCK, select
from .sorting import sort_positions
from .threads import ALONE, Threads

# Walk the rows outside the giant component if that yields so few edges a row.
EDGES_PER_WALK = 2
WALKS = 512


def msf(rows: Rows, threads: Threads) -> Forest:
    """Return the forest of rows that are the whole graph, edges in no order."""
    parent = np.arange(len(rows), dtype=np.uint32)
    forest = _empty_columns(rows, len(rows) + 1)
    count = 0

    def join(edges: EdgeList) -> None:
        nonlocal count
        kept = spanning_edges(edges.key, edges.u, edges.v, parent, threads)
        count = int(take(*_columns(edges), kept, count, *forest))

    for low, high in cuts(rows):
        found = band_edges(rows, segments(rows, low, high), threads)
        if low is not None:
            found = found.take(parent[found.u] != parent[found.v])
        join(found)
        heavy = None if high is None else _heavy_edges(rows, parent, high, threads)
        if heavy is not None:
            join(heavy)
            break
    return Forest(EdgeList(*(column[:count] for column in forest)), parent)


def band_forest(
    rows: Rows, band: Band, label: np.ndarray | None, threads: Threads
) -> EdgeList:
    """Return the forest of a band, with ghosts as ordinary vertices."""
    found = band_edges(rows, band_segments(rows, band), threads)
    ends = [found.u, found.v]
    if label is not None:
        ends = [component_of(end, rows, label) for end in ends]
        apart = ends[0] != ends[1]
        found, ends = found.take(apart), [end[apart] for end in ends]
    labels, a, b = compact(*ends, rows.first, rows.last)
    parent = np.arange(len(labels), dtype=np.uint32)
    return found.take(spanning_edges(found.key, a, b, parent, threads))


def band_edges(rows: Rows, parts: list[Segment], threads: Threads) -> EdgeList:
    """Return all edges of a band that the rows hold, in (u, v) order."""
    if not parts:
        return EdgeList(*_empty_columns(rows, 0))
    sample = rows.keys[sample_arcs(rows)]
    kind = rows.keys.dtype.type

    def chunk(begin, end, low, high):
        share = float(((sample >= low) & (sample <= high)).mean())
        room = int((end - begin) * min(1.0, 1.1 * share) / 2) + BLOCK
        return select(
            rows.indptr, rows.indices, rows.keys, rows.first, kind(low), kind(high),
            begin, end, *_empty_columns(rows, room),
        )  # fmt: skip

    shares = [
        (part.begin + begin, part.begin + end, part.low, part.high)
        for part in parts
        for begin, end in threads.ranges(part.end - part.begin, align=BLOCK)
    ]
    chunks = threads.map(chunk, shares)
    columns = [_joined(column, threads) for column in zip(*chunks, strict=True)]
    upper = _without_repeats(*columns[:3])
    if len(columns[3]) == 0:
        return upper
    order = sort_positions(columns[3].astype(np.uint64))
    lower = _without_repeats(*(column[order] for column in columns[3:]))
    pairs = zip(_columns(lower), _columns(upper), strict=True)
    return EdgeList(*(_joined(pair, threads) for pair in pairs))


def _columns(edges: EdgeList) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return edges.u, edges.v, edges.key


def _empty_columns(rows: Rows, length: int) -> list[np.ndarray]:
    """Return room for edges; NumPy's large arrays get huge pages, Numba's do not."""
    ids, keys = rows.indices.dtype, rows.keys.dtype
    return [np.empty(length, dtype) for dtype in (ids, ids, keys)]


def _joined(arrays: tuple[np.ndarray, ...], threads: Threads) -> np.ndarray:
    """Return the arrays one after the other."""
    if len(arrays) == 1:
        return arrays[0]
    ends = np.cumsum([len(array) for array in arrays])
    result = np.empty(ends[-1], arrays[0].dtype)
    parts = np.split(result, ends[:-1])
    threads.map(np.copyto, list(zip(parts, arrays, strict=True)))
    return result


def _without_repeats(u, v, key) -> EdgeList:
    """Drop all but the lightest of parallel edges, which stand side by side."""
    edges = EdgeList(u, v, key)
    if len(key) > 1 and ((u[1:] == u[:-1]) & (v[1:] == v[:-1])).any():
        positions = np.arange(len(key), dtype=np.uint64)
        return edges.take(first_of_pairs(positions, u, v, key))
    return edges


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


def _heavy_edges(
    rows: Rows, root: np.ndarray, above: Cut, threads: Threads
) -> EdgeList | None:
    """Return the edges behind a cut that may still join components.

    None if there is no giant component that most walks through a row soon meet;
    that is tried on a few rows.
    """
    arcs = sample_arcs(rows)
    tails = np.searchsorted(rows.indptr, arcs, side="right") - 1
    components, counts = np.unique(root[tails], return_counts=True)
    giant = components[counts.argmax()]
    occupied = rows.indptr[1:] != rows.indptr[:-1]
    outside = np.flatnonzero((root != giant) & occupied)
    key = rows.keys.dtype.type(above.key)

    def walk(vertices):
        return heavy_edges(
            rows.indptr, rows.indices, rows.keys, root, giant, key, above.vertex,
            vertices,
        )  # fmt: skip

    trial = outside[:: max(1, len(outside) // WALKS)]
    if len(walk(trial)[0]) > EDGES_PER_WALK * len(trial):
        return None
    chunks = threads.map(
        lambda begin, end: walk(outside[begin:end]), threads.ranges(len(outside))
    )
    columns = zip(*chunks, strict=True)
    edges = EdgeList(*(_joined(column, threads) for column in columns))
    return edges.take(pair_order(*_columns(edges), threads))


def pair_order(
    u: np.ndarray, v: np.ndarray, key: np.ndarray, threads: Threads = ALONE
) -> np.ndarray:
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
        order = sort_positions(wide, threads)
    return order[first_of_pairs(order, u, v, key)]
