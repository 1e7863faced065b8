"""The steps of a Borůvka round over components of points."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...kernels.kruskal import unite
from ...native.kernel import kernel

NO_EDGE = -1


class PointEdges(NamedTuple):
    """Edges between vertices: positions of points, or components.

    Attributes
    ----------
    a, b : ndarray of uint32
    weight : ndarray of float64
    key : ndarray of uint64
        The users' numbers of the two points, the smaller in the upper half: the order
        of edges of one weight.
    """

    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    key: np.ndarray

    def take(self, chosen: np.ndarray | slice) -> "PointEdges":
        """Return the chosen edges."""
        return PointEdges(*(column[chosen] for column in self))

    @classmethod
    def concatenate(cls, parts: Sequence["PointEdges"]) -> "PointEdges":
        """Return the edges of all parts, of which there is at least one."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@kernel
def name_components(parent, of_vertex):
    """Number the components 0, 1, ... by their first vertices; return their number."""
    count = np.uint32(0)
    for vertex in range(len(parent)):
        above = parent[vertex]  # never larger
        if above == vertex:
            of_vertex[vertex] = count
            count += np.uint32(1)
        else:
            of_vertex[vertex] = of_vertex[above]
    return np.int64(count)


@kernel
def keep_leaving(edges, of_vertex):
    """Move the edges that leave a component to the front; return their number."""
    count = 0
    for i in range(len(edges.a)):
        if of_vertex[edges.a[i]] != of_vertex[edges.b[i]]:
            edges.a[count], edges.b[count] = edges.a[i], edges.b[i]
            edges.weight[count], edges.key[count] = edges.weight[i], edges.key[i]
            count += 1
    return count


@kernel
def find_first(edges, of_vertex, first):
    """Find the first edge, in the order, that leaves each component.

    Parameters
    ----------
    edges : PointEdges
    first : ndarray of int64, shape (components,)
        Becomes an index in `edges`, or NO_EDGE.
    """
    first[:] = NO_EDGE
    for i in range(len(edges.weight)):
        x, y = of_vertex[edges.a[i]], of_vertex[edges.b[i]]
        if x != y:
            for component in (x, y):
                j = first[component]
                if (
                    j == NO_EDGE
                    or edges.weight[i] < edges.weight[j]
                    or (
                        edges.weight[i] == edges.weight[j]
                        and edges.key[i] < edges.key[j]
                    )
                ):
                    first[component] = i


@kernel
def count_uncertain(components, reach, counts):
    """Count the points of each component that may have an edge within its bound."""
    counts[:] = 0
    for position in range(len(reach)):
        component = components.of_place[position]
        counts[component] += _is_uncertain(components, reach, position)


@kernel
def _is_uncertain(components, reach, position):
    """Return whether a point may have an edge within its component's bound.

    Never with an infinite reach, even if no edge of the component is known.
    """
    bound = components.bound[components.of_place[position]]
    return (reach[position] <= bound) & (reach[position] < np.inf)


@kernel
def list_uncertain(components, reach, taking_part, queries):
    """List the positions of the uncertain points of the components that take part."""
    count = 0
    for position in range(len(reach)):
        component = components.of_place[position]
        if taking_part[component] & _is_uncertain(components, reach, position):
            queries[count] = position
            count += 1


@kernel
def join(a, b, taking_part, parent):
    """Unite the vertices a[i] and b[i] for each i that takes part.

    Returns
    -------
    ndarray of int64
        The indices i whose vertices were in different components.
    """
    joined = np.empty(len(a), np.int64)
    count = 0
    for i in range(len(a)):
        if taking_part[i]:
            joined[count] = i
            count += unite(parent, np.uint64(a[i]), np.uint64(b[i]))
    return joined[:count]
