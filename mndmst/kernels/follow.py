"""Names of components, followed; and edges that two ranks both have."""

import numpy as np

from ..native.kernel import kernel


@kernel
def follow(parent, first, positions):
    """Point entries at what can be found of their representatives at home.

    Parameters
    ----------
    parent : ndarray of uint32 or int64
        The parents of the vertices from `first` on; paths are halved.
    positions : ndarray of int64
        Entries to point further.

    Returns
    -------
    ndarray of int64
        The positions whose path leads away from home; the others are done.
    """
    last = first + len(parent)
    away = np.empty(len(positions), np.int64)
    count = 0
    for i in range(len(positions)):
        position = positions[i]
        here = np.int64(parent[position])
        while first <= here < last:
            ahead = np.int64(parent[here - first])
            if ahead == here:
                break
            if first <= ahead < last:
                ahead = np.int64(parent[ahead - first])
                # A name elsewhere may be none for long: only who asks for it has it.
                if first <= ahead < last:
                    parent[here - first] = ahead
            here = ahead
        parent[position] = here
        if here < first or here >= last:
            away[count] = position
            count += 1
    return away[:count]


@kernel
def step_up(names, first, parent, found):
    """Write the parents of names at home, those of the vertices from `first` on."""
    for i in range(np.uint64(len(names))):
        found[i] = parent[np.uint64(names[i]) - np.uint64(first)]


@kernel
def leading_away(parent, first, but):
    """Return the positions of entries that point away from home.

    Parameters
    ----------
    parent : ndarray of uint32 or int64
        The parents of the vertices from `first` on.
    but : int
        Those that point there are left out.

    Returns
    -------
    ndarray of int64
    """
    found = np.empty(len(parent) + 1, np.int64)  # what is not used is not touched
    count = np.uint64(0)
    for position in range(len(parent)):
        name = np.int64(parent[position])
        away = np.uint64(name - first) >= np.uint64(len(parent))
        found[count] = position
        count += np.uint64(away & (name != but))
    return found[:count].copy()


@kernel
def in_both(u1, v1, counts1, u2, v2, counts2):
    """Mark the pairs of one list that another has, slice by slice.

    Parameters
    ----------
    u1, v1, u2, v2 : ndarray of int64
        Pairs in (u, v) order within each slice.
    counts1, counts2 : ndarray of int64, shape (slices,)

    Returns
    -------
    ndarray of bool, shape (pairs of the first list,)
    """
    found = np.zeros(len(u1), np.bool_)
    i = j = 0
    for part in range(len(counts1)):
        end1, end2 = i + counts1[part], j + counts2[part]
        while i < end1 and j < end2:
            if u1[i] == u2[j] and v1[i] == v2[j]:
                found[i] = True
                i += 1
                j += 1
            elif u1[i] < u2[j] or (u1[i] == u2[j] and v1[i] < v2[j]):
                i += 1
            else:
                j += 1
        i, j = end1, end2
    return found
