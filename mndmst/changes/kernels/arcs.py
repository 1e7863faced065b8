"""Arcs of rows that change: to look them up, and to write the rows anew."""

from typing import NamedTuple

import numpy as np

from ...kernels.kruskal import HALF, LOW
from ...native.kernel import kernel

# How many rows are searched side by side.
BLOCK = 64


class PlacedArcs(NamedTuple):
    """Arcs of rows, and where the CSR has them.

    Parallel arcs are side by side in [low, high); the range is empty for an arc that
    the CSR lacks.
    """

    arc: np.ndarray  # uint64, as in `Delta`; ascending
    low: np.ndarray  # int64
    high: np.ndarray  # int64

    def take(self, index: np.ndarray) -> "PlacedArcs":
        """Return the arcs that a mask chooses."""
        return PlacedArcs(*(column[index] for column in self))


class Delta(NamedTuple):
    """What differs from the CSR."""

    gone: np.ndarray  # int64: positions of removed arcs in the CSR, ascending
    arc: np.ndarray  # uint64: new arcs, the row's vertex above the neighbour; ascending
    key: np.ndarray  # uint32 or uint64: their weights


@kernel
def first_not_below(values, low, high, least):
    """Return the first of ascending values in [low, high) that is not below one."""
    low, high = np.uint64(low), np.uint64(high)
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if values[middle] < least:
            low = middle + np.uint64(1)
        else:
            high = middle
    return low


@kernel
def places_of(csr, arc, low, high):
    """Fill in where the CSR has arcs: the ranges [low, high), empty for none.

    A step of each search is made in turn, so that none waits for another one's access
    to memory.
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
def find_arcs(csr, delta, placed, key):
    """Look placed arcs up; fill in their keys, and return whether they are there."""
    arc, low, high = placed
    found = np.zeros(len(arc), np.bool_)
    gone, come = len(delta.gone), len(delta.arc)
    for i in range(len(arc)):
        skip = np.int64(first_not_below(delta.gone, 0, gone, low[i]))
        for at in range(low[i], high[i]):
            if skip < gone and delta.gone[skip] == at:
                skip += 1
            elif not found[i] or csr.keys[at] < key[i]:
                found[i], key[i] = True, csr.keys[at]
        place = np.int64(first_not_below(delta.arc, 0, come, arc[i]))
        if place < come and delta.arc[place] == arc[i]:
            found[i], key[i] = True, delta.key[place]
    return found


@kernel
def change_arcs(delta, placed, come, key, changed):
    """Write to `changed` the delta after arcs have been removed, or have other weights.

    `placed` has all parallel arcs of each removed one; `come` marks the arcs that are
    there again, with the weights `key`. Returns how many removed positions, and how
    many new arcs, have been written.
    """
    gone, there = 0, 0
    skip, old = 0, 0
    for i in range(len(placed.arc)):
        while skip < len(delta.gone) and delta.gone[skip] < placed.low[i]:
            changed.gone[gone] = delta.gone[skip]
            skip, gone = skip + 1, gone + 1
        for at in range(placed.low[i], placed.high[i]):
            changed.gone[gone] = at
            gone += 1
        while skip < len(delta.gone) and delta.gone[skip] < placed.high[i]:
            skip += 1
        while old < len(delta.arc) and delta.arc[old] < placed.arc[i]:
            changed.arc[there], changed.key[there] = delta.arc[old], delta.key[old]
            old, there = old + 1, there + 1
        if old < len(delta.arc) and delta.arc[old] == placed.arc[i]:
            old += 1
        if come[i]:
            changed.arc[there], changed.key[there] = placed.arc[i], key[i]
            there += 1
    for at in range(skip, len(delta.gone)):
        changed.gone[gone] = delta.gone[at]
        gone += 1
    for at in range(old, len(delta.arc)):
        changed.arc[there], changed.key[there] = delta.arc[at], delta.key[at]
        there += 1
    return gone, there


@kernel
def delta_of(csr, delta, row):
    """Return where the lists of what differs come to a row: arcs gone, and come."""
    first = np.uint64(row + csr.first) << HALF
    skip = first_not_below(delta.gone, 0, len(delta.gone), csr.indptr[row])
    new = first_not_below(delta.arc, 0, len(delta.arc), first)
    return np.int64(skip), np.int64(new)


@kernel
def merge_row(csr, delta, row, begin, out):
    """Write a row as it is now.

    `begin` is as in `delta_of`; `out` has the neighbours and keys to fill in, and where
    they begin. Returns how far all three lists are done.
    """
    skip, new = begin
    indices, keys, place = out
    gone, come = len(delta.gone), len(delta.arc)
    tail = np.uint64(row + csr.first)
    for at in range(csr.indptr[row], csr.indptr[row + 1]):
        if skip < gone and delta.gone[skip] == at:
            skip += 1
            continue
        while new < come and delta.arc[new] < (tail << HALF | csr.indices[at]):
            indices[place], keys[place] = delta.arc[new] & LOW, delta.key[new]
            new, place = new + 1, place + 1
        indices[place], keys[place] = csr.indices[at], csr.keys[at]
        place += 1
    while new < come and delta.arc[new] >> HALF == tail:
        indices[place], keys[place] = delta.arc[new] & LOW, delta.key[new]
        new, place = new + 1, place + 1
    return skip, new, place


@kernel
def merge_rows(csr, delta, indptr, indices, keys):
    """Write the rows that a CSR and what differs are together."""
    skip, new, place = 0, 0, 0
    indptr[0] = 0
    for row in range(len(indptr) - 1):
        out = indices, keys, place
        skip, new, place = merge_row(csr, delta, row, (skip, new), out)
        indptr[row + 1] = place
