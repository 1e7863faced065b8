"""What all ranks find out alike, one of them tells."""

from collections.abc import Callable
from pathlib import Path

import graphs
import h5py
import numpy as np
import pytest
from processes import Run
from square import DATA

pytestmark = pytest.mark.mpi


RANKS = 3


def errors(run: Run, count: int) -> str:
    """Return what failing commands wrote; each has one error."""
    assert run.returncode != 0
    assert run.stderr.count("mndmst: error:") == count, run.stderr
    return run.stderr


def test_errors_that_all_ranks_find(
    commands_on_ranks: Callable, mndmst: Callable, tmp_path: Path
) -> None:
    whole = graphs.write_graph(tmp_path / "whole", graphs.path(40), parts=2)
    forest, points = tmp_path / "forest.h5", tmp_path / "points.npy"
    assert mndmst("solve", whole, "-o", forest, "-q").returncode == 0
    with h5py.File(whole / "part-00001.h5", "r+") as part:
        part["graph/data"][-1] += 1
    array = np.ones((400, 2))
    array[333, 1] = np.nan
    np.save(points, array)
    near = np.arange(800.0).reshape(400, 2)
    near[7], near[9] = (0, 1e-300), (0, 2e-300)
    np.save(tmp_path / "near.npy", near)
    square, graph = DATA / "square.gr", tmp_path / "graph"
    messages = {
        ("partition", square, graph, "--parts", 0): "--parts: '0' is not a whole",
        ("partition", square, graph, "--source", "x"): "--source needs a recipe",
        ("partition", "recipe.toml", graph, "--format", "gr"): "has its own format",
        ("partition", "nowhere.toml", graph): "nowhere.toml: no such file",
        ("verify", whole, forest): "rows of both its ends",
        ("linkage", points): "point 333 (from 0) has a coordinate that is not a finite",
        ("linkage", tmp_path / "none.npy"): "none.npy",
        ("hdbscan", points, "--min-cluster-size", 1): "--min-cluster-size: '1' is not",
        ("linkage", points, "--approximate"): "--approximate takes one process",
        ("linkage", points, "-o", tmp_path / "there/file"): "there",
        ("linkage", tmp_path / "near.npy"): "float64 cannot hold the squares of both",
    }
    told = errors(commands_on_ranks(RANKS, messages), len(messages))
    for message in messages.values():
        assert message in told


def test_commands_of_one_process_run_once(
    tmp_path: Path, commands_on_ranks: Callable
) -> None:
    table = tmp_path / "points.csv"
    table.write_text("x,y\n" + "".join(f"{i % 7},{i}\n" for i in range(40)))
    forest, clusters = tmp_path / "forest.h5", tmp_path / "clusters.h5"
    outputs = ("--forest", forest, "-o", clusters, "--prediction-data")
    commands = (
        ("hdbscan", table, *outputs),
        ("predict", clusters, table, "-o", tmp_path / "labels.csv"),
        ("cluster", forest, "--count", 2, "-o", tmp_path / "flat.csv"),
        ("convert", forest, tmp_path / "forest.csv"),
        ("neighbours", table, tmp_path / "graph.csv"),
    )
    run = commands_on_ranks(RANKS, (*commands, ("info", clusters)))
    assert run.returncode == 0, run
    assert run.stdout.count("mndmst-clusters") == 1, run.stdout
    assert run.stdout.count("RESULT") <= len(commands), run.stdout
    repeated = commands[1:4]
    told = errors(commands_on_ranks(RANKS, repeated), len(repeated))
    assert told.count("exists") == len(repeated)
