"""Rows that change: an immutable CSR and a list of differences.

Removed arcs are a sorted list of positions in the CSR, and new arcs are sorted by (row,
neighbour). An arc whose weight has changed is in both lists. If the lists exceed a
share of the arcs, they are merged into a new CSR.
"""

import numpy as np

from ..graph.model import Csr, Rows
from ..kernels.kruskal import HALF
from .kernels.arcs import (
    ArcRanges,
    Delta,
    change_arcs,
    find_arcs,
    find_ranges,
    merge_rows,
)

# The lists are merged into the CSR if they have more than LEAST entries and more than
# one entry per SHARE arcs.
SHARE, LEAST = 64, 1 << 12


class ChangingRows:
    """The present rows of a rank; initially `rows`, with 32-bit ids, never modified."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.delta = _no_delta(rows)

    @property
    def csr(self) -> Csr:
        """The CSR without the differences."""
        return self.rows.csr

    @property
    def num_arcs(self) -> int:
        """Number of present arcs."""
        return self.rows.num_arcs - len(self.delta.removed) + len(self.delta.arc)

    def local_arcs(self, pair: np.ndarray) -> tuple[ArcRanges, np.ndarray]:
        """Return the arcs of edges that are in these rows, and the edge of each.

        Edges are pairs of ends in a word (uint64); an edge is a position (int64) in
        `pair`. The ranges are valid until `compact`.
        """
        arc = np.concatenate([pair, pair >> HALF | pair << HALF])
        tail = arc >> HALF
        inside = (tail >= self.rows.first) & (tail < self.rows.last)
        local = np.flatnonzero(inside)
        local = local[np.argsort(arc[local])]
        arc = arc[local]
        low, high = np.empty((2, len(arc)), np.int64)
        find_ranges(self.csr, arc, low, high)
        return ArcRanges(arc, low, high), local % max(1, len(pair))

    def find(self, ranges: ArcRanges) -> tuple[np.ndarray, np.ndarray]:
        """Return for each arc whether it exists, and its key.

        Of parallel arcs it is the key of the lightest one.
        """
        key = np.zeros(len(ranges.arc), self.rows.keys.dtype)
        return find_arcs(self.csr, self.delta, ranges, key), key

    def change(self, ranges: ArcRanges, is_new: np.ndarray, key: np.ndarray) -> None:
        """Remove arcs with their parallel ones, then add those marked by `is_new`.

        `key` has the weights of added arcs.
        """
        arc, low, high = ranges
        if len(arc) == 0:
            return
        removed_count = len(self.delta.removed) + int(np.sum(high - low))
        new_count = len(self.delta.arc) + len(arc)
        changed = Delta(
            np.empty(removed_count, np.int64),
            np.empty(new_count, np.uint64),
            np.empty(new_count, key.dtype),
        )
        removed_count, new_count = change_arcs(self.delta, ranges, is_new, key, changed)
        self.delta = Delta(
            changed.removed[:removed_count],
            changed.arc[:new_count],
            changed.key[:new_count],
        )

    def compact(self) -> None:
        """Merge the differences into the CSR if they exceed their share of the arcs."""
        if len(self.delta.removed) + len(self.delta.arc) > max(
            LEAST, self.rows.num_arcs // SHARE
        ):
            self.rows = self.current()
            self.delta = _no_delta(self.rows)

    def current(self) -> Rows:
        """Return the present rows: the same object if there are no differences."""
        rows, delta = self.rows, self.delta
        if len(delta.removed) == len(delta.arc) == 0:
            return rows
        arcs = rows.num_arcs - len(delta.removed) + len(delta.arc)
        indptr = np.empty(len(rows) + 1, np.int64)
        indices = np.empty(arcs, rows.indices.dtype)
        keys = np.empty(arcs, rows.keys.dtype)
        merge_rows(self.csr, delta, indptr, indices, keys)
        return Rows(rows.first, rows.num_vertices, indptr, indices, keys)


def _no_delta(rows: Rows) -> Delta:
    return Delta(
        np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, rows.keys.dtype)
    )
