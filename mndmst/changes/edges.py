"""Few edges in columns, the ends of each in one word."""

from typing import NamedTuple

import numpy as np

from ..kernels.kruskal import HALF
from .kernels.compressed import keep_joining, merge_entered


class PairEdges(NamedTuple):
    """Edges by their ends and weights."""

    pair: np.ndarray  # uint64: both ends in a word, the smaller one above
    key: np.ndarray  # uint32 or uint64

    @property
    def ends(self) -> np.ndarray:
        """The ends; ndarray of uint32, shape (2, edges)."""
        return np.stack([self.pair >> HALF, self.pair]).astype(np.uint32)

    def take(self, index: np.ndarray) -> "PairEdges":
        """Return the edges that a mask or positions choose."""
        return PairEdges(self.pair[index], self.key[index])

    def by_pair(self) -> "PairEdges":
        """Return the edges in the order of pairs."""
        return self.take(np.argsort(self.pair))

    def followed_by(self, other: "PairEdges") -> "PairEdges":
        """Return these edges and then others."""
        pairs = zip(self, other, strict=True)
        return PairEdges(*(np.concatenate(pair) for pair in pairs))


class PlacedEdges(NamedTuple):
    """Edges, and where their ends are in a rooted forest that is cut."""

    edges: PairEdges
    places: np.ndarray  # uint32, shape (2, edges)
    # uint32, shape (2, edges): the places of the tops of the fragments that they are
    # in.
    tops: np.ndarray

    def __len__(self) -> int:
        return len(self.edges.pair)

    def take(self, index: np.ndarray) -> "PlacedEdges":
        """Return the edges that a mask chooses."""
        columns = (np.compress(index, column, axis=1) for column in self[1:])
        return PlacedEdges(self.edges.take(index), *columns)

    def merged(self, stays: np.ndarray, other: "PlacedEdges") -> "PlacedEdges":
        """Return some of these edges and others; all are in the order of pairs."""
        count = int(np.count_nonzero(stays)) + len(other)
        pair, key = np.empty(count, np.uint64), np.empty(count, self.edges.key.dtype)
        ends = np.empty((2, 2, count), np.uint32)
        merged = PlacedEdges(PairEdges(pair, key), *ends)
        merge_entered(self, stays, other, merged)
        return merged


def spanning(count: int, a: np.ndarray, b: np.ndarray, edges: PairEdges) -> np.ndarray:
    """Return a boolean per edge: whether it is in the forest of a graph.

    The graph has `count` vertices; edges join `a` and `b` (uint32), and are compared by
    `edges`.
    """
    kept = np.zeros(len(a), np.bool_)
    keep_joining(count, np.lexsort((edges.pair, edges.key)), a, b, kept)
    return kept


def among(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return a mask of the values that are among `others`, which ascend."""
    if len(others) == 0:
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(others, values), len(others) - 1)
    return others[place] == values
