"""Kruskal's algorithm with Rem's union-find.

A component is represented by its smallest position, because links always lead to
smaller positions (Rem's algorithm with splicing, Dijkstra 1976; measured fastest
by Patwary, Blair and Manne, SEA 2010).
"""

from typing import NamedTuple

import numpy as np

from ..native.kernel import kernel
from .intrinsics import choose, prefetch

# How many edges ahead the ends are fetched, then the parents of the ends, and then
# their paths are halved: in random order every step would otherwise wait for memory.
PAIRS_AHEAD = 48
FETCH_AHEAD = 24
HALVE_AHEAD = 6

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
EVERY_BIT = ~np.uint64(0)


@kernel
def unite(parent, x, y):
    """Join the components of x and y; return whether they were two."""
    px, py = parent[x], parent[y]
    while px != py:
        lower = px < py
        x, y = choose(lower, y, x), choose(lower, x, y)
        px, py = max(px, py), min(px, py)
        parent[x] = py
        if np.uint64(px) == np.uint64(x):
            return True
        x = np.uint64(px)
        px = parent[x]
    return False


@kernel
def find(parent, x):
    """Return the smallest position of the component of x, halving the path."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = np.uint64(parent[x])
    return np.uint64(x)


@kernel
def flatten(parent, begin, end):
    """Point the positions in [begin, end) at their roots.

    Threads may write links that others follow: both the old and the new one lead to
    the root.
    """
    for i in range(np.uint64(begin), np.uint64(end)):
        if i + np.uint64(FETCH_AHEAD) < np.uint64(end):
            prefetch(parent, np.intp(parent[i + np.uint64(FETCH_AHEAD)]))
        root = parent[i]
        while parent[root] != root:
            root = parent[root]
        parent[i] = root


@kernel
def pack_pairs(a, b, begin, end, pairs):
    """Put both ends of each edge in one word, so that one access fetches both."""
    for i in range(np.uint64(begin), np.uint64(end)):
        pairs[i] = (np.uint64(a[i]) << HALF) | np.uint64(b[i])


@kernel
def fetch_ahead(order, mask, place, pairs, parent, beside):
    """Fetch into cache what a pass in ascending order soon reads; halve paths ahead.

    `order` has the edges' positions in the bits `mask`, lightest first; the pass has
    come to `place`. `pairs` has the ends by position: fetching them ahead takes less
    time than to bring them into the order before. `beside` is another array that is
    read at a component's root.
    """
    count = np.uint64(len(order))
    if place + np.uint64(PAIRS_AHEAD) < count:
        prefetch(pairs, np.intp(order[place + np.uint64(PAIRS_AHEAD)] & mask))
    if place + np.uint64(FETCH_AHEAD) < count:
        pair = pairs[order[place + np.uint64(FETCH_AHEAD)] & mask]
        prefetch(parent, np.intp(pair >> HALF))
        prefetch(parent, np.intp(pair & LOW))
    if place + np.uint64(HALVE_AHEAD) < count:
        pair = pairs[order[place + np.uint64(HALVE_AHEAD)] & mask]
        x, y = pair >> HALF, pair & LOW
        parent[x], parent[y] = parent[parent[x]], parent[parent[y]]
        prefetch(beside, np.intp(parent[x]))
        prefetch(beside, np.intp(parent[y]))


@kernel
def kruskal(order, pairs, parent, kept):
    """Mark in `kept` the edges that join two components, in ascending order.

    `order` has the positions of edges, lightest first, `pairs` the packed ends by
    position.
    """
    for place in range(np.uint64(len(order))):
        fetch_ahead(order, EVERY_BIT, place, pairs, parent, parent)
        position = order[place]
        pair = pairs[position]
        if unite(parent, pair >> HALF, pair & LOW):
            kept[position] = True


@kernel
def light_positions(key, most):
    """Return the positions of the edges with keys up to one, ascending."""
    found = np.empty(len(key) + 1, np.uint64)
    count = np.uint64(0)
    for i in range(np.uint64(len(key))):
        found[count] = i
        count += np.uint64(key[i] <= most)
    return found[:count]


@kernel
def heavy_positions(key, above, pairs, parent):
    """Return the positions of the edges above a key that join two components.

    `parent` is flat.
    """
    found = np.empty(len(key) + 1, np.uint64)
    count = np.uint64(0)
    for i in range(np.uint64(len(key))):
        if i + np.uint64(FETCH_AHEAD) < np.uint64(len(key)):
            ahead = pairs[i + np.uint64(FETCH_AHEAD)]
            prefetch(parent, np.intp(ahead >> HALF))
            prefetch(parent, np.intp(ahead & LOW))
        apart = parent[pairs[i] >> HALF] != parent[pairs[i] & LOW]
        found[count] = i
        count += np.uint64(apart & (key[i] > above))
    return found[:count]


@kernel
def component_labels(src, dst, num_vertices):
    """Return for each vertex the smallest vertex of its component."""
    parent = np.arange(num_vertices)
    for i in range(len(src)):
        x, y = find(parent, np.uint64(src[i])), find(parent, np.uint64(dst[i]))
        parent[max(x, y)] = min(x, y)
    for v in range(num_vertices):
        parent[v] = parent[parent[v]]
    return parent


class PairEdgeList(NamedTuple):
    """Edges between components: keys, and both ends of each in one word (uint64)."""

    key: np.ndarray
    pairs: np.ndarray
