"""Columns of products are in groups that lie near a centre each."""

import numpy as np
import pytest

from mndmst.points.devices.column_groups import find_groups, order_columns
from mndmst.points.devices.component_pairs import BLOCK
from mndmst.points.devices.point_products import NO_POSITION


def clusters(count: int, dimensions: int, near: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points of clusters at distances of about 10, and each one's cluster."""
    r = np.random.default_rng(5)
    of_point = np.arange(2000) % count
    centres = 10 * r.standard_normal((count, dimensions)) / np.sqrt(2 * dimensions)
    noise = near * r.standard_normal((2000, dimensions)) / np.sqrt(dimensions)
    points = centres[of_point] + noise
    return (points - points.mean(axis=0)).astype(np.float32), of_point


@pytest.mark.parametrize("dimensions", [50, 200])
@pytest.mark.parametrize("count", [2, 20, 50])
def test_each_dense_cluster_is_a_group(count: int, dimensions: int) -> None:
    points, of_point = clusters(count, dimensions, 0.1)
    centre = np.arange(dimensions, dtype=float)
    groups = find_groups(points, centre, 4.0, 1 << 20)
    assert groups is not None
    assert len(groups.centres) == count
    # Coordinates are not scaled, and not relative to the centre of all points.
    centres = 4 * (groups.centres - centre)
    nearest = ((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1)
    assert len(set(zip(nearest.tolist(), of_point.tolist(), strict=True))) == count
    distance = np.linalg.norm(centres, axis=1)
    np.testing.assert_allclose(groups.distance, distance, rtol=1e-6)
    length = 0.1 / np.linalg.norm(points, axis=1).mean()
    np.testing.assert_allclose(groups.spread, length, rtol=0.4)


@pytest.mark.parametrize("points", [1 << 20, 100])
def test_groups_that_do_not_pay_are_not_made(points: int) -> None:
    """Clusters as wide as apart, more of them than centres, or too few points."""
    near = 7.0 if points > 100 else 0.1
    assert find_groups(clusters(20, 50, near)[0], np.zeros(50), 1.0, points) is None
    assert find_groups(clusters(1000, 50, 0.1)[0], np.zeros(50), 1.0, points) is None
    equal = np.zeros((2000, 50), np.float32)
    assert find_groups(equal, np.zeros(50), 1.0, points) is None


@pytest.mark.parametrize("bounds", [[0, 300], [0, 64, 65, 200, 300]])
def test_each_launch_has_its_positions_by_group(bounds: list[int]) -> None:
    group = np.random.default_rng(2).integers(0, 4, 300).astype(np.uint32)
    order = order_columns(group, bounds)
    assert order.bounds[0] == 0
    assert order.bounds[-1] == len(order.position) == BLOCK * len(order.group)
    for launch, begin in enumerate(order.bounds[:-1]):
        assert begin % BLOCK == 0
        positions = order.position[begin : order.bounds[launch + 1]]
        present = np.sort(positions[positions != NO_POSITION])
        expected = np.arange(bounds[launch], bounds[launch + 1])
        np.testing.assert_array_equal(present, expected)
    of_column = np.repeat(order.group, BLOCK)
    there = order.position != NO_POSITION
    np.testing.assert_array_equal(group[order.position[there]], of_column[there])
