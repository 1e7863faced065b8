"""Kruskal's algorithm except across borders.

A component stops at its lightest edge across the border, and merges along lighter
edges. These are final whatever edges lie behind the border (Panja and Vadhiyar, ICPP
2018, section 3.2). In ascending order, an edge between two components is the lightest
edge of one of them unless both have stopped. So one pass has the same result as Borůvka
rounds with this exception, repeated until a round changes nothing.
"""

from typing import NamedTuple

import numpy as np

from ..native.kernel import kernel
from .intrinsics import lower_atomic
from .kruskal import EVERY_BIT, HALF, LOW, fetch_ahead, find, unite

NO_BORDER = ~np.uint64(0)
# States of edges; all other edges are dropped.
ACCEPTED, PENDING = 1, 2


class Bordered(NamedTuple):
    """Union-find state of components that merge except across borders.

    With keys of 64 bits `border` has the key without the position. So a component may
    stop early at equal keys, which is safe.
    """

    parent: np.ndarray  # uint32: union-find links
    # uint64: order word of each root's lightest edge across the border; else NO_BORDER
    border: np.ndarray
    # bool: set at the position of each edge along which components merge
    final: np.ndarray


@kernel
def _word(key, position):
    """Return the word that edges are ordered by: a key, and the position if it fits."""
    word = np.uint64(key[position])
    if key.itemsize == 4:
        word = (word << HALF) | np.uint64(position)
    return word


@kernel
def lower_borders(edges, position, a, b, border):
    """Atomically lower the borders of the two components of an edge."""
    word = _word(edges.key, position)
    if word < border[a]:
        lower_atomic(border, np.intp(a), word)
    if word < border[b]:
        lower_atomic(border, np.intp(b), word)


@kernel
def unite_except_borders(edges, components, order, begin, mask):
    """Unite components along edges, in ascending order, except across borders.

    The bits `mask` of `order` are positions of edges from `begin` on, lightest first.
    """
    key, pairs = edges
    parent, border, final = components
    first, block = np.uint64(begin), pairs[begin:]
    for step in range(np.uint64(len(order))):
        fetch_ahead(order, mask, step, block, parent, border)
        i = first + (order[step] & mask)
        x, y = find(parent, pairs[i] >> HALF), find(parent, pairs[i] & LOW)
        word = _word(key, i)
        if x != y and (word < border[x] or word < border[y]):
            low, high = min(x, y), max(x, y)
            parent[high] = np.uint32(low)
            border[low] = min(border[low], border[high])
            final[i] = True


@kernel
def contract_in_order(order, pairs, interior, parent, fate):
    """Classify edges in ascending order: accepted, or pending at a border.

    An edge that closes a cycle with lighter accepted or pending edges is dropped.

    `order` has the positions of edges, lightest first. The first `interior` components
    may be contracted; the others are across a border. `parent`, flat at first, gets the
    links along accepted edges. `fate` becomes ACCEPTED or PENDING for each edge of the
    forest.
    """
    spanning = parent.copy()
    frozen = np.zeros(len(parent), np.bool_)
    frozen[interior:] = True
    for step in range(np.uint64(len(order))):
        fetch_ahead(order, EVERY_BIT, step, pairs, parent, spanning)
        i = order[step]
        x, y = find(parent, pairs[i] >> HALF), find(parent, pairs[i] & LOW)
        if x == y or not unite(spanning, x, y):
            continue
        crosses_border = x >= np.uint64(interior) or y >= np.uint64(interior)
        if crosses_border or (frozen[x] and frozen[y]):
            frozen[x] = frozen[y] = True
            fate[i] = PENDING
        else:
            low, high = min(x, y), max(x, y)
            parent[high] = np.uint32(low)
            frozen[low] = frozen[x] or frozen[y]
            fate[i] = ACCEPTED
