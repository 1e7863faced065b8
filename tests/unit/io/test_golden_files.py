"""Files of version 1.0 are read by every version 1, and by h5py as the docs show.

`python tests/golden_files.py` writes them.
"""

import json
import re
import shutil
from collections import Counter
from contextlib import chdir, closing
from pathlib import Path

import h5py
import numpy as np
import pytest
from golden_files import (
    FIRST,
    GOLDEN,
    GONE,
    KILOMETRES,
    LATER,
    LEAST,
    MIDDLE,
    POINTS,
    SHARED,
    TOWNS,
    change_model,
    predictions,
    write_points,
)
from oracle import kruskal, maximum_kruskal, smallest_of_trees
from processes import ROOT

import mndmst
from mndmst.__main__ import main
from mndmst.changes.batch import OPERATIONS
from mndmst.host.errors import InputError
from mndmst.io.file_info import check_graph, describe
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.io.shards.weight_columns import find_columns
from mndmst.points.clusters.prediction_file import StoredModel

NAMES = sorted({name for source, target, _ in TOWNS for name in (source, target)})
SRC, DST = (np.array([NAMES.index(edge[k]) for edge in TOWNS]) for k in (0, 1))
WEIGHT = np.array([weight for *_, weight in TOWNS])


@pytest.fixture(params=["as written", "with additions"])
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of the files, also with what a later version may add to them."""
    folder = tmp_path / "golden"
    shutil.copytree(GOLDEN, folder)
    if request.param == "with additions":
        for path in folder.rglob("*.h5"):
            if path.parent.name != "checkpoint":  # the manifest has their digests
                with h5py.File(path, "r+") as file:
                    file.attrs["of-a-later-version"] = 1
                    file["of-a-later-version"] = [1, 2, 3]
    return folder


def run(*words: object) -> None:
    assert main([*map(str, words), "-q"]) == 0


def table(path: Path) -> list[tuple[str, str, float]]:
    """Return the rows of a table of edges, ends in order."""
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines]
    return sorted((*sorted((u, v)), float(weight)) for u, v, weight in rows)


WORDS = ["n", "m", "edges", "trees", "weight", "digest", "seconds"]


def in_order(edges: tuple[tuple[str, str, float], ...]) -> list:
    return sorted((*sorted((u, v)), weight) for u, v, weight in edges)


def test_a_graph_with_names(golden: Path) -> None:
    graph = open_graph(golden / "towns")
    assert check_graph(graph)["edges"] == len(TOWNS)
    run("convert", golden / "towns", golden / "towns.csv")
    assert table(golden / "towns.csv") == in_order(TOWNS)


def test_a_renumbered_graph_for_maximum_forests(golden: Path) -> None:
    run("convert", golden / "shared", golden / "shared.csv")
    found = [(int(u), int(v), w) for u, v, w in table(golden / "shared.csv")]
    assert sorted(found) == sorted((*sorted((u, v)), float(w)) for u, v, w in SHARED)
    run("convert", golden / "shared.forest.h5", golden / "forest.csv")
    src, dst, weight = np.array(SHARED).T
    answer = maximum_kruskal(7, src, dst, weight)
    forest = [(int(u), int(v), w) for u, v, w in table(golden / "forest.csv")]
    pairs = zip(answer.src, answer.dst, answer.weight, strict=True)
    assert sorted(forest) == sorted((u, v, w) for u, v, w in pairs)


def test_a_graph_made_again_has_its_uuid(golden: Path) -> None:
    lines = [f"{u},{v},{weight}\n" for u, v, weight in TOWNS]
    (golden / "again.csv").write_text("source,target,weight\n" + "".join(lines))
    run("partition", golden / "again.csv", golden / "again", "--parts", 1)
    assert open_graph(golden / "again").uuid == open_graph(golden / "towns").uuid


def test_a_renumbered_graph_made_again_has_its_uuid(golden: Path) -> None:
    edges = "".join(f"a {v} {u} {w}\n" for u, v, w in SHARED)
    (golden / "again.gr").write_text(f"p sp 6 {len(SHARED)}\n{edges}")
    options = ("--parts", 1, "--maximum", "--reorder", "degree")
    run("partition", golden / "again.gr", golden / "again", *options, "--symmetrize")
    assert open_graph(golden / "again").uuid == open_graph(golden / "shared").uuid


def test_a_column_of_weights(golden: Path) -> None:
    order = np.lexsort((np.maximum(SRC, DST), np.minimum(SRC, DST)))
    (column,) = find_columns(open_graph(golden / "towns")).values()
    stored = column.read(0, column.num_edges)
    assert stored.tolist() == np.array(KILOMETRES)[order].tolist()


def test_a_forest_with_labels(golden: Path) -> None:
    answer = kruskal(len(NAMES), SRC, DST, WEIGHT)
    found = mndmst.verify(golden / "towns", golden / "towns.forest.h5")
    assert found.ok and found.digest == answer.digest and found.weight == answer.total
    run("convert", golden / "towns.forest.h5", golden / "forest.csv")
    expected = zip(answer.src, answer.dst, answer.weight.tolist(), strict=True)
    named = [(NAMES[u], NAMES[v], w) for u, v, w in expected]
    assert table(golden / "forest.csv") == in_order(tuple(named))
    facts = describe(golden / "towns.forest.h5")
    assert facts["labels"] and facts["digest"] == answer.digest


def test_a_forest_is_updated(golden: Path) -> None:
    changes = golden / "changes.csv"
    changes.write_text("op,src,dst,weight\ninsert,Lübeck,Köln,500\n", "utf-8")
    given = golden / "towns", golden / "towns.forest.h5", changes
    run("update", *given, "-o", golden / "forest.csv")
    answer = kruskal(len(NAMES), SRC, DST, WEIGHT)
    before = zip(answer.src, answer.dst, answer.weight.tolist(), strict=True)
    named = [(NAMES[u], NAMES[v], w) for u, v, w in before]
    inserted = ("Lübeck", "Köln", 500.0)
    assert table(golden / "forest.csv") == in_order((*named, inserted))


def test_labels_of_components(golden: Path) -> None:
    facts = describe(golden / "towns.labels.h5")
    assert facts["damage"] == [] and facts["num_components"] == 2
    with h5py.File(golden / "towns.labels.h5") as file:
        expected = smallest_of_trees(len(NAMES), SRC, DST)
        assert file["labels"][:].tolist() == expected.tolist()


def test_clusters_of_a_graph(golden: Path) -> None:
    run("convert", golden / "towns.clusters.h5", golden / "clusters.csv")
    _, *lines = (golden / "clusters.csv").read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    assert [cell[0] for cell in cells] == NAMES
    assert len(Counter(cell[1] for cell in cells)) == 3


def test_a_cluster_model_predicts(golden: Path) -> None:
    fitted = mndmst.HDBSCAN(LEAST).fit(POINTS)
    model = StoredModel.read(golden / "model.h5")
    assert model.labels.tolist() == fitted.labels_.tolist()
    labels, probabilities = fitted.approximate_predict(POINTS + 0.01)
    found = model.predict(POINTS + 0.01, Path("new points"))
    assert found.labels.tolist() == labels.tolist()
    assert found.probabilities.tolist() == probabilities.tolist()
    before = json.loads((golden / "predictions.json").read_text())
    assert predictions(golden / "model.h5") == before


def test_a_cluster_model_goes_on(golden: Path) -> None:
    change_model(golden / "before.h5")
    with h5py.File(golden / "before.h5") as file, h5py.File(GOLDEN / "changed.h5") as g:
        for name in ("labels", "ids", "numbers"):
            assert file[name][:].tolist() == g[name][:].tolist()
    one = golden / "one.txt"
    one.write_text("p20\n")
    run("hdbscan", "--model", golden / "changed.h5", "--remove", one)
    model = StoredModel.read(golden / "changed.h5")
    assert len(model.labels) == len(POINTS) - len(GONE) - 1


def test_a_dendrogram(golden: Path) -> None:
    run("convert", golden / "dendrogram.h5", golden / "steps.csv")
    _, *lines = (golden / "steps.csv").read_text().splitlines()
    distances = [float(line.split(",")[2]) for line in lines]
    linkage = mndmst.single_linkage(POINTS)
    assert distances == linkage[:, 2].tolist()


def test_a_checkpoint_is_resumed(
    golden: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = ("--checkpoint", golden / "checkpoint", "--resume")
    words = ("solve", golden / "towns", "-o", golden / "resumed.h5", *checkpoint)
    assert main([*map(str, words)]) == 0
    said = capsys.readouterr()
    assert "6 edges of the forest known" in said.err
    (line,) = (line for line in said.out.splitlines() if line.startswith("RESULT "))
    assert [word.partition("=")[0] for word in line.split()[1:]] == WORDS
    digests = [
        describe(golden / name)["digest"] for name in ("resumed.h5", "towns.forest.h5")
    ]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("components towns", "n m components largest digest seconds"),
        ("partition towns.csv again", "n m weights parts uuid"),
        ("cluster towns.forest.h5 --count 3", "n clusters noise"),
        ("hdbscan points.csv", "n clusters noise exact search seconds peak_mib"),
        (
            "linkage points.csv",
            "n edges trees weight digest exact search seconds peak_mib",
        ),
    ],
)
def test_results_have_the_words_of_version_1_0(
    tmp_path: Path, words: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
    with chdir(tmp_path):
        write_points(Path("points.csv"), range(len(POINTS)))
        run("convert", "towns", "towns.csv")
        capsys.readouterr()
        run(*words.split(), *["-o", "out.h5"] * (not words.startswith("partition")))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("RESULT ")
    found = [word.partition("=")[0] for word in line.split()[1:]]
    assert set(expected.split()) <= set(found)


def test_a_journal_and_its_snapshot(golden: Path) -> None:
    pytest.importorskip("pyarrow", reason="the journal needs pyarrow")
    from mndmst.service.journal import Journal
    from mndmst.service.served_graph import GRAPH_JOURNAL

    journal = Journal(golden / "journal/towns", GRAPH_JOURNAL)
    start = journal.begin(golden / "towns", open_graph(golden / "towns").uuid)
    assert start.version == 1
    run("convert", start.path, golden / "snapshot.csv")
    (inserted,) = zip(*FIRST["insert"], strict=True)
    assert table(golden / "snapshot.csv") == in_order((*TOWNS, inserted))
    with closing(journal):
        batches = list(journal.open(start.version, open_graph(start.path).uuid))
    assert len(batches) == len(LATER)
    kinds = {"delete": "delete", "insert": "insert", "set_weights": "set"}
    for batch, changes in zip(batches, LATER, strict=True):
        expected = [
            (OPERATIONS[kinds[kind]], {source, target})
            for kind, (sources, targets, *_) in changes.items()
            for source, target in zip(sources, targets, strict=True)
        ]
        found = zip(batch.op, batch.src, batch.dst, strict=True)
        assert [(op, {NAMES[u], NAMES[v]}) for op, u, v in found] == expected


def test_a_journal_of_points_and_its_snapshot(golden: Path) -> None:
    pytest.importorskip("pyarrow", reason="the journal needs pyarrow")
    from mndmst.service.journal import Journal
    from mndmst.service.live_points.point_records import POINT_JOURNAL, read_snapshot

    folder = golden / "journal/pings"
    journal = Journal(folder, POINT_JOURNAL)
    origin = (folder / "graph").read_text().strip()
    start = journal.begin(golden / "pings.csv", origin)
    snapshot = read_snapshot(start.path, start.version)
    assert snapshot.ids.ids.tolist() == [*range(MIDDLE)]
    assert snapshot.points.tolist() == POINTS[:MIDDLE].tolist()
    with closing(journal):
        ((batch, rule),) = journal.open(start.version, snapshot.uuid)
    assert rule is None  # as before
    assert batch.points.tolist() == POINTS[MIDDLE:].tolist()
    assert batch.removed.tolist() == [3, 17]


def blocks() -> list[str]:
    """Return the programs of the page on files."""
    page = (ROOT / "mndmst/docs/files.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)


def read_as_shown(golden: Path, program: str) -> dict[str, object]:
    """Run the program of the page that has a text, among the golden files."""
    (found,) = (block for block in blocks() if program in block)
    values: dict[str, object] = {}
    with chdir(golden):
        exec(found, values)
    return values


def test_the_page_has_a_program_for_each_kind() -> None:
    assert len(blocks()) == 5


def test_a_graph_by_h5py_as_the_page_shows(golden: Path) -> None:
    pytest.importorskip("scipy", reason="the program of the page needs SciPy")
    found = read_as_shown(golden, "names/text")
    assert found["names"] == NAMES[: len(NAMES) // 2]
    matrix = found["matrix"].toarray()
    for u, v, weight in zip(SRC, DST, WEIGHT, strict=True):
        if min(u, v) < len(matrix):
            assert matrix[min(u, v), max(u, v)] == weight


def test_a_forest_by_h5py_as_the_page_shows(golden: Path) -> None:
    for package in ("pandas", "scipy"):
        pytest.importorskip(package, reason="the program of the page needs it")
    found = read_as_shown(golden, "towns.forest.h5")
    answer = kruskal(len(NAMES), SRC, DST, WEIGHT)
    assert found["forest"].weight.tolist() == answer.weight.tolist()
    assert found["matrix"].sum() == answer.total


def test_a_model_by_h5py_as_the_page_shows(golden: Path) -> None:
    clusters = read_as_shown(golden, "model.h5")["clusters"]
    labels = mndmst.HDBSCAN(LEAST).fit(POINTS).labels_
    expected = [
        [f"p{k}" for k in np.flatnonzero(labels == label)]
        for label in range(labels.max() + 1)
    ]
    assert list(clusters.values()) == expected


def test_a_checkpoint_by_h5py_as_the_page_shows(
    golden: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read_as_shown(golden, "mndmst-checkpoint.json")
    assert capsys.readouterr().out.startswith(f"{len(NAMES)} [")


def test_a_journal_as_the_page_shows(
    golden: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow", reason="the program of the page needs pyarrow")
    read_as_shown(golden, "journal-1")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["2", "3"]
    assert "480.0" in lines[0] and "44.5" in lines[1]


@pytest.mark.parametrize(
    "name",
    [
        *("towns/index.h5", "towns/part-00000.h5", "towns/columns/kilometres.h5"),
        *("towns.forest.h5", "towns.labels.h5", "towns.clusters.h5", "model.h5"),
        *("changed.h5", "dendrogram.h5"),
    ],
)
def test_another_number_of_a_format_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "golden"
    shutil.copytree(GOLDEN, folder)
    with h5py.File(folder / name, "r+") as file:
        file.attrs["version"] += 1
    with pytest.raises(InputError, match=r"version (is )?2") as refused:
        if name.startswith("towns/"):
            find_columns(open_graph(folder / "towns"))
        else:
            describe(folder / name)
    assert "\n" not in str(refused.value)
    if name == "model.h5":
        with pytest.raises(InputError, match="has version 2 of its format"):
            StoredModel.read(folder / name)


def test_another_number_of_a_checkpoint_or_journal_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the journal needs pyarrow")
    import zlib

    from mndmst.service.journal import Journal
    from mndmst.service.live_points.point_records import read_snapshot
    from mndmst.service.served_graph import GRAPH_JOURNAL

    folder = tmp_path / "golden"
    shutil.copytree(GOLDEN, folder)
    path = folder / "journal/towns/journal-1"
    line, _, rest = path.read_bytes().partition(b"\n")
    facts = line.rpartition(b" ")[0].replace(b"journal 2 ", b"journal 3 ")
    path.write_bytes(b"%s %08x\n%s" % (facts, zlib.crc32(facts), rest))
    journal = Journal(folder / "journal/towns", GRAPH_JOURNAL)
    start = journal.begin(folder / "towns", open_graph(folder / "towns").uuid)
    with (
        closing(journal),
        pytest.raises(InputError, match="has version '3' of its format"),
    ):
        journal.open(start.version, open_graph(start.path).uuid)
    (snapshot,) = folder.glob("journal/pings/snapshot-1-*")
    line, _, rest = snapshot.read_bytes().partition(b"\n")
    facts = line.rpartition(b" ")[0].replace(b"journal 2 ", b"journal 3 ")
    snapshot.write_bytes(b"%s %08x\n%s" % (facts, zlib.crc32(facts), rest))
    with pytest.raises(InputError, match="has version '3' of its format"):
        read_snapshot(snapshot, 1)
    manifest = folder / "checkpoint/mndmst-checkpoint.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": 2}))
    with pytest.raises(InputError, match="version 2"):
        mndmst.solve(folder / "towns", checkpoint=folder / "checkpoint", resume=True)
