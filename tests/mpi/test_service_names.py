"""Graphs of names: clients give and get the names that the graph was made of."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from graphs import simple_path, write_graph
from processes import finish, python, start
from services import Served, client, rows, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import mndmst
from mndmst.host.errors import InputError

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

# The forest is the path anna, bert, "01", "Köln, Rhein", and dora alone with emil
TEXTS = {
    ("anna", "bert"): 3,
    ("bert", "01"): 1,
    ("01", "Köln, Rhein"): 2,
    ("anna", "Köln, Rhein"): 9,
    ("dora", "emil"): 5,
}
IDS = {(1684591853, 25291709): 4, (25291709, 11580501472): 2, (-7, 11580501472): 3}

# The ids of this format count from 1
DIMACS = "p sp 4 3\na 1 2 5\na 2 3 7\na 1 3 9\n"


def partition(file: Path, *words: object) -> None:
    folder = file.with_suffix("")
    command = ("-m", "mndmst", "partition", file, folder, "-q", *words)
    done = finish(start(python(*command)), 60)
    assert done.returncode == 0, done


def write_table(file: Path, edges: dict[tuple[Any, Any], int]) -> None:
    with file.open("w", newline="") as table:
        writer = csv.writer(table)
        writer.writerow(["source", "target", "weight"])
        writer.writerows([*ends, weight] for ends, weight in edges.items())


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("service")
    write_table(folder / "towns.csv", TEXTS)
    write_table(folder / "nodes.csv", IDS)
    link = {"nodes": [{"id": 1}, {"id": "1"}], "links": [{"source": 1, "target": "1"}]}
    (folder / "mixed.json").write_text(json.dumps(link))
    (folder / "roads.gr").write_text(DIMACS)
    files = ("towns.csv", "nodes.csv", "mixed.json", "roads.gr")
    for file in (folder / name for name in files):
        partition(file, "--parts", 2)
    write_graph(folder / "plain", simple_path(5))
    graphs = [folder / name for name in ("towns", "nodes", "mixed", "roads", "plain")]
    with served(folder, 2, *graphs, "-q") as running:
        yield running


@pytest.fixture
def graphs(service: Served):
    with mndmst.connect(service.address) as connection:
        yield connection


def edges_of(table: Any) -> dict[tuple[Any, Any], int]:
    rows = table.to_pylist()
    return {tuple(sorted((row["src"], row["dst"]))): row["weight"] for row in rows}


def ordered(edges: dict[tuple[Any, Any], int]) -> dict[tuple[Any, Any], int]:
    return {tuple(sorted(ends)): weight for ends, weight in edges.items()}


def test_one_pair_is_asked_and_answered_in_names(graphs: Any) -> None:
    towns, nodes = graphs["towns"], graphs["nodes"]
    way = towns.path("anna", "Köln, Rhein")
    assert [sorted((edge["src"], edge["dst"])) for edge in way] == [
        ["anna", "bert"],
        ["01", "bert"],
        ["01", "Köln, Rhein"],
    ]
    assert towns.path("anna", "dora") == []
    assert towns.connected("anna", "01") is True
    assert towns.connected("anna", "emil") is False
    assert towns.path_max("01", "anna")["weight"] == 3
    assert towns.path_max("anna", "anna") == dict.fromkeys(("src", "dst", "weight"))
    assert nodes.path_max(-7, 25291709) == {"src": -7, "dst": 11580501472, "weight": 3}
    assert graphs["mixed"].connected("1", '"1"') is True


def test_arrays_are_answered_in_names(graphs: Any) -> None:
    towns, nodes = graphs["towns"], graphs["nodes"]
    u, v = ["anna", "dora", "emil"], ["bert", "emil", "anna"]
    assert towns.connected(u, v).tolist() == [True, True, False]
    heaviest = towns.path_max(u, v).to_pylist()
    assert [edge["weight"] for edge in heaviest] == [3, 5, None]
    assert heaviest[2]["src"] is None and heaviest[1]["src"] == "dora"
    assert list(map(len, towns.path(u, v).to_pylist())) == [1, 1, 0]
    assert edges_of(towns.edges()) == ordered(TEXTS)
    assert edges_of(nodes.edges()) == ordered(IDS)
    label = dict(zip(towns.nodes.tolist(), towns.components().tolist(), strict=True))
    assert label["emil"] == "dora" and label["bert"] == label["anna"] == "01"
    assert towns.clusters(count=2).tolist() == [0, 0, 0, 0, 1, 1] or len(label) == 6
    assert towns.connected([], []).tolist() == []


def test_forests_have_names_and_numbers(graphs: Any) -> None:
    towns = graphs["towns"]
    found = towns.solve()
    assert (len(found), found.num_trees, found.total_weight) == (4, 2, 11)
    kept = {ends: w for ends, w in ordered(TEXTS).items() if w != 9}
    assert edges_of(found.table) == kept
    assert set(zip(found.src.tolist(), found.dst.tolist(), strict=True)) == {
        (row["src"], row["dst"]) for row in found.table.to_pylist()
    }
    assert found.connected("anna", "01") and not found.connected("anna", "dora")
    assert found.numbers.src.dtype.kind == "i" and len(found.numbers.digest) == 64
    assert towns.forest.numbers.digest == found.numbers.digest
    few = towns.solve(without_edges=(["bert"], ["01"]), vertices=["bert", "01", "anna"])
    assert edges_of(few.table) == {("anna", "bert"): 3}
    assert graphs["nodes"].forest.path_max(-7, 25291709) >= 0
    assert graphs["nodes"].forest.graph_uuid == graphs["nodes"].info()["uuid"]


def test_numbers_stay_possible(graphs: Any) -> None:
    numbers = graphs["towns"].numbers
    assert numbers.nodes.tolist() == list(range(6)) and numbers.numbers is numbers
    names = graphs["towns"].nodes.tolist()
    assert names == sorted(names, key=str.encode)
    anna, emil = names.index("anna"), names.index("emil")
    assert numbers.connected(anna, emil) is False
    assert numbers.edges()["src"].to_pylist() == sorted(
        numbers.edges()["src"].to_pylist()
    )
    plain = graphs["plain"]
    assert plain.names is None and plain.numbers is plain
    assert len(plain.path(0, 4)) == 4


def test_what_is_not_a_name_is_refused_in_one_sentence(graphs: Any) -> None:
    towns, nodes, plain = graphs["towns"], graphs["nodes"], graphs["plain"]
    for ask, words in (
        (
            lambda: towns.path("anna", "Bert"),
            'no vertex of towns is named "Bert"; give',
        ),
        (
            lambda: towns.path(0, 1),
            "towns are named by texts, not by values of type int",
        ),
        (
            lambda: nodes.path("25291709", "5"),
            "nodes are named by integers of type int64",
        ),
        (lambda: nodes.path(1 << 63, 5), "named by integers of type int64"),
        (lambda: nodes.path([0.5], [1.5]), "not by values of type double"),
        (
            lambda: plain.path("anna", "bert"),
            "the vertices of plain have numbers alone",
        ),
        (
            lambda: towns.insert(["anna"], ["new"], [1]),
            'no vertex of towns is named "new"',
        ),
    ):
        with pytest.raises(mndmst.MndmstError, match=words) as refused:
            ask()
        assert "\n" not in str(refused.value)
    assert towns.info()["version"] == 0


def test_the_shell_speaks_names(service: Served, tmp_path: Path) -> None:
    (found,) = rows(service, "path-max", "towns", "01", "anna")
    assert (found["u"], found["v"], found["weight"]) == ("01", "anna", "3")
    assert {found["src"], found["dst"]} == {"anna", "bert"}
    assert len(rows(service, "path", "nodes", "--", -7, 25291709)) == 2
    labels = rows(service, "components", "towns")
    assert {"vertex": "emil", "component": "dora"} in labels
    (found,) = rows(service, "connected", "towns", 0, 1, "--numbers")
    assert found == {"u": "0", "v": "1", "connected": "True"}
    (tmp_path / "pairs.csv").write_text('u,v\n01,"Köln, Rhein"\n')
    (found,) = rows(service, "connected", "towns", "--pairs", tmp_path / "pairs.csv")
    assert found == {"u": "01", "v": "Köln, Rhein", "connected": "True"}
    (tmp_path / "digits.csv").write_text("u,v\n01,01\n")  # looks like integers
    (found,) = rows(service, "connected", "towns", "--pairs", tmp_path / "digits.csv")
    assert found["u"] == "01"
    done = client(service, "connected", "towns", "anna", "Bert")
    assert done.returncode == 1 and 'is named "Bert"' in done.stderr, done
    done = client(service, "connected", "nodes", "anna", "bert")
    assert done.returncode == 1 and "nodes are integers" in done.stderr, done
    done = client(service, "solve", "towns")
    assert "edges=4 trees=2 weight=11" in done.stdout, done


def test_batches_of_changes_name_vertices(tmp_path: Path) -> None:
    write_table(tmp_path / "towns.csv", TEXTS)
    partition(tmp_path / "towns.csv")
    table = 'op,src,dst,weight\ndelete,bert,01,\n\nset,anna,"Köln, Rhein",2\n'
    (tmp_path / "changes.csv").write_text(table)
    (tmp_path / "wrong.csv").write_text("op,src,dst\n\n\ndelete,bert,Anna\n")
    (tmp_path / "new.csv").write_text("src,dst,weight\n01,dora,4\n")
    with served(tmp_path, 2, tmp_path / "towns", "-q") as service:
        done = client(service, "update", "towns", tmp_path / "wrong.csv")
        assert (
            'wrong.csv: line 4: no vertex of the graph is named "Anna"' in done.stderr
        )
        done = client(service, "update", "towns", tmp_path / "changes.csv")
        assert done.stdout == "version=1\n", done
        done = client(service, "update", "towns", "--insert", tmp_path / "new.csv")
        assert done.stdout == "version=2\n", done
        done = client(service, "update", "towns", "--insert", tmp_path / "new.csv")
        assert 'the edge ("01", "dora") is there already' in done.stderr, done
        with mndmst.connect(service.address) as connection:
            towns = connection["towns"]
            expected = ordered(TEXTS) | {("Köln, Rhein", "anna"): 2, ("01", "dora"): 4}
            del expected["01", "bert"]
            assert edges_of(towns.edges()) == expected
            assert towns.set_weights(["emil"], ["dora"], [1]) == 3
            assert towns.delete(["dora"], ["01"]) == 4
            assert towns.connected("emil", "01") is False


def test_clients_give_and_get_the_ids_of_a_file_that_counts_from_1(
    service: Served, graphs: Any, tmp_path: Path
) -> None:
    roads, asked = graphs["roads"], ("connected", "roads")
    assert roads.nodes.tolist() == [1, 2, 3, 4]
    assert edges_of(roads.solve().table) == {(1, 2): 5, (2, 3): 7}
    assert roads.solve().labels.tolist() == [1, 1, 1, 4]
    assert roads.path_max(1, 3) == {"src": 2, "dst": 3, "weight": 7}
    for outside in (0, 5):
        with pytest.raises(InputError, match="the ids of roads run from 1 to 4"):
            roads.connected(outside, 1)
    assert "ids of roads run from 1 to 4" in client(service, *asked, 0, 1).stderr
    (found,) = rows(service, "path-max", "roads", 1, 3)
    assert [found[end] for end in ("src", "dst")] == ["2", "3"]
    (tmp_path / "pairs.csv").write_text("u,v\n1,2\n3,4\n")
    found = rows(service, "connected", "roads", "--pairs", tmp_path / "pairs.csv")
    assert [row["connected"] for row in found] == ["True", "False"]
    (tmp_path / "pairs.csv").write_text("u,v\n1,5\n")
    done = client(service, *asked, "--pairs", tmp_path / "pairs.csv")
    assert "no vertex 5: the ids of roads run from 1 to 4" in done.stderr, done
    found = rows(service, "components", "roads")
    assert [row["component"] for row in found] == ["1", "1", "1", "4"]
    (tmp_path / "new.csv").write_text("src,dst,weight\n3,4,1\n")
    client(service, "update", "roads", "--insert", tmp_path / "new.csv")
    roads.delete([1], [2])
    assert edges_of(roads.solve().table) == {(1, 3): 9, (2, 3): 7, (3, 4): 1}
