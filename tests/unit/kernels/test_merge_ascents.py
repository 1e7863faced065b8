"""Sorting by merging ascents, and searching among what ascends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mndmst.kernels.binary_search import first_above
from mndmst.kernels.sorting import merge_ascents

numbers = st.integers(0, 1 << 20)
pairs = st.lists(st.tuples(st.integers(0, 9) | numbers, st.integers(0, 3) | numbers))


@pytest.mark.parametrize(
    "types", [(np.uint32, np.uint32), (np.int64, np.int64), (np.uint32, np.uint64)]
)
@settings(deadline=None)
@given(given=pairs, ascents=st.integers(1, 9))
def test_pairs_in_order(types: tuple, given: list, ascents: int) -> None:
    parts = [sorted(given[k::ascents]) for k in range(ascents)]
    columns = np.array([p for part in parts for p in part], np.int64).reshape(-1, 2).T
    first, second = (c.astype(t) for c, t in zip(columns, types, strict=True))
    merge_ascents(first, second)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == sorted(given)


def test_pairs_that_descend() -> None:
    first = np.arange(1000, dtype=np.int64)[::-1].copy()
    second = np.arange(1000, dtype=np.int64)
    merge_ascents(first, second)
    assert first.tolist() == list(range(1000))
    assert second.tolist() == list(range(1000))[::-1]


@given(values=st.lists(st.integers(-5, 5)).map(sorted), bound=st.integers(-7, 7))
def test_the_first_above(values: list, bound: int) -> None:
    expected = np.searchsorted(values, bound, side="right")
    assert first_above(np.array(values, np.int64), bound) == expected
