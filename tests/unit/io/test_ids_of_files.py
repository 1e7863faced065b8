"""The ids of files that count from 1: the same in every format, command and result."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest

import mndmst
from mndmst.cli.main import main
from mndmst.host.errors import InputError
from mndmst.io.edge_file import Edges
from mndmst.io.formats import open_edges, read_edges, write_edges
from mndmst.io.names import IdRange, IntegerNames
from mndmst.io.partitioner.weight_rules import open_weighed
from mndmst.io.results.graph_names import names_of_graph
from mndmst.io.shards.sharded_graph import open_graph

# Edges (id, id, weight) in ids from 1 to 5; vertex 5 has no edge. The edge of weight 9
# closes the only cycle.
EDGES = [(1, 2, 5), (2, 3, 7), (1, 3, 9), (3, 4, 2)]
FOREST = [[1, 2, 5], [2, 3, 7], [3, 4, 2]]


def dimacs() -> str:
    arcs = [f"a {u} {v} {w}\na {v} {u} {w}\n" for u, v, w in EDGES]
    return f"p sp 5 {2 * len(arcs)}\n{''.join(arcs)}"


def matrix_market() -> str:
    entries = "".join(f"{v} {u} {w}\n" for u, v, w in EDGES)
    banner = "%%MatrixMarket matrix coordinate integer symmetric"
    return f"{banner}\n5 5 {len(EDGES)}\n{entries}"


def metis() -> str:
    rows: list[list[str]] = [[] for _ in range(5)]
    for u, v, w in EDGES:
        rows[u - 1].append(f"{v} {w}")
        rows[v - 1].append(f"{u} {w}")
    lines = "".join(f"{' '.join(row)}\n" for row in rows)
    return f"5 {len(EDGES)} 001\n{lines}"


def counted_list() -> str:
    rows = "".join(f"{u}\t{v}\t{w}\n" for u, v, w in EDGES)
    return f"# 5 vertices from 1\n{rows}"


TEXTS: dict[str, Callable[[], str]] = {
    "a.gr": dimacs,
    "a.mtx": matrix_market,
    "a.metis": metis,
    "a.graph": metis,
    "a.txt": counted_list,
}
files = pytest.mark.parametrize("name", TEXTS)


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command on files of the test's folder; return what it prints."""

    def run(*words: object, status: int = 0) -> str:
        assert main([str(word) for word in words]) == status
        printed = capfd.readouterr()
        return printed.out + printed.err

    return run


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """Partition a file of one of the formats."""

    def made(name: str, **options: object) -> Path:
        (tmp_path / name).write_text(TEXTS[name]())
        out = tmp_path / f"{name}.graph"
        return mndmst.partition(tmp_path / name, out, 2, **options)

    return made


def rows_of(path: Path) -> list[list[int]]:
    """Return the rows of a table below its names of columns."""
    _, *rows = csv.reader(path.read_text().splitlines())
    return [list(map(int, row)) for row in rows]


@files
def test_a_table_of_the_forest_has_the_ids_of_the_file(
    tmp_path: Path, made: Callable[..., Path], name: str
) -> None:
    mndmst.solve(made(name), output=tmp_path / "f.csv")
    assert rows_of(tmp_path / "f.csv") == FOREST


@files
@pytest.mark.parametrize("options", [{"reorder": "degree"}, {"reorder": "rcm"}])
def test_another_order_of_vertices_changes_no_id(
    tmp_path: Path, made: Callable[..., Path], name: str, options: dict[str, str]
) -> None:
    mndmst.solve(made(name, **options), output=tmp_path / "f.csv")
    found = [[*sorted(row[:2]), row[2]] for row in rows_of(tmp_path / "f.csv")]
    assert sorted(found) == FOREST


@pytest.mark.parametrize("name", ["a.gr", "a.mtx", "a.metis"])
def test_vertices_without_an_edge_may_be_left_out(
    tmp_path: Path, made: Callable[..., Path], name: str
) -> None:
    graph = made(name, compact_ids=True)
    assert open_graph(graph).num_vertices == 4
    mndmst.solve(graph, output=tmp_path / "f.csv")
    assert rows_of(tmp_path / "f.csv") == FOREST


