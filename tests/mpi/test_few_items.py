"""Every command on more ranks than there are vertices, points or changes."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mndmst.io.edge_file import Edges
from mndmst.io.partitioner.partition import build_shards

RANKS = 5

pytestmark = pytest.mark.mpi


def test_points(commands_on_ranks: Callable, tmp_path: Path) -> None:
    commands: list[list[object]] = []
    for kind, n in product(("float32", "float64", "uint8", "int64"), (1, 2, 4)):
        points, stem = tmp_path / f"{kind}{n}.npy", tmp_path / f"{kind}{n}"
        np.save(points, np.arange(2 * n).reshape(n, 2).astype(kind))
        outputs = ["-o", f"{stem}.h5", "--forest", f"{stem}.f.h5"]
        commands.append(["linkage", points, *outputs, "-q"])
        commands.append(["linkage", points, "-o", f"{stem}.csv", "-q"])
        commands.append(["hdbscan", points, "--min-cluster-size", 2, "-q"])
    (tmp_path / "one.csv").write_text("x,y\n1,2\n")
    commands.append(["linkage", tmp_path / "one.csv", "-q"])
    commands.append(["hdbscan", "rings", "--count", 3, "-q"])
    # Points are dealt from so many on; most are equal, so some ranks have none.
    points = np.zeros((64 * RANKS + 10, 3), np.float32)
    points[:7] = np.arange(21).reshape(7, 3)
    np.save(tmp_path / "equal.npy", points)
    commands.append(["linkage", tmp_path / "equal.npy", "-q"])
    run = commands_on_ranks(RANKS, commands)
    assert run.returncode == 0, run.stderr[-3000:]
    results = [line for line in run.stdout.splitlines() if line.startswith("RESULT")]
    sizes = [int(result.split()[1].removeprefix("n=")) for result in results]
    each = [n for n in (1, 2, 4) for _ in range(3)]
    assert sizes == [*each * 4, 1, 3, len(points)]


def test_graphs(commands_on_ranks: Callable, tmp_path: Path) -> None:
    commands: list[list[object]] = []
    for weights, m in (("uint64", 0), ("float32", 1), ("uint64", 2)):
        stem = tmp_path / f"{weights}{m}"
        graph, forest, now = stem, f"{stem}.h5", f"{stem}.now.h5"
        ends = np.arange(3, dtype=np.uint32)
        edges = Edges(3, ends[:m], ends[1 : m + 1], np.ones(m, weights), False)
        build_shards(edges, graph, 1)
        changes = tmp_path / "changes.csv"
        changes.write_text("op,src,dst,weight\ninsert,0,2,2\n")
        for merge in ("auto", "ring", "boruvka", "messages"):
            on_all = ["--backend", "cpu", "--merge", merge]
            commands.append(["solve", graph, "-o", forest, *on_all, "-q"])
        commands.append(["solve", graph, "--checkpoint", f"{stem}.c", "-q"])
        commands.append(["components", graph, "-o", f"{stem}.l.h5", "-q"])
        commands.append(["verify", graph, forest])
        files = [graph, forest, changes, "-o", now, "--graph-out", f"{graph}.now"]
        commands.append(["update", *files, "-q"])
        commands.append(["verify", f"{graph}.now", now])
    run = commands_on_ranks(RANKS, commands)
    assert run.returncode == 0, run.stderr[-3000:]
