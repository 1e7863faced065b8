"""The edges heavier than a band: between all components, or from the giant one.

A heavier forest edge has an end outside the giant component. So only the rows of
vertices outside are searched, lightest arc first, up to an arc into the giant component
(`kernels.heavier_arcs` has the proof). Without a giant component, all edges of the next
band between components are taken.

If few arcs lead to other ranks, each rank has a local giant component after the light
edges. Few of its heavier edges are in the forest of its edges: only edges that leave
this component, and cut edges. Then `contract_heavier` contracts all edges of a rank
before ranks merge, so that they merge once and not twice.
"""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..backends.base import Band, Device, RowsOnDevice
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
# With a smaller share of cut arcs, a rank assumes that all ghosts are outside the giant
# component.
ASKED_SHARE = 0.1


class CrossEdges(NamedTuple):
    """Edges between components, for the steps after independent computation."""

    graph: ReducedGraph
    # Component whose ranks lack its outgoing edges, because only the rows outside were
    # searched; or None.
    giant: int | None = None
    # Whether each edge is on the owners of both its ends; else it is on one rank.
    with_owners: bool = True
    # Whether components have new names that other ranks' ghosts do not have yet.
    renamed: bool = False
    # Whether the graph has all heavier edges, too, so that no phase follows.
    complete: bool = False


def heavier_edges(run: Run, giant: int, above: int) -> CrossEdges:
    """Return the edges above a key that may still join components. Collective.

    A component outside the giant one with all its vertices on one rank is interior
    there, because their rows have its lightest outgoing edge.
    """
    directory = run.directory
    outside = _outside_bitmap(run, giant)
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
    """Search the rows outside the giant component for forest edges above a key.

    Returns the columns of `Arcs`: arcs that may be forest edges.
    """
    threads, label = run.threads, (components.giant, components.label)
    ranges = each_range(threads.bounds(len(rows)))
    parts = threads.run(vertices_outside, *label, rows.indptr, *ranges)
    (outside,) = concatenate([parts], threads)
    starts = ArrayPieces.of(outside, threads.bounds(len(outside)))
    key = rows.keys.dtype.type(above)
    arcs = threads.run(heavier_arcs, rows.csr, components, key, rows.last, starts)
    return concatenate(arcs, threads)


def _outside_bitmap(run: Run, giant: int) -> np.ndarray:
    """Return a bit for each vertex of the graph, set outside the giant component.

    Collective. Empty if few arcs lead to other ranks, or the bitmap is too large.
    """
    directory = run.directory
    rows_bytes = run.comm.min(sum(worker.rows.nbytes for worker in run.workers))
    fits = directory.vtxdist[-1] // 8 <= BITMAP_SHARE * rows_bytes
    if not fits or cut_share(run) < ASKED_SHARE:
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

    def forest(backend: Device, rows: Rows, on_device: RowsOnDevice) -> EdgeList:
        part = label[rows.first - first : rows.last - first].astype(np.int64)
        return backend.band_forest(on_device, band, part)

    with run.comm.raise_on_all():
        lists = run.at_once([
            partial(forest, w.backend, w.rows, w.uploaded)
            for w in run.workers
        ])  # fmt: skip
        for rows in run.stored:
            lists.append(forest(run.backend, rows, run.backend.upload(rows)))
    edges = lists[0].followed_by(*lists[1:])
    ends = np.concatenate([edges.u, edges.v]).astype(np.int64)
    components = np.split(run.directory.lookup_any(ends), 2)
    return CrossEdges(_graph_of_arcs(run, (*edges.columns, *components), None))


def _graph_of_arcs(
    run: Run, columns: tuple[np.ndarray, ...], giant: int | None
) -> ReducedGraph:
    """Return the reduced graph of arcs (tail, head, key, component, component).

    Collective. Components with all their vertices here are interior, except the giant
    one.
    """
    graph, first = reduced_arcs(run, columns), run.directory.first
    elsewhere = run.directory.members_elsewhere(NO_OWNER if giant is None else giant)
    interior = graph.interior & (graph.labels != giant)
    interior[interior] = ~elsewhere[graph.labels[interior] - first]
    return cycle_filter(run.backend, replace(graph, interior=interior))


