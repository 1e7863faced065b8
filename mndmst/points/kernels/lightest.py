"""The lightest edge that leaves a component, and what a search for it has to visit."""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from .tree import CHUNK, any_within, box_distance, chunk_distances, load_point

MIXED = np.uint32(0xFFFFFFFF)  # a node with points of several components
LARGEST = np.finfo(np.float64).max


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
    """Return a reduced distance that no point within a distance exceeds.

    It is finite, also where the distance is not.
    """
    limit = weight if tree.manhattan else weight * weight * (1 + 1e-15) + 1e-322
    return min(limit, LARGEST)


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
    place, other : ndarray of uint32
        The ends; `other` is the place itself where there is none within the bound.
    weight : ndarray of float64
        Of the lightest edge of the place that leaves its component; or the bound, which all
        of them exceed.
    """
    point, out = np.empty(tree.low.shape[1]), np.empty(CHUNK)
    nodes, bounds = np.empty(tree.depth + 1, np.int64), np.empty(tree.depth + 1)
    begin, end = tree.begin[tree.leaves[first]], tree.end[tree.leaves[last - 1]]
    count = 0
    for place in range(begin, end):
        count += asked[place]
    places, other = np.empty(count, np.uint32), np.empty(count, np.uint32)
    weight = np.empty(count)
    found = 0
    for number in range(first, last):
        leaf = tree.leaves[number]
        for here in range(tree.begin[leaf], tree.end[leaf]):
            if not asked[here]:
                continue
            load_point(tree, leaf, here, point)
            places[found] = here
            stack = (nodes, bounds, out)
            other[found], weight[found] = _search(tree, components, here, point, stack)
            found += 1
    return places, other, weight


@kernel
def _search(tree, components, here, point, stack):
    """Return the lightest edge of a point that leaves its component: end and weight."""
    nodes, bounds, out = stack
    own, core = components.of_place[here], components.cores[here]
    row = tree.rows[here]
    weight = components.bound[own]
    limit, found = limit_of(tree, weight), np.uint32(here)
    nodes[0], bounds[0] = 0, 0.0
    top = 1
    while top:
        top -= 1
        node, bound = nodes[top], bounds[top]
        while bound <= limit and tree.left[node] >= 0:
            near = tree.left[node]
            far = near + 1
            bound = _least(tree, components, near, own, point, weight)
            beyond = _least(tree, components, far, own, point, weight)
            if beyond < bound:
                near, far, bound, beyond = far, near, beyond, bound
            if beyond <= limit:
                nodes[top], bounds[top] = far, beyond
                top += 1
            node = near
        if not bound <= limit or components.of_node[node] == own:
            continue
        for begin in range(tree.begin[node], tree.end[node], CHUNK):
            count = chunk_distances(tree, node, begin, point, out)
            if not any_within(out, count, limit):
                continue
            for j in range(count):
                if out[j] > limit or components.of_place[begin + j] == own:
                    continue
                distance = out[j] if tree.manhattan else np.sqrt(out[j])
                distance = max(distance, core, components.cores[begin + j])
                if distance > weight:
                    continue
                if distance == weight and found != here and not _precedes(tree.rows, row, begin + j, found):
                    continue
                weight, found = distance, np.uint32(begin + j)
                limit = limit_of(tree, weight)
    if found == here:
        return found, weight
    if weight < components.bound[own]:
        components.bound[own] = weight
    return found, weight


@kernel
def _least(tree, components, node, own, point, weight):
    """Return a bound of the reduced distance to what may count in a node, or infinity."""
    if components.of_node[node] == own or components.least_core[node] > weight:
        return np.inf
    return box_distance(tree, node, point)


@kernel
def _precedes(rows, row, one, other):
    """Return whether the edge from a row to one place comes before that to another."""
    x, y = rows[one], rows[other]
    a, b = min(x, row), min(y, row)
    return a < b or (a == b and max(x, row) < max(y, row))
