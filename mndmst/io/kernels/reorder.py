"""Orders of vertices that bring neighbours together, and their degrees."""

import numpy as np

from ...native.kernel import kernel


@kernel
def add_degrees(src, dst, degrees):
    """Count the edges at each vertex as listed (int64, added to); loops do not count.

    An edge that is listed in both directions counts twice.
    """
    for i in range(len(src)):
        apart = src[i] != dst[i]
        degrees[src[i]] += apart
        degrees[dst[i]] += apart


@kernel
def breadth_first(indptr, indices):
    """Return all vertices in the order of a breadth-first search.

    It begins at the first vertex, takes neighbours in the order of their row, and
    begins anew at the first vertex that is left whenever a component ends.

    Parameters
    ----------
    indptr : ndarray of int64, shape (num_vertices + 1,)
    indices : ndarray of integers, shape (arcs,)

    Returns
    -------
    ndarray like `indices`, shape (num_vertices,)
    """
    num_vertices = len(indptr) - 1
    order = np.empty(num_vertices, indices.dtype)
    seen = np.zeros(num_vertices, np.bool_)
    done, found = 0, 0
    for seed in range(num_vertices):
        if seen[seed]:
            continue
        seen[seed] = True
        order[found] = seed
        found += 1
        while done < found:
            vertex = order[done]
            done += 1
            for arc in range(indptr[vertex], indptr[vertex + 1]):
                head = indices[arc]
                if not seen[head]:
                    seen[head] = True
                    order[found] = head
                    found += 1
    return order
