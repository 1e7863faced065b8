"""Components grow along their lightest edges, except across borders, by threads.

First inside blocks that a thread contracts alone, if components lie close together,
then along the edges between blocks.
"""

from typing import NamedTuple

import numpy as np

from .block_contraction import blocks_of, contract_blocks, edges_between
from .borders import grow_in_order
from .hooks import count_up
from .kruskal import PairEdgeList, flatten
from .sorting import sort_positions
from .team import Team
from .threads import Threads


class Grown(NamedTuple):
    """What has grown.

    Attributes
    ----------
    fate : ndarray of uint8, shape (edges,)
        `borders.FINAL` for edges along which components have grown, and `WAITS` for the
        others of the forest.
    parent : ndarray of uint32, shape (components,)
        Of each component the smallest that it is one with.
    """

    fate: np.ndarray
    parent: np.ndarray


def grow(edges: PairEdgeList, own: int, count: int, threads: Threads) -> Grown:
    """Grow components as far as borders allow.

    Parameters
    ----------
    edges : Edges
    own : int
        Components that may grow are those with smaller numbers; the others are across
        a border.
    count : int
        Of components, these included.
    """
    parent = np.empty(count, np.uint32)
    threads.map(count_up, [(parent, *bounds) for bounds in threads.ranges(count)])
    blocks = blocks_of(edges.pairs, parent, own) if threads.count > 1 else None
    if blocks is None:
        return Grown(_grow_everywhere(edges, own, parent, threads), parent)
    fate = contract_blocks(Team(threads), edges, parent, blocks).view(np.uint8)
    rest, position = edges_between(edges, parent, threads)
    fate[position] = _grow_everywhere(rest, own, parent, threads)
    return Grown(fate, parent)


def _grow_everywhere(
    edges: PairEdgeList, own: int, parent: np.ndarray, threads: Threads
) -> np.ndarray:
    """Grow along edges wherever they lead; return what becomes of each."""
    fate = np.zeros(len(edges.key), np.uint8)
    grow_in_order(sort_positions(edges.key, threads), edges.pairs, own, parent, fate)
    ranges = threads.ranges(len(parent))
    threads.map(flatten, [(parent, *bounds) for bounds in ranges])
    return fate
