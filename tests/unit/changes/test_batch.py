"""What a batch does to each edge, beside the changes made one after the other."""

import numpy as np
import pytest

from mndmst.changes.batch import DELETE, INSERT, SET, Batch, net_changes
from mndmst.graph.order import WEIGHT_DTYPES, keys_to_weights
from mndmst.host.errors import InputError

NAMES = {DELETE: "to delete", INSERT: "inserted", SET: "to set"}


def one_by_one(ops: list, n: int) -> tuple[dict, int | None]:
    """Return what edges are in the end, and the first change that contradicts others.

    Of each edge: whether it has to be there at first, and its weight or None.
    """
    found: dict[tuple, list] = {}
    for number, (op, u, v, weight) in enumerate(ops):
        pair = min(u, v), max(u, v)
        there = op != INSERT
        if pair in found and (found[pair][1] is not None) != there:
            return found, number
        first = found.get(pair, [there])[0]
        found[pair] = [first, None if op == DELETE else weight]
    return found, None


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES, ids=str)
def test_changes_of_an_edge_one_after_the_other(dtype: np.dtype) -> None:
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(300):
        ops = [
            (int(op), int(u), int(v), int(w))
            for op, u, v, w in rng.integers(0, (3, 4, 4, 100), (rng.integers(0, 9), 4))
            if u != v
        ]
        expected, wrong = one_by_one(ops, 4)
        columns = [np.array(c) for c in zip(*ops, strict=True)] or [[], [], [], []]
        batch = Batch(*columns, source="it", lines=range(10, 99), noun="line")
        if wrong is not None:
            refused += 1
            with pytest.raises(InputError, match=f"^it: line {10 + wrong}: "):
                net_changes(batch, 4, dtype)
            continue
        net = net_changes(batch, 4, dtype)
        pairs = [(int(p) >> 32, int(p) & 0xFFFFFFFF) for p in net.pair]
        assert pairs == sorted(expected)
        weights = keys_to_weights(net.key, dtype).tolist()
        for i, pair in enumerate(pairs):
            before, weight = expected[pair]
            assert net.before[i] == before
            assert net.after[i] == (weight is not None)
            assert weight is None or weights[i] == weight
            first = next(k for k, o in enumerate(ops) if {*o[1:3]} == {*pair})
            assert net.change[i] == first
    assert 30 < refused < 270


@pytest.mark.parametrize(
    ("changes", "dtype", "words"),
    [
        ((INSERT, [0, 1], [1, 1], [1, 2]), "int32", r"change 1: \(1, 1\) is a self-"),
        (
            (INSERT, [0, 9], [1, 2], [1, 2]),
            "int32",
            r"\(9, 2\) names vertex 9",
        ),
        ((DELETE, [-1], [2]), "int32", r"change 0: .* names vertex -1"),
        ((INSERT, [0], [1]), "int32", "has no weights"),
        ((INSERT, [0], [1], [1 << 40]), "int32", "change 0: the weight 1099511627776"),
        (
            (SET, [0], [1], [-1]),
            "uint64",
            "weight -1 does not fit uint64",
        ),
        (
            (SET, [0], [1], [np.uint64(1 << 63)]),
            "int64",
            "36854775808 does not fit i",
        ),
        ((SET, [0], [1], [2.0**63]), "int64", "9.22.*does not fit int64"),
        (
            (SET, [0], [1], [0.5]),
            "int64",
            "weight 0.5 does not fit int64",
        ),
        (
            (SET, [0], [1], [np.nan]),
            "int64",
            "weight nan has no place in an order",
        ),
        (
            (SET, [0], [1], [np.nan]),
            "float32",
            "the weight nan has no place in an order",
        ),
        ((SET, [0], [1], [1e300]), "float32", r"weight 1e\+300 does not fit float32"),
        ((SET, [0], [1], ["a"]), "float32", "weights have type"),
        ((INSERT, [0.0], [1.0], [1]), "int32", "Give integers"),
        ((INSERT, [0, 1], [1], [1]), "int32", "2 sources, 1 targets and 1 weights"),
        (([INSERT] * 2, [0, 1], [1, 0], [1, 1]), "int32", r"edge \(0, 1\) is there"),
        (([DELETE] * 2, [0, 1], [1, 0], [1, 1]), "int32", r"no edge \(0, 1\)"),
    ],
)
def test_changes_that_cannot_be_made(changes: tuple, dtype: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        net_changes(Batch(*changes), 9, np.dtype(dtype))


def test_what_a_deletion_weighs_is_not_looked_at() -> None:
    net = net_changes(Batch(DELETE, [3], [1], [np.nan]), 9, np.dtype("int32"))
    assert net.before.tolist() == [True]
    assert net.after.tolist() == [False]
    assert net_changes(Batch(SET, [0], [1], [np.inf]), 9, np.dtype("float32")).after
