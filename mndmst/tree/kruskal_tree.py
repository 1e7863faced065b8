"""Kruskal's tree by size: for each component the component it joined, and the edge.

The edges of a forest are taken in ascending order, and each joins two components. The
top of the smaller one gets a link to the top of the larger one, labelled with the
edge's rank. Links are never shortened, so a vertex has at most log2(n) links above it,
their ranks ascend, and the components at any moment are what links of lower ranks join.
The heaviest edge between two vertices is the last link where both climb to meet, always
the one whose next link has the lower rank.

A link is one word of 64 bits, the rank above the vertex it leads to, so that to
climb is one access, and words compare as ranks. A top has the rank `UNLINKED` and
leads to itself. No two vertices have the same word.
"""

import numpy as np

from ..kernels.intrinsics import prefetch
from ..kernels.kruskal import HALF, LOW, find
from ..native.kernel import kernel

UNLINKED = np.uint64(0xFFFFFFFF)
# How many pairs ahead the first links are fetched.
AHEAD = 16


@kernel
def link_by_size(order, a, b, links):
    """Join the ends of edges in ascending order; return how many joined two components.

    Stops at the first that does not. `order` has the positions of edges, lightest
    first; `links` (uint64, by vertex) is filled in.
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
    """Label vertices with the smallest that edges of ranks below `end` join to them."""
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
