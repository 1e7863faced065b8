"""A forest with roots, its vertices in an order in which subtrees are ranges.

Each tree hangs from its smallest vertex. A vertex comes before all below it, and first
after it comes the child with the largest subtree. So a subtree is a range of places,
and so is a heavy path: from any vertex at most log2(n) heavy paths lead to the root
(Sleator and Tarjan 1983).
"""

from typing import NamedTuple

import numpy as np

from ..native.kernel import kernel

NO_EDGE = np.uint32(0xFFFFFFFF)
NO_PLACE = np.uint64(0xFFFFFFFFFFFFFFFF)


class Rooted(NamedTuple):
    """A rooted forest; all arrays are uint32, one entry a vertex."""

    place: np.ndarray  # by vertex, its place
    vertex: np.ndarray  # by place, as all that follow
    parent: np.ndarray  # the place of the parent; a root's own
    head: np.ndarray  # the place where its heavy path begins, the end nearest the root
    end: np.ndarray  # one past the last place of its subtree
    edge: np.ndarray  # the position of the edge to the parent; `NO_EDGE` for a root


def root_forest(a: np.ndarray, b: np.ndarray, label: np.ndarray) -> Rooted:
    """Root a forest, given its edges and the smallest vertex of each tree."""
    parent, edge, size, leaves_first = _strip_leaves(a, b, label)
    rooted = Rooted(*(np.empty(len(label), np.uint32) for _ in Rooted._fields))
    _place_vertices(parent, edge, size, leaves_first, label, rooted)
    return rooted


@kernel
def _strip_leaves(a, b, label):
    """Remove leaf after leaf, never a root; a leaf's neighbour becomes its parent.

    Each vertex has the exclusive or of its neighbours, and of its edges: of a leaf
    these are the only neighbour and the only edge.
    """
    vertices = np.uint64(len(label))
    parent = np.zeros(vertices, np.uint32)
    edge = np.zeros(vertices, np.uint32)
    degree = np.zeros(vertices, np.uint32)
    size = np.ones(vertices, np.uint32)
    for i in range(np.uint64(len(a))):
        for end, other in ((a[i], b[i]), (b[i], a[i])):
            parent[end] ^= other
            edge[end] ^= np.uint32(i)
            degree[end] += np.uint32(1)
    leaves_first = np.empty(len(a), np.uint32)
    count = np.uint64(0)
    for first in range(vertices):
        leaf = first
        # A parent further on is reached by the loop around.
        while leaf <= first and degree[leaf] == 1 and label[leaf] != leaf:
            above = np.uint64(parent[leaf])
            leaves_first[count] = leaf
            count += np.uint64(1)
            degree[leaf] = 0
            degree[above] -= np.uint32(1)
            parent[above] ^= np.uint32(leaf)
            edge[above] ^= edge[leaf]
            size[above] += size[leaf]
            leaf = above
    return parent, edge, size, leaves_first


@kernel
def _place_vertices(parent, edge, size, leaves_first, label, rooted):
    """Give places, parents before children."""
    place, vertex, parent_place, head, end, edge_to_parent = rooted
    heavy = np.full(len(label), NO_EDGE, np.uint32)
    for leaf in leaves_first:
        above = parent[leaf]
        if heavy[above] == NO_EDGE or size[leaf] > size[heavy[above]]:
            heavy[above] = leaf
    free = np.empty(len(label), np.uint32)  # where the next light child goes
    top = np.uint64(0)
    for x in range(np.uint64(len(label))):
        if label[x] == x:
            place[x], vertex[top] = top, x
            parent_place[top] = head[top] = top
            end[top], edge_to_parent[top] = top + np.uint64(size[x]), NO_EDGE
            if heavy[x] != NO_EDGE:
                free[x] = top + np.uint64(1) + np.uint64(size[heavy[x]])
            top += np.uint64(size[x])
    for i in range(len(leaves_first) - 1, -1, -1):
        x = np.uint64(leaves_first[i])
        above = np.uint64(parent[x])
        if heavy[above] == x:
            here = np.uint64(place[above]) + np.uint64(1)
            head[here] = head[place[above]]
        else:
            here = np.uint64(free[above])
            free[above] += size[x]
            head[here] = here
        place[x], vertex[here] = here, x
        parent_place[here] = place[above]
        end[here], edge_to_parent[here] = here + np.uint64(size[x]), edge[x]
        if heavy[x] != NO_EDGE:
            free[x] = here + np.uint64(1) + np.uint64(size[heavy[x]])


@kernel
def meeting_place(rooted, x, y):
    """Return the lowest common ancestor of two places; `NO_PLACE` in two trees."""
    x, y = np.uint64(x), np.uint64(y)
    while rooted.head[x] != rooted.head[y]:
        # The one whose path begins later cannot be above the other.
        if rooted.head[x] < rooted.head[y]:
            x, y = y, x
        begin = np.uint64(rooted.head[x])
        above = np.uint64(rooted.parent[begin])
        if above == begin:
            return NO_PLACE
        x = above
    return min(x, y)


@kernel
def path_lengths(rooted, u, v, lengths):
    """Count the edges between the ends of pairs; none between two trees."""
    for i in range(len(u)):
        x, y = np.uint64(rooted.place[u[i]]), np.uint64(rooted.place[v[i]])
        top = meeting_place(rooted, x, y)
        lengths[i] = 0
        if top != NO_PLACE:
            for end in (x, y):
                here = end
                while rooted.head[here] != rooted.head[top]:
                    begin = np.uint64(rooted.head[here])
                    lengths[i] += here - begin + np.uint64(1)
                    here = np.uint64(rooted.parent[begin])
                lengths[i] += here - top


@kernel
def write_paths(rooted, u, v, offsets, edges):
    """Write the positions of the edges between the ends of pairs, from u to v.

    `offsets` has the begin of each pair's edges in `edges`, and the end of all.
    """
    for i in range(len(u)):
        front, back = offsets[i], offsets[i + 1]
        if front == back:
            continue
        x, y = np.uint64(rooted.place[u[i]]), np.uint64(rooted.place[v[i]])
        top = meeting_place(rooted, x, y)
        # On a heavy path the places descend one by one.
        while x != top:
            edges[front] = rooted.edge[x]
            front += 1
            x = np.uint64(rooted.parent[x])
        while y != top:
            back -= 1
            edges[back] = rooted.edge[y]
            y = np.uint64(rooted.parent[y])
