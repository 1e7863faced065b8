"""The nearest neighbours of every point."""

import numpy as np

from ...native.kernel import kernel
from .tree import CHUNK, any_within, box_distance, chunk_distances, load_point


@kernel
def nearest(tree, first, last, distances, places):
    """Find the nearest other points of each point in the leaves [first, last).

    Parameters
    ----------
    tree : PointTree
    distances : ndarray of float64, shape (points, k)
        Filled with the reduced distances, ascending.
    places : ndarray of uint32, shape (points, k)
        Filled with where these neighbours are.
    """
    point, out = np.empty(tree.low.shape[1]), np.empty(CHUNK)
    nodes, bounds = np.empty(tree.depth + 1, np.int64), np.empty(tree.depth + 1)
    k = distances.shape[1]
    for number in range(first, last):
        own = tree.leaves[number]
        for place in range(tree.begin[own], tree.end[own]):
            load_point(tree, own, place, point)
            for i in range(k):
                distances[place, i] = np.inf
            worst = np.inf
            nodes[0], bounds[0] = 0, 0.0
            top = 1
            while top:
                top -= 1
                node, bound = nodes[top], bounds[top]
                while bound < worst and tree.left[node] >= 0:
                    near = tree.left[node]
                    far = near + 1
                    bound, beyond = box_distance(tree, near, point), box_distance(tree, far, point)
                    if beyond < bound:
                        near, far = far, near
                        bound, beyond = beyond, bound
                    if beyond < worst:
                        nodes[top], bounds[top] = far, beyond
                        top += 1
                    node = near
                if bound >= worst:
                    continue
                for begin in range(tree.begin[node], tree.end[node], CHUNK):
                    count = chunk_distances(tree, node, begin, point, out)
                    if not any_within(out, count, worst):
                        continue
                    for j in range(count):
                        if out[j] < worst and begin + j != place:
                            _insert(distances, places, place, out[j], begin + j)
                            worst = distances[place, k - 1]


@kernel
def _insert(distances, places, place, distance, other):
    i = distances.shape[1] - 1
    while i > 0 and distances[place, i - 1] > distance:
        distances[place, i] = distances[place, i - 1]
        places[place, i] = places[place, i - 1]
        i -= 1
    distances[place, i] = distance
    places[place, i] = other
