"""Linear-time work on edge lists, and compact component numbers."""

import numpy as np

from ..native.kernel import kernel
from .ascents import merge_ascents
from .intrinsics import copy_memory
from .search import first_above


@kernel
def repeats(u, v):
    """Return whether two neighbours in a list are the same pair."""
    found = False
    for i in range(np.uint64(1), np.uint64(len(u))):
        before = i - np.uint64(1)
        found |= (u[i] == u[before]) & (v[i] == v[before])
    return found


@kernel
def first_of_pairs(order, u, v, key):
    """Mark, of the edges in `order`, the lightest of each run of equal (u, v)."""
    kept = np.zeros(len(order), np.bool_)
    best = 0
    for i in range(len(order)):
        edge, lightest = order[i], order[best]
        if u[edge] != u[lightest] or v[edge] != v[lightest]:
            kept[best] = True
            best = i
        elif key[edge] < key[lightest]:
            best = i
    if len(order):
        kept[best] = True
    return kept


@kernel
def _slot(table, ids, value):
    """Return the place of an id in an open-addressing table of positions."""
    mask = np.uint64(len(table) - 1)
    place = (np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    place &= mask
    while table[place] >= 0 and ids[table[place]] != value:
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def _distinct_outside(ids, first, last, found, count, table):
    """Collect the ids outside [first, last) in `found`; return the new state."""
    for i in range(len(ids)):
        value = np.int64(ids[i])
        if first <= value < last:
            continue
        place = _slot(table, found, value)
        if table[place] >= 0:
            continue
        if 2 * (count + 1) > len(table):
            larger = np.full(2 * len(table), -1, np.int64)
            for position in range(count):
                larger[_slot(larger, found, found[position])] = position
            table = larger
            place = _slot(table, found, value)
        if count == len(found):
            more = np.empty(2 * len(found), np.int64)
            copy_memory(more, found, count)
            found = more
        found[count] = value
        table[place] = count
        count += 1
    return found, count, table


@kernel
def _numbered(ids, first, number, table, found, rank_of):
    """Return the numbers of ids, of which those from `first` on are in `number`."""
    last = first + len(number)
    out = np.empty(len(ids), np.uint32)
    for i in range(len(ids)):
        value = np.int64(ids[i])
        if first <= value < last:
            out[i] = number[value - first]
        else:
            out[i] = rank_of[table[_slot(table, found, value)]]
    return out


@kernel
def compact(ids_a, ids_b, first, last):
    """Number the distinct ids of two columns in ascending order.

    Most ids are expected in [first, last), where a plain table serves; the others
    go through a hash table.

    Returns
    -------
    labels : ndarray of int64
        The distinct ids, ascending.
    a, b : ndarray of uint32
        The columns as positions in `labels`.
    """
    used = np.zeros(last - first, np.bool_)
    for i in range(len(ids_a)):
        if first <= np.int64(ids_a[i]) < last:
            used[np.int64(ids_a[i]) - first] = True
        if first <= np.int64(ids_b[i]) < last:
            used[np.int64(ids_b[i]) - first] = True
    inside = 0
    for i in range(len(used)):
        inside += used[i]
    found = np.empty(64, np.int64)
    table = np.full(256, -1, np.int64)
    found, count, table = _distinct_outside(ids_a, first, last, found, 0, table)
    found, count, table = _distinct_outside(ids_b, first, last, found, count, table)
    outside, order = np.empty(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        outside[i], order[i] = found[i], i
    merge_ascents(outside, order)
    below = first_above(outside, first - 1)
    labels = np.empty(count + inside, np.int64)
    rank_of = np.empty(count, np.uint32)
    number = np.empty(last - first, np.uint32)
    position = below
    for i in range(last - first):
        number[i] = position
        if used[i]:
            labels[position] = first + i
            position += 1
    for i in range(count):
        place = i if i < below else position + i - below
        rank_of[order[i]] = place
        labels[place] = outside[i]
    a = _numbered(ids_a, first, number, table, found, rank_of)
    b = _numbered(ids_b, first, number, table, found, rank_of)
    return labels, a, b


@kernel
def living(a, b, names):
    """Return the positions of the edges whose ends have two names, and these names."""
    alive = np.empty(len(a), np.int64)
    end_a, end_b = np.empty(len(a), names.dtype), np.empty(len(a), names.dtype)
    place = np.uint64(0)
    for i in range(np.uint64(len(a))):
        name_a, name_b = names[a[i]], names[b[i]]
        alive[place], end_a[place], end_b[place] = i, name_a, name_b
        place += np.uint64(name_a != name_b)
    return alive[:place], end_a[:place], end_b[:place]


@kernel
def marked(mark, a, b, alive, new_a, new_b, count):
    """Return marks of `count` components: whether an end of one of its edges was.

    Parameters
    ----------
    mark : ndarray of bool
        The marks of the components at the ends `a` and `b`.
    alive : ndarray of int64
        The edges that are left; their ends are now `new_a` and `new_b`.
    """
    result = np.zeros(count, np.bool_)
    for i in range(len(alive)):
        result[new_a[i]] |= mark[a[alive[i]]]
        result[new_b[i]] |= mark[b[alive[i]]]
    return result


@kernel
def used_ends(a, b, count):
    """Return which of `count` components edges have, and new numbers of the ends.

    Those that none has are left out; the others keep their order.
    """
    used = np.zeros(count, np.bool_)
    for i in range(np.uint64(len(a))):
        used[a[i]] = used[b[i]] = True
    number = np.empty(count, np.uint32)
    place = np.uint64(0)
    for component in range(np.uint64(count)):
        number[component] = place
        place += np.uint64(used[component])
    new_a, new_b = np.empty(len(a), np.uint32), np.empty(len(b), np.uint32)
    for i in range(np.uint64(len(a))):
        new_a[i], new_b[i] = number[a[i]], number[b[i]]
    return used, new_a, new_b


@kernel
def lightest_edges(a, b, key, count):
    """Return for each of `count` components, all with edges, its lightest edge.

    The edges are in (u, v) order, so the first of equal keys is the lightest.
    """
    best = np.full(count, -1, np.int64)
    for i in range(len(key)):
        if best[a[i]] < 0 or key[i] < key[best[a[i]]]:
            best[a[i]] = i
        if best[b[i]] < 0 or key[i] < key[best[b[i]]]:
            best[b[i]] = i
    return best


@kernel
def count_kept(kept):
    """Return how many entries of a mask are set."""
    count = 0
    for one in kept:
        count += one
    return count


@kernel
def copy_kept(edges, kept, out):
    """Copy the edges that a mask keeps.

    Parameters
    ----------
    edges : EdgeColumns
    kept : ndarray of bool
    out : EdgeColumns
        Has room for them and no more.
    """
    u, v, key = edges
    out_u, out_v, out_key = out
    place = np.uint64(0)
    for i in range(np.uint64(len(key))):
        if place == np.uint64(len(out_key)):
            break
        out_u[place], out_v[place], out_key[place] = u[i], v[i], key[i]
        place += np.uint64(kept[i])
