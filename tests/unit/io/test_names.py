"""Users' own names of vertices: numbered in their order, kept, checked, given back."""

import csv
import json
import re
import shutil
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pytest
from killed_partition import killed_in, without
from processes import Run
from test_partition import digest

from mndmst.host.errors import ConfigError, InputError
from mndmst.io.edge_file import Edges
from mndmst.io.file_access import write_attributes
from mndmst.io.formats import check_writer, open_edges, read_edges, write_edges
from mndmst.io.names import (
    LONGEST_NAME,
    PIECE,
    IntegerNames,
    NameIndex,
    NameKind,
    distinct_names,
    joined_names,
    names_of_keys,
    names_of_texts,
    names_of_values,
)
from mndmst.io.partitioner import write_parts as parts
from mndmst.io.partitioner.edge_survey import BufferSizes
from mndmst.io.partitioner.forked_processes import run_forked
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.results.graph_names import GraphNames
from mndmst.io.shards.sharded_graph import ShardedGraph, open_graph
from mndmst.io.shards.weight_columns import weights_of_same_edges

# Names that a careless reader or writer damages
ODD = (
    "a,b", 'say "hi"', "two\nlines", "tab\there", " blanks ", "01", "1", "é", "e\u0301",
    "Zürich", "東京", "#comment", "%", "a;b", "null", "-5", "1e5", "\u00a0", "x" * 4000,
)  # fmt: skip
MIXED = (1, "1", "a", -7, 2**70, 2.5, ["a", 1])


def made(file: Path, out: Path, jobs: int = 1, **options: object) -> ShardedGraph:
    given = Options(out, **{"parts": 3, "quiet": True, **options})
    return run_forked(jobs, partition, open_edges(file), given)


def path_of(names: tuple) -> dict:
    """Return node-link data of a path, whose edges weigh 0, 1, 2, ..."""
    pairs = pairwise(names)
    return {
        "directed": False,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": name} for name in (*names, "alone")],
        "edges": [
            {"source": u, "target": v, "weight": w} for w, (u, v) in enumerate(pairs)
        ],
    }


def named_edges(edges: Edges) -> dict[frozenset[str], float]:
    """Return the weights of edges by their names."""
    texts = edges.names.texts()
    columns = edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist()
    return {
        frozenset((texts[u], texts[v])): w for u, v, w in zip(*columns, strict=True)
    }


def all_names(graph: ShardedGraph) -> list[str]:
    return graph.read_names(0, graph.num_vertices).texts()


