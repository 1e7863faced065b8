"""Kernels of the certificate: the tree of merges, and every arc tested on it.

Kruskal's algorithm on the forest links components by size, without path compression, so
no path is longer than log2(nodes). Every link has the rank of the edge that made it;
ranks ascend towards the root. The last edge, in the order, on the forest path between
two nodes is the edge that merged their components. To find it, both nodes climb, always
the one with the earlier link, until they meet: it is the edge of the last link.

These kernels share no code with the solver's.
"""

from typing import NamedTuple

import numpy as np

from ..kernels.binary_search import first_above
from ..native.kernel import kernel

FINE, APART, LIGHTER, MISSING, UNEQUAL = range(5)  # flaws of an edge

# Odd constants of the splitmix64 generator.
_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_3 = np.uint64(0x94D049BB133111EB)


class Links(NamedTuple):
    """A forest with the links of its components; see `build_links`."""

    # the ends as nodes, which compare as their ids do
    a: np.ndarray
    b: np.ndarray
    ranked: np.ndarray  # the keys of the edges in ascending order
    edge: np.ndarray
    link: np.ndarray


@kernel
def build_links(a, b, edge, link, closes):
    """Link the components of a forest's nodes, edge after edge in the order.

    `a` and `b` are the ends as nodes; `edge` has their positions in the order. `link`,
    shape (nodes, 2), becomes the parent of each node and the rank of the edge between
    them; a root is its parent, and its rank is the number of edges. `closes` marks
    edges that close a cycle with earlier ones.
    """
    num_edges = len(edge)
    size = np.ones(len(link), link.dtype)
    for node in range(len(link)):
        link[node, 0] = node
        link[node, 1] = num_edges
    for rank in range(num_edges):
        low, high = _root(link, a[edge[rank]]), _root(link, b[edge[rank]])
        closes[edge[rank]] = low == high
        if low == high:
            continue
        if size[low] > size[high]:
            low, high = high, low
        link[low, 0] = high
        link[low, 1] = rank
        size[high] += size[low]


@kernel
def smallest_nodes(link, smallest):
    """Set `smallest` to the smallest node in the tree of each node."""
    seen = np.zeros(len(link), np.bool_)
    for node in range(len(link)):
        root = _root(link, node)
        if not seen[root]:
            seen[root] = True
            smallest[root] = node
        smallest[node] = smallest[root]


@kernel
def last_on_path(link, num_edges, a, b):
    """Return the rank of the last edge between two nodes; num_edges without a path."""
    x, y = np.int64(a), np.int64(b)
    last = np.int64(num_edges)
    while x != y:
        if link[x, 1] <= link[y, 1]:
            last = np.int64(link[x, 1])
            x = np.int64(link[x, 0])
        else:
            last = np.int64(link[y, 1])
            y = np.int64(link[y, 0])
        if last == num_edges:
            break
    return last


@kernel
def check_arcs(csr, heads, nodes, forest, flaw):
    """Test the arcs of some rows that lead to larger ids, and hash all arcs.

    `heads` and `nodes` are the rows' vertices and `csr.indices` as nodes of the forest.
    `flaw` (by arc, initially zero) becomes APART or LIGHTER for arcs that refute the
    forest.

    Returns the number of arcs to larger ids, parallel ones counted once, and a balance:
    a hash of the arcs to larger ids minus that of the others, modulo 2**64. The sum
    over all rows is zero if each edge is in the rows of both its ends.
    """
    first, indptr, indices, keys = csr
    a, b, ranked, edge, link = forest
    distinct, balance = 0, np.uint64(0)
    for row in range(len(indptr) - 1):
        u = np.int64(first + row)
        for arc in range(indptr[row], indptr[row + 1]):
            v = np.int64(indices[arc])
            if v < u:
                balance -= _mix(v, u, keys[arc])
            if v <= u:
                continue
            balance += _mix(u, v, keys[arc])
            distinct += arc == indptr[row] or indices[arc - 1] != indices[arc]
            last = last_on_path(link, len(edge), heads[row], nodes[arc])
            if last == len(edge):
                flaw[arc] = APART
                continue
            if keys[arc] < ranked[last] or (
                keys[arc] == ranked[last]
                and (heads[row], nodes[arc]) < (a[edge[last]], b[edge[last]])
            ):
                flaw[arc] = LIGHTER
    return distinct, balance


@kernel
def match_edges(csr, src, dst, edge_keys, lightest, flaw):
    """Look forest edges up in the rows of their smaller ends.

    `src` are vertices of the rows. `lightest` becomes the key of the edge's lightest
    arc, if there is one. `flaw` (initially zero) becomes MISSING, or UNEQUAL if that is
    not the edge's key.
    """
    first, indptr, indices, keys = csr
    for position in range(len(src)):
        row = np.int64(src[position]) - first
        begin, end = indptr[row], indptr[row + 1]
        arc = begin + first_above(indices[begin:end], np.int64(dst[position]) - 1)
        if arc == end or indices[arc] != dst[position]:
            flaw[position] = MISSING
            continue
        lightest[position] = keys[arc]
        while arc < end and indices[arc] == dst[position]:
            lightest[position] = min(lightest[position], keys[arc])
            arc += 1
        if lightest[position] != edge_keys[position]:
            flaw[position] = UNEQUAL


@kernel
def _root(link, node):
    root = np.int64(node)
    while np.int64(link[root, 0]) != root:
        root = np.int64(link[root, 0])
    return root


@kernel
def _mix(u, v, key):
    mixed = np.uint64(u) * _MIX_1 + np.uint64(v)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * _MIX_2 + np.uint64(key)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX_3
    return mixed ^ (mixed >> np.uint64(32))
