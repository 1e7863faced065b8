"""The policy of light edges: first share, giant component, dropped edges."""

import numpy as np
import pytest

from mndmst.graph.light_edges import (
    doubling_shares,
    first_share,
    giant_component,
    largest_component,
    outside_bits,
)
from mndmst.graph.tuning import Tuning

TUNING = Tuning()


def test_about_one_edge_for_each_vertex_is_light() -> None:
    assert first_share(1600, 100, 1.3, TUNING) == pytest.approx(130 / 1600)


@pytest.mark.parametrize("edges", [0, 100, 300])
def test_all_edges_of_a_sparse_graph_are_light(edges: int) -> None:
    assert first_share(edges, 100, 1.3, TUNING) is None


def test_no_phase_is_cut_off_where_it_would_have_most_edges() -> None:
    assert first_share(400, 100, 2.0, TUNING) is None
    assert first_share(401, 100, 2.0, TUNING) is not None


def test_without_light_edges_there_is_one_phase() -> None:
    assert first_share(1600, 100, 0.0, TUNING) is None
    assert list(doubling_shares(None)) == []


def test_phases_double_until_they_have_half_of_the_edges() -> None:
    assert list(doubling_shares(0.1)) == [0.1, 0.2, 0.4]
    assert list(doubling_shares(0.25)) == [0.25]
    assert list(doubling_shares(0.5)) == []


def test_a_giant_component_has_a_majority() -> None:
    assert giant_component(np.array([7, 7, 7, 1]), TUNING) == 7
    assert giant_component(np.array([7, 7, 1, 1]), TUNING) is None
    assert giant_component(np.array([7, 7, 1, 1]), Tuning(giant_share=0.4)) == 1
    assert giant_component(np.empty(0, np.uint32), TUNING) is None


def test_the_largest_component_needs_no_majority() -> None:
    assert largest_component(np.array([3, 5, 5, 8])) == 5


def test_a_bit_tells_whether_a_vertex_is_outside() -> None:
    component = np.array([2, 2, 9, 2, 2, 2, 2, 2, 9, 2])
    assert outside_bits(component, 2).tolist() == [0b100, 0b1]