@files
def test_a_forest_file_has_the_ids_for_plain_h5py(
    tmp_path: Path, made: Callable[..., Path], name: str
) -> None:
    summary = mndmst.solve(made(name), output=tmp_path / "f.h5", labels=True)
    with h5py.File(tmp_path / "f.h5") as file:
        assert file["forest/src"][:].tolist() == [1, 2, 3]
        assert file["forest/dst"][:].tolist() == [2, 3, 4]
        assert file["labels"][:].tolist() == [1, 1, 1, 1, 5]
        assert file.attrs["first_id"] == 1
        assert file.attrs["digest"].decode() == summary.digest


@files
def test_the_digest_is_that_of_the_same_graph_from_0(
    tmp_path: Path, made: Callable[..., Path], name: str
) -> None:
    (tmp_path / "b.txt").write_text(
        "# 5 vertices\n" + "".join(f"{u - 1} {v - 1} {w}\n" for u, v, w in EDGES)
    )
    from_0 = mndmst.partition(tmp_path / "b.txt", tmp_path / "b")
    from_1 = made(name)
    assert mndmst.solve(from_0).digest == mndmst.solve(from_1).digest
    # Ids belong to the identity of a graph
    assert open_graph(from_0).uuid != open_graph(from_1).uuid


@files
def test_a_forest_in_python_takes_and_gives_the_ids(
    tmp_path: Path, made: Callable[..., Path], name: str
) -> None:
    mndmst.solve(made(name), output=tmp_path / "f.h5")
    forest = mndmst.Forest.read(tmp_path / "f.h5")
    assert list(forest) == [tuple(edge) for edge in FOREST]
    assert forest.nodes.tolist() == [1, 2, 3, 4, 5]
    assert forest.labels.tolist() == [1, 1, 1, 1, 5]
    assert forest.path_max(1, 4) == 1
    assert [part.tolist() for part in forest.components()] == [[1, 2, 3, 4], [5]]
    with pytest.raises(InputError, match="named 0"):
        forest.connected(0, 1)
    assert forest.numbers.src.tolist() == [0, 1, 2]


@pytest.mark.parametrize("suffix", [".h5", ".gr", ".mtx", ".csv", ".txt"])
def test_a_forest_in_python_is_written_with_the_ids(
    tmp_path: Path, made: Callable[..., Path], suffix: str
) -> None:
    mndmst.solve(made("a.gr"), output=tmp_path / "f.h5")
    forest = mndmst.Forest.read(tmp_path / "f.h5")
    forest.write(tmp_path / f"g{suffix}")
    back = read_edges(tmp_path / f"g{suffix}")
    pairs = np.stack((back.src, back.dst), axis=1) + back.first_id
    edges = {tuple(sorted(pair)) for pair in pairs.tolist()}
    assert edges == {(1, 2), (2, 3), (3, 4)}


@files
def test_labels_have_the_ids(
    tmp_path: Path, made: Callable[..., Path], run: Callable[..., str], name: str
) -> None:
    graph = made(name)
    for out in ("l.csv", "l.h5"):
        mndmst.components(graph, output=tmp_path / out)
    assert rows_of(tmp_path / "l.csv") == [[1, 1], [2, 1], [3, 1], [4, 1], [5, 5]]
    with h5py.File(tmp_path / "l.h5") as file:
        assert file["labels"][:].tolist() == [1, 1, 1, 1, 5]
        assert file.attrs["first_id"] == 1
    facts = run("info", tmp_path / "l.h5").splitlines()
    assert ["damage", "[]"] in [line.split() for line in facts]


