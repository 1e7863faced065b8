"""The lightest edge that leaves a component, and what a search for it has to visit."""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from .tree import (
    CHUNK,
    LARGEST,
    any_below,
    distances_to_chunk,
    gap_between,
    gap_to_point,
    load_point,
)

MIXED = np.uint32(0xFFFFFFFF)  # a node with points of several components
NOBODY = MIXED  # no place


class Components(NamedTuple):
    """The components, in terms of places and of nodes.

    Attributes
    ----------
    of_place : ndarray of uint32, shape (points,)
    of_node : ndarray of uint32, shape (nodes,)
        MIXED where there are several.
    cores : ndarray of float64, shape (points,)
        Core distances; zeros for plain distances.
    least_core : ndarray of float64, shape (nodes,)
    bound : ndarray of float64, shape (components,)
        The weight of the lightest known edge that leaves each.
    """

    of_place: np.ndarray
    of_node: np.ndarray
    cores: np.ndarray
    least_core: np.ndarray
    bound: np.ndarray


@kernel
def limit_of(tree, weight):
    """Return a reduced distance above that of every point within a distance."""
    limit = weight * (1 + 1e-15) if tree.manhattan else weight * weight * (1 + 1e-15)
    return min(limit + 1e-322, LARGEST)


@kernel
def name_nodes(tree, components):
    """Note which component the points of each node are in."""
    of_node, of_place = components.of_node, components.of_place
    for node in range(len(tree.left) - 1, -1, -1):
        left = tree.left[node]
        if left >= 0:
            same = of_node[left] == of_node[left + 1]
            of_node[node] = of_node[left] if same else MIXED
        else:
            of_node[node] = of_place[tree.begin[node]]
            for place in range(tree.begin[node] + 1, tree.end[node]):
                if of_place[place] != of_node[node]:
                    of_node[node] = MIXED


@kernel
def find_least_cores(tree, cores, least_core):
    """Note the least core distance of the points of each node."""
    for node in range(len(tree.left) - 1, -1, -1):
        left = tree.left[node]
        if left >= 0:
            least_core[node] = min(least_core[left], least_core[left + 1])
        else:
            least_core[node] = np.inf
            for place in range(tree.begin[node], tree.end[node]):
                least_core[node] = min(least_core[node], cores[place])


@kernel
def lightest(tree, components, asked, first, last):
    """Find the lightest edges that leave components, of points in leaves [first, last).

    Bounds are lowered by what is found; other threads may overwrite them by what they
    have found, which is as true.

    Parameters
    ----------
    asked : ndarray of bool, shape (points,)
        Which points to search from.

    Returns
    -------
    places, others : ndarray of uint32
        The ends; both are the point itself where there is none within the bound.
    weight : ndarray of float64
        Of the lightest edge of the point that leaves its component; or the bound, which
        all of them exceed.
    """
    point, out = np.empty(tree.low.shape[1]), np.empty(CHUNK)
    room = np.empty(tree.depth + 1, np.int64), np.empty(tree.depth + 1), out
    count = 0
    for place in range(tree.begin[tree.leaves[first]], tree.end[tree.leaves[last - 1]]):
        count += asked[place]
    places, others = np.empty(count, np.uint32), np.empty(count, np.uint32)
    weight = np.empty(count)
    used = 0
    for number in range(first, last):
        leaf = tree.leaves[number]
        near, looked = True, False
        for place in range(tree.begin[leaf], tree.end[leaf]):
            if not asked[place]:
                continue
            if not looked:
                near, looked = _is_near(tree, components, leaf, room), True
            places[used], others[used] = place, place
            weight[used] = components.bound[components.of_place[place]]
            if near:
                load_point(tree, leaf, place, point)
                component = components.of_place[place]
                aim = component, MIXED, components.bound[component]
                asker = components.cores[place], tree.rows[place]
                found = search(tree, components, asker, point, aim, room)
                weight[used] = found[1]
                if found[0] != NOBODY:
                    others[used] = found[0]
                    lower(components, component, weight[used])
            used += 1
    return places, others, weight


@kernel
def _is_near(tree, components, leaf, room):
    """Return whether another component's box is within the bound of a leaf's own.

    The answer is yes for a leaf of several components.
    """
    own = components.of_node[leaf]
    if own == MIXED:
        return True
    limit = limit_of(tree, components.bound[own])
    nodes, _, _ = room
    nodes[0], top = 0, 1
    while top:
        top -= 1
        node = nodes[top]
        if components.of_node[node] != own and gap_between(tree, leaf, node) < limit:
            if tree.left[node] < 0:
                return True
            nodes[top], nodes[top + 1] = tree.left[node], tree.left[node] + 1
            top += 2
    return False


@kernel
def search(tree, components, asker, point, aim, room):
    """Return the lightest edge of a point that leaves its component: end and weight.

    The end is NOBODY if there is none within the bound.

    Parameters
    ----------
    asker : tuple
        The point's core distance, and its number.
    aim : tuple
        The point's component, the one that is searched or MIXED for all others, and
        the bound.
    """
    nodes, gaps, out = room
    of_place, of_node = components.of_place, components.of_node
    cores, least_core = components.cores, components.least_core
    own, wanted, weight = aim
    core, row = asker
    found, limit = NOBODY, limit_of(tree, weight)
    nodes[0], gaps[0], top = 0, 0.0, 1
    while top:
        top -= 1
        node, gap = nodes[top], gaps[top]
        while gap < limit and tree.left[node] >= 0:
            node = tree.left[node]
            far = node + 1
            gap = beyond = np.inf
            if of_node[node] != own and least_core[node] <= weight:
                gap = gap_to_point(tree, node, point)
            if of_node[far] != own and least_core[far] <= weight:
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
                if out[j] >= limit or of_place[place] == own:
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
def approach(tree, components, place):
    """Lower the bound of a point's component by a walk to and fro across the gap.

    The nearest point of another component, the nearest to that one of the own, and so
    on, until they are nearest to each other.
    """
    point = np.empty(tree.low.shape[1])
    out = np.empty(CHUNK)
    room = np.empty(tree.depth + 1, np.int64), np.empty(tree.depth + 1), out
    own, wanted, here = components.of_place[place], MIXED, np.uint32(place)
    side = own
    while True:
        load_point(tree, _leaf_of(tree, here), here, point)
        aim = side, wanted, components.bound[own]
        asker = components.cores[here], tree.rows[here]
        other, weight = search(tree, components, asker, point, aim, room)
        if other == NOBODY or not weight < components.bound[own]:
            break
        lower(components, own, weight)
        here, side = other, components.of_place[other]
        wanted = MIXED if side == own else own


@kernel
def _leaf_of(tree, place):
    """Return the leaf that has a place."""
    low, high = 0, len(tree.leaves)
    while high - low > 1:
        middle = (low + high) // 2
        if tree.begin[tree.leaves[middle]] <= place:
            low = middle
        else:
            high = middle
    return tree.leaves[low]


@kernel
def _precedes(rows, row, one, other):
    """Return whether the edge from a row to one place comes before that to another."""
    x, y = rows[one], rows[other]
    a, b = min(x, row), min(y, row)
    return a < b or (a == b and max(x, row) < max(y, row))
