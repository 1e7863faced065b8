"""The smallest vertex of every tree, known to all of its vertices."""

import numpy as np
from numba import njit

from .hooks import NUMBER
from .threads import Threads

# So many vertices are named by one thread, for others to know their trees' names.
NAMED_FIRST = 1024
SAMPLE = 1024


def tree_names(
    component: np.ndarray, parent: np.ndarray, threads: Threads
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest vertex of every vertex's tree, and of every tree.

    Parameters
    ----------
    component : ndarray of uint32, shape (vertices,)
        See `hooks.NUMBER`.
    parent : ndarray of uint32, shape (components,)
        The tree of each component, called after one of its components.

    Returns
    -------
    label : ndarray of uint32, shape (vertices,)
    smallest : ndarray of uint32, shape (components,)
        Of those that trees are called after.
    """
    label = np.empty(len(component), np.uint32)
    smallest = np.full(len(parent), len(component), np.uint32)
    state = component, parent, smallest
    ranges = threads.ranges(len(component))
    _name(*state, 0, min(NAMED_FIRST, len(component)), label)
    threads.map(lambda begin, end: _name(*state, begin, end, label), ranges)
    if len(ranges) > 1:
        sample = component[:: 1 + len(component) // SAMPLE] & NUMBER
        trees, counts = np.unique(parent[sample], return_counts=True)
        known = smallest[trees[counts.argmax()]]
        lowered = threads.map(
            lambda begin, end: _name_rest(*state, known, begin, end, label), ranges
        )
        if any(lowered):
            _name(*state, 0, len(component), label)
    return label, smallest


@njit(nogil=True, cache=True)
def _name(component, parent, smallest, begin, end, label):
    """Label the vertices in [begin, end) with the smallest vertex of their tree.

    `smallest` holds for each component the smallest vertex seen. Vertices should be
    seen in ascending order, or have been seen before.
    """
    for vertex in range(np.uint64(begin), np.uint64(end)):
        tree = parent[component[vertex] & NUMBER]
        if vertex < smallest[tree]:
            smallest[tree] = vertex
        label[vertex] = smallest[tree]


@njit(nogil=True, cache=True)
def _name_rest(component, parent, smallest, known, begin, end, label):
    """Label once more what is not called `known`, the name of any tree.

    By now threads have seen all vertices, but not in order; and two of them that saw a
    tree at once may have left the name of the later one. Returns whether that is so.
    """
    lowered = False
    for vertex in range(np.uint64(begin), np.uint64(end)):
        if label[vertex] == known:
            lowered |= vertex < known
            continue
        tree = parent[component[vertex] & NUMBER]
        if vertex < smallest[tree]:
            smallest[tree] = vertex
            lowered = True
        label[vertex] = smallest[tree]
    return lowered
