"""The steps of a Borůvka round over components of points."""

import numpy as np

from ...kernels.kruskal import unite
from ...native.kernel import kernel
from .edges import NONE


@kernel
def name_components(parent, of_place):
    """Number the components 0, 1, ... by their first places; return how many."""
    count = np.uint32(0)
    for place in range(len(parent)):
        above = parent[place]  # never larger
        if above == place:
            of_place[place] = count
            count += np.uint32(1)
        else:
            of_place[place] = of_place[above]
    return np.int64(count)


@kernel
def keep_leaving(edges, of_place):
    """Move the edges that leave a component to the front; return how many there are."""
    count = 0
    for i in range(len(edges.a)):
        if of_place[edges.a[i]] != of_place[edges.b[i]]:
            edges.a[count], edges.b[count] = edges.a[i], edges.b[i]
            edges.weight[count] = edges.weight[i]
            count += 1
    return count


@kernel
def find_best(edges, rows, of_place, best):
    """Find the first edge, in the order, that leaves each component.

    Parameters
    ----------
    edges : Edges
    best : ndarray of int64, shape (components,)
        Becomes a position in `edges`, or NONE.
    """
    best[:] = NONE
    for i in range(len(edges.weight)):
        x, y = of_place[edges.a[i]], of_place[edges.b[i]]
        if x != y:
            for component in (x, y):
                other = best[component]
                if other == NONE or precedes(edges, rows, i, other):
                    best[component] = i


@kernel
def precedes(edges, rows, i, j):
    """Return whether edge i comes before edge j in the order."""
    if edges.weight[i] != edges.weight[j]:
        return edges.weight[i] < edges.weight[j]
    a, b = rows[edges.a[i]], rows[edges.b[i]]
    c, d = rows[edges.a[j]], rows[edges.b[j]]
    if min(a, b) != min(c, d):
        return min(a, b) < min(c, d)
    return max(a, b) < max(c, d)


@kernel
def count_uncertain(components, reach, counts):
    """Count the points of each component that may have an edge within its bound."""
    counts[:] = 0
    for place in range(len(reach)):
        component = components.of_place[place]
        counts[component] += _is_uncertain(components, reach, place)


@kernel
def _is_uncertain(components, reach, place):
    """Return whether a point may have an edge within its component's bound.

    An infinite reach says no, also where no edge of the component is known.
    """
    bound = components.bound[components.of_place[place]]
    return (reach[place] <= bound) & (reach[place] < np.inf)


@kernel
def ask(components, reach, taking_part, asked):
    """Note the places of the uncertain points of the components that take part."""
    count = 0
    for place in range(len(reach)):
        component = components.of_place[place]
        if taking_part[component] & _is_uncertain(components, reach, place):
            asked[count] = place
            count += 1


@kernel
def join(edges, best, taking_part, parent):
    """Join the components that take part along their best edges.

    Returns
    -------
    ndarray of int64
        The positions of the edges that have joined two components.
    """
    joined = np.empty(len(best), np.int64)
    count = 0
    for component in range(len(best)):
        edge = best[component]
        if taking_part[component] and edge != NONE:
            joined[count] = edge
            count += unite(parent, np.uint64(edges.a[edge]), np.uint64(edges.b[edge]))
    return joined[:count]
