"""Columns of edges, with both ends of an edge in one word."""

from typing import NamedTuple

import numpy as np

from ..kernels.kruskal import HALF, component_labels
from .kernels.compressed import mark_forest, merge_entered


def pairs_of(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return both ends of each edge in a word (uint64), the smaller one `u` above."""
    return u.astype(np.uint64) << HALF | v


def ends_of(pairs: np.ndarray) -> np.ndarray:
    """Return the ends of edges; ndarray of uint32, shape (2, edges)."""
    return np.stack([pairs >> HALF, pairs]).astype(np.uint32)


def labels_of(ends: np.ndarray, num_vertices: int) -> np.ndarray:
    """Return for each vertex the smallest one (uint32) of its component.

    `ends` has both ends of each edge, shape (2, edges).
    """
    return component_labels(ends[0], ends[1], num_vertices, np.uint32)


class PairEdges(NamedTuple):
    """Edges by their ends and weights."""

    pair: np.ndarray  # uint64: both ends in a word, the smaller one above
    key: np.ndarray  # uint32 or uint64

    @property
    def ends(self) -> np.ndarray:
        """The ends; ndarray of uint32, shape (2, edges)."""
        return ends_of(self.pair)

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


class LocatedEdges(NamedTuple):
    """Edges, and the positions of their ends in a rooted forest with cuts."""

    edges: PairEdges
    positions: np.ndarray  # uint32, shape (2, edges)
    tops: np.ndarray  # uint32, shape (2, edges): positions of their fragments' tops

    def __len__(self) -> int:
        return len(self.edges.pair)

    def take(self, index: np.ndarray) -> "LocatedEdges":
        """Return the edges that a mask chooses."""
        columns = (np.compress(index, column, axis=1) for column in self[1:])
        return LocatedEdges(self.edges.take(index), *columns)

    def merged(self, stays: np.ndarray, other: "LocatedEdges") -> "LocatedEdges":
        """Return some of these edges and others; all are in the order of pairs."""
        count = int(np.count_nonzero(stays)) + len(other)
        pair, key = np.empty(count, np.uint64), np.empty(count, self.edges.key.dtype)
        ends = np.empty((2, 2, count), np.uint32)
        merged = LocatedEdges(PairEdges(pair, key), *ends)
        merge_entered(self, stays, other, merged)
        return merged


def spanning(count: int, a: np.ndarray, b: np.ndarray, edges: PairEdges) -> np.ndarray:
    """Return a boolean per edge: whether it is in the forest of a graph.

    The graph has `count` vertices. `a` and `b` (uint32) are the ends of its edges,
    which are ordered by `edges`.
    """
    in_forest = np.zeros(len(a), np.bool_)
    mark_forest(count, np.lexsort((edges.pair, edges.key)), a, b, in_forest)
    return in_forest


def among(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return a mask of the values that are among `others`, which ascend."""
    if len(others) == 0:
        return np.zeros(len(values), np.bool_)
    position = np.minimum(np.searchsorted(others, values), len(others) - 1)
    return others[position] == values
