"""Rows and positions of a version in the next one."""

import numpy as np
import pytest

from mndmst.points.versions.rearrangement import Rearrangement, RowShift


@pytest.mark.parametrize("removed", [[], [0], [9], [4, 3, 5], [0, 9, 1], range(10)])
def test_rows_that_stay_keep_their_order(removed):
    shift = RowShift(10, np.array(removed, np.int64))
    stay = np.delete(np.arange(10), list(removed))
    assert shift.new(stay.astype(np.uint32)).tolist() == list(range(len(stay)))
    assert shift.old(np.arange(len(stay), dtype=np.uint32)).tolist() == stay.tolist()


def test_columns_follow_positions_that_are_built_anew():
    alive = np.array([3, 5, 6])  # of the positions 3 to 6; before them all stay
    order = np.array([4, 2, 0, 3, 1])  # two new points follow the alive ones
    rearrangement = Rearrangement(3, alive, order, 7)
    column = np.arange(7) * 10
    moved = rearrangement.column(column, np.array([1, 2]))
    assert moved.tolist() == [0, 10, 20, 2, 60, 30, 1, 50]
    assert rearrangement.of_new.tolist() == [6, 3]
    old = np.array([6, 0, 3, 5])
    assert moved[rearrangement.moved(old)].tolist() == column[old].tolist()
    ends = rearrangement.end_of_positions(column // 10, np.array([7, 8]))
    assert ends.tolist() == [8, *rearrangement.moved(np.array([6, 3])), 7, 7]
