"""The order-preserving keys of weights."""

import numpy as np
import pytest
from graphs import extremes, weights
from hypothesis import given
from hypothesis import strategies as st

from mndmst.graph.order import (
    WEIGHT_DTYPES,
    id_dtype,
    key_dtype,
    key_rule,
    keys_to_weights,
    reversed_keys,
    stored_id_dtype,
    weights_to_keys,
)

NAMES = [dtype.name for dtype in WEIGHT_DTYPES]


def arrays() -> st.SearchStrategy[np.ndarray]:
    """Draw arrays of every weight type, ends of the range included."""
    return st.sampled_from(NAMES).flatmap(
        lambda name: st.lists(
            weights(name) | st.sampled_from(extremes(name)), max_size=30
        ).map(lambda values: np.array(values, name))
    )


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


@given(arrays())
def test_keys_sort_as_the_weights_do(array: np.ndarray) -> None:
    keys = weights_to_keys(array.copy())
    assert keys.dtype == key_dtype(array.dtype)
    np.testing.assert_array_equal(
        np.argsort(keys, stable=True), np.argsort(array, stable=True)
    )
    smaller = array[:, None] < array
    np.testing.assert_array_equal(keys[:, None] < keys, smaller)


@given(arrays())
def test_descending_keys_sort_the_other_way(array: np.ndarray) -> None:
    keys = weights_to_keys(array.copy(), descending=True)
    smaller = array[:, None] < array
    np.testing.assert_array_equal(keys[:, None] > keys, smaller)
    np.testing.assert_array_equal(reversed_keys(keys), weights_to_keys(array.copy()))
    back = keys_to_weights(keys, array.dtype, descending=True)
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_without_flips_leaves_bits_as_they_are(name: str) -> None:
    rule, unchanged = key_rule(np.dtype(name)), key_rule(np.dtype(name)).unchanged()
    assert {int(flip) for flip in (unchanged.above, unchanged.at, unchanged.below)} == {
        0
    }
    assert (unchanged.sign, unchanged.largest) == (rule.sign, rule.largest)


@given(arrays())
def test_weights_come_back_bit_for_bit(array: np.ndarray) -> None:
    back = keys_to_weights(weights_to_keys(array.copy()), array.dtype)
    assert back.dtype == array.dtype
    expected = np.where(array == 0, array.dtype.type(0), array)
    np.testing.assert_array_equal(bits(back), bits(expected))


@pytest.mark.parametrize("name", NAMES)
def test_the_ends_of_a_type(name: str) -> None:
    array = np.unique(np.array(extremes(name), name))
    keys = weights_to_keys(array.copy())
    assert (np.diff(keys.astype(object)) > 0).all()
    assert not np.isin(keys_to_weights(keys, array.dtype), array, invert=True).any()


def test_conversion_is_in_place_and_back_is_a_copy() -> None:
    array = np.array([3, -1], np.int64)
    keys = weights_to_keys(array)
    assert np.shares_memory(array, keys)
    assert not np.shares_memory(keys, keys_to_weights(keys, np.dtype(np.uint64)))


@pytest.mark.parametrize(
    ("vertices", "expected"),
    [(0, "uint32"), (1 << 32, "uint32"), ((1 << 32) + 1, "int64"), (1 << 48, "int64")],
)
def test_ids_are_as_narrow_as_they_can_be(vertices: int, expected: str) -> None:
    assert id_dtype(vertices) == expected


@pytest.mark.parametrize(
    ("vertices", "expected"),
    [(0, "int32"), (1 << 31, "int32"), ((1 << 31) + 1, "int64")],
)
def test_ids_in_files_have_a_sign(vertices: int, expected: str) -> None:
    assert stored_id_dtype(vertices) == expected
