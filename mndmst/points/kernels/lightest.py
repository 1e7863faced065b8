"""The lightest edges that leave components, from points of the tree."""

import numpy as np

from ...native.kernel import kernel
from .search import MIXED, NOBODY, limit_of, lower, room_of, search
from .tree import gap_between, load_point


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
    point, room = np.empty(tree.low.shape[1]), room_of(tree)
    leaf, end, count, within = np.int64(0), np.int64(0), 0, np.inf
    for i in range(first, last):
        place = asked[i]
        if place >= end:
            leaf = _leaf_of(tree, place)
            end = tree.end[leaf]
            count, within = _list_near(tree, components, leaf, room[3])
        component = components.of_place[place]
        # Another thread may have put a larger bound in the place of that for the list.
        others[i], weight[i] = place, min(components.bound[component], within)
        if count:
            load_point(tree, leaf, place, point)
            aim = component, MIXED, weight[i]
            asker = components.cores[place], tree.rows[place]
            found = search(tree, components, asker, point, aim, room, count)
            weight[i] = found[1]
            if found[0] != NOBODY:
                others[i] = found[0]
                lower(components, component, weight[i])


@kernel
def _list_near(tree, components, leaf, starts):
    """List nodes that hold all points of others within the bound of a leaf's component.

    The root, within any bound, for a leaf of several components.

    Returns
    -------
    int
        How many they are.
    float
        The bound.
    """
    own = components.of_node[leaf]
    starts[0] = 0
    if own == MIXED:
        return 1, np.inf
    bound = components.bound[own]
    count, i = 1, 0
    while i < count:
        left = tree.left[starts[i]]
        if left < 0 or count == len(starts):
            i += 1
            continue
        one = _is_near(tree, components, leaf, left, bound)
        other = _is_near(tree, components, leaf, left + 1, bound)
        if one and other:
            starts[i], starts[count] = left, left + 1
            count += 1
        elif one or other:
            starts[i] = left if one else left + 1
        else:
            count -= 1
            starts[i] = starts[count]
    return count, bound


@kernel
def _is_near(tree, components, leaf, node, bound):
    """Return whether a node may have a point of others within the bound of a leaf."""
    if components.of_node[node] == components.of_node[leaf]:
        return False
    if components.least_reach[node] > bound:
        return False
    return gap_between(tree, leaf, node) < limit_of(tree, bound)


@kernel
def approach(tree, components, places, first, last):
    """Lower the bounds of components by walks from the places [first, last) of some."""
    point, room = np.empty(tree.low.shape[1]), room_of(tree)
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
        other, weight = search(tree, components, asker, point, aim, room, 1)
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
