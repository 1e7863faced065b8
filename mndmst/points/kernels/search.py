"""The lightest edge of a point that leaves its component, and what leads to it."""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from .tree import CHUNK, LARGEST, any_below, distances_to_chunk, gap_to_point

MIXED = np.uint32(0xFFFFFFFF)  # a node with points of several components
NOBODY = MIXED  # no place
STARTS = 32  # nodes that a search begins at, at most


class Components(NamedTuple):
    """The components, in terms of places and of nodes.

    Attributes
    ----------
    of_place : ndarray of uint32, shape (points,)
    of_node : ndarray of uint32, shape (nodes,)
        MIXED where there are several.
    cores : ndarray of float64, shape (points,)
        Core distances; zeros for plain distances.
    reach : ndarray of float64, shape (points,)
        No edge of a point that is looked for weighs less, from whichever end.
    least_reach : ndarray of float64, shape (nodes,)
    bound : ndarray of float64, shape (components,)
        The weight of the lightest known edge that leaves each.
    """

    of_place: np.ndarray
    of_node: np.ndarray
    cores: np.ndarray
    reach: np.ndarray
    least_reach: np.ndarray
    bound: np.ndarray


@kernel
def sum_up(tree, components):
    """Note which component the points of each node are in, and the least reach."""
    of_node, of_place = components.of_node, components.of_place
    reach, least_reach = components.reach, components.least_reach
    for node in range(len(tree.left) - 1, -1, -1):
        left = tree.left[node]
        if left >= 0:
            same = of_node[left] == of_node[left + 1]
            of_node[node] = of_node[left] if same else MIXED
            least_reach[node] = min(least_reach[left], least_reach[left + 1])
        else:
            of_node[node], least = of_place[tree.begin[node]], np.inf
            for place in range(tree.begin[node], tree.end[node]):
                if of_place[place] != of_node[node]:
                    of_node[node] = MIXED
                least = min(least, reach[place])
            least_reach[node] = least


@kernel
def limit_of(tree, weight):
    """Return a reduced distance above that of every point within a distance."""
    limit = weight * (1 + 1e-15) if tree.manhattan else weight * weight * (1 + 1e-15)
    return min(limit + 1e-322, LARGEST)


@kernel
def room_of(tree):
    """Return room for a search; it begins at the root."""
    most = tree.depth + 1 + STARTS
    starts = np.zeros(STARTS, np.int64)
    return np.empty(most, np.int64), np.empty(most), np.empty(CHUNK), starts


@kernel
def search(tree, components, asker, point, aim, room, count):
    """Return the lightest edge of a point that leaves its component: end and weight.

    The end is NOBODY if there is none within the bound.

    Parameters
    ----------
    asker : tuple
        The point's core distance, and its number.
    aim : tuple
        The point's component, the one that is searched or MIXED for all others, and
        the bound.
    room : (ndarray, ndarray, ndarray, ndarray)
        For nodes and gaps, for a chunk, and the nodes to search.
    count : int
        How many of these there are.
    """
    nodes, gaps, out, starts = room
    of_place, of_node = components.of_place, components.of_node
    cores = components.cores
    reach, least_reach = components.reach, components.least_reach
    own, wanted, weight = aim
    core, row = asker
    found, limit = NOBODY, limit_of(tree, weight)
    top = 0
    for i in range(count):
        gap = gap_to_point(tree, starts[i], point)
        if gap < limit:
            nodes[top], gaps[top] = starts[i], gap
            top += 1
    while top:
        top -= 1
        node, gap = nodes[top], gaps[top]
        while gap < limit and tree.left[node] >= 0:
            node = tree.left[node]
            far = node + 1
            gap = beyond = np.inf
            if of_node[node] != own and least_reach[node] <= weight:
                gap = gap_to_point(tree, node, point)
            if of_node[far] != own and least_reach[far] <= weight:
                beyond = gap_to_point(tree, far, point)
            if beyond < gap:
                node, far, gap, beyond = far, node, beyond, gap
            if beyond < limit:
                nodes[top], gaps[top] = far, beyond
                top += 1
        if gap >= limit or of_node[node] == own:
            continue
        if wanted != MIXED and of_node[node] != MIXED and of_node[node] != wanted:
            continue
        for begin in range(tree.begin[node], tree.end[node], CHUNK):
            count = distances_to_chunk(tree, node, begin, point, out)
            if not any_below(out, count, limit):
                continue
            for j in range(count):
                place = begin + j
                if out[j] >= limit or of_place[place] == own or reach[place] > weight:
                    continue
                if wanted != MIXED and of_place[place] != wanted:
                    continue
                distance = out[j] if tree.manhattan else np.sqrt(out[j])
                distance = max(distance, core, cores[place])
                if distance < weight or (
                    distance == weight
                    and (found == NOBODY or _precedes(tree.rows, row, place, found))
                ):
                    weight, found = distance, np.uint32(place)
                    limit = limit_of(tree, weight)
    return found, weight


@kernel
def lower(components, component, weight):
    """Lower the bound of a component to a weight."""
    if weight < components.bound[component]:
        components.bound[component] = weight


@kernel
def _precedes(rows, row, one, other):
    """Return whether the edge from a row to one place comes before that to another."""
    x, y = rows[one], rows[other]
    a, b = min(x, row), min(y, row)
    return a < b or (a == b and max(x, row) < max(y, row))
