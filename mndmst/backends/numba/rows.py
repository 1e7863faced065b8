"""Rows of a CSR graph, copied side by side."""

import numpy as np
from numba import njit


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
