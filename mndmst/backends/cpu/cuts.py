"""Where the edges of rows are cut into bands, lightest first.

A cut is a pair (key, vertex), not a key alone: with few different weights, or one,
any key would take far too many edges or none.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...graph.model import Rows
from ..base import SPARSE_ARCS_PER_VERTEX, Band

# Edges of the first band per vertex: fewer leave no giant component, more cost sort.
LIGHT_EDGES_PER_VERTEX = 1.3
SAMPLE = 4096
_NOTHING = (1, 0)


class Cut(NamedTuple):
    """Before it are lighter edges, and as light ones whose smaller end is lower."""

    key: int
    vertex: int


class Segment(NamedTuple):
    """Rows [begin, end) of which the arcs with low <= key <= high are in a band.

    The keys have the type of the rows' keys, so that kernels take the segment.
    """

    begin: int
    end: int
    low: np.unsignedinteger
    high: np.unsignedinteger

    @classmethod
    def of(cls, rows: Rows, begin: int, end: int, low: int, high: int) -> "Segment":
        """Return a segment, an empty one if no key is between two."""
        least, most = (low, high) if low <= high else _NOTHING
        key = rows.keys.dtype.type
        return cls(begin, end, key(least), key(most))


class Sample(NamedTuple):
    """Random arcs: the rows they are in, far ends, keys; the same every time."""

    tails: np.ndarray
    heads: np.ndarray
    keys: np.ndarray

    @classmethod
    def of(cls, rows: Rows) -> "Sample":
        """Take a sample, empty if there are no arcs."""
        generator = np.random.default_rng(len(rows))
        size = SAMPLE if rows.num_arcs else 0
        arcs = np.sort(generator.integers(0, max(1, rows.num_arcs), size))
        tails = np.searchsorted(rows.indptr, arcs, side="right") - 1
        return cls(tails, rows.indices[arcs].astype(np.int64), rows.keys[arcs])


def first_cut(rows: Rows, sample: Sample) -> Cut | None:
    """Choose where the first band ends, for a number of edges that the vertices set.

    Returns
    -------
    Cut or None
        None if it has all edges, as that of sparse graphs does.
    """
    occupied = rows.count_occupied()
    if rows.num_arcs <= SPARSE_ARCS_PER_VERTEX * occupied:
        return None
    keys, vertices = _in_order(rows, sample)
    place = int(2 * LIGHT_EDGES_PER_VERTEX * occupied / rows.num_arcs * SAMPLE)
    return Cut(int(keys[place]), int(vertices[place])) if place < SAMPLE else None


def _in_order(rows: Rows, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Return the cuts right after the edges of a sample as columns, in order.

    A key that the sample has once is not split by vertex, which would cost a seam.
    """
    smaller = np.minimum(sample.tails, sample.heads)
    order = np.lexsort((smaller, sample.keys))
    keys, vertices = sample.keys[order], smaller[order] + 1
    repeated = keys[1:] == keys[:-1]
    single = ~(np.r_[repeated, False] | np.r_[False, repeated])
    vertices[single] = len(rows)
    return keys, vertices


def segments(rows: Rows, high: Cut | None) -> list[Segment]:
    """Return the arcs before a cut of rows that are the whole graph.

    An edge is taken from the row of its smaller end, so from the vertex of the cut on
    its key counts as no longer reached.
    """
    if high is None:
        return [Segment.of(rows, 0, len(rows), 0, int(np.iinfo(rows.keys.dtype).max))]
    bounds = pairwise([0, *({high.vertex} - {len(rows)}), len(rows)])
    return [
        Segment.of(rows, first, last, 0, high.key - (first >= high.vertex))
        for first, last in bounds
    ]


def band_segments(rows: Rows, band: Band) -> list[Segment]:
    """Return the arcs of a band of keys."""
    least = 0 if band.low is None else band.low + 1
    most = int(np.iinfo(rows.keys.dtype).max) if band.high is None else band.high
    return [Segment.of(rows, 0, len(rows), least, most)]
