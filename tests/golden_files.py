"""Write the golden files: one small file of each kind, as this version writes it.

`python tests/golden_files.py` replaces them in tests/data/golden, with `names` only the
list of public names, and with `predictions` only the predictions of the golden model.
Every later version 1 must read them and have these names, so none is replaced after
version 1.0; a release may add files. The files name no host.
"""

import inspect
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
from services import served

import mndmst
from mndmst.__main__ import main
from mndmst.cli.__main__ import commands
from mndmst.cli.main import parser
from mndmst.points.clusters.prediction_file import StoredModel
from mndmst.points.point_files import example_points
from mndmst.service.client import Graph, Service
from mndmst.service.points_client import Points
from mndmst.service.protocol import ACTIONS, QUERY, TABLE, UPLOAD
from mndmst.solver.checkpoint import Checkpoint

GOLDEN = Path(__file__).parent / "data/golden"

# Two trees; the towns are text, and ascend in another order than in the table
TOWNS = (
    ("Köln", "Bonn", 20.0),
    ("Bonn", "Trier", 90.5),
    ("Köln", "Aachen", 45.0),
    ("Aachen", "Trier", 95.0),
    ("Mainz", "Bonn", 70.0),
    ("Mainz", "Trier", 80.25),
    ("Köln", "Düren", 30.0),
    ("Düren", "Aachen", 25.0),
    ("Lübeck", "Kiel", 50.0),
)
# The same edges with other weights, which become a column of the graph of towns
KILOMETRES = (27.5, 140.0, 70.0, 150.0, 165.0, 160.0, 40.0, 35.0, 95.0)
# Of DIMACS, whose ids count from 1; for a maximum forest
SHARED = (
    *((1, 2, 7), (2, 3, 5), (1, 3, 9), (3, 4, 2), (5, 6, 4), (1, 4, -3), (2, 4, 5)),
)
# Points with ids, and the least size of a cluster
POINTS = example_points("blobs", 40).round(3)
LEAST = 5
OLD = range(30)  # Those of the first model; the others are inserted
GONE = ("p3", "p17")  # those that are removed then
# Options of a service of points, and the first point that its snapshot does not have
SERVED_POINTS = ("--columns", "x,y", "--min-cluster-size", LEAST, "--points")
MIDDLE = 35
# The batch that the snapshot of the journal has, and those behind it
FIRST: dict[str, tuple[list, ...]] = {"insert": (["Kiel"], ["Köln"], [500.0])}
LATER: tuple[dict[str, tuple[list, ...]], ...] = (
    {"insert": (["Kiel"], ["Mainz"], [480.0])},
    {
        "delete": (["Düren"], ["Aachen"]),
        "set_weights": (["Köln"], ["Aachen"], [44.5]),
    },
)


def run(*words: object) -> None:
    """Run a command in this process."""
    assert main([*map(str, words), "-q"]) == 0


@contextmanager
def without_host() -> Iterator[None]:
    """Leave the facts of this machine out of reports."""
    with (
        mock.patch("platform.node", lambda: "host"),
        mock.patch("platform.release", lambda: "release"),
        mock.patch("mndmst.solver.run_report.processor_name", lambda: "processor"),
        mock.patch("mndmst.solver.run_report.commit", lambda folder: ""),
        mock.patch.object(sys, "argv", ["mndmst", "solve"]),
    ):
        yield


def write_inputs(weights: tuple[float, ...], name: str) -> None:
    """Write the towns as a table with the given weights."""
    with Path(name).open("w", encoding="utf-8") as file:
        file.write("source,target,weight\n")
        for (source, target, _), weight in zip(TOWNS, weights, strict=True):
            file.write(f"{source},{target},{weight}\n")


def write_points(file: Path, points: range) -> None:
    """Write some of the points as a table with ids."""
    rows = [f"p{k},{POINTS[k, 0]},{POINTS[k, 1]}\n" for k in points]
    file.write_text("id,x,y\n" + "".join(rows))


def change_model(model: Path, *options: object) -> None:
    """Insert and remove points as golden files have it."""
    new, gone = model.with_name("new.csv"), model.with_name("gone.txt")
    write_points(new, range(len(OLD), len(POINTS)))
    gone.write_text("\n".join(GONE) + "\n")
    run("hdbscan", "--model", model, "--insert", new, "--remove", gone, *options)


def write_graphs() -> None:
    """Write a graph of named vertices with a column, and a renumbered one."""
    write_inputs(tuple(weight for *_, weight in TOWNS), "towns.csv")
    write_inputs(KILOMETRES, "kilometres.csv")
    for name in ("towns", "kilometres"):
        run("partition", f"{name}.csv", name, "--parts", 2)
    run("column", "towns", "kilometres", "kilometres")
    edges = "".join(f"a {u} {v} {w}\na {v} {u} {w}\n" for u, v, w in SHARED)
    Path("shared.gr").write_text(f"p sp 6 {2 * len(SHARED)}\n{edges}")
    options = ("--parts", 2, "--maximum", "--reorder", "degree")
    run("partition", "shared.gr", "shared", *options)


