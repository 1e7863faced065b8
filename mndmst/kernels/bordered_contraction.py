"""Border-excepting contraction of edges between numbered components, by threads.

If most edges join close components, threads contract blocks of them first. Then one
pass in ascending order contracts the edges between blocks.
"""

from typing import NamedTuple

import numpy as np

from .block_contraction import contract_blocks, edges_between, find_blocks
from .borders import contract_in_order
from .hooks import set_identity
from .kruskal import PairEdgeList, flatten
from .sorting import sort_positions
from .team import Team
from .threads import Threads, each_range


class BorderedForest(NamedTuple):
    """The forest of a border-excepting contraction."""

    # uint8: `ACCEPTED` for contracted edges, `PENDING` for other forest edges, else 0
    fate: np.ndarray
    parent: np.ndarray  # uint32: the smallest component that each has merged with


def contract_except_borders(
    edges: PairEdgeList, interior: int, count: int, threads: Threads
) -> BorderedForest:
    """Contract components along their lightest edges, as far as borders allow.

    Of `count` components the first `interior` may be contracted; the others are across
    a border.
    """
    parent = np.empty(count, np.uint32)
    threads.run(set_identity, parent, *each_range(threads.bounds(count)))
    blocks = find_blocks(edges.pairs, parent, interior) if threads.count > 1 else None
    if blocks is None:
        return BorderedForest(
            _contract_everywhere(edges, interior, parent, threads), parent
        )
    fate = contract_blocks(Team(threads), edges, parent, blocks).view(np.uint8)
    remaining, position = edges_between(edges, parent, blocks, threads)
    fate[position] = _contract_everywhere(remaining, interior, parent, threads)
    return BorderedForest(fate, parent)


def _contract_everywhere(
    edges: PairEdgeList, interior: int, parent: np.ndarray, threads: Threads
) -> np.ndarray:
    """Contract along edges without blocks; return the fate of each edge."""
    fate = np.zeros(len(edges.key), np.uint8)
    contract_in_order(
        sort_positions(edges.key, threads), edges.pairs, interior, parent, fate
    )
    threads.run(flatten, parent, *each_range(threads.bounds(len(parent))))
    return fate
