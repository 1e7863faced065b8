"""Few edges in NumPy's columns, each pair of ends in one word."""

from typing import NamedTuple

import numpy as np

from .kernels.compressed import keep_joining

HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


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
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends; ndarray of uint32."""
        return (self.pair >> HALF).astype(np.uint32), self.pair.astype(np.uint32)

    def take(self, index: np.ndarray) -> "PairEdges":
        """Return the edges that a mask or positions choose."""
        return PairEdges(self.pair[index], self.key[index])

    def followed_by(self, other: "PairEdges") -> "PairEdges":
        """Return these edges and then others."""
        pairs = zip(self, other, strict=True)
        return PairEdges(*(np.concatenate(pair) for pair in pairs))

    def ascending(self) -> np.ndarray:
        """Return the positions of the edges in the order: by weight, then by ends."""
        return np.lexsort((self.pair, self.key))

    def by_pair(self) -> "PairEdges":
        """Return the edges in the order of pairs."""
        return self.take(np.argsort(self.pair))


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
    keep_joining(count, edges.ascending(), a, b, kept)
    return kept


def among(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return which values are among others, which ascend."""
    if len(others) == 0:
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(others, values), len(others) - 1)
    return others[place] == values
