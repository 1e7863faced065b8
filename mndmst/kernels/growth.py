"""Components grow along their lightest edges, except across borders, by threads.

First inside blocks that a thread contracts alone, if components lie close together,
then along what is left between them.
"""

from typing import NamedTuple

import numpy as np

from .blocks import blocks_of, contract_blocks, edges_between
from .borders import NO_BORDER, Bordered, join_except_borders
from .hooks import count_up
from .kruskal import flatten
from .minima import Edges
from .sorting import sort_positions
from .team import Team
from .threads import Threads

EVERY_BIT = ~np.uint64(0)


class Grown(NamedTuple):
    """What has grown.

    Attributes
    ----------
    final : ndarray of bool, shape (edges,)
        Marks the edges along which components have grown.
    parent : ndarray of uint32, shape (components,)
        Of each component the smallest that it is one with.
    """

    final: np.ndarray
    parent: np.ndarray


def grow(edges: Edges, own: int, threads: Threads) -> Grown:
    """Grow components as far as borders allow.

    Parameters
    ----------
    edges : Edges
    own : int
        Components that may grow are those with smaller numbers. This one stands for
        all that are across a border.
    """
    parent = np.empty(own + 1, np.uint32)
    threads.map(count_up, [(parent, *bounds) for bounds in threads.ranges(own + 1)])
    blocks = blocks_of(edges.pairs, parent, own) if threads.count > 1 else None
    if blocks is None:
        return Grown(_grow_everywhere(edges, parent, threads), parent)
    final = contract_blocks(Team(threads), edges, parent, blocks)
    rest, position = edges_between(edges, parent, threads)
    final[position[_grow_everywhere(rest, parent, threads)]] = True
    return Grown(final, parent)


def _grow_everywhere(edges: Edges, parent: np.ndarray, threads: Threads) -> np.ndarray:
    """Grow along edges wherever they lead; return a mask of those along which."""
    border = np.full(len(parent), NO_BORDER)
    final = np.zeros(len(edges.key), np.bool_)
    components = Bordered(parent, border, final, len(parent) - 1)
    order = sort_positions(edges.key, threads)
    join_except_borders(edges, components, order, 0, EVERY_BIT)
    ranges = threads.ranges(len(parent))
    threads.map(flatten, [(parent, *bounds) for bounds in ranges])
    return final
