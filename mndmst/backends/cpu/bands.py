"""The edges of a band that rows hold, taken by several threads.

A band ends at a cut: a pair (key, vertex), not a key alone. With few different weights,
or one, any key would take far too many edges or none.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...graph.light_edges import first_share
from ...graph.model import EdgeList, Rows, sample_positions
from ...graph.tuning import Tuning
from ...kernels.edge_columns import (
    EdgePieces,
    allocate_edges,
    concatenate,
    concatenate_columns,
    ends_of,
)
from ...kernels.edge_order import drop_parallel_edges
from ...kernels.hooks import Hooks
from ...kernels.intrinsics import choose
from ...kernels.sorting import sort_positions
from ...kernels.threads import Threads, each_range
from ...native.call_columns import PerCall
from ...native.kernel import kernel
from ..base import Band
from .select import CHUNK, all_edges, lower_edges, select

# The size of a sample in arcs; the fewest arcs for which a thread is woken.
SAMPLE, SAMPLE_GRAIN = 4096, 256
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
    """Arcs from all over the rows: the rows they are in, far ends, keys."""

    tails: np.ndarray
    heads: np.ndarray
    keys: np.ndarray

    @classmethod
    def of(cls, rows: Rows, threads: Threads) -> "Sample":
        """Take a sample, empty if there are no arcs."""
        arcs = sample_positions(rows.num_arcs, SAMPLE if rows.num_arcs else 0)
        sample = cls(
            np.zeros(len(arcs), np.int64),
            np.empty(len(arcs), np.int64),
            np.empty(len(arcs), rows.keys.dtype),
        )
        ranges = each_range(threads.bounds(len(arcs), SAMPLE_GRAIN))
        threads.run(look_up_arcs, rows.csr, arcs, *ranges, sample)
        return sample


@kernel
def look_up_arcs(csr, arcs, begin, end, sample):
    """Fill in the arcs [begin, end) of a sample, whose `tails` are 0.

    All binary searches take each step side by side: where one waits for memory, the
    next goes on.
    """
    _, indptr, indices, keys = csr
    tails, heads, sampled_keys = sample
    width = np.uint64(len(indptr))
    while width > np.uint64(1):
        half = width // np.uint64(2)
        for i in range(np.uint64(begin), np.uint64(end)):
            row = np.uint64(tails[i])
            not_behind = indptr[row + half] <= arcs[i]
            tails[i] = choose(not_behind, row + half, row)
        width -= half
    for i in range(np.uint64(begin), np.uint64(end)):
        arc = np.uint64(arcs[i])
        heads[i], sampled_keys[i] = indices[arc], keys[arc]


def first_cut(rows: Rows, sample: Sample, tuning: Tuning) -> Cut | None:
    """Choose where the first band ends, for a number of edges that the vertices set.

    Returns None if the band has all edges, as that of sparse graphs does.
    """
    edges, occupied = rows.num_arcs / 2, rows.count_occupied()
    share = first_share(edges, occupied, tuning.light_edges, tuning)
    if share is None:
        return None
    last = int(share * SAMPLE)
    key = np.partition(sample.keys, last)[last]
    alike = np.flatnonzero(sample.keys == key)
    if len(alike) == 1:  # to split the key by vertex would cost a seam
        return Cut(int(key), len(rows))
    smaller = np.sort(np.minimum(sample.tails[alike], sample.heads[alike]))
    lighter = np.count_nonzero(sample.keys < key)
    return Cut(int(key), int(smaller[last - lighter]) + 1)


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


# Cost of a row apart from its arcs, in arcs.
ARCS_PER_ROW = 8
# Ranges of rows for each thread: the edges to larger vertices are not spread evenly.
RANGES_EACH = 4


class BandEdges(NamedTuple):
    """Edges of a band in ranges of rows: to larger vertices, and to lower ghosts."""

    upper: EdgePieces
    lower: EdgePieces


def band_chunks(
    rows: Rows,
    parts: list[Segment],
    sample: Sample,
    threads: Threads,
    hooks: Hooks,
    heavier: bool,
) -> BandEdges:
    """Return the edges that `select` finds in ranges of rows, and hook the rows."""
    bounds = [row_bounds(rows, part.begin, part.end, threads) for part in parts]
    every = list(zip(parts, bounds, strict=True))
    rooms = [edges_expected(rows, sample, part, cuts) + CHUNK for part, cuts in every]
    ranges = [len(cuts) - 1 for cuts in bounds]
    lows, highs = (
        PerCall(np.repeat(np.array(keys), ranges), rows.keys.dtype.type)
        for keys in ([part.low for part in parts], [part.high for part in parts])
    )
    begins, ends = (
        PerCall(np.concatenate([cuts[inner] for cuts in bounds]))
        for inner in (slice(-1), slice(1, None))
    )
    shares = begins, ends, lows, highs
    room = ends_of(np.concatenate(rooms))
    out = EdgePieces.of(allocate_edges(rows, int(room[-1])), room)
    found = threads.run(select, rows.csr, shares, hooks, heavier, out)
    return BandEdges(EdgePieces(*found[:3]), EdgePieces(*found[3:]))


def all_chunks(rows: Rows, threads: Threads, hooks: Hooks) -> BandEdges:
    """Return all edges of ranges of rows as `band_chunks` does, and hook the rows.

    There must be an arc.
    """
    bounds = row_bounds(rows, 0, len(rows), threads)
    begin, end = each_range(bounds)
    # Twice the size needed if edges are seen from both ends; unused pages cost nothing
    room = ends_of(np.diff(rows.indptr[bounds]) + 1)
    out = EdgePieces.of(allocate_edges(rows, int(room[-1])), room)
    upper = threads.run(all_edges, rows.csr, begin, end, hooks, out)
    if not rows.first:
        begin, end = each_range(np.zeros(2, np.int64))
    lower = threads.run(lower_edges, rows.csr, begin, end)
    return BandEdges(EdgePieces(*upper), EdgePieces(*lower))


def edges_expected(
    rows: Rows, sample: Sample, part: Segment, bounds: np.ndarray
) -> np.ndarray:
    """Return how many edges lead from ranges of rows to larger vertices, at the most.

    Four standard deviations above the estimate of a sample: unused room is never
    touched, and costs nothing.
    """
    chosen = (sample.keys >= part.low) & (sample.keys <= part.high)
    upward = sample.heads > sample.tails + rows.first
    # The arcs of the sample ascend, and so do their rows.
    counts = np.diff(np.searchsorted(sample.tails[chosen & upward], bounds))
    most = rows.num_arcs / SAMPLE * (counts + 4 * np.sqrt(counts + 1))
    return np.minimum(np.diff(rows.indptr[bounds]), most.astype(np.int64))


def row_bounds(rows: Rows, begin: int, end: int, threads: Threads) -> np.ndarray:
    """Cut rows [begin, end) into ranges for threads, of about as much work each."""
    first, last = (int(rows.indptr[row]) + ARCS_PER_ROW * row for row in (begin, end))
    bounds = first + threads.bounds(last - first, each=RANGES_EACH)
    bounds[0], bounds[-1] = begin, end
    _find_rows(rows.indptr, begin, end, bounds[1:-1])
    return bounds


@kernel
def _find_rows(indptr, begin, end, work):
    """Replace amounts of work by the first rows in [begin, end) with as much before."""
    for i in range(len(work)):
        low, high = begin, end
        while low < high:
            middle = (low + high) // 2
            if indptr[middle] + ARCS_PER_ROW * middle < work[i]:
                low = middle + 1
            else:
                high = middle
        work[i] = low


def band_edges(
    rows: Rows, parts: list[Segment], threads: Threads, hooks: Hooks
) -> EdgeList:
    """Return all edges of a band, ghosts at either end, in (u, v) order."""
    sample = Sample.of(rows, threads)
    chunks = band_chunks(rows, parts, sample, threads, hooks, False)
    upper = drop_parallel_edges(*concatenate(chunks.upper, threads))
    lower = concatenate(chunks.lower, threads)
    if len(lower[0]) == 0:
        return upper
    order = sort_positions(lower[0].astype(np.uint64), threads)
    first = drop_parallel_edges(*(column[order] for column in lower))
    halves = [(edges.u, edges.v, edges.key) for edges in (first, upper)]
    return EdgeList(*concatenate_columns(halves, threads))