def reduced_arcs(run: Run, columns: tuple[np.ndarray, ...]) -> ReducedGraph:
    """Return the reduced graph of arcs; components that this rank owns are interior.

    The columns are tail, head, key, and the components of tail and head.
    """
    between = np.flatnonzero(columns[3] != columns[4])
    tail, head, key, tail_component, head_component = (c[between] for c in columns)
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
    run: Run, band_edges: ReducedGraph, above: int, exception: ExceptionCondition
) -> ReducedGraph | None:
    """Contract the remaining edges of a band together with all heavier edges.

    Collective. `band_edges` are the edges of the band that remain on this rank after
    independent computation, and `above` is the largest key of the band. Returns the
    remaining edges of all weights. If a rank has no local giant component, nothing
    changes, and every rank returns None.
    """
    rows, directory = run.workers[0].rows, run.directory
    label = directory.parent
    component = _components_with_edges(run, band_edges, label)
    giant = _giant(run, rows, component)
    if not run.comm.min(int(giant is not None or not rows.num_arcs)):
        return None
    if giant is not None:
        tail, head, key = _candidate_arcs(run, rows, component, giant, above)
        components = (component_of(end, rows, label) for end in (tail, head))
        heavier = reduced_arcs(run, (tail, head, key, *components))
        merged = merge([band_edges, heavier], run.threads)
        band_edges = cycle_filter(run.backend, merged)
    return contract_here(run, band_edges, exception)


def _components_with_edges(
    run: Run, remaining: ReducedGraph, label: np.ndarray
) -> np.ndarray:
    """Return the component of each row if the remaining edges were contracted, too.

    The remaining edges of a band are lighter than the edges above it, so an edge above
    it inside such a component closes a cycle and is its heaviest edge.
    """
    first, last = run.directory.first, run.directory.last
    root = run.backend.forest(remaining).root
    interior = np.flatnonzero(remaining.interior)
    names = np.full(len(remaining.labels), last, np.int64)
    np.minimum.at(names, root[interior], remaining.labels[interior])
    parent = np.arange(first, last, dtype=label.dtype)
    parent[remaining.labels[interior] - first] = names[root[interior]]
    component = np.empty_like(label)
    bounds = run.threads.bounds(len(label))
    pieces = ArrayPieces.of(label, bounds), ArrayPieces.of(component, bounds)
    run.threads.run(step_up, pieces[0], first, parent, pieces[1])
    return component


def _giant(run: Run, rows: Rows, component: np.ndarray) -> int | None:
    """Return the component that most arcs of the rows leave, or None."""
    arcs = np.arange(0, rows.num_arcs, 1 + rows.num_arcs // GIANT_SAMPLE)
    tails = np.searchsorted(rows.indptr, arcs, side="right") - 1
    return giant_component(component[tails], run.config.tuning)


def _candidate_arcs(
    run: Run, rows: Rows, component: np.ndarray, giant: int, above: int
) -> tuple[np.ndarray, ...]:
    """Return the heavier arcs (tail, head, key) that may be in the forest of the rows.

    They include all arcs to ghosts, even arcs heavier than the row's lightest arc into
    the giant component: the components of ghosts are unknown, and other ranks do not
    search their rows for this rank.
    """
    key_above = rows.keys.dtype.type(above)
    inner = walk_outside(run, rows, GiantComponent.of_rows(component, giant), above)
    ranges = each_range(run.threads.bounds(len(rows)))
    cut = run.threads.run(cut_arcs, rows.csr, key_above, *ranges)
    parts = inner[:3], concatenate(cut, run.threads)
    return tuple(concatenate_columns(parts, run.threads))
