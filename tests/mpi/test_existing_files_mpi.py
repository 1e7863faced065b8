"""Files that are there, and commands of several ranks: refused before any work."""

from collections.abc import Callable
from pathlib import Path

import graphs
import h5py
import numpy as np
import pytest
from services import served

from mndmst.io.output_kinds import ADDRESS, is_earlier_result

pytestmark = [pytest.mark.mpi, pytest.mark.slow]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, mpirun: Callable) -> Path:
    folder = tmp_path_factory.mktemp("existing")
    graphs.write_graph(folder / "g", graphs.random(60, 200, seed=1), parts=2)
    (folder / "changes.csv").write_text("op,src,dst,weight\n")
    np.save(folder / "p.npy", np.random.default_rng(1).random((60, 2)))
    made = ("solve", folder / "g", "-o", folder / "f.h5", "-q")
    assert mpirun(2, "-m", "mndmst", *made).returncode == 0
    return folder


CASES = [
    ("solve {}/g -q -o", "f.h5", "forest"),
    ("solve {}/g -q --report", "r.json", "report"),
    ("components {}/g -q -o", "l.h5", "file of labels"),
    ("components {}/g -q --report", "r.json", "report"),
    ("update {}/g {}/f.h5 {}/changes.csv -q -o", "u.h5", "forest"),
    ("hdbscan {}/p.npy -q -o", "c.h5", "cluster file"),
]


@pytest.mark.parametrize(("command", "name", "kind"), CASES)
def test_one_rule_on_all_ranks(
    mpirun: Callable, folder: Path, tmp_path: Path, command: str, name: str, kind: str
) -> None:
    target = tmp_path / name
    target.write_text("precious")
    words = ("-m", "mndmst", *command.replace("{}", str(folder)).split(), target)
    run = mpirun(2, *words)
    assert run.returncode == 1
    (line,) = run.stderr.splitlines()
    assert line.startswith(
        f"mndmst: error: {target}: exists, and is not a {kind} that "
    )
    assert "--overwrite" in line
    assert target.read_text() == "precious" and run.stdout == ""

    for more in (["--overwrite"], []):  # then it is an earlier result
        run = mpirun(2, *words, *more)
        assert run.returncode == 0, run.stderr
        assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_result_of_another_kind_stays(
    mpirun: Callable, folder: Path, tmp_path: Path
) -> None:
    forest = tmp_path / "f.h5"
    forest.write_bytes((folder / "f.h5").read_bytes())
    run = mpirun(2, "-m", "mndmst", "components", folder / "g", "-q", "-o", forest)
    assert run.returncode == 1
    assert "is not a file of labels that" in run.stderr
    assert h5py.File(forest).attrs["format"] == b"mndmst-forest"


def test_outputs_are_refused_before_the_graph_is_read(
    mpirun: Callable, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.h5").write_text("precious")
    for command in ("solve", "components", "serve"):
        option = "--address-file" if command == "serve" else "-o"
        words = (command, tmp_path / "missing", option, tmp_path / "notes.h5")
        run = mpirun(2, "-m", "mndmst", *words)
        assert run.returncode == 1
        assert "--overwrite" in run.stderr and "missing" not in run.stderr


def test_an_update_replaces_a_graph_on_request_and_never_its_own(
    mpirun: Callable, folder: Path, tmp_path: Path
) -> None:
    files = (folder / "g", folder / "f.h5", folder / "changes.csv")
    words = ("-m", "mndmst", "update", *files, "-q", "-o", tmp_path / "u.h5")
    words = (*words, "--graph-out")
    assert mpirun(2, *words, tmp_path / "new").returncode == 0
    run = mpirun(2, *words, tmp_path / "new")
    assert run.returncode == 1 and "new: is not empty" in run.stderr
    assert mpirun(2, *words, tmp_path / "new", "--overwrite").returncode == 0
    run = mpirun(2, *words, folder / "g", "--overwrite")
    assert run.returncode == 1 and "g: is read by this command" in run.stderr
    assert (folder / "g" / "index.h5").exists()


def test_a_service_and_its_client_follow_the_rule(
    mndmst: Callable, folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow.flight")
    table = tmp_path / "edges.csv"
    table.write_text("precious")
    with served(tmp_path, 1, folder / "g") as service:
        assert is_earlier_result(service.address, ADDRESS)
        words = ("client", service.address, "edges", "g", "-o", table)
        run = mndmst(*words)
        assert run.returncode == 1 and "--overwrite" in run.stderr
        assert table.read_text() == "precious"
        run = mndmst(*words, "--overwrite")
        assert run.returncode == 0, run.stderr
    assert table.read_text() != "precious"
