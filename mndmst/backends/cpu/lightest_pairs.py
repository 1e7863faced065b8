"""The lightest edges between components, where there are many for each pair of them.

Of the edges between two components only the lightest can be in the forest. A table
remembers which it is so far. The table is small, and forgets a pair for another that
has the same place: then there are several edges of the pair, which is no harm.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...graph.model import EdgeColumns, Rows
from ...kernels.columns import room_for
from ...kernels.intrinsics import prefetch
from ...kernels.threads import Threads
from ...native.kernel import kernel

TABLE_BITS = np.uint64(16)
# Arcs from the one in use to the one the component of whose head is fetched.
HEADS_AHEAD = np.uint64(32)
# Edges of all threads, a vertex: memory goes with them.
EDGES_PER_VERTEX = 1.0
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_WORD, _HALF = np.uint64(64), np.uint64(32)
_NO_PAIR = np.iinfo(np.uint64).max


class Table(NamedTuple):
    """What is known of pairs of components.

    Attributes
    ----------
    pair : ndarray of uint64
        The pair at each place, both components in one word.
    edge : ndarray of uint64
        The position of its lightest edge.
    key : ndarray
        The key of that.
    """

    pair: np.ndarray
    edge: np.ndarray
    key: np.ndarray


class Labels(NamedTuple):
    """The component of each vertex (ndarray of uint32), and the giant one."""

    label: np.ndarray
    giant: np.uint32


def lightest_pairs(
    rows: Rows, labels: Labels, chosen: np.ndarray, threads: Threads
) -> tuple[list[EdgeColumns], np.ndarray]:
    """Return the lightest edges that lead from some rows to other components.

    Parameters
    ----------
    rows : Rows
        Of the whole graph.
    labels : Labels
    chosen : ndarray of uint32
        The rows to look at, ascending.
    threads : Threads

    Returns
    -------
    edges : list of EdgeColumns
        Of each pair of components the lightest edge, and maybe others.
    left : ndarray of uint32
        The rows that there was no room for.
    """
    degrees = rows.indptr[chosen + np.uint32(1)] - rows.indptr[chosen]
    before = np.cumsum(degrees)
    goals = [end for _, end in threads.ranges(int(degrees.sum()))[:-1]]
    cuts = [0, *np.searchsorted(before, goals).tolist(), len(chosen)]
    parts = [chosen[begin:end] for begin, end in pairwise(cuts)]
    share = int(EDGES_PER_VERTEX * len(rows)) // len(parts)
    room = max(share, int(degrees.max(initial=0))) + 1
    outs = [room_for(rows, room) for _ in parts]
    ends = threads.map(choose_lightest, [
        (rows.csr, labels, part, _table(rows.keys.dtype), out)
        for part, out in zip(parts, outs, strict=True)
    ])  # fmt: skip
    edges = [out.part(0, used) for out, (used, _) in zip(outs, ends, strict=True)]
    left = [part[done:] for part, (_, done) in zip(parts, ends, strict=True)]
    return edges, np.concatenate(left)


def _table(key: np.dtype) -> Table:
    length = 1 << int(TABLE_BITS)
    pair = np.full(length, _NO_PAIR)
    return Table(pair, np.empty(length, np.uint64), np.empty(length, key))


@kernel
def choose_lightest(csr, labels, rows, table, out):
    """Write the lightest edges of some rows to other components.

    Parameters
    ----------
    csr : Csr
    labels : Labels
    rows : ndarray of uint32
    table : Table
        Without pairs.
    out : EdgeColumns
        Room for more edges than a row has.

    Returns
    -------
    used, done : int
        How many edges there are, and how many rows have been looked at: all, or as
        many as there is room for.
    """
    _, indptr, indices, keys = csr
    label, giant = labels
    used = np.uint64(0)
    for position in range(len(rows)):
        row = np.uint64(rows[position])
        here = label[row]
        begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        if used + (end - begin) >= np.uint64(len(out.key)):
            return np.int64(used), position
        lightest = end  # arc to the giant component, most are: one of a row will do
        for arc in range(begin, end):
            if arc + HEADS_AHEAD < np.uint64(len(indices)):
                prefetch(label, np.intp(indices[arc + HEADS_AHEAD]))
            there = label[indices[arc]]
            if there == giant:
                if lightest == end or keys[arc] < keys[lightest]:
                    lightest = arc
            elif there != here and (lightest == end or keys[arc] <= keys[lightest]):
                edge = row, np.uint64(indices[arc]), keys[arc]
                used = _note(_pair(here, there), edge, table, out, used)
        if lightest != end:
            edge = row, np.uint64(indices[lightest]), keys[lightest]
            used = _note(_pair(here, giant), edge, table, out, used)
    return np.int64(used), len(rows)


@kernel
def _pair(one, other):
    low, high = np.uint64(min(one, other)), np.uint64(max(one, other))
    return low << _HALF | high


@kernel
def _note(pair, edge, table, out, used):
    """Write an edge, unless a lighter one of its pair is known; return the count."""
    row, head, key = edge
    low, high = min(row, head), max(row, head)
    place = (pair * _SPREAD) >> (_WORD - TABLE_BITS)
    at = table.edge[place]
    if table.pair[place] != pair:
        table.pair[place], table.edge[place] = pair, used
        at = used
        used += np.uint64(1)
    elif table.key[place] < key or (
        table.key[place] == key and (out.u[at], out.v[at]) <= (low, high)
    ):
        return used
    table.key[place] = key
    out.u[at], out.v[at], out.key[at] = low, high, key
    return used