@files
def test_an_update_changes_the_edge_of_the_file(
    tmp_path: Path, made: Callable[..., Path], name: str
) -> None:
    graph = made(name)
    mndmst.solve(graph, output=tmp_path / "f.h5")
    changes = tmp_path / "changes.csv"
    changes.write_text("op,src,dst,weight\ndelete,1,2,\ninsert,4,5,1\n")
    mndmst.update(
        graph, tmp_path / "f.h5", changes, output=tmp_path / "g.csv",
        graph_output=tmp_path / "next",
    )  # fmt: skip
    expected = [[1, 3, 9], [2, 3, 7], [3, 4, 2], [4, 5, 1]]
    assert rows_of(tmp_path / "g.csv") == expected
    mndmst.solve(tmp_path / "next", output=tmp_path / "h.csv")
    assert rows_of(tmp_path / "h.csv") == expected


@files
@pytest.mark.parametrize("ends", ["0,1", "1,0", "6,2"])
def test_an_update_refuses_an_id_out_of_the_range_of_the_file(
    tmp_path: Path, made: Callable[..., Path], name: str, ends: str
) -> None:
    graph = made(name)
    mndmst.solve(graph, output=tmp_path / "f.h5")
    (tmp_path / "c.csv").write_text(f"op,src,dst,weight\ninsert,{ends},1\n")
    with pytest.raises(InputError, match=r"line 2: .* ids run from 1 to 5"):
        mndmst.update(
            graph, tmp_path / "f.h5", tmp_path / "c.csv", output=tmp_path / "g.h5"
        )


@pytest.mark.parametrize(("ends", "vertex"), [("6,2", 6), ("3,0", 0)])
def test_an_update_refuses_an_id_that_a_reordered_graph_lacks(
    tmp_path: Path, made: Callable[..., Path], ends: str, vertex: int
) -> None:
    graph = made("a.gr", reorder="degree")
    mndmst.solve(graph, output=tmp_path / "f.h5")
    (tmp_path / "c.csv").write_text(f"op,src,dst,weight\nset,1,2,5\ninsert,{ends},1\n")
    with pytest.raises(InputError, match=f"line 3: the graph has no vertex {vertex}"):
        mndmst.update(
            graph, tmp_path / "f.h5", tmp_path / "c.csv", output=tmp_path / "g.h5"
        )


def test_messages_about_changes_have_the_ids(
    tmp_path: Path, made: Callable[..., Path]
) -> None:
    graph = made("a.gr")
    mndmst.solve(graph, output=tmp_path / "f.h5")
    for change, said in (
        ("delete,4,5,", r"no edge \(4, 5\)"),
        ("insert,1,2,3", r"edge \(1, 2\) is there"),
        ("insert,2,2,3", r"\(2, 2\) is a self-loop"),
    ):
        (tmp_path / "c.csv").write_text(f"op,src,dst,weight\n{change}\n")
        with pytest.raises(InputError, match=said):
            mndmst.update(
                graph, tmp_path / "f.h5", tmp_path / "c.csv", output=tmp_path / "g.h5"
            )


@files
def test_a_proof_and_its_messages_have_the_ids(
    tmp_path: Path, made: Callable[..., Path], run: Callable[..., str], name: str
) -> None:
    graph = made(name)
    mndmst.solve(graph, output=tmp_path / "f.h5")
    run("verify", graph, tmp_path / "f.h5")
    right = mndmst.Forest.read(tmp_path / "f.h5").numbers
    weight = np.array([5, 9, 2], np.int32)  # the edge (2, 3) becomes (1, 3)
    ends = np.array([0, 0, 2]), np.array([1, 2, 3])
    wrong = mndmst.Forest(*ends, weight, right.labels, right.graph_uuid)
    wrong.write_from(1, tmp_path / "f.h5", labels=False, overwrite=True)
    assert "(1, 3)" in run("verify", graph, tmp_path / "f.h5", status=1)
    assert "(1, 3)" in "".join(mndmst.verify(graph, tmp_path / "f.h5").problems)


