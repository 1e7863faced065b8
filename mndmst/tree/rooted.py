"""A rooted forest, its vertices in a preorder in which subtrees are ranges.

The root of a tree is its smallest vertex. A vertex comes before its descendants, and
its child with the largest subtree comes first. So a subtree is a range of positions in
the order, and so is a heavy path. From any vertex at most log2(n) heavy paths lead to
the root (Sleator and Tarjan 1983).
"""

from typing import NamedTuple

import numpy as np

from ..native.kernel import kernel

NO_EDGE = np.uint32(0xFFFFFFFF)
NO_POSITION = np.uint64(0xFFFFFFFFFFFFFFFF)


class Rooted(NamedTuple):
    """A rooted forest; all arrays are uint32, one entry a vertex."""

    position: np.ndarray  # by vertex: its position in the order
    vertex: np.ndarray  # by position, as the arrays below: the vertex
    parent: np.ndarray  # the position of the parent; of a root the root
    head: np.ndarray  # the position of the first vertex of the heavy path
    end: np.ndarray  # one past the last position of the subtree
    edge: np.ndarray  # the index of the edge to the parent; `NO_EDGE` for a root


def root_forest(a: np.ndarray, b: np.ndarray, label: np.ndarray) -> Rooted:
    """Root a forest, given its edges and the smallest vertex of each tree."""
    parent, edge, size, leaves_first = _strip_leaves(a, b, label)
    rooted = Rooted(*(np.empty(len(label), np.uint32) for _ in Rooted._fields))
    _number_vertices(parent, edge, size, leaves_first, label, rooted)
    return rooted


@kernel
def _strip_leaves(a, b, label):
    """Remove leaf after leaf, never a root; a leaf's neighbour becomes its parent.

    For each vertex `parent` has the exclusive or of its neighbours, and `edge` that of
    its edges: for a leaf, its only neighbour and its only edge.
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
        # The outer loop visits a parent with a larger id later.
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
def _number_vertices(parent, edge, size, leaves_first, label, rooted):
    """Assign positions, parents before children."""
    position, vertex, parent_position, head, end, edge_to_parent = rooted
    heavy = np.full(len(label), NO_EDGE, np.uint32)
    for leaf in leaves_first:
        above = parent[leaf]
        if heavy[above] == NO_EDGE or size[leaf] > size[heavy[above]]:
            heavy[above] = leaf
    free = np.empty(len(label), np.uint32)  # the position of the next light child
    top = np.uint64(0)
    for x in range(np.uint64(len(label))):
        if label[x] == x:
            position[x], vertex[top] = top, x
            parent_position[top] = head[top] = top
            end[top], edge_to_parent[top] = top + np.uint64(size[x]), NO_EDGE
            if heavy[x] != NO_EDGE:
                free[x] = top + np.uint64(1) + np.uint64(size[heavy[x]])
            top += np.uint64(size[x])
    for i in range(len(leaves_first) - 1, -1, -1):
        x = np.uint64(leaves_first[i])
        above = np.uint64(parent[x])
        if heavy[above] == x:
            here = np.uint64(position[above]) + np.uint64(1)
            head[here] = head[position[above]]
        else:
            here = np.uint64(free[above])
            free[above] += size[x]
            head[here] = here
        position[x], vertex[here] = here, x
        parent_position[here] = position[above]
        end[here], edge_to_parent[here] = here + np.uint64(size[x]), edge[x]
        if heavy[x] != NO_EDGE:
            free[x] = here + np.uint64(1) + np.uint64(size[heavy[x]])


@kernel
def lowest_common_ancestor(rooted, x, y):
    """Return two positions' lowest common ancestor; `NO_POSITION` in two trees."""
    x, y = np.uint64(x), np.uint64(y)
    while rooted.head[x] != rooted.head[y]:
        # The vertex whose path begins later is not an ancestor of the other.
        if rooted.head[x] < rooted.head[y]:
            x, y = y, x
        begin = np.uint64(rooted.head[x])
        above = np.uint64(rooted.parent[begin])
        if above == begin:
            return NO_POSITION
        x = above
    return min(x, y)


@kernel
def path_lengths(rooted, u, v, lengths):
    """Count the edges between the ends of pairs; none between two trees."""
    for i in range(len(u)):
        x, y = np.uint64(rooted.position[u[i]]), np.uint64(rooted.position[v[i]])
        top = lowest_common_ancestor(rooted, x, y)
        lengths[i] = 0
        if top != NO_POSITION:
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
        x, y = np.uint64(rooted.position[u[i]]), np.uint64(rooted.position[v[i]])
        top = lowest_common_ancestor(rooted, x, y)
        # On a heavy path a vertex has the position after its parent's.
        while x != top:
            edges[front] = rooted.edge[x]
            front += 1
            x = np.uint64(rooted.parent[x])
        while y != top:
            back -= 1
            edges[back] = rooted.edge[y]
            y = np.uint64(rooted.parent[y])


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
