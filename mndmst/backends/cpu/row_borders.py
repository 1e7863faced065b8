"""Edges across the border of rows that grow: the kernels of `row_growth`."""

import numpy as np

from ...kernels.hooks import HALF, NUMBER
from ...kernels.kruskal import LOW
from ...native.kernel import kernel
from .lightest import chosen, lightest_elsewhere


@kernel
def heavier_to_ghosts(csr, high, hooks, begin, end):
    """Return the edges of rows without an arc in the band, if they lead to ghosts.

    Of the rows in [begin, end).

    Parameters
    ----------
    csr : Csr
    high : same type as `csr.keys`
        The largest key of the band.
    hooks : Hooks
        What `select.select` has made of the rows, those with heavier arcs included.

    Returns
    -------
    u, v, key : ndarray
        The lightest edge of each, in the order of the rows.
    """
    first, indptr, indices, keys = csr
    hook, best = hooks
    largest = ~keys.dtype.type(0)
    count = np.uint64(0)
    for row in range(np.uint64(begin), np.uint64(end)):
        count += np.uint64((hook[row] == row) & (not chosen(best[row], high, largest)))
    u, v = np.empty(count, indices.dtype), np.empty(count, indices.dtype)
    key = np.empty(count, keys.dtype)
    count = np.uint64(0)
    for row in range(np.uint64(begin), np.uint64(end)):
        low, top = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        if hook[row] != row or chosen(best[row], high, largest) or low == top:
            continue
        vertex = np.uint64(first) + row
        arc = lightest_elsewhere(indices, keys, low, top, vertex)
        if arc >= 0:
            head, weight = np.uint64(indices[np.uint64(arc)]), keys[np.uint64(arc)]
            u[count], v[count], key[count] = (
                min(head, vertex),
                max(head, vertex),
                weight,
            )
            count += np.uint64(1)
    return u[:count], v[:count], key[:count]


@kernel
def leaving(u, v, key, first, component, ghost, pairs):
    """Keep, in place, the edges that leave components of the rows; return how many.

    Parameters
    ----------
    component : ndarray of uint32, shape (rows,)
        The number of each row's component, and the bit ROOT.
    ghost : int
        The number that stands for all ghosts, one of which an edge may have.
    pairs : ndarray of uint64
        Gets the numbers at both ends of each edge that is kept.
    """
    before, rows = np.uint64(first), np.uint64(len(component))
    count = np.uint64(0)
    for i in range(np.uint64(len(key))):
        x, y, weight = u[i], v[i], key[i]
        row_x, row_y = np.uint64(x) - before, np.uint64(y) - before
        a = b = np.uint32(ghost)
        if row_x < rows:
            a = component[row_x] & NUMBER
        if row_y < rows:
            b = component[row_y] & NUMBER
        u[count], v[count], key[count] = x, y, weight
        pairs[count] = (np.uint64(a) << HALF) | np.uint64(b)
        count += np.uint64(a != b)
    return count


@kernel
def number_ghosts(pairs, ghost, place):
    """Give each ghost at an end of edges a number of its own, `ghost` + its place.

    Parameters
    ----------
    place : ndarray of uint32
        Of the ghosts of those edges that have one.
    """
    count, ghost = np.uint64(0), np.uint64(ghost)
    for i in range(np.uint64(len(pairs))):
        a, b = pairs[i] >> HALF, pairs[i] & LOW
        if a == ghost:
            pairs[i] = ((ghost + np.uint64(place[count])) << HALF) | b
            count += np.uint64(1)
        elif b == ghost:
            pairs[i] += np.uint64(place[count])
            count += np.uint64(1)
