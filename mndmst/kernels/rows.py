"""Chosen rows of a CSR graph, side by side."""

from ..native.kernel import kernel
from .intrinsics import prefetch
from .search import first_above

AHEAD = 16  # short rows that lie apart are asked for before they are needed


@kernel
def copy_rows(source, indptr, row, offset, low, out):
    """Copy arcs of chosen rows, counted as if these lay side by side.

    Parameters
    ----------
    source : ndarray
        A column of all arcs.
    indptr : ndarray of int64, shape (rows + 1,)
        Where each row begins in `source`.
    row : ndarray of uint32, shape (chosen,)
    offset : ndarray of int64, shape (chosen + 1,)
        Where each chosen row begins among the chosen ones.
    low : int
        The first arc to copy; `out` determines the number.
    """
    i = first_above(offset, low) - 1
    done = 0
    while done < len(out):
        if i + AHEAD < len(row):
            prefetch(source, indptr[row[i + AHEAD]])
        shift = indptr[row[i]] - offset[i] + low
        stop = min(offset[i + 1] - low, len(out))
        for arc in range(done, stop):
            out[arc] = source[arc + shift]
        done = stop
        i += 1
