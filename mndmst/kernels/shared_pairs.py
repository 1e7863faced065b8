"""Edges that two ranks both hold."""

import numpy as np

from ..native.kernel import kernel


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
