"""Edges across the border of rows that grow: the kernels of `row_growth`."""

import numpy as np

from ...kernels.hooks import HALF, NUMBER, ROOT
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
def leaving(u, v, key, first, component, pairs, ghosts):
    """Keep, in place, the edges that leave components of the rows.

    Parameters
    ----------
    component : ndarray of uint32, shape (rows,)
        The number of each row's component, and the bit ROOT.
    pairs : ndarray of uint64
        Gets the numbers at both ends of each edge that is kept. A ghost, at one end
        at the most, has the bit ROOT and a place in `ghosts`.
    ghosts : ndarray of int64
        Gets the ids of the ghosts, edge by edge.

    Returns
    -------
    count, away : int
        How many edges are kept, and how many ghosts there are at their ends.
    """
    before, rows = np.uint64(first), np.uint64(len(component))
    count = away = np.uint64(0)
    for i in range(np.uint64(len(key))):
        x, y, weight = u[i], v[i], key[i]
        row_x, row_y = np.uint64(x) - before, np.uint64(y) - before
        if row_x < rows and row_y < rows:
            a, b = component[row_x] & NUMBER, component[row_y] & NUMBER
        elif row_x < rows:
            a, b = component[row_x] & NUMBER, ROOT | np.uint32(away)
            ghosts[away] = y
            away += np.uint64(1)
        else:
            a, b = ROOT | np.uint32(away), component[row_y] & NUMBER
            ghosts[away] = x
            away += np.uint64(1)
        u[count], v[count], key[count] = x, y, weight
        pairs[count] = (np.uint64(a) << HALF) | np.uint64(b)
        count += np.uint64(a != b)
    return count, away


@kernel
def number_ghosts(pairs, place, own):
    """Replace the places of ghosts by their numbers, which begin at `own`."""
    for i in range(np.uint64(len(pairs))):
        a, b = np.uint32(pairs[i] >> HALF), np.uint32(pairs[i] & LOW)
        if (a | b) & ROOT:
            if a & ROOT:
                a = np.uint32(own + place[np.uint64(a & NUMBER)])
            else:
                b = np.uint32(own + place[np.uint64(b & NUMBER)])
            pairs[i] = (np.uint64(a) << HALF) | np.uint64(b)
