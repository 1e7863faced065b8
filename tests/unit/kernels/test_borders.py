"""Border-excepting contraction: components stop at lighter edges across the border.

0 --1-- 1 --3-- 2        the ghost 3 is across the border
        |
        2
        |
        3
"""

import numpy as np
import pytest

from mndmst.kernels.borders import (
    ACCEPTED,
    NO_BORDER,
    PENDING,
    Bordered,
    contract_in_order,
    lower_borders,
    unite_except_borders,
)
from mndmst.kernels.kruskal import EVERY_BIT, HALF, PairEdgeList

DROPPED = 0


def packed(ends: list[tuple[int, int]]) -> np.ndarray:
    a, b = np.array(ends, np.uint64).T
    return (a << HALF) | b


def fates(ends: list[tuple[int, int]], own: int, count: int) -> list[int]:
    """Contract edges that are given lightest first."""
    fate = np.zeros(len(ends), np.uint8)
    order = np.arange(len(ends), dtype=np.uint64)
    parent = np.arange(count, dtype=np.uint32)
    contract_in_order(order, packed(ends), own, parent, fate)
    return fate.tolist()


def test_an_edge_is_accepted_if_one_end_may_still_grow() -> None:
    ends = [(0, 1), (1, 3), (1, 2), (0, 2)]
    assert fates(ends, own=3, count=4) == [ACCEPTED, PENDING, ACCEPTED, DROPPED]


def test_two_stopped_components_wait_for_the_other_ranks() -> None:
    ends = [(0, 2), (1, 3), (0, 1)]
    assert fates(ends, own=2, count=4) == [PENDING, PENDING, PENDING]


def test_a_cycle_through_a_ghost_loses_its_heaviest_edge() -> None:
    assert fates([(0, 2), (1, 2), (0, 1)], own=2, count=3) == [
        PENDING, PENDING, DROPPED,
    ]  # fmt: skip


@pytest.mark.parametrize("key_type", [np.uint32, np.uint64])
def test_one_block_stops_at_the_borders_that_were_noted(key_type: type) -> None:
    ends = [(0, 1), (1, 3), (1, 2), (0, 2)]
    edges = PairEdgeList(np.array([1, 2, 3, 4], key_type), packed(ends))
    border = np.full(4, NO_BORDER)
    lower_borders(edges, 1, 1, 3, border)
    state = Bordered(np.arange(4, dtype=np.uint32), border, np.zeros(4, np.bool_))
    inside = np.array([0, 2, 3], np.uint64)
    unite_except_borders(edges, state, inside, 0, EVERY_BIT)
    assert state.final.tolist() == [True, False, True, False]
    assert state.border[0] == border[3]  # the component of 0, 1 and 2 has a border
