"""Commands on mutated result files: an answer, or one line and a non-zero status."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from processes import finish, python, start

from mndmst.__main__ import main
from mndmst.host.formatting import printable

PROGRAM = Path(__file__).with_name("zeroed_files_program.py")

VALUES = {
    "empty": np.array([], np.int64),
    "array": np.array([b"a" * 64, b"b" * 64]),
    "null": h5py.Empty("f8"),
    "half": 1.5,
    "nan": np.nan,
    "huge": np.int64(1 << 62),
    "negative": np.int64(-1),
    "structure": np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]),
    "bytes": b"\xff\xfe",
    "text": np.bytes_("other"),
    "terminal": np.bytes_(b"\x1b[2J\nmndmst: error: x \xe2\x80\xae"),
    "varying": "other",
}
COMMANDS: dict[str, list[str]] = {
    "verify": ["verify", "G", "f.h5"],
    "info": ["info", "f.h5"],
    "draw": ["draw", "f.h5", "-o", "out.geojson", "--points", "points.csv"],
    "convert": ["convert", "f.h5", "out.csv"],
    "convert --dendrogram": ["convert", "f.h5", "out.nwk", "--dendrogram"],
    "cluster": ["cluster", "f.h5", "--min-size", "2", "-o", "out.csv"],
    "update": ["update", "G", "f.h5", "changes.csv", "-o", "out.h5"],
}
EDGES = "source,target,weight\n0,1,5\n1,2,3\n2,3,4\n3,0,9\n4,5,1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a graph, its forest, and the other inputs of the commands."""
    monkeypatch.chdir(tmp_path)
    Path("g.csv").write_text(EDGES)
    Path("points.csv").write_text("lon,lat\n" + "1,2\n2,3\n4,5\n" * 2)
    Path("changes.csv").write_text("op,src,dst,weight\ninsert,0,5,1\n")
    assert main(["partition", "g.csv", "G", "-q"]) == 0
    assert main(["solve", "G", "-o", "f.h5", "-q"]) == 0
    return tmp_path


