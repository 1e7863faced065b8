"""Graphs for the device, their rows, and the forests they should have."""

import numpy as np

from mndmst.graph.model import Rows

KEYS = (np.uint32, np.uint64)
IDS = (np.uint32, np.int64)
SHAPES = ("gnm", "dense", "tied", "equal", "star", "path", "loops", "parts", "grid")


def edges_of(shape, rng, dtype):
    """Return n and undirected edges (u, v, key) with loops and parallels."""
    n, m, top = 3000, 12000, np.iinfo(dtype).max
    u, v = rng.integers(0, n, m), rng.integers(0, n, m)
    key = rng.integers(0, top, m, dtype, endpoint=True)
    if shape == "dense":
        n, m = 400, 60000
        u, v = rng.integers(0, n, m), rng.integers(0, n, m)
        key = rng.integers(0, top, m, dtype, endpoint=True)
    elif shape == "tied":
        key = rng.integers(top - 3, top, m, dtype, endpoint=True)
    elif shape == "equal":
        key = np.full(m, top, dtype)
    elif shape == "star":
        u = np.where(rng.random(m) < 0.9, 1500, u)
    elif shape == "path":
        n = 200_000
        u, v = np.arange(n - 1), np.arange(1, n)
        key = np.arange(n - 1, dtype=dtype)
    elif shape == "loops":
        v = np.where(rng.random(m) < 0.5, u, v)
        key = np.where(u == v, 0, key).astype(dtype)
    elif shape == "parts":
        n = 50_000
    elif shape == "grid":
        side = 300
        n = side * side
        x = np.arange(n)
        right, down = x[x % side < side - 1], x[x < n - side]
        u, v = np.concatenate((right, down)), np.concatenate((right + 1, down + side))
        key = rng.integers(0, 50, len(u), dtype)
    return n, np.minimum(u, v), np.maximum(u, v), key


def csr(n, u, v, key, ids):
    """Return all rows: both arcs of each edge, a loop once, ascending in a row."""
    one = u != v
    source = np.concatenate((u, v[one]))
    target = np.concatenate((v, u[one]))
    weight = np.concatenate((key, key[one]))
    order = np.lexsort((weight, target, source))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=n))))
    return Rows(0, n, indptr.astype(np.int64), target[order].astype(ids), weight[order])


def kruskal(u, v, key, a=None, b=None):
    """Return (u, v, key) of the forest, sorted; a and b stand in for the ends."""
    a, b = u if a is None else a, v if b is None else b
    parent = {}

    def find(x):
        while parent.setdefault(x, x) != x:
            parent[x] = x = parent[parent[x]]
        return x

    chosen = []
    for i in np.lexsort((v, u, key)).tolist():
        x, y = find(int(a[i])), find(int(b[i]))
        if x != y:
            parent[x] = y
            chosen.append(i)
    chosen = np.array(chosen, np.int64)
    chosen = chosen[np.lexsort((v[chosen], u[chosen]))]
    return u[chosen], v[chosen], key[chosen]


def check(edges, expected, ids, keys):
    assert (edges.u.dtype, edges.v.dtype, edges.key.dtype) == (ids, ids, keys)
    for column, right in zip((edges.u, edges.v, edges.key), expected, strict=True):
        np.testing.assert_array_equal(column, right)


def check_labels(label, u, v, n):
    """Every tree carries the smallest of its vertices."""
    import scipy.sparse as sp

    tree = sp.coo_matrix((np.ones(len(u)), (u, v)), (n, n))
    _, component = sp.csgraph.connected_components(tree, directed=False)
    smallest = np.full(n, n)
    np.minimum.at(smallest, component, np.arange(n))
    np.testing.assert_array_equal(label, smallest[component])