@files
@pytest.mark.parametrize(
    "suffix", [".gr", ".mtx", ".csv", ".tsv", ".txt", ".el", ".parquet", ".json",
               ".graphml", ".gexf", ".gml", ".net", ".ncol"],
)  # fmt: skip
def test_a_conversion_keeps_the_ids(
    tmp_path: Path, made: Callable[..., Path], run: Callable[..., str],
    name: str, suffix: str,
) -> None:  # fmt: skip
    graph = made(name)
    for source in (tmp_path / name, graph):
        out = tmp_path / f"{source.name}-out{suffix}"
        run("convert", source, out)
        back = open_edges(out).read()
        names = back.names or IdRange(back.first_id, back.num_vertices)
        ends = [names.take(column).texts() for column in (back.src, back.dst)]
        weights = back.weight.tolist()
        found = {
            (*sorted((int(u), int(v))), int(w))
            for u, v, w in zip(*ends, weights, strict=True)
        }
        assert found == {tuple(edge) for edge in EDGES}


@pytest.mark.parametrize("suffix", [".gr", ".mtx"])
def test_a_conversion_that_moves_ids_says_so(
    tmp_path: Path, run: Callable[..., str], suffix: str
) -> None:
    (tmp_path / "b.txt").write_text("0 1 5\n1 2 7\n")
    said = run("convert", tmp_path / "b.txt", tmp_path / f"b{suffix}")
    assert "vertex 0 of the input is vertex 1 there" in said


def test_a_matrix_of_scipy_has_rows_from_0_and_says_so(
    tmp_path: Path, made: Callable[..., Path], run: Callable[..., str]
) -> None:
    said = run("convert", made("a.mtx"), tmp_path / "a.npz")
    assert "vertex 1 of the input is vertex 0 there" in said
    assert read_edges(tmp_path / "a.npz").num_vertices == 5