def outcome(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a command and return its status and text for standard error."""
    capsys.readouterr()
    status = main(words)
    printed = capsys.readouterr()
    for text in printed:  # a file moves no cursor
        assert text == printable(text)
    assert "bug in mndmst" not in printed.err
    assert "Traceback" not in printed.err
    refuted = "VERDICT refuted" in printed.out
    errors = [e for e in printed.err.splitlines() if e.startswith("mndmst: error: ")]
    assert bool(status) == (len(errors) == 1 or refuted)
    return status, printed.err


@pytest.mark.parametrize("command", COMMANDS)
def test_mutated_attributes_of_a_forest(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Path("f.h5").read_bytes()
    with h5py.File("f.h5") as file:
        names = list(file.attrs)
    outcome(COMMANDS[command], capsys)
    for name in names:
        for value in VALUES.values():
            Path("f.h5").write_bytes(whole)
            with h5py.File("f.h5", "r+") as file:
                del file.attrs[name]
                file.attrs[name] = value
            outcome([*COMMANDS[command], *overwrite(command)], capsys)


def overwrite(command: str) -> list[str]:
    return [] if command in ("verify", "info") else ["--overwrite"]


MUTATIONS: dict[str, Callable[[np.ndarray], Any]] = {
    "empty": lambda column: column[:0],
    "shorter": lambda column: column[:-1],
    "longer": lambda column: np.append(column, column[-1]),
    "square": lambda column: np.stack([column, column], 1),
    "halves": lambda column: column + 0.5,
    "nan": lambda column: np.full(len(column), np.nan),
    "negative": lambda column: -1 - column,
    "largest": lambda column: np.full_like(column, np.iinfo(column.dtype).max),
    "equal": lambda column: np.zeros_like(column),
    "reversed": lambda column: column[::-1].copy(),
    "text": lambda column: np.full(len(column), b"text"),
    "one number": lambda column: np.float64(1),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_mutated_datasets_of_a_forest(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Path("f.h5").read_bytes()
    for name in ("forest/src", "forest/dst", "forest/weight"):
        for mutate in MUTATIONS.values():
            Path("f.h5").write_bytes(whole)
            with h5py.File("f.h5", "r+") as file:
                column = mutate(file[name][:])
                del file[name]
                stored = {"chunks": column.shape, "fletcher32": True}
                kept = stored if column.ndim and len(column) else {}
                file.create_dataset(name, data=column, **kept)
            outcome([*COMMANDS[command], *overwrite(command)], capsys)


def test_info_names_the_damage_on_standard_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with h5py.File("f.h5", "r+") as file:
        file["forest/weight"][0] += 1
    status, said = outcome(["info", "f.h5"], capsys)
    assert status == 1
    assert "f.h5: damaged (the total weight of the edges is 14, " in said


@pytest.mark.parametrize("command", ["convert --dendrogram", "cluster", "draw"])
@pytest.mark.parametrize("trees", [2, (1 << 40) - 4])
def test_no_memory_is_taken_for_vertices_that_a_header_invents(
    command: str, trees: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with h5py.File("f.h5", "r+") as file:
        file.attrs["num_vertices"] = np.int64(1 << 40)
        file.attrs["num_trees"] = np.int64(trees)
    status, said = outcome(COMMANDS[command], capsys)
    assert status == 1
    fault = "f.h5: damaged (" if trees == 2 else "f.h5: the forest takes "
    assert fault in said


@pytest.mark.parametrize("name", ["num_vertices", "num_clusters"])
@pytest.mark.parametrize("value", [1.5, 2.0, np.nan, -1])
def test_counts_of_cluster_files_are_integers(
    name: str, value: float, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", "f.h5", "--count", "2", "-o", "c.h5", "-q"]) == 0
    with h5py.File("c.h5", "r+") as file:
        file.attrs[name] = value
    for words in (["info", "c.h5"], ["convert", "c.h5", "c.nwk"]):
        status, said = outcome(words, capsys)
        assert status == 1
        assert f"c.h5: damaged or cut short (attribute {name} is not a count)" in said


@pytest.mark.parametrize("name", ["num_vertices", "num_edges", "num_trees"])
@pytest.mark.parametrize("value", [1.5, 6.0, "6"])
def test_counts_of_forests_are_integers(
    name: str, value: float | str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with h5py.File("f.h5", "r+") as file:
        file.attrs[name] = value
    for words in COMMANDS.values():
        status, said = outcome(words, capsys)
        assert status == 1
        assert f"f.h5: damaged or cut short (attribute {name} is not a count)" in said


@pytest.mark.parametrize("place", ["G/index.h5", "G/part-00000.h5"])
@pytest.mark.parametrize("command", ["verify", "update", "info"])
def test_mutated_attributes_of_a_graph(
    command: str, place: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Path(place).read_bytes()
    words = ["info", "G"] if command == "info" else COMMANDS[command]
    with h5py.File(place) as file:
        names = list(file.attrs)
    for name in names:
        for value in VALUES.values():
            Path(place).write_bytes(whole)
            with h5py.File(place, "r+") as file:
                del file.attrs[name]
                file.attrs[name] = value
            outcome([*words, *overwrite(command)], capsys)


def test_mutated_attributes_of_labels(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["components", "G", "-o", "labels.h5", "-q"]) == 0
    whole = Path("labels.h5").read_bytes()
    with h5py.File("labels.h5") as file:
        names = list(file.attrs)
    for name in names:
        for value in VALUES.values():
            Path("labels.h5").write_bytes(whole)
            with h5py.File("labels.h5", "r+") as file:
                file.attrs[name] = value
            outcome(["info", "labels.h5"], capsys)


@pytest.fixture
def files(folder: Path) -> list[Path]:
    """A file of every kind that the commands write."""
    np.save("points.npy", np.random.default_rng(1).random((40, 2)))
    for words in (
        "solve G -o forest.h5 --labels -q",
        "components G -o labels.h5 -q",
        "cluster f.h5 --count 2 -o clusters.h5 -q",
        "hdbscan points.npy --min-cluster-size 5 -o model.h5 --prediction-data -q",
        "linkage points.npy -o tree.h5 -q",
        "predict model.h5 points.npy -o predicted.h5 -q",
    ):
        assert main(words.split()) == 0, words
    return sorted(folder.rglob("*.h5"))


def test_no_file_has_texts_of_variable_length(files: list[Path]) -> None:
    """HDF5 keeps those in a heap ("GCOL") that has no checksum."""
    assert len(files) == 9
    for path in files:
        assert b"GCOL" not in path.read_bytes(), path
        with h5py.File(path) as file:
            assert file.attrs["creator"].startswith(b"mndmst "), path


@pytest.mark.slow
def test_damaged_files_of_every_kind_are_described_or_refused(
    files: list[Path],
) -> None:
    run = finish(start(python(PROGRAM, *files)), 300)
    assert run.returncode == 0, run.stderr
