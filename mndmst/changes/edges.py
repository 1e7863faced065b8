"""Few edges in columns, the ends of each in one word."""

from typing import NamedTuple

import numpy as np

from .kernels.compressed import keep_joining

HALF = np.uint64(32)


class PairEdges(NamedTuple):
    """Edges by their ends and weights.

    Attributes
    ----------
    pair : ndarray of uint64
        Both ends in a word, the smaller one above.
    key : ndarray of uint32 or uint64
    """

    pair: np.ndarray
    key: np.ndarray

    @property
    def ends(self) -> np.ndarray:
        """The ends; ndarray of uint32, shape (2, edges)."""
        return np.stack([self.pair >> HALF, self.pair]).astype(np.uint32)

    def take(self, index: np.ndarray) -> "PairEdges":
        """Return the edges that a mask or positions choose."""
        return PairEdges(self.pair[index], self.key[index])

    def followed_by(self, other: "PairEdges") -> "PairEdges":
        """Return these edges and then others."""
        pairs = zip(self, other, strict=True)
        return PairEdges(*(np.concatenate(pair) for pair in pairs))


class PlacedEdges(NamedTuple):
    """Edges, and where their ends are in a rooted forest.

    Attributes
    ----------
    edges : PairEdges
    places : ndarray of uint32, shape (2, edges)
    """

    edges: PairEdges
    places: np.ndarray

    def __len__(self) -> int:
        return len(self.edges.pair)

    def take(self, index: np.ndarray) -> "PlacedEdges":
        """Return the edges that a mask or positions choose."""
        return PlacedEdges(self.edges.take(index), self.places[:, index])

    def followed_by(self, other: "PlacedEdges") -> "PlacedEdges":
        """Return these edges and then others."""
        places = np.concatenate([self.places, other.places], axis=1)
        return PlacedEdges(self.edges.followed_by(other.edges), places)

    def by_pair(self) -> "PlacedEdges":
        """Return the edges in the order of pairs; a few ascents are merged."""
        return self.take(np.argsort(self.edges.pair, kind="stable"))


def spanning(count: int, a: np.ndarray, b: np.ndarray, edges: PairEdges) -> np.ndarray:
    """Return which edges are in the forest of a graph.

    Parameters
    ----------
    count : int
        Vertices of the graph.
    a, b : ndarray of uint32
        The vertices that the edges join.
    edges : PairEdges
        What they are compared by.

    Returns
    -------
    ndarray of bool
    """
    kept = np.zeros(len(a), np.bool_)
    keep_joining(count, np.lexsort((edges.pair, edges.key)), a, b, kept)
    return kept


def among(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return which values are among others, which ascend."""
    if len(others) == 0:
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(others, values), len(others) - 1)
    return others[place] == values