def ncol(path: Path, edges: int = 900, seed: int = 3) -> Path:
    """Write an edge list of words of many lengths, each vertex several times."""
    rng = np.random.default_rng(seed)
    words = [f"{'v' * (k % 7)}{k:x}{'é' * (k % 3)}" for k in range(edges // 3)]
    lines = [f"{u} {v} {w}" for w, (u, v) in enumerate(rng.choice(words, (edges, 2)))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("names", [ODD, MIXED], ids=["texts", "mixed"])
@pytest.mark.parametrize("reorder", ["none", "degree"])
def test_json_keeps_names_in_their_order_and_isolated_nodes(
    tmp_path: Path, names: tuple, reorder: str
) -> None:
    file = tmp_path / "g.json"
    file.write_text(json.dumps(path_of(names)))
    graph = made(file, tmp_path / "g", reorder=reorder)
    expected = [
        name if names is ODD else json.dumps(name) for name in (*names, "alone")
    ]
    assert sorted(all_names(graph)) == sorted(expected)
    if reorder == "none":
        assert all_names(graph) == sorted(expected)
    assert graph.names is (NameKind.TEXT if names is ODD else NameKind.JSON)
    write_edges(read_edges(tmp_path / "g"), tmp_path / "again.json")
    found = json.loads((tmp_path / "again.json").read_text())
    written = {json.dumps(node["id"]) for node in found["nodes"]}
    assert written == {json.dumps(name) for name in (*names, "alone")}
    assert (
        made(tmp_path / "again.json", tmp_path / "h").uuid
        == made(file, tmp_path / "i").uuid
    )


@pytest.mark.parametrize(
    ("suffix", "odd"),
    [
        (".csv", tuple(name for name in ODD if "\n" not in name)),
        (".tsv", tuple(name for name in ODD if "\n" not in name)),
        (".parquet", ODD),
        (".json", ODD),
        (".graphml", ODD),
        (".gexf", tuple(name for name in ODD if name.strip() == name)),
        (".gml", ODD),
        (".net", tuple(n for n in ODD if not set(n) & set("\"'\\\n\r\t"))),
        (".ncol", tuple(n for n in ODD if n.split() == [n])),
    ],
)
def test_names_survive_in_every_format_that_has_them(
    tmp_path: Path, suffix: str, odd: tuple
) -> None:
    (tmp_path / "g.json").write_text(json.dumps(path_of(odd)))
    edges = read_edges(tmp_path / "g.json")
    target = tmp_path / f"out{suffix}"
    write_edges(edges, target)
    if suffix in (".csv", ".tsv"):
        with target.open(newline="") as file:
            rows = list(csv.reader(file, delimiter="," if suffix == ".csv" else "\t"))
        assert rows[0] == ["source", "target", "weight"]
        found = {frozenset(row[:2]): int(row[2]) for row in rows[1:]}
    elif suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = parquet.read_table(target).to_pylist()
        found = {frozenset((r["source"], r["target"])): r["weight"] for r in rows}
    else:
        found = named_edges(read_edges(target))
    assert found == named_edges(edges)


@pytest.mark.parametrize(
    ("suffix", "name"),
    [
        (".csv", "a\nb"),
        (".tsv", "a\nb"),
        (".graphml", "a\x01"),
        (".net", 'a"b'),
        (".ncol", "a b"),
    ],
)
def test_a_format_refuses_names_that_it_cannot_hold(
    tmp_path: Path, suffix: str, name: str
) -> None:
    (tmp_path / "g.json").write_text(json.dumps(path_of((name, "b"))))
    edges = read_edges(tmp_path / "g.json")
    with pytest.raises(ConfigError, match=rf"out\{suffix}: the name .*\.json"):
        write_edges(edges, tmp_path / f"out{suffix}")
    assert not (tmp_path / f"out{suffix}").exists()


def test_formats_of_numbers_refuse_names(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(json.dumps(path_of(("a", "b"))))
    edges = read_edges(tmp_path / "g.json")
    for suffix in (".gr", ".mtx", ".npz", ".txt"):
        with pytest.raises(ConfigError, match=r"no place\. Give .*--numbers"):
            write_edges(edges, tmp_path / f"out{suffix}")


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        ([2**63, 2**64 - 1, 5], NameKind.UINT64),
        ([-(2**63), 2**63 - 1, 0], NameKind.INT64),
        ([-1, 2**63], NameKind.JSON),
        ([12_000_000_000, 7], NameKind.INT64),
    ],
)
def test_large_and_negative_integers_are_names(
    tmp_path: Path, ids: list[int], kind: NameKind
) -> None:
    graph = {"nodes": [{"id": i} for i in ids], "edges": []}
    graph["edges"] = [{"source": ids[0], "target": ids[1]}]
    (tmp_path / "g.json").write_text(json.dumps(graph))
    found = made(tmp_path / "g.json", tmp_path / "g")
    assert found.names is kind
    values = found.read_names(0, len(ids)).values()
    assert sorted(values) == sorted(ids)
    if kind is not NameKind.JSON:
        assert values == sorted(ids)


def test_ids_from_0_on_stay_numbers_in_any_order(tmp_path: Path) -> None:
    graph = {
        "nodes": [{"id": 2}, {"id": 0}, {"id": 1}],
        "links": [{"source": 2, "target": 0, "weight": 5}],
    }
    (tmp_path / "g.json").write_text(json.dumps(graph))
    edges = read_edges(tmp_path / "g.json")
    assert edges.names is None
    assert (edges.src.tolist(), edges.dst.tolist()) == ([2], [0])


def test_nodes_may_have_keys_in_place_of_ids(tmp_path: Path) -> None:
    graph = {
        "nodes": [{"key": "b"}, {"key": "a"}],
        "edges": [{"source": "a", "target": "b", "weight": 2}],
    }
    (tmp_path / "g.json").write_text(json.dumps(graph))
    assert named_edges(read_edges(tmp_path / "g.json")) == {frozenset("ab"): 2}


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (["a", ""], "name 2 is empty"),
        (["a", "x" * (LONGEST_NAME + 1)], r"name 2 \(xxx.*65,537 bytes"),
        (["a", "\ud800"], "name 2 has half of a surrogate pair"),
        (["a", None], "name 2 is None"),
        (["a", {"b": 1}], r"name 2 is \{'b': 1\}"),
        (["a", "b", "a"], "two nodes have the id a"),
        ([1, 1.5, float("nan")], "name 3 is nan"),
    ],
)
def test_what_is_not_a_name_is_refused_with_its_place(
    tmp_path: Path, ids: list, why: str
) -> None:
    graph = {"nodes": [{"id": i} for i in ids], "edges": []}
    (tmp_path / "g.json").write_text(json.dumps(graph))
    with pytest.raises(InputError, match=why):
        read_edges(tmp_path / "g.json")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"a b 1\na b c d\n", r"g\.ncol: line 2 is not \"name name weight\""),
        (b"a b 1\na c nan\n", r"g\.ncol: line 2 has a weight that is not a number"),
        (b"a b 1\nb c 1_0\n", "line 2 has a weight that is not a number"),
        (b"a b 1\n\xff b 1\n", "is not UTF-8"),
        (b"\na b 1\nb c\n", "line 3 has no weight, and the first edge has one"),
        (b"a b\n\nb c 1\n", "line 3 has a weight, and the first edge has none"),
        (b"a b " + str(2**70).encode() + b"\n", "line 1 has a weight"),
    ],
)
def test_a_wrong_line_of_ncol_is_named(tmp_path: Path, text: bytes, why: str) -> None:
    (tmp_path / "g.ncol").write_bytes(text)
    with pytest.raises(InputError, match=why):
        made(tmp_path / "g.ncol", tmp_path / "g")


