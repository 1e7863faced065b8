"""Points that change: each version has the forest of a fresh search of its points."""

import numpy as np
import pytest

from mndmst.host.errors import InputError
from mndmst.points.pairwise_forest import metric_forest
from mndmst.points.versions.point_version import ForestRule, PointVersion

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
