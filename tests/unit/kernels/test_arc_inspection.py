"""What one pass over arcs finds: the first fault, keys, edges, and asymmetry."""

import numpy as np
import pytest

from mndmst.graph.model import Csr
from mndmst.graph.order import WEIGHT_DTYPES, KeyRule, key_rule, weights_to_keys
from mndmst.kernels.arc_inspection import (
    BAD_ID,
    BLOCK,
    FINE,
    NOT_A_NUMBER,
    NOT_ASCENDING,
    inspect_few,
    inspect_rows,
    mix,
)

N = 400


def arcs_of(rng: np.random.Generator, ids: type, n: int = N, m: int = 5 * BLOCK):
    """Return the rows of a symmetric graph with loops, repeats and empty rows."""
    ends = rng.integers(0, n // 2, (2, m)) * 2
    ends[1, ::50] = 2 * (n // 4)  # a row longer than a block
    key = rng.integers(0, 50, m)
    tails, heads = np.concatenate([ends, ends[::-1]], axis=1)
    keys = np.concatenate([key, key])
    order = np.lexsort((keys, heads, tails))
    indptr = np.searchsorted(tails[order], np.arange(n + 1))
    return indptr, heads[order].astype(ids), keys[order].astype(np.uint32)


def inspect(indptr, heads, bits, rule: KeyRule | None = None, first: int = 0):
    rule = rule or key_rule(bits.dtype)
    bits = bits.copy().view(rule.sign.dtype)
    arcs = (int(indptr[0]), int(indptr[-1]))
    few = bits[slice(*arcs)].copy()
    rows = Csr(first, indptr, heads[slice(*arcs)], few)
    facts = inspect_few(rows, N, rule)
    found = inspect_rows(Csr(first, indptr, heads, bits), arcs, N, rule)
    if found[0] == FINE:  # NumPy finds the same, and else that something is wrong
        assert facts == found[3:]
        np.testing.assert_array_equal(few, bits[slice(*arcs)])
    else:
        assert facts is None
    return *found, bits


@pytest.mark.parametrize("ids", [np.uint32, np.int64])
def test_edges_are_counted_once_and_a_symmetric_graph_is_balanced(ids: type) -> None:
    indptr, heads, keys = arcs_of(np.random.default_rng(1), ids)
    tails = np.repeat(np.arange(N), np.diff(indptr))
    pairs = set(zip(tails.tolist(), heads.tolist(), strict=True))
    status, _, _, edges, balance, found = inspect(indptr, heads, keys)
    assert (status, edges, balance) == (FINE, sum(t < h for t, h in pairs), 0)
    np.testing.assert_array_equal(found, keys)
    # Parts of all rows, wherever they begin, add up to the same
    parts = [
        inspect(indptr[begin : begin + 7 + 1], heads, keys, first=begin)
        for begin in range(0, N, 7)
    ]
    assert sum(int(part[4]) for part in parts) % (1 << 64) == 0
    assert sum(part[3] for part in parts) == edges


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES)
def test_weights_become_keys(dtype: np.dtype) -> None:
    rng = np.random.default_rng(2)
    count = 3 * BLOCK + 5
    weights = rng.integers(0, 256, count * dtype.itemsize).astype(np.uint8).view(dtype)
    if dtype.kind == "f":
        weights[np.isnan(weights)] = 1
        weights[:4] = 0.0, -0.0, np.inf, -np.inf
    else:
        weights[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    indptr, heads = np.array([0, count]), np.sort(rng.integers(0, N, count))
    heads = heads.astype(np.uint32)
    assert inspect(indptr, heads, weights)[0] == FINE
    found = inspect(indptr, heads, weights)[-1]
    np.testing.assert_array_equal(found, weights_to_keys(weights.copy()))
    same = inspect(indptr, heads, weights, key_rule(dtype).unchanged())[-1]
    np.testing.assert_array_equal(same, weights.view(same.dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ids", [np.uint32, np.int64])
def test_the_first_fault_is_found_wherever_it_is(ids: type, dtype: str) -> None:
    rng = np.random.default_rng(3)
    indptr, heads, keys = arcs_of(rng, ids)
    tails, weights = np.repeat(np.arange(N), np.diff(indptr)), keys.astype(dtype)
    around = [at + BLOCK * i for i in (0, 1, 4) for at in (0, 1, 2, BLOCK - 1)]
    for arc in [*around, len(heads) - 1, *rng.integers(0, len(heads), 50)]:
        far = heads.copy()
        far[arc:] = N  # also what follows
        assert inspect(indptr, far, weights)[:3] == (BAD_ID, tails[arc], arc)
        far[arc] = np.array(-1).astype(ids)
        assert inspect(indptr, far, weights)[:3] == (BAD_ID, tails[arc], arc)
        nan = weights.copy()
        nan[arc:] = -np.nan
        assert inspect(indptr, heads, nan)[:3] == (NOT_A_NUMBER, tails[arc], arc)
        if arc and tails[arc - 1] == tails[arc] and heads[arc - 1]:
            less = heads.copy()
            less[arc] = heads[arc - 1] - 1
            expected = NOT_ASCENDING, tails[arc], arc
            assert inspect(indptr, less, weights)[:3] == expected


def test_no_damage_of_a_few_arcs_leaves_the_balance() -> None:
    rng = np.random.default_rng(4)
    indptr, heads, keys = arcs_of(rng, np.uint32)
    tails = np.repeat(np.arange(N), np.diff(indptr))
    others = np.flatnonzero(tails != heads)
    for _ in range(100):
        one, two = rng.choice(others, 2, replace=False)
        for column in (heads, keys):
            for value in (column[one] ^ 1, column[two]):
                damaged = column.copy()
                damaged[two], damaged[one] = damaged[one], value
                if np.array_equal(damaged, column):
                    continue
                columns = (damaged, keys) if column is heads else (heads, damaged)
                assert _balance(tails, *columns) or _symmetric(tails, *columns)


def _balance(tails, heads, keys) -> int:
    order = np.lexsort((keys, heads, tails))
    indptr = np.searchsorted(tails, np.arange(N + 1))
    found = inspect(indptr, heads[order], keys[order])
    assert found[0] == FINE
    return int(found[4])


def _symmetric(tails, heads, keys) -> bool:
    there = np.stack([tails, heads, keys])[:, np.lexsort((keys, heads, tails))]
    back = np.stack([heads, tails, keys])[:, np.lexsort((keys, tails, heads))]
    return np.array_equal(there, back)


@pytest.mark.parametrize("key", [0, 1, (1 << 32) - 1])
def test_edges_between_small_ids_of_one_weight_have_different_words(key: int) -> None:
    low, high = (ends.astype(np.uint64) for ends in np.triu_indices(700, 1))
    words = mix.function(low, high, np.uint64(key))
    some = range(0, len(words), 997)
    assert words[some].tolist() == [mix(low[i], high[i], key) for i in some]
    assert len(np.unique(words)) == len(words)
    halves = words.view(np.uint32).reshape(-1, 2).T
    for half in halves:  # of 32 bits seven pairs are expected to agree
        assert len(np.unique(half)) > len(half) - 30
