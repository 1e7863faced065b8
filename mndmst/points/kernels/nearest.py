"""The nearest neighbours of every point."""

import numpy as np

from ...native.kernel import kernel
from .tree import (
    CHUNK,
    LARGEST,
    any_below,
    distances_to_chunk,
    gap_to_point,
    load_point,
)


@kernel
def nearest(tree, distances, places, first, last):
    """Find the nearest other points of each point in the leaves [first, last).

    It is one long function, as is that of `lightest`: steps apart, each of which counts
    references to the arrays of the tree, take twice as long.

    Parameters
    ----------
    tree : PointTree
    distances : ndarray of float64, shape (points, k)
        Filled with the reduced distances, ascending.
    places : ndarray of uint32, shape (points, k)
        Filled with where these neighbours are.
    """
    point, out = np.empty(tree.low.shape[1]), np.empty(CHUNK)
    room = np.empty(tree.depth + 1, np.int64), np.empty(tree.depth + 1), out
    for number in range(first, last):
        own = tree.leaves[number]
        for place in range(tree.begin[own], tree.end[own]):
            load_point(tree, own, place, point)
            for i in range(distances.shape[1]):
                distances[place, i] = LARGEST
            list_nearest(tree, point, place, (distances, places), place, room)


@kernel
def list_nearest(tree, point, own, lists, row, room):
    """Find the nearest points to one that are nearer than the last in its list.

    Parameters
    ----------
    own : int
        Its place in the tree, which is passed over; -1 if it is not there.
    lists : (ndarray, ndarray)
        The distances and places of the neighbours of all points; see `insert`.
    row : int
        Which row of the lists is this point's.
    room : (ndarray, ndarray, ndarray)
        For nodes and gaps, one more than the tree is deep, and for a chunk.
    """
    distances, places = lists
    nodes, gaps, out = room
    k = distances.shape[1]
    worst = distances[row, k - 1]
    nodes[0], gaps[0], top = 0, 0.0, 1
    while top:
        top -= 1
        node, gap = nodes[top], gaps[top]
        while gap < worst and tree.left[node] >= 0:
            node = tree.left[node]
            far = node + 1
            gap, beyond = (
                gap_to_point(tree, node, point),
                gap_to_point(tree, far, point),
            )
            if beyond < gap:
                node, far, gap, beyond = far, node, beyond, gap
            if beyond < worst:
                nodes[top], gaps[top] = far, beyond
                top += 1
        if gap >= worst:
            continue
        for begin in range(tree.begin[node], tree.end[node], CHUNK):
            count = distances_to_chunk(tree, node, begin, point, out)
            if not any_below(out, count, worst):
                if worst == 0:
                    break  # many points equal this one
                continue
            for j in range(count):
                if out[j] < worst and begin + j != own:
                    insert(distances, places, row, out[j], begin + j)
                    worst = distances[row, k - 1]


@kernel
def insert(distances, places, place, distance, other):
    """Put a neighbour in the list of a place, the furthest of which it replaces."""
    i = distances.shape[1] - 1
    while i > 0 and distances[place, i - 1] > distance:
        distances[place, i] = distances[place, i - 1]
        places[place, i] = places[place, i - 1]
        i -= 1
    distances[place, i] = distance
    places[place, i] = other
