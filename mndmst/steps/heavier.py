"""Light edges first: the bands of weights, and the heavy edges behind them.

The forest of the lightest edges, about as many as there are vertices, usually has
one giant component. Any heavier forest edge then has an end outside it, so only the
vertices outside look further into their rows, lightest arc first, until they reach
the giant component (see `kernels.heavier_arcs` for why this is enough).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..backends.base import SPARSE_ARCS_PER_VERTEX, Band
from ..comm.directory import NOBODY
from ..graph.giant import most_frequent
from ..graph.model import EdgeList, ReducedGraph, Rows
from ..kernels.heavier_arcs import UNKNOWN, Arcs, Components, heavier_arcs
from ..kernels.hooks import outside_of
from ..kernels.rows import count_occupied
from ..kernels.spanning import pair_order
from ..run.run import Run
from .boruvka import cycle_filter
from .contract import reduced_graph

# Sampled arcs: for keys, for the giant component, for the share of cut arcs.
KEY_SAMPLE, GIANT_SAMPLE, CUT_SAMPLE = 8192, 1024, 8192
# The share of arcs in rows of one component that makes it the giant one.
GIANT_SHARE = 0.5
# Bits for all vertices may take this share of the bytes of a rank's rows.
BITMAP_SHARE = 0.25
# With a smaller share of cut arcs, a rank takes all ghosts for outsiders.
ASKED_SHARE = 0.1


def bands(run: Run, light_edges: float) -> Iterator[Band]:
    """Yield bands of growing size; the last is open above. Collective.

    Parameters
    ----------
    light_edges : float
        Edges in the first band for each vertex that has any; 0 for one band.
    """
    arcs, occupied = run.comm.sum(
        np.array([
            sum(worker.rows.num_arcs for worker in run.workers),
            sum(count_occupied(worker.rows.indptr) for worker in run.workers),
        ])
    )  # fmt: skip
    low = run.state.done
    alone = run.comm.size == 1 and len(run.workers) == 1  # its kernel has its own bands
    if light_edges and not alone and arcs > SPARSE_ARCS_PER_VERTEX * occupied:
        key_dtype = run.workers[0].rows.keys.dtype
        sample = np.sort(_sample(run, KEY_SAMPLE, arcs, key_dtype, _keys))
        share = 2 * light_edges * occupied / arcs
        while 0 < share < 0.5 and len(sample):
            high = int(sample[int(share * len(sample))])
            if high == np.iinfo(sample.dtype).max:
                break  # nothing can be above
            if low is None or high > low:
                yield Band(low, high)
                low = high
            share *= 2
    yield Band(low, None)


def giant_component(run: Run, component: np.ndarray) -> int | None:
    """Return the component most arcs leave from, if it has a majority. Collective.

    Parameters
    ----------
    component : ndarray of integers
        The component of each vertex that this rank owns.
    """
    arcs = run.comm.sum(sum(worker.rows.num_arcs for worker in run.workers))

    def labels(rows, positions):
        tails = np.searchsorted(rows.indptr, positions, side="right") - 1
        return component[rows.first + tails - run.directory.first]

    sample = _sample(run, GIANT_SAMPLE, arcs, component.dtype, labels)
    return most_frequent(sample, GIANT_SHARE)


class Between(NamedTuple):
    """Edges between components, for the steps after independent computation.

    Attributes
    ----------
    graph : ReducedGraph
    giant : int or None
        The component that hides its edges: ranks with members of it do not know them,
        as the edges were looked up from outside of it. None if no component does.
    with_owners : bool
        Whether every edge is on the ranks that own its ends. Else it is on one rank.
    renamed : bool
        Whether components have new names that ghosts have not learnt.
    """

    graph: ReducedGraph
    giant: int | None = None
    with_owners: bool = True
    renamed: bool = False


def heavier_edges(run: Run, giant: int, above: int) -> Between:
    """Return the edges above a key that may still join components. Collective.

    A component outside the giant one that has all its vertices on one rank is own
    there: its members know the lightest edge that leaves it.
    """
    directory = run.directory
    outside = _bits_of_outsiders(run, giant)
    columns = []
    for worker in run.workers:
        rows, first = worker.rows, worker.rows.first
        label = directory.parent[first - directory.first : rows.last - directory.first]
        columns += walks(run, rows, Components(label, giant, outside), above)
    arcs = Arcs(*(np.concatenate(column) for column in zip(*columns, strict=True)))
    head_component = arcs.head_component
    unknown = np.flatnonzero(head_component == UNKNOWN)
    asked = arcs.head[unknown].astype(np.int64)
    head_component[unknown] = directory.lookup_any(asked)
    tails = arcs.tail.astype(np.int64) - directory.first
    tail_component = directory.parent[tails].astype(np.int64)
    ends = tail_component, head_component
    graph = _graph_of_arcs(run, (*arcs[:3], *ends), giant)
    return Between(graph, giant)


def walks(
    run: Run, rows: Rows, components: Components, above: int
) -> list[tuple[np.ndarray, ...]]:
    """Return the columns of `Arcs` behind a key that may matter, for each thread."""

    known, threads, csr = (components.giant, components.label), run.threads, rows.csr
    ranges = threads.ranges(len(rows))
    chosen = np.concatenate(
        threads.map(outside_of, [(*known, rows.indptr, *bounds) for bounds in ranges])
    )
    key, ranges = rows.keys.dtype.type(above), threads.ranges(len(chosen))
    lists = [(csr, components, key, rows.last, chosen[b:e]) for b, e in ranges]
    return threads.map(heavier_arcs, lists)


def _bits_of_outsiders(run: Run, giant: int) -> np.ndarray:
    """Return a bit for each vertex of the graph, set outside the giant component.

    Collective. Empty, if few arcs lead to other ranks, or if there is no room.
    """
    directory = run.directory
    rows_bytes = run.comm.min(sum(worker.rows.nbytes for worker in run.workers))
    room = directory.vtxdist[-1] // 8 <= BITMAP_SHARE * rows_bytes
    if not room or cut_share(run) < ASKED_SHARE:
        return np.empty(0, np.uint8)
    begin = directory.first // 8 * 8
    padded = np.zeros(directory.last - begin, np.bool_)
    np.not_equal(directory.parent, giant, out=padded[directory.first - begin :])
    parts = run.comm.allgatherv(np.packbits(padded, bitorder="little"))
    bits = np.zeros(directory.vtxdist[-1] // 8 + 1, np.uint8)
    done = 0
    for first, last in pairwise(directory.vtxdist.tolist()):
        size = (last - first // 8 * 8 + 7) // 8
        bits[first // 8 : first // 8 + size] |= parts[done : done + size]
        done += size
    return bits


def band_edges(run: Run, band: Band) -> Between:
    """Return the edges of a later band between components. Collective."""
    label, first = run.directory.parent, run.directory.first

    def forest(backend, rows, placed):
        part = label[rows.first - first : rows.last - first].astype(np.int64)
        return backend.band_forest(placed, band, part)

    def forest_of_piece(rows):
        return forest(run.backend, rows, run.backend.place(rows))

    lists = run.at_once([
        lambda w=worker: forest(w.backend, w.rows, w.placed) for worker in run.workers
    ])  # fmt: skip
    if run.stored is not None:
        with run.comm.raise_on_all():
            lists += map(forest_of_piece, run.stored.pieces())
    u, v, key = (
        np.concatenate([getattr(edges, name) for edges in lists])
        for name in ("u", "v", "key")
    )
    ends = np.concatenate([u, v]).astype(np.int64)
    a, b = np.split(run.directory.lookup_any(ends), 2)
    return Between(_graph_of_arcs(run, (u, v, key, a, b), None))


def _graph_of_arcs(
    run: Run, columns: tuple[np.ndarray, ...], giant: int | None
) -> ReducedGraph:
    """Return the reduced graph of arcs (tail, head, key, component, component).

    Collective. Components with all their vertices here are own, but the giant one.
    """
    graph, first = reduced_arcs(run, columns), run.directory.first
    shared = run.directory.members_elsewhere(NOBODY if giant is None else giant)
    own = graph.own & (graph.labels != giant)
    own[own] = ~shared[graph.labels[own] - first]
    return cycle_filter(run.backend, replace(graph, own=own))


def reduced_arcs(run: Run, columns: tuple[np.ndarray, ...]) -> ReducedGraph:
    """Return the reduced graph of arcs; components that this rank owns are own.

    Parameters
    ----------
    columns : (tail, head, key, component, component)
    """
    joining = np.flatnonzero(columns[3] != columns[4])
    tail, head, key, tail_component, head_component = (c[joining] for c in columns)
    ids = run.directory.parent.dtype
    tail, head = tail.astype(ids), head.astype(ids)
    u, v = np.minimum(tail, head), np.maximum(tail, head)
    upward = tail < head
    order = pair_order(u, v, key, run.threads)
    ends = (
        np.where(upward, tail_component, head_component)[order],
        np.where(upward, head_component, tail_component)[order],
    )
    edges = EdgeList(u, v, key).take(order)
    first, last = run.directory.first, run.directory.last
    return reduced_graph(edges, ends, first, last, own=True)


def _sample(
    run: Run, size: int, arcs: int, dtype: np.dtype, value: Callable
) -> np.ndarray:
    """Return value(rows, positions) of some random arcs of the graph. Collective."""
    generator = np.random.default_rng(run.comm.rank)
    picked = [np.empty(0, dtype)]
    for worker in run.workers:
        rows = worker.rows
        count = -(-size * rows.num_arcs // max(1, int(arcs)))
        if rows.num_arcs:
            picked.append(value(rows, generator.integers(0, rows.num_arcs, count)))
    return run.comm.allgatherv(np.concatenate(picked).astype(dtype))


def _keys(rows, positions):
    return rows.keys[positions]


def cut_share(run: Run) -> float:
    """Return about which share of the arcs leads to other ranks. Collective."""
    ends = np.zeros(2, np.int64)
    for worker in run.workers:
        sample = worker.rows.indices[:: 1 + worker.rows.num_arcs // CUT_SAMPLE]
        here = (sample >= run.directory.first) & (sample < run.directory.last)
        ends += np.array([np.count_nonzero(~here), len(sample)])
    cut, all_ends = run.comm.sum(ends)
    return float(cut / max(1, all_ends))
