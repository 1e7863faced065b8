"""Independent computation on rows that have ghosts, with one sort for all of it.

1. Rows hook to the far end of their lightest edge, unless that is a ghost: the first
   Borůvka round. The same pass over the rows takes the edges of the band. A row with
   no edge in the band takes part with its lightest one: so all get to know a heavier
   edge that is the only one of its kind to matter.
2. The edges left between components are passed over in ascending order. Two
   union-finds tell at once which edges are final and which cannot be in the forest of
   these rows: the first knows what has been contracted, the second also what waits at
   a border.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numba import njit

from ...graph import EdgeList, Rows
from ..base import Band, RowGrowth
from .bands import all_chunks, band_chunks, chunks_of
from .columns import joined, room_for, without_repeats
from .cuts import Sample, band_segments
from .finish import following, lightest_from
from .hooks import HALF, NUMBER, ROOT, Hooks, name_trees
from .intrinsics import prefetch
from .kruskal import FETCH_AHEAD, HALVE_AHEAD, LOW, find, flatten, unite
from .lists import take
from .numbering import distinct
from .spanning import ascending_pairs, pair_order
from .threads import Threads

# What becomes of an edge; the others are dropped.
FINAL, WAITS = 1, 2


def grow_rows(rows: Rows, band: Band, threads: Threads) -> RowGrowth:
    """See `Backend.grow_rows`."""
    hooks, component = Hooks(rows), np.empty(len(rows), np.uint32)
    if band == Band() and rows.num_arcs:
        chunks = all_chunks(rows, threads, hooks)
    else:
        parts = band_segments(rows, band)
        chunks = band_chunks(rows, parts, Sample.of(rows), threads, hooks, False)
    rest = hook_rest(
        rows.indptr, rows.indices, rows.keys, rows.first, hooks.hook, hooks.best
    )
    fixed = room_for(rows, len(rows) + 1)
    own = hooks.link(component, threads, fixed)
    count = len(rows) - own
    for end in fixed[:2]:
        end[:count] += end.dtype.type(rows.first)
    columns, pairs, ghosts = _apart(chunks, rest, rows, component, own, threads)
    parent = np.arange(own + len(ghosts), dtype=np.uint32)
    fate = np.zeros(len(pairs), np.uint8)
    order, ascending = ascending_pairs(columns[2], pairs, threads)
    grow(order, ascending, own, parent, fate)
    threads.map(lambda *r: flatten(parent, *r), threads.ranges(own))
    total = count + np.count_nonzero(fate == FINAL)
    take(*columns, fate == FINAL, 0, len(fate), count, total, *fixed)
    label, names = _named(rows, component, parent[:own], ghosts)
    waits = np.flatnonzero(fate == WAITS)
    if len(rest[0]):
        u, v, key = (column[waits] for column in columns)
        waits = waits[pair_order(u, v, key, threads)]
    left = EdgeList(*columns).take(waits)
    near, far = (parent[end] for end in (pairs[waits] >> HALF, pairs[waits] & LOW))
    final = EdgeList(*(column[:total] for column in fixed))
    return RowGrowth(final, label, left, (names[near], names[far]))


def _apart(
    chunks: list[tuple[np.ndarray, ...]],
    rest: tuple[np.ndarray, ...],
    rows: Rows,
    component: np.ndarray,
    own: int,
    threads: Threads,
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return u, v, key of the edges that leave components.

    Those of the band are in (u, v) order, and after them come heavier ones. Also both
    ends of each as numbers in one word, and the ids of the ghosts: these are numbered
    in ascending order, behind the own components.
    """

    def work(u, v, key):
        edges = without_repeats(u, v, key)
        pairs = np.empty(len(edges), np.uint64)
        ghosts = np.empty(len(edges), np.int64)
        left, away = leaving(
            edges.u, edges.v, edges.key, rows.first, component, pairs, ghosts
        )
        columns = (edges.u, edges.v, edges.key, pairs)
        return *(column[:left] for column in columns), ghosts[:away]

    lower = joined(chunks_of(chunks, 3), threads)
    parts = [_in_order(lower, threads), *(chunk[:3] for chunk in chunks)]
    found = threads.map(work, [*parts, _in_order(rest, threads)])
    ids, place = distinct(np.concatenate([part[4] for part in found]), threads)
    bounds = np.cumsum([0, *(len(part[4]) for part in found)]).tolist()
    threads.map(
        lambda pairs, begin, end: number_ghosts(pairs, place[begin:end], own),
        [(part[3], *b) for part, b in zip(found, pairwise(bounds), strict=True)],
    )
    *columns, pairs = joined([part[:4] for part in found], threads)
    return columns, pairs, ids


def _in_order(columns: Sequence[np.ndarray], threads: Threads) -> list[np.ndarray]:
    """Return the edges in (u, v) order."""
    order = pair_order(*columns, threads)
    return [column[order] for column in columns]