@pytest.mark.parametrize("reorder", ["none", "degree"])
def test_any_number_of_processes_and_little_memory_make_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reorder: str
) -> None:
    file = ncol(tmp_path / "g.ncol")
    whole = made(file, tmp_path / "whole", reorder=reorder)
    monkeypatch.setattr("mndmst.io.formats.edge_text.TextFile.piece_bytes", 500)
    sizes = BufferSizes(fewest_names=4000, most_names=4000, slice_edges=30)
    for jobs in (1, 3):
        out = tmp_path / f"{jobs}"
        assert made(file, out, jobs, reorder=reorder, sizes=sizes).uuid == whole.uuid
        assert digest(out) == digest(tmp_path / "whole")
        assert not out.with_name(f"{jobs}.partition-work").exists()
    if reorder == "none":
        words = {w for line in file.read_text().split("\n") for w in line.split()[:2]}
        assert all_names(whole) == sorted(words)


@pytest.mark.parametrize("reorder", ["none", "degree"])
def test_a_killed_run_goes_on_with_its_names(tmp_path: Path, reorder: str) -> None:
    file = ncol(tmp_path / "g.ncol")
    expected = made(file, tmp_path / "whole", reorder=reorder)
    given = {"restart": True, "reorder": reorder}

    for place in ("write_part", "write_json"):
        with killed_in(place, modules=(parts,)):
            made(file, tmp_path / "g", **given)
    with without("save_names"):
        graph = made(file, tmp_path / "g", **given)
    assert graph.uuid == expected.uuid
    assert digest(tmp_path / "g") == digest(tmp_path / "whole")


def test_names_are_part_of_what_a_graph_is_called_by(tmp_path: Path) -> None:
    uuids = set()
    for k, names in enumerate([("a", "b"), ("a", "c"), (5, 7), ("5", "7")]):
        file = tmp_path / f"{k}.json"
        file.write_text(
            json.dumps(path_of(names) | {"nodes": [{"id": n} for n in names]})
        )
        uuids.add(made(file, tmp_path / f"{k}").uuid)
    assert len(uuids) == 4


