"""Names of components in arrays that several processes fill."""

import numpy as np

from ..native.kernel import kernel


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
    """Write the name of each vertex's component; that of a single one is its own.

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
