"""Edges grouped by home, the lightest of proposals, edges that live on."""

import numpy as np
import pytest

from mndmst.graph.model import (
    EdgeColumns,
    EdgeList,
    GrowingEdgeList,
    insertion_positions,
)
from mndmst.kernels.edge_order import in_order, in_row_order
from mndmst.kernels.group_by_owner import group_by_owner, lightest_proposals
from mndmst.kernels.pointer_jumping import entries_leading_away
from mndmst.kernels.reduced_edges import carry_marks, edges_between_names, renumber_ends


@pytest.mark.parametrize("ids", [np.uint32, np.int64])
def test_ids_are_grouped_by_home_and_keep_their_order(ids: type) -> None:
    vtxdist = np.array([0, 0, 5, 5, 9, 20, 20])
    vertices: np.ndarray = np.random.default_rng(1).integers(0, 20, 300).astype(ids)
    home = np.searchsorted(vtxdist, vertices, side="right") - 1
    order, counts = group_by_owner(vertices, vtxdist)
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
    alive, end_a, end_b = edges_between_names(a, b, names)
    assert alive.tolist() == [1, 2]
    assert (end_a.tolist(), end_b.tolist()) == ([5, 7], [7, 5])
    mark = np.array([True, False, False, False])
    new_a, new_b = np.array([0, 1], np.uint32), np.array([1, 0], np.uint32)
    assert carry_marks(mark, a, b, alive, new_a, new_b, 2).tolist() == [False, False]
    mark[3] = True
    assert carry_marks(mark, a, b, alive, new_a, new_b, 2).tolist() == [True, False]


@pytest.mark.parametrize("ends", [np.uint32, np.int64])
def test_components_without_edges_are_left_out(ends: type) -> None:
    a, b = np.array([[1, 4, 1], [4, 5, 6]], ends)
    used, new_a, new_b = renumber_ends(a, b, 8)
    assert used.tolist() == [False, True, False, False, True, True, True, False]
    assert (new_a.tolist(), new_b.tolist()) == ([0, 1, 0], [1, 2, 3])
    used, new_a, _ = renumber_ends(a[:0], b[:0], 2)
    assert (used.tolist(), len(new_a)) == ([False, False], 0)


@pytest.mark.parametrize("ids", [np.uint32, np.int64])
def test_entries_that_point_away_from_home(ids: type) -> None:
    parent = np.array([10, 3, 13, 14, 9, 2, 12], ids)  # of the vertices 10 to 16
    assert entries_leading_away(parent, 10, -1).tolist() == [1, 4, 5]
    assert entries_leading_away(parent, 10, 9).tolist() == [1, 5]
    assert entries_leading_away(parent[:0], 10, -1).tolist() == []


@pytest.mark.parametrize("ids", [np.uint32, np.int64])
def test_whether_edges_are_in_order(ids: type) -> None:
    u, v = np.array([[0, 0, 2, 2], [3, 7, 3, 4]], ids)
    assert in_row_order(u, v)
    assert in_row_order(u[:0], v[:0])
    assert not in_row_order(u[[0, 1, 1, 2]], v[[0, 1, 1, 2]])
    assert not in_row_order(u[[0, 1, 3, 2]], v[[0, 1, 3, 2]])
    assert not in_row_order(u[[2, 0]], v[[2, 0]])


@pytest.mark.parametrize("ids", [np.uint32, np.int64])
def test_edges_are_put_among_those_in_order(ids: type) -> None:
    pairs = np.random.default_rng(3).permutation(
        [(u, v) for u in range(12) for v in range(u + 1, 30)]
    )
    u, v = pairs.T.astype(ids)
    key = np.arange(len(u), dtype=np.uint32)
    ordered = GrowingEdgeList(
        EdgeColumns(*(np.empty_like(column) for column in (u, v, key)))
    )
    for part in np.array_split(np.arange(len(u)), [0, 1, 20, 200]):
        ordered.add(in_order(EdgeList(u[part], v[part], key[part])))
    order = np.lexsort((v, u))
    for found, right in zip(vars(ordered.edges).values(), (u, v, key), strict=True):
        np.testing.assert_array_equal(found, right[order])
    every, odd = EdgeList(u, v, key).take(order), np.arange(1, len(u), 2)
    places = insertion_positions(every.take(odd - 1), every.take(odd))
    np.testing.assert_array_equal(places, np.arange(1, len(odd) + 1))
