"""Points on a device follow batches, here with a device that compares all pairs.

`tests/gpu/test_followed_points_gpu.py` has the same of real ones.
"""

import copy

import numpy as np
import pytest

from mndmst.backends.base import DeviceMemoryError
from mndmst.points.devices.point_products import NO_POSITION, PairsWithin
from mndmst.points.point_forest import points_forest
from mndmst.points.search.search_choice import SearchChoice
from mndmst.points.versions import device_part, first_part, forest_change
from mndmst.points.versions.point_version import ForestRule, PointVersion


class AllPairs:
    """Points of which a search compares all pairs; its list holds `capacity`."""

    def __init__(self, arrays, capacity):
        self.points = arrays.coordinates(slice(None))
        self.capacity, self.overflows = max(capacity, len(self.points)), 0

    def _squares(self, points):
        squares = np.zeros((len(points), len(self.points)))
        for one, other in zip(points.T, self.points.T, strict=True):
            squares += (one[:, None] - other) ** 2
        return squares

    def upload(self, column):
        return column.copy()

    def empty_points(self, count):
        return np.full((count, self.points.shape[1]), np.nan)

    def copy_points(self, positions, rows, points):
        points[rows] = self.points[positions]

    def squares(self, points, rows, positions):
        return self._squares(points)[rows, positions]

    def nearest_to(self, points, columns, k):
        squares = self._squares(points)
        least = np.maximum(columns.least, columns.least_of_vertex[columns.vertex])
        squares[:, least == np.inf] = np.inf
        squares = np.pad(squares, ((0, 0), (0, k)), constant_values=np.inf)
        order = np.argsort(squares, axis=1, kind="stable")[:, :k].astype(np.uint32)
        squares = np.take_along_axis(squares, order, axis=1)
        return squares, np.where(squares == np.inf, NO_POSITION, order)

    def pairs_within(self, rows, columns):
        squares = self._squares(rows.points)
        distances = np.sqrt(squares)
        least = np.maximum(columns.least, columns.least_of_vertex[columns.vertex])
        component = columns.of_vertex[columns.vertex]
        wanted = np.zeros(squares.shape, np.bool_)
        for bound in (rows.bound[:, None], columns.reach[component]):
            wanted |= (distances <= bound) & (least <= bound)
        wanted &= least < np.inf
        wanted &= component != rows.component[:, None]
        row, position = (ends.astype(np.uint32) for ends in np.nonzero(wanted))
        if len(row) > self.capacity:
            self.overflows += 1
            return None
        return PairsWithin(row, position, squares[row, position])


class Searches:
    """A device's searches; it takes points while there is room for them."""

    def __init__(self, capacity):
        self.capacity, self.made, self.room = capacity, [], True

    def make_resident_points(self, arrays, listed):
        if not self.room:
            raise DeviceMemoryError("no room")
        self.made.append(AllPairs(arrays, self.capacity))
        return self.made[-1]


@pytest.fixture(params=[1, 1 << 22])
def device(request, monkeypatch):
    searches = Searches(request.param)
    choice = SearchChoice("device", "a test")
    monkeypatch.setattr(forest_change, "LARGEST_SHARE", 2)
    monkeypatch.setattr(first_part, "choose_search", lambda *_, **__: choice)
    monkeypatch.setattr(device_part, "find_accelerator", lambda _: ("a device", ""))
    monkeypatch.setattr(device_part, "searches_on", lambda _: searches)
    return searches


def check(version):
    rule = version.rule
    fresh = points_forest(version.points, rule.metric, rule.min_samples, search="tree")
    for column in ("src", "dst", "weight"):
        found, expected = (getattr(f, column) for f in (version.forest, fresh.forest))
        np.testing.assert_array_equal(found, expected)


def follow(version, batches):
    for removed, inserted in batches:
        remove = version.ids[removed] if len(removed) else None
        version = version.changed(
            version.check(remove, inserted if len(inserted) else None)
        )
        assert version.point_forest.search == "device"
        check(version)
    return version


