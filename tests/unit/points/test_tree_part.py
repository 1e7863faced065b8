"""Points of a version in a k-d tree: coordinates by position."""

import numpy as np
import pytest

from mndmst.kernels.threads import Threads
from mndmst.points.versions.point_parts import TreePart


@pytest.mark.parametrize(
    ("count", "kind"), [(1, "f8"), (31, "f4"), (33, "f8"), (5000, "f4")]
)
def test_coordinates_are_those_of_the_positions_that_are_in_the_tree(count, kind):
    random = np.random.default_rng(count)
    values, threads = random.normal(size=(count, 3)).astype(kind), Threads(2)
    points = values.astype(np.float64)
    part, point = TreePart.first(points, "euclidean", values.dtype, threads)
    assert part.tree.blocks.dtype == kind
    start = 7
    positions = random.permutation(count + 2 * start).astype(np.uint32)
    copied = np.full((len(positions), 3), -1.0)
    part.copy_coordinates(start, positions, copied, threads)
    inside = (positions >= start) & (positions < start + count)
    expected = points[point[positions[inside] - start]]
    assert np.array_equal(copied[inside], expected)
    assert (copied[~inside] == -1).all()


def test_a_tree_without_a_point_finds_the_coordinates_of_others():
    points, threads = np.random.default_rng(2).normal(size=(300, 2)), Threads(1)
    part, point = TreePart.first(points, "manhattan", points.dtype, threads)
    rest = part.moved(points, point, np.array([4]), threads)
    positions = np.delete(np.arange(300, dtype=np.uint32), 4)
    copied = np.empty((299, 2))
    rest.copy_coordinates(0, positions, copied, threads)
    assert np.array_equal(copied, points[point[positions]])
