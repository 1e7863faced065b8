"""A version of a forest that is asked about, on rank 0.

A version that changes have made is an index of one before, and what differs from it.
That answers for a few pairs of vertices. An index of its own is built once that would
have been as much work, or for other questions.
"""

from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ..changes.paths import connected, path_max
from ..graph.order import keys_to_weights
from ..tree.index import ForestIndex
from .held import Present

# To look up a pair, or an edge that differs, takes as long as to index some vertices.
VERTICES = 4


class Heaviest(NamedTuple):
    """The heaviest edges on some paths.

    Attributes
    ----------
    position : ndarray of int64
        For each path the position of the edge in what follows; -1 for none.
    src, dst, weight : ndarray
    """

    position: np.ndarray
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray


class Asked:
    """The forest of a version of a graph.

    Parameters
    ----------
    present : Present

    Attributes
    ----------
    version : int
    """

    def __init__(self, present: Present) -> None:
        self.version, self._forest = present
        self._lock, self._work = Lock(), 0
        self._index: ForestIndex | None = None

    def index(self) -> ForestIndex:
        """Return an index of this version; build it if need be."""
        with self._lock:
            if self._index is None:
                self._index = self._forest.indexed()
            return self._index

    def connected(self, u: Any, v: Any) -> np.ndarray:
        """Return whether the vertices of pairs are in the same tree; bool."""
        u, v = self._forest.index.pairs(u, v)
        if self._are_few(len(u)):
            return connected(self._forest, u, v)
        return self.index().connected(u, v)

    def path_max(self, u: Any, v: Any) -> Heaviest:
        """Return the heaviest edge on the path between the vertices of each pair."""
        u, v = self._forest.index.pairs(u, v)
        if self._are_few(len(u)):
            position, edges = path_max(self._forest, u, v)
            dtype = self._forest.index.weight.dtype
            src, dst = edges.ends
            return Heaviest(position, src, dst, keys_to_weights(edges.key, dtype))
        index = self.index()
        return Heaviest(index.path_max(u, v), index.src, index.dst, index.weight)

    def _are_few(self, pairs: int) -> bool:
        """Return whether some pairs are asked about sooner without another index."""
        with self._lock:
            if self._index is not None or self._forest.differs == 0:
                return False
            self._work += pairs + self._forest.differs
            return VERTICES * self._work < self._forest.index.num_vertices
