"""The NetworkX backend takes the weights that NetworkX takes, and no others."""

import datetime
import fractions

import pytest

import mndmst
from mndmst import InputError

networkx = pytest.importorskip("networkx", reason="tests its backend")
PAIRS = ("a", "b"), ("b", "c"), ("c", "a")
ALGORITHMS = ("kruskal", "prim", "boruvka")


def triangle(weights: list) -> object:
    """Return a triangle, which is not cached for a backend."""
    graph = networkx.Graph()
    for (u, v), weight in zip(PAIRS, weights, strict=True):
        graph.add_edge(u, v, weight=weight)
    graph.__networkx_cache__ = None
    return graph


@pytest.mark.parametrize(
    "weights",
    [
        ["10", "9", "8"],
        [None, 1, 2],
        [1, "a", 2],
        [(1, 2), (1, 3), (1, 1)],
        [datetime.timedelta(i) for i in range(3)],
        [1j, 2, 3],
        [[1], [2], [3]],
    ],
    ids=lambda weights: str(weights[0])[:12],
)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_weights_that_networkx_refuses(weights: list, algorithm: str) -> None:
    for how in ({}, {"backend": "mndmst"}):
        with pytest.raises(TypeError):
            networkx.minimum_spanning_tree(
                triangle(weights), algorithm=algorithm, **how
            )
    with pytest.raises((InputError, TypeError)) as caught:
        mndmst.minimum_spanning_forest(triangle(weights))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "weights",
    [[fractions.Fraction(1, 3), 2, 0.5], [1 << 70, (1 << 70) + 1, 1], [True, False, 2]],
    ids=["fractions", "large integers", "booleans"],
)
def test_weights_that_networkx_takes(weights: list) -> None:
    trees = [
        networkx.minimum_spanning_tree(triangle(weights), **how).edges()
        for how in ({}, {"backend": "mndmst"})
    ]
    assert sorted(map(sorted, trees[0])) == sorted(map(sorted, trees[1]))
