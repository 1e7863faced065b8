"""Kruskal's tree by size: a union-find forest whose links have the ranks of edges.

The edges of a forest are processed in ascending order, and each merges two components.
The root of the smaller one gets a link to the root of the larger one, labelled with the
edge's rank. Paths are never compressed, so a vertex has at most log2(n) links above it,
whose ranks ascend, and the links of ranks below r connect the components after r edges.
To find the heaviest edge between two vertices, both climb, always the one whose next
link has the lower rank, until they meet: the last link is this edge.

A link is one word of 64 bits, the rank in the upper half, the vertex in the lower one.
So a step takes one access, and words compare as ranks. A root has the rank `UNLINKED`
and links to itself. No two vertices have the same word.
"""

import numpy as np

from ..kernels.intrinsics import prefetch
from ..kernels.kruskal import HALF, LOW, find
from ..native.kernel import kernel

UNLINKED = np.uint64(0xFFFFFFFF)
# Pairs from the one in use to the one whose links are prefetched.
AHEAD = 16


@kernel
def link_by_size(order, a, b, links):
    """Merge components along edges in ascending order; return the number of merges.

    Stops at the first edge inside a component. `order` has the positions of edges,
    lightest first; `links` (uint64, by vertex) is filled in.
    """
    count = np.uint64(len(order))
    parent = np.arange(len(links)).astype(np.uint32)
    size = np.ones(len(links), np.uint32)
    for x in range(np.uint64(len(links))):
        links[x] = (UNLINKED << HALF) | x
    for rank in range(count):
        if rank + np.uint64(AHEAD) < count:
            ahead = order[rank + np.uint64(AHEAD)]
            prefetch(parent, np.intp(a[ahead]))
            prefetch(parent, np.intp(b[ahead]))
        edge = order[rank]
        x = find(parent, np.uint64(a[edge]))
        y = find(parent, np.uint64(b[edge]))
        if x == y:
            return rank
        if size[x] > size[y] or (size[x] == size[y] and x < y):
            x, y = y, x
        links[x] = (rank << HALF) | y
        parent[x] = y
        size[y] += size[x]
    return count


@kernel
def heaviest_rank(links, x, y):
    """Return the highest rank between two vertices; `UNLINKED` if there is no edge."""
    low, high = links[x], links[y]
    rank = UNLINKED
    while low != high:
        low, high = min(low, high), max(low, high)
        rank = low >> HALF
        if rank == UNLINKED:
            return rank
        low = links[low & LOW]
    return rank


@kernel
def heaviest_between(links, order, u, v, heaviest):
    """Find the position of the heaviest edge between the ends of pairs.

    `order` has the positions of edges by rank. `heaviest` becomes -1 where both ends
    are the same or in different trees.
    """
    count = np.uint64(len(u))
    for i in range(count):
        if i + np.uint64(AHEAD) < count:
            prefetch(links, np.intp(u[i + np.uint64(AHEAD)]))
            prefetch(links, np.intp(v[i + np.uint64(AHEAD)]))
        rank = heaviest_rank(links, u[i], v[i])
        heaviest[i] = -1 if rank == UNLINKED else np.int64(order[rank])


@kernel
def smallest_within(links, end, label):
    """Label vertices with the smallest vertex connected by ranks below `end`."""
    end = np.uint64(end)
    smallest = np.full(len(links), LOW, np.uint32)
    for vertex in range(np.uint64(len(links))):
        top, word = vertex, links[vertex]
        while word >> HALF < end:
            top = word & LOW
            word = links[top]
        if smallest[top] == LOW:
            smallest[top] = vertex
        label[vertex] = smallest[top]
