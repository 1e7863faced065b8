"""Few edges in any order are solved by one kernel, and very few without any."""

from collections.abc import Callable

import numpy as np
import pytest

from mndmst.backends.base import LabelledForest
from mndmst.backends.cpu.edge_forest import (
    VERY_FEW_EDGES,
    forest_without_kernels,
    small_forest,
)
from mndmst.graph.model import EdgeColumns, EdgeList


def kruskal(n: int, edges: list[tuple[int, int, int]]) -> tuple[list, list[int]]:
    """Return the forest of (u, v, key) in the order (key, u, v), and the labels."""
    label, kept = list(range(n)), []
    for u, v, key in sorted(edges, key=lambda edge: (edge[2], *edge[:2])):
        if label[u] != label[v]:
            kept.append((u, v, key))
            low, high = sorted((label[u], label[v]))
            label = [low if one == high else one for one in label]
    return sorted(kept), label


def by_kernel(n: int, edges: EdgeColumns) -> LabelledForest:
    *columns, label = small_forest(n, edges)
    return LabelledForest(EdgeList(*columns), lambda: label)


@pytest.mark.parametrize("m", [0, 1, VERY_FEW_EDGES, 300])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("solve", [by_kernel, forest_without_kernels])
def test_small_forests_are_kruskals(
    m: int, dtype: type, solve: Callable[[int, EdgeColumns], LabelledForest]
) -> None:
    generator, n = np.random.default_rng(m), 40
    src, dst = generator.integers(0, n, (2, m)).astype(np.uint32)
    key = generator.integers(0, 7, m).astype(dtype)  # loops, parallel edges, ties
    edges, labels = solve(n, EdgeColumns(src, dst, key))
    label = labels()
    u, v, chosen = edges.u, edges.v, edges.key
    ends = np.sort([src, dst], axis=0)
    expected = kruskal(n, list(zip(*ends.tolist(), key.tolist(), strict=True)))
    assert (
        list(zip(u.tolist(), v.tolist(), chosen.tolist(), strict=True)) == expected[0]
    )
    assert label.tolist() == expected[1]
    assert (u.dtype, chosen.dtype, label.dtype) == (np.uint32, dtype, np.uint32)
