"""Commands and files that are there: one rule for every output of every command."""

import argparse
from collections.abc import Callable
from pathlib import Path

import graphs
import numpy as np
import pytest

from mndmst.__main__ import main
from mndmst.cli.main import parser

# Options and arguments that name output files, of any command.
NAMES_OF_OUTPUTS = {
    *("forest_changes", "tree_changes"),
    *("output", "outputs", "report", "plot", "save", "trace", "json"),
    *("address_file", "graph_out", "out"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, mndmst: Callable) -> Path:
    """A directory with a graph, its forest, a report and points."""
    folder = tmp_path_factory.mktemp("existing")
    graphs.write_graph(folder / "g", graphs.path(9))
    (folder / "f.csv").write_text("".join(f"{i},{i}\n" for i in range(9)))
    np.savetxt(folder / "p.csv", np.random.default_rng(1).random((40, 2)), "%.9f", ",")
    made = ("solve", folder / "g", "-o", folder / "f.h5", "-q")
    assert mndmst(*made, "--report", folder / "r.json").returncode == 0
    made = ("hdbscan", folder / "p.csv", "-o", folder / "model.h5", "-q")
    assert mndmst(*made, "--prediction-data").returncode == 0
    return folder


# A command, and its output as the last word; and whether the output proves what it is.
PROVED = [
    ("cluster {}/f.h5 --count 2 -q -o", "c.h5"),
    ("cluster {}/f.h5 --count 2 -q -o", "c"),
    ("hdbscan {}/p.csv -q -o", "h.h5"),
    ("hdbscan {}/p.csv -q --forest", "hf.h5"),
    ("linkage {}/p.csv -q -o", "l.h5"),
    ("predict {0}/model.h5 {0}/p.csv -q -o", "predicted.h5"),
    ("linkage {}/p.csv -q --forest", "lf.hdf5"),
    ("draw {0}/f.h5 --points {0}/f.csv -q -o", "d.geojson"),
    ("report {}/r.json --trace", "trace.json"),
]
UNPROVED = [
    ("cluster {}/f.h5 --count 2 -q -o", "c.csv"),
    ("hdbscan {}/p.csv -q -o", "h.csv"),
    ("hdbscan {}/p.csv -q --plot", "h.pdf"),
    ("hdbscan {}/p.csv -q --plot", "h.html"),
    ("draw {}/f.h5 -q -o", "d.png"),
    ("draw {}/f.h5 -q -o", "d.svg"),
    ("report {}/r.json -o", "page.html"),
    ("hdbscan rings --count 40 -q --save", "rings.npy"),
    ("linkage {}/p.csv -q -o", "l.csv"),
    ("root {}/f.h5 -q -o", "r.csv"),
    ("predict {0}/model.h5 {0}/p.csv -q -o", "predicted.csv"),
    ("convert {}/f.h5", "f.csv"),
    ("convert {}/f.h5", "f.gr"),
    ("convert {}/g", "g.txt"),
]


@pytest.mark.parametrize(
    ("command", "name", "proved"),
    [(*case, True) for case in PROVED] + [(*case, False) for case in UNPROVED],
)
def test_a_file_of_others_stays_and_an_earlier_result_is_replaced(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    command: str,
    name: str,
    proved: bool,
) -> None:
    if name.endswith((".png", ".svg", ".pdf", ".html")):
        pytest.importorskip("matplotlib")
    target = tmp_path / name
    words = [*command.format(folder).split(), str(target)]
    target.write_text("precious")
    assert main(words) == 1
    error = capsys.readouterr().err
    assert f"{target}: exists, and " in error and "--overwrite" in error
    assert error.count("\n") == 1
    assert target.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == [name]

    assert main([*words, "--overwrite"]) == 0
    first = target.read_bytes()
    assert first != b"precious"
    assert main(words) == (0 if proved else 1)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("hdbscan {}/missing.csv -o", "h.csv"),
        ("predict {0}/missing.h5 {0}/missing.csv -o", "predicted.csv"),
        ("cluster {}/missing.h5 --count 2 -o", "c.csv"),
        ("convert {}/missing.gr", "f.csv"),
        ("report {}/missing.json -o", "page.html"),
    ],
)
def test_outputs_are_refused_before_inputs_are_read(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    command: str,
    name: str,
) -> None:
    (tmp_path / name).write_text("precious")
    words = [*command.format(folder).split(), str(tmp_path / name)]
    assert main(words) == 1
    error = capsys.readouterr().err
    assert "--overwrite" in error and "missing" not in error


def test_one_file_of_others_and_none_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "lab.csv").write_text("precious")
    words = f"hdbscan {folder}/p.csv --forest {tmp_path}/f.h5 -o {tmp_path}/lab.csv"
    assert main(words.split()) == 1
    assert "lab.csv: exists" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["lab.csv"]


def test_a_graph_folder_and_its_points_are_replaced_on_request(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    words = f"neighbours blobs {tmp_path}/g --count 30 --k 3 -q --save {tmp_path}/b.npy"
    assert main(words.split()) == 0
    assert main(words.split()) == 1
    assert "b.npy: exists" in capsys.readouterr().err
    (tmp_path / "b.npy").unlink()
    assert main(words.split()) == 1
    assert f"{tmp_path}/g: is not empty" in capsys.readouterr().err
    assert main([*words.split(), "--overwrite"]) == 0


def commands_of(top: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Return all parsers that read the words of a command, those of actions too."""
    found = [top]
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found += commands_of(below)
    return found


def test_every_command_with_an_output_can_overwrite() -> None:
    for command in commands_of(parser()):
        names = {
            a.dest for a in command._actions if a.nargs != 0 or a.dest == "overwrite"
        }
        if names & NAMES_OF_OUTPUTS:
            assert "overwrite" in names, command.prog
