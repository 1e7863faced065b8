"""Kruskal's algorithm except across borders.

A component stops at its lightest edge that leads across the border, and merges along
lighter ones: these are final, whatever is behind the border (Panja and Vadhiyar, ICPP
2018, section 3.2). An edge between two components, in ascending order, is the lightest
of one of them unless both have stopped. So one pass has the result of Borůvka rounds
with this exception, repeated until none changes anything.
"""

from typing import NamedTuple

import numpy as np

from ..native.kernel import kernel
from .intrinsics import lower_atomic
from .kruskal import EVERY_BIT, HALF, LOW, fetch_ahead, find, unite

NO_BORDER = ~np.uint64(0)
# Fates of edges; all others are dropped.
ACCEPTED, PENDING = 1, 2


class Bordered(NamedTuple):
    """Union-find state of components that merge except across borders.

    With keys of 64 bits `border` is the key alone: at a tie a component stops early,
    which is safe.
    """

    parent: np.ndarray  # uint32: union-find links
    # uint64: order word of each root's lightest edge across the border; else NO_BORDER
    border: np.ndarray
    # bool: set at the position of each edge along which components merge
    final: np.ndarray


@kernel
def _word(key, place):
    """Return an edge's order word: its key, and its position if that fits."""
    word = np.uint64(key[place])
    if key.itemsize == 4:
        word = (word << HALF) | np.uint64(place)
    return word


@kernel
def lower_borders(edges, place, a, b, border):
    """Atomically lower the borders of the two components of an edge."""
    word = _word(edges.key, place)
    if word < border[a]:
        lower_atomic(border, np.intp(a), word)
    if word < border[b]:
        lower_atomic(border, np.intp(b), word)


@kernel
def unite_except_borders(edges, components, order, begin, mask):
    """Unite components along edges, in ascending order, except across borders.

    `order` has the edges' positions behind `begin` in the bits `mask`, lightest first.
    """
    key, pairs = edges
    parent, border, final = components
    first, block = np.uint64(begin), pairs[begin:]
    for place in range(np.uint64(len(order))):
        fetch_ahead(order, mask, place, block, parent, border)
        i = first + (order[place] & mask)
        x, y = find(parent, pairs[i] >> HALF), find(parent, pairs[i] & LOW)
        word = _word(key, i)
        if x != y and (word < border[x] or word < border[y]):
            low, high = min(x, y), max(x, y)
            parent[high] = np.uint32(low)
            border[low] = min(border[low], border[high])
            final[i] = True


@kernel
def contract_in_order(order, pairs, own, parent, fate):
    """Classify edges in ascending order: accepted, or pending at a border.

    An edge that closes a cycle with lighter accepted or pending edges is dropped.

    `order` has the positions of edges, lightest first. Components with numbers below
    `own` may grow; the others are across a border. `parent` has links along accepted
    edges, flat at first. `fate` becomes ACCEPTED or PENDING for each edge of the
    forest.
    """
    reached = parent.copy()
    frozen = np.zeros(len(parent), np.bool_)
    frozen[own:] = True
    for place in range(np.uint64(len(order))):
        fetch_ahead(order, EVERY_BIT, place, pairs, parent, reached)
        i = order[place]
        x, y = find(parent, pairs[i] >> HALF), find(parent, pairs[i] & LOW)
        if x == y or not unite(reached, x, y):
            continue
        away = x >= np.uint64(own) or y >= np.uint64(own)
        if away or (frozen[x] and frozen[y]):
            frozen[x] = frozen[y] = True
            fate[i] = PENDING
        else:
            low, high = min(x, y), max(x, y)
            parent[high] = np.uint32(low)
            frozen[low] = frozen[x] or frozen[y]
            fate[i] = ACCEPTED
