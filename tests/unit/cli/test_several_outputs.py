"""A command writes its result to several files: all of them appear, or none."""

from pathlib import Path

import numpy as np
import pytest

import mndmst
from mndmst.__main__ import main

# Commands without their outputs, and the endings of these
COMMANDS = [
    ("solve {0}/g", (".h5", ".csv", ".tsv")),
    ("components {0}/g", (".csv", ".h5")),
    ("update {0}/g {0}/f.h5 {0}/changes.csv", (".csv", ".h5")),
    ("cluster {0}/f.h5 --count 2", (".h5", ".csv", ".nwk")),
    ("root {0}/f.h5 --by centre", (".tsv", ".csv", ".nwk")),
    ("hdbscan {0}/p.csv", (".h5", ".csv", ".nwk")),
    ("hdbscan {0}/p.csv --prediction-data", (".csv", ".h5")),
    ("linkage {0}/p.csv", (".nwk", ".h5", ".csv")),
    ("predict {0}/model.h5 {0}/p.csv", (".csv", ".h5")),
    ("convert {0}/f.h5", (".csv", ".nwk", ".json", ".txt")),
    ("convert {0}/model.h5", (".nwk", ".csv")),
    ("convert {0}/g", (".mtx", ".gr")),
    ("convert {0}/far.csv", (".json", ".csv")),
    ("convert {0}/far", (".tsv", ".json", ".graphml")),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph, its forest, changes, points and a model."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "g.csv").write_text("source,target,weight\n0,1,5\n1,2,4\n2,0,3\n3,4,1\n")
    mndmst.partition(folder / "g.csv", folder / "g")
    (folder / "far.csv").write_text("source,target,weight\n7,90000000000,5\n8,7,4\n")
    mndmst.partition(folder / "far.csv", folder / "far")
    mndmst.solve(folder / "g", output=folder / "f.h5")
    (folder / "changes.csv").write_text("op,src,dst,weight\ninsert,1,4,2\n")
    np.savetxt(folder / "p.csv", np.random.default_rng(1).random((40, 2)), "%.9f", ",")
    model = f"hdbscan {folder}/p.csv --prediction-data -q -o {folder}/model.h5"
    assert main(model.split()) == 0
    return folder


def words(command: str, sources: Path, outputs: list[Path]) -> list[str]:
    """Return the words of a command that writes some files."""
    given = [*command.format(sources).split(), "-q"]
    if command.startswith("convert"):
        return [*given, *map(str, outputs)]
    return given + [word for path in outputs for word in ("-o", str(path))]


def content(path: Path) -> object:
    """Return a file as one compares it; HDF5 files also have times of the run."""
    return path.read_bytes() if path.suffix != ".h5" else path.read_bytes()[:8]


@pytest.mark.parametrize(("command", "endings"), COMMANDS)
def test_each_file_is_as_if_it_were_the_only_one(
    sources: Path, tmp_path: Path, command: str, endings: tuple[str, ...]
) -> None:
    together = [tmp_path / f"together{ending}" for ending in endings]
    assert main(words(command, sources, together)) == 0
    assert sorted(tmp_path.iterdir()) == sorted(together)
    for path in together:
        if path.suffix in (".csv", ".nwk") and "--prediction-data" in command:
            continue  # alone it would have no place for these
        alone = path.with_stem("alone")
        assert main(words(command, sources, [alone])) == 0
        assert content(alone) == content(path)


@pytest.mark.parametrize(("command", "endings"), COMMANDS)
def test_one_file_that_cannot_be_named_and_none_appears(
    sources: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    command: str,
    endings: tuple[str, ...],
) -> None:
    outputs = [tmp_path / f"f{ending}" for ending in endings]
    taken = outputs[-1]
    taken.write_text("precious")
    assert main(words(command, sources, outputs)) == 1
    assert f"{taken}: exists" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [taken]


def test_a_format_without_names_and_none_appears(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "named.csv").write_text("source,target,weight\na,b,1\n")
    before = set(tmp_path.iterdir())
    out = [str(tmp_path / f"out{ending}") for ending in (".json", ".csv", ".gr")]
    assert main(["convert", str(tmp_path / "named.csv"), *out]) == 1
    assert "out.gr: the vertices have names" in capsys.readouterr().err
    assert set(tmp_path.iterdir()) == before


def test_formats_with_and_without_a_list_of_vertices_are_noted_once(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    outputs = [str(tmp_path / f"f{ending}") for ending in (".csv", ".json", ".txt")]
    assert main(["convert", f"{sources}/g.csv", *outputs]) == 0
    assert capsys.readouterr().err.count("source: source") == 1


def test_one_file_given_twice(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    target = tmp_path / "f.csv"
    assert main(words("solve {0}/g", sources, [target, target])) == 1
    assert "two outputs would be written there" in capsys.readouterr().err


def test_labels_go_into_the_file_that_has_a_place_for_them(
    sources: Path, tmp_path: Path
) -> None:
    both = [tmp_path / "f.csv", tmp_path / "f.h5"]
    assert main([*words("solve {0}/g", sources, both), "--labels"]) == 0
    assert mndmst.Forest.read(both[1]).labels.tolist() == [0, 0, 0, 3, 3]


def test_python_takes_a_list_of_files(sources: Path, tmp_path: Path) -> None:
    both = [tmp_path / "f.csv", str(tmp_path / "f.h5")]
    mndmst.solve(sources / "g", output=both)
    assert (tmp_path / "f.csv").read_text().count("\n") == 4
    assert len(mndmst.Forest.read(both[1])) == 3