def _named(
    rows: Rows, component: np.ndarray, parent: np.ndarray, ghosts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the component of each row and of each number, by their smallest vertex."""
    label = np.empty(len(rows), np.uint32)
    smallest = np.full(len(parent), len(rows), np.uint32)
    name_trees(component, parent, smallest, 0, len(rows), label)
    return label, np.concatenate([rows.first + smallest.astype(np.int64), ghosts])


@njit(nogil=True, cache=True)
def hook_rest(indptr, indices, keys, first, hook, best):
    """Hook the rows that have no arc in the band along their lightest arc.

    Returns
    -------
    u, v, key : ndarray
        The edges of those whose lightest arc leads to a ghost.
    """
    rows = np.uint64(len(hook))
    count = np.uint64(1)  # one to spare for a write that is undone
    for row in range(rows):
        count += np.uint64(best[row] == ~keys.dtype.type(0) and hook[row] == row)
    u, v = np.empty(count, indices.dtype), np.empty(count, indices.dtype)
    key = np.empty(count, keys.dtype)
    count = np.uint64(0)
    for row in range(rows):
        if best[row] != ~keys.dtype.type(0) or hook[row] != row:
            continue
        begin, end = indptr[row], indptr[row + np.uint64(1)]
        vertex = np.uint64(first) + row
        arc = lightest_from(keys, begin, end, keys.dtype.type(0))
        while arc >= 0 and np.uint64(indices[np.uint64(arc)]) == vertex:
            arc = following(keys, arc, end, begin)
        if arc < 0:
            continue
        head, weight = np.uint64(indices[np.uint64(arc)]), keys[np.uint64(arc)]
        if head - np.uint64(first) < rows:
            hook[row], best[row] = head - np.uint64(first), weight
        else:
            u[count], v[count], key[count] = (
                min(head, vertex),
                max(head, vertex),
                weight,
            )
            count += np.uint64(1)
    return u[:count], v[:count], key[:count]


@njit(nogil=True, cache=True)
def leaving(u, v, key, first, component, pairs, ghosts):
    """Keep, in place, the edges that leave components of the rows.

    Parameters
    ----------
    component : ndarray of uint32, shape (rows,)
        The number of each row's component, and the bit ROOT.
    pairs : ndarray of uint64
        Gets the numbers at both ends of each edge that is kept. A ghost, at one end
        at the most, has the bit ROOT and a place in `ghosts`.
    ghosts : ndarray of int64
        Gets the ids of the ghosts, edge by edge.

    Returns
    -------
    count, away : int
        How many edges are kept, and how many ghosts there are at their ends.
    """
    before, rows = np.uint64(first), np.uint64(len(component))
    count = away = np.uint64(0)
    for i in range(np.uint64(len(key))):
        x, y, weight = u[i], v[i], key[i]
        near, far = np.uint64(x) - before, np.uint64(y) - before
        if near < rows and far < rows:
            a, b = component[near] & NUMBER, component[far] & NUMBER
        elif near < rows:
            a, b = component[near] & NUMBER, ROOT | np.uint32(away)
            ghosts[away] = y
            away += np.uint64(1)
        else:
            a, b = ROOT | np.uint32(away), component[far] & NUMBER
            ghosts[away] = x
            away += np.uint64(1)
        u[count], v[count], key[count] = x, y, weight
        pairs[count] = (np.uint64(a) << HALF) | np.uint64(b)
        count += np.uint64(a != b)
    return count, away


@njit(nogil=True, cache=True)
def number_ghosts(pairs, place, own):
    """Replace the places of ghosts by their numbers, which begin at `own`."""
    for i in range(np.uint64(len(pairs))):
        a, b = np.uint32(pairs[i] >> HALF), np.uint32(pairs[i] & LOW)
        if (a | b) & ROOT:
            if a & ROOT:
                a = np.uint32(own + place[np.uint64(a & NUMBER)])
            else:
                b = np.uint32(own + place[np.uint64(b & NUMBER)])
            pairs[i] = (np.uint64(a) << HALF) | np.uint64(b)


@njit(nogil=True, cache=True)
def grow(order, pairs, own, parent, fate):
    """Tell final edges from those that wait at a border, in ascending order.

    As `kruskal.border_excepting_kruskal`, of edges that need not be a forest: one
    that closes a cycle with lighter ones, final or waiting, is dropped.

    Parameters
    ----------
    order, pairs : ndarray of uint64
        The edges' positions, lightest first, and their ends in that order.
    own : int
        Smaller numbers are components of these rows, the others ghosts.
    parent : ndarray of uint32
        Union-find links along final edges; updated.
    fate : ndarray of uint8
        Set to FINAL or WAITS at the position of each edge of the forest.
    """
    reached = np.arange(len(parent)).astype(np.uint32)
    frozen = np.zeros(len(parent), np.bool_)
    frozen[own:] = True
    count = len(pairs)
    for i in range(count):
        if i + FETCH_AHEAD < count:
            ahead = pairs[i + FETCH_AHEAD]
            prefetch(parent, np.intp(ahead >> HALF))
            prefetch(parent, np.intp(ahead & LOW))
        if i + HALVE_AHEAD < count:
            ahead = pairs[i + HALVE_AHEAD]
            x, y = ahead >> HALF, ahead & LOW
            parent[x], parent[y] = parent[parent[x]], parent[parent[y]]
            prefetch(reached, np.intp(parent[x]))
            prefetch(reached, np.intp(parent[y]))
        x, y = find(parent, pairs[i] >> HALF), find(parent, pairs[i] & LOW)
        if x == y or not unite(reached, x, y):
            continue
        ghost = x >= np.uint64(own) or y >= np.uint64(own)
        if ghost or (frozen[x] and frozen[y]):
            frozen[x] = frozen[y] = True
            fate[order[i]] = WAITS
        else:
            low, high = min(x, y), max(x, y)
            parent[high] = np.uint32(low)
            frozen[low] = frozen[x] or frozen[y]
            fate[order[i]] = FINAL
