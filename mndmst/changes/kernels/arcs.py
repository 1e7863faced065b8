"""Look up and change arcs of rows, and write changed rows."""

from typing import NamedTuple

import numpy as np

from ...kernels.kruskal import HALF, LOW
from ...native.kernel import kernel

# Number of interleaved searches.
BLOCK = 64


class ArcRanges(NamedTuple):
    """Arcs of rows, and their positions in the CSR.

    Parallel arcs have the positions [low, high); the range is empty for an arc that the
    CSR lacks.
    """

    arc: np.ndarray  # uint64, as in `Delta`; ascending
    low: np.ndarray  # int64
    high: np.ndarray  # int64

    def take(self, index: np.ndarray) -> "ArcRanges":
        """Return the arcs that a mask chooses."""
        return ArcRanges(*(column[index] for column in self))


class Delta(NamedTuple):
    """The differences of the present rows from the CSR."""

    removed: np.ndarray  # int64: positions of removed arcs in the CSR, ascending
    arc: np.ndarray  # uint64: new arcs, the row's vertex above the neighbour; ascending
    key: np.ndarray  # uint32 or uint64: their weights


@kernel
def first_not_below(values, low, high, least):
    """Return the first position in [low, high) with a value of at least `least`."""
    low, high = np.uint64(low), np.uint64(high)
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if values[middle] < least:
            low = middle + np.uint64(1)
        else:
            high = middle
    return low


@kernel
def find_ranges(csr, arc, low, high):
    """Fill in the ranges [low, high) of arcs in the CSR.

    The searches of a block are interleaved step by step, so that their memory accesses
    overlap.
    """
    for begin in range(0, len(arc), BLOCK):
        some = range(begin, min(begin + BLOCK, len(arc)))
        for i in some:
            row = np.int64(arc[i] >> HALF) - csr.first
            low[i], high[i] = csr.indptr[row], csr.indptr[row + 1]
        searching = True
        while searching:
            searching = False
            for i in some:
                if low[i] < high[i]:
                    middle = (low[i] + high[i]) >> 1
                    less = csr.indices[middle] < arc[i] & LOW
                    low[i] = middle + 1 if less else low[i]
                    high[i] = high[i] if less else middle
                    searching = True
        for i in some:
            end = csr.indptr[np.int64(arc[i] >> HALF) - csr.first + 1]
            while high[i] < end and csr.indices[high[i]] == arc[i] & LOW:
                high[i] += 1


@kernel
def find_arcs(csr, delta, ranges, key):
    """Look up arcs by their ranges; fill in their keys, and return which exist."""
    arc, low, high = ranges
    exists = np.zeros(len(arc), np.bool_)
    removed_count, new_count = len(delta.removed), len(delta.arc)
    for i in range(len(arc)):
        skip = np.int64(first_not_below(delta.removed, 0, removed_count, low[i]))
        for at in range(low[i], high[i]):
            if skip < removed_count and delta.removed[skip] == at:
                skip += 1
            elif not exists[i] or csr.keys[at] < key[i]:
                exists[i], key[i] = True, csr.keys[at]
        position = np.int64(first_not_below(delta.arc, 0, new_count, arc[i]))
        if position < new_count and delta.arc[position] == arc[i]:
            exists[i], key[i] = True, delta.key[position]
    return exists


@kernel
def change_arcs(delta, ranges, is_new, key, changed):
    """Write to `changed` the delta after arcs are removed or get other weights.

    All parallel arcs of `ranges` are removed; arcs marked by `is_new` are added with
    the weights `key`. Returns the number of removed positions and of new arcs written.
    """
    removed_count, new_count = 0, 0
    skip, old = 0, 0
    for i in range(len(ranges.arc)):
        while skip < len(delta.removed) and delta.removed[skip] < ranges.low[i]:
            changed.removed[removed_count] = delta.removed[skip]
            skip, removed_count = skip + 1, removed_count + 1
        for at in range(ranges.low[i], ranges.high[i]):
            changed.removed[removed_count] = at
            removed_count += 1
        while skip < len(delta.removed) and delta.removed[skip] < ranges.high[i]:
            skip += 1
        while old < len(delta.arc) and delta.arc[old] < ranges.arc[i]:
            changed.arc[new_count], changed.key[new_count] = (
                delta.arc[old],
                delta.key[old],
            )
            old, new_count = old + 1, new_count + 1
        if old < len(delta.arc) and delta.arc[old] == ranges.arc[i]:
            old += 1
        if is_new[i]:
            changed.arc[new_count], changed.key[new_count] = ranges.arc[i], key[i]
            new_count += 1
    for at in range(skip, len(delta.removed)):
        changed.removed[removed_count] = delta.removed[at]
        removed_count += 1
    for at in range(old, len(delta.arc)):
        changed.arc[new_count], changed.key[new_count] = delta.arc[at], delta.key[at]
        new_count += 1
    return removed_count, new_count


@kernel
def delta_of(csr, delta, row):
    """Return the positions of a row in the lists of removed and of new arcs."""
    first = np.uint64(row + csr.first) << HALF
    skip = first_not_below(delta.removed, 0, len(delta.removed), csr.indptr[row])
    new = first_not_below(delta.arc, 0, len(delta.arc), first)
    return np.int64(skip), np.int64(new)


@kernel
def merge_row(csr, delta, row, begin, out):
    """Write the present arcs of a row.

    `begin` is the result of `delta_of`; `out` has the columns of neighbours and keys,
    and the position of the row in them. Returns the positions behind the row in the two
    lists and in the columns.
    """
    skip, new = begin
    indices, keys, position = out
    removed_count, new_count = len(delta.removed), len(delta.arc)
    tail = np.uint64(row + csr.first)
    for at in range(csr.indptr[row], csr.indptr[row + 1]):
        if skip < removed_count and delta.removed[skip] == at:
            skip += 1
            continue
        while new < new_count and delta.arc[new] < (tail << HALF | csr.indices[at]):
            indices[position], keys[position] = delta.arc[new] & LOW, delta.key[new]
            new, position = new + 1, position + 1
        indices[position], keys[position] = csr.indices[at], csr.keys[at]
        position += 1
    while new < new_count and delta.arc[new] >> HALF == tail:
        indices[position], keys[position] = delta.arc[new] & LOW, delta.key[new]
        new, position = new + 1, position + 1
    return skip, new, position


@kernel
def merge_rows(csr, delta, indptr, indices, keys):
    """Write the present rows: the CSR with its differences."""
    skip, new, position = 0, 0, 0
    indptr[0] = 0
    for row in range(len(indptr) - 1):
        out = indices, keys, position
        skip, new, position = merge_row(csr, delta, row, (skip, new), out)
        indptr[row + 1] = position
