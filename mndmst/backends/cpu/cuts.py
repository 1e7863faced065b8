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
# Edges between components per vertex of a later band: memory goes with them.
LATER_EDGES_PER_VERTEX = 1.0
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


def next_cut(
    rows: Rows, sample: Sample, apart: np.ndarray, low: Cut | None = None
) -> Cut | None:
    """Choose where the band behind a cut ends.

    Parameters
    ----------
    apart : ndarray of bool, shape (sample,)
        Which arcs lead to another component.
    low : Cut, optional
        Where the band begins, at the lightest edge by default.

    Returns
    -------
    Cut or None
        None if the band is open above. Else it has a number of edges between
        components that the vertices set, or as many edges as all before it.
    """
    occupied = _occupied(rows)
    if low is None and rows.num_arcs <= SPARSE_ARCS_PER_VERTEX * occupied:
        return None
    order, keys, vertices = _in_order(rows, sample)
    behind = np.ones(SAMPLE, np.bool_)
    if low is not None:
        behind = (keys > low.key) | ((keys == low.key) & (vertices > low.vertex))
    edges = LIGHT_EDGES_PER_VERTEX if low is None else LATER_EDGES_PER_VERTEX
    wanted = 2 * edges * occupied / rows.num_arcs * SAMPLE
    place = int(np.searchsorted(np.cumsum(apart[order] & behind), wanted))
    place = max(place, 2 * np.count_nonzero(~behind))
    return Cut(int(keys[place]), int(vertices[place])) if place < SAMPLE else None


def _occupied(rows: Rows) -> float:
    """Return about how many rows have arcs."""
    if rows.num_arcs == 0:
        return 0
    picked = np.sort(np.random.default_rng(len(rows)).integers(0, len(rows), SAMPLE))
    return len(rows) * float((rows.indptr[picked + 1] > rows.indptr[picked]).mean())


def _in_order(rows: Rows, sample: Sample) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a sample's order, and the cuts right after its edges as columns.

    A key that the sample has once is not split by vertex, which would cost a seam.
    """
    smaller = np.minimum(sample.tails, sample.heads)
    order = np.lexsort((smaller, sample.keys))
    keys, vertices = sample.keys[order], smaller[order] + 1
    repeated = keys[1:] == keys[:-1]
    single = ~(np.r_[repeated, False] | np.r_[False, repeated])
    vertices[single] = len(rows)
    return order, keys, vertices


def segments(rows: Rows, low: Cut | None, high: Cut | None) -> list[Segment]:
    """Return the arcs between two cuts of rows that are the whole graph.

    An edge is taken from the row of its smaller end, so above the vertex of a cut
    its key counts as not yet (or no longer) reached.
    """
    largest = int(np.iinfo(rows.keys.dtype).max)
    seams = {cut.vertex for cut in (low, high) if cut} - {len(rows)}
    found = []
    for first, last in pairwise([0, *sorted(seams), len(rows)]):
        least = 0 if low is None else low.key + (first < low.vertex)
        most = largest if high is None else high.key - (first >= high.vertex)
        found.append(Segment.of(rows, first, last, least, most))
    return found


def band_segments(rows: Rows, band: Band) -> list[Segment]:
    """Return the arcs of a band of keys."""
    least = 0 if band.low is None else band.low + 1
    most = int(np.iinfo(rows.keys.dtype).max) if band.high is None else band.high
    return [Segment.of(rows, 0, len(rows), least, most)]
