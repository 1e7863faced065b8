"""The listed edges of components: the first ones, and which of them are certain."""

import numpy as np

from ...kernels.kruskal import unite
from ...native.kernel import kernel
from .edges import NONE


@kernel
def first_listed(found, rows, of_place, active, best):
    """Find the first listed edge, in the order, that leaves each component.

    Only the lists of its own points count. An edge is a position in the lists.

    Parameters
    ----------
    found : Neighbours
    active : ndarray of uint32
        The places whose lists may leave their component; those that do come to the
        front.
    best : ndarray of int64, shape (components,)
        Becomes an edge, or NONE.

    Returns
    -------
    int
        How many places are in front.
    """
    best[:] = NONE
    bound = np.full(len(best), np.inf)
    count, k = 0, found.weight.shape[1]
    for place in active:
        own = of_place[place]
        leaves = found.cores[place] > bound[own]  # it may; no edge of it is the first
        if not leaves:
            for j in range(k):
                other = found.places[place, j]
                if other >= len(rows) or of_place[other] == own:
                    continue
                leaves = True
                weight, edge = found.weight[place, j], place * k + j
                if weight < bound[own] or (
                    weight == bound[own]
                    and (best[own] == NONE or _precedes(found, rows, edge, best[own]))
                ):
                    best[own], bound[own] = edge, weight
        if leaves:
            active[count] = place
            count += 1
    return count


@kernel
def _precedes(found, rows, one, other):
    """Return whether one listed edge comes before another of its weight."""
    k = found.weight.shape[1]
    a, b = rows[one // k], rows[found.places[one // k, one % k]]
    c, d = rows[other // k], rows[found.places[other // k, other % k]]
    low, high = min(a, b), min(c, d)
    return low < high or (low == high and max(a, b) < max(c, d))


@kernel
def join_certain(found, reach, of_place, best, parent):
    """Join components along their first listed edges where these are certain.

    None of their points may have an edge as light that is not listed.

    Parameters
    ----------
    reach : ndarray of float64
        For each point the least weight that an edge of it may have which is not listed.

    Returns
    -------
    a, b : ndarray of uint32
    weight : ndarray of float64
    """
    k = found.weight.shape[1]
    least = np.full(len(best), np.inf)
    for place in range(len(reach)):
        own = of_place[place]
        least[own] = min(least[own], reach[place])
    a, b = np.empty(len(best), np.uint32), np.empty(len(best), np.uint32)
    weight = np.empty(len(best))
    count = 0
    for component in range(len(best)):
        edge = best[component]
        if edge == NONE:
            continue
        place, j = edge // k, edge % k
        if found.weight[place, j] < least[component]:
            a[count], b[count] = place, found.places[place, j]
            weight[count] = found.weight[place, j]
            count += unite(parent, np.uint64(a[count]), np.uint64(b[count]))
    return a[:count], b[:count], weight[:count]


@kernel
def list_leaving(found, of_place, active):
    """Return the listed edges that leave components, as `list_edges` does.

    Parameters
    ----------
    active : ndarray of uint32
        The places that have some.
    """
    count, k = 0, found.weight.shape[1]
    a, b = np.empty(len(active) * k, np.uint32), np.empty(len(active) * k, np.uint32)
    weight = np.empty(len(active) * k)
    for place in active:
        for j in range(k):
            other = found.places[place, j]
            if other < len(of_place) and of_place[other] != of_place[place]:
                a[count], b[count] = place, other
                weight[count] = found.weight[place, j]
                count += 1
    return a[:count], b[:count], weight[:count]
