"""Forests by metrics that compare all pairs are proved from plain definitions."""

import math
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from oracle import kruskal

from mndmst.certificate.candidate import LIMIT
from mndmst.host.errors import InputError
from mndmst.points.certificate.pairwise_certificate import (
    PairDistances,
    pairwise_problems,
)

# Alleles, 9 where they are missing: the last two have no column in common.
PROFILES = np.array(
    [[1, 2, 0], [1, 0, 0], [0, 0, 9], [0, 0, 9], [9, 2, 1], [9, 9, 1], [1, 2, 9]], float
)


def hamming(a: list[float], b: list[float], rule: str) -> float:
    there = [x != 9 and y != 9 for x, y in zip(a, b, strict=True)]
    unlike = [x != y for x, y in zip(a, b, strict=True)]
    if rule == "ignore":
        compared = [u for u, both in zip(unlike, there, strict=True) if both]
        return sum(compared) / len(compared) if compared else 1.0
    missing = rule == "differ"
    counted = [u if both else missing for u, both in zip(unlike, there, strict=True)]
    return sum(counted) / len(counted)


def jaccard(a: list[float], b: list[float]) -> float:
    both = [(x, y) for x, y in zip(a, b, strict=True) if x != 9 and y != 9]
    either = [(x != 0) != (y != 0) for x, y in both if x != 0 or y != 0]
    return sum(either) / len(either) if either else float(not both)


def all_distances(distances: PairDistances) -> list[list[float]]:
    every = np.arange(len(distances.points))
    return [distances.between(point, every).tolist() for point in every.tolist()]


@pytest.mark.parametrize("rule", ["ignore", "equal", "differ"])
def test_missing_alleles_are_left_out_or_equal_or_different(rule: str) -> None:
    found = PairDistances(PROFILES, "hamming", {"missing": 9, "missing_rule": rule})
    rows = PROFILES.tolist()
    assert all_distances(found) == [[hamming(a, b, rule) for b in rows] for a in rows]


def test_alleles_are_left_out_by_default() -> None:
    given = PairDistances(PROFILES, "hamming", {"missing": 9, "missing_rule": "ignore"})
    found = PairDistances(PROFILES, "hamming", {"missing": 9})
    assert all_distances(found) == all_distances(given)


def test_nothing_is_missing_without_a_number_for_it() -> None:
    found = PairDistances(PROFILES, "hamming", {})
    unlike = (PROFILES[:, None] != PROFILES).sum(axis=2) / 3
    assert all_distances(found) == unlike.tolist()


def test_a_share_of_the_columns_that_either_row_has() -> None:
    found = PairDistances(PROFILES, "jaccard", {"missing": 9})
    rows = PROFILES.tolist()
    assert all_distances(found) == [[jaccard(a, b) for b in rows] for a in rows]


@pytest.mark.parametrize("boxsize", [1.0, [1.0, 3.0], [0.0, 1.0]])
def test_a_box_is_measured_both_ways_round(boxsize: Any) -> None:
    points = np.random.default_rng(2).random((12, 2))
    points[1] = points[0] + [0.5, 0.0]  # as far both ways, in a box of 1
    found = PairDistances(points, "periodic", {"boxsize": boxsize})
    sides = np.broadcast_to(boxsize, 2).tolist()
    for i, j in product(range(12), repeat=2):
        gaps = np.abs(points[i] - points[j]).tolist()
        pairs = zip(gaps, sides, strict=True)
        near = [min(gap, side - gap) if side else gap for gap, side in pairs]
        distance = found.between(i, np.array([j]))[0]
        assert distance == pytest.approx(math.hypot(*near), abs=1e-15)


@pytest.mark.parametrize("boxsize", [-1.0, [1.0], [1.0, -1.0], [[1.0, 1.0]]])
def test_a_box_of_other_sides_is_refused(boxsize: Any) -> None:
    with pytest.raises(InputError, match="does not suit the points"):
        PairDistances(np.zeros((3, 2)), "periodic", {"boxsize": boxsize})


def test_distances_that_are_not_square_are_refused() -> None:
    with pytest.raises(InputError, match=r"has shape \(3, 2\); give a square one"):
        PairDistances(np.ones((3, 2)), "precomputed", {})


