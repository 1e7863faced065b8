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
def limit_of(tree, weight):
    """Return a reduced distance above that of every point within a distance."""
    limit = weight * (1 + 1e-15) if tree.manhattan else weight * weight * (1 + 1e-15)
    return min(limit + 1e-322, LARGEST)


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
def lightest(tree, components, asked, others, weight, first, last):
    """Find the lightest edges that leave components, of the points [first, last) asked.

    Bounds are lowered by what is found; other threads may overwrite them by what they
    have found, which is as true.

    Parameters
    ----------
    asked : ndarray of uint32
        The places to search from, ascending.
    others : ndarray of uint32
        Becomes the far ends; the place itself where there is none within the bound.
    weight : ndarray of float64
        Becomes that of the lightest edge of each that leaves its component; or the
        bound, which all of them exceed.
    """
    point, out = np.empty(tree.low.shape[1]), np.empty(CHUNK)
    room = np.empty(tree.depth + 1, np.int64), np.empty(tree.depth + 1), out
    leaf, near, end = np.int64(0), False, np.int64(0)
    for i in range(first, last):
        place = asked[i]
        if place >= end:
            leaf = _leaf_of(tree, place)
            near, end = _is_near(tree, components, leaf, room), tree.end[leaf]
        component = components.of_place[place]
        others[i], weight[i] = place, components.bound[component]
        if near:
            load_point(tree, leaf, place, point)
            aim = component, MIXED, components.bound[component]
            asker = components.cores[place], tree.rows[place]
            found = search(tree, components, asker, point, aim, room)
            weight[i] = found[1]
            if found[0] != NOBODY:
                others[i] = found[0]
                lower(components, component, weight[i])


@kernel
def _is_near(tree, components, leaf, room):
    """Return whether another component's box is within the bound of a leaf's own.

    The answer is yes for a leaf of several components.
    """
    own = components.of_node[leaf]
    if own == MIXED:
        return True
    limit = limit_of(tree, components.bound[own])
    least_reach, bound = components.least_reach, components.bound[own]
    nodes, _, _ = room
    nodes[0], top = 0, 1
    while top:
        top -= 1
        node = nodes[top]
        if components.of_node[node] == own or least_reach[node] > bound:
            continue
        if gap_between(tree, leaf, node) < limit:
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
    cores = components.cores
    reach, least_reach = components.reach, components.least_reach
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
def approach(tree, components, places, first, last):
    """Lower the bounds of components by walks from the places [first, last) of some."""
    point = np.empty(tree.low.shape[1])
    out = np.empty(CHUNK)
    room = np.empty(tree.depth + 1, np.int64), np.empty(tree.depth + 1), out
    for i in range(first, last):
        _walk(tree, components, places[i], point, room)


@kernel
def _walk(tree, components, place, point, room):
    """Lower the bound of a point's component by a walk to and fro across the gap.

    The nearest point of another component, the nearest to that one of the own, and so
    on, until they are nearest to each other.
    """
    own, wanted, here = components.of_place[place], MIXED, place
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
