"""Commands on tables: the columns are named, --columns decides, ids come back."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from mndmst.io.file_access import read_attribute

pytestmark = pytest.mark.slow

TABLE = "u,v,key,length,travel_time\n0,1,0,8,1\n0,2,0,1.5,1\n1,2,0,2.5,1\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "roads.csv"
    path.write_text(TABLE)
    return path


@pytest.fixture
def stations(tmp_path: Path) -> Path:
    """Two groups of points, with pandas' index and names in front."""
    path = tmp_path / "stations.csv"
    rows = [
        f'{i};"st. {i}, {"AB"[i % 2]}";{10 * (i % 2) + i / 100};{i % 7 / 10}'
        for i in range(40)
    ]
    text = "\n".join([";station_name;lon;lat", *rows])
    path.write_text(text.replace(".", ",").replace("st,", "st."))
    return path


def test_partition_and_convert_say_what_they_read(
    mndmst: Callable, table: Path, tmp_path: Path
) -> None:
    read = "mndmst: source: u, target: v, weight: length; left out: key, travel_time"
    for command in (
        ("partition", table, tmp_path / "g"),
        ("convert", table, tmp_path / "c.csv"),
    ):
        refused = mndmst(*command)
        assert refused.returncode == 1
        assert "each of length, travel_time may be the weight" in refused.stderr
        run = mndmst(*command, "--columns", "weight=length")
        assert run.returncode == 0, run.stderr
        assert run.stderr.splitlines()[0] == read
    assert (tmp_path / "c.csv").read_text().splitlines()[1:] == [
        "0,1,8.0", "0,2,1.5", "1,2,2.5",
    ]  # fmt: skip
    quiet = ("--columns", "weight=length", "--overwrite", "-q")
    assert mndmst("partition", table, tmp_path / "g", *quiet).stderr == ""
    assert mndmst("convert", table, tmp_path / "c.csv", *quiet).stderr == ""


def test_a_rule_of_weights_needs_no_column(
    mndmst: Callable, table: Path, tmp_path: Path
) -> None:
    run = mndmst("partition", table, tmp_path / "g", "--weights", "constant:5")
    assert run.returncode == 0, run.stderr
    assert "RESULT n=3 m=3 weights=int32" in run.stdout


def test_another_choice_of_columns_is_another_run(
    mndmst: Callable, table: Path, tmp_path: Path
) -> None:
    uuids = set()
    for name in ("length", "travel_time", "key"):
        columns = ("--columns", f"weight={name}", "--restart")
        run = mndmst("partition", table, tmp_path / "g", *columns, "--overwrite")
        assert run.returncode == 0, run.stderr
        uuids.add(run.stdout.rpartition("uuid=")[2].strip())
    assert len(uuids) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("partition {}/g.gr {}/g --columns weight=w", "g.gr is not a table"),
        ("partition {}/roads.csv {}/g --columns w", "give source=A,target=B,weight=C"),
        ("partition {}/roads.csv {}/g --columns weight=km", "has no such column"),
        ("partition {}/r.toml {}/g --columns weight=km", "recipe has its own format"),
        ("hdbscan rings --columns x,y", "go with files, and rings is not one"),
        ("linkage {}/stations.csv --columns lon,height", "--columns height: "),
        ("verify {}/none {}/f.h5 --columns x,y", "need a file of points"),
        ("linkage {}/p.npz", "has 2 arrays: a, b. Name one: p.npz:a, or --key"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_get_one_line(
    mndmst: Callable, table: Path, stations: Path, tmp_path: Path, words: str,
    message: str,
) -> None:  # fmt: skip
    (tmp_path / "g.gr").write_text("p sp 2 1\na 1 2 3\n")
    (tmp_path / "r.toml").write_text("")
    np.savez(tmp_path / "p.npz", a=np.ones((3, 2)), b=np.ones(3))
    run = mndmst(*words.replace("{}", str(tmp_path)).split())
    assert run.returncode == 1
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


def test_labels_come_back_beside_the_ids(
    mndmst: Callable, stations: Path, tmp_path: Path
) -> None:
    labels, forest = tmp_path / "labels.csv", tmp_path / "forest.h5"
    command = ("hdbscan", stations, "-o", labels, "--forest", forest)
    run = mndmst(*command)
    assert run.returncode == 0, run.stderr
    assert run.stderr.splitlines()[0] == (
        "mndmst: coordinates: lon, lat; left out: (without a name), station_name; ids "
        "of the rows: station_name"
    )
    with labels.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["station_name"] for row in rows] == [
        f"st. {i}, {'AB'[i % 2]}" for i in range(40)
    ]
    groups = {row["station_name"][-1]: row["label"] for row in rows}
    assert len(set(groups.values())) == 2
    assert all(row["label"] == groups[row["station_name"][-1]] for row in rows)
    for quiet in ((), ("-q",)):
        verified = mndmst("verify", stations, forest, *quiet)
        assert "VERDICT ok" in verified.stdout
        assert ("left out" in verified.stderr) == (quiet == ())
    wrong = mndmst("verify", stations, forest, "--columns", "lat,lon")
    assert "VERDICT ok" not in wrong.stdout
    kept = tmp_path / "clusters.h5"
    mndmst("linkage", stations, "-o", kept, "-q")
    with h5py.File(kept) as file:
        assert file.attrs["ids-name"].decode() == "station_name"
        assert file["ids"].asstr()[3] == "st. 3, B"


