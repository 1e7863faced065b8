"""The edges behind a band: between components, and outside the giant one.

A heavier forest edge has an end outside the giant component. So only the vertices
outside look further into their rows, lightest arc first, until they reach it (see
`kernels.heavier_arcs` for why this is enough). Without a giant component all edges of
the next band count that lie between components.

Where hardly any arc leads to another rank, a rank has a giant component of its own
once the light edges are contracted, and of its heavier edges few are in the forest of
its edges: edges that leave this component, and cut edges. So `contract_heavier` lets a
rank contract all its edges before ranks merge: once, not twice.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..backends.base import Backend, Band
from ..comm.directory import NO_OWNER
from ..graph.light_edges import giant_component
from ..graph.model import EdgeList, ReducedGraph, Rows, component_of
from ..kernels.edge_columns import concatenate, concatenate_columns
from ..kernels.edge_order import pair_order
from ..kernels.heavier_arcs import UNKNOWN, Arcs, GiantComponent, cut_arcs, heavier_arcs
from ..kernels.hooks import vertices_outside
from ..kernels.pointer_jumping import step_up
from ..kernels.threads import each_range
from ..native.call_columns import ArrayPieces
from .bands import GIANT_SAMPLE, cut_share
from .contract import ExceptionCondition, contract_here, cycle_filter
from .reduced_graphs import merge, reduced_graph
from .run import Run

# Bits for all vertices may take this share of the bytes of a rank's rows.
BITMAP_SHARE = 0.25
# With a smaller share of cut arcs, a rank takes all ghosts for outsiders.
ASKED_SHARE = 0.1


class CrossEdges(NamedTuple):
    """Edges between components, for the steps after independent computation."""

    graph: ReducedGraph
    # Component whose ranks lack its outgoing edges, because the edges were looked up
    # from outside of it. None if there is none.
    giant: int | None = None
    # Whether every edge is on the ranks that own its ends. Else it is on one rank.
    with_owners: bool = True
    # Whether components have new names that ghosts have not learnt.
    renamed: bool = False
    # Whether the edges above the portion are among them, so that none follow.
    complete: bool = False


def heavier_edges(run: Run, giant: int, above: int) -> CrossEdges:
    """Return the edges above a key that may still join components. Collective.

    A component outside the giant one that has all its vertices on one rank is own
    there: its members know the lightest edge that leaves it.
    """
    directory = run.directory
    outside = _bits_of_outsiders(run, giant)
    parts = []
    for worker in run.workers:
        rows, first = worker.rows, worker.rows.first
        label = directory.parent[first - directory.first : rows.last - directory.first]
        components = GiantComponent(label, giant, outside)
        parts.append(walk_outside(run, rows, components, above))
    arcs = Arcs(*concatenate_columns(parts, run.threads))
    head_component = arcs.head_component
    unknown = np.flatnonzero(head_component == UNKNOWN)
    asked = arcs.head[unknown].astype(np.int64)
    head_component[unknown] = directory.lookup_any(asked)
    tails = arcs.tail.astype(np.int64) - directory.first
    tail_component = directory.parent[tails].astype(np.int64)
    ends = tail_component, head_component
    graph = _graph_of_arcs(run, (*arcs[:3], *ends), giant)
    return CrossEdges(graph, giant)


def walk_outside(
    run: Run, rows: Rows, components: GiantComponent, above: int
) -> list[np.ndarray]:
    """Walk the rows outside the giant component, behind a key.

    Returns the columns of `Arcs`: arcs that may be forest edges.
    """
    threads, label = run.threads, (components.giant, components.label)
    ranges = each_range(threads.bounds(len(rows)))
    found = threads.run(vertices_outside, *label, rows.indptr, *ranges)
    (chosen,) = concatenate([found], threads)
    starts = ArrayPieces.of(chosen, threads.bounds(len(chosen)))
    key = rows.keys.dtype.type(above)
    arcs = threads.run(heavier_arcs, rows.csr, components, key, rows.last, starts)
    return concatenate(arcs, threads)


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


def band_edges(run: Run, band: Band) -> CrossEdges:
    """Return the edges of a later band between components. Collective."""
    label, first = run.directory.parent, run.directory.first

    def forest(backend: Backend, rows: Rows, placed: Any) -> EdgeList:
        part = label[rows.first - first : rows.last - first].astype(np.int64)
        return backend.band_forest(placed, band, part)

    with run.comm.raise_on_all():
        lists = run.at_once([
            lambda w=worker: forest(w.backend, w.rows, w.placed)
            for worker in run.workers
        ])  # fmt: skip
        for rows in run.stored:
            lists.append(forest(run.backend, rows, run.backend.place(rows)))
    edges = lists[0].followed_by(*lists[1:])
    ends = np.concatenate([edges.u, edges.v]).astype(np.int64)
    components = np.split(run.directory.lookup_any(ends), 2)
    return CrossEdges(_graph_of_arcs(run, (*edges.columns, *components), None))


def _graph_of_arcs(
    run: Run, columns: tuple[np.ndarray, ...], giant: int | None
) -> ReducedGraph:
    """Return the reduced graph of arcs (tail, head, key, component, component).

    Collective. Components with all their vertices here are own, but the giant one.
    """
    graph, first = reduced_arcs(run, columns), run.directory.first
    shared = run.directory.members_elsewhere(NO_OWNER if giant is None else giant)
    own = graph.own & (graph.labels != giant)
    own[own] = ~shared[graph.labels[own] - first]
    return cycle_filter(run.backend, replace(graph, own=own))


def reduced_arcs(run: Run, columns: tuple[np.ndarray, ...]) -> ReducedGraph:
    """Return the reduced graph of arcs; components that this rank owns are own.

    The columns are tail, head, key, and the components of tail and head.
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
    return reduced_graph(edges, ends, first, last)


