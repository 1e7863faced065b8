"""Whole numbers that a graph's float weights cannot hold are refused, not rounded."""

from pathlib import Path

import numpy as np
import pytest

from mndmst.changes.batch import INSERT, Batch, net_changes
from mndmst.changes.table import read_changes
from mndmst.host.errors import ConfigError, InputError
from mndmst.io.edge_file import Edges, EdgesInMemory
from mndmst.io.formats import read_edges
from mndmst.io.partitioner.weight_rules import weigh

ROUNDED = {
    "float64": [2**64 - 1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**62 + 1],
    "float32": [2**64 - 1, 2**24 + 1, -(2**24) - 1, 2**31 - 1],
}
EXACT = {
    "float64": [2**64 - 2048, 2**53, -(2**63), 2**63, 0, -7],
    "float32": [2**24, -(2**63), 2**63, 16777218, 0, -7],
}


def cases(numbers: dict[str, list[int]]) -> list[tuple[str, int]]:
    return [(dtype, number) for dtype in numbers for number in numbers[dtype]]


def integer_type(number: int) -> str:
    return "uint64" if number >= 1 << 63 else "int64"


@pytest.mark.parametrize(("dtype", "number"), cases(ROUNDED))
def test_arrays_of_integers_are_not_rounded(dtype: str, number: int) -> None:
    weight = np.array([number], integer_type(number))
    with pytest.raises(InputError, match=f"{number} does not fit {dtype}.*round it to"):
        net_changes(Batch(INSERT, [0], [1], weight), 2, np.dtype(dtype))


@pytest.mark.parametrize(("dtype", "number"), cases(EXACT))
def test_arrays_of_exact_integers_are_taken(dtype: str, number: int) -> None:
    weight = np.array([number], integer_type(number))
    found = net_changes(Batch(INSERT, [0], [1], weight), 2, np.dtype(dtype))
    expected = net_changes(Batch(INSERT, [0], [1], [float(number)]), 2, np.dtype(dtype))
    np.testing.assert_array_equal(found.key, expected.key)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_floats_at_the_bounds_of_integers_are_taken(dtype: str) -> None:
    info = np.iinfo(dtype)
    # Below the bound of 64 bits, the next float is less than the largest integer.
    largest = min(np.nextafter(float(info.max + 1), 0), info.max)
    weight = np.array([info.min, np.floor(largest)], float)
    found = net_changes(Batch(INSERT, [0, 1], [1, 2], weight), 3, np.dtype(dtype))
    exact = np.array([int(number) for number in weight], dtype)
    expected = net_changes(Batch(INSERT, [0, 1], [1, 2], exact), 3, np.dtype(dtype))
    np.testing.assert_array_equal(found.key, expected.key)
    with pytest.raises(InputError, match=f"does not fit {dtype}"):
        beyond = np.array([float(info.max + 1)])
        net_changes(Batch(INSERT, [0], [1], beyond), 2, np.dtype(dtype))


def table(folder: Path, word: str) -> Path:
    path = folder / "changes.csv"
    path.write_text(f"op,src,dst,weight\ninsert,0,1,{word}\n")
    return path


@pytest.mark.parametrize(("dtype", "number"), [*cases(ROUNDED), ("float64", 10**400)])
def test_tables_are_not_rounded(tmp_path: Path, dtype: str, number: int) -> None:
    with pytest.raises(InputError, match=f"line 2 has .*{dtype} does not hold exactly"):
        read_changes(table(tmp_path, str(number)), np.dtype(dtype))


LARGEST = int(np.finfo(np.float64).max)  # 309 digits


@pytest.mark.parametrize(
    ("dtype", "number"), [*cases(EXACT), ("float64", LARGEST), ("float64", -LARGEST)]
)
def test_tables_of_exact_integers_are_read(
    tmp_path: Path, dtype: str, number: int
) -> None:
    batch = read_changes(table(tmp_path, str(number)), np.dtype(dtype))
    assert int(batch.weight[0]) == number


@pytest.mark.parametrize("word", ["0.1", "1e30", "-2.5", "9007199254740993.0", "inf"])
def test_fractions_are_read_as_ever(tmp_path: Path, word: str) -> None:
    batch = read_changes(table(tmp_path, word), np.dtype(np.float64))
    assert batch.weight[0] == float(word)


@pytest.mark.parametrize("number", [2**64 - 1, 2**53 + 1, 10**25 + 1])
def test_adjacency_files_are_not_rounded(tmp_path: Path, number: int) -> None:
    path = tmp_path / "graph.adj"
    words = ["WeightedAdjacencyGraph", 2, 2, 0, 1, 1, 0, number, 0.5]
    path.write_text("\n".join(map(str, words)) + "\n")
    with pytest.raises(InputError, match=f"a weight, {number}, would be rounded to"):
        read_edges(path)


@pytest.mark.parametrize(
    "rule",
    ["constant:18446744073709551615", "constant:-9223372036854775809",
     "random:9007199254740993:1e20", "random:0.5:9007199254740993"],
)  # fmt: skip
def test_rules_are_not_rounded(rule: str) -> None:
    ends = np.zeros(1, np.uint32), np.ones(1, np.uint32)
    file = EdgesInMemory("edges", Edges(2, *ends, np.ones(1, np.int32), False))
    with pytest.raises(ConfigError, match=r"not a number that fits|would round"):
        weigh(file, rule)
