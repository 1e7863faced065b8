"""Where the weight of each arc is found among those of edges."""

import numpy as np

from ...native.kernel import kernel


@kernel
def find_upward(indptr, indices, first, upward):
    """Find in each row the first arc that leads to a larger vertex.

    Parameters
    ----------
    upward : ndarray of int64, shape (rows,)
        Gets their positions; the end of the row where there is none.
    """
    for row in range(len(upward)):
        low, high = indptr[row], indptr[row + 1]
        tail = np.int64(first + row)
        while low < high:
            middle = (low + high) // 2
            if np.int64(indices[middle]) <= tail:
                low = middle + 1
            else:
                high = middle
        upward[row] = low


@kernel
def take_upward(indptr, upward, begin, end, values, out):
    """Copy the values of the arcs in rows [begin, end) that lead to larger vertices."""
    place = 0
    for row in range(begin, end):
        for arc in range(upward[row], indptr[row + 1]):
            out[place] = values[arc]
            place += 1


@kernel
def place_arcs(csr, upward, arrived, place):
    """Find the edge of every arc: own edges are numbered first, then arrived ones.

    Parameters
    ----------
    csr : Csr
    upward : ndarray of int64, shape (rows,)
        See `find_upward`.
    arrived : ndarray
        The ends in these rows of the edges that begin at smaller rows, in the order of
        edges.
    place : ndarray of uint32 or int64, shape (arcs,)
        Gets the number of each arc's edge; 0 for a self-loop.
    """
    first, indptr, indices, _ = csr
    rows = len(upward)
    next_arc = indptr[:rows].copy()
    own = 0
    for row in range(rows):
        own += indptr[row + 1] - upward[row]
    for i in range(len(arrived)):
        row = np.int64(arrived[i]) - first
        place[next_arc[row]] = own + i
        next_arc[row] += 1
    edge = 0
    for row in range(rows):
        for arc in range(next_arc[row], upward[row]):
            place[arc] = 0
        for arc in range(upward[row], indptr[row + 1]):
            place[arc] = edge
            other = np.int64(indices[arc]) - first
            if other < rows:
                place[next_arc[other]] = edge
                next_arc[other] += 1
            edge += 1


@kernel
def gather(values, place, begin, end, out):
    """Copy the value at each place, for the entries [begin, end)."""
    for i in range(begin, end):
        out[i] = values[place[i]]
