"""The components that take part in a Borůvka round."""

import numpy as np
import pytest

from mndmst.points.kernels.boruvka_steps import choose_components


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([0, 900, 900, 900, 900, 900, 900, 900], [0]),
        ([0, 0, 1, 1], [0, 1]),
        ([0, 900, 800, 700, 600, 500, 400, 300, 200], [0, 5, 6, 7, 8]),
        ([900, 300, 500, 400], [1, 3]),
        ([9, 3, 5, 900], [0, 1, 2]),
    ],
    ids=["an eighth", "many", "few", "half", "cheap"],
)
def test_components_that_need_no_search_join_alone_if_they_are_many(counts, expected):
    bound = np.ones(len(counts))
    chosen = choose_components(np.array(counts), bound, 250)
    assert np.flatnonzero(chosen).tolist() == expected


def test_a_component_without_a_known_edge_is_not_certain():
    """Another that searches may find the edge between both."""
    bound = np.array([np.inf, 1.0])
    assert choose_components(np.array([0, 900]), bound, 250).tolist() == [True, False]
    assert choose_components(np.array([900, 0]), bound, 250).tolist() == [False, True]
    bound = np.full(3, np.inf)
    assert choose_components(np.array([0, 900, 901]), bound, 250).tolist() == [
        True,
        True,
        False,
    ]
