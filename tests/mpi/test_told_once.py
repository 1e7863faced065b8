"""What all ranks find out alike, one of them tells."""

from collections.abc import Callable
from pathlib import Path

import graphs
import h5py
import pytest
from square import DATA

pytestmark = pytest.mark.mpi


@pytest.fixture
def told(mpirun: Callable, tmp_path: Path) -> Callable[..., str]:
    """Run a command on three ranks; return its error, which must stand there once."""

    def run(*arguments: object) -> str:
        done = mpirun(3, "-m", "mndmst", *arguments)
        assert done.returncode != 0
        assert done.stderr.count("mndmst: error:") == 1, done.stderr
        return done.stderr

    return run


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            (DATA / "square.gr", "--parts", 0),
            "--parts: '0' is not a whole number from 1 to",
        ),
        ((DATA / "square.gr", "--source", "x"), "--source needs a recipe"),
        (("recipe.toml", "--format", "gr"), "a recipe has its own format"),
        (("nowhere.toml",), "cannot be read"),
    ],
)
def test_options_of_partition(tmp_path, told, options, message):
    file, *others = options
    assert message in told("partition", file, tmp_path / "graph", *others)


def test_rows_that_are_not_symmetric(tmp_path, mndmst, told):
    whole = graphs.write_graph(tmp_path / "whole", graphs.path(40), parts=2)
    forest = tmp_path / "forest.h5"
    assert mndmst("solve", whole, "-o", forest, "-q").returncode == 0
    with h5py.File(whole / "part-00001.h5", "r+") as part:
        part["graph/data"][-1] += 1
    assert "rows of both its ends" in told("verify", whole, forest)


def test_commands_of_one_process_run_once(tmp_path, mpirun, told) -> None:
    table = tmp_path / "points.csv"
    table.write_text("x,y\n" + "".join(f"{i % 7},{i}\n" for i in range(40)))
    files = {name: tmp_path / name for name in ("forest.h5", "clusters.h5")}
    options = ("--forest", files["forest.h5"], "-o", files["clusters.h5"])
    made = mpirun(3, "-m", "mndmst", "hdbscan", table, *options, "--prediction-data")
    assert made.returncode == 0, made
    commands = (
        ("predict", files["clusters.h5"], table, "-o", tmp_path / "labels.csv"),
        ("cluster", files["forest.h5"], "--count", 2, "-o", tmp_path / "flat.csv"),
        ("convert", files["forest.h5"], tmp_path / "forest.csv"),
        ("neighbours", table, tmp_path / "graph.csv"),
    )
    for command in commands:
        done = mpirun(3, "-m", "mndmst", *command)
        assert done.returncode == 0, done
        assert done.stdout.count("RESULT") <= 1, done.stdout
    for command in commands[:3]:
        assert "exists" in told(*command)
