"""Commands given a file that is missing, a directory, or one they may not read."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mndmst.__main__ import main

# Commands with a place for the file, which begins with the file's name
COMMANDS = [
    "solve {}",
    "solve g --config {}",
    "components {}",
    "update {} f.h5 changes.csv -o out.h5",
    "update g {} changes.csv -o out.h5",
    "update g f.h5 {}.csv -o out.h5",
    "cluster {} --count 2",
    "cluster f.h5 --count 2 --graph {} -o out.csv",
    "cluster f.h5 --count 2 --plot out.png --picture clusters --points {}.csv",
    "root {}",
    "hdbscan {}.npy",
    "hdbscan {}.parquet",
    "linkage {}.csv",
    "linkage {}.csv.gz --metric precomputed",
    "linkage {}.npz",
    "neighbours {}.txt out",
    "predict {} points.csv",
    "predict model.h5 {}.csv",
    "partition {}.csv out",
    "partition {}.mtx out",
    "partition {}.toml out",
    "partition {}.parquet out",
    "column {}.csv g out",
    "convert {}.csv out.json",
    "convert {}.h5 out.csv",
    "verify {} f.h5",
    "verify g {}",
    "verify {}.csv f.h5",
    "draw {} -o out.png",
    "draw f.h5 -o out.png --points {}.csv",
    "info {}",
    "plan {}",
    "report {}.json -o out.png",
    "report {}.h5 -o out.png",
    "client --token-file {} grpc+tcp://127.0.0.1:1 list",
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph, its forest, changes, points and a model."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "g.csv").write_text("source,target,weight\n0,1,5\n1,2,4\n2,0,3\n")
    (folder / "changes.csv").write_text("op,src,dst,weight\ninsert,1,2,2\n")
    (folder / "points.csv").write_text("1,2\n3,4\n5,6\n7,8\n1,3\n2,2\n")
    model = "--min-cluster-size 2 --prediction-data -o {0}/model.h5"
    for command in (
        "partition {0}/g.csv {0}/g",
        "solve {0}/g -o {0}/f.h5",
        "hdbscan {0}/points.csv " + model,
    ):
        assert main([*command.format(folder).split(), "-q"]) == 0
    return folder


@pytest.fixture
def refusal(
    sources: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> Callable[[str], str]:
    """Run a command that fails beside the sources, and return its one error line."""

    def run(command: str) -> str:
        monkeypatch.chdir(sources)
        capfd.readouterr()
        assert main(command.split()) == 1
        (line,) = (x for x in capfd.readouterr().err.splitlines() if "error" in x)
        assert "Traceback" not in line
        return line.removeprefix("mndmst: error: ")

    return run


def named(command: str, beginning: str) -> str:
    """Return the name of the file in a command."""
    return next(word for word in command.split() if "{}" in word).format(beginning)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_has_one_sentence(
    command: str, refusal: Callable[[str], str]
) -> None:
    name = named(command, "gone")
    said = refusal(command.format("gone"))
    assert said.startswith(f"{name}: no such file. Check the name")
    further = said.removeprefix(f"{name}: no such file. Check the name").rstrip()
    assert further == "." or further.startswith(", copy it there or ")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_is_not_a_file(
    command: str, sources: Path, refusal: Callable[[str], str]
) -> None:
    name = named(command, "folder")
    (sources / name).mkdir(exist_ok=True)
    said = refusal(command.format("folder"))
    kinds = "is a directory", "has no index.h5, so it is not a graph"
    assert said.startswith(tuple(f"{name}: {kind}" for kind in kinds))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_without_permission(
    command: str, sources: Path, refusal: Callable[[str], str]
) -> None:
    name = named(command, "secret")
    (sources / name).touch(mode=0)
    if os.access(sources / name, os.R_OK):
        pytest.skip("this user may read all files")
    said = refusal(command.format("secret"))
    assert said.startswith(f"{name}: cannot be read (Permission denied)")
