"""Coordinates at the ends of float64: distances are exact, or one line refuses them."""

from fractions import Fraction
from math import inf, isqrt
from pathlib import Path

import numpy as np
import pytest

from mndmst import read_points, single_linkage
from mndmst.host.errors import ConfigError, InputError
from mndmst.points.certificate.point_certificate import Claims
from mndmst.points.coordinates import finite_rows
from mndmst.points.estimator import HDBSCAN
from mndmst.points.metrics import Norm
from mndmst.points.neighbour_graph import neighbour_graph
from mndmst.points.point_files import checked_points, named_points
from mndmst.points.point_forest import points_forest
from mndmst.points.scale import FEW_POINTS, Scale, extremes, scale_for


def exact_distance(one: np.ndarray, other: np.ndarray) -> float:
    """Return the Euclidean distance, by integers of any length."""
    square = sum(
        (Fraction(x) - Fraction(y)) ** 2 for x, y in zip(one, other, strict=True)
    )
    bits = 1 << 2400
    return float(
        Fraction(isqrt(square.numerator * bits**2 // square.denominator), bits)
    )


def lightest_tree(points: np.ndarray) -> float:
    """Return the weight of a minimum spanning tree by Prim's algorithm."""
    near = {j: exact_distance(points[0], points[j]) for j in range(1, len(points))}
    total = 0.0
    while near:
        best = min(near, key=near.__getitem__)
        total += near.pop(best)
        for j in near:
            near[j] = min(near[j], exact_distance(points[best], points[j]))
    return total


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-160, 1e-140, 1.0, 1e149])
@pytest.mark.parametrize("beside", [False, True])
def test_distances_of_any_size_are_exact(size: float, beside: bool) -> None:
    points = np.random.default_rng(3).random((40, 2)) * size
    if beside:  # points of a usual size, if one factor suits both
        points = np.concatenate([points, [[1.0, 2.0], [3.0, 5.0]]])
    if beside and size == 1e-300:
        with pytest.raises(InputError, match="float64 cannot hold the squares"):
            points_forest(points)
        return
    forest = points_forest(points).forest
    assert (forest.weight > 0).all()
    assert forest.total_weight == pytest.approx(lightest_tree(points), rel=1e-12)
    claims = Claims(points, "euclidean", 0)
    assert claims.problems(forest.src, forest.dst, forest.weight) == []


@pytest.mark.parametrize("exponent", [-900, -600, 40])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("min_samples", [0, 3])
def test_a_power_of_two_changes_no_digit(
    exponent: int, metric: str, min_samples: int
) -> None:
    points = np.random.default_rng(4).normal(size=(300, 3))
    usual = points_forest(points, metric, min_samples).forest
    scaled = points_forest(np.ldexp(points, exponent), metric, min_samples).forest
    np.testing.assert_array_equal(scaled.src, usual.src)
    np.testing.assert_array_equal(scaled.dst, usual.dst)
    np.testing.assert_array_equal(scaled.weight, np.ldexp(usual.weight, exponent))


def test_single_linkage_and_neighbours_of_near_points() -> None:
    points = np.array([[0.0], [1e-200], [3e-200]])
    assert single_linkage(points)[:, 2].tolist() == [1e-200, pytest.approx(2e-200)]
    assert neighbour_graph(points, 1).weight.min() == 1e-200
    haversine = points_forest(np.array([[0.0, 0.0], [1e-200, 0.0]]), "haversine")
    assert haversine.forest.weight.tolist() == [1e-200]
    assert points_forest(points, "manhattan").forest.weight.min() == 1e-200


def test_equal_points_beside_tiny_ones_are_taken() -> None:
    """Softmax and kernels leave tiny numbers beside others; most never matter."""
    points = np.array([[1.0, 1e-300], [1.0, 1e-300], [2.0, 0.0], [5.0, 1e-310]])
    assert scale_for(Norm.EUCLIDEAN, *extremes(points)).wide
    assert points_forest(points).forest.weight.tolist() == [0.0, 1.0, 3.0]


