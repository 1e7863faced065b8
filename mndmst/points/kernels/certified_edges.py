"""Certified edges: first listed edges of components that no unlisted edge precedes."""

import numpy as np

from ...kernels.kruskal import unite
from ...native.kernel import kernel
from .boruvka_steps import NO_EDGE


@kernel
def first_listed(found, rows, of_position, active, first):
    """Find the first listed edge, in the order, that leaves each component.

    Only the lists of its own points count. An edge is an index in the flat lists.

    Parameters
    ----------
    found : Neighbours
    active : ndarray of uint32
        The positions whose lists may leave their component; the positions whose
        lists do leave it move to the front.
    first : ndarray of int64, shape (components,)
        Becomes an edge, or NO_EDGE.

    Returns
    -------
    int
        Number of positions in front.
    """
    first[:] = NO_EDGE
    bound = np.full(len(first), np.inf)
    count, k = 0, found.weight.shape[1]
    for position in active:
        own = of_position[position]
        leaves = (
            found.cores[position] > bound[own]
        )  # perhaps; none of its edges is first
        if not leaves:
            for j in range(k):
                other = found.positions[position, j]
                if other >= len(rows) or of_position[other] == own:
                    continue
                leaves = True
                weight, edge = found.weight[position, j], position * k + j
                if weight < bound[own] or (
                    weight == bound[own]
                    and (
                        first[own] == NO_EDGE
                        or _precedes(found, rows, edge, first[own])
                    )
                ):
                    first[own], bound[own] = edge, weight
        if leaves:
            active[count] = position
            count += 1
    return count


@kernel
def _precedes(found, rows, one, other):
    """Return whether one listed edge comes before another of its weight."""
    k = found.weight.shape[1]
    a, b = rows[one // k], rows[found.positions[one // k, one % k]]
    c, d = rows[other // k], rows[found.positions[other // k, other % k]]
    low, high = min(a, b), min(c, d)
    return low < high or (low == high and max(a, b) < max(c, d))


@kernel
def join_listed(found, reach, of_position, first, parent):
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
    least = np.full(len(first), np.inf)
    for position in range(len(reach)):
        own = of_position[position]
        least[own] = min(least[own], reach[position])
    a, b = np.empty(len(first), np.uint32), np.empty(len(first), np.uint32)
    weight = np.empty(len(first))
    count = 0
    for component in range(len(first)):
        edge = first[component]
        if edge == NO_EDGE:
            continue
        position, j = edge // k, edge % k
        if found.weight[position, j] < least[component]:
            a[count], b[count] = position, found.positions[position, j]
            weight[count] = found.weight[position, j]
            count += unite(parent, np.uint64(a[count]), np.uint64(b[count]))
    return a[:count], b[:count], weight[:count]


@kernel
def list_leaving(found, of_position, active):
    """Return the listed edges that leave components, as `list_edges` does.

    Parameters
    ----------
    active : ndarray of uint32
        The positions that have some.
    """
    count, k = 0, found.weight.shape[1]
    a, b = np.empty(len(active) * k, np.uint32), np.empty(len(active) * k, np.uint32)
    weight = np.empty(len(active) * k)
    for position in active:
        for j in range(k):
            other = found.positions[position, j]
            if other < len(of_position) and of_position[other] != of_position[position]:
                a[count], b[count] = position, other
                weight[count] = found.weight[position, j]
                count += 1
    return a[:count], b[:count], weight[:count]
