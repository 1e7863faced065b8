"""Points of which no list of nearest neighbours needs all equals."""

import numpy as np
import pytest

from mndmst.points.search import surplus_equals as module
from mndmst.points.search.surplus_equals import surplus_equals


def by_definition(points: np.ndarray, precedence: np.ndarray, k: int) -> list[int]:
    """Return the points that equal more than k preceding ones."""
    keys = list(zip(map(tuple, points.tolist()), precedence.tolist(), strict=True))
    order = sorted(range(len(points)), key=lambda i: (*keys[i], i))
    places: dict[tuple[float, ...], int] = {}
    surplus = []
    for i in order:
        place = places.get(keys[i][0], 0)
        places[keys[i][0]] = place + 1
        if place > k:
            surplus.append(i)
    return sorted(surplus)


@pytest.mark.parametrize("k", [0, 1, 5, 40])
@pytest.mark.parametrize("one_hash", [False, True])
def test_the_first_equals_stand_for_the_others(k, one_hash, monkeypatch) -> None:
    monkeypatch.setattr(module, "TOGETHER", 7)
    if one_hash:  # of different points
        monkeypatch.setattr(
            module, "_hashes", lambda points: np.zeros(len(points), np.uint64)
        )
    random = np.random.default_rng(k)
    points = random.integers(0, 3, (200, 2)).astype(np.float32)
    precedence = random.integers(0, 50, len(points))
    expected = by_definition(points, precedence, k)
    found = surplus_equals(
        points.__getitem__, points[:, 0].astype(float), precedence, k
    )
    if one_hash:  # only the equals of the first one are found
        assert set(found.tolist()) <= set(expected)
    else:
        assert found.tolist() == expected


def test_points_in_no_list_stand_for_none() -> None:
    points, alike = np.ones((9, 3)), np.ones(9)
    alike[:4] = np.nan
    found = surplus_equals(points.__getitem__, alike, np.arange(9), 2)
    assert found.tolist() == [7, 8]


def test_fewer_points_than_a_list_has_are_all_listed() -> None:
    points = np.ones((3, 2))
    assert len(surplus_equals(points.__getitem__, points[:, 0], np.arange(3), 5)) == 0