@pytest.mark.parametrize("times", [1, FEW_POINTS], ids=["NumPy", "kernel"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_extremes_of_coordinates(dtype: type, times: int) -> None:
    assert extremes(np.zeros((0, 2), dtype)) == (inf, 0.0)
    assert extremes(np.zeros((4 * times, 2), dtype)) == (inf, 0.0)
    least = np.finfo(dtype).smallest_subnormal
    points = np.array([[0.0, -3.0], [-0.0, 2.0], [-least, 1.0]], dtype)
    assert extremes(np.tile(points, (times, 1))) == (float(least), 3.0)


def test_the_scale_of_coordinates() -> None:
    assert scale_for(Norm.EUCLIDEAN, *extremes(np.ones((2, 2)))) == Scale()
    assert scale_for(Norm.MANHATTAN, 1e-300, 1.0) == Scale()
    assert np.isfinite(scale_for(Norm.EUCLIDEAN, 5e-324, 5e-324).factor)


@pytest.mark.parametrize(
    ("column", "number"),
    [
        (np.array([2**64 - 1, 2**64 - 2], np.uint64), 2**64 - 1),
        (np.array([-(2**63), -(2**63) + 1]), -(2**63) + 1),
        (np.array([0, 2**53 + 1]), 2**53 + 1),
        (np.array([2**62, 2**62 + 1], np.uint64), 2**62 + 1),
    ],
)
def test_integers_are_not_rounded(
    tmp_path: Path, column: np.ndarray, number: int
) -> None:
    points = column[:, None]
    np.save(tmp_path / "points.npy", points)
    wrong = int(np.flatnonzero(column == number)[0])
    message = rf"point {wrong} has the coordinate {number}, which float64 would round"
    for read in (
        lambda: checked_points(points),
        lambda: read_points(tmp_path / "points.npy"),
        lambda: single_linkage(points),
        lambda: HDBSCAN(min_cluster_size=2).fit(points),
    ):
        with pytest.raises(InputError, match=message):
            read()


@pytest.mark.parametrize("column", [[2**53, 0], [2**63, 2**62], [-(2**63), 5]])
def test_integers_that_fit_are_taken(column: list[int]) -> None:
    dtype = np.uint64 if min(column) >= 0 else np.int64
    points = checked_points(np.array(column, dtype)[:, None])
    assert [int(x) for x in points[:, 0]] == column


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "longdouble"])
def test_poles_of_any_float_are_taken(kind: str) -> None:
    pole = np.array([[np.pi / 2, 0], [-np.pi / 2, 1], [np.pi / 2, 3]]).astype(kind)
    forest = points_forest(checked_points(pole), "haversine").forest
    assert forest.total_weight == pytest.approx(np.pi, abs=1e-2)
    if kind != "float16":
        assert forest.weight.min() < 1e-15  # longitude is nothing at a pole


def test_degrees_are_refused() -> None:
    with pytest.raises(InputError, match="in radians"):
        points_forest(np.array([[1.58, 0.0], [0.0, 0.0]]), "haversine")


def test_examples_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mndmst.io.memory_limit.free_bytes", lambda: 1 << 30)
    with pytest.raises(ConfigError, match="rings: an example of 4,000,000,000 points"):
        named_points("rings", 4_000_000_000)
    assert len(named_points("rings", 100).points) == 100


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 300, 70_000])
def test_rows_that_are_not_finite_are_found(count: int, dtype: type) -> None:
    for order in ("C", "F"):
        points = np.full((count, 3), 2.0, dtype, order)
        assert finite_rows(points).all()
        for value in (np.nan, -np.nan, np.inf, -np.inf):
            for row in (0, count // 2, count - 1):
                wrong = points.copy(order)
                wrong[row, 1] = value
                assert np.flatnonzero(~finite_rows(wrong)).tolist() == [row]
