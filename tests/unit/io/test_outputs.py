"""Results do not replace what they are made of."""

from collections.abc import Callable, Iterator
from pathlib import Path

import graphs
import numpy as np
import pytest

from mndmst.__main__ import main
from mndmst.host.errors import OutputError
from mndmst.io.atomic_output import check_outputs
from mndmst.io.output_kinds import EDGES, FOREST


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, mndmst: Callable) -> Path:
    """A directory with a graph, its forest, a record, edges and points."""
    folder = tmp_path_factory.mktemp("outputs")
    graphs.write_graph(folder / "roads", graphs.path(9))
    (folder / "link").symlink_to("roads")
    (folder / "edges.txt").write_text("0 1 5\n")
    (folder / "o.toml").write_text("threads = 1\n")
    np.savetxt(folder / "points.csv", np.ones((9, 2)), delimiter=",")
    made = ("solve", folder / "roads", "-o", folder / "rf.h5")
    assert mndmst(*made, "--report", folder / "run.json").returncode == 0
    return folder


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("solve {}/roads -o {}/roads/part-00000.h5", "directory of a graph"),
        ("solve {}/roads/index.h5 -o {}/link/index.h5", "is read by"),
        ("solve {}/roads -o {}/f.h5 --report {}/roads/../f.h5", "two outputs"),
        ("solve {}/roads --checkpoint {}/link", "directory of a graph"),
        ("solve {}/roads -o ./-", "standard output is none of them"),
        ("components {}/roads -o {}/roads/index.h5", "directory of a graph"),
        ("components {}/roads -o {}/l.h5 --report {}/l.h5", "two outputs"),
        ("solve {}/roads --config {}/o.toml -o {}/o.toml", "is read by"),
        ("components {}/roads --config {}/o.toml --report {}/o.toml", "is read by"),
        ("cluster {}/rf.h5 -o {}/rf.h5 --count 3", "is read by"),
        ("cluster {}/rf.h5 --count 3 --points {}/p.csv --plot {}/p.csv", "is read by"),
        ("convert {}/edges.txt {}/roads/../edges.txt", "is read by"),
        ("report {}/run.json -o {}/run.json", "is read by"),
        ("report {}/run.json -o {}/a.html --trace {}/a.html", "two outputs"),
        ("neighbours {}/points.csv {}/new --save {}/points.csv", "is read by"),
    ],
)
def test_no_command_replaces_its_input(folder, capfd, command, why):
    before = list(contents(folder))
    assert main(command.format(*[folder] * 3).split()) == 1
    told = capfd.readouterr().err
    assert why in told and told.count("error") == 1
    assert list(contents(folder)) == before


def test_names_are_compared_without_links(tmp_path, monkeypatch):
    (tmp_path / "real").touch()
    (tmp_path / "other").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="other: is read by"):
        check_outputs(["real"], [(Path("other"), EDGES)])
    named = [(Path("new"), EDGES), (None, FOREST), (Path("newer"), EDGES)]
    check_outputs(["real", None], named)