def write_results() -> None:
    """Write forests, labels, clusters and a model, and keep a checkpoint."""
    with without_host():
        # The command removes the checkpoint once the forest is written
        with mock.patch.object(Checkpoint, "remove", lambda checkpoint: None):
            checkpoint = ("--checkpoint", "checkpoint", "--checkpoint-interval", 0)
            run("solve", "towns", "-o", "towns.forest.h5", "--labels", *checkpoint)
        run("solve", "shared", "-o", "shared.forest.h5")
    run("components", "towns", "-o", "towns.labels.h5")
    run("cluster", "towns.forest.h5", "--count", 3, "-o", "towns.clusters.h5")
    write_points(Path("points.csv"), range(len(POINTS)))
    model = (
        "--min-cluster-size",
        LEAST,
        "--prediction-data",
        "--store-centers",
        "both",
    )
    run("hdbscan", "points.csv", *model, "-o", "model.h5")
    run("linkage", "points.csv", "-o", "dendrogram.h5")
    write_points(Path("old.csv"), OLD)
    for name in ("before.h5", "changed.h5"):
        run("hdbscan", "old.csv", *model, "-o", name)
    change_model(Path("changed.h5").absolute())


def predictions(model: Path) -> list[list[float]]:
    """Return the label and the probability that a model predicts for each new point."""
    found = StoredModel.read(model).predict(POINTS + 0.01, model)
    return [[*pair] for pair in np.column_stack([found.labels, found.probabilities])]


def write_predictions() -> None:
    """Write the predictions of the golden model, with all digits."""
    told = predictions(GOLDEN / "model.h5")
    (GOLDEN / "predictions.json").write_text(json.dumps(told) + "\n")


def write_journal() -> None:
    """Run a service that writes snapshots, and batches behind them."""
    here = Path.cwd()
    write_points(here / "pings.csv", OLD)
    words = (here / "towns", *SERVED_POINTS, here / "pings.csv")
    with (
        served(here, 1, *words, "--journal", here / "journal") as service,
        service.connect() as client,
    ):
        graph, points = client["towns"], client.points("pings")
        graph.update(**FIRST)
        points.insert(POINTS[len(OLD) : MIDDLE])
        for one in (graph, points):
            one.snapshot()
        for batch in LATER:
            graph.update(**batch)
        points.update(insert=POINTS[MIDDLE:], remove=[3, 17])
    for lease in Path("journal").glob("*/lease"):  # names the host of the service
        lease.unlink()


def python_names() -> dict[str, dict[str, str]]:
    """Return the parameters of each public function, class and method by its name.

    Classes are also those of the objects that `connect` leads to. Attributes have no
    parameters.
    """
    found: dict[str, dict[str, str]] = {}
    public = {name: getattr(mndmst, name) for name in mndmst.__all__}
    public |= {each.__name__: each for each in (Service, Graph, Points)}
    for name, value in sorted(public.items()):
        if name == "__version__":
            continue
        found[name] = parameters_of(value)
        own = [c for c in getattr(value, "__mro__", ()) if "mndmst" in c.__module__]
        fields = {key for c in own for key in getattr(c, "__annotations__", ())}
        if value is mndmst.HDBSCAN:
            fields |= vars(value(LEAST).fit(POINTS)).keys()
        for member in sorted(fields.union(*map(vars, own))):
            if not member.startswith("_"):
                given = getattr(value, member, None)
                found[f"{name}.{member}"] = parameters_of(given)
    return found


def parameters_of(value: object) -> dict[str, str]:
    """Return the parameters of a function, or of the constructor of a class.

    The text of each says whether it is required, and given by position or by keyword.
    """
    is_error = inspect.isclass(value) and issubclass(value, Exception)
    if not callable(value) or is_error:
        return {}
    found = {}
    for name, parameter in inspect.signature(value).parameters.items():
        if name != "self" and not name.startswith("_"):
            need = "required" if parameter.default is parameter.empty else "optional"
            found[name] = f"{need} {parameter.kind.description}"
    return found


def options_of_commands() -> dict[str, list[str]]:
    """Return the options of each command."""
    return {
        name: sorted(option for a in command._actions for option in a.option_strings)
        for name, command in commands(parser())
    }


def protocol_fields() -> dict[str, dict[str, bool]]:
    """Return the fields of each request of the service, and whether each is required.

    Actions are named so, other requests by the call of Arrow Flight.
    """
    requests = {name: fields for name, (_, fields) in ACTIONS.items()}
    requests |= {"do_put": UPLOAD, "get_flight_info": TABLE, "do_exchange": QUERY}
    return {
        request: {name: field.required for name, field in fields.items()}
        for request, fields in requests.items()
    }


def write_names() -> None:
    """Write the public names of Python, of the command line and of the protocol."""
    names = {
        "python": python_names(),
        "commands": options_of_commands(),
        "protocol": protocol_fields(),
    }
    (GOLDEN / "names.json").write_text(json.dumps(names, indent=1) + "\n")


def write_golden_files() -> None:
    """Replace the golden files."""
    # Forests name the directory of their graph, so it is the same on every machine
    folder = Path(tempfile.gettempdir()) / "golden"
    folder.mkdir()
    os.chdir(folder)
    try:
        write_graphs()
        write_results()
        write_journal()
        shutil.rmtree(GOLDEN, ignore_errors=True)
        GOLDEN.mkdir(parents=True)
        for entry in ("towns", "shared", "checkpoint", "journal"):
            shutil.copytree(entry, GOLDEN / entry)
        for file in folder.glob("*.h5"):
            shutil.copyfile(file, GOLDEN / file.name)
        write_names()
        write_predictions()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:] == ["names"]:
        write_names()
    elif sys.argv[1:] == ["predictions"]:
        write_predictions()
    else:
        write_golden_files()
