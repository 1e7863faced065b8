"""Edges to near neighbours, and which of their forest are certain."""

from typing import NamedTuple

import numpy as np

from ...kernels.kruskal import find
from ...native.kernel import kernel


class Edges(NamedTuple):
    """Edges between places.

    Attributes
    ----------
    a, b : ndarray of uint32
    weight : ndarray of float64
    """

    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray


def no_edges() -> Edges:
    """Return none."""
    return Edges(np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0))


@kernel
def weigh(distances, places, cores, begin, end):
    """Turn reduced distances into weights, those of the places [begin, end).

    Parameters
    ----------
    distances : ndarray of float64, shape (points, k)
        Distances; become mutual reachability distances.
    cores : ndarray of float64, shape (points,)
    """
    for place in range(begin, end):
        for j in range(distances.shape[1]):
            both = max(cores[place], cores[places[place, j]])
            distances[place, j] = max(distances[place, j], both)


@kernel
def list_edges(distances, places, rows, begin, end):
    """Return the edges of the places [begin, end), all at least once over all places.

    Of an edge that both ends know that of the smaller row is kept. Places beyond those
    there are belong to other ranks, and are passed over.

    Returns
    -------
    a, b : ndarray of uint32
    weight : ndarray of float64
    """
    k = distances.shape[1]
    most = (end - begin) * k
    a, b = np.empty(most, np.uint32), np.empty(most, np.uint32)
    weight = np.empty(most)
    count = 0
    for place in range(begin, end):
        for j in range(k):
            other = places[place, j]
            if other >= len(rows):
                continue
            known = False
            if rows[other] < rows[place]:
                for i in range(k):
                    known |= places[other, i] == place
            if not known:
                a[count], b[count] = place, other
                weight[count] = distances[place, j]
                count += 1
    return a[:count], b[:count], weight[:count]


@kernel
def certify(order, edges, parent, reach, certain):
    """Mark the edges of a forest that are in the forest of all edges for certain.

    In ascending order each joins two sets of points, and is the lightest listed edge
    that leaves either. It is certain if no point of one of them may have an edge as
    light that is not listed.

    Parameters
    ----------
    order : ndarray of uint64
        Positions of the edges, in ascending order.
    edges : Edges
    parent : ndarray of uint32
    reach : ndarray of float64
        For each point the least weight that an edge of it may have which is not listed;
        becomes the least of each set.
    certain : ndarray of bool
    """
    for position in order:
        x, y = find(parent, edges.a[position]), find(parent, edges.b[position])
        low, high = min(x, y), max(x, y)
        certain[position] = max(reach[x], reach[y]) > edges.weight[position]
        parent[high] = low
        reach[low] = min(reach[low], reach[high])