def contract_heavier(
    run: Run, left: ReducedGraph, above: int, exception: ExceptionCondition
) -> ReducedGraph | None:
    """Contract the remaining edges of a band together with all heavier edges.

    Collective. `left` is the rest of the band on this rank after independent
    computation, and `above` the largest key of the band. Returns the rest of all edges;
    None on every rank, and nothing has changed, if a rank has no giant component of its
    own.
    """
    rows, directory = run.workers[0].rows, run.directory
    label = directory.parent
    component = _reached(run, left, label)
    giant = _giant(run, rows, component)
    if not run.comm.min(int(giant is not None or not rows.num_arcs)):
        return None
    if giant is not None:
        tail, head, key = _arcs_that_matter(run, rows, component, giant, above)
        components = (component_of(end, rows, label) for end in (tail, head))
        heavier = reduced_arcs(run, (tail, head, key, *components))
        left = cycle_filter(run.backend, merge([left, heavier], run.threads))
    return contract_here(run, left, exception)


def _reached(run: Run, left: ReducedGraph, label: np.ndarray) -> np.ndarray:
    """Return the component of each row if the edges that wait were contracted, too.

    They are lighter than the edges to come, so edges inside them are useless.
    """
    first, last = run.directory.first, run.directory.last
    root = run.backend.forest(left).root
    own = np.flatnonzero(left.own)
    names = np.full(len(left.labels), last, np.int64)
    np.minimum.at(names, root[own], left.labels[own])
    parent = np.arange(first, last, dtype=label.dtype)
    parent[left.labels[own] - first] = names[root[own]]
    found = np.empty_like(label)
    bounds = run.threads.bounds(len(label))
    pieces = ArrayPieces.of(label, bounds), ArrayPieces.of(found, bounds)
    run.threads.run(step_up, pieces[0], first, parent, pieces[1])
    return found


def _giant(run: Run, rows: Rows, component: np.ndarray) -> int | None:
    """Return the component most arcs of some rows leave from, if it has a majority."""
    arcs = np.arange(0, rows.num_arcs, 1 + rows.num_arcs // GIANT_SAMPLE)
    tails = np.searchsorted(rows.indptr, arcs, side="right") - 1
    return giant_component(component[tails], run.config.tuning)


def _arcs_that_matter(
    run: Run, rows: Rows, component: np.ndarray, giant: int, above: int
) -> tuple[np.ndarray, ...]:
    """Return the heavier arcs (tail, head, key) that may be in the forest of some rows.

    Nothing is known of ghosts, and they do not search: so all arcs to them count, also
    those behind a row's lightest arc into the giant component.
    """
    key_above = rows.keys.dtype.type(above)
    inner = walk_outside(run, rows, GiantComponent.of_rows(component, giant), above)
    ranges = each_range(run.threads.bounds(len(rows)))
    cut = run.threads.run(cut_arcs, rows.csr, key_above, *ranges)
    parts = inner[:3], concatenate(cut, run.threads)
    return tuple(concatenate_columns(parts, run.threads))
