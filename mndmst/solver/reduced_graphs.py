"""Operations on reduced graphs: rename, merge, take out segments.

An edge is dropped as soon as both its ends have one name. All multi-edges except the
lightest close a cycle, so the cycle filter (`Backend.forest`) removes them with every
other edge that cannot be in the forest.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..graph.model import EdgeList, ReducedGraph
from ..kernels import reduced_edges
from ..kernels.edge_columns import take_columns
from ..kernels.edge_order import pair_order
from ..kernels.numbering import compact, distinct
from ..kernels.threads import ALONE, Threads


def reduced_graph(
    edges: EdgeList, ends: tuple[np.ndarray, np.ndarray], first: int, last: int
) -> ReducedGraph:
    """Return the reduced graph of edges, given the components at their `ends`.

    Components in [first, last) are interior; the others are ghosts.
    """
    labels, a, b = compact(*ends)
    inside = (labels >= first) & (labels < last)
    return ReducedGraph(edges, a, b, labels, inside)


def empty_graph(edges: EdgeList) -> ReducedGraph:
    """Return a reduced graph without edges, with the types of `edges`."""
    nothing = EdgeList.empty(edges.u.dtype, edges.key.dtype)
    none = np.empty(0, np.uint32)
    return ReducedGraph(nothing, none, none, np.empty(0, np.int64), np.empty(0, bool))


def rename(graph: ReducedGraph, names: np.ndarray) -> ReducedGraph:
    """Give components new names (one per label); drop self edges and unused components.

    Components of one name become one. It is interior if one of them was, because
    interior components merge only with interior ones.
    """
    alive, end_a, end_b = reduced_edges.edges_between_names(graph.a, graph.b, names)
    labels, a, b = compact(end_a, end_b)
    interior = reduced_edges.carry_marks(
        graph.interior, graph.a, graph.b, alive, a, b, len(labels)
    )
    return ReducedGraph(graph.edges.take(alive), a, b, labels, interior)


def drop_unused(graph: ReducedGraph) -> ReducedGraph:
    """Drop components without edges, whose trees are complete."""
    used, a, b = reduced_edges.renumber_ends(graph.a, graph.b, len(graph.labels))
    return replace(
        graph, a=a, b=b, labels=graph.labels[used], interior=graph.interior[used]
    )


def merge(graphs: Sequence[ReducedGraph], threads: Threads = ALONE) -> ReducedGraph:
    """Return the union of reduced graphs that use the same names.

    An edge of several graphs is in the union once.
    """
    filled = [graph for graph in graphs if len(graph)]
    if len(filled) < 2:
        return filled[0] if filled else graphs[0]
    columns = [
        (g.edges.u, g.edges.v, g.edges.key, g.labels, g.interior) for g in filled
    ]
    u, v, key, labels, marks = (np.concatenate(c) for c in zip(*columns, strict=True))
    labels, position = distinct(labels, threads)
    interior = np.zeros(len(labels), np.bool_)
    interior[position[marks]] = True
    starts = np.cumsum([0, *(len(graph.labels) for graph in filled)])
    a, b = (
        np.concatenate(
            [
                take_columns([position[start:]], end, threads)[0]
                for start, end in zip(starts, ends, strict=False)
            ]
        )
        for ends in ([graph.a for graph in filled], [graph.b for graph in filled])
    )
    order = pair_order(u, v, key, threads)
    u, v, key, a, b = take_columns([u, v, key, a, b], order, threads)
    return ReducedGraph(EdgeList(u, v, key), a, b, labels, interior)


def segment(graph: ReducedGraph, chosen: np.ndarray) -> ReducedGraph:
    """Return some interior components of a graph and their edges; others are ghosts.

    `chosen` (bool) marks them.
    """
    leaves = chosen[graph.a] | chosen[graph.b]
    return drop_unused(replace(graph.take(leaves), interior=chosen))


def without_segment(graph: ReducedGraph, chosen: np.ndarray) -> ReducedGraph:
    """Return a graph without `segment`, whose components become ghosts.

    An edge between a chosen component and another interior one is in both graphs.
    """
    leaves = chosen[graph.a] | chosen[graph.b]
    stays = graph.interior & ~chosen
    remains = ~leaves | stays[graph.a] | stays[graph.b]
    return drop_unused(replace(graph.take(remains), interior=stays))
