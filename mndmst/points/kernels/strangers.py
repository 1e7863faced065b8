"""Searches from points that are not in the tree: those of other ranks."""

from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel
from .nearest import list_nearest
from .search import MIXED, NOBODY, lower, room_of, search
from .tree import CHUNK


class Strangers(NamedTuple):
    """Points that look for the lightest edge that leaves their component.

    Attributes
    ----------
    points : ndarray of float64, shape (points, dimensions)
    component : ndarray of uint32
    core : ndarray of float64
    row : ndarray of uint32
        Their numbers.
    bound : ndarray of float64
        The weight that no edge they look for exceeds.
    """

    points: np.ndarray
    component: np.ndarray
    core: np.ndarray
    row: np.ndarray
    bound: np.ndarray


@kernel
def nearest_to(tree, points, distances, places, first, last):
    """Find the points of a tree that are nearest to [first, last) of others.

    Parameters
    ----------
    points : ndarray of float64, shape (others, dimensions)
    distances : ndarray of float64, shape (others, k)
        Reduced distances: bounds, all of a row equal; becomes those found, ascending.
    places : ndarray of uint32, shape (others, k)
        NOBODY; becomes the places of what is found.
    """
    point, out = np.empty(tree.low.shape[1]), np.empty(CHUNK)
    room = np.empty(tree.depth + 1, np.int64), np.empty(tree.depth + 1), out
    for number in range(first, last):
        for d in range(len(point)):
            point[d] = points[number, d]
        list_nearest(tree, point, -1, (distances, places), number, room)


@kernel
def lightest_to(tree, components, strangers, others, first, last):
    """Find the lightest edges of strangers [first, last) that leave their components.

    Parameters
    ----------
    components : Components
        Their bounds are lowered by what is found, as in `lightest`.
    strangers : Strangers
        Each bound becomes the weight that is found; or one that all edges of the
        stranger to points of this tree exceed.
    others : ndarray of uint32
        Becomes the places of the far ends, or NOBODY.
    """
    point, room = np.empty(tree.low.shape[1]), room_of(tree)
    for number in range(first, last):
        for d in range(len(point)):
            point[d] = strangers.points[number, d]
        component = strangers.component[number]
        bound = min(strangers.bound[number], components.bound[component])
        asker = strangers.core[number], strangers.row[number]
        aim = component, MIXED, bound
        found, weight = search(tree, components, asker, point, aim, room, 1)
        others[number], strangers.bound[number] = found, weight
        if found != NOBODY:
            lower(components, component, weight)
