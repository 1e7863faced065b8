"""Certified edges: a component's first listed edge that precedes all unlisted ones.

Kruskal's algorithm finds them in one pass over the listed edges in order. The next edge
is the first listed outgoing edge of both its components, unless an earlier one of them
was skipped. It joins the components if one of them has no unlisted edge as light; else
it is skipped. A skipped edge is no lighter than the unlisted edges of both components,
so neither joins along a later edge of its own, nor does any component that contains it.

Threads join the components of blocks of consecutive positions, which are near in space
if a tree orders them; then one thread joins the rest. Within a block, an edge that
leaves the block counts as unlisted.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import choose
from ...kernels.kruskal import find, unite
from ...kernels.sorting import DIGIT, order_runs, sort_by_one_thread
from ...native.kernel import kernel
from .boruvka_steps import edge_key, empty_edges

UNKNOWN_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)
# The sort of edges compares this many digits of the leading bits of weights first.
DIGITS = 3

# Entries of the table of pairs of components, and the constants of its Fibonacci hash.
PAIRS, PAIR_SHIFT = 1 << 10, np.uint64(64 - 10)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class JoinState(NamedTuple):
    """Components of points that join along listed edges. All arrays are by position."""

    parent: np.ndarray  # uint32: links to the smallest position of a component
    # float64: lower bound of a point's unlisted edges
    lower_bound: np.ndarray
    # float64: lower bound of a point's edges that are unlisted or leave the block; at a
    # root, of its component's
    root_bound: np.ndarray
    # bool: a point may have a listed edge that leaves its component
    leaves: np.ndarray


@kernel
def join_block(lists, point, state, few, begin, end):
    """Join the components of the block of positions [begin, end) by certified edges.

    `lists` are the points' `Neighbours`; those on other ranks are skipped. A first pass
    takes the first `few` listed edges of each point, which suffice for most; the others
    count as unlisted in it. Components lie inside the block. Returns the edges that
    join, as columns of `PointEdges`.
    """
    parent, root_bound = state.parent, state.root_bound
    joined, count, listed = empty_edges(end - begin), 0, 0
    while listed < lists.weight.shape[1]:
        listed = lists.weight.shape[1] if listed else few
        count = _join_nearest(lists, point, state, listed, begin, end, joined, count)
        for position in range(begin, end):
            # Smaller positions are linked to their roots already.
            root = parent[parent[position]]
            parent[position] = root
            root_bound[root] = min(root_bound[root], root_bound[position])
        edges = _list_joining(lists, point, state, listed, begin, end)
        for i in in_order(edges):
            one = find(parent, np.uint64(edges.a[i]))
            other = find(parent, np.uint64(edges.b[i]))
            larger_bound = max(root_bound[one], root_bound[other])
            if one != other and edges.weight[i] < larger_bound:
                parent[max(one, other)] = min(one, other)
                root_bound[min(one, other)] = min(root_bound[one], root_bound[other])
                joined.a[count], joined.b[count] = edges.a[i], edges.b[i]
                joined.weight[count], joined.key[count] = edges.weight[i], edges.key[i]
                count += 1
        for position in range(begin, end):
            parent[position] = parent[parent[position]]
        _mark_leaving(lists, state, begin, end)
    return joined.a[:count], joined.b[:count], joined.weight[:count], joined.key[:count]


@kernel
def _join_nearest(lists, point, state, listed, begin, end, joined, count):
    """Join each point along its first listed edge, if it is certified and in the block.

    Points with an infinite lower bound are in components already. `root_bound` becomes
    the least weight of each point's edges that are not among the first `listed` or
    leave the block. Adds the edges that join to `joined`; returns the new `count`.

    Where many weights are equal, comparisons of them are unpredictable, so no branch
    depends on one: each loop computes all entries.
    """
    parent, lower_bound, root_bound, leaves = state
    k, n = np.uint64(listed), np.uint32(len(parent) - 1)
    for position in range(np.uint64(begin), np.uint64(end)):
        bound = outside = np.inf
        if leaves[position]:
            for j in range(k):
                other, weight = lists.positions[position, j], lists.weight[position, j]
                inside = (other >= begin) & (other < end)
                bound = min(bound, weight)
                outside = min(outside, choose(inside, np.inf, weight))
            for j in range(k, np.uint64(lists.weight.shape[1])):
                outside = min(outside, lists.weight[position, j])
        root_bound[position] = min(lower_bound[position], outside)
        if bound >= root_bound[position] or lower_bound[position] == np.inf:
            continue
        last = np.uint64(0)
        for j in range(k):
            last = choose(lists.weight[position, j] == bound, j, last)
        first, best = UNKNOWN_KEY, np.uint64(0)
        for j in range(last + np.uint64(1)):
            other = min(lists.positions[position, j], n)
            key = edge_key(point[position], point[other])
            earlier = (lists.weight[position, j] == bound) & (key < first)
            first, best = choose(earlier, key, first), choose(earlier, j, best)
        other = lists.positions[position, best]
        if unite(parent, position, np.uint64(other)):
            joined.a[count], joined.b[count] = position, other
            joined.weight[count], joined.key[count] = bound, first
            count += 1
    return count


@kernel
def _list_joining(lists, point, state, listed, begin, end):
    """Return the edges inside a block along which components may yet join.

    They are among the first `listed` edges of each point. Each is lighter than the
    unlisted edges of the component of the point that lists it. If it is also lighter
    than those of the other component, both of its ends list it, and one is taken.
    """
    parent, _, root_bound, leaves = state
    k, most = np.uint64(listed), 1
    for position in range(begin, end):
        most += np.int64(leaves[position]) * listed
    entries, size = np.empty(most, np.uint64), np.uint64(0)
    for position in range(np.uint64(begin), np.uint64(end)):
        if leaves[position]:
            root = np.uint64(parent[position])
            for j in range(k):
                if lists.weight[position, j] >= root_bound[root]:
                    continue
                other = lists.positions[position, j]
                inside = (other >= begin) & (other < end)
                far_end = choose(inside, other, np.uint32(position))
                # Store unconditionally; advance the count only if the edge is kept.
                entries[size] = position << np.uint64(32) | j
                size += np.uint64(parent[far_end] != root)
    count = np.uint64(0)
    for i in range(size):
        position, j = entries[i] >> np.uint64(32), entries[i] & np.uint64(0xFFFFFFFF)
        other, weight = lists.positions[position, j], lists.weight[position, j]
        taken = (position < other) | (weight >= root_bound[parent[other]])
        entries[count] = entries[i]
        count += np.uint64(taken)
    edges = empty_edges(count)
    for i in range(count):
        position, j = entries[i] >> np.uint64(32), entries[i] & np.uint64(0xFFFFFFFF)
        other = lists.positions[position, j]
        edges.a[i], edges.b[i] = position, other
        edges.weight[i] = lists.weight[position, j]
        edges.key[i] = edge_key(point[position], point[other])
    return edges


@kernel
def _mark_leaving(lists, state, begin, end):
    """Set `leaves` where a point of the block lists an edge out of its component."""
    parent, _, _, leaves = state
    k, n = np.uint64(lists.weight.shape[1]), np.uint32(len(parent) - 1)
    for position in range(np.uint64(begin), np.uint64(end)):
        if leaves[position]:
            root, differs = parent[position], False
            for j in range(k):
                differs |= parent[min(lists.positions[position, j], n)] != root
            leaves[position] = differs


@kernel
def list_leaving(lists, point, state, begin, end):
    """Return the edges listed in a block that may be first between two components.

    Most outgoing edges of a component lead to few other components. A hash table keeps
    the first edge of a pair of components. If two pairs have one entry, the earlier
    edge moves from the table to the output, so a pair may occur more than once there.
    Returns columns as `join_block` does.
    """
    parent = state.parent
    k, n = np.uint64(lists.weight.shape[1]), np.uint32(len(parent) - 1)
    most = PAIRS
    for position in range(begin, end):
        most += np.int64(state.leaves[position]) * lists.weight.shape[1]
    a, b = np.empty(most, np.uint32), np.empty(most, np.uint32)
    weight, key = np.empty(most), np.empty(most, np.uint64)
    # The first PAIRS entries of the columns are the table; `pairs` has their pairs.
    pairs, count = np.full(PAIRS, UNKNOWN_KEY), PAIRS
    for position in range(np.uint64(begin), np.uint64(end)):
        if not state.leaves[position]:
            continue
        root = parent[position]
        for j in range(k):
            other = lists.positions[position, j]
            if other > n or parent[other] == root:
                continue
            pair = edge_key(root, parent[other])
            at = np.int64((pair * MULTIPLIER) >> PAIR_SHIFT)
            this_weight = lists.weight[position, j]
            if pairs[at] == pair and this_weight > weight[at]:
                continue
            this_key = edge_key(point[position], point[other])
            if pairs[at] == pair and this_weight == weight[at] and this_key > key[at]:
                continue
            if pairs[at] != pair and pairs[at] != UNKNOWN_KEY:
                a[count], b[count] = a[at], b[at]
                weight[count], key[count] = weight[at], key[at]
                count += 1
            pairs[at], a[at], b[at] = pair, position, other
            weight[at], key[at] = this_weight, this_key
    size = 0
    for i in range(count):
        if i >= PAIRS or pairs[i] != UNKNOWN_KEY:
            a[size], b[size], weight[size], key[size] = a[i], b[i], weight[i], key[i]
            size += 1
    return a[:size], b[:size], weight[:size], key[:size]


@kernel
def join_listed(edges, parent):
    """Unite components along the minimum spanning forest of `edges` (Kruskal).

    Returns the forest's edges, as columns of `PointEdges`.
    """
    most, count = len(edges.a), 0
    joined = empty_edges(most)
    for i in in_order(edges):
        if unite(parent, np.uint64(edges.a[i]), np.uint64(edges.b[i])):
            joined.a[count], joined.b[count] = edges.a[i], edges.b[i]
            joined.weight[count], joined.key[count] = edges.weight[i], edges.key[i]
            count += 1
    return joined.a[:count], joined.b[:count], joined.weight[:count], joined.key[:count]


@kernel
def in_order(edges):
    """Return the indices of edges in ascending order (uint64).

    A word has the leading bits of a weight, then the edge's index. Words are sorted by
    digits, runs of equal leading bits by weights, and runs of equal weights by keys.
    """
    count, bits = len(edges.weight), edges.weight.view(np.uint64)
    words, other = np.empty(count, np.uint64), np.empty(count, np.uint64)
    if count == 0:
        return words
    least = most = bits[0]
    for i in range(count):
        least, most = min(least, bits[i]), max(most, bits[i])
    drop, low = np.uint64(0), np.uint64(1)
    while (most - least) >> (drop + np.uint64(DIGITS * DIGIT)):
        drop += np.uint64(1)
    while np.uint64(count) >> low:
        low += np.uint64(1)
    for i in range(np.uint64(count)):
        words[i] = ((bits[i] - least) >> drop) << low | i
    counts = np.empty((DIGITS, 1 << DIGIT), np.uint64)
    words = sort_by_one_thread(words, other, np.int64(low), DIGITS * DIGIT, counts)
    order_runs(words, bits, np.int64(low), 0, count)
    mask = (np.uint64(1) << low) - np.uint64(1)
    rank, last = np.uint64(0), bits[words[0] & mask]
    for i in range(count):
        index = words[i] & mask
        rank += np.uint64(bits[index] != last)
        last = bits[index]
        words[i] = rank << low | index
    order_runs(words, edges.key, np.int64(low), 0, count)
    for i in range(count):
        words[i] &= mask
    return words
