"""Where the edges of rows are cut into bands, lightest first.

A cut is a pair (key, vertex), not a key alone: with few different weights, or one,
any key would take far too many edges or none.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...graph import Rows
from ..base import Band

# Edges of the first band per vertex: fewer leave no giant component, more cost sort.
LIGHT_EDGES_PER_VERTEX = 1.3
# Below this many arcs per vertex nothing is gained by leaving edges out.
SPARSE_ARCS_PER_VERTEX = 6
SAMPLE = 4096


class Cut(NamedTuple):
    """Before it are lighter edges, and as light ones whose smaller end is lower."""

    key: int
    vertex: int


class Segment(NamedTuple):
    """Arcs [begin, end) of which those with low <= key <= high are in a band."""

    begin: int
    end: int
    low: int
    high: int


def cuts(rows: Rows) -> Iterator[tuple[Cut | None, Cut | None]]:
    """Yield the bounds of bands of growing size; the last is open above."""
    occupied = np.count_nonzero(rows.indptr[1:] != rows.indptr[:-1])
    low = None
    if rows.num_arcs > SPARSE_ARCS_PER_VERTEX * occupied:
        sample = _sorted_sample(rows)
        share = 2 * LIGHT_EDGES_PER_VERTEX * occupied / rows.num_arcs
        while share < 0.5:
            high = sample[int(share * SAMPLE)]
            if high != low:
                yield low, high
            low, share = high, 2 * share
    yield low, None


def _sorted_sample(rows: Rows) -> list[Cut]:
    """Return the cuts right after some random edges, in order.

    A key that the sample has once is not split by vertex, which would cost a seam.
    """
    arcs = sample_arcs(rows)
    keys = rows.keys[arcs]
    tails = np.searchsorted(rows.indptr, arcs, side="right") - 1
    smaller = np.minimum(tails, rows.indices[arcs].astype(np.int64))
    order = np.lexsort((smaller, keys))
    keys, vertices = keys[order], smaller[order] + 1
    repeated = keys[1:] == keys[:-1]
    single = ~(np.r_[repeated, False] | np.r_[False, repeated])
    vertices[single] = len(rows)
    return [Cut(*pair) for pair in zip(keys.tolist(), vertices.tolist(), strict=True)]


def sample_arcs(rows: Rows) -> np.ndarray:
    """Return random positions of arcs, the same ones every time."""
    generator = np.random.default_rng(len(rows))
    return generator.integers(0, rows.num_arcs, SAMPLE)


def segments(rows: Rows, low: Cut | None, high: Cut | None) -> list[Segment]:
    """Return the arcs between two cuts of rows that are the whole graph.

    An edge is taken from the row of its smaller end, so above the vertex of a cut
    its key counts as not yet (or no longer) reached.
    """
    largest = int(np.iinfo(rows.keys.dtype).max)
    bounds = {0, len(rows)} | {cut.vertex for cut in (low, high) if cut}
    ordered = sorted(bounds)
    found = []
    for first, last in pairwise(ordered):
        least = 0 if low is None else low.key + (first < low.vertex)
        most = largest if high is None else high.key - (first >= high.vertex)
        begin, end = int(rows.indptr[first]), int(rows.indptr[last])
        if begin < end and least <= most:
            found.append(Segment(begin, end, least, most))
    return found


def band_segments(rows: Rows, band: Band) -> list[Segment]:
    """Return the arcs of a band of keys."""
    least = 0 if band.low is None else band.low + 1
    most = int(np.iinfo(rows.keys.dtype).max) if band.high is None else band.high
    if rows.num_arcs == 0 or least > most:
        return []
    return [Segment(0, rows.num_arcs, least, most)]
