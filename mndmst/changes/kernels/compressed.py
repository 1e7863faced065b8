"""The compressed path tree of some vertices, and Kruskal's algorithm on a few edges.

The tree has the vertices asked for, and those where the paths between them meet. An
edge stands for a path, and is its heaviest edge (Anderson, Blelloch and Tangwongsan,
SPAA 2020). So between any of these vertices the heaviest edge is that of the forest.
"""

import numpy as np

from ...kernels.kruskal import HALF, LOW, find
from ...native.kernel import kernel
from ...tree.rooted import meeting_place


@kernel
def merge_entered(some, stays, others, merged):
    """Merge to `merged` the edges of `some` that `stays` marks, and all of `others`.

    All are `PlacedEdges` in the order of pairs.
    """
    pair, more = some.edges.pair, others.edges.pair
    j, place = 0, 0
    for i in range(len(pair)):
        if stays[i]:
            while j < len(more) and more[j] < pair[i]:
                _copy(others, j, merged, place)
                j, place = j + 1, place + 1
            _copy(some, i, merged, place)
            place += 1
    for rest in range(j, len(more)):
        _copy(others, rest, merged, place)
        place += 1


@kernel
def _copy(edges, i, merged, place):
    merged.edges.pair[place] = edges.edges.pair[i]
    merged.edges.key[place] = edges.edges.key[i]
    for end in range(2):
        merged.places[end, place] = edges.places[end, i]
        merged.tops[end, place] = edges.tops[end, i]


NONE = np.uint32(0xFFFFFFFF)


@kernel
def meetings(rooted, at):
    """Return the meeting places of the paths between neighbours in a list.

    `at` (uint64, ascending) has the place of a vertex below the place of the top of its
    fragment. So has the result, in no order and with repeats.
    """
    met = np.empty(max(1, len(at)), np.uint64)
    count = 0
    for i in range(1, len(at)):
        if at[i] >> HALF == at[i - 1] >> HALF:
            place = meeting_place(rooted, at[i - 1] & LOW, at[i] & LOW)
            met[count] = at[i] >> HALF << HALF | place
            count += 1
    return met[:count]


@kernel
def hang(rooted, at, parent):
    """Hang vertices on those above them.

    `at` is as in `meetings`, with all places where paths meet; ascending, none twice.
    `parent` (uint32) becomes the position in `at` of the next one above in the same
    fragment; `NONE` without one.
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
def keep_joining(count, order, a, b, kept):
    """Mark the edges that join two components of `count` vertices, in an order."""
    parent = np.arange(count).astype(np.uint32)
    for edge in order:
        x, y = find(parent, np.uint64(a[edge])), find(parent, np.uint64(b[edge]))
        kept[edge] = x != y
        parent[max(x, y)] = min(x, y)


@kernel
def label_joined(count, a, b, label):
    """Label vertices with the smallest that some edges join them with."""
    parent = np.arange(count).astype(np.uint32)
    for i in range(len(a)):
        x, y = find(parent, np.uint64(a[i])), find(parent, np.uint64(b[i]))
        parent[max(x, y)] = min(x, y)
    for i in range(count):
        label[i] = find(parent, np.uint64(i))


@kernel
def on_paths(a, b, needed):
    """Mark the edges of a forest that are on paths between some of its vertices.

    `needed` marks these vertices. Leaves that are not needed are taken off one after
    the other. For each vertex the exclusive or of its edges is kept, which is that of a
    leaf.
    """
    degree = np.zeros(len(needed), np.uint32)
    last = np.zeros(len(needed), np.uint32)
    for i in range(len(a)):
        for end in (a[i], b[i]):
            degree[end] += np.uint32(1)
            last[end] ^= np.uint32(i)
    kept = np.ones(len(a), np.bool_)
    for vertex in range(len(needed)):
        leaf = np.uint32(vertex)
        while degree[leaf] == 1 and not needed[leaf]:
            edge = last[leaf]
            kept[edge] = False
            degree[leaf] = 0
            leaf = a[edge] ^ b[edge] ^ leaf
            degree[leaf] -= np.uint32(1)
            last[leaf] ^= edge
    return kept
