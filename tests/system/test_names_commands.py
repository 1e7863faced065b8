"""Names of vertices through all commands, alone and on several ranks."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from processes import Run

from mndmst.io.results.forest_file import read_forest
from mndmst.io.shards.sharded_graph import open_graph

pytestmark = pytest.mark.mpi

ROADS = (
    ("Köln", "Bonn", 3),
    ("Bonn", "Aachen, Aix", 7),
    ('"Aix"', "Köln", 5),
    ("Aachen, Aix", "Köln", 6),
    ("01", "1", 2),
    ("1", "zwei Worte", 4),
)
FOREST = {
    ("Bonn", "Köln"): "3", ('"Aix"', "Köln"): "5", ("Aachen, Aix", "Köln"): "6",
    ("01", "1"): "2", ("1", "zwei Worte"): "4",
}  # fmt: skip


def written(path: Path, rows: tuple = ROADS) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        table.writerows([("source", "target", "cost"), *rows])
    return path


def rows_in(path: Path, separator: str = ",") -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=separator))


def edges_in(path: Path, separator: str = ",") -> dict[tuple[str, str], str]:
    header, *rows = rows_in(path, separator)
    assert header == ["source", "target", "weight"]
    return {(min(u, v), max(u, v)): weight for u, v, weight in rows}


def good(run: Run) -> Run:
    assert run.returncode == 0, run
    return run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, mndmst: Callable[..., Run]) -> Path:
    """A graph of named vertices and its forest."""
    place = tmp_path_factory.mktemp("names")
    file = written(place / "roads.csv")
    run = good(mndmst("partition", file, place / "roads", "--parts", 3))
    assert 'names (text, from \\"Aix\\" to zwei Worte)' in run.stderr
    good(mndmst("solve", place / "roads", "-o", place / "forest.h5"))
    return place


def test_a_forest_has_the_names_of_its_graph(
    place: Path, tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    good(mndmst("convert", place / "forest.h5", tmp_path / "forest.csv"))
    assert edges_in(tmp_path / "forest.csv") == FOREST
    good(mndmst("convert", place / "forest.h5", tmp_path / "f.json"))
    nodes = json.loads((tmp_path / "f.json").read_text())["nodes"]
    assert {node["id"] for node in nodes} == {v for road in ROADS for v in road[:2]}
    given = ("convert", place / "forest.h5", tmp_path / "numbers.csv", "--numbers")
    good(mndmst(*given))
    assert all(u.isdigit() for u, *_ in rows_in(tmp_path / "numbers.csv")[1:])


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_write_one_table_under_names(
    place: Path, tmp_path: Path, mpirun: Callable[..., Run], ranks: int
) -> None:
    solve = ("-m", "mndmst", "solve", place / "roads", "-q", "-o")
    good(mpirun(ranks, *solve, tmp_path / "f.csv"))
    assert edges_in(tmp_path / "f.csv") == FOREST
    good(mpirun(ranks, *solve, tmp_path / "n.tsv", "--numbers"))
    assert all(u.isdigit() for u, *_ in rows_in(tmp_path / "n.tsv", "\t")[1:])
    run = mpirun(ranks, *solve, tmp_path / "l.csv", "--labels")
    assert run.returncode == 1 and "has no place for --labels" in run.stderr
    components = ("-m", "mndmst", "components", place / "roads", "-q", "-o")
    good(mpirun(ranks, *components, tmp_path / "c.csv"))
    header, *rows = rows_in(tmp_path / "c.csv")
    assert header == ["vertex", "component"]
    groups: dict[str, set[str]] = {}
    for vertex, component in rows:
        groups.setdefault(component, set()).add(vertex)
    assert groups == {
        '"Aix"': {'"Aix"', "Aachen, Aix", "Bonn", "Köln"},
        "01": {"01", "1", "zwei Worte"},
    }


def test_ranks_partition_names_alike(
    place: Path, tmp_path: Path, mpirun: Callable[..., Run]
) -> None:
    given = ("-m", "mndmst", "partition", place / "roads.csv", "--parts", 3)
    for ranks in (2, 3):
        good(mpirun(ranks, *given[:3], given[3], tmp_path / f"{ranks}", *given[4:]))
        assert (
            open_graph(tmp_path / f"{ranks}").uuid == open_graph(place / "roads").uuid
        )


def test_clusters_are_written_under_names(
    place: Path, tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    given = ("cluster", place / "forest.h5", "--threshold", 4, "-o")
    good(mndmst(*given, tmp_path / "k.csv"))
    label = dict(rows_in(tmp_path / "k.csv")[1:])
    assert label["01"] == label["zwei Worte"] != label["Bonn"] == label["Köln"]
    good(mndmst(*given, tmp_path / "n.csv", "--numbers"))
    assert dict(rows_in(tmp_path / "n.csv")[1:]).keys() == set("0123456")


def test_info_shows_names(place: Path, mndmst: Callable[..., Run]) -> None:
    said = good(mndmst("info", place / "roads")).stdout
    assert 'text: \\"Aix\\", 01, 1, ...' in said
    assert f"in {place / 'roads'}" in good(mndmst("info", place / "forest.h5")).stdout


def test_verify_speaks_of_names(
    place: Path, tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    good(mndmst("verify", place / "roads", place / "forest.h5"))
    shutil.copy(place / "forest.h5", tmp_path / "wrong.h5")
    with h5py.File(tmp_path / "wrong.h5", "r+") as file:
        weight = file["forest/weight"]
        weight[...] = np.where(weight[:] == 3, 7, weight[:])
    run = mndmst("verify", place / "roads", tmp_path / "wrong.h5")
    assert run.returncode == 1
    assert 'edge ("Bonn", "Köln") weight 7 has weight 3 in the graph' in run.stdout


def test_changes_are_made_under_names(
    place: Path,
    tmp_path: Path,
    mndmst: Callable[..., Run],
    mpirun: Callable[..., Run],
) -> None:
    table = tmp_path / "changes.csv"
    table.write_text(
        'op,src,dst,weight\ninsert,"Aachen, Aix",01,1\nset,Köln,Bonn,9\n'
        'delete,"zwei Worte",1,\n',
        encoding="utf-8",
    )
    given = ("update", place / "roads", place / "forest.h5", table, "-o")
    good(mndmst(*given, tmp_path / "new.h5", "--graph-out", tmp_path / "new"))
    good(mndmst("verify", tmp_path / "new", tmp_path / "new.h5"))
    good(mndmst("convert", tmp_path / "new.h5", tmp_path / "new.csv"))
    expected = FOREST | {("01", "Aachen, Aix"): "1", ("Aachen, Aix", "Bonn"): "7"}
    del expected["Bonn", "Köln"], expected["1", "zwei Worte"]
    assert edges_in(tmp_path / "new.csv") == expected
    # Without a graph the forest refers to the names of the graph before
    good(mndmst(*given, tmp_path / "alone.h5"))
    good(mndmst("convert", tmp_path / "alone.h5", tmp_path / "alone.csv"))
    assert edges_in(tmp_path / "alone.csv") == expected
    good(mndmst(*given, tmp_path / "table.csv"))
    assert edges_in(tmp_path / "table.csv") == expected
    good(mpirun(2, "-m", "mndmst", *given, tmp_path / "numbers.tsv", "--numbers"))
    assert all(u.isdigit() for u, *_ in rows_in(tmp_path / "numbers.tsv", "\t")[1:])
    run = mndmst(*given, tmp_path / "table.parquet")
    assert run.returncode == 1 and ".csv" in run.stderr
    table.write_text("op,src,dst,weight\ninsert,Koln,01,1\n")
    run = mndmst(*given, tmp_path / "none.h5")
    assert run.returncode == 1
    assert 'changes.csv: line 2: no vertex of the graph is named "Koln"' in run.stderr


def test_a_forest_finds_its_graph_where_both_have_moved(
    place: Path, tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    shutil.copytree(place / "roads", tmp_path / "a/roads")
    good(mndmst("solve", tmp_path / "a/roads", "-o", tmp_path / "a/forest.h5"))
    (tmp_path / "a").rename(tmp_path / "b")
    good(mndmst("convert", tmp_path / "b/forest.h5", tmp_path / "f.csv"))
    assert edges_in(tmp_path / "f.csv") == FOREST
    (tmp_path / "b/roads").rename(tmp_path / "away")
    given = ("convert", tmp_path / "b/forest.h5", tmp_path / "g.csv")
    run = mndmst(*given)
    assert run.returncode == 1
    assert "its vertices have names" in run.stderr and "--numbers" in run.stderr
    assert not (tmp_path / "g.csv").exists()
    good(mndmst(*given, "--graph", tmp_path / "away"))
    assert edges_in(tmp_path / "g.csv") == FOREST
    good(mndmst(*given, "--numbers", "--overwrite"))


def test_far_ids_come_back_without_being_asked_for(
    tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    ids = (12_000_000_007, 311, 99_000_000_000)
    rows = ((ids[0], ids[1], 5), (ids[1], ids[2], 2), (ids[2], ids[0], 9))
    file = written(tmp_path / "osm.csv", rows)
    run = good(mndmst("partition", file, tmp_path / "osm"))
    assert "its ids are far apart, so they are names" in run.stderr
    good(mndmst("solve", tmp_path / "osm", "-o", tmp_path / "f.h5"))
    good(mndmst("convert", tmp_path / "f.h5", tmp_path / "f.csv"))
    expected = {(str(ids[0]), "311"): "5", ("311", str(ids[2])): "2"}
    assert edges_in(tmp_path / "f.csv") == expected
    good(mndmst("solve", tmp_path / "osm", "-q", "-o", tmp_path / "g.csv"))
    assert edges_in(tmp_path / "g.csv") == expected


def test_a_forest_of_numbers_says_nothing_of_names(
    tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    file = written(tmp_path / "n.csv", ((0, 1, 5), (1, 2, 3)))
    run = good(mndmst("partition", file, tmp_path / "n"))
    assert "names" not in run.stderr + run.stdout
    good(mndmst("solve", tmp_path / "n", "-o", tmp_path / "f.h5"))
    assert read_forest(tmp_path / "f.h5").header.names is None
    with h5py.File(tmp_path / "f.h5") as forest:
        assert not [name for name in forest.attrs if name.startswith("names")]
