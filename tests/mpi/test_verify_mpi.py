"""Forest files and verdicts are the same on any number of ranks."""

import json
from collections.abc import Callable
from pathlib import Path

import graphs
import h5py
import numpy as np
import pytest
from oracle import kruskal, smallest_of_trees
from processes import without_first_uses

PROGRAM = Path(__file__).with_name("verify_program.py")
RANKS = (1, 3, 5)

pytestmark = pytest.mark.mpi


def test_same_on_any_number_of_ranks(mpirun: Callable, tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(0, 20, 9000) / 8 - 1
    graph = graphs.random(3000, 9000, 5).with_weights(list(values), "float64")
    graphs.write_graph(tmp_path / "graph", graph, parts=4)
    answer = kruskal(*graph)
    labels = smallest_of_trees(graph.n, answer.src, answer.dst)
    columns = {"src": answer.src, "dst": answer.dst, "weight": answer.weight}
    np.savez(tmp_path / "forest.npz", labels=labels, **columns)

    seen = []
    for ranks in RANKS:
        folder = tmp_path / str(ranks)
        folder.mkdir()
        arguments = tmp_path / "graph", folder, tmp_path / "forest.npz"
        run = mpirun(ranks, "-m", "mpi4py", PROGRAM, *arguments, timeout=120)
        assert run.returncode == 0, run.stderr
        assert without_first_uses(run.stderr) == ""
        seen.append(json.loads(run.stdout))
        assert sorted(file.name for file in folder.iterdir()) == [
            "missing",
            "none",
            "right",
        ]
        with h5py.File(folder / "right") as file:
            assert file.attrs["total_weight"] == answer.total
            assert file.attrs["digest"].decode() == answer.digest
            for name, column in columns.items():
                assert np.array_equal(file[f"forest/{name}"], column)

    verdicts = seen[0]["verdicts"]
    assert all(other["verdicts"] == verdicts for other in seen[1:])
    assert all("cannot be written" in other["failure"] for other in seen)
    refusals = ["there is no room" if r == 1 else f"the {r} ranks of a" for r in RANKS]
    for other, refusal in zip(seen, refusals, strict=True):
        assert other["refusal"].startswith(refusal)
    assert verdicts["hidden"] == verdicts["right"]
    assert verdicts["right"]["problems"] == []
    assert verdicts["right"]["m"] == answer.m
    assert verdicts["right"]["trees"] == answer.trees
    lost = f"edge ({answer.src[0]}, {answer.dst[0]}) weight {answer.weight[0]} joins"
    assert verdicts["missing"]["problems"][0].startswith(lost)
    assert len(verdicts["none"]["problems"]) == 10
