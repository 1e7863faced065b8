"""Operations on reduced graphs: rename, merge, cut into segments.

Self edges go as soon as two ends have one name. Of multi-edges all but the
lightest close a cycle, so the cycle filter (`Backend.forest`) removes them with
every other edge that cannot be in the forest.
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
    """Return the reduced graph of edges whose ends are in some components.

    Components in [first, last), which most are, are complete here; the others are not.
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

    Components of one name become one, which is own if one of them was: own
    components merge with own ones only.
    """
    alive, end_a, end_b = reduced_edges.edges_between_names(graph.a, graph.b, names)
    labels, a, b = compact(end_a, end_b)
    own = reduced_edges.carry_marks(
        graph.own, graph.a, graph.b, alive, a, b, len(labels)
    )
    return ReducedGraph(graph.edges.take(alive), a, b, labels, own)


def drop_unused(graph: ReducedGraph) -> ReducedGraph:
    """Drop components without edges: their trees are finished."""
    used, a, b = reduced_edges.renumber_ends(graph.a, graph.b, len(graph.labels))
    return replace(graph, a=a, b=b, labels=graph.labels[used], own=graph.own[used])


def merge(graphs: Sequence[ReducedGraph], threads: Threads = ALONE) -> ReducedGraph:
    """Return the union of reduced graphs that use the same names.

    The edges of all graphs are sorted once. An edge of several graphs is kept once.
    """
    filled = [graph for graph in graphs if len(graph)]
    if len(filled) < 2:
        return filled[0] if filled else graphs[0]
    columns = [(g.edges.u, g.edges.v, g.edges.key, g.labels, g.own) for g in filled]
    u, v, key, labels, own = (np.concatenate(c) for c in zip(*columns, strict=True))
    labels, position = distinct(labels, threads)
    is_own = np.zeros(len(labels), np.bool_)
    is_own[position[own]] = True
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
    return ReducedGraph(EdgeList(u, v, key), a, b, labels, is_own)


def segment(graph: ReducedGraph, chosen: np.ndarray) -> ReducedGraph:
    """Return some own components of a graph and their edges; all others are ghosts.

    `chosen` is bool, one per component.
    """
    leaves = chosen[graph.a] | chosen[graph.b]
    return drop_unused(replace(graph.take(leaves), own=chosen))


def without_segment(graph: ReducedGraph, chosen: np.ndarray) -> ReducedGraph:
    """Return the rest of a graph without `segment`, whose components are ghosts now.

    An edge between one that stays and one that is gone is in both.
    """
    leaves = chosen[graph.a] | chosen[graph.b]
    stays = graph.own & ~chosen
    remains = ~leaves | stays[graph.a] | stays[graph.b]
    return drop_unused(replace(graph.take(remains), own=stays))
