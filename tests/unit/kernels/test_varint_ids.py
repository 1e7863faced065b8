"""Ids come back from the wire as they were, and in few bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mndmst.kernels.varint_ids import (
    decode_ascending,
    decode_near,
    encode_ascending,
    encode_near,
)

LARGEST = 2**48
ids = st.integers(0, LARGEST) | st.integers(0, 300)
slices = st.lists(st.lists(ids, max_size=20), max_size=5)


@settings(deadline=None)
@given(slices)
def test_ascending_ids_come_back(parts: list[list[int]]) -> None:
    counts = np.array([len(part) for part in parts], np.int64)
    bases = np.array([min(part, default=7) for part in parts], np.int64)
    flat = np.array([i for part in parts for i in sorted(part)], np.int64)
    data, sizes = encode_ascending(flat, counts, bases)
    assert sizes.sum() == len(data)
    np.testing.assert_array_equal(decode_ascending(data, counts, bases), flat)


@settings(deadline=None)
@given(st.lists(st.tuples(ids, ids), max_size=40), st.integers(0, 40))
def test_names_come_back(pairs: list[tuple[int, int]], cut: int) -> None:
    values, references = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    counts = np.diff([0, min(cut, len(pairs)), len(pairs)])
    data, sizes = encode_near(values, references, counts)
    np.testing.assert_array_equal(decode_near(data, references), values)
    first = data[: sizes[0]]
    np.testing.assert_array_equal(
        decode_near(first, references[: counts[0]]), values[: counts[0]]
    )


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_one_byte_for_neighbours(dtype: type) -> None:
    dense = np.arange(1 << 20, (1 << 20) + 5000, dtype=dtype)
    data, _ = encode_ascending(dense, np.array([5000]), np.array([1 << 20]))
    assert len(data) == 5000
    data, _ = encode_near(dense, dense, np.array([5000]))
    assert len(data) == 5000


def test_the_largest_of_32_bits() -> None:
    top = np.array([0, 2**32 - 1], np.uint32)
    data, _ = encode_near(top, top[::-1].copy(), np.array([2]))
    np.testing.assert_array_equal(decode_near(data, top[::-1].copy()), top)
