"""Every command on more ranks than there are vertices, points or changes."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mndmst.io.edge_file import Edges
from mndmst.io.partitioner.partition import build_shards

PROGRAM = Path(__file__).with_name("exchange_program.py")
RANKS = 5
WEIGHTS = ("uint64", "float32")

pytestmark = pytest.mark.mpi


def run_all(mpirun: Callable, commands: list[list[object]]) -> list[str]:
    """Run commands on the same ranks; return their results."""
    words = json.dumps([[str(word) for word in command] for command in commands])
    run = mpirun(RANKS, "-m", "mpi4py", PROGRAM, words, timeout=280)
    assert run.returncode == 0, run.stderr[-3000:]
    return [line for line in run.stdout.splitlines() if line.startswith("RESULT")]


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8", "int64"])
def test_points(mpirun: Callable, tmp_path: Path, kind: str) -> None:
    commands: list[list[object]] = []
    for n in (1, 2, 4):
        points = tmp_path / f"{n}.npy"
        np.save(points, np.arange(2 * n).reshape(n, 2).astype(kind))
        outputs = ["-o", tmp_path / f"{n}.h5", "--forest", tmp_path / f"{n}.f.h5"]
        commands.append(["linkage", points, *outputs, "-q"])
        commands.append(["linkage", points, "-o", tmp_path / f"{n}.csv", "-q"])
        commands.append(["hdbscan", points, "--min-cluster-size", 2, "-q"])
    (tmp_path / "one.csv").write_text("x,y\n1,2\n")
    commands.append(["linkage", tmp_path / "one.csv", "-q"])
    commands.append(["hdbscan", "rings", "--count", 3, "-q"])
    results = run_all(mpirun, commands)
    assert [result.split()[1] for result in results[::3]] == [
        "n=1", "n=2", "n=4", "n=1",
    ]  # fmt: skip
    assert len(results) == len(commands)


def test_many_ranks_with_points_of_few(mpirun: Callable, tmp_path: Path) -> None:
    """Points are dealt from so many on; most are equal, so some ranks have none."""
    points = np.zeros((64 * RANKS + 10, 3), np.float32)
    points[:7] = np.arange(21).reshape(7, 3)
    np.save(tmp_path / "equal.npy", points)
    results = run_all(mpirun, [["linkage", tmp_path / "equal.npy", "-q"]])
    assert f"n={len(points)} edges={len(points) - 1}" in results[0]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_graphs(mpirun: Callable, tmp_path: Path, weights: str) -> None:
    commands: list[list[object]] = []
    for m in (0, 1, 2):
        graph, forest, now = (tmp_path / f"{m}{end}" for end in ("", ".h5", ".now.h5"))
        ends = np.arange(3, dtype=np.uint32)
        edges = Edges(3, ends[:m], ends[1 : m + 1], np.ones(m, weights), False)
        build_shards(edges, graph, 1)
        changes = tmp_path / "changes.csv"
        changes.write_text("op,src,dst,weight\ninsert,0,2,2\n")
        for merge in ("auto", "ring", "boruvka", "messages"):
            commands.append(["solve", graph, "-o", forest, "--merge", merge, "-q"])
        commands.append(["solve", graph, "--checkpoint", tmp_path / f"{m}.c", "-q"])
        commands.append(["components", graph, "-o", tmp_path / f"{m}.l.h5", "-q"])
        commands.append(["verify", graph, forest])
        files = [graph, forest, changes, "-o", now, "--graph-out", f"{graph}.now"]
        commands.append(["update", *files, "-q"])
        commands.append(["verify", f"{graph}.now", now])
    run_all(mpirun, commands)
