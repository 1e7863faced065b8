"""Ids are numbered as np.unique numbers them, dense or not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mndmst.kernels.numbering import compact, distinct

ids = st.integers(0, 100) | st.integers(0, 2**48)


@settings(deadline=None)
@given(st.lists(ids))
def test_distinct(values: list[int]) -> None:
    array = np.array(values, np.int64)
    labels, position = distinct(array)
    expected, inverse = np.unique(array, return_inverse=True)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(position, inverse)


@settings(deadline=None)
@given(st.lists(st.tuples(ids, ids)))
def test_compact(pairs: list[tuple[int, int]]) -> None:
    columns = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    labels, a, b = compact(*columns)
    expected, inverse = np.unique(columns, return_inverse=True)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal([a, b], inverse.reshape(columns.shape))


@pytest.mark.parametrize("shift", [0, 31])
def test_the_ends_of_32_bits(shift: int) -> None:
    columns = (np.arange(1000, dtype=np.uint32)[::-1] << shift).copy()
    labels, a, _ = compact(columns, columns)
    np.testing.assert_array_equal(labels[a], columns)
