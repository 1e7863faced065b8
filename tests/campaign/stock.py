"""Whole files of every kind, and the commands that read and write them."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import graphs
import numpy as np
from bvgraph import write_bvgraph
from processes import finish, python, start
from square import DATA

from . import TESTS
from .case import expect
from .commands import Commands

TEXTS = (".gr", ".mtx", ".csv", ".txt", ".npz", ".parquet")
OPTIONS = """\
backend = "cpu"
merge = "ring"
group_size = 2
light_edges = 0.4
"""
RECIPE = """\
parts = 3

[generate]
kind = "gnm"
seed = 3
weights = "float32"
n = 300
m = 900

[counts]
vertices = 300
"""


class Reading(NamedTuple):
    """A command that reads a file or folder of the stock.

    `{}` in an argument stands for the folder with a copy of the stock. Where `right` is
    True, the line RESULT, and what stands in it, is the same whatever the damage.
    """

    subject: str
    arguments: tuple[str, ...]
    right: bool = False


SOLVE = ("solve", "{}/graph", "-o", "{}/made/forest.h5", "--backend", "cpu", "-q")

READINGS = (
    Reading("graph", SOLVE, True),
    Reading("graph", ("verify", "{}/graph", "{}/forest.h5")),
    Reading("graph", ("components", "{}/graph", "--backend", "cpu", "-q"), True),
    Reading("graph", ("info", "{}/graph")),
    Reading("graph", ("partition", "{}/graph", "{}/made/graph", "--parts", "2", "-q")),
    Reading("graph", ("convert", "{}/graph", "{}/made/edges.gr")),
    Reading("forest.h5", ("verify", "{}/graph", "{}/forest.h5")),
    Reading("forest.h5", ("info", "{}/forest.h5")),
    Reading("forest.h5", ("convert", "{}/forest.h5", "{}/made/forest.csv")),
    Reading(
        "forest.h5",
        ("cluster", "{}/forest.h5", "-o", "{}/made/clusters.h5", "--count", "5"),
    ),
    Reading("labels.h5", ("info", "{}/labels.h5")),
    Reading("clusters.h5", ("info", "{}/clusters.h5")),
    Reading("kept", (*SOLVE, "--checkpoint", "{}/kept", "--resume"), True),
    Reading("options.toml", (*SOLVE, "--config", "{}/options.toml"), True),
    Reading("recipe.toml", ("partition", "{}/recipe.toml", "{}/made/graph", "-q")),
    Reading("run.json", ("report", "{}/run.json", "-o", "{}/made/page.html")),
    Reading("points.npy", ("neighbours", "{}/points.npy", "{}/made/graph")),
    Reading("points.csv", ("neighbours", "{}/points.csv", "{}/made/graph")),
    Reading(
        "web.graph",
        ("partition", "{}/web.graph", "{}/made/graph", "--format", "bvgraph", "-q"),
    ),
    Reading("model.h5", ("info", "{}/model.h5")),
    Reading(
        "model.h5", ("predict", "{}/model.h5", "{}/points.npy", "-o", "{}/made/of.csv")
    ),
    Reading(
        "model.h5",
        ("hdbscan", "--model", "{}/model.h5", "--insert", "{}/points.npy", "-q"),
    ),
    Reading("model.h5", ("convert", "{}/model.h5", "{}/made/tree.nwk")),
    Reading("near.h5", ("verify", "{}/points.npy", "{}/near.h5")),
)  # fmt: skip


def formats() -> list[Reading]:
    """Return the commands that read a file in another format."""
    names = [f"edges{suffix}" for suffix in TEXTS]
    names += sorted(path.name for path in DATA.glob("square*"))
    commands = (
        ("partition", "{{}}/{}", "{{}}/made/graph", "-q"),
        ("convert", "{{}}/{}", "{{}}/made/edges.csv"),
    )
    return [
        Reading(name, tuple(word.format(name) for word in command))
        for name in names
        for command in commands
    ]


def writings() -> list[tuple[str, tuple[str, ...]]]:
    """Return names of outputs, and the commands that write them below `{}/made`."""
    made = [f"edges{suffix}" for suffix in TEXTS]
    labels = ("components", "{}/graph", "--backend", "cpu", "-q", "-o")
    gnm = ("generate", "gnm", "{}/made/graph", "--n", "2000", "--m", "9000", "-q")
    return [
        ("forest.h5", SOLVE),
        ("forest.h5", (*SOLVE, "--labels")),
        ("run.json", ("solve", "{}/graph", "-q", "--report", "{}/made/run.json")),
        ("labels.h5", (*labels, "{}/made/labels.h5")),
        ("clusters.h5", READINGS[9].arguments),
        ("graph", (*gnm, "--parts", "3")),
        ("graph", ("partition", "{}/graph", "{}/made/graph", "--parts", "2", "-q")),
        ("graph", ("neighbours", "{}/points.npy", "{}/made/graph")),
        ("page.html", READINGS[15].arguments),
        *((name, ("convert", "{}/graph", f"{{}}/made/{name}")) for name in made),
    ]


def make_stock(folder: Path, commands: Commands) -> None:
    """Make the stock, the same one every time."""
    graph = graphs.random(600, 2400, 5)
    weight = np.random.default_rng(1).random(2400)
    graphs.write_graph(folder / "graph", graph._replace(weight=weight), 3)
    (folder / "options.toml").write_text(OPTIONS)
    (folder / "recipe.toml").write_text(RECIPE)
    points = np.random.default_rng(2).random((200, 2))
    np.save(folder / "points.npy", points)
    np.savetxt(folder / "points.csv", points, delimiter=",")
    write_bvgraph(folder / "web.graph", [[1, 2, 3], [0, 2], [0, 1], [0]] * 4)
    for path in DATA.glob("square*"):
        shutil.copy(path, folder)
    for command in (
        (
            *("solve", "graph", "-o", "forest.h5", "--labels"),
            *("--report", "run.json", "--backend", "cpu"),
        ),
        ("components", "graph", "-o", "labels.h5", "--backend", "cpu"),
        ("cluster", "forest.h5", "-o", "clusters.h5", "--count", "5"),
        (
            *("hdbscan", "points.npy", "--min-cluster-size", "5"),
            *("--prediction-data", "-o", "model.h5", "--forest", "near.h5"),
        ),
        *(("convert", "graph", f"edges{suffix}") for suffix in TEXTS),
    ):
        names = [folder / w if "." in w or w == "graph" else w for w in command]
        ended = commands.run(*names)
        expect(ended.status == 0, f"{command}: {ended}")
    program = TESTS / "system" / "fault_program.py"
    stopped = (program, "term", 0, "ind_comp", "solve", folder / "graph", "--backend")
    saving = ("cpu", "--merge", "messages", "--checkpoint", folder / "kept")
    run = finish(start(python(*stopped, *saving)), 300)
    expect(run.returncode == 75, run)


def copied(stock: Path, folder: Path) -> list[Path]:
    """Copy the stock; return its files."""
    shutil.copytree(stock, folder, dirs_exist_ok=True)
    (folder / "made").mkdir()
    (folder / "made" / "notes.json").write_text("a canary")
    return [path for path in folder.rglob("*") if path.is_file()]


def mounted(folder: Path, kilobytes: int) -> bool:
    """Mount a small file system, where that is allowed."""
    if os.geteuid() != 0:
        return False
    options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    command = ["mount", *options]
    return not subprocess.run(command, capture_output=True, check=False).returncode
