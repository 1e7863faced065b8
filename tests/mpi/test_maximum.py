"""Graphs for maximum forests: the same forest by every way, and proved as such."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from processes import command

import mndmst
from mndmst.host.errors import InputError
from mndmst.host.memory import FREE_MEMORY
from mndmst.io.formats.graph_files import read_shards

pytestmark = [pytest.mark.mpi, pytest.mark.slow]
N = 300


def kruskal(weights: dict[tuple[int, int], Any]) -> list[tuple[int, int, Any]]:
    """Return the maximum forest by falling weight, then by ends, as the order says."""
    parent = list(range(N))

    def top(x: int) -> int:
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    forest = []
    for (u, v), weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
        a, b = top(u), top(v)
        if a != b:
            parent[a] = b
            forest.append((u, v, weight))
    return sorted(forest)


class Case:
    """A table with loops, parallel edges and extreme weights, and its graph."""

    def __init__(self, folder: Path, dtype: str, seed: int) -> None:
        self.folder, rng = folder, np.random.default_rng(seed)
        src, dst = rng.integers(0, N, (2, 1500))
        src[:300], dst[:300] = dst[300:600], src[300:600]
        steps = rng.integers(-20, 20, 1500).tolist()
        if dtype.startswith("float"):
            weight = np.array([-0.0 if x == 0 else x for x in steps], dtype)
            weight[weight == 19] = np.inf
        else:
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            weight = np.array([high - x if x >= 0 else low - x for x in steps], dtype)
        self.table = folder / "edges.parquet"
        pq.write_table(pa.table({"src": src, "dst": dst, "weight": weight}), self.table)
        self.graph = mndmst.partition(
            self.table, folder / "graph", 5, maximum=True, num_vertices=N
        )
        self.weights: dict[tuple[int, int], Any] = {}
        for u, v, x in zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True):
            if u != v:
                pair = min(u, v), max(u, v)
                self.weights[pair] = max(x, self.weights.get(pair, x))
        self.right = kruskal(self.weights)
        self.columns = src, dst, weight


def forest_at(path: Path) -> list[tuple[int, int, Any]]:
    """Return the edges of a file, which must say that it is a maximum forest."""
    forest = mndmst.Forest.read(path)
    assert forest.maximum
    return list(forest)


WAYS = [
    (1, ()),
    (2, ()),
    (3, ()),
    (4, ()),
    (2, ("--light-edges", "0")),
    *((4, ("--merge", name)) for name in ("messages", "hosts", "replicated", "ring")),
    (3, ("--merge", "boruvka")),
]


@pytest.mark.parametrize(
    ("dtype", "ways"),
    [
        ("int32", WAYS),
        ("uint64", WAYS[:3]),
        ("float64", WAYS[::4]),
        ("int64", WAYS[:1]),
    ],
)
def test_every_way_finds_the_maximum_forest(
    mpirun: Callable, tmp_path: Path, dtype: str, ways: list
) -> None:
    case = Case(tmp_path, dtype, 1)
    src, dst, weight = case.columns
    memory = mndmst.minimum_spanning_forest(src, dst, weight, N, maximum=True)
    assert list(memory) == case.right
    for ranks, options in ways:
        out = tmp_path / "forest.h5"
        run = mpirun(
            ranks, "-m", "mndmst", "solve", case.graph, "-o", out, "--maximum",
            "--threads", 1, "--labels", *options,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert forest_at(out) == case.right, (ranks, options)
    assert mndmst.verify(case.graph, out).ok


@pytest.mark.parametrize(("dtype", "ranks"), [("int64", 1), ("float32", 3)])
def test_a_maximum_forest_follows_changes(
    mpirun: Callable, tmp_path: Path, dtype: str, ranks: int
) -> None:
    case = Case(tmp_path, dtype, 2)
    mndmst.solve(case.graph, output=tmp_path / "before.h5")
    lowest, highest = min(case.weights.values()), max(case.weights.values())
    inside = [edge[:2] for edge in case.right]
    outside = [pair for pair in case.weights if pair not in set(inside)]
    lines = ["op,src,dst,weight"]
    for u, v in inside[::7]:
        lines.append(f"delete,{u},{v},")
        del case.weights[u, v]
    for pairs, weight in ((inside[1::7], lowest), (outside[::9], highest)):
        for u, v in pairs:
            lines.append(f"set,{u},{v},{weight}")
            case.weights[u, v] = weight
    for u in range(0, N - 1, 11):
        if (u, u + 1) not in case.weights:
            lines.append(f"insert,{u},{u + 1},{highest}")
            case.weights[u, u + 1] = highest
    (tmp_path / "changes.csv").write_text("\n".join(lines) + "\n")
    out, graph = tmp_path / "after.h5", tmp_path / "changed"
    run = mpirun(
        ranks, "-m", "mndmst", "update", case.graph, tmp_path / "before.h5",
        tmp_path / "changes.csv", "-o", out, "--graph-out", graph,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert forest_at(out) == kruskal(case.weights)
    assert mndmst.verify(graph, out).ok


def test_a_forest_of_the_other_direction_is_refuted_and_refused(tmp_path: Path) -> None:
    case = Case(tmp_path, "int32", 3)
    other = mndmst.partition(case.table, tmp_path / "other", num_vertices=N)
    largest, smallest = tmp_path / "largest.h5", tmp_path / "smallest.h5"
    mndmst.solve(case.graph, output=largest, maximum=True)
    mndmst.solve(other, output=smallest)
    assert not mndmst.Forest.read(smallest).maximum
    assert not mndmst.verify(other, largest).ok
    assert not mndmst.verify(case.graph, smallest).ok
    with pytest.raises(mndmst.MndmstError, match="partition --maximum"):
        mndmst.solve(other, maximum=True)

    # The attributes changed, the edges are what is judged
    with h5py.File(largest) as file:
        uuid = file.attrs["graph-uuid"]
    forged = shutil.copy(smallest, tmp_path / "forged.h5")
    with h5py.File(forged, "r+") as file:
        file.attrs["graph-uuid"], file.attrs["maximum"] = uuid, True
    problems = "\n".join(mndmst.verify(case.graph, forged).problems)
    assert "heavier than the tree edge" in problems
    assert "the forest is not maximal" in problems
    with h5py.File(forged, "r+") as file:
        del file.attrs["maximum"]
    changes = tmp_path / "changes.csv"
    changes.write_text("op,src,dst,weight\n")
    with pytest.raises(InputError, match="is a minimum spanning forest"):
        mndmst.update(case.graph, forged, changes, tmp_path / "after.h5")


def test_a_generated_graph_is_one_for_maximum_forests(tmp_path: Path) -> None:
    """The edges and weights are those of the same graph for minimum forests."""
    found = []
    for name, direction in (("low", ()), ("high", ("--maximum",))):
        words = ("gnm", tmp_path / name, "--n", N, "--m", 900, "--parts", 2, "-q")
        done = command("generate", *words, *direction)
        assert done.returncode == 0, done.stderr
        assert ("order=maximum" in done.stdout) == bool(direction)
        found.append(read_shards(tmp_path / name, FREE_MEMORY))
    (low, minimum), (high, maximum) = found
    assert (minimum, maximum) == (False, True)
    columns = high.src, high.dst, high.weight
    for column, other in zip(columns, (low.src, low.dst, low.weight), strict=True):
        assert column.tolist() == other.tolist()
    weights = {
        (min(u, v), max(u, v)): x
        for u, v, x in zip(*(column.tolist() for column in columns), strict=True)
    }
    mndmst.solve(tmp_path / "high", output=tmp_path / "forest.h5", maximum=True)
    assert forest_at(tmp_path / "forest.h5") == kruskal(weights)
