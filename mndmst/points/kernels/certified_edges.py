"""Certified edges: first listed edges of components that no unlisted edge precedes.

Kruskal's algorithm finds them in one pass: the edge that comes next in the order is the
first listed edge that leaves each of its two components, if no edge before it has been
left out that leaves them. It joins them if one of them has no unlisted edge as light.
One that is left out is no lighter than the unlisted edges of both, so neither joins
along a later edge of its own, nor does any component that contains it.

Threads join the components of blocks of consecutive positions, which are near in space
if a tree orders them, and one thread joins the rest. An edge that leaves the block
counts as unlisted there.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import choose
from ...kernels.kruskal import find, unite
from ...kernels.sorting import DIGIT, order_runs, sort_alone
from ...native.kernel import kernel
from .boruvka_steps import empty_edges

UNKNOWN_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)
# Digits of the leading bits of weights that a sort of edges compares first.
DIGITS = 3

# Entries of the table of pairs of components, and its hash: Fibonacci's.
PAIRS, PAIR_SHIFT = 1 << 10, np.uint64(64 - 10)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class JoinState(NamedTuple):
    """Components of points that join along listed edges. All arrays are by position."""

    parent: np.ndarray  # uint32: links to the smallest position of a component
    # float64: the least weight that an edge of a point may have which is not listed
    within: np.ndarray
    # float64: the same of a point or, by root, of a component; also of the edges that
    # leave the block
    least: np.ndarray
    # bool: a point may have a listed edge that leaves its component
    leaves: np.ndarray


@kernel
def join_block(found, rows, state, few, begin, end):
    """Join the components of a block along certified edges.

    Components join along the first `few` listed edges of each point first, which are
    enough for most; the others count as unlisted then. Components lie inside the block.
    Neighbours on other ranks are skipped. Returns the edges that join, as columns of
    `PointEdges`.
    """
    parent, least = state.parent, state.least
    joined, count, listed = empty_edges(end - begin), 0, 0
    while listed < found.weight.shape[1]:
        listed = found.weight.shape[1] if listed else few
        count = _join_nearest(found, rows, state, listed, begin, end, joined, count)
        for position in range(begin, end):
            root = parent[parent[position]]  # links before it lead to roots already
            parent[position] = root
            least[root] = min(least[root], least[position])
        edges = _list_joining(found, rows, state, listed, begin, end)
        for i in in_order(edges):
            one = find(parent, np.uint64(edges.a[i]))
            other = find(parent, np.uint64(edges.b[i]))
            if one != other and edges.weight[i] < max(least[one], least[other]):
                parent[max(one, other)] = min(one, other)
                least[min(one, other)] = min(least[one], least[other])
                joined.a[count], joined.b[count] = edges.a[i], edges.b[i]
                joined.weight[count], joined.key[count] = edges.weight[i], edges.key[i]
                count += 1
        for position in range(begin, end):
            parent[position] = parent[parent[position]]
        _mark_leaving(found, state, begin, end)
    return joined.a[:count], joined.b[:count], joined.weight[:count], joined.key[:count]


@kernel
def _join_nearest(found, rows, state, listed, begin, end, joined, count):
    """Join points along their first listed edges, if these are certified and inside.

    Equal points, which have no least weight, are in components already. `least` becomes
    the least weight of each point's edges that are not among the first `listed` or
    leave the block. Adds the edges that join to `joined`; returns the new `count`.

    Comparisons of weights are as unpredictable as a coin toss where many are equal, so
    no branch depends on one: each pass computes all entries.
    """
    parent, within, least, leaves = state
    k, n = np.uint64(listed), np.uint32(len(parent) - 1)
    for position in range(np.uint64(begin), np.uint64(end)):
        bound = outside = np.inf
        if leaves[position]:
            for j in range(k):
                other, weight = found.positions[position, j], found.weight[position, j]
                inside = (other >= begin) & (other < end)
                bound = min(bound, weight)
                outside = min(outside, choose(inside, np.inf, weight))
            for j in range(k, np.uint64(found.weight.shape[1])):
                outside = min(outside, found.weight[position, j])
        least[position] = min(within[position], outside)
        if bound >= least[position] or within[position] == np.inf:
            continue
        last = np.uint64(0)
        for j in range(k):
            last = choose(found.weight[position, j] == bound, j, last)
        row, first, best = np.uint64(rows[position]), UNKNOWN_KEY, np.uint64(0)
        for j in range(last + np.uint64(1)):
            other = min(found.positions[position, j], n)
            key = key_of_rows(row, np.uint64(rows[other]))
            earlier = (found.weight[position, j] == bound) & (key < first)
            first, best = choose(earlier, key, first), choose(earlier, j, best)
        other = found.positions[position, best]
        if unite(parent, position, np.uint64(other)):
            joined.a[count], joined.b[count] = position, other
            joined.weight[count], joined.key[count] = bound, first
            count += 1
    return count


@kernel
def _list_joining(found, rows, state, listed, begin, end):
    """Return the edges inside a block along which components may yet join.

    They are among the first `listed` edges of each point. Each is lighter than the
    unlisted edges of the component of the point that lists it. If it is lighter than
    those of the other component, too, both of its ends list it.
    """
    parent, _, least, leaves = state
    k, most = np.uint64(listed), 1
    for position in range(begin, end):
        most += np.int64(leaves[position]) * listed
    places, size = np.empty(most, np.uint64), np.uint64(0)
    for position in range(np.uint64(begin), np.uint64(end)):
        if leaves[position]:
            root = np.uint64(parent[position])
            for j in range(k):
                if found.weight[position, j] >= least[root]:
                    continue
                other = found.positions[position, j]
                inside = (other >= begin) & (other < end)
                there = choose(inside, other, np.uint32(position))
                # Store unconditionally; advance the count only if the edge is kept.
                places[size] = position << np.uint64(32) | j
                size += np.uint64(parent[there] != root)
    count = np.uint64(0)
    for i in range(size):
        position, j = places[i] >> np.uint64(32), places[i] & np.uint64(0xFFFFFFFF)
        other, weight = found.positions[position, j], found.weight[position, j]
        once = (position < other) | (weight >= least[parent[other]])
        places[count] = places[i]
        count += np.uint64(once)
    edges = empty_edges(count)
    for i in range(count):
        position, j = places[i] >> np.uint64(32), places[i] & np.uint64(0xFFFFFFFF)
        other = found.positions[position, j]
        edges.a[i], edges.b[i] = position, other
        edges.weight[i] = found.weight[position, j]
        edges.key[i] = key_of_rows(np.uint64(rows[position]), np.uint64(rows[other]))
    return edges


@kernel
def _mark_leaving(found, state, begin, end):
    """Find the points of a block that list an edge which leaves their component."""
    parent, _, _, leaves = state
    k, n = np.uint64(found.weight.shape[1]), np.uint32(len(parent) - 1)
    for position in range(np.uint64(begin), np.uint64(end)):
        if leaves[position]:
            root, differs = parent[position], False
            for j in range(k):
                differs |= parent[min(found.positions[position, j], n)] != root
            leaves[position] = differs


@kernel(inline="always")
def key_of_rows(one, other):
    """Return the key of an edge between two rows; see `PointEdges`."""
    return min(one, other) << np.uint64(32) | max(one, other)


@kernel
def list_leaving(found, rows, state, begin, end):
    """Return the edges listed in a block that may be first between two components.

    Most edges that leave a component lead to few others. A table has the first edge
    between two components at the place of their hash; a pair that finds another pair
    there puts it out to the list, so a pair may be listed more than once. Returns
    columns as `join_block` does.
    """
    parent = state.parent
    k, n = np.uint64(found.weight.shape[1]), np.uint32(len(parent) - 1)
    most = PAIRS
    for position in range(begin, end):
        most += np.int64(state.leaves[position]) * found.weight.shape[1]
    a, b = np.empty(most, np.uint32), np.empty(most, np.uint32)
    weight, key = np.empty(most), np.empty(most, np.uint64)
    # The first entries are the table; its pairs are kept beside it.
    pairs, count = np.full(PAIRS, UNKNOWN_KEY), PAIRS
    for position in range(np.uint64(begin), np.uint64(end)):
        if not state.leaves[position]:
            continue
        root, row = np.uint64(parent[position]), np.uint64(rows[position])
        for j in range(k):
            other = found.positions[position, j]
            if other > n or parent[other] == root:
                continue
            pair = key_of_rows(root, np.uint64(parent[other]))
            at = np.int64((pair * MULTIPLIER) >> PAIR_SHIFT)
            this = found.weight[position, j]
            if pairs[at] == pair and this > weight[at]:
                continue
            order = key_of_rows(row, np.uint64(rows[other]))
            if pairs[at] == pair and this == weight[at] and order > key[at]:
                continue
            if pairs[at] != pair and pairs[at] != UNKNOWN_KEY:
                a[count], b[count] = a[at], b[at]
                weight[count], key[count] = weight[at], key[at]
                count += 1
            pairs[at], a[at], b[at] = pair, position, other
            weight[at], key[at] = this, order
    kept = 0
    for i in range(count):
        if i >= PAIRS or pairs[i] != UNKNOWN_KEY:
            a[kept], b[kept], weight[kept], key[kept] = a[i], b[i], weight[i], key[i]
            kept += 1
    return a[:kept], b[:kept], weight[:kept], key[:kept]


@kernel
def join_listed(edges, parent):
    """Unite components along the forest of some edges, by Kruskal's algorithm.

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

    Words of the leading bits of a weight and the index are sorted by digits, runs of
    equal leading bits by the weights, and runs of equal weights by the keys.
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
    places = np.empty((DIGITS, 1 << DIGIT), np.uint64)
    words = sort_alone(words, other, np.int64(low), DIGITS * DIGIT, places)
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
