"""What joins the giant component without asking anybody.

A component outside the giant one that is on one rank only knows its lightest edge. If
that leads to the giant component, it is a forest edge by the cut property, and both are
one, whatever the giant's own lightest edge is: no rank knows that one, and none needs
to. So nearly all that is left of heavy edges is contracted before the first message.
"""

from dataclasses import replace

import numpy as np

from ..graph.model import EdgeList, ReducedGraph
from ..run.run import Run
from .boruvka import Contraction
from .contract import rename
from .parts import keep


def absorb(run: Run, graph: ReducedGraph, giant: int) -> ReducedGraph:
    """Contract own components into the giant one, and among each other.

    Parameters
    ----------
    graph : ReducedGraph
        Where the giant component is not own.
    giant : int
        Its label.
    """
    place = int(np.searchsorted(graph.labels, giant))
    if place == len(graph.labels) or graph.labels[place] != giant:
        return graph
    final, root = run.backend.grow(_with_frozen(graph, place))
    final, root = final[1:], root[:-1]
    names = graph.labels[root]
    names[root == root[place]] = giant
    changed = np.flatnonzero(names != graph.labels)
    left = rename(graph, names)
    left = replace(left, own=left.own & (left.labels != giant))
    fixed = graph.edges.take(final)
    return keep(run, Contraction(fixed, graph.labels[changed], names[changed], left))


def _with_frozen(graph: ReducedGraph, place: int) -> ReducedGraph:
    """Return the graph with one ghost as a component that may not choose an edge.

    It is own, but has an edge lighter than all others to a ghost that is added.
    """
    own = np.append(graph.own, False)
    own[place] = True
    columns = (graph.edges.u, graph.edges.v, graph.edges.key)
    lightest = EdgeList(*(np.zeros(1, column.dtype) for column in columns))
    edges = lightest.followed_by(graph.edges)
    a, b = (
        np.concatenate([np.array([end], column.dtype), column])
        for end, column in ((place, graph.a), (len(graph.labels), graph.b))
    )
    return ReducedGraph(edges, a, b, np.append(graph.labels, graph.labels[-1] + 1), own)