def trees_of_five() -> Iterator[list[tuple[int, int]]]:
    """Yield all 125 spanning trees of five points."""
    for edges in combinations(combinations(range(5), 2), 4):
        component = list(range(5))
        for u, v in edges:
            merged = {component[u], component[v]}
            component = [min(merged) if c in merged else c for c in component]
        if len(set(component)) == 1:
            yield list(edges)


@pytest.mark.parametrize("min_samples", [0, 1, 2, 3])
@pytest.mark.parametrize("bits", ["00000", "01101", "01233", "03120"])
def test_one_of_all_spanning_trees_is_proved(bits: str, min_samples: int) -> None:
    """Most distances are equal, so the numbers of points tell edges apart."""
    points = np.array([[int(bit) & 1, int(bit) >> 1] for bit in bits], float)
    gaps = (points[:, None] != points).sum(axis=2) / 2
    cores = np.sort(gaps, axis=1)[:, min_samples]
    weight = np.maximum(gaps, np.maximum.outer(cores, cores))
    ends = np.triu_indices(5, 1)
    right = kruskal(5, *ends, weight[ends])
    distances, proved, trees = PairDistances(points, "hamming", {}), [], 0
    for tree in trees_of_five():
        trees += 1
        u, v = np.array(tree).T
        problems = pairwise_problems(distances, min_samples, u, v, weight[u, v])
        if problems:
            assert all("comes before" in text for text in problems)
        else:
            proved.append(tree)
    assert trees == 125
    assert proved == [list(zip(right.src.tolist(), right.dst.tolist(), strict=True))]


def line(places: list[float], edges: list[tuple[int, int]], given: Any) -> list[str]:
    points = np.array(places)[:, None]
    u, v = np.array(edges).T
    distances = PairDistances(points, "periodic", {"boxsize": 0.0})
    return pairwise_problems(distances, 0, u, v, np.asarray(given, float))


def test_a_wrong_weight_and_a_cycle_are_named() -> None:
    assert line([0, 1, 3], [(0, 1), (1, 2)], [1, 2]) == []
    (text,) = line([0, 1, 3], [(0, 1), (1, 2)], [1, 2.5])
    assert text == "edge (1, 2) has weight 2.5, its points 2.0"
    cycle = [(0, 1), (0, 2), (1, 2)]
    (text,) = line([0, 1, 2, 9], cycle, [1, 2, 1])
    assert text == "the edges close a cycle, and do not join all points"


def test_an_edge_that_should_be_there_is_named() -> None:
    (text,) = line([0, 1, 3], [(0, 1), (0, 2)], [1, 3])
    assert text == "edge (1, 2) weight 2.0 comes before (0, 2), and is not there"


def test_the_first_problems_are_named() -> None:
    places = [float(place) for place in range(LIMIT + 5)]
    edges = [(k, k + 1) for k in range(LIMIT + 4)]
    assert len(line(places, edges, [2] * len(edges))) == LIMIT
    # The last point is joined from the farthest: all others between are nearer.
    far = [*edges[:-1], (0, LIMIT + 4)]
    weights = [1.0] * (LIMIT + 3) + [LIMIT + 4.0]
    problems = line(places, far, weights)
    assert len(problems) == LIMIT and all("comes before" in text for text in problems)


def test_an_equal_pair_between_the_numbers_of_an_edge_comes_later() -> None:
    """0 and 3 are as near as 1 and 2, and their smaller number is first."""
    points = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.0, 1.0]])
    distances = PairDistances(points, "periodic", {"boxsize": 0.0})
    u, v = np.array([(0, 1), (2, 3), (0, 3)]).T
    assert pairwise_problems(distances, 0, u, v, np.array([0.5, 0.5, 1.0])) == []
    u, v = np.array([(0, 1), (2, 3), (1, 2)]).T
    (text,) = pairwise_problems(distances, 0, u, v, np.array([0.5, 0.5, 1.0]))
    assert "edge (0, 3) weight 1.0 comes before (1, 2)" in text


def test_core_distances_of_many_points() -> None:
    place = np.random.default_rng(5).permutation(60)[:, None] * 1.0
    distances = PairDistances(place, "periodic", {"boxsize": 0.0})
    gaps = np.abs(place - place.T)
    cores = np.sort(gaps, axis=1)[:, 40]
    weight = np.maximum(gaps, np.maximum.outer(cores, cores))
    ends = np.triu_indices(60, 1)
    right = kruskal(60, *ends, weight[ends])
    columns = right.src, right.dst, right.weight
    assert pairwise_problems(distances, 40, *columns) == []
