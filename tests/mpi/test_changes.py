"""Forests that follow changes of their graphs, and the command that updates one."""

from collections.abc import Callable
from pathlib import Path

import graphs
import numpy as np
import oracle
import pytest

from mndmst.io.edge_file import Edges
from mndmst.io.partitioner.partition import build_shards
from mndmst.io.results.forest_file import read_forest
from mndmst.io.shards.sharded_graph import open_graph

PROGRAM = Path(__file__).with_name("changes_program.py")
pytestmark = [pytest.mark.mpi, pytest.mark.slow]


@pytest.mark.parametrize(
    ("ranks", "anew"),
    [(1, "usual"), (1, "always"), (2, "usual"), (3, "never"), (4, "always")],
)
def test_random_changes_agree_with_kruskal(
    mpirun: Callable, ranks: int, anew: str
) -> None:
    run = mpirun(
        ranks, "-m", "mpi4py", PROGRAM, ranks, 150, anew, timeout=280,
        PYTHONPATH=f"{PROGRAM.parents[2]}:{PROGRAM.parents[1]}",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    assert int(run.stdout) > 500


class Change:
    """A graph, changes of it, and the graph afterwards, as files and in memory."""

    def __init__(self, folder: Path, dtype: str = "int64") -> None:
        rng = np.random.default_rng(4)
        graph = graphs.random(700, 2500, 6)._replace(n=720)
        weight = rng.integers(0, 90, len(graph.src)).astype(dtype)
        self.edges = {
            (min(u, v), max(u, v)): w
            for u, v, w in zip(
                *map(np.ndarray.tolist, (*graph[1:3], weight)), strict=True
            )
            if u != v
        }
        self.dtype, self.n, self.folder = dtype, 720, folder
        self.before = self.shards("before")
        listed = rng.permutation(np.array(list(self.edges))).tolist()
        lines = ["op,src,dst,weight"]
        for u, v in listed[:200]:
            del self.edges[u, v]
            lines.append(f"delete,{v},{u},")
        for u, v in listed[200:400]:
            self.edges[u, v] = int(rng.integers(0, 90))
            lines.append(f"set,{u},{v},{self.edges[u, v]}")
        for u, v in rng.integers(0, 720, (200, 2)).tolist():
            if u < v and (u, v) not in self.edges and [u, v] not in listed:
                self.edges[u, v] = int(rng.integers(0, 90))
                lines.append(f"insert,{u},{v},{self.edges[u, v]}")
        self.changes = folder / "changes.csv"
        self.changes.write_text("\n".join(lines) + "\n")

    def columns(self) -> tuple:
        src, dst = np.array(list(self.edges)).T
        return src, dst, np.array(list(self.edges.values()), self.dtype)

    def shards(self, name: str) -> Path:
        src, dst, weight = self.columns()
        edges = Edges(self.n, np.uint32(src), np.uint32(dst), weight, False)
        build_shards(edges, self.folder / name, 3)
        return self.folder / name


@pytest.mark.parametrize(("ranks", "dtype"), [(1, "float32"), (3, "int64")])
def test_update_writes_what_solve_would(
    mpirun: Callable, mndmst: Callable, tmp_path: Path, ranks: int, dtype: str
) -> None:
    change = Change(tmp_path, dtype)
    old, new, out = tmp_path / "old.h5", tmp_path / "new.h5", tmp_path / "after"
    assert mndmst("solve", change.before, "-o", old).returncode == 0
    command = ["update", change.before, old, change.changes, "-o", new]
    run = mpirun(ranks, "-m", "mndmst", *command, "--graph-out", out)
    assert run.returncode == 0, run.stderr
    right = oracle.kruskal(change.n, *change.columns())
    assert run.result["m"] == str(right.m) == str(len(change.edges))
    assert run.result["digest"] == right.digest
    assert float(run.result["weight"]) == right.total
    assert mndmst("verify", out, new).returncode == 0
    # The same graph as one made of its edges.
    fresh = change.shards("fresh")
    assert open_graph(out).uuid == open_graph(fresh).uuid
    assert read_forest(new).header.graph_uuid == open_graph(fresh).uuid
    assert mndmst("verify", fresh, new).returncode == 0
    alone = tmp_path / "alone.h5"
    run = mndmst(*command[:-1], alone, "-q")
    assert run.result["digest"] == right.digest
    assert not run.stderr


def test_ids_are_those_before_a_reordering(
    mpirun: Callable, mndmst: Callable, tmp_path: Path
) -> None:
    change = Change(tmp_path)
    graph, old, new = tmp_path / "graph", tmp_path / "old.h5", tmp_path / "new.h5"
    out = tmp_path / "after"
    ordered = mndmst(
        "partition", change.before, graph, "--reorder", "degree", "--parts", "2"
    )
    assert ordered.returncode == 0, ordered.stderr
    assert mndmst("solve", graph, "-o", old).returncode == 0
    run = mpirun(
        2, "-m", "mndmst", "update", graph, old, change.changes, "-o", new,
        "--graph-out", out,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    right = oracle.kruskal(change.n, *change.columns())
    assert float(run.result["weight"]) == right.total
    assert mndmst("verify", out, new).returncode == 0
    opened = open_graph(out)
    ids = np.sort(opened.read_original_ids(0, change.n))
    assert opened.reordered and ids.tolist() == list(range(change.n))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("delete,718,719,", "there is no edge (718, 719) to delete or to set"),
        ("insert,718,720,1", "(718, 720) names vertex 720, but ids run from 0 to 719"),
        ("set,718,717,x", 'has "x" for a weight'),
    ],
)
def test_one_wrong_change_and_nothing_is_written(
    mpirun: Callable, mndmst: Callable, tmp_path: Path, line: str, words: str
) -> None:
    change = Change(tmp_path)
    old, new, out = tmp_path / "old.h5", tmp_path / "new.h5", tmp_path / "after"
    assert mndmst("solve", change.before, "-o", old).returncode == 0
    text = change.changes.read_text()
    change.changes.write_text(text + line)
    number = text.count("\n") + 1
    run = mpirun(
        2, "-m", "mndmst", "update", change.before, old, change.changes, "-o", new,
        "--graph-out", out, "-q",
    )  # fmt: skip
    assert run.returncode == 1
    assert f"{change.changes}: line {number}" in run.stderr and words in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert not new.exists() and not out.exists()


def test_a_forest_of_another_graph_and_a_directory_in_use(
    mpirun: Callable, mndmst: Callable, tmp_path: Path
) -> None:
    change = Change(tmp_path)
    old, new = tmp_path / "old.h5", tmp_path / "new.h5"
    fresh = change.shards("fresh")
    assert mndmst("solve", fresh, "-o", old).returncode == 0
    command = "-m", "mndmst", "update", change.before, old, change.changes, "-o", new
    run = mpirun(2, *command)
    assert run.returncode == 1 and "is the forest of graph" in run.stderr
    assert mndmst("solve", change.before, "-o", old).returncode == 0
    run = mpirun(2, *command, "--graph-out", change.before)
    assert run.returncode == 1 and not new.exists(), run.stderr
    run = mpirun(2, *command, "--graph-out", fresh)
    assert run.returncode == 1 and "is not empty" in run.stderr
    assert not new.exists()
    run = mpirun(2, *command, "--memory", "40MiB")
    assert run.returncode == 1 and "suffices; more ranks need less" in run.stderr
