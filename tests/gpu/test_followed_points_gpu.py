"""Batches of changed points on a device lead to the forest of a fresh fit."""

import pickle

import numpy as np
import pytest

from mndmst.backends.cuda import unavailable
from mndmst.points.point_forest import points_forest
from mndmst.points.search import search_choice
from mndmst.points.versions import forest_change
from mndmst.points.versions.point_version import ForestRule, PointVersion

reason = unavailable()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(reason is not None, reason=str(reason)),
]


@pytest.fixture(autouse=True)
def _any_number_of_points(monkeypatch):
    monkeypatch.setattr(search_choice, "DEVICE_POINTS", 2)
    monkeypatch.setattr(search_choice, "START_POINTS", 2)
    monkeypatch.setattr(forest_change, "LARGEST_SHARE", 2)


def fresh(version):
    """Return the forest of a version's points by a tree on the host."""
    rule = version.rule
    points = version.points.astype(np.float64)
    return points_forest(points, rule.metric, rule.min_samples, search="tree").forest


def check(version):
    expected = fresh(version)
    for column in ("src", "dst", "weight"):
        np.testing.assert_array_equal(
            getattr(version.forest, column), getattr(expected, column)
        )


def follow(version, batches):
    """Return the last version; each one's forest is a fresh one, but not made so."""
    for removed, inserted in batches:
        remove = version.ids[removed] if len(removed) else None
        insert = inserted if len(inserted) else None
        version = version.changed(version.check(remove, insert))
        assert version.followed is not None
        assert version.followed.on_device
        assert version.point_forest.search == "device"
        check(version)
    return version


def first(points, metric="euclidean", min_samples=4):
    return PointVersion.first(points, ForestRule(metric, min_samples, search="product"))


def plain(r, count, dimensions):
    return r.standard_normal((count, dimensions))


def ties(r, count, dimensions):
    return r.integers(1, 5, (count, dimensions)) + np.arange(dimensions) / 3


def densities(r, count, dimensions):
    return np.exp(2 * r.standard_normal((count, dimensions)))


def clusters(r, count, dimensions):
    centres = np.random.default_rng(dimensions).standard_normal((12, dimensions))
    return 5 * centres[r.integers(0, 12, count)] + plain(r, count, dimensions) / 9


def drawn_batches(r, points, draw):
    for removed, inserted in ((9, 11), (0, 6), (12, 0), (1, 0), (0, 1), (8, 8)):
        new = draw(r, inserted, points.shape[1]).astype(points.dtype)
        new[: inserted // 3] = points[r.integers(0, len(points), inserted // 3)]
        yield r.choice(len(points) - 90, removed, False), new


@pytest.mark.parametrize("draw", [plain, ties, densities, clusters])
@pytest.mark.parametrize(
    ("metric", "dimensions", "min_samples", "dtype"),
    [
        ("euclidean", 3, 3, "f8"),
        ("euclidean", 16, 0, "f4"),
        ("euclidean", 64, 5, "f4"),
        ("cosine", 24, 1, "f8"),
        ("cosine", 70, 4, "f4"),
        ("correlation", 30, 3, "f4"),
    ],
)
def test_any_batch(metric, dimensions, min_samples, dtype, draw):
    r = np.random.default_rng(dimensions + 10 * min_samples)
    points = draw(r, 700, dimensions).astype(dtype)
    follow(first(points, metric, min_samples), drawn_batches(r, points, draw))


@pytest.mark.parametrize("min_samples", [0, 4])
def test_few_pairs_fit_in_a_list(monkeypatch, min_samples):
    """Then fewer points search together, until their pairs fit."""
    from mndmst.points.cuda import resident_points

    overflows = []
    search = resident_points.CudaResidentPoints.pairs_within

    def count(self, rows, columns):
        found = search(self, rows, columns)
        overflows.append(found is None)
        return found

    monkeypatch.setattr(resident_points.CudaResidentPoints, "pairs_within", count)
    monkeypatch.setattr(resident_points, "CAPACITY", 1)
    r = np.random.default_rng(3)
    # Between two far clusters, no edge is known once the points between them are gone
    points = np.r_[plain(r, 300, 20), 99 + plain(r, 300, 20), 50 + np.ones((9, 20)) / 9]
    batches = [(range(600, 609), points[:40] + 0.5), ([], 40 + plain(r, 30, 20))]
    follow(first(points, "euclidean", min_samples), batches)
    assert any(overflows)
    assert not all(overflows)


def test_small_batches_merge_and_rows_that_are_mostly_gone_are_made_anew():
    points = plain(np.random.default_rng(9), 1200, 20).astype("f4")
    batches = [([3 * i], points[i : i + 1] / 3) for i in range(6)]
    batches += [(range(130), []), (range(90, 400), []), (range(200), [])]
    version = first(points, "cosine", 2)
    after = follow(version, [*batches, ([], points[:9] * 2)])
    assert after.followed.parts[0].size < 600


def test_a_point_far_away_changes_the_scale_of_all():
    points = plain(np.random.default_rng(8), 700, 12)
    version = follow(first(points), [([1], points[:2] + 2.0**20)])
    follow(version, [([0, 5, 699], points[:2] + 2.0**30), ([], points[:3])])


@pytest.mark.parametrize("together", [1, 1 << 29])
def test_columns_in_groups(monkeypatch, together):
    """Those of one launch, or all, are in the order of their bounds."""
    from mndmst.points.cuda import device_products, resident_points
    from mndmst.points.devices import column_groups

    monkeypatch.setattr(resident_points, "TOGETHER", together)
    monkeypatch.setattr(device_products, "FEWEST_GROUPED", 0)
    monkeypatch.setattr(column_groups, "FEWEST", 32)
    monkeypatch.setattr(device_products, "FIRST", 64)
    monkeypatch.setattr(device_products, "COLUMNS", 256)
    r = np.random.default_rng(5)
    points = clusters(r, 900, 24).astype("f4")
    version = first(points)
    last = follow(version, drawn_batches(r, points, clusters))
    assert last.followed.parts[0].resident._products._groups.count > 1


def test_a_version_may_have_two_next_ones_which_share_the_device():
    points = plain(np.random.default_rng(7), 700, 9)
    version = follow(first(points), [([], points[:1] / 2)])
    one, other = (
        follow(version, [(removed, points[5:6] / 3)]) for removed in ([3, 700], [8])
    )
    for after in (one, other):
        assert after.followed.parts[0].resident is version.followed.parts[0].resident
    check(version)
    follow(version, [([3], [])])


def test_a_copy_for_another_process_leaves_the_device():
    points = plain(np.random.default_rng(7), 700, 9)
    version = follow(first(points), [([2], points[:1] / 2)])
    copy = pickle.loads(pickle.dumps(version))
    assert copy.followed is None
    follow(copy, [([3], points[:2] / 3)])


def test_a_device_without_room_leaves_the_batch_to_a_fresh_search(monkeypatch):
    from mndmst.backends.base import DeviceMemoryError
    from mndmst.points.cuda import resident_points

    points = plain(np.random.default_rng(7), 700, 9)
    version = follow(first(points), [([2], points[:1] / 2)])

    def refuse(*given):
        raise DeviceMemoryError("no room")

    for name in ("pairs_within", "__init__"):
        with monkeypatch.context() as without:
            without.setattr(resident_points.CudaResidentPoints, name, refuse)
            after = version.changed(version.check([3], points[:2] / 3))
            assert after.followed is None
            check(after)
