"""Positions in ascending order: by NumPy's sort, and by ours for other processors."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mndmst.kernels import sorting
from mndmst.kernels.sorting import FEW_KEYS, sort_positions, sort_words
from mndmst.kernels.threads import Threads

tried_out = sorting._numpy_sorts_fast.__wrapped__


@pytest.fixture(
    params=[True, False], ids=["numpy", "radix"], autouse=True, scope="module"
)
def fast(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_numpy_sorts_fast", lambda: request.param)
        patch.setattr(sorting, "FEW_KEYS", 0)
        yield


def check(keys: np.ndarray, threads: int) -> None:
    given = keys.copy()
    order = sort_positions(keys, Threads(threads))
    np.testing.assert_array_equal(order, np.argsort(given, kind="stable"))
    np.testing.assert_array_equal(keys, given)


def test_few_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "FEW_KEYS", FEW_KEYS)
    for count in (0, 1, 100, FEW_KEYS, FEW_KEYS + 1):
        check(np.random.default_rng(count).integers(0, 99, count, np.uint64), 2)


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=300), st.integers(0, 64))
def test_positions(values: list[int], bits: int) -> None:
    # Keys that differ in few bits only, to force runs of equal leading bits.
    keys = np.array(values, np.uint64) & np.uint64(2**64 - 2 ** min(bits, 63))
    keys |= np.array(values, np.uint64) & np.uint64(3)
    check(keys, 1)
    check(keys, 3)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("distinct", [1, 2, 7, 1 << 11, 1 << 12, 1 << 23, 1 << 32])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_keys_of_any_range(dtype: type, distinct: int, threads: int) -> None:
    keys = np.random.default_rng(3).integers(0, distinct, 60_000, np.uint64)
    check((np.uint64(np.iinfo(dtype).max) - keys).astype(dtype), threads)


def test_long_runs() -> None:
    # All keys agree in their leading bits, save one.
    keys = np.random.default_rng(1).integers(0, 50, 5000).astype(np.uint64)
    keys[17] = np.uint64(2**64 - 1)
    check(keys, 1)


def test_threads_share_runs_of_equal_leading_bits() -> None:
    # Runs far longer than a thread's range: they go on into the next one's.
    generator = np.random.default_rng(2)
    keys = generator.integers(0, 3, 40_000, np.uint64) << np.uint64(62)
    keys |= generator.integers(0, 1 << 10, len(keys), np.uint64)
    check(keys, 5)


@pytest.mark.parametrize(("low", "bits"), [(9, 0), (9, 1), (9, 11), (9, 12), (9, 55)])
def test_words_that_ascend_by_their_lowest_bits(low: int, bits: int) -> None:
    high = np.random.default_rng(bits).integers(0, 1 << bits, 1 << low, np.uint64)
    words = high << np.uint64(low) | np.arange(1 << low, dtype=np.uint64)
    np.testing.assert_array_equal(sort_words(words.copy(), low, bits), np.sort(words))


def test_the_processor_is_tried_out() -> None:
    assert tried_out(1.0)
    assert not tried_out(0.0)
