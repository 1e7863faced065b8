"""Kruskal's algorithm on edges in memory, and the order of edges."""

import numpy as np

from .edge_ops import first_of_pairs
from .kruskal import flatten, in_order, keep_remaining, kruskal, pack_pairs
from .sorting import sort_positions
from .threads import ALONE, MANY, Threads

# While more edges than this are left, Kruskal's algorithm takes a share of them, the
# lightest, and many threads drop what that has put inside one component
# (filter-Kruskal; Osipov, Sanders, Singler, ALENEX 2009).
FILTERED = 1 << 18
LIGHT_SHARE = 0.25


def spanning_edges(
    key: np.ndarray, a: np.ndarray, b: np.ndarray, parent: np.ndarray, threads: Threads
) -> np.ndarray:
    """Return a mask of the edges that join components; `parent` is updated.

    Parameters
    ----------
    key, a, b : ndarray
        Edges and their ends as positions in `parent`; the place in the list
        decides between equal keys.
    """
    return spanning_pairs(key, packed(a, b, threads), parent, threads)


def spanning_pairs(
    key: np.ndarray, pairs: np.ndarray, parent: np.ndarray, threads: Threads
) -> np.ndarray:
    """Do what `spanning_edges` does, given both ends in one word of uint64 each."""
    kept = np.zeros(len(key), np.bool_)
    order = sort_positions(key, threads)
    while threads.count >= MANY and len(order) > FILTERED:
        light = int(LIGHT_SHARE * len(order))
        kruskal(order[:light], pairs, parent, kept)
        _flatten(parent, threads)
        order = _remaining(order[light:], pairs, parent, threads)
    kruskal(order, pairs, parent, kept)
    _flatten(parent, threads)
    return kept


def _flatten(parent: np.ndarray, threads: Threads) -> None:
    threads.map(lambda *r: flatten(parent, *r), threads.ranges(len(parent)))


def _remaining(
    order: np.ndarray, pairs: np.ndarray, parent: np.ndarray, threads: Threads
) -> np.ndarray:
    """Return the positions of the edges that join two components yet."""

    def work(begin, end):
        return order[begin:][: keep_remaining(order, pairs, parent, begin, end)]

    return np.concatenate(threads.map(work, threads.ranges(len(order))))


def ascending_pairs(
    key: np.ndarray, pairs: np.ndarray, threads: Threads
) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of edges, lightest first, and their ends in that order."""
    order = sort_positions(key, threads)
    sorted_pairs = np.empty_like(order)
    threads.map(
        lambda begin, end: in_order(order, pairs, begin, end, sorted_pairs),
        threads.ranges(len(order)),
    )
    return order, sorted_pairs


def packed(a: np.ndarray, b: np.ndarray, threads: Threads) -> np.ndarray:
    """Return both ends of each edge in one word of uint64."""
    pairs = np.empty(len(a), np.uint64)
    ranges = threads.ranges(len(a))
    threads.map(lambda begin, end: pack_pairs(a, b, begin, end, pairs), ranges)
    return pairs


def pair_order(
    u: np.ndarray, v: np.ndarray, key: np.ndarray, threads: Threads = ALONE
) -> np.ndarray:
    """Return positions in (u, v) order, only the lightest of parallel edges."""
    if len(u) == 0:
        return np.empty(0, np.uint64)
    bits = int(v.max()).bit_length()  # u < v
    if bits > 32:
        order = np.lexsort((v, u)).astype(np.uint64)
    else:
        wide = u.astype(np.uint64)
        wide <<= np.uint64(bits)
        wide |= v.astype(np.uint64)
        order = sort_positions(wide, threads)
    return order[first_of_pairs(order, u, v, key)]
