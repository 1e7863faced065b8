"""Kernels of `CurrentForest`: compressed path trees, and algorithms on a few edges.

A compressed path tree has the given vertices, and the vertices where the paths between
them meet. Each of its edges represents a path, and has the weight of the heaviest edge
on it (Anderson, Blelloch and Tangwongsan, SPAA 2020). So the heaviest edge between two
of these vertices is the same as in the forest.
"""

import numpy as np

from ...kernels.kruskal import HALF, LOW, find
from ...native.kernel import kernel
from ...tree.rooted import lowest_common_ancestor


@kernel
def merge_entered(some, stays, others, merged):
    """Write to `merged` the edges of `some` that `stays` marks, and all of `others`.

    All are `LocatedEdges` in the order of pairs.
    """
    pair, more = some.edges.pair, others.edges.pair
    j, position = 0, 0
    for i in range(len(pair)):
        if stays[i]:
            while j < len(more) and more[j] < pair[i]:
                _copy(others, j, merged, position)
                j, position = j + 1, position + 1
            _copy(some, i, merged, position)
            position += 1
    for rest in range(j, len(more)):
        _copy(others, rest, merged, position)
        position += 1


@kernel
def _copy(edges, i, merged, position):
    merged.edges.pair[position] = edges.edges.pair[i]
    merged.edges.key[position] = edges.edges.key[i]
    for end in range(2):
        merged.positions[end, position] = edges.positions[end, i]
        merged.tops[end, position] = edges.tops[end, i]


NONE = np.uint32(0xFFFFFFFF)


@kernel
def common_ancestors(rooted, at):
    """Return the lowest common ancestors of consecutive vertices in a list.

    A word of `at` (uint64, ascending) has the number of a fragment in the upper half,
    and the position of a vertex in the lower half. So has the result, in no order and
    with repeats.
    """
    ancestors = np.empty(max(1, len(at)), np.uint64)
    count = 0
    for i in range(1, len(at)):
        if at[i] >> HALF == at[i - 1] >> HALF:
            ancestor = lowest_common_ancestor(rooted, at[i - 1] & LOW, at[i] & LOW)
            ancestors[count] = at[i] >> HALF << HALF | ancestor
            count += 1
    return ancestors[:count]


@kernel
def find_parents(rooted, at, parent):
    """Find the parent of each vertex in the compressed path tree.

    `at` is as in `common_ancestors`, with all common ancestors; ascending, none twice.
    `parent` (uint32) becomes the index in `at` of the nearest ancestor in the same
    fragment, or `NONE`.
    """
    for i in range(len(at)):
        parent[i] = NONE
        above = np.uint32(i - 1) if i else NONE
        while above != NONE:
            top = at[above]
            if top >> HALF == at[i] >> HALF and at[i] & LOW < rooted.end[top & LOW]:
                parent[i] = above
                break
            above = parent[above]


@kernel
def mark_forest(count, order, a, b, in_forest):
    """Mark the edges of the forest of `count` vertices, given the edges in order."""
    parent = np.arange(count).astype(np.uint32)
    for edge in order:
        x, y = find(parent, np.uint64(a[edge])), find(parent, np.uint64(b[edge]))
        in_forest[edge] = x != y
        parent[max(x, y)] = min(x, y)


@kernel
def on_paths(a, b, needed):
    """Return a mask of a forest's edges on paths between the vertices in `needed`.

    Leaves that are not needed are removed one after the other. `last` has the exclusive
    or of each vertex's edges, which is the edge of a leaf.
    """
    degree = np.zeros(len(needed), np.uint32)
    last = np.zeros(len(needed), np.uint32)
    for i in range(len(a)):
        for end in (a[i], b[i]):
            degree[end] += np.uint32(1)
            last[end] ^= np.uint32(i)
    mask = np.ones(len(a), np.bool_)
    for vertex in range(len(needed)):
        leaf = np.uint32(vertex)
        while degree[leaf] == 1 and not needed[leaf]:
            edge = last[leaf]
            mask[edge] = False
            degree[leaf] = 0
            leaf = a[edge] ^ b[edge] ^ leaf
            degree[leaf] -= np.uint32(1)
            last[leaf] ^= edge
    return mask
