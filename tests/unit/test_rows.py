"""Rows chosen from a CSR graph and copied side by side."""

import numpy as np
import pytest

from mndmst.backends.numba.rows import copy_rows, side_by_side


@pytest.mark.parametrize("seed", range(10))
def test_chosen_rows_lie_side_by_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    degrees = rng.integers(0, 6, 50) * (rng.random(50) < 0.7)
    indptr = np.concatenate(([0], np.cumsum(degrees)))
    source = rng.integers(0, 1 << 32, indptr[-1], np.uint32)
    row = np.flatnonzero((rng.random(50) < 0.5) & (degrees > 0))
    begin, offset = side_by_side(indptr, row)
    expected = np.concatenate(
        [source[indptr[r] : indptr[r + 1]] for r in row] + [source[:0]]
    )
    assert offset[-1] == len(expected)
    for low in range(0, len(expected), 7):
        out = np.empty(min(7, len(expected) - low), np.uint32)
        copy_rows(source, begin, offset, low, out)
        np.testing.assert_array_equal(out, expected[low : low + 7])


def test_no_row() -> None:
    begin, offset = side_by_side(np.zeros(4, np.int64), np.arange(0))
    assert len(begin) == 0
    assert offset.tolist() == [0]