@pytest.mark.parametrize(
    ("metric", "min_samples"), [("euclidean", 0), ("euclidean", 5), ("cosine", 3)]
)
def test_any_batch(device, metric, min_samples):
    random = np.random.default_rng(min_samples)
    points = random.integers(1, 5, (600, 8)) + np.arange(8) / 3
    batches = []
    for removed, inserted in ((9, 11), (0, 6), (12, 0), (1, 0), (0, 1)):
        new = random.normal(size=(inserted, 8))
        new[: inserted // 3] = points[: inserted // 3]
        batches.append((random.choice(500, removed, False), new))
    follow(PointVersion.first(points, ForestRule(metric, min_samples)), batches)


def test_sources_search_in_halves_where_their_pairs_are_too_many(device, monkeypatch):
    """Between two far clusters, no edge is known once the points between are gone.

    One point of each finds a first bound, within which many pairs are.
    """
    monkeypatch.setattr(device_part, "BOUNDING", 1)
    random = np.random.default_rng(3)
    far = [[0.0] * 6, [99.0] * 6, [50.0] * 6]
    points = np.repeat(far, [300, 300, 9], axis=0)
    points += random.normal(size=points.shape)
    version = PointVersion.first(points, ForestRule())
    follow(version, [(range(600, 609), points[:40] + 0.5)])
    assert any(made.overflows for made in device.made) == (device.capacity == 1)


def test_versions_share_the_device_and_copies_leave_it(device):
    points = np.random.default_rng(4).normal(size=(700, 5))
    version = PointVersion.first(points, ForestRule(min_samples=2))
    version = follow(version, [([3], points[:2] / 2)])
    one, other = (follow(version, [(gone, points[5:6])]) for gone in ([3, 700], [8]))
    for after in (one, other):
        assert after.followed.parts[0].resident is version.followed.parts[0].resident
    assert copy.deepcopy(version).followed is None
    device.room = False
    after = version.changed(version.check([4], points[:1] / 3))
    assert after.followed is None
    check(after)


def test_small_new_parts_become_one(device, monkeypatch):
    points = np.random.default_rng(6).normal(size=(900, 4))
    version = PointVersion.first(points, ForestRule(min_samples=3))
    batches = [([], points[:count] / 3) for count in (16, 2, 1)]
    apart = follow(version, [])
    with monkeypatch.context() as without:
        without.setattr(device_part.DevicePart, "small", 0)
        apart = follow(apart, batches)
    assert [part.size for part in apart.followed.parts] == [900, 16, 3]
    together = follow(version, batches)
    assert [part.size for part in together.followed.parts] == [900, 19]


@pytest.mark.parametrize("bounding", [1, 1 << 10])
def test_components_without_an_edge_get_one_from_some_points(
    device, monkeypatch, bounding
):
    """Three far clusters lose the points between them."""
    monkeypatch.setattr(device_part, "BOUNDING", bounding)
    counts, nearest = [], device_part.DevicePart.nearest_among

    def count(self, queries, k, columns):
        if k == 1:
            counts.append(len(queries))
        return nearest(self, queries, k, columns)

    monkeypatch.setattr(device_part.DevicePart, "nearest_among", count)
    random = np.random.default_rng(8)
    far = np.eye(3, 6) * 90
    points = np.repeat([*far, far[:2].mean(0), far[1:].mean(0)], [250] * 3 + [4] * 2, 0)
    points += random.normal(size=points.shape)
    version = PointVersion.first(points, ForestRule(min_samples=2))
    follow(version, [(range(750, 758), points[:9] / 2)])
    assert counts
    assert max(counts) <= max(3, bounding)


def test_only_new_points_search_their_neighbours(device, monkeypatch):
    """Old points have lists of neighbours, which are longer than their order."""
    searching, nearest = [], device_part.DevicePart.improve_nearest

    def count(self, queries, *given):
        searching.append(len(queries))
        nearest(self, queries, *given)

    monkeypatch.setattr(device_part.DevicePart, "improve_nearest", count)
    points = np.random.default_rng(2).normal(size=(900, 6))
    version = PointVersion.first(points, ForestRule(min_samples=4))
    version = follow(version, [(range(7), points[:5] / 2)])
    assert version.followed.lists.position.shape[1] > 4
    assert searching == [5, 5]  # in both parts
