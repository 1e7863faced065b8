"""Kruskal's algorithm with Rem's union-find, and its border-excepting variant.

A component is represented by its smallest position, because links always lead to
smaller positions (Rem's algorithm with splicing, Dijkstra 1976; measured fastest
by Patwary, Blair and Manne, SEA 2010).
"""

import numpy as np
from numba import njit

from .intrinsics import prefetch

# How many edges ahead the ends, and then their parents, are fetched.
ENDS_AHEAD = 28
PARENTS_AHEAD = 14


@njit(nogil=True, cache=True)
def unite(parent, x, y):
    """Join the components of x and y; return whether they were two."""
    px, py = parent[x], parent[y]
    while px != py:
        if px < py:
            x, y = y, x
            px, py = py, px
        parent[x] = py
        if np.uint64(px) == np.uint64(x):
            return True
        x = np.uint64(px)
        px = parent[x]
    return False


@njit(nogil=True, cache=True)
def find(parent, x):
    """Return the smallest position of the component of x, halving the path."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = np.uint64(parent[x])
    return np.uint64(x)


@njit(nogil=True, cache=True)
def flatten(parent):
    """Point every position at its root; links lead to smaller positions."""
    for i in range(len(parent)):
        parent[i] = parent[parent[i]]


@njit(nogil=True, cache=True)
def kruskal(order, a, b, parent, kept):
    """Mark the edges that join two components, in ascending order.

    Parameters
    ----------
    order : ndarray of uint64
        The edges' positions, lightest first.
    a, b : ndarray of uint32
        Ends as positions in `parent`.
    parent : ndarray of uint32
        Union-find links; updated.
    kept : ndarray of bool
        Set for each edge that joins two components.
    """
    count = len(order)
    for i in range(count):
        if i + ENDS_AHEAD < count:
            prefetch(a, np.intp(order[i + ENDS_AHEAD]))
            prefetch(b, np.intp(order[i + ENDS_AHEAD]))
        if i + PARENTS_AHEAD < count:
            ahead = order[i + PARENTS_AHEAD]
            prefetch(parent, np.intp(a[ahead]))
            prefetch(parent, np.intp(b[ahead]))
        edge = order[i]
        if unite(parent, np.uint64(a[edge]), np.uint64(b[edge])):
            kept[edge] = True


@njit(nogil=True, cache=True)
def border_excepting_kruskal(order, a, b, own, parent, final):
    """Join components along their lightest edges, except across borders.

    In ascending order, an edge to a ghost freezes the component at its own end:
    every heavier edge of it must wait. An edge between two own components is the
    lightest of the one that is not frozen, hence final; between two frozen ones
    it waits. This reaches the same partition as Borůvka rounds with the border
    exception (Panja and Vadhiyar 2018, section 3.2) that run until nothing moves.
    """
    frozen = ~own
    for edge in order:
        x = find(parent, np.uint64(a[edge]))
        y = find(parent, np.uint64(b[edge]))
        if x == y:
            continue
        if not own[a[edge]] or not own[b[edge]]:
            frozen[x] = True
            frozen[y] = True
        elif not (frozen[x] and frozen[y]):
            low, high = min(x, y), max(x, y)
            parent[high] = low
            frozen[low] = frozen[x] or frozen[y]
            final[edge] = True
