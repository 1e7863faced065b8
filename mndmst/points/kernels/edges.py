"""Edges between points, and those to near neighbours."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...native.kernel import kernel

NONE = -1  # no edge


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

    def take(self, chosen: np.ndarray | slice) -> "Edges":
        """Return some of them."""
        return Edges(*(column[chosen] for column in self))


def no_edges() -> Edges:
    """Return none."""
    return Edges(np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0))


def all_of(parts: Sequence[Edges]) -> Edges:
    """Return the edges of all parts, of which there is one at least."""
    return Edges(*map(np.concatenate, zip(*parts, strict=True)))


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