def test_a_graph_without_names_has_no_trace_of_them(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("0 1 5\n1 2 3\n")
    graph = made(tmp_path / "g.txt", tmp_path / "g", parts=1)
    assert graph.uuid == "4cbc1a98-2a86-5e17-a24d-8b06a2e014bd"
    with h5py.File(graph.parts[0]) as part:
        assert sorted(part) == ["graph", "vtxdist"]
        assert "names" not in part.attrs


def test_a_graph_of_shards_keeps_its_names(tmp_path: Path) -> None:
    first = made(ncol(tmp_path / "g.ncol"), tmp_path / "g", reorder="bfs")
    again = made(tmp_path / "g", tmp_path / "again", jobs=2, parts=2)
    plain = made(tmp_path / "g.ncol", tmp_path / "plain", parts=4)
    assert again.uuid == plain.uuid != first.uuid
    assert all_names(again) == sorted(all_names(first))


def test_weights_come_only_from_a_graph_with_the_same_names(tmp_path: Path) -> None:
    graphs = []
    for k, names in enumerate([("a", "b"), ("a", "b"), ("a", "c"), (5, 7)]):
        file = tmp_path / f"{k}.json"
        file.write_text(json.dumps(path_of(names)))
        graphs.append(made(file, tmp_path / f"{k}"))
    first, same, *others = graphs
    assert [w.tolist() for w in weights_of_same_edges(first, same)] == [[0]]
    for other in others:
        with pytest.raises(InputError, match="Give a graph with the same edges"):
            list(weights_of_same_edges(first, other))


def test_names_are_read_at_any_positions(tmp_path: Path) -> None:
    graph = made(ncol(tmp_path / "g.ncol"), tmp_path / "g", reorder="degree")
    texts, names = all_names(graph), GraphNames(graph)
    positions = np.array([5, 0, graph.num_vertices - 1, 5, 17])
    assert names.take(positions).texts() == [texts[k] for k in positions]
    with names.held():
        assert names.take(positions).texts() == [texts[k] for k in positions]
    wanted = names.take(positions)
    assert names.find(wanted).tolist() == positions.tolist()
    assert names.find(names_of_values("", ["missing", texts[3]])).tolist() == [-1, 3]


@pytest.fixture
def named(tmp_path: Path) -> ShardedGraph:
    (tmp_path / "g.json").write_text(json.dumps(path_of(("aa", "bé", "ccc"))))
    return made(tmp_path / "g.json", tmp_path / "g", parts=1)


def damaged(graph: ShardedGraph, change: Callable[[h5py.File], None]) -> ShardedGraph:
    with h5py.File(graph.parts[0], "r+") as part:
        change(part)
    return open_graph(graph.location, check=False)


def replaced(part: h5py.File, name: str, data: np.ndarray) -> None:
    del part[name]
    part.create_dataset(name, data=data, chunks=(max(1, len(data)),), fletcher32=True)


@pytest.mark.parametrize(
    "begins",
    [
        [0, 2, 1, 8, 13],  # falls
        [0, 2, 2, 8, 13],  # an empty name
        [0, 2, 7, 10, 99],  # beyond the text
        [-1, 2, 7, 10, 13],
        [1, 2, 7, 10, 13],  # something before the first name
        [0, 2, 7, 10, 12],  # something behind the last name
        [0, 2, 7, 10, -5],
        [0, 2**62, 7, 10, 13],
    ],
)
def test_hostile_begins_of_names_are_refused(
    named: ShardedGraph, begins: list[int]
) -> None:
    graph = damaged(
        named, lambda part: replaced(part, "names/begins", np.array(begins, np.int64))
    )
    with pytest.raises(InputError, match=r"part-00000\.h5: where its names begin"):
        graph.read_names(0, 4)


def test_other_hostile_names_are_refused(named: ShardedGraph) -> None:
    length = len("aa" + "alone" + "bé" + "ccc") + 1

    def read(name: str, data: np.ndarray) -> None:
        copy = named.location.with_name("copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(named.location, copy)
        graph = open_graph(copy, check=False)
        damaged(graph, lambda part: replaced(part, name, data)).read_names(0, 4)

    read("names/text", np.full(length, ord("x"), np.uint8))
    with pytest.raises(InputError, match="is not UTF-8"):
        read("names/text", np.full(length, 0xFF, np.uint8))
    # The letter é lies in two names: each half alone is not text
    with pytest.raises(InputError, match="is not UTF-8"):
        read("names/begins", np.array([0, 2, 7, 9, length], np.int64))
    with pytest.raises(InputError, match="type int32"):
        read("names/begins", np.array([0, 2, 7, 10, length], np.int32))
    with pytest.raises(InputError, match="has 4 entries where 5 are expected"):
        read("names/begins", np.array([0, 2, 7, length], np.int64))
    with pytest.raises(InputError, match="a name has 70,000 bytes"):
        many = np.full(70_009, ord("x"), np.uint8)
        copy = named.location.with_name("copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(named.location, copy)
        graph = open_graph(copy, check=False)
        damaged(graph, lambda part: replaced(part, "names/text", many))
        begins = np.array([0, 2, 7, 9, 70_009], np.int64)
        damaged(graph, lambda part: replaced(part, "names/begins", begins)).read_names(
            0, 4
        )


def test_names_of_another_kind_than_the_index_says_are_refused(
    named: ShardedGraph,
) -> None:
    graph = damaged(named, lambda part: write_attributes(part, {"names": "json"}))
    with pytest.raises(InputError, match="its names are json, not text"):
        graph.read_names(0, 4)
    with h5py.File(named.path, "r+") as index:
        write_attributes(index, {"names": "pickle"})
    with pytest.raises(InputError, match="names of the kind pickle"):
        open_graph(named.location)


@pytest.mark.parametrize("kind", [NameKind.TEXT, NameKind.INT64, NameKind.UINT64])
def test_names_sort_find_and_join_like_python(kind: NameKind) -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        if kind is NameKind.TEXT:
            letters = np.array([0, 97, 98, 255], np.uint8)
            keys = [rng.choice(letters, rng.integers(1, 4)).tobytes() for _ in range(9)]
        else:
            low = -(2**63) if kind is NameKind.INT64 else 0
            keys = [low, 2**63 - 1, *map(int, rng.integers(0, 5, 7))]
        names = names_of_keys(kind, keys)
        ordered, positions = distinct_names(names)
        assert list(ordered.keys()) == sorted(set(keys))
        assert [ordered.keys()[k] for k in positions] == keys
        assert ordered.ascend() and not joined_names([names, names]).ascend()
        wanted, _ = distinct_names(names_of_keys(kind, keys[:4]))
        some = ordered.take(np.arange(0, len(ordered), 2))
        known = {key: k for k, key in enumerate(some.keys())}
        expected = [known.get(key, -1) for key in list(wanted.keys())]
        assert some.find(wanted).tolist() == expected
        shuffled = ordered.take(rng.permutation(len(ordered)))
        index = NameIndex.of(shuffled.take(slice(0, len(ordered) - 1)))
        known = {key: k for k, key in enumerate(list(shuffled.keys())[:-1])}
        assert index.find(names).tolist() == [known.get(key, -1) for key in keys]


def test_an_empty_list_of_names_is_one() -> None:
    for kind in NameKind:
        names = names_of_keys(kind, [])
        assert len(names) == 0 and names.texts() == []
        assert isinstance(names, IntegerNames) is kind.is_integer


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_a_graphml_bomb_is_refused(tmp_path: Path, mndmst: Callable[..., Run]) -> None:
    levels = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    (tmp_path / "g.graphml").write_text(
        f'<!DOCTYPE x [<!ENTITY e0 "bomb">{levels}]>'
        '<graphml><graph><node id="&e11;"/></graph></graphml>'
    )
    run = mndmst("partition", tmp_path / "g.graphml", tmp_path / "g")
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith("mndmst: error: ")


def test_the_order_of_names_is_seen_across_pieces():
    texts = [f"{i:06}" for i in range(PIECE + 3)]
    assert names_of_texts("it", texts).ascend()
    for i in (PIECE - 2, PIECE - 1, PIECE):
        swapped = [*texts[:i], texts[i + 1], texts[i], *texts[i + 2 :]]
        assert not names_of_texts("it", swapped).ascend()


LEDA = (
    "LEDA.GRAPH\nstring\nint\n# c\n-1\n\n3\n|{a}|\n|{LABEL}|\n|{b}|\n1\n1 3 0 |{4}|\n"
)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (
            "g.net",
            '*Vertices 3\n1 "a"\n2 "a"\n3 "b"\n*Edges\n1 3 2\n',
            "lists 3 vertices, and their labels are 2 different ones",
        ),
        (
            "g.net",
            '*vertices 2\n1 "a"\n2 "b"\n*arcs\n1 3 2\n',
            "line 5 names vertex 3, but ids run from 1 to 2",
        ),
        (
            "g.leda",
            LEDA.replace("LABEL", "a"),
            "lists 3 nodes, and NetworkX reads 2: two nodes have one id or label",
        ),
    ],
)
def test_labels_that_are_not_those_of_one_listed_vertex(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    pytest.importorskip("networkx", reason="reads the formats")
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=why):
        read_edges(tmp_path / name)
    text = (
        text.replace('2 "a"', '2 "c"')
        .replace("1 3 2", "1 2 2")
        .replace("{a}", "{c}", 1)
    )
    (tmp_path / name).write_text(text)
    assert len(read_edges(tmp_path / name)) == 1


def test_a_refused_name_lists_formats_that_are_written(tmp_path: Path) -> None:
    names = names_of_values("g", ["a", "b"])
    edges = Edges(2, np.array([0]), np.array([1]), np.array([1]), names=names)
    with pytest.raises(ConfigError, match="no place") as caught:
        write_edges(edges, tmp_path / "g.mtx")
    listed = re.findall(r"\.[a-z]+(?=[, ])", str(caught.value).partition("in ")[2])
    assert ".csv" in listed and ".leda" not in listed
    for suffix in listed:
        check_writer(tmp_path / f"g{suffix}")
