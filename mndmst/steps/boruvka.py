"""Independent computation: Borůvka inside a part, except across its borders.

Returns forest edges and the smaller graph that is left. A component
whose lightest edge leads to a ghost waits; by the cut property all others may
merge along their lightest edges [1]. Two observations make it cheap: only the
minimum spanning forest of what a worker holds matters (every other edge is the
heaviest of a cycle), so the device's fastest forest kernel comes first and the
border-excepting rounds run on a forest; and that filter already removes
multi-edges.

[1] Panja and Vadhiyar: MND-MST, ICPP 2018, section 3.2.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..backends.base import Backend, Band, Growth, RowGrowth
from ..graph.model import EdgeList, ReducedGraph, Rows
from ..graph.order import id_dtype
from .contract import drop_unused, empty_graph, reduced_graph, rename

# How far the components of a graph with ghosts may grow: an exception condition.
ExceptionCondition = Callable[[Backend, ReducedGraph], Growth]


class ContractedPart(NamedTuple):
    """What independent computation has achieved.

    Attributes
    ----------
    forest_edges : EdgeList
        Edges of the minimum spanning forest of the whole graph.
    old : ndarray of int64, or range
        Components, ascending: all that are part of others now, and maybe some that
        are not. A range stands for consecutive vertices.
    new : ndarray of integers
        What they are part of now.
    graph : ReducedGraph
        What is left.
    """

    forest_edges: EdgeList
    old: np.ndarray | range
    new: np.ndarray
    graph: ReducedGraph


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

    Parameters
    ----------
    placed : object
        The rows on the device, from `Backend.place`.
    """
    if rows.complete and band == Band():
        return _finished(*backend.msf(placed))
    if exception is lightest_cut_edge:
        grown = backend.grow_rows(placed, band)
        if grown is not None:
            return _left_of(rows, grown)
    edges = backend.band_forest(placed, band, None)
    ends = (edges.u, edges.v)
    graph = reduced_graph(edges, ends, rows.first, rows.last, own=True)
    return contract(backend, graph, exception)


def _left_of(rows: Rows, grown: RowGrowth) -> ContractedPart:
    """Return the contraction of rows whose components have grown."""
    ids = id_dtype(rows.num_vertices)
    new = grown.label.astype(ids)
    new += ids.type(rows.first)
    graph = reduced_graph(grown.left, grown.ends, rows.first, rows.last, own=True)
    return ContractedPart(grown.forest_edges, range(rows.first, rows.last), new, graph)


def _finished(edges: EdgeList, label: np.ndarray) -> ContractedPart:
    """Return the contraction of a whole graph: every edge left is a forest edge."""
    return ContractedPart(edges, range(len(label)), label, empty_graph(edges))


def contract(
    backend: Backend,
    graph: ReducedGraph,
    exception: ExceptionCondition = lightest_cut_edge,
) -> ContractedPart:
    """Merge the components of a reduced graph as far as the exception allows."""
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
