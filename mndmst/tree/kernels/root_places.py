"""Kernels that choose roots, and scan rooted trees in the order of positions."""

import numpy as np

from ...native.kernel import kernel


@kernel
def choose_least(label, value, chosen):
    """Choose in each tree the vertex with the least value; of equals, the smallest."""
    for x in range(np.uint64(len(label))):
        if value[x] < value[chosen[label[x]]]:
            chosen[label[x]] = np.uint32(x)


@kernel
def add_down(parent, edge, length, depth, distance):
    """Compute depths in edges and in lengths; parents are before their children."""
    for here in range(np.uint64(len(parent))):
        above = np.uint64(parent[here])
        if above != here:
            depth[here] = depth[above] + 1
            distance[here] = distance[above] + length[edge[here]]


@kernel
def count_to_farthest(parent, farthest):
    """Count the edges between each vertex and the vertex farthest from it.

    The path leads down, or up and perhaps down again through another child. `farthest`
    is zero at first.
    """
    count = np.uint64(len(parent))
    second = np.zeros(count, np.int64)  # the longest path down through another child
    up = np.zeros(count, np.int64)
    for here in range(np.int64(count) - 1, -1, -1):
        above = np.uint64(parent[here])
        way = farthest[here] + 1
        if above != np.uint64(here):
            if way > farthest[above]:
                second[above], farthest[above] = farthest[above], way
            elif way > second[above]:
                second[above] = way
    for here in range(count):
        above = np.uint64(parent[here])
        if above != here:
            down = farthest[above]
            if farthest[here] + 1 == down:
                down = second[above]
            up[here] = max(up[above], down) + 1
    for here in range(count):
        farthest[here] = max(farthest[here], up[here])
