"""Rows that change: the CSR stays as it is, and beside it lies what differs.

Arcs that have gone are a sorted list of positions in the CSR, and arcs that have come
are sorted by (row, neighbour). An arc whose weight has changed has gone and come. If
the two lists outgrow a share of the arcs, the rows are written anew.
"""

import numpy as np

from ..graph.model import Csr, Rows
from ..kernels.kruskal import HALF
from .kernels.arcs import (
    Delta,
    PlacedArcs,
    change_arcs,
    find_arcs,
    merge_rows,
    places_of,
)

# The lists are merged anew with every batch, the rows with one in many.
SHARE, LEAST = 64, 1 << 12


class ChangingRows:
    """The rows of a rank as they are now.

    At first they are `rows`, with ids in 32 bits, which are not written to.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.delta = _no_delta(rows)

    @property
    def csr(self) -> Csr:
        """The rows as they were when they were last written."""
        return self.rows.csr

    @property
    def num_arcs(self) -> int:
        """Arcs of the rows as they are now."""
        return self.rows.num_arcs - len(self.delta.gone) + len(self.delta.arc)

    def own(self, pair: np.ndarray) -> tuple[PlacedArcs, np.ndarray]:
        """Return the arcs of edges that lie in these rows, and for each its edge.

        Edges are pairs of ends in a word (uint64); the int64 positions are in `pair`.
        The arcs can be looked up and changed until `keep_small`.
        """
        arc = np.concatenate([pair, pair >> HALF | pair << HALF])
        tail = arc >> HALF
        inside = (tail >= self.rows.first) & (tail < self.rows.last)
        mine = np.flatnonzero(inside)
        mine = mine[np.argsort(arc[mine])]
        arc = arc[mine]
        low, high = np.empty((2, len(arc)), np.int64)
        places_of(self.csr, arc, low, high)
        return PlacedArcs(arc, low, high), mine % max(1, len(pair))

    def find(self, placed: PlacedArcs) -> tuple[np.ndarray, np.ndarray]:
        """Return for each arc whether it is there, and its key.

        The key is that of the lightest of parallel arcs.
        """
        key = np.zeros(len(placed.arc), self.rows.keys.dtype)
        return find_arcs(self.csr, self.delta, placed, key), key

    def change(self, placed: PlacedArcs, come: np.ndarray, key: np.ndarray) -> None:
        """Remove arcs, all that are parallel, and put some of them with a weight.

        Those with True in `come` are there in the end; `key` has their weights then.
        """
        arc, low, high = placed
        if len(arc) == 0:
            return
        gone = len(self.delta.gone) + int(np.sum(high - low))
        there = len(self.delta.arc) + len(arc)
        changed = Delta(
            np.empty(gone, np.int64),
            np.empty(there, np.uint64),
            np.empty(there, key.dtype),
        )
        gone, there = change_arcs(self.delta, placed, come, key, changed)
        self.delta = Delta(
            changed.gone[:gone], changed.arc[:there], changed.key[:there]
        )

    def keep_small(self) -> None:
        """Write the rows anew if what differs has outgrown its share."""
        if len(self.delta.gone) + len(self.delta.arc) > max(
            LEAST, self.rows.num_arcs // SHARE
        ):
            self.rows = self.current()
            self.delta = _no_delta(self.rows)

    def current(self) -> Rows:
        """Return the rows as they are now: the same object if nothing differs."""
        rows, delta = self.rows, self.delta
        if len(delta.gone) == len(delta.arc) == 0:
            return rows
        arcs = rows.num_arcs - len(delta.gone) + len(delta.arc)
        indptr = np.empty(len(rows) + 1, np.int64)
        indices = np.empty(arcs, rows.indices.dtype)
        keys = np.empty(arcs, rows.keys.dtype)
        merge_rows(self.csr, delta, indptr, indices, keys)
        return Rows(rows.first, rows.num_vertices, indptr, indices, keys)


def _no_delta(rows: Rows) -> Delta:
    return Delta(
        np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, rows.keys.dtype)
    )
