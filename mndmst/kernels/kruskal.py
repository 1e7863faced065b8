"""Kruskal's algorithm with Rem's union-find.

A component is represented by its smallest position, because links always lead to
smaller positions (Rem's algorithm with splicing, Dijkstra 1976; measured fastest
by Patwary, Blair and Manne, SEA 2010).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ..native.kernel import kernel
from .intrinsics import choose, prefetch

# Edges from the one in use to those whose ends, whose ends' parents are fetched, and
# whose paths are halved: in random order every step would otherwise wait for memory.
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


def find_in_python(parent: dict[int, int], x: int) -> int:
    """Return the root of x, halving the path; roots are not in `parent`.

    For few edges, whose kernels would take longer to compile.
    """
    above = parent.get(x, x)
    while above != x:
        parent[x] = x = parent.get(above, above)
        above = parent.get(x, x)
    return x


@kernel
def flatten(parent, begin, end):
    """Point the positions in [begin, end) at their roots.

    Threads may overwrite links that other threads follow: both the old and the new link
    lead to the root.
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
def fetch_ahead(order, mask, step, pairs, parent, beside):
    """Prefetch for the next edges of a pass in ascending order, and halve their paths.

    The bits `mask` of `order` are positions of edges, lightest first; `step` is the
    present index in it. `pairs` has the ends by position: to prefetch them takes less
    time than to sort them. `beside` is another array that is read at a component's
    root.
    """
    count = np.uint64(len(order))
    if step + np.uint64(PAIRS_AHEAD) < count:
        prefetch(pairs, np.intp(order[step + np.uint64(PAIRS_AHEAD)] & mask))
    if step + np.uint64(FETCH_AHEAD) < count:
        pair = pairs[order[step + np.uint64(FETCH_AHEAD)] & mask]
        prefetch(parent, np.intp(pair >> HALF))
        prefetch(parent, np.intp(pair & LOW))
    if step + np.uint64(HALVE_AHEAD) < count:
        pair = pairs[order[step + np.uint64(HALVE_AHEAD)] & mask]
        x, y = pair >> HALF, pair & LOW
        parent[x], parent[y] = parent[parent[x]], parent[parent[y]]
        prefetch(beside, np.intp(parent[x]))
        prefetch(beside, np.intp(parent[y]))


@kernel
def kruskal(order, pairs, parent, mask):
    """Mark the edges that join two components, in ascending order.

    `order` has the positions of edges, lightest first, `pairs` the packed ends by
    position.
    """
    for step in range(np.uint64(len(order))):
        fetch_ahead(order, EVERY_BIT, step, pairs, parent, parent)
        position = order[step]
        pair = pairs[position]
        if unite(parent, pair >> HALF, pair & LOW):
            mask[position] = True


@kernel
def light_positions(key, most):
    """Return the positions of the edges with keys up to `most`, ascending."""
    positions = np.empty(len(key) + 1, np.uint64)
    count = np.uint64(0)
    for i in range(np.uint64(len(key))):
        positions[count] = i
        count += np.uint64(key[i] <= most)
    return positions[:count]


@kernel
def heavy_positions(key, above, pairs, parent):
    """Return the positions of the edges above a key that join two components.

    `parent` is flat.
    """
    positions = np.empty(len(key) + 1, np.uint64)
    count = np.uint64(0)
    for i in range(np.uint64(len(key))):
        if i + np.uint64(FETCH_AHEAD) < np.uint64(len(key)):
            ahead = pairs[i + np.uint64(FETCH_AHEAD)]
            prefetch(parent, np.intp(ahead >> HALF))
            prefetch(parent, np.intp(ahead & LOW))
        crosses = parent[pairs[i] >> HALF] != parent[pairs[i] & LOW]
        positions[count] = i
        count += np.uint64(crosses & (key[i] > above))
    return positions[:count]


def component_labels(
    src: np.ndarray, dst: np.ndarray, num_vertices: int, dtype: DTypeLike = np.int64
) -> np.ndarray:
    """Return for each vertex the smallest vertex of its component, of type `dtype`."""
    label = np.arange(num_vertices, dtype=dtype)
    _label_components(src, dst, label)
    return label


@kernel
def _label_components(src, dst, label):
    """Label components as `component_labels` does; `label` is 0, 1, 2, ... at first."""
    for i in range(len(src)):
        x, y = find(label, np.uint64(src[i])), find(label, np.uint64(dst[i]))
        label[max(x, y)] = min(x, y)
    for v in range(np.uint64(len(label))):
        label[v] = label[label[v]]


class PairEdgeList(NamedTuple):
    """Edges between components: keys, and both ends of each in one word (uint64)."""

    key: np.ndarray
    pairs: np.ndarray
