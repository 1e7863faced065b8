"""Sorting edges by (u, v), without parallel edges.

A radix sort by u alone takes half the passes of a sort by both ends. Then each run of
one u, mostly few edges, is sorted by (v, key) in place, and only the first edge of each
pair stays.
"""

import numpy as np

from ..graph.model import EdgeColumns, EdgeList
from ..native.call_columns import ArrayPieces
from ..native.kernel import kernel
from .edge_columns import EdgePieces, concatenate
from .intrinsics import prefetch
from .sorting import SHORT_RUN, merge_ascents, sort_positions
from .threads import ALONE, Threads, each_range

# Edges between the one in use and the one prefetched.
AHEAD = 24


def in_order(edges: EdgeList, threads: Threads = ALONE) -> EdgeList:
    """Return edges with u < v in (u, v) order, only the lightest of parallel ones."""
    count = len(edges)
    if is_in_order(edges, threads):
        return edges
    columns = _sorted_by_u(edges, threads)
    ranges = each_range(threads.bounds(count))
    begins, ends = threads.run(_order_runs, *columns, *ranges)
    if (ends - begins).sum() == count:
        return EdgeList(*columns)
    pieces = [ArrayPieces.of(column, begins, ends) for column in columns]
    return EdgeList(*concatenate(pieces, threads))


def is_in_order(edges: EdgeList, threads: Threads) -> bool:
    """Return whether edges ascend strictly by (u, v), without self-loops.

    At most `Tuning.few_arcs` edges need no kernel.
    """
    u, v = edges.u, edges.v
    if len(u) > threads.tuning.few_arcs:
        return bool(in_row_order(u, v))
    above = (u[1:] > u[:-1]) | ((u[1:] == u[:-1]) & (v[1:] > v[:-1]))
    return bool(above.all() and (u != v).all())


def _sorted_by_u(edges: EdgeList, threads: Threads) -> EdgeColumns:
    columns = edges.columns
    result = EdgeColumns(*(np.empty_like(column) for column in columns))
    u = edges.u if edges.u.itemsize == 4 else edges.u.view(np.uint64)
    order = sort_positions(u, threads)
    bounds = threads.bounds(len(edges))
    out = EdgePieces.of(result, bounds)
    threads.run(_gather, ArrayPieces.of(order, bounds), columns, out)
    return result


@kernel
def _gather(order, edges, out):
    """Copy the edges at some positions."""
    u, v, key = edges
    new_u, new_v, new_key = out
    end = np.uint64(len(order))
    for i in range(end):
        if i + np.uint64(AHEAD) < end:
            ahead = np.intp(order[i + np.uint64(AHEAD)])
            prefetch(u, ahead)
            prefetch(v, ahead)
            prefetch(key, ahead)
        edge = order[i]
        new_u[i], new_v[i], new_key[i] = u[edge], v[edge], key[edge]


@kernel
def _order_runs(u, v, key, begin, stop):
    """Sort the runs of one u that begin in [begin, stop), and drop parallel edges.

    The remaining edges move to the front; returns their begin and end. A run may end
    beyond `stop`; the thread in whose range it begins sorts it. Another thread detects
    such a run by the u before its range, which is only overwritten with equal values.
    """
    while 0 < begin < stop and u[begin] == u[begin - 1]:
        begin += 1
    written = begin
    low = begin
    while low < stop:
        high = low + 1
        while high < len(u) and u[high] == u[low]:
            high += 1
        _order_run(v, key, low, high)
        for i in range(low, high):
            if i == low or v[i] != v[written - 1]:
                u[written], v[written], key[written] = u[i], v[i], key[i]
                written += 1
        low = high
    return begin, written


@kernel
def _order_run(v, key, low, high):
    """Order edges in [low, high) by (v, key)."""
    if high - low > SHORT_RUN:
        # The edges were selected row by row, so v consists of few ascending runs.
        merge_ascents(v[low:high], key[low:high])
        return
    for i in range(low + 1, high):
        head, least = v[i], key[i]
        j = i
        while j > low and (
            v[j - 1] > head or (v[j - 1] == head and key[j - 1] > least)
        ):
            v[j], key[j] = v[j - 1], key[j - 1]
            j -= 1
        v[j], key[j] = head, least


@kernel
def in_row_order(src, dst):
    """Return whether arcs ascend strictly by (src, dst), without self-loops."""
    tails, tails_before, heads, heads_before = src[1:], src[:-1], dst[1:], dst[:-1]
    wrong = 0
    for i in range(len(src)):
        wrong += src[i] == dst[i]
    for i in range(len(tails)):
        wrong += (tails[i] < tails_before[i]) | (
            (tails[i] == tails_before[i]) & (heads[i] <= heads_before[i])
        )
    return wrong == 0


@kernel
def has_parallel_edges(u, v):
    """Return whether two consecutive edges have the same ends."""
    parallel = False
    for i in range(np.uint64(1), np.uint64(len(u))):
        before = i - np.uint64(1)
        parallel |= (u[i] == u[before]) & (v[i] == v[before])
    return parallel


@kernel
def mark_lightest_parallel(order, u, v, key):
    """Mark, of the edges in `order`, the lightest of each run of equal (u, v)."""
    mask = np.zeros(len(order), np.bool_)
    best = 0
    for i in range(len(order)):
        edge, lightest = order[i], order[best]
        if u[edge] != u[lightest] or v[edge] != v[lightest]:
            mask[best] = True
            best = i
        elif key[edge] < key[lightest]:
            best = i
    if len(order):
        mask[best] = True
    return mask


def drop_parallel_edges(u: np.ndarray, v: np.ndarray, key: np.ndarray) -> EdgeList:
    """Drop all but the lightest of parallel edges, which are consecutive."""
    edges = EdgeList(u, v, key)
    if has_parallel_edges(u, v):
        positions = np.arange(len(key), dtype=np.uint64)
        return edges.take(mark_lightest_parallel(positions, u, v, key))
    return edges


def pair_order(
    u: np.ndarray, v: np.ndarray, key: np.ndarray, threads: Threads = ALONE
) -> np.ndarray:
    """Return positions in (u, v) order, only the lightest of parallel edges."""
    if len(u) == 0:
        return np.empty(0, np.uint64)
    bits = int(v.max()).bit_length()  # u < v
    if bits > 32:
        order = np.lexsort((v, u)).astype(np.uint64)
    else:
        wide = u.astype(np.uint64)
        wide <<= np.uint64(bits)
        wide |= v.astype(np.uint64)
        order = sort_positions(wide, threads)
    return order[mark_lightest_parallel(order, u, v, key)]
