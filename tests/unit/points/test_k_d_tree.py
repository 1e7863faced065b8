"""The k-d tree of points: every leaf, box and block, and the neighbours found by it."""

import numpy as np
import pytest

from mndmst.kernels.threads import Threads
from mndmst.points.coordinates import unscaled
from mndmst.points.kernels.kd_tree import LEAF
from mndmst.points.metrics import Norm
from mndmst.points.point_forest import points_forest
from mndmst.points.search import search_rounds as boruvka_rounds
from mndmst.points.search.build_tree import build_tree
from mndmst.points.search.search_choice import SearchChoice, make_local, make_search
from mndmst.points.search_reporter import SearchReporter

GENERATOR = np.random.default_rng(5)
SPARSE = np.zeros((9000, 40))
SPARSE[GENERATOR.integers(0, 9000, 400), GENERATOR.integers(0, 40, 400)] = 1.5
POINTS = {
    "one": GENERATOR.random((1, 3)),
    "a full leaf": GENERATOR.random((LEAF, 2)),
    "one more": GENERATOR.random((LEAF + 1, 2)),
    "several cells": GENERATOR.standard_normal((20_000, 2)),
    "all equal": np.zeros((9000, 2)),
    "on a grid": GENERATOR.integers(0, 2, (9000, 3)).astype(float),
    "mostly zero": SPARSE,
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", POINTS)
def test_nodes_hold_their_points(name: str, threads: int) -> None:
    points = POINTS[name]
    tree = build_tree(points, Norm.EUCLIDEAN, Threads(threads))
    assert sorted(tree.point) == list(range(len(points)))
    blocks = tree.blocks.reshape(len(tree.leaves), points.shape[1], LEAF)
    for node, left in enumerate(tree.left):
        inside = points[tree.point[tree.begin[node] : tree.end[node]]]
        assert len(inside) > 0
        assert (inside.min(axis=0) == tree.low[node]).all()
        assert (inside.max(axis=0) == tree.high[node]).all()
        if left >= 0:
            assert tree.begin[left] == tree.begin[node]
            assert tree.end[left] == tree.begin[left + 1]
            assert tree.end[left + 1] == tree.end[node]
        else:
            assert tree.leaves[-1 - left] == node
            block = blocks[-1 - left]
            assert (block[:, : len(inside)] == inside.T).all()
            assert np.isinf(block[:, len(inside) :]).all()


@pytest.mark.parametrize("k", [1, 4, 7, 12, 16, 21, 32, 33])
@pytest.mark.parametrize("norm", [Norm.EUCLIDEAN, Norm.MANHATTAN, Norm.CHEBYSHEV])
def test_neighbours_are_the_nearest(norm: Norm, k: int) -> None:
    """Lists of up to 16 stay in registers; a list of 33 exceeds a leaf."""
    points = GENERATOR.integers(0, 30, (500, 3)).astype(float)
    chosen, threads = SearchChoice("tree", "asked for"), Threads(1)
    local = make_local(unscaled(points), norm, chosen, threads, SearchReporter())
    search = make_search(local, threads)
    found = search.neighbours(k, 0)
    ordered = points[search.point]
    gaps = np.abs(ordered[:, None] - ordered[None])
    total = np.zeros(gaps.shape[:2])
    for column in np.moveaxis(gaps, 2, 0):
        total = norm.add(total, column)
    if norm == Norm.EUCLIDEAN:
        total = np.sqrt(total)
    here = np.arange(len(points))
    assert (total[here[:, None], found.positions] == found.weight).all()
    assert (found.positions != here[:, None]).all()
    total[here, here] = np.inf
    assert (np.sort(total, axis=1)[:, :k] == found.weight).all()
    assert all(len(set(row)) == k for row in found.positions.tolist())


@pytest.mark.parametrize("min_samples", [0, 4])
def test_blocks_do_not_change_the_forest(
    min_samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal points in several blocks, and edges of one weight, included."""
    points = GENERATOR.integers(0, 12, (3000, 2)).astype(float)
    whole = points_forest(points, min_samples=min_samples, threads=1).forest
    monkeypatch.setattr(boruvka_rounds, "BLOCK", 64)
    monkeypatch.setattr(boruvka_rounds, "LEAST_BLOCK", 64)
    parts = points_forest(points, min_samples=min_samples, threads=4).forest
    assert (whole.src == parts.src).all()
    assert (whole.dst == parts.dst).all()
    assert (whole.weight == parts.weight).all()
