"""Global Borůvka rounds: for when merging would not pay or would not fit.

The lightest edge of every component is a forest edge, cut edge or not. Each rank
proposes the lightest edge it holds of each component to the component's home; the
home takes the lightest of all, hooks the component onto the other end, and pointer
jumping finds the new representatives. No edge moves between ranks, and every round
at least halves the components that still have edges.
"""

import numpy as np

from .backends.numba.lists import lightest_edges
from .graph import EdgeList, ReducedGraph
from .run import Run, learn_names


def global_round(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Merge every component with the neighbour across its lightest edge. Collective.

    Afterwards a component may have edges on several ranks, so none is own.
    """
    label, other, edges = _choose(run, graph)
    _hook(run, label, other, edges)
    released = ReducedGraph(
        graph.edges, graph.a, graph.b, graph.labels, np.zeros_like(graph.own)
    )
    return learn_names(run, released)


def _choose(run: Run, graph: ReducedGraph) -> tuple[np.ndarray, np.ndarray, EdgeList]:
    """Return for components at home here their lightest edge and its far end."""
    best = lightest_edges(graph.a, graph.b, graph.edges.key, len(graph.labels))
    here = np.arange(len(best))
    far = np.where(graph.a[best] == here, graph.b[best], graph.a[best])
    edges = graph.edges
    _, columns = run.comm.exchange(
        run.directory.homes(graph.labels), graph.labels, graph.labels[far],
        edges.u[best], edges.v[best], edges.key[best],
    )  # fmt: skip
    label, other, u, v, key = columns
    order = np.lexsort((v, u, key, label))
    first = np.ones(len(order), np.bool_)
    first[1:] = label[order][1:] != label[order][:-1]
    chosen = order[first]
    return label[chosen], other[chosen], EdgeList(u[chosen], v[chosen], key[chosen])


def _hook(run: Run, label: np.ndarray, other: np.ndarray, edges: EdgeList) -> None:
    """Hook components at home here onto others and find the representatives."""
    directory = run.directory
    mine = label - directory.first
    directory.parent[mine] = other
    # Two components that chose the same edge: the smaller one stays a root, and
    # the edge is fixed by the other. Longer cycles cannot be, the order is total.
    back = directory.lookup_any(other)
    root = (back == label) & (label < other)
    directory.parent[mine[root]] = label[root]
    run.fixed.append(edges.take(~root))
    directory.jump(mine)