@files
def test_clusters_trees_and_pictures_have_the_ids(
    tmp_path: Path, made: Callable[..., Path], run: Callable[..., str], name: str
) -> None:
    mndmst.solve(made(name), output=tmp_path / "f.h5")
    run("cluster", tmp_path / "f.h5", "--threshold", 6, "-o", tmp_path / "c.csv")
    _, *rows = (tmp_path / "c.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == list("12345")
    run("convert", tmp_path / "f.h5", tmp_path / "f.nwk")
    assert sorted(filter(str.isdigit, (tmp_path / "f.nwk").read_text()))[0] != "0"
    points = "id,lon,lat\n" + "".join(f"{v},{v}.5,50\n" for v in (5, 4, 3, 2, 1))
    (tmp_path / "p.csv").write_text(points)
    run("draw", tmp_path / "f.h5", "--points", tmp_path / "p.csv",
        "-o", tmp_path / "map.geojson")  # fmt: skip
    features = json.loads((tmp_path / "map.geojson").read_text())["features"]
    for feature in features:
        ends = [feature["properties"][end] for end in ("src", "dst")]
        longitudes = [x for x, _ in feature["geometry"]["coordinates"]]
        assert [int(end) + 0.5 for end in ends] == longitudes


NAMED = "source,target,weight\na,b,5\nb,c,7\na,c,9\nc,d,2\n"


def leaves(path: Path) -> list[str]:
    """Return the names of the leaves of Newick trees, sorted."""
    return sorted(re.findall(r"(?<![:\w.])\w+", path.read_text()))


@pytest.mark.parametrize("options", [{}, {"reorder": "degree"}])
@pytest.mark.parametrize("name", [*TEXTS, "named.csv"])
def test_a_cluster_file_keeps_the_ids_or_names(
    tmp_path: Path, run: Callable[..., str], name: str, options: dict[str, str]
) -> None:
    named = name not in TEXTS
    (tmp_path / name).write_text(NAMED if named else TEXTS[name]())
    graph = mndmst.partition(tmp_path / name, tmp_path / "g", **options)
    forest = tmp_path / "f.h5"
    mndmst.solve(graph, output=forest)
    rule = ("--threshold", 6)
    run("cluster", forest, *rule, "-o", tmp_path / "c.h5")
    run("cluster", forest, *rule, "-o", tmp_path / "c.csv")
    _, *rows = csv.reader((tmp_path / "c.csv").read_text().splitlines())
    with h5py.File(tmp_path / "c.h5") as file:
        column = file["ids"].asstr() if named else file["ids"]
        stored = [str(vertex) for vertex in column[:]]
        labels = map(str, file["labels"][:].tolist())
    assert list(zip(stored, labels, strict=True)) == [tuple(row) for row in rows]
    run("convert", tmp_path / "c.h5", tmp_path / "c.nwk")
    assert leaves(tmp_path / "c.nwk") == list("abcd" if named else "12345")


def test_a_cluster_file_with_numbers_has_no_ids(
    tmp_path: Path, made: Callable[..., Path], run: Callable[..., str]
) -> None:
    mndmst.solve(made("a.gr"), output=tmp_path / "f.h5")
    run("cluster", tmp_path / "f.h5", "--count", 2, "--numbers",
        "-o", tmp_path / "c.h5")  # fmt: skip
    with h5py.File(tmp_path / "c.h5") as file:
        assert "ids" not in file
    run("convert", tmp_path / "c.h5", tmp_path / "c.nwk")
    assert leaves(tmp_path / "c.nwk") == list("01234")


@files
def test_the_facts_about_a_graph_name_the_ids(
    made: Callable[..., Path], run: Callable[..., str], name: str
) -> None:
    assert "1, 2, 3" in run("info", made(name))


def test_a_table_that_counts_from_1_is_told(
    tmp_path: Path, run: Callable[..., str]
) -> None:
    (tmp_path / "c.csv").write_text("source,target,weight\n1,2,5\n2,3,7\n")
    said = run("partition", tmp_path / "c.csv", tmp_path / "c")
    assert "its ids begin at 1" in said
    assert "vertex 0 has no edge" in said
    for order in ("degree", "rcm"):
        said = run("partition", tmp_path / "c.csv", tmp_path / order,
                   "--reorder", order)  # fmt: skip
        assert "its ids begin at 1, and" in said
    for chosen in (("--compact-ids",), ("--num-vertices", 9)):
        out = tmp_path / f"c{chosen[0]}"
        assert "ids begin" not in run("partition", tmp_path / "c.csv", out, *chosen)
        out = tmp_path / f"r{chosen[0]}"
        said = run("partition", tmp_path / "c.csv", out, "--reorder", "rcm", *chosen)
        assert "ids begin" not in said
    (tmp_path / "d.csv").write_text("source,target,weight\n0,2,5\n2,3,7\n")
    assert "ids begin" not in run("partition", tmp_path / "d.csv", tmp_path / "d")
    # A header that says how many vertices there are leaves nothing to guess
    (tmp_path / "e.txt").write_text("# 4 vertices\n1 2 5\n2 3 7\n")
    assert "ids begin" not in run("partition", tmp_path / "e.txt", tmp_path / "e")


def test_arrays_that_count_from_1_are_told() -> None:
    columns = [1, 2], [2, 3], [5, 7]
    table = pandas.DataFrame(dict(zip(("from", "to", "length"), columns, strict=True)))
    for given in (columns, [list(zip(*columns, strict=True))], [table]):
        with pytest.warns(UserWarning, match="begin at 1, .* vertex 0 has no edge"):
            assert len(mndmst.minimum_spanning_forest(*given).labels) == 4
    # Both remedies that the warning names
    forest = mndmst.minimum_spanning_forest(*columns, nodes=np.unique(columns[:2]))
    assert forest.labels.tolist() == [1, 1, 1]
    forest = mndmst.minimum_spanning_forest(*columns, num_vertices=4)
    assert forest.labels.tolist() == [0, 1, 1, 1]


COORDINATES = "p aux sp co 5\nv 1 0 0\nv 2 3 4\nv 3 3 0\nv 4 9 8\nv 5 7 7\n"
DISTANCES = [[1, 2, 5.0], [1, 3, 3.0], [2, 3, 4.0], [3, 4, 10.0]]


@pytest.mark.parametrize("name", ["a.gr", "a.txt", "table.csv"])
def test_coordinates_are_those_of_the_ids(tmp_path: Path, name: str) -> None:
    rows = "".join(f"{u},{v},{w}\n" for u, v, w in EDGES)
    texts = {"table.csv": f"source,target,weight\n{rows}"}
    (tmp_path / name).write_text(texts[name] if name in texts else TEXTS[name]())
    (tmp_path / "a.co").write_text(COORDINATES)
    file = open_weighed(tmp_path / name, f"euclid:{tmp_path / 'a.co'}")
    edges = file.read()
    ends = np.stack((edges.src, edges.dst)) + edges.first_id
    found = zip(*np.sort(ends, axis=0).tolist(), edges.weight.tolist(), strict=True)
    assert sorted(map(list, set(found))) == DISTANCES


@pytest.mark.parametrize(("edge", "vertex"), [("0 1", 0), ("1 6", 6)])
def test_an_id_without_coordinates_is_refused(
    tmp_path: Path, edge: str, vertex: int
) -> None:
    (tmp_path / "a.el").write_text(f"1 2\n{edge}\n")
    (tmp_path / "a.co").write_text(COORDINATES)
    file = open_weighed(tmp_path / "a.el", f"euclid:{tmp_path / 'a.co'}")
    with pytest.raises(InputError, match=rf"a\.co: .* 1 to 5, .* vertex {vertex}\. "):
        file.read()


def test_errors_of_a_damaged_forest_have_the_ids(
    tmp_path: Path, made: Callable[..., Path]
) -> None:
    mndmst.solve(made("a.gr"), output=tmp_path / "f.h5")
    with h5py.File(tmp_path / "f.h5", "a") as file:
        file["forest/dst"][2] = 6
    with pytest.raises(InputError, match=r"\(3, 6\), not two of the ids 1 to 5"):
        mndmst.Forest.read(tmp_path / "f.h5")
    with pytest.raises(InputError, match="vertex 6, but ids run from 1 to 5"):
        read_edges(tmp_path / "f.h5")


def test_an_arc_without_its_reverse_has_the_ids(
    tmp_path: Path, made: Callable[..., Path]
) -> None:
    graph = made("a.gr")
    with h5py.File(next(iter(graph.glob("part*"))), "a") as part:
        part["graph/data"][0] = 6
    with pytest.raises(InputError, match=r"arc \(2, 1\) .* reverse \(1, 2\)"):
        mndmst.solve(graph)


def test_a_list_from_1_refuses_an_id_0(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("# 3 vertices from 1\n0 1 5\n")
    with pytest.raises(InputError, match=r"a\.txt"):
        read_edges(tmp_path / "a.txt")


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".gr"])
def test_ids_from_1_make_a_round_trip_without_edges(
    tmp_path: Path, suffix: str
) -> None:
    none, weight = np.empty(0, np.uint32), np.empty(0, np.int32)
    edges = Edges(3, none, none, weight, False, first_id=1)
    write_edges(edges, tmp_path / f"a{suffix}")
    assert len(read_edges(tmp_path / f"a{suffix}")) == 0


def test_a_range_of_ids_is_a_list_of_names() -> None:
    ids, listed = IdRange(1, 5), IntegerNames(np.arange(1, 6))
    wanted = IntegerNames(np.array([0, 1, 5, 6]))
    assert ids.find(wanted).tolist() == listed.find(wanted).tolist() == [-1, 0, 4, -1]
    for positions in (slice(1, 4), slice(0, 5, 2), slice(3, 1), np.array([4, 0, 0])):
        assert ids.take(positions).values() == listed.take(positions).values()
    assert [ids.count_through(n) for n in (0, 1, 7)] == [0, 1, 5]
    assert ids.texts() == listed.texts()


def test_a_graph_keeps_one_number_for_consecutive_ids(
    made: Callable[..., Path],
) -> None:
    graph = open_graph(made("a.gr"))
    assert names_of_graph(graph) == IdRange(1, 5)
    with graph.open(0) as part:
        assert part.attrs["first_id"] == 1
        assert set(part) == {"graph", "vtxdist"}
