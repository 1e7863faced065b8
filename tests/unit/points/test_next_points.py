"""The points after a batch: those that stay in their order, then the new ones."""

import numpy as np
import pytest

from mndmst.kernels.threads import Threads
from mndmst.points.versions import next_points
from mndmst.points.versions.next_points import NextPoints


@pytest.mark.parametrize("at_once", [0, next_points.AT_ONCE])
@pytest.mark.parametrize("threads", [1, 3, 20, 90])
def test_points_that_stay_and_new_ones(monkeypatch, threads, at_once):
    monkeypatch.setattr(next_points, "AT_ONCE", at_once)
    random = np.random.default_rng(threads)
    for removed, inserted in (([], 4), ([19, 3, 4, 0], 2), ([7], 0), (range(20), 5)):
        old, new = random.normal(size=(20, 3)), random.normal(size=(inserted, 3))
        gone = np.asarray(removed, np.int64)
        points = NextPoints(old, gone, new, Threads(threads))
        expected = np.concatenate([np.delete(old, gone, axis=0), new])
        rows = random.permutation(len(expected))
        assert len(points) == len(expected)
        np.testing.assert_array_equal(points.at(rows), expected[rows])
        np.testing.assert_array_equal(points.all(), expected)
        np.testing.assert_array_equal(points.inserted, new)


@pytest.mark.parametrize("inserted", [0, 1])
def test_new_float64_points_widen_the_others(inserted):
    old = np.ones((4, 2), np.float32)
    points = NextPoints(old, np.array([1]), np.zeros((inserted, 2)), Threads(1))
    kind = np.float64 if inserted else np.float32
    assert points.all().dtype == points.at(np.array([0])).dtype == kind