SIMILARITIES = {
    "t.csv": "src,dst,Similarity\n0,1,1\n0,1,7\n1,2,2\n0,2,3\n",
    "t.tsv": "#src\tdst\tscore\n0\t1\t1\n0\t1\t7\n1\t2\t2\n0\t2\t3\n",
    "names.csv": "from,to,correlation\na,b,1\na,b,7\nb,c,2\na,c,3\n",
    "t.json": '[{"source": 0, "target": 1, "affinity": 1}, '
    '{"source": 0, "target": 1, "affinity": 7}, '
    '{"source": 1, "target": 2, "affinity": 2}, '
    '{"source": 0, "target": 2, "affinity": 3}]',
    "t.gml": "graph [ multigraph 1 node [ id 0 ] node [ id 1 ] node [ id 2 ] "
    "edge [ source 0 target 1 key 0 jaccard 1 ] "
    "edge [ source 0 target 1 key 1 jaccard 7 ] "
    "edge [ source 1 target 2 key 0 jaccard 2 ] "
    "edge [ source 0 target 2 key 0 jaccard 3 ] ]",
}


@pytest.mark.parametrize("name", SIMILARITIES)
def test_a_weight_named_as_a_similarity_needs_a_direction(
    mndmst: Callable, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text(SIMILARITIES[name])
    graph, out = tmp_path / "graph", tmp_path / "forest.h5"
    refused = mndmst("partition", tmp_path / name, graph)
    assert refused.returncode == 1 and refused.stdout == ""
    assert "Give --maximum if a larger value means nearer, or --minimum" in (
        refused.stderr
    )
    for direction, weight in (("--maximum", 10), ("--minimum", 3)):
        run = mndmst("partition", tmp_path / name, graph, direction, "--overwrite")
        assert run.returncode == 0, run.stderr
        assert "imum" not in run.stderr
        solved = mndmst("solve", graph, "-o", out, "--overwrite")
        assert f" weight={weight}" in solved.stdout
    both = mndmst("partition", tmp_path / name, graph, "--maximum", "--minimum")
    assert both.returncode == 2
    assert "not allowed with" in both.stderr
    rule = mndmst(
        "partition", tmp_path / name, graph, "--weights", "constant:1", "--overwrite"
    )
    assert rule.returncode == 0, rule.stderr
    other = mndmst("convert", tmp_path / name, tmp_path / "other.parquet", "-q")
    assert "read it with --maximum if a larger value means nearer" in other.stderr


def test_a_graph_keeps_its_direction(mndmst: Callable, tmp_path: Path) -> None:
    table, graph = tmp_path / "t.csv", tmp_path / "graph"
    table.write_text("src,dst,weight\n0,1,1\n0,1,7\n1,2,2\n0,2,3\n")
    for made, other in ((("--maximum",), ()), ((), ("--maximum",))):
        run = mndmst("partition", table, graph, *made, "--overwrite")
        assert run.returncode == 0, run.stderr
        refused = mndmst("partition", graph, tmp_path / "again", *other)
        assert refused.returncode == 1
        assert "of parallel edges it has the" in refused.stderr
        assert not (tmp_path / "again").exists()
        table_of = mndmst("convert", graph, tmp_path / "g.csv", "-q", "--overwrite")
        assert ("read it with --maximum" in table_of.stderr) == bool(made)
        same = mndmst("partition", graph, tmp_path / "same", *made, "--overwrite")
        assert same.stdout.rpartition("uuid=")[2] == run.stdout.rpartition("uuid=")[2]
        rule = ("--weights", "constant:1", "--overwrite")
        run = mndmst("partition", graph, tmp_path / "even", *other, *rule)
        assert run.returncode == 0, run.stderr


def test_lines_and_files_of_a_maximum_forest_name_the_order(
    mndmst: Callable, tmp_path: Path
) -> None:
    table, graph = tmp_path / "t.csv", tmp_path / "graph"
    table.write_text("src,dst,weight\n0,1,1\n0,1,7\n1,2,2\n0,2,3\n")
    forest, clusters, tree = (tmp_path / name for name in ("f.h5", "c.h5", "t.nwk"))
    for direction, said in (("--minimum", False), ("--maximum", True)):
        for command in (
            ("partition", table, graph, direction, "--overwrite"),
            ("info", graph),
            ("solve", graph, "-o", forest, "--overwrite"),
            ("verify", graph, forest),
            ("cluster", forest, "--count", 2, "-o", clusters, "--overwrite"),
        ):
            run = mndmst(*map(str, command))
            assert run.returncode == 0, run.stderr
            words = re.search("order[ =]+maximum", run.stdout)
            assert bool(words) == said, run.stdout
        distances = "largest weight less each weight"
        with h5py.File(clusters) as file:
            assert read_attribute(file, "distances") == (distances if said else None)
        run = mndmst("convert", forest, tree, "--dendrogram", "--overwrite")
        assert run.returncode == 0, run.stderr
        assert (distances in run.stderr) == said


def test_files_that_do_not_name_the_order_are_told_of(
    mndmst: Callable, tmp_path: Path
) -> None:
    table, graph, forest = tmp_path / "t.csv", tmp_path / "graph", tmp_path / "f.h5"
    table.write_text("u,v,score\n0,1,1\n1,2,2\n0,2,3\n")
    mndmst("partition", table, graph, "--maximum")
    mndmst("solve", graph, "-o", forest)
    outputs = [tmp_path / "o.csv", tmp_path / "o.gr"]  # without and with all vertices
    told = {
        graph: "does not say that the largest weights are taken; read it with --max",
        forest: "does not say that the largest weights are taken; read it with --max",
        table: "names the weight weight, not score; read it with --maximum if a larger",
    }
    for source, words in told.items():
        run = mndmst("convert", source, *outputs, "-q", "--overwrite")
        assert run.returncode == 0, run.stderr
        for path in outputs:
            assert f"mndmst: {path}: {words}" in run.stderr
    refused = mndmst("partition", forest, tmp_path / "minimum")
    assert refused.returncode == 1 and "Give --maximum here, too" in refused.stderr
