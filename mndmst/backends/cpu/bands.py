"""The edges of a band that rows hold, taken by several threads."""

from bisect import bisect_left
from itertools import pairwise
from math import sqrt

import numpy as np

from ...graph.model import EdgeList, Rows
from ...kernels.columns import joined, room_for, without_repeats
from ...kernels.hooks import Hooks
from ...kernels.sorting import sort_positions
from ...kernels.threads import Threads
from .cuts import SAMPLE, Sample, Segment
from .select import CHUNK, select
from .sparse import all_edges, lower_edges

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
    """Return what `select` finds in consecutive ranges of rows, and hook the rows."""

    csr = rows.csr
    shares = [
        part._replace(begin=begin, end=end)
        for part in parts
        for begin, end in row_ranges(rows, part.begin, part.end, threads)
    ]
    rooms = [edges_expected(rows, sample, share) + CHUNK for share in shares]
    return threads.map(select, [
        (csr, share, hooks, heavier, room_for(rows, room))
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
        (csr, *bounds, hooks, room_for(rows, count + 1))
        for bounds, count in zip(ranges, arcs, strict=True)
    ])  # fmt: skip
    seen = [(csr, begin, end if rows.first else begin) for begin, end in ranges]
    lower = threads.map(lower_edges, seen)
    return [(*one, *other) for one, other in zip(upper, lower, strict=True)]


def edges_expected(rows: Rows, sample: Sample, part: Segment) -> int:
    """Return how many edges lead from a part's rows to larger vertices, at the most.

    Four standard deviations above what a sample says: room that is not used is never
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
    columns = joined(chunks_of(chunks, 0), threads)
    upper = without_repeats(*columns)
    lower = joined(chunks_of(chunks, 3), threads)
    if len(lower[0]) == 0:
        return upper
    order = sort_positions(lower[0].astype(np.uint64), threads)
    first = without_repeats(*(column[order] for column in lower))
    halves = [(edges.u, edges.v, edges.key) for edges in (first, upper)]
    return EdgeList(*joined(halves, threads))


def chunks_of(chunks: list[tuple[np.ndarray, ...]], column: int) -> list[tuple]:
    """Return the three columns from one on of what `select` has returned."""
    return [chunk[column : column + 3] for chunk in chunks]
