"""Step 3: contract the parts of a rank, except across their borders (indComp).

A part is the rows of a worker, a reduced graph, or a piece of rows that stay in their
file. By the cut property a component may merge along its lightest edge; if that edge
leads to a ghost, the component waits [1]. Two observations make it cheap. Only the
minimum spanning forest of a worker's edges matters (every other edge is the heaviest of
a cycle), so the device's fastest forest kernel comes first and the border-excepting
rounds run on a forest. And that filter removes multi-edges, too.

When two parts merge, the border between them disappears, and both are contracted once
more. Pieces of stored rows pass through memory one by one, each a part like that of
another device. Little waits at the borders if a graph has locality. If it has none, the
waiting edges take as much memory as the rows, and the memory limit is rejected.

[1] Panja and Vadhiyar: MND-MST, ICPP 2018, section 3.2.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..backends.base import Backend, Band, Growth, RowGrowth
from ..comm.directory import present_names
from ..graph.model import EdgeList, GrowingEdgeList, ReducedGraph, Rows
from ..graph.order import id_dtype
from ..kernels.edge_columns import allocate_edges
from ..kernels.edge_order import in_order
from .reduced_graphs import (
    drop_unused,
    empty_graph,
    merge,
    reduced_graph,
    rename,
    segment,
    without_segment,
)
from .run import Run

# An exception condition: a bound on the growth of components beside ghosts.
ExceptionCondition = Callable[[Backend, ReducedGraph], Growth]


class ContractedPart(NamedTuple):
    """The result of independent computation."""

    forest_edges: EdgeList  # Edges of the minimum spanning forest of the whole graph
    # int64, or range: components, ascending: all that are part of others now, and maybe
    # some that are not. A range stands for consecutive vertices.
    old: np.ndarray | range
    new: np.ndarray  # integers: what they are part of now
    graph: ReducedGraph  # What is left


def lightest_cut_edge(backend: Backend, graph: ReducedGraph) -> Growth:
    """Stop a component whose lightest edge is a cut edge; for spanning forests."""
    return backend.grow(graph)


def any_cut_edge(backend: Backend, graph: ReducedGraph) -> Growth:
    """Leave cut edges alone, and nothing else; for connected components.

    No component stops growing: edges inside the part may contract in any order.
    """
    inside = graph.own[graph.a] & graph.own[graph.b]
    spanning, root = backend.forest(graph.take(inside))
    in_forest = np.zeros(len(graph), np.bool_)
    in_forest[np.flatnonzero(inside)[spanning]] = True
    return Growth(in_forest, root)


def contract_rows(
    backend: Backend,
    rows: Rows,
    placed: object,
    band: Band,
    exception: ExceptionCondition = lightest_cut_edge,
) -> ContractedPart:
    """Reduce a worker's rows to the forest of a band, then contract it.

    `placed` are the rows on the device, from `Backend.place`.
    """
    if rows.complete and band == Band():
        edges, label = backend.msf(placed)
        return ContractedPart(edges, range(len(label)), label, empty_graph(edges))
    if exception is lightest_cut_edge:
        grown = backend.grow_rows(placed, band)
        if grown is not None:
            return _left_of(rows, grown)
    edges = backend.band_forest(placed, band, None)
    ends = (edges.u, edges.v)
    graph = reduced_graph(edges, ends, rows.first, rows.last)
    return contract(backend, graph, exception)


def _left_of(rows: Rows, grown: RowGrowth) -> ContractedPart:
    """Return the contraction of rows whose components have grown."""
    ids = id_dtype(rows.num_vertices)
    new = grown.label.astype(ids)
    new += ids.type(rows.first)
    graph = reduced_graph(grown.left, grown.ends, rows.first, rows.last)
    return ContractedPart(grown.forest_edges, range(rows.first, rows.last), new, graph)


def contract(
    backend: Backend,
    graph: ReducedGraph,
    exception: ExceptionCondition = lightest_cut_edge,
) -> ContractedPart:
    """Merge the components of a reduced graph as far as the exception allows."""
    if len(graph) == 0:
        none = graph.labels[:0]
        return ContractedPart(graph.edges, none, none, graph)
    growth = backend.forest(graph) if graph.complete else exception(backend, graph)
    in_forest, root = growth
    names = graph.labels[root]
    renamed = np.flatnonzero(names != graph.labels)
    return ContractedPart(
        graph.edges.take(in_forest),
        graph.labels[renamed],
        names[renamed],
        rename(graph, names),
    )


def cycle_filter(backend: Backend, graph: ReducedGraph) -> ReducedGraph:
    """Drop every edge that is the heaviest of a cycle in this graph."""
    kept = backend.forest(graph).in_forest
    return graph if kept.all() else drop_unused(graph.take(kept))


def contract_pieces(
    run: Run, band: Band, exception: ExceptionCondition
) -> ReducedGraph:
    """Contract a band of each piece of this rank's rows; return the edges left.

    Collective. The workers contract their rows at once; stored pieces follow one by
    one. When two neighbouring pieces are done the border between them disappears, so
    their other edges are contracted once more. Raises ConfigError if the remaining
    edges of stored pieces do not fit the memory limit.
    """
    contractions = run.at_once([
        lambda w=worker: contract_rows(w.backend, w.rows, w.placed, band, exception)
        for worker in run.workers
    ])  # fmt: skip
    for contraction in contractions:
        run.state.forest_edges.append(contraction.forest_edges)
        run.directory.record_here(contraction.old, contraction.new)
    left = joined(contractions)
    if len(contractions) > 1:
        left = contract_here(run, left, exception)
    if not run.stored:  # every name is one step away
        return left
    passing = Passing(run, band, exception)
    with run.comm.raise_on_all(), run.report.work(run.backend.name):
        for rows in run.stored:
            left = passing.add(left, rows)
    run.state.forest_edges.append(passing.forest_edges.edges)
    run.directory.shorten()  # others ask for one step only
    return left


def contract_here(
    run: Run, graph: ReducedGraph, exception: ExceptionCondition
) -> ReducedGraph:
    """Contract the remaining edges of this rank's own rows once more.

    This rank owns the directory entries of these rows, so it notifies no other rank.
    They are pointed at their present names, because other ranks ask for one step only.
    """
    before = run.directory.parent.copy()
    contraction = contract(run.backend, graph, exception)
    run.state.forest_edges.append(contraction.forest_edges)
    run.directory.record_here(contraction.old, contraction.new)
    run.directory.step_up(before, run.threads)
    return contraction.graph


def contract_graph(
    run: Run, graph: ReducedGraph, exception: ExceptionCondition
) -> ReducedGraph:
    """Contract a reduced graph on the better device, or on both if it is large.

    The recursion of MND-MST 4.3.3: a graph of more than `recursion_edges` edges is
    dealt to both workers once more before one device has all of it.
    """
    if len(run.workers) == 2 and len(graph) > run.config.tuning.recursion_edges:
        owned = np.cumsum(graph.own)
        chosen = graph.own & (owned <= run.ratio * owned[-1])
        parts = segment(graph, chosen), without_segment(graph, chosen)
        contractions = run.at_once([
            lambda w=worker, part=part: contract(w.backend, part, exception)
            for worker, part in zip(run.workers, parts, strict=True)
        ])  # fmt: skip
        for contraction in contractions:
            keep(run, contraction)
        graph = joined(contractions)
    return keep(run, contract(run.backend, graph, exception))


def keep(run: Run, contraction: ContractedPart) -> ReducedGraph:
    """Keep the forest edges and new names of a contraction; return the edges left."""
    run.state.forest_edges.append(contraction.forest_edges)
    run.directory.note(np.asarray(contraction.old), contraction.new)
    return contraction.graph


def joined(contractions: list[ContractedPart]) -> ReducedGraph:
    """Return the remaining edges of neighbouring parts as one graph."""
    graphs = [contraction.graph for contraction in contractions]
    if len(graphs) == 1:
        return graphs[0]
    old = np.concatenate([np.asarray(c.old, np.int64) for c in contractions])
    new = np.concatenate([c.new.astype(np.int64) for c in contractions])
    order = np.argsort(old)
    old, new = old[order], new[order]
    return merge([rename(g, present_names(g.labels, old, new)) for g in graphs])


def learn_names(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Learn the present names of ghosts, drop self edges and multi-edges.

    Collective. Notifies the directory of contractions here, asks it for the
    names of the ghosts, and keeps the forest of the remaining edges.
    """
    run.directory.publish()
    ghosts = ~graph.own
    names = graph.labels.copy()
    names[ghosts] = run.directory.lookup(graph.labels[ghosts])
    if (names == graph.labels).all():
        return graph
    return cycle_filter(run.backend, rename(graph, names))


