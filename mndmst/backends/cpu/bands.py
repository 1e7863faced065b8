"""The edges of a band that rows hold, taken by several threads.

A band ends at a cut: a pair (key, vertex), not a key alone. With few different weights,
or one, any key would take far too many edges or none.
"""

from bisect import bisect_left
from itertools import pairwise
from math import sqrt
from typing import NamedTuple

import numpy as np

from ...graph.light_edges import first_share
from ...graph.model import EdgeList, Rows
from ...graph.tuning import Tuning
from ...kernels.edge_columns import allocate_edges, concatenate_columns
from ...kernels.edge_order import drop_parallel_edges
from ...kernels.hooks import Hooks
from ...kernels.sorting import sort_positions
from ...kernels.threads import Threads
from ..base import Band
from .select import CHUNK, all_edges, lower_edges, select

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


def first_cut(rows: Rows, sample: Sample, tuning: Tuning) -> Cut | None:
    """Choose where the first band ends, for a number of edges that the vertices set.

    Returns
    -------
    Cut or None
        None if it has all edges, as that of sparse graphs does.
    """
    edges, occupied = rows.num_arcs / 2, rows.count_occupied()
    share = first_share(edges, occupied, tuning.light_edges, tuning)
    if share is None:
        return None
    keys, vertices = _in_order(rows, sample)
    last = int(share * SAMPLE)
    return Cut(int(keys[last]), int(vertices[last]))


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


# Cost of a row apart from its arcs, in arcs.
ARCS_PER_ROW = 8
# Ranges of rows for each thread: the edges to larger vertices are not spread evenly.
RANGES_EACH = 4


def band_chunks(
    rows: Rows,
    parts: list[Segment],
    sample: Sample,
    threads: Threads,
    hooks: Hooks,
    heavier: bool,
) -> list[tuple[np.ndarray, ...]]:
    """Return the chunks that `select` finds in ranges of rows, and hook the rows."""

    csr = rows.csr
    shares = [
        part._replace(begin=begin, end=end)
        for part in parts
        for begin, end in row_ranges(rows, part.begin, part.end, threads)
    ]
    rooms = [edges_expected(rows, sample, share) + CHUNK for share in shares]
    return threads.map(select, [
        (csr, share, hooks, heavier, allocate_edges(rows, room))
        for share, room in zip(shares, rooms, strict=True)
    ])  # fmt: skip


def all_chunks(
    rows: Rows, threads: Threads, hooks: Hooks
) -> list[tuple[np.ndarray, ...]]:
    """Return all edges of ranges of rows as `select` does, and hook the rows.

    There must be an arc.
    """

    csr, ranges = rows.csr, row_ranges(rows, 0, len(rows), threads)
    arcs = [int(rows.indptr[end] - rows.indptr[begin]) for begin, end in ranges]
    # Twice the size needed if edges are seen from both ends; unused pages cost nothing
    upper = threads.map(all_edges, [
        (csr, *bounds, hooks, allocate_edges(rows, count + 1))
        for bounds, count in zip(ranges, arcs, strict=True)
    ])  # fmt: skip
    seen = [(csr, begin, end if rows.first else begin) for begin, end in ranges]
    lower = threads.map(lower_edges, seen)
    return [(*one, *other) for one, other in zip(upper, lower, strict=True)]


def edges_expected(rows: Rows, sample: Sample, part: Segment) -> int:
    """Return how many edges lead from a part's rows to larger vertices, at the most.

    Four standard deviations above the estimate of a sample: unused room is never
    touched, and costs nothing.
    """
    inside = (sample.tails >= part.begin) & (sample.tails < part.end)
    chosen = (sample.keys >= part.low) & (sample.keys <= part.high)
    upward = sample.heads > sample.tails + rows.first
    count = np.count_nonzero(inside & chosen & upward)
    arcs = int(rows.indptr[part.end] - rows.indptr[part.begin])
    return min(arcs, int(rows.num_arcs / SAMPLE * (count + 4 * sqrt(count + 1))))


def row_ranges(
    rows: Rows, begin: int, end: int, threads: Threads
) -> list[tuple[int, int]]:
    """Cut rows [begin, end) into ranges for threads, of about as much work each."""

    def work_before(row):
        return int(rows.indptr[row]) + ARCS_PER_ROW * row

    first, last = work_before(begin), work_before(end)
    ranges = threads.ranges(last - first, each=RANGES_EACH)
    starts = [first + low for low, _ in ranges]
    inner = [
        bisect_left(range(end), start, lo=begin, key=work_before)
        for start in starts[1:]
    ]
    return list(pairwise([begin, *inner, end]))


def band_edges(
    rows: Rows, parts: list[Segment], threads: Threads, hooks: Hooks
) -> EdgeList:
    """Return all edges of a band, ghosts at either end, in (u, v) order."""
    chunks = band_chunks(rows, parts, Sample.of(rows), threads, hooks, False)
    columns = concatenate_columns(chunks_of(chunks, 0), threads)
    upper = drop_parallel_edges(*columns)
    lower = concatenate_columns(chunks_of(chunks, 3), threads)
    if len(lower[0]) == 0:
        return upper
    order = sort_positions(lower[0].astype(np.uint64), threads)
    first = drop_parallel_edges(*(column[order] for column in lower))
    halves = [(edges.u, edges.v, edges.key) for edges in (first, upper)]
    return EdgeList(*concatenate_columns(halves, threads))


def chunks_of(chunks: list[tuple[np.ndarray, ...]], column: int) -> list[tuple]:
    """Return the three columns from one on of each chunk of `select`."""
    return [chunk[column : column + 3] for chunk in chunks]
