"""Edges grouped by home, the lightest of proposals, edges that live on."""

import numpy as np
import pytest

from mndmst.backends.numba.homes import by_home, lightest_proposals
from mndmst.backends.numba.lists import living, marked
from mndmst.backends.numba.survey import in_row_order


@pytest.mark.parametrize("ids", [np.uint32, np.int64])
def test_ids_are_grouped_by_home_and_keep_their_order(ids: type) -> None:
    vtxdist = np.array([0, 0, 5, 5, 9, 20, 20])
    vertices: np.ndarray = np.random.default_rng(1).integers(0, 20, 300).astype(ids)
    home = np.searchsorted(vtxdist, vertices, side="right") - 1
    order, counts = by_home(vertices, vtxdist)
    np.testing.assert_array_equal(order, np.argsort(home, kind="stable"))
    np.testing.assert_array_equal(counts, np.bincount(home, minlength=6))


def test_the_lightest_proposal_is_chosen_by_the_order() -> None:
    draw = np.random.default_rng(2).integers
    label = draw(10, 40, 500)
    u, v, key = (draw(0, 4, 500).astype(np.uint32) for _ in range(3))
    chosen = lightest_proposals(label, u, v, key, 10, 40)
    np.testing.assert_array_equal(label[chosen], np.unique(label))
    for i in chosen:
        rivals = np.flatnonzero(label == label[i])
        assert min(zip(key[rivals], u[rivals], v[rivals], strict=True)) == (
            key[i], u[i], v[i],
        )  # fmt: skip


def test_edges_whose_ends_get_one_name_are_dropped() -> None:
    a, b = np.array([0, 1, 2, 3], np.uint32), np.array([1, 2, 3, 0], np.uint32)
    names = np.array([5, 5, 7, 5])
    alive, end_a, end_b = living(a, b, names)
    assert alive.tolist() == [1, 2]
    assert (end_a.tolist(), end_b.tolist()) == ([5, 7], [7, 5])
    mark = np.array([True, False, False, False])
    new_a, new_b = np.array([0, 1], np.uint32), np.array([1, 0], np.uint32)
    assert marked(mark, a, b, alive, new_a, new_b, 2).tolist() == [False, False]
    mark[3] = True
    assert marked(mark, a, b, alive, new_a, new_b, 2).tolist() == [True, False]


@pytest.mark.parametrize("ids", [np.uint32, np.int64])
def test_whether_edges_are_in_order(ids: type) -> None:
    u, v = np.array([[0, 0, 2, 2], [3, 7, 3, 4]], ids)
    assert in_row_order(u, v)
    assert in_row_order(u[:0], v[:0])
    assert not in_row_order(u[[0, 1, 1, 2]], v[[0, 1, 1, 2]])
    assert not in_row_order(u[[0, 1, 3, 2]], v[[0, 1, 3, 2]])
    assert not in_row_order(u[[2, 0]], v[[2, 0]])
