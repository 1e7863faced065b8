"""Rows of a graph."""

import numpy as np
import pytest

from mndmst.graph.model import ROWS_SAMPLE, Rows


def rows_of(lengths: np.ndarray) -> Rows:
    indptr = np.append(0, np.cumsum(lengths))
    arcs = int(indptr[-1])
    columns = np.zeros(arcs, np.uint32), np.zeros(arcs, np.uint32)
    return Rows(0, len(lengths), indptr, *columns)


def test_few_rows_with_arcs_are_counted() -> None:
    assert rows_of(np.array([0, 2, 0, 3])).count_occupied() == 2
    assert rows_of(np.zeros(0, np.int64)).count_occupied() == 0
    assert rows_of(np.arange(ROWS_SAMPLE) % 4).count_occupied() == ROWS_SAMPLE * 3 // 4


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_of_many_rows_a_sample_tells_how_many_have_arcs(share: float) -> None:
    count = 50 * ROWS_SAMPLE
    lengths = (np.random.default_rng(1).random(count) < share).astype(np.int64)
    found = rows_of(lengths).count_occupied()
    assert found == pytest.approx(share * count, abs=0.05 * count)
    if share in (0.0, 1.0):
        assert found == share * count


@pytest.mark.parametrize("occupied", [0, 1, 700])
def test_few_of_many_rows_are_counted(occupied: int) -> None:
    lengths = np.zeros(200 * ROWS_SAMPLE, np.int64)
    lengths[np.random.default_rng(2).choice(len(lengths), occupied, replace=False)] = 3
    assert rows_of(lengths).count_occupied() == occupied
