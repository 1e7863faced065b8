"""Points that change: each version has the forest of a fresh search of its points."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from mndmst.graph.tuning import Tuning
from mndmst.host.errors import InputError
from mndmst.native.loader import loaded
from mndmst.native.precompile import listed_kernels
from mndmst.points.pairwise_forest import metric_forest
from mndmst.points.search.product_search import HostProducts
from mndmst.points.versions import (
    change_rounds,
    followed_forest,
    forest_change,
    point_parts,
    product_part,
)
from mndmst.points.versions.point_batch import IdSet, RowIds
from mndmst.points.versions.point_parts import TreePart
from mndmst.points.versions.point_version import ForestRule, PointVersion
from mndmst.points.versions.product_part import ProductPart

SQUARE = np.array([[0.0, 0], [1, 0], [0, 1], [4, 4]])


def same_forest(version):
    fresh = metric_forest(
        version.points, version.rule.metric, version.rule.min_samples
    ).forest
    return all(
        np.array_equal(getattr(version.forest, name), getattr(fresh, name))
        for name in ("src", "dst", "weight", "labels")
    )


def test_rows_that_stay_keep_their_order_and_new_ones_follow():
    first = PointVersion.first(SQUARE, ForestRule(min_samples=1))
    batch = first.check(remove=[1], insert=[[9, 9], [8, 8]])
    second = first.changed(batch)
    assert second.ids.tolist() == [0, 2, 3, 4, 5]
    assert second.points.tolist() == [[0, 0], [0, 1], [4, 4], [9, 9], [8, 8]]
    assert (second.number, second.next_id) == (1, 6)
    assert same_forest(second)
    assert first.ids.tolist() == [0, 1, 2, 3]


def test_given_ids_are_taken_and_the_next_ones_are_larger():
    first = PointVersion.first(SQUARE, ForestRule(), ids=[40, 7, 30, 20])
    second = first.changed(first.check(remove=[7, 20], insert=[[1, 1]], ids=[50]))
    assert second.ids.tolist() == [40, 30, 50]
    third = second.changed(second.check(insert=[[2, 2]]))
    assert third.ids.tolist() == [40, 30, 50, 51]
    assert third.changed(third.check(remove=[50])).ids.tolist() == [40, 30, 51]


def test_removed_ids_are_kept_as_ranges():
    ids = np.random.default_rng(5).permutation(200)
    removed = IdSet.of(ids[:0])
    for begin in range(0, 160, 16):
        removed = removed.with_ids(ids[begin : begin + 16])
        given = np.sort(ids[: begin + 16])
        assert removed.all().tolist() == given.tolist()
        assert (
            removed.has(np.arange(201)).tolist()
            == np.isin(np.arange(201), given).tolist()
        )
    assert len(removed.with_ids(ids[160:]).first) == 1


@pytest.mark.parametrize("seed", range(20))
def test_ids_by_row_are_kept_as_runs(seed):
    random = np.random.default_rng(seed)
    unused = np.arange(400)
    if seed % 2:
        random.shuffle(unused)
    ids, by_row = unused[:0], RowIds.of(unused[:0])
    for _ in range(30):
        gone = random.permutation(len(ids))[: random.integers(0, 12)]
        new = random.integers(0, 12)
        expected = np.append(np.delete(ids, gone), unused[:new])
        by_row = by_row.without(gone).with_ids(unused[:new])
        ids, unused = expected, unused[new:]
        assert by_row.all().tolist() == ids.tolist()
        rows = random.permutation(len(ids))
        assert by_row.at(rows).tolist() == ids[rows].tolist()
        found, present = by_row.find(np.arange(-1, 401))
        assert present.tolist() == np.isin(np.arange(-1, 401), ids).tolist()
        assert ids[found[present]].tolist() == np.arange(-1, 401)[present].tolist()
        runs = np.count_nonzero(np.diff(ids, prepend=-9) != 1)
        assert runs <= len(by_row.row) <= (len(ids) if seed % 2 else runs)


def test_ids_of_points_that_expire_are_one_range():
    version = PointVersion.first(SQUARE, ForestRule())
    for oldest in range(9):
        version = version.changed(version.check(remove=[oldest], insert=[[oldest, 3]]))
    assert version.ids.tolist() == [9, 10, 11, 12]
    assert (version.point_ids.retired.first, version.point_ids.retired.end) == (0, 9)
    assert (version.point_ids.by_row.row, version.point_ids.by_row.id) == (0, 9)
    with pytest.raises(InputError, match=r"id 4 is not .*, it was removed"):
        version.check(remove=[4])
    with pytest.raises(InputError, match="id 8 was given before"):
        version.check(insert=[[7, 7]], ids=[8])


def test_all_points_may_go_and_others_come():
    first = PointVersion.first(SQUARE, ForestRule(min_samples=2))
    empty = first.changed(first.check(remove=[0, 1, 2, 3]))
    assert len(empty.forest) == len(empty.ids) == 0
    one = empty.changed(empty.check(insert=[[5, 5]]))
    assert (len(one.forest), one.ids.tolist()) == (0, [4])
    three = one.changed(one.check(insert=[[5, 5], [6, 5]]))
    assert same_forest(three)


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        ({"remove": [9]}, "remove: id 9 is not one of the present points; "),
        ({"remove": [3]}, "remove: id 3 is not one .* points, it was removed"),
        ({"remove": [1, 1]}, "remove: id 1 is given twice"),
        ({"remove": [0.5]}, "remove: .* are not ids; give integers"),
        ({"remove": [-1]}, "remove: id -1; ids are integers from 0"),
        ({"insert": [[1, np.nan]]}, "insert: point 0 has a coordinate that is NaN"),
        ({"insert": [[0, 0], [1, np.inf]]}, "insert: point 1 has .* or infinite"),
        ({"insert": [[1e200, 0]]}, "insert: point 0 has a coordinate beyond 1e"),
        ({"insert": [[1, 2, 3]]}, "insert: has 3 dimensions, and the present points 2"),
        ({"insert": [["a", "b"]]}, "insert has values of type"),
        ({"insert": [[1, 2]], "ids": [2]}, "ids: id 2 was given before"),
        ({"insert": [[1, 2]], "ids": [3]}, "ids: id 3 was given before"),
        ({"insert": [[1, 2]], "ids": [8, 9]}, "ids: 2 ids for 1 point; give each"),
        ({"insert": [[1, 2], [3, 4]], "ids": [8, 8]}, "ids: id 8 is given twice"),
        ({"ids": [8]}, "ids: 1 id for 0 points"),
    ],
)
def test_a_bad_batch_is_one_sentence_and_changes_nothing(batch, sentence):
    first = PointVersion.first(SQUARE, ForestRule())
    version = first.changed(first.check(remove=[3]))
    with pytest.raises(InputError, match=sentence) as caught:
        version.check(**batch)
    assert "\n" not in str(caught.value)
    assert version.ids.tolist() == [0, 1, 2]


def test_a_point_without_direction_is_refused_under_cosine():
    version = PointVersion.first(SQUARE[1:], ForestRule("cosine"))
    with pytest.raises(InputError, match="insert: point 0 is zero in all coordinates"):
        version.check(insert=[[0, 0]])


def test_the_first_points_are_finite():
    with pytest.raises(InputError, match="point 1 has a coordinate that is NaN"):
        PointVersion.first(np.array([[0.0], [np.nan]]), ForestRule())


@pytest.mark.filterwarnings("error")
def test_float32_points_are_inserted_without_a_warning():
    first = PointVersion.first(SQUARE.astype(np.float32), ForestRule(min_samples=1))
    batch = first.check(insert=np.array([[9, 9]], np.float32))
    assert first.changed(batch).points.dtype == np.float32


def follows_all(version, batches, monkeypatch):
    """Return the last version; each one's forest is a fresh search's, but not made so.

    A fresh search is by a tree, whatever the rule says.
    """
    monkeypatch.setattr(forest_change, "LARGEST_SHARE", 2)
    for remove, insert in batches:
        ids = version.ids[remove] if len(remove) else None
        batch = version.check(remove=ids, insert=insert if len(insert) else None)
        version = version.changed(batch)
        assert version.followed is not None
        assert same_forest(version)
    return version


def drawn(random, count, dimensions, kind):
    if kind == "ties":
        return random.integers(1, 5, (count, dimensions)) + np.arange(dimensions) / 3
    if kind == "densities":
        return np.exp(2 * random.normal(size=(count, dimensions)))
    return random.normal(size=(count, dimensions))


@pytest.mark.parametrize("kind", ["plain", "ties", "densities"])
@pytest.mark.parametrize(
    ("metric", "dimensions", "min_samples"),
    [
        ("euclidean", 1, 3),
        ("euclidean", 2, 5),
        ("euclidean", 3, 0),
        ("euclidean", 4, 16),
        ("manhattan", 3, 4),
        ("chebyshev", 2, 2),
        ("cosine", 3, 5),
        ("correlation", 4, 3),
    ],
)
def test_the_forest_follows_any_batch_bit_for_bit(
    metric, dimensions, min_samples, kind, monkeypatch
):
    batches_follow(ForestRule(metric, min_samples), dimensions, kind, monkeypatch)


@pytest.mark.parametrize("kind", ["plain", "ties", "densities"])
@pytest.mark.parametrize(
    ("metric", "dimensions", "min_samples"),
    [
        ("euclidean", 1, 3),
        ("euclidean", 16, 0),
        ("euclidean", 64, 5),
        ("cosine", 24, 1),
        ("cosine", 384, 4),
        ("correlation", 40, 3),
    ],
)
def test_products_follow_any_batch_bit_for_bit(
    metric, dimensions, min_samples, kind, monkeypatch
):
    rule = ForestRule(metric, min_samples, search="product")
    last = batches_follow(rule, dimensions, kind, monkeypatch)
    assert last.point_forest.search == "product"


def batches_follow(rule, dimensions, kind, monkeypatch):
    """Return the last version after some batches of any kind."""
    min_samples = rule.min_samples
    random = np.random.default_rng(dimensions + 10 * min_samples)
    points = drawn(random, 700, dimensions, kind)
    batches = []
    for removed, inserted in ((9, 11), (0, 6), (12, 0), (1, 0), (0, 1), (8, 8)):
        new = drawn(random, inserted, dimensions, kind)
        new[: inserted // 3] = points[random.integers(0, 700, inserted // 3)]
        batches.append((random.choice(600, removed, False), new))
    return follows_all(PointVersion.first(points, rule), batches, monkeypatch)


def test_a_version_roots_its_forest(monkeypatch):
    monkeypatch.setattr(forest_change, "LARGEST_SHARE", 2)
    random = np.random.default_rng(8)
    version = PointVersion.first(random.normal(size=(700, 2)), ForestRule())
    for remove, new in (([0, 5, 9], 4), (range(90), 0), ([], 200)):
        batch = version.check(version.ids[remove], random.normal(size=(new, 2)))
        version = version.changed(batch)
        followed = version.followed
        below = np.flatnonzero(followed.up != np.arange(len(followed.up)))
        ends = np.sort(followed.row[[below, followed.up[below]]], axis=0)
        order = np.lexsort(ends[::-1])
        assert np.array_equal(ends[:, order], [version.forest.src, version.forest.dst])
        assert np.array_equal(followed.up_weight[below][order], version.forest.weight)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_trees_of_float32_points_have_float32_leaves(metric, monkeypatch):
    random = np.random.default_rng(8)
    points = random.normal(size=(3000, 3)).astype(np.float32)
    points[:200] = points[200:400]
    version = PointVersion.first(points, ForestRule(metric, 4))
    kinds = ["f4", "f4", "f8"]
    batches = [
        (random.choice(2000, 40, False), near_to(points[:9], 30).astype(kind))
        for kind in kinds
    ]
    version = follows_all(version, batches, monkeypatch)
    leaves = [part.tree.blocks.dtype for part in version.followed.parts]
    assert leaves == [np.float32, np.float64]
    called = {entry for entry in loaded() if "PointTree(f4" in entry[1]}
    assert called
    assert called <= set(listed_kernels("versions", np.dtype(np.float32)))


def test_float32_points_follow_as_their_numbers_do(monkeypatch):
    points = np.random.default_rng(3).normal(size=(700, 2)).astype(np.float32)
    batches = [([5, 600], points[:3] + np.float32(0.5)), ([], points[:1])]
    version = PointVersion.first(points, ForestRule(min_samples=4))
    assert version.points.dtype == np.float32
    follows_all(version, batches, monkeypatch)


def test_points_that_arrive_in_order_one_by_one(monkeypatch):
    points = np.arange(700.0)[:, None] ** 1.1
    batches = [([], [[700 + i**1.5]]) for i in range(20)]
    version = PointVersion.first(points, ForestRule(min_samples=3))
    follows_all(version, batches, monkeypatch)


@pytest.mark.parametrize(("search", "share"), [("tree", 256), ("product", 32)])
def test_a_batch_of_at_most_a_share_of_the_points_is_followed(search, share):
    points = np.random.default_rng(9).normal(size=(share * 20, 4))
    version = PointVersion.first(points, ForestRule(search=search))
    for inserted, is_followed in ((10, True), (11, False)):
        batch = version.check(remove=range(10), insert=points[:inserted])
        assert (version.changed(batch).followed is not None) == is_followed


NORMAL = np.random.default_rng(4).normal(size=(700, 2))


@pytest.mark.parametrize(
    ("rule", "points", "remove", "insert"),
    [
        pytest.param(ForestRule(alpha=0.5), NORMAL, [], NORMAL[:1], id="alpha"),
        pytest.param(ForestRule("canberra"), NORMAL, [], NORMAL[:1], id="no norm"),
        pytest.param(ForestRule(), NORMAL[:512], [], NORMAL[:1], id="few points"),
        pytest.param(ForestRule(min_samples=698), NORMAL, [0, 1], None, id="few left"),
        pytest.param(ForestRule(), NORMAL * 1e-180, [], NORMAL[:1], id="tiny points"),
        pytest.param(ForestRule(), NORMAL, [], NORMAL[:1] * 1e-180, id="a tiny point"),
    ],
)
def test_what_no_forest_follows_is_searched_afresh(rule, points, remove, insert):
    version = PointVersion.first(points, rule)
    version = version.changed(version.check(remove=remove, insert=insert))
    assert version.followed is None
    fresh = rule.forest_of(version.points).forest
    assert version.forest.weight.tobytes() == fresh.weight.tobytes()


@pytest.mark.parametrize("search", ["tree", "product"])
def test_a_batch_that_too_many_points_reach_is_searched_afresh(search, monkeypatch):
    monkeypatch.setattr(followed_forest, "LEAST_REACHED", 0)
    for part in (TreePart, ProductPart):
        monkeypatch.setattr(part, "reachable", 0)
    version = PointVersion.first(np.tile(NORMAL, 5), ForestRule(search=search))
    version = version.changed(version.check(insert=version.points[:1]))
    assert version.followed is None
    assert same_forest(version)


def test_copies_of_a_text_are_followed_though_each_reaches_all_others():
    points = np.random.default_rng(1).normal(size=(2000, 64))
    points[:1200] = points[0]
    version = PointVersion.first(points, ForestRule(min_samples=3, search="product"))
    for remove in ([], range(1195, 1200)):
        version = version.changed(version.check(remove=remove, insert=points[:60]))
        assert version.followed is not None
        assert same_forest(version)


@pytest.mark.parametrize("search", ["tree", "product"])
def test_edges_of_points_that_reach_too_many_are_found_in_rounds(search, monkeypatch):
    monkeypatch.setattr(followed_forest, "LEAST_REACHED", 650)
    for part in (TreePart, ProductPart):
        monkeypatch.setattr(part, "reachable", 0)
    monkeypatch.setattr(forest_change, "LISTED_BALL", 1e60)
    points = np.tile(NORMAL, 5)
    version = PointVersion.first(points, ForestRule(min_samples=3, search=search))
    follows_all(version, [([3], points[:1] / 2), (range(9), [])], monkeypatch)


def test_threads_merge_the_edges_that_each_has_found(monkeypatch):
    monkeypatch.setattr(point_parts, "SEARCHES", 1)
    version = PointVersion.first(NORMAL, ForestRule(min_samples=3, threads=4))
    batches = [(range(90), NORMAL[:50] + 0.1), ([5], NORMAL[:2] / 2)]
    follows_all(version, batches, monkeypatch)


@pytest.mark.parametrize("threads", [2, 7, 60])
def test_threads_do_ranges_of_points_and_of_keys(threads, monkeypatch):
    monkeypatch.setattr(Tuning, "default", replace(Tuning.default, grain=1))
    monkeypatch.setattr(change_rounds, "GROUPS", 1)
    rule = ForestRule(min_samples=3, threads=threads)
    batches = [
        (range(250, 380), NORMAL[:50] + 0.1),  # all rows of some ranges
        ([5], NORMAL[:2] / 2),
        (range(100), []),
        ([], NORMAL[:40] - 0.3),
    ]
    follows_all(PointVersion.first(NORMAL, rule), batches, monkeypatch)


@pytest.mark.parametrize("search", ["tree", "product"])
def test_the_memory_of_a_followed_forest_is_that_of_its_arrays(search, monkeypatch):
    points = np.tile(NORMAL, 5)
    version = PointVersion.first(points, ForestRule(min_samples=3, search=search))
    followed = follows_all(version, [([3], points[:2] + 0.1)], monkeypatch).followed
    stored = len(pickle.dumps(followed)) - len(pickle.dumps(followed.point_forest))
    if search == "product":  # it reads the version's points
        stored -= points.nbytes
    assert followed.nbytes == pytest.approx(stored, rel=0.15)


def test_a_cluster_goes_and_comes_back(monkeypatch):
    random = np.random.default_rng(5)
    centres = np.repeat([[0.0, 0], [9, 0], [0, 9]], 300, axis=0)
    points = centres + random.normal(size=centres.shape)
    cluster = np.arange(300, 600)
    batches = [(cluster, []), ([], points[cluster]), ([0], points[cluster][:5])]
    version = PointVersion.first(points, ForestRule(min_samples=5))
    follows_all(version, batches, monkeypatch)


@pytest.mark.parametrize("seed", [14, 20, 40, 41, 60])
def test_points_among_new_ones_join_clouds_that_drift_apart(seed, monkeypatch):
    random = np.random.default_rng(seed)

    def clouds(count):
        cloud = random.integers(0, 3, (count, 1))
        return 20 * cloud + random.normal(size=(count, 1))

    version = PointVersion.first(clouds(600), ForestRule(min_samples=2))
    removed = random.choice(600, 100, replace=False)
    follows_all(version, [(removed, clouds(200))], monkeypatch)


def test_the_hub_of_a_star_goes(monkeypatch):
    angle = np.linspace(0, 2 * np.pi, 700, endpoint=False)
    circle = 5 * np.column_stack([np.cos(angle), np.sin(angle)])
    hub = np.random.default_rng(6).normal(size=(20, 2)) / 100
    version = PointVersion.first(np.append(hub, circle, axis=0), ForestRule())
    batches = [([0], []), (range(19), []), ([], [[0, 0]])]
    follows_all(version, batches, monkeypatch)


def test_equal_points_may_come_and_go(monkeypatch):
    monkeypatch.setattr(forest_change, "LARGEST_SHARE", 2)
    version = PointVersion.first(np.ones((600, 2)), ForestRule(min_samples=4))
    for remove, insert in (([0], [[1, 1]]), ([], [[2, 2]]), ([5, 600], [[1, 1]] * 3)):
        version = version.changed(version.check(remove=remove, insert=insert))
        assert same_forest(version)


def test_copies_of_points_arrive_far_from_all_others(monkeypatch):
    random = np.random.default_rng(4)
    new = 50 + random.normal(size=(20, 3))
    first = PointVersion.first(random.normal(size=(800, 3)), ForestRule("euclidean", 5))
    last = follows_all(first, [([5], new)] * 3, monkeypatch)
    assert len(last.points) == 857


def test_a_version_may_have_two_next_ones(monkeypatch):
    points = np.random.default_rng(7).normal(size=(700, 2))
    version = PointVersion.first(points, ForestRule(min_samples=3))
    monkeypatch.setattr(forest_change, "LARGEST_SHARE", 2)
    version = version.changed(version.check(insert=[[0, 0]]))
    for _ in range(2):
        following = version.changed(version.check(remove=[3, 700], insert=[[1, 1]]))
        assert following.followed is not None
        assert same_forest(following)
    assert same_forest(version)


def test_a_point_that_float32_products_cannot_take_leads_to_a_fresh_search(
    monkeypatch,
):
    points = np.random.default_rng(8).normal(size=(700, 12))
    rule = ForestRule(min_samples=3, search="product")
    version = PointVersion.first(points, rule)
    version = follows_all(version, [([1], points[:2] + 2.0**39)], monkeypatch)
    version = version.changed(version.check(insert=points[:1] + 2.0**50))
    assert version.followed is None
    assert same_forest(version)
    follows_all(version, [([0, 5], points[:2])], monkeypatch)


def test_products_of_many_small_batches_and_of_rows_that_are_mostly_gone(monkeypatch):
    points = np.random.default_rng(9).normal(size=(700, 20)).astype(np.float32)
    batches = [([3 * i], points[i : i + 1] / 3) for i in range(9)]
    batches += [(range(20, 150), []), (range(9), []), ([], points[:9] * 2)]
    version = PointVersion.first(points, ForestRule("cosine", 2, search="product"))
    follows_all(version, batches, monkeypatch)


def near_to(points, count):
    """Return points beside some others."""
    return points[:count] + 0.01


def test_lists_of_neighbours_are_complete_after_each_batch(monkeypatch):
    random = np.random.default_rng(12)
    points = random.normal(size=(700, 24))
    version = PointVersion.first(points, ForestRule("euclidean", 3, search="product"))
    for _ in range(6):
        gone = random.choice(len(version.points), 60, replace=False)
        inserted = near_to(version.points[::7], 40)
        version = follows_all(version, [(gone, inserted)], monkeypatch)
        lists, at = version.followed.lists, version.followed.positions()
        differences = version.points[:, None] - version.points
        distances = np.sqrt((differences**2).sum(axis=2))
        np.fill_diagonal(distances, np.inf)
        rows = version.followed.neighbours
        listed = rows < len(rows)
        assert listed[:, :3].all()
        found = np.take_along_axis(distances, np.where(listed, rows, 0), axis=1)
        np.testing.assert_allclose(lists.distance[at][listed], found[listed])
        unlisted = distances.copy()
        row, entry = np.nonzero(listed)
        unlisted[row, rows[row, entry]] = np.inf
        assert (unlisted.min(axis=1) >= lists.complete[at] * (1 - 1e-12)).all()


@pytest.mark.parametrize("kept", [0, product_part.KEPT])
def test_rounds_keep_products_of_new_points_within_a_bound(monkeypatch, kept):
    random = np.random.default_rng(8)
    centres, made = random.normal(size=(40, 24)), []

    def clusters(count):
        noise = random.normal(0, 0.2, (count, 24))
        return centres[random.integers(0, 40, count)] + noise

    def for_rounds(part, *_):
        made.append(product_part.ProductRounds(part))
        return made[-1]

    points = clusters(4000)  # more than the columns of a tile
    version = PointVersion.first(points, ForestRule("euclidean", 3, search="product"))
    monkeypatch.setattr(product_part, "KEPT", kept)
    monkeypatch.setattr(ProductPart, "for_rounds", for_rounds)
    batch = random.choice(4000, 20, replace=False), clusters(20)
    follows_all(version, [batch], monkeypatch)
    assert [len(rounds.kept) for rounds in made] == ([2, 1] if kept else [0, 0])


def test_products_search_neighbours_of_new_outliers_alone(monkeypatch):
    points = np.random.default_rng(3).normal(size=(900, 24))
    version = PointVersion.first(points, ForestRule("euclidean", 3, search="product"))
    searched = []
    improve_nearest = ProductPart.improve_nearest

    def count(part, queries, *rest):
        searched.append(len(queries))
        improve_nearest(part, queries, *rest)

    monkeypatch.setattr(ProductPart, "improve_nearest", count)
    monkeypatch.delattr(HostProducts, "nearest")  # of all points
    version = follows_all(version, [([5, 6], near_to(points, 3))], monkeypatch)
    assert searched == []
    inserted = np.concatenate([near_to(points, 3), points[3:4] + 5])
    follows_all(version, [([5, 6], inserted)], monkeypatch)
    assert set(searched) == {1}
