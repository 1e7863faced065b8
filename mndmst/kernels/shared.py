"""Numbers of components in arrays that several processes fill.

Components that may have edges come first, those that are finished behind: they are not
looked at any more, however many they are.
"""

import numpy as np

from ..native.kernel import kernel
from .hooks import NUMBER, ROOT
from .intrinsics import choose


@kernel
def count_isolated(hook, begin, end, idle):
    """Return how many in [begin, end) hook to themselves: they have no edge.

    But for an idle one, which has not been asked.
    """
    count = 0
    for vertex in range(np.uint64(begin), np.uint64(end)):
        count += (hook[vertex] == vertex) & (vertex != np.uint64(idle))
    return count


@kernel
def number_roots_apart(parent, hook, begin, end, idle, number, isolated):
    """Give the roots in [begin, end) consecutive numbers, those without edges others.

    As `hooks.number_roots`, from `number` and `isolated` on; see `count_isolated`.
    """
    for vertex in range(np.uint64(begin), np.uint64(end)):
        root = (parent[vertex] & ROOT) != 0
        alone = (hook[vertex] == vertex) & (vertex != np.uint64(idle))
        named = np.uint32(ROOT | choose(alone, np.uint32(isolated), np.uint32(number)))
        parent[vertex] = choose(root, named, parent[vertex])
        isolated += root & alone
        number += root & ~alone


@kernel
def renumber(number, step, alive, shift):
    """Update numbers of components, of which those from `alive` on were finished.

    Parameters
    ----------
    number : ndarray of uint32
        Updated.
    step : ndarray of uint32, shape (alive,)
        The new numbers of the others.
    shift : int
        By how much those of the finished ones are smaller now.
    """
    for i in range(len(number)):
        old = np.uint64(number[i])
        if old < np.uint64(alive):
            number[i] = step[old] & NUMBER
        else:
            number[i] = old - np.uint64(shift)


@kernel
def replace_numbers(component, number, shift, begin, end):
    """Update the components of the vertices in [begin, end).

    Parameters
    ----------
    component : ndarray of uint32, shape (vertices,)
        Updated; the bit ROOT goes.
    number : ndarray of uint32
        The present numbers of the components that had edges.
    shift : int
        Is added to the numbers of the others.
    """
    for vertex in range(np.uint64(begin), np.uint64(end)):
        place = np.uint64(component[vertex] & NUMBER)
        if place < np.uint64(len(number)):
            place = np.uint64(number[place])
        else:
            place += np.uint64(shift)
        component[vertex] = place


@kernel
def name_components(component, begin, end, names):
    """Call components after vertices in [begin, end).

    Parameters
    ----------
    component : ndarray of uint32, shape (vertices,)
    names : ndarray of uint32
        Set to one of the vertices of a component, counted from 1, where it was 0.
        Others may find a 0 there at the same time: the name that is written last is
        the one that all see in the end.
    """
    for vertex in range(np.uint64(begin), np.uint64(end)):
        place = np.uint64(component[vertex])
        if place < np.uint64(len(names)) and names[place] == 0:
            names[place] = vertex + np.uint64(1)


@kernel
def name_vertices(component, names, first, parent):
    """Write the name of each vertex's component; that of a isolated one is its own.

    Parameters
    ----------
    first : int
        The first vertex.
    parent : ndarray of uint32 or int64, shape (vertices here,)
    """
    for i in range(len(parent)):
        vertex = np.uint64(first + i)
        place = np.uint64(component[vertex])
        if place < np.uint64(len(names)):
            parent[i] = names[place] - np.uint32(1)
        else:
            parent[i] = vertex
