"""Chosen rows of a CSR graph, side by side."""

import numpy as np
from numba import njit


def side_by_side(indptr: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where some rows begin, and where if they lie side by side.

    Parameters
    ----------
    row : ndarray of int64, shape (chosen,)

    Returns
    -------
    begin : ndarray of int64, shape (chosen,)
    offset : ndarray of int64, shape (chosen + 1,)
    """
    # NumPy's large arrays get huge pages, Numba's do not.
    begin, offset = np.empty(len(row), np.int64), np.empty(len(row) + 1, np.int64)
    _lay_side_by_side(indptr, row, begin, offset)
    return begin, offset


@njit(nogil=True, cache=True)
def _lay_side_by_side(indptr, row, begin, offset):
    end = 0
    for i in range(len(row)):
        begin[i], offset[i] = indptr[row[i]], end
        end += indptr[row[i] + 1] - begin[i]
    offset[len(row)] = end


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
