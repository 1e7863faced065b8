"""Bounds of edges that no search has found, from the paths of an old forest."""

from typing import NamedTuple

import numpy as np

from ...kernels.kruskal import find
from ...native.kernel import kernel


class OldEdges(NamedTuple):
    """Edges of the old forest between vertices, by ascending weight.

    A vertex stands for points. Old paths between points of different vertices consist
    of these edges.
    """

    a: np.ndarray  # uint32
    b: np.ndarray  # uint32
    weight: np.ndarray  # float64: not more than before the change
    is_lost: np.ndarray  # bool: no listed edge has these ends and this weight


@kernel
def bound_unlisted_edges(old, of_vertex, bound):
    """Write for each vertex a lower bound of its unlisted edges to other components.

    `of_vertex` has the component of each vertex. An edge that was not in the old forest
    follows all edges of the old path between its ends. That path leaves the component
    either along a listed edge, which then precedes the unlisted one, or along a lost
    edge. So the bound is the least, over the lost edges that leave the component, of
    the largest weight on the path to it and of its own; infinite without a path.

    A node of a binary tree is a vertex or a set of vertices that old edges of up to its
    height connect inside a component.
    """
    vertices = len(of_vertex)
    above = np.arange(2 * vertices).astype(np.uint32)
    height, least = np.full(2 * vertices, -np.inf), np.full(2 * vertices, np.inf)
    parent, node = above[:vertices].copy(), above[:vertices].copy()
    nodes = vertices
    for i in range(len(old.weight)):
        a, b, weight = old.a[i], old.b[i], old.weight[i]
        if of_vertex[a] == of_vertex[b]:
            one, other = find(parent, np.uint64(a)), find(parent, np.uint64(b))
            if one != other:
                above[node[one]] = above[node[other]] = nodes
                height[nodes] = weight
                lower, upper = min(one, other), max(one, other)
                parent[upper], node[lower] = lower, nodes
                nodes += 1
        elif old.is_lost[i]:
            least[a], least[b] = min(least[a], weight), min(least[b], weight)
    for i in range(nodes):
        least[above[i]] = min(least[above[i]], least[i])
    for i in range(nodes - 1, -1, -1):
        least[i] = max(least[i], height[i])
        if above[i] != i:
            least[i] = min(least[i], least[above[i]])
    bound[:] = least[:vertices]


@kernel
def raise_bounds(old, of_vertex, weight, lower_bound, bound):
    """Raise the lower bounds of vertices by `bound_unlisted_edges`.

    They rise up to the `weight` of the component's first edge. `bound` becomes infinite
    for vertices whose unlisted edges are all heavier, and the lower bound of others.
    """
    bound_unlisted_edges(old, of_vertex, bound)
    for vertex in range(len(of_vertex)):
        first = weight[of_vertex[vertex]]
        own = max(lower_bound[vertex], min(bound[vertex], first))
        lower_bound[vertex] = own
        bound[vertex] = np.inf if bound[vertex] > first else own
