"""The trees of some edges, by union and find."""

import numpy as np

from ..native.kernel import kernel


@kernel
def _find(parent, x):
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@kernel
def cut(src, dst, kept, num_vertices):
    """Return for each vertex the smallest one that the kept edges join it with."""
    parent = np.arange(num_vertices)
    for i in range(len(src)):
        if kept[i]:
            x, y = _find(parent, src[i]), _find(parent, dst[i])
            parent[max(x, y)] = min(x, y)
    for v in range(num_vertices):
        parent[v] = parent[parent[v]]
    return parent
