"""Step 3: contract the parts of a rank, except across their borders (indComp).

A part is the rows of a worker, a reduced graph, or a piece of rows that stay in their
file. By the cut property a component may merge along its lightest edge; if that edge
leads to a ghost, the component stops [1]. Only the minimum spanning forest of a
worker's edges matters, because every other edge is the heaviest of a cycle. So the
device's fastest forest kernel filters the edges first, which also removes multi-edges,
and the border-excepting rounds run on a forest.

When two parts merge, the border between them disappears, and both are contracted once
more. Pieces of stored rows are read into memory one by one; each is a part. If a graph
has locality, few edges remain after their contraction. If it has none, these edges take
as much memory as the rows, and the run rejects the memory limit.

[1] Panja and Vadhiyar: MND-MST, ICPP 2018, section 3.2.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..backends.base import (
    Band,
    ContractedComponents,
    ContractedRows,
    Device,
    RowsOnDevice,
)
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

# An exception condition: how far components of a graph with ghosts may be contracted.
ExceptionCondition = Callable[[Device, ReducedGraph], ContractedComponents]


class ContractedPart(NamedTuple):
    """The result of independent computation."""

    forest_edges: EdgeList  # Edges of the minimum spanning forest of the whole graph
    # int64, or a range of vertices: ascending names of components. They include every
    # component that has merged into another one.
    old: np.ndarray | range
    new: np.ndarray  # integers: the present names of the components `old`
    graph: ReducedGraph  # The remaining edges


def lightest_cut_edge(backend: Device, graph: ReducedGraph) -> ContractedComponents:
    """Stop a component whose lightest edge is a cut edge; for spanning forests."""
    return backend.contract(graph)


def any_cut_edge(backend: Device, graph: ReducedGraph) -> ContractedComponents:
    """Contract all edges but cut edges; for connected components.

    Edges inside the part may contract in any order.
    """
    inside = graph.interior[graph.a] & graph.interior[graph.b]
    spanning, root = backend.forest(graph.take(inside))
    in_forest = np.zeros(len(graph), np.bool_)
    in_forest[np.flatnonzero(inside)[spanning]] = True
    return ContractedComponents(in_forest, root)


def contract_rows(
    backend: Device,
    rows: Rows,
    on_device: RowsOnDevice,
    band: Band,
    exception: ExceptionCondition = lightest_cut_edge,
) -> ContractedPart:
    """Reduce a worker's rows to the forest of a band, then contract it.

    `on_device` is the device's copy of the rows (`Backend.upload`).
    """
    if exception is lightest_cut_edge:
        contracted = backend.contract_rows(on_device, band)
        if contracted is not None:
            return _contracted_part(rows, contracted)
    edges = backend.band_forest(on_device, band, None)
    ends = (edges.u, edges.v)
    graph = reduced_graph(edges, ends, rows.first, rows.last)
    return contract(backend, graph, exception)


def _contracted_part(rows: Rows, result: ContractedRows) -> ContractedPart:
    """Return contracted rows with global names of components."""
    ids = id_dtype(rows.num_vertices)
    new = result.label.astype(ids)
    new += ids.type(rows.first)
    graph = reduced_graph(result.remaining, result.ends, rows.first, rows.last)
    return ContractedPart(result.forest_edges, range(rows.first, rows.last), new, graph)


def contract(
    backend: Device,
    graph: ReducedGraph,
    exception: ExceptionCondition = lightest_cut_edge,
) -> ContractedPart:
    """Merge the components of a reduced graph as far as the exception allows."""
    if len(graph) == 0:
        none = graph.labels[:0]
        return ContractedPart(graph.edges, none, none, graph)
    in_forest, root = (
        backend.forest(graph) if graph.complete else exception(backend, graph)
    )
    names = graph.labels[root]
    renamed = np.flatnonzero(names != graph.labels)
    return ContractedPart(
        graph.edges.take(in_forest),
        graph.labels[renamed],
        names[renamed],
        rename(graph, names),
    )


def cycle_filter(backend: Device, graph: ReducedGraph) -> ReducedGraph:
    """Drop every edge that is the heaviest of a cycle in this graph."""
    in_forest = backend.forest(graph).in_forest
    return graph if in_forest.all() else drop_unused(graph.take(in_forest))


def contract_pieces(
    run: Run, band: Band, exception: ExceptionCondition
) -> ReducedGraph:
    """Contract a band of each piece of this rank's rows; return the remaining edges.

    Collective. The workers contract their rows at the same time; stored pieces follow
    one by one. After two neighbouring pieces the border between them disappears, so
    their remaining edges are contracted once more. Raises ConfigError if the remaining
    edges of stored pieces do not fit the memory limit.
    """
    first = run.workers[0]
    if first.rows.complete and band == Band():  # no other worker has rows
        (forest,) = run.at_once([partial(first.backend.msf, first.uploaded)])
        run.state.forest_edges.append(forest.edges)
        run.directory.replace(forest.labels)
        return empty_graph(forest.edges)
    contractions = run.at_once([
        partial(contract_rows, w.backend, w.rows, w.uploaded, band, exception)
        for w in run.workers
    ])  # fmt: skip
    for contraction in contractions:
        run.state.forest_edges.append(contraction.forest_edges)
        run.directory.record_here(contraction.old, contraction.new)
    remaining = merge_parts(contractions)
    if len(contractions) > 1:
        remaining = contract_here(run, remaining, exception)
    if not run.stored:  # every entry of the directory is one step from its name
        return remaining
    stored = StoredContraction(run, band, exception)
    with run.comm.raise_on_all(), run.report.work(run.backend.name):
        for rows in run.stored:
            remaining = stored.add(remaining, rows)
    run.state.forest_edges.append(stored.forest_edges.edges)
    run.directory.shorten()  # a lookup of another rank takes one step
    return remaining


def contract_here(
    run: Run, graph: ReducedGraph, exception: ExceptionCondition
) -> ReducedGraph:
    """Contract the remaining edges between this rank's rows once more.

    This rank owns the directory entries of these rows, so it notifies no other rank.
    The entries are updated to their present names, because a lookup takes one step.
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
    divided between both workers before one device contracts all of it.
    """
    if len(run.workers) == 2 and len(graph) > run.config.tuning.recursion_edges:
        count = np.cumsum(graph.interior)
        chosen = graph.interior & (count <= run.ratio * count[-1])
        parts = segment(graph, chosen), without_segment(graph, chosen)
        contractions = run.at_once([
            partial(contract, w.backend, part, exception)
            for w, part in zip(run.workers, parts, strict=True)
        ])  # fmt: skip
        for contraction in contractions:
            record(run, contraction)
        graph = merge_parts(contractions)
    return record(run, contract(run.backend, graph, exception))


def record(run: Run, contraction: ContractedPart) -> ReducedGraph:
    """Record the forest edges and new names of a part; return the remaining edges."""
    run.state.forest_edges.append(contraction.forest_edges)
    run.directory.note(np.asarray(contraction.old), contraction.new)
    return contraction.graph


def merge_parts(contractions: list[ContractedPart]) -> ReducedGraph:
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
    """Rename ghosts to their present names, drop self edges and multi-edges.

    Collective. The rank notifies the directory of its contractions, looks up the names
    of its ghosts, and keeps only the forest of the remaining edges.
    """
    run.directory.publish()
    ghosts = ~graph.interior
    names = graph.labels.copy()
    names[ghosts] = run.directory.lookup(graph.labels[ghosts])
    if (names == graph.labels).all():
        return graph
    return cycle_filter(run.backend, rename(graph, names))


class StoredContraction:
    """Contraction of stored rows, which pass through memory in pieces.

    The directory records the new names after each step.
    """

    def __init__(self, run: Run, band: Band, exception: ExceptionCondition) -> None:
        self.run, self.band, self.exception = run, band, exception
        rows = run.stored.num_rows  # at least the number of forest edges
        self.forest_edges = GrowingEdgeList(allocate_edges(run.workers[0].rows, rows))

    def add(self, remaining: ReducedGraph, rows: Rows) -> ReducedGraph:
        """Contract a piece, then the piece with the remaining edges of earlier ones."""
        backend = self.run.backend
        on_device = backend.upload(rows)
        piece = contract_rows(backend, rows, on_device, self.band, self.exception)
        merged = self._merged([remaining, self._record(piece)])
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

    def _record(self, part: ContractedPart) -> ReducedGraph:
        self.forest_edges.add(in_order(part.forest_edges, self.run.threads))
        self.run.directory.record_here(part.old, part.new)
        return part.graph
