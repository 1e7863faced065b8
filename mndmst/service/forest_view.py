"""Queries on one version of a graph's forest (rank 0).

After a batch of changes, a version consists of the last index and the edges that
differ from it. A few pairs are answered from these two. A version builds an index of
its own when the lookups so far have cost as much as the index would, or when a query
needs the whole forest.
"""

from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ..changes.current_forest import CurrentForest, connected, path_max
from ..graph.order import keys_to_weights
from ..tree.index import ForestIndex

# Cost of one lookup (a pair, or a changed edge), in vertices indexed in the same time.
LOOKUP_COST = 4


class PathMaxima(NamedTuple):
    """The heaviest edge on each of several paths."""

    # int64, shape (paths,): index of each path's heaviest edge in `src`, `dst` and
    # `weight`; -1 if the path has no edge or does not exist.
    position: np.ndarray
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray


class ForestView:
    """One version of the forest; thread-safe and immutable but for its lazy index.

    The index is a function of this version alone, needs no other rank, and is built
    under a lock of this object. So a request that holds a view sees one version.
    """

    def __init__(self, version: int, forest: CurrentForest) -> None:
        self.version, self.forest = version, forest
        self._lock, self._work = Lock(), 0
        self._index: ForestIndex | None = None

    def index(self) -> ForestIndex:
        """Return this version's index, building it on first use."""
        with self._lock:
            if self._index is None:
                self._index = self.forest.indexed()
            return self._index

    def connected(self, u: Any, v: Any) -> np.ndarray:
        """Return a boolean per pair: whether both vertices are in the same tree."""
        u, v = self.forest.index.pairs(u, v)
        if self._lookup_is_cheaper(len(u)):
            return connected(self.forest, u, v)
        return self.index().connected(u, v)

    def path_max(self, u: Any, v: Any) -> PathMaxima:
        """Return the heaviest edge on the path between each pair of vertices."""
        u, v = self.forest.index.pairs(u, v)
        if self._lookup_is_cheaper(len(u)):
            position, edges = path_max(self.forest, u, v)
            dtype = self.forest.index.weight.dtype
            src, dst = edges.ends
            return PathMaxima(position, src, dst, keys_to_weights(edges.key, dtype))
        index = self.index()
        return PathMaxima(index.path_max(u, v), index.src, index.dst, index.weight)

    def _lookup_is_cheaper(self, pairs: int) -> bool:
        """Return whether lookups still cost less than building the index."""
        with self._lock:
            if self._index is not None or self.forest.differs == 0:
                return False
            self._work += pairs + self.forest.differs
            return LOOKUP_COST * self._work < self.forest.index.num_vertices
