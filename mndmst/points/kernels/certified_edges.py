"""Certified edges: first listed edges of components that no unlisted edge precedes.

Threads join the components of blocks of consecutive positions, which are near in space
if a tree orders them, and one thread joins the rest. A point keeps its first
listed edge that leaves its component until the other end has joined the component, so
most rounds read one edge of a list; and a component that joins no other keeps its own,
also from its block to the rest.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.intrinsics import choose
from ...kernels.kruskal import unite
from ...native.kernel import kernel

UNKNOWN_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)
NO_POINT = np.uint32(0xFFFFFFFF)
# In place of an index in a list: look at the whole list; and nothing in it leaves.
UNKNOWN, INSIDE = np.uint32(0xFFFFFFFF), np.uint32(0xFFFFFFFE)

# Entries of the table of pairs of components, and its hash: Fibonacci's.
PAIRS, PAIR_SHIFT = 1 << 10, np.uint64(64 - 10)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class JoinState(NamedTuple):
    """Components of points that join along listed edges. All arrays are by position."""

    parent: np.ndarray  # uint32: links to the smallest position of a component
    # float64: the least weight that an edge of a point may have which is not listed
    within: np.ndarray
    # uint32: the index of each point's first listed edge that leaves its component
    best: np.ndarray
    least: np.ndarray  # float64, by root: the smallest `within` of a component
    # float64, by root: the weight of the first listed edge that leaves a component
    bound: np.ndarray
    first: np.ndarray  # uint32, by root: the point whose edge it is
    # bool, by root: `bound` and `first` are of an earlier component, or of none
    changed: np.ndarray


@kernel
def join_block(found, rows, state, begin, end):
    """Join the components of a block along certified edges, in Borůvka rounds.

    A component waits while its first listed edge leaves the block, or while a point of
    it may have an edge as light that is not listed. Components lie inside the block.
    Neighbours on other ranks are skipped. Returns the edges that join, as columns of
    `PointEdges`.
    """
    parent, within, best, least, bound, first, changed = state
    size = end - begin
    a, b, weight = np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(size)
    key, leaving = np.empty(size, np.uint64), np.empty(found.weight.shape[1])
    active, roots = np.empty(size, np.uint32), np.empty(size, np.uint32)
    joined = kept = count = 0
    for position in range(begin, end):
        root = parent[parent[position]]  # links before it lead to roots already
        parent[position] = root
        if root == position:
            roots[count] = root
            count += 1
            least[root] = np.inf
        least[root] = min(least[root], within[position])
        if best[position] != INSIDE:
            active[kept] = position
            kept += 1
    while True:
        for i in range(count):
            if changed[roots[i]]:
                bound[roots[i]], first[roots[i]] = np.inf, NO_POINT
        length, kept = kept, 0
        for i in range(length):
            position = active[i]
            root = parent[position]
            if not changed[root] or found.cores[position] > bound[root]:
                active[kept] = position  # none of its edges precedes the first
                kept += 1
                continue
            j = best[position]
            if j == UNKNOWN or parent[found.positions[position, j]] == root:
                j = _first_leaving(
                    found.weight, found.positions, rows, parent, position, leaving
                )
                best[position] = j
                if j == INSIDE:
                    continue
            active[kept] = position
            kept += 1
            w = found.weight[position, j]
            if w < bound[root] or (
                w == bound[root]
                and (
                    first[root] == NO_POINT
                    or _key(found, rows, position, j)
                    < _key(found, rows, first[root], best[first[root]])
                )
            ):
                bound[root], first[root] = w, position
        before = joined
        for i in range(count):
            root = roots[i]
            changed[root] = False
            if bound[root] < least[root]:
                position = first[root]
                other = found.positions[position, best[position]]
                if (
                    other >= begin
                    and other < end
                    and unite(parent, np.uint64(position), np.uint64(other))
                ):
                    a[joined], b[joined], weight[joined] = position, other, bound[root]
                    key[joined] = _key(found, rows, position, best[position])
                    joined += 1
        if joined == before:
            return a[:joined], b[:joined], weight[:joined], key[:joined]
        for position in range(begin, end):
            parent[position] = parent[parent[position]]
        length, count = count, 0
        for i in range(length):
            root = roots[i]
            above = parent[root]
            if above == root:
                roots[count] = root
                count += 1
            else:
                least[above] = min(least[above], least[root])
                changed[above] = True


@kernel(inline="always")
def _first_leaving(weights, positions, rows, parent, position, leaving):
    """Return the index of a point's first listed edge that leaves its component.

    Comparisons of weights and components are as unpredictable as a coin toss, so no
    branch depends on one: each pass computes all entries. `leaving` is memory for the k
    weights of the edges that leave; the others are infinite.
    """
    place, k = np.uint64(position), np.uint64(weights.shape[1])
    root, n = parent[place], np.uint32(len(parent) - 1)
    bound = least = np.inf
    for j in range(k):
        other, weight = positions[place, j], weights[place, j]
        # Not on another rank, whose positions are larger.
        leaves = (other <= n) & (parent[min(other, n)] != root)
        leaving[j] = choose(leaves, weight, np.inf)
    for j in range(np.uint64(1), k, np.uint64(2)):  # two chains of comparisons
        least, bound = min(least, leaving[j - 1]), min(bound, leaving[j])
    bound = min(least, bound, leaving[k - 1])
    if bound == np.inf:
        return INSIDE
    row, first, best = np.uint64(rows[place]), UNKNOWN_KEY, np.uint64(0)
    for j in range(k):
        key = key_of_rows(row, np.uint64(rows[min(positions[place, j], n)]))
        earlier = (leaving[j] == bound) & (key < first)
        first, best = choose(earlier, key, first), choose(earlier, j, best)
    return np.uint32(best)


@kernel(inline="always")
def key_of_rows(one, other):
    """Return the key of an edge between two rows; see `PointEdges`."""
    return min(one, other) << np.uint64(32) | max(one, other)


@kernel
def _key(found, rows, position, j):
    """Return the key of a listed edge; see `PointEdges`."""
    one, other = rows[position], rows[found.positions[position, j]]
    low, high = np.uint64(min(one, other)), np.uint64(max(one, other))
    return low << np.uint64(32) | high


@kernel
def list_leaving(found, rows, state, begin, end):
    """Return the edges listed in a block that may be first between two components.

    Most edges that leave a component lead to few others. A table has the first edge
    between two components at the place of their hash; a pair that finds another pair
    there puts it out to the list, so a pair may be listed more than once. Returns
    columns as `join_block` does.
    """
    parent, best = state.parent, state.best
    k, n = np.uint64(found.weight.shape[1]), np.uint32(len(parent) - 1)
    most = PAIRS + (end - begin) * np.int64(k)  # of which few are written
    a, b = np.empty(most, np.uint32), np.empty(most, np.uint32)
    weight, key = np.empty(most), np.empty(most, np.uint64)
    # The first entries are the table; its pairs are kept beside it.
    pairs, count = np.full(PAIRS, UNKNOWN_KEY), PAIRS
    for position in range(np.uint64(begin), np.uint64(end)):
        if best[position] == INSIDE:
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
