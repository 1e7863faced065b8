"""Selection of the edges of a band from rows, by several threads.

A band ends at a cut: a pair (key, vertex). With few distinct weights a band that ends
at a key alone would have far too many edges or none.
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
    """The end of a band: edges with a smaller (key, smaller end) are before it."""

    key: int
    vertex: int


class Segment(NamedTuple):
    """Rows [begin, end) whose arcs with low <= key <= high are in a band.

    The keys have the type of the rows' keys, as an argument of kernels.
    """

    begin: int
    end: int
    low: np.unsignedinteger
    high: np.unsignedinteger

    @classmethod
    def of(cls, rows: Rows, begin: int, end: int, low: int, high: int) -> "Segment":
        """Return a segment; without arcs if low > high."""
        least, most = (low, high) if low <= high else _NOTHING
        key = rows.keys.dtype.type
        return cls(begin, end, key(least), key(most))


class Sample(NamedTuple):
    """Sampled arcs of rows: the rows, the heads, and the keys."""

    tails: np.ndarray
    heads: np.ndarray
    keys: np.ndarray

    @classmethod
    def of(cls, rows: Rows, threads: Threads) -> "Sample":
        """Sample the arcs of rows; empty if there are none."""
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

    All binary searches do each step together, so that their memory accesses overlap.
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
    """Return the cut of the first band, which has about `light_edges` edges a vertex.

    Returns None if the band has all edges, as in sparse graphs.
    """
    edges, occupied = rows.num_arcs / 2, rows.count_occupied()
    share = first_share(edges, occupied, tuning.light_edges, tuning)
    if share is None:
        return None
    last = int(share * SAMPLE)
    key = np.partition(sample.keys, last)[last]
    equal = np.flatnonzero(sample.keys == key)
    if len(equal) == 1:  # a cut after the key makes one segment, not two
        return Cut(int(key), len(rows))
    smaller = np.sort(np.minimum(sample.tails[equal], sample.heads[equal]))
    lighter = np.count_nonzero(sample.keys < key)
    return Cut(int(key), int(smaller[last - lighter]) + 1)


def segments(rows: Rows, high: Cut | None) -> list[Segment]:
    """Return the arcs before a cut, of rows that are the whole graph.

    An edge is taken from the row of its smaller end. So rows from the vertex of the cut
    on have only smaller keys than the cut's.
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
    """Edges of a band by ranges of rows: to larger vertices, and to lower ghosts."""

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
    """Return the edges of segments by `select` in ranges of rows; hook the rows."""
    bounds = [row_bounds(rows, part.begin, part.end, threads) for part in parts]
    parts_and_cuts = list(zip(parts, bounds, strict=True))
    capacities = [
        edges_expected(rows, sample, part, cuts) + CHUNK
        for part, cuts in parts_and_cuts
    ]
    ranges = [len(cuts) - 1 for cuts in bounds]
    lows, highs = (
        PerCall(np.repeat(np.array(keys), ranges), rows.keys.dtype.type)
        for keys in ([part.low for part in parts], [part.high for part in parts])
    )
    begins, ends = (
        PerCall(np.concatenate([cuts[inner] for cuts in bounds]))
        for inner in (slice(-1), slice(1, None))
    )
    segments_of_calls = begins, ends, lows, highs
    bounds_of_parts = ends_of(np.concatenate(capacities))
    out = EdgePieces.of(allocate_edges(rows, int(bounds_of_parts[-1])), bounds_of_parts)
    columns = threads.run(select, rows.csr, segments_of_calls, hooks, heavier, out)
    return BandEdges(EdgePieces(*columns[:3]), EdgePieces(*columns[3:]))


def all_chunks(rows: Rows, threads: Threads, hooks: Hooks) -> BandEdges:
    """Return all edges of ranges of rows as `band_chunks` does, and hook the rows.

    The rows must have an arc.
    """
    bounds = row_bounds(rows, 0, len(rows), threads)
    begin, end = each_range(bounds)
    # An upper bound, because only arcs to larger vertices are stored; unused pages cost
    # nothing
    offsets = ends_of(np.diff(rows.indptr[bounds]) + 1)
    out = EdgePieces.of(allocate_edges(rows, int(offsets[-1])), offsets)
    upper = threads.run(all_edges, rows.csr, begin, end, hooks, out)
    if not rows.first:
        begin, end = each_range(np.zeros(2, np.int64))
    lower = threads.run(lower_edges, rows.csr, begin, end)
    return BandEdges(EdgePieces(*upper), EdgePieces(*lower))


def edges_expected(
    rows: Rows, sample: Sample, part: Segment, bounds: np.ndarray
) -> np.ndarray:
    """Return a likely upper bound of the edges from ranges of rows to larger vertices.

    It is four standard deviations above the estimate from a sample. Unused pages of the
    buffers are never touched, and cost nothing.
    """
    chosen = (sample.keys >= part.low) & (sample.keys <= part.high)
    upward = sample.heads > sample.tails + rows.first
    # The rows of the sampled arcs ascend.
    counts = np.diff(np.searchsorted(sample.tails[chosen & upward], bounds))
    most = rows.num_arcs / SAMPLE * (counts + 4 * np.sqrt(counts + 1))
    return np.minimum(np.diff(rows.indptr[bounds]), most.astype(np.int64))


def row_bounds(rows: Rows, begin: int, end: int, threads: Threads) -> np.ndarray:
    """Return the bounds of ranges of rows [begin, end) with about equal work."""
    first, last = (int(rows.indptr[row]) + ARCS_PER_ROW * row for row in (begin, end))
    bounds = first + threads.bounds(last - first, each=RANGES_EACH)
    bounds[0], bounds[-1] = begin, end
    _find_rows(rows.indptr, begin, end, bounds[1:-1])
    return bounds


@kernel
def _find_rows(indptr, begin, end, work):
    """Replace each amount of work by the first row with this work before it."""
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