class Passing:
    """The forest of rows that pass through memory in pieces.

    The directory learns at once which component becomes part of which.
    """

    def __init__(self, run: Run, band: Band, exception: ExceptionCondition) -> None:
        self.run, self.band, self.exception = run, band, exception
        rows = run.stored.num_rows  # each finds one edge at most
        self.forest_edges = GrowingEdgeList(allocate_edges(run.workers[0].rows, rows))

    def add(self, left: ReducedGraph, rows: Rows) -> ReducedGraph:
        """Contract a piece by itself, then once more with the edges left before."""
        backend = self.run.backend
        placed = backend.place(rows)
        piece = contract_rows(backend, rows, placed, self.band, self.exception)
        merged = self._merged([left, self._record(piece)])
        return self._record(contract(backend, merged, self.exception))

    def _merged(self, graphs: list[ReducedGraph]) -> ReducedGraph:
        """Return the remaining edges of neighbouring parts as one graph."""
        run = self.run
        if not run.budget.fits(sum(graph.nbytes for graph in graphs)):
            data = "the edges that remain when the rows of a rank pass in pieces"
            raise run.budget.exceeded(run.graph.path, data, run.comm.size)
        names = [run.directory.lookup_here(graph.labels) for graph in graphs]
        renamed = [rename(*pair) for pair in zip(graphs, names, strict=True)]
        return cycle_filter(run.backend, merge(renamed, run.threads))

    def _record(self, found: ContractedPart) -> ReducedGraph:
        self.forest_edges.add(in_order(found.forest_edges, self.run.threads))
        self.run.directory.record_here(found.old, found.new)
        return found.graph
