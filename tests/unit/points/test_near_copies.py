"""Near copies of a point, which scores do not tell apart, have the tree's forest."""

import numpy as np
import pytest

from mndmst.points.point_forest import points_forest

pytest.importorskip("scipy")


def edges_of(points, metric, search, min_samples=5):
    forest = points_forest(points, metric, min_samples, search=search).forest
    return forest.src, forest.dst, forest.weight


def assert_same_forest(points, metric, min_samples=5):
    found = edges_of(points, metric, "product", min_samples)
    expected = edges_of(points, metric, "tree", min_samples)
    for column, same in zip(found, expected, strict=True):
        np.testing.assert_array_equal(column, same)


def near_copies(random, dimensions, least, most, count=300):
    """Return copies of a point at distances of several scales, equal and other ones."""
    others = random.standard_normal((60, dimensions))
    others /= np.linalg.norm(others, axis=1)[:, None]
    gaps = random.standard_normal((count, dimensions))
    gaps *= 10 ** random.uniform(least, most, (count, 1)) / dimensions**0.5
    copies = others[0] + gaps
    # copies of copies, nearer to them than to the others
    copies[::3] = copies[1] + gaps[::3] / 1000
    copies[:40] = copies[40]
    return random.permutation(np.concatenate([others, copies]))


@pytest.fixture(params=[0, 1 << 24], ids=["divided", "copied"])
def copied(request, monkeypatch):
    """Have cosine points divided by their lengths in place, or copied."""
    monkeypatch.setattr("mndmst.points.coordinates.COPIED", request.param)


@pytest.mark.parametrize("dimensions", [20, 64, 150])
@pytest.mark.parametrize("scales", [(-7, -3), (-3, -1), (-15, -8)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.usefixtures("copied")
def test_copies_at_several_scales(metric, dtype, scales, dimensions) -> None:
    random = np.random.default_rng(dimensions)
    points = near_copies(random, dimensions, *scales)
    lengths = random.uniform(0.1, 9, (len(points), 1)) if metric == "cosine" else 1
    for min_samples in (0, 5):
        assert_same_forest((points * lengths).astype(dtype), metric, min_samples)


@pytest.mark.parametrize("bits", [8, 30])
@pytest.mark.parametrize("dimensions", [40, 130])
def test_ties_depend_on_the_order_of_a_sum(dimensions, bits) -> None:
    """All copies have the same gaps to one point, in different dimensions.

    Of 30 bits, the squares of the gaps are rounded, and so are their sums: the last
    bits of the distances depend on the order. Of 8 bits, all distances are equal.
    """
    random = np.random.default_rng(bits)
    gaps = random.integers(-(1 << bits), 1 << bits, dimensions) * 2.0**-45
    copies = np.stack([1 + random.permutation(gaps) for _ in range(400)])
    copies[0] = 1.0
    others = random.standard_normal((30, dimensions))
    for min_samples in (1, 5, 12):
        assert_same_forest(np.concatenate([copies, others]), "euclidean", min_samples)


@pytest.mark.parametrize("exponent", [-1030, 0, 1023])
@pytest.mark.usefixtures("copied")
def test_directions_of_points_beyond_reciprocals(exponent) -> None:
    random = np.random.default_rng(1)
    points = near_copies(random, 40, -12, -3)
    points[::2] *= 2.0**exponent
    assert_same_forest(points, "cosine")
