"""Bounds on pairs of components exclude no edge that the forest may have."""

import numpy as np
import pytest

from mndmst.points.devices.component_pairs import (
    BLOCK,
    order_by_component,
    possible_pairs,
)
from mndmst.points.devices.point_products import NO_POSITION


def test_components_begin_at_blocks():
    of_position = np.array([2] * 70 + [0] * 64 + [1] * 60 + [2] * 58, np.uint32)
    order = order_by_component(of_position, 3)
    assert order.component.tolist() == [0, 1, 2, 2]
    for block, component in enumerate(order.component):
        positions = order.positions[BLOCK * block : BLOCK * (block + 1)]
        there = positions[positions != NO_POSITION]
        assert (of_position[there] == component).all()
    every = order.positions[order.positions != NO_POSITION]
    assert sorted(every) == list(range(len(of_position)))


@pytest.mark.parametrize("seed", range(8))
def test_pairs_of_the_forest_are_possible(seed):
    """Whatever the weights within the bounds are, ties among them, too."""
    r = np.random.default_rng(seed)
    count, width = int(r.integers(2, 40)), float(r.choice([0, 0.5, 3]))
    weight = r.integers(5, 30, (count, count)).astype(np.float32)
    most = np.triu(weight + np.float32(width) * r.random((count, count)), 1)
    most = np.where(np.tri(count, dtype=bool), np.inf, most).astype(np.float32)
    limits = possible_pairs(np.minimum(most, most.T), width)
    assert (limits[np.tri(count, dtype=bool)] == -1).all()
    kept = limits >= 0
    assert (limits[kept] == most[kept]).all()
    parent = list(range(count))

    def root(x):
        while parent[x] != x:
            x = parent[x]
        return x

    joined = 0
    pairs = [(weight[a, b], a, b) for a in range(count) for b in range(a + 1, count)]
    for _, a, b in sorted(pairs):
        if root(a) != root(b):
            parent[root(a)] = root(b)
            joined += 1
            assert kept[a, b]
    assert joined == count - 1
    assert width > 0 or count < 9 or kept.sum() < count * (count - 1) // 2
