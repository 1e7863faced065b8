"""Chosen rows of a CSR graph, side by side."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def rows_with_arcs(indptr, row):
    """Leave out of some rows those without arcs.

    Parameters
    ----------
    row : ndarray of int64

    Returns
    -------
    row : ndarray of int64, shape (chosen,)
        The rows that are left.
    begin : ndarray of int64, shape (chosen,)
        Where each begins.
    offset : ndarray of int64, shape (chosen + 1,)
        Where each begins if they lie side by side.
    """
    count = 0
    for r in row:
        count += indptr[r + 1] > indptr[r]
    chosen, begin = np.empty(count, np.int64), np.empty(count, np.int64)
    offset = np.zeros(count + 1, np.int64)
    place = 0
    for r in row:
        if indptr[r + 1] > indptr[r]:
            chosen[place], begin[place] = r, indptr[r]
            offset[place + 1] = offset[place] + indptr[r + 1] - indptr[r]
            place += 1
    return chosen, begin, offset


@njit(nogil=True, cache=True)
def copy_rows(source, begin, offset, low, out):
    """Copy arcs of chosen rows, counted as if these lay side by side.

    Parameters
    ----------
    source : ndarray
        A column of all arcs.
    begin : ndarray of int64, shape (chosen,)
        Where each chosen row begins in `source`.
    offset : ndarray of int64, shape (chosen + 1,)
        Where it begins among the chosen ones.
    low : int
        The first arc to copy; as many follow as `out` has room for.
    """
    row = np.searchsorted(offset, low, side="right") - 1
    done = 0
    while done < len(out):
        shift = begin[row] - offset[row] + low
        stop = min(offset[row + 1] - low, len(out))
        for i in range(done, stop):
            out[i] = source[i + shift]
        done = stop
        row += 1
