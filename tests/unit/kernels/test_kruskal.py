"""Union-find and Kruskal's pass: the square 0-1-2-3 with a diagonal, and 4 alone."""

import numpy as np
import pytest

from mndmst.kernels.boruvka_rounds import band_limits, forest_by_rounds
from mndmst.kernels.kruskal import (
    HALF,
    component_labels,
    find,
    flatten,
    heavy_positions,
    kruskal,
    light_positions,
    pack_pairs,
    unite,
)
from mndmst.kernels.pointer_jumping import jump_to_representatives
from mndmst.kernels.reduced_edges import lightest_edges
from mndmst.kernels.team import Team
from mndmst.kernels.threads import Threads

A, B = np.array([[0, 1, 2, 0, 0], [1, 2, 3, 3, 2]], np.uint32)
ONE, TWO, THREE = (np.uint64(i) for i in (1, 2, 3))


def pairs() -> np.ndarray:
    out = np.empty(len(A), np.uint64)
    pack_pairs(A, B, 0, len(A), out)
    return out


def test_both_ends_are_in_one_word() -> None:
    assert pairs().tolist() == [
        (int(a) << int(HALF)) | int(b) for a, b in zip(A, B, strict=True)
    ]


def test_the_smallest_vertex_represents_a_component() -> None:
    parent = np.arange(5, dtype=np.uint32)
    assert unite(parent, THREE, TWO)
    assert unite(parent, TWO, ONE)
    assert not unite(parent, ONE, THREE)
    assert find(parent, THREE) == 1
    flatten(parent, 0, 5)
    assert parent.tolist() == [0, 1, 1, 1, 4]


def test_kruskal_keeps_an_edge_that_closes_no_cycle() -> None:
    order = np.array([4, 0, 1, 2, 3], np.uint64)  # the diagonal is the lightest
    parent, kept = np.arange(5, dtype=np.uint32), np.zeros(5, np.bool_)
    kruskal(order, pairs(), parent, kept)
    assert kept.tolist() == [True, False, True, False, True]
    flatten(parent, 0, 5)
    assert parent.tolist() == [0, 0, 0, 0, 4]


def test_heavy_edges_inside_a_component_are_left_out() -> None:
    key = np.array([1, 2, 9, 9, 9], np.uint32)
    light = light_positions(key, np.uint32(2))
    assert light.tolist() == [0, 1]
    joined = np.array([0, 0, 0, 3, 4], np.uint32)  # 0, 1 and 2 are one
    found = heavy_positions(key, np.uint32(2), pairs(), joined)
    assert found.tolist() == [2, 3]


def test_labels_are_the_smallest_vertices_of_components() -> None:
    src, dst = np.array([3, 2, 1]), np.array([4, 3, 0])
    kept = np.array([True, True, False])
    assert component_labels(src[kept], dst[kept], 6).tolist() == [0, 1, 2, 2, 2, 5]
    assert component_labels(src[~kept], dst[~kept], 6).tolist() == [0, 0, 2, 3, 4, 5]


@pytest.mark.parametrize("key_type", [np.uint32, np.uint64])
@pytest.mark.parametrize("threads", [1, 2])
def test_rounds_break_ties_by_the_position_in_the_list(
    key_type: type, threads: int
) -> None:
    parent = np.arange(5, dtype=np.uint32)
    team, key = Team(Threads(threads)), np.full(len(A), 7, key_type)
    chosen = forest_by_rounds(team, key, pairs(), parent)
    assert chosen.tolist() == [True, True, True, False, False]
    assert parent.tolist() == [0, 0, 0, 0, 4]


def test_a_band_of_light_edges_comes_before_all_others() -> None:
    key = np.arange(1000, dtype=np.uint32)
    first, last = band_limits(key, 100)
    assert 50 < first < 200
    assert last == np.iinfo(np.uint32).max
    assert 400 < band_limits(key, 10_000)[0] < 600  # at most half of all


def test_the_first_of_equal_edges_is_the_lightest_of_its_components() -> None:
    key = np.array([5, 3, 3, 5, 9], np.uint32)
    assert lightest_edges(A, B, key, 4).tolist() == [0, 1, 1, 2]


def test_a_path_that_leaves_the_rank_is_returned() -> None:
    #      10 <- 11 <- 12        13 -> 3, on another rank     14 -> 13
    parent = np.array([10, 10, 11, 3, 13])
    away = jump_to_representatives(parent, 10, np.arange(5))
    assert away.tolist() == [3, 4]
    assert parent.tolist() == [10, 10, 10, 3, 3]
