"""Vertices by name: strings, UUIDs, tuples and large integers, in and out."""

import uuid
import warnings
from datetime import date

import graphs
import networkx
import numpy as np
import oracle
import pandas
import pytest
from hypothesis import given, settings

import mndmst
from mndmst import ConfigError, InputError, NamedForest
from mndmst.io.formats import open_edges

FROM = ["Ulm", "Bonn", "Jena", "Kiel", "Bonn"]
TO = ["Bonn", "Jena", "Ulm", "Lund", "Bonn"]
ROUTES = [
    ("Ulm", "Bonn", 5),
    ("Bonn", "Jena", 3),
    ("Jena", "Ulm", 4),
    ("Kiel", "Lund", 1),
]


@pytest.fixture
def forest() -> NamedForest:
    found = mndmst.minimum_spanning_forest(ROUTES)
    assert isinstance(found, NamedForest)
    return found


def test_a_forest_answers_in_names(forest: NamedForest) -> None:
    assert forest.nodes.tolist() == ["Bonn", "Jena", "Kiel", "Lund", "Ulm"]
    assert list(forest) == [
        ("Bonn", "Jena", 3),
        ("Jena", "Ulm", 4),
        ("Kiel", "Lund", 1),
    ]
    assert forest.edges.tolist()[0] == ["Bonn", "Jena"]
    assert forest.labels.tolist() == ["Bonn", "Bonn", "Kiel", "Kiel", "Bonn"]
    assert forest.edge_ids.tolist() == [1, 2, 3]
    assert [part.tolist() for part in forest.components()] == [
        ["Bonn", "Jena", "Ulm"], ["Kiel", "Lund"],
    ]  # fmt: skip
    assert forest.num_trees == 2 and forest.is_unique
    assert repr(forest) == "NamedForest(3 edges, 2 trees, total weight 8)"
    assert "Bonn &ndash; Jena (3)" in forest._repr_html_()


def test_queries_take_names(forest: NamedForest) -> None:
    assert forest.connected("Ulm", "Bonn") is True
    assert forest.connected("Ulm", "Kiel") is False
    assert forest.connected(["Ulm", "Kiel"], np.array(["Kiel", "Lund"])).tolist() == [
        False, True,
    ]  # fmt: skip
    position = forest.path_max("Ulm", "Bonn")
    assert (forest.src[position], forest.dst[position]) == ("Jena", "Ulm")
    assert forest.edges[forest.path("Ulm", "Bonn")].tolist() == [
        ["Jena", "Ulm"], ["Bonn", "Jena"],
    ]  # fmt: skip
    assert forest.cut(below=4).tolist() == ["Bonn", "Bonn", "Kiel", "Kiel", "Ulm"]
    assert forest.component_sizes().tolist() == [3, 2]
    for wrong in ("Rome", 3, None, ("Ulm",)):
        with pytest.raises(InputError, match="no vertex named"):
            forest.connected("Ulm", wrong)
    with pytest.raises(InputError, match="no vertex can be named"):
        forest.connected("Ulm", {"Ulm"})


def test_numbers_are_positions_in_nodes(forest: NamedForest) -> None:
    numbers = forest.numbers
    assert numbers.edges.tolist() == [[0, 1], [1, 4], [2, 3]]
    assert numbers.numbers is numbers
    assert forest.number_of("Ulm") == 4
    assert forest.number_of(["Kiel", "Bonn"]).tolist() == [2, 0]
    assert forest.nodes[numbers.src].tolist() == forest.src.tolist()
    assert forest.digest == numbers.digest


@pytest.mark.parametrize("asked", [np.int64, np.uint64, object])
def test_integers_of_other_types_are_found_exactly(asked: type) -> None:
    """float64 holds none of these names, and would hold both types."""
    near = [(1 << 62) + 1, (1 << 62) + 2]
    for last, kind in (((1 << 62) + 3, np.int64), ((1 << 63) + 1, np.uint64)):
        names = np.array([*near, last], kind)
        forest = mndmst.minimum_spanning_forest(names[:2], names[1:], [1, 2])
        assert forest.number_of(np.array(near[::-1], asked)).tolist() == [1, 0]
        for wrong in (5, 1 << 62):
            with pytest.raises(InputError, match=f"no vertex named {wrong}"):
                forest.number_of(np.array([near[0], wrong], asked))
    with pytest.raises(InputError, match="no vertex named -1"):
        forest.number_of(np.array([-1]))


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_times_find_the_vertices_that_they_name(unit: str) -> None:
    days = np.array(["2024-03-01", "2024-01-01", "2024-02-01"], f"M8[{unit}]")
    forest = mndmst.minimum_spanning_forest(days[:2], days[1:], [1, 2])
    assert forest.number_of(days).tolist() == [2, 0, 1]
    assert forest.number_of(days[0]) == 2
    with pytest.raises(InputError, match="no vertex named"):
        forest.number_of(days + np.timedelta64(1, unit))


def test_exports_have_names(forest: NamedForest, tmp_path) -> None:
    table = forest.to_pandas()
    assert table.values.tolist() == list(map(list, forest))
    tree = forest.to_networkx()
    assert set(tree) == set(forest.nodes)
    assert tree["Jena"]["Ulm"]["weight"] == 4
    assert forest.to_scipy().toarray()[1, 4] == 4
    assert forest.linkage().tolist() == forest.numbers.linkage().tolist()
    for unnamed in ("f.h5", "f.mtx"):
        with pytest.raises(ConfigError, match=r"\.csv.*or .*forest\.numbers\.write"):
            forest.write(tmp_path / unnamed)
    forest.numbers.write(tmp_path / "f.h5")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".graphml"])
@pytest.mark.parametrize("ascending", [True, False])
def test_a_forest_is_written_under_its_names(
    tmp_path, suffix: str, ascending: bool
) -> None:
    nodes = ["Bonn, W", "Jena", "Köln", "Ulm"][:: 1 if ascending else -1]
    ends = ["Ulm", "Jena", "Ulm"], ["Jena", "Bonn, W", "Bonn, W"]
    forest = mndmst.minimum_spanning_forest(*ends, [4.5, 1, 9], nodes=nodes)
    path = tmp_path / f"forest{suffix}"
    forest.write(path)
    opened = open_edges(path).read()
    names = opened.names.texts()
    edges = zip(opened.src, opened.dst, opened.weight, strict=True)
    found = {(frozenset((names[u], names[v])), w) for u, v, w in edges}
    assert found == {(frozenset((u, v)), w) for u, v, w in forest}
    assert len(found) == 2
    isolated = suffix in (".json", ".graphml")  # tables have edges alone
    assert ("Köln" in names) == isolated
    with pytest.raises(ConfigError, match=r"only \.h5 files have labels"):
        forest.write(path, labels=True)


def test_names_that_files_cannot_hold_are_refused(tmp_path) -> None:
    days = [date(2024, 1, 1), date(2024, 1, 2)]
    forest = mndmst.minimum_spanning_forest(days[:1], days[1:], [1])
    with pytest.raises(InputError, match="does not name a vertex"):
        forest.write(tmp_path / "f.csv")
    assert not list(tmp_path.iterdir())


def renamed(kind: str, count: int) -> list:
    """Return distinct names of one kind, which ascend."""
    return {
        "strings": lambda: [f"v{i:05}" for i in range(count)],
        "bytes": lambda: [f"v{i:05}".encode() for i in range(count)],
        "uuids": lambda: [uuid.UUID(int=(1 << 90) + i) for i in range(count)],
        "tuples": lambda: [(i // 9, i % 9) for i in range(count)],
        "osm": lambda: [12_000_000_000 + 7 * i for i in range(count)],
        "huge": lambda: [(1 << 100) + i for i in range(count)],
        "days": lambda: [date.fromordinal(700_000 + i) for i in range(count)],
    }[kind]()


KINDS = ["strings", "bytes", "uuids", "tuples", "osm", "huge", "days"]


@pytest.mark.parametrize("kind", KINDS)
def test_names_give_the_forest_of_numbers(kind: str) -> None:
    """Names that ascend as the numbers do decide ties in the same way."""
    graph = graphs.random(60, 150, 5)
    weight = np.random.default_rng(5).integers(0, 6, 150)
    names = renamed(kind, graph.n)
    ends = [[names[v] for v in end.tolist()] for end in (graph.src, graph.dst)]
    forest = mndmst.minimum_spanning_forest(*ends, weight, nodes=names)
    answer = oracle.kruskal(graph.n, graph.src, graph.dst, weight)
    assert forest.nodes.tolist() == names
    assert [names.index(u) for u in forest.src.tolist()] == answer.src.tolist()
    assert [names.index(v) for v in forest.dst.tolist()] == answer.dst.tolist()
    assert forest.numbers.digest == answer.digest
    labels = oracle.smallest_of_trees(graph.n, answer.src, answer.dst)
    assert forest.labels.tolist() == [names[v] for v in labels.tolist()]


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_does_not_matter(kind: str) -> None:
    names = renamed(kind, 12)
    random = np.random.default_rng(6)
    rows = [(names[u], names[v], int(w)) for u, v, w in random.integers(0, 12, (40, 3))]
    first = list(mndmst.minimum_spanning_forest(rows))
    for _ in range(10):
        random.shuffle(rows)
        assert list(mndmst.minimum_spanning_forest(list(map(tuple, rows)))) == first


@settings(deadline=None, max_examples=30)
@given(graphs.graphs())
def test_any_graph_by_name(graph: graphs.Graph) -> None:
    names = np.array([f"{v:06}" for v in range(graph.n)], dtype="U6")
    forest = mndmst.minimum_spanning_forest(
        names[graph.src], names[graph.dst], graph.weight, nodes=names
    )
    answer = oracle.kruskal(*graph)
    assert forest.numbers.digest == answer.digest
    assert forest.num_trees == answer.trees


def test_arrays_of_names() -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars", reason="reads columns of Polars")
    src, dst = FROM, TO
    weight = [5, 3, 4, 1, 0]
    expected = list(mndmst.minimum_spanning_forest(src, dst, weight))
    for make in (
        np.array,
        lambda words: np.array(words, object),
        pandas.Series,
        lambda words: pandas.Series(words, dtype="category"),
        lambda words: pandas.array(words, dtype="string"),
        arrow.array,
        lambda words: arrow.chunked_array([words[:2], words[2:]]),
        lambda words: arrow.array(words).dictionary_encode(),
        polars.Series,
        tuple,
    ):
        forest = mndmst.minimum_spanning_forest(make(src), make(dst), weight)
        assert list(forest) == expected


def test_integers_are_numbers_until_they_are_far_apart() -> None:
    near = mndmst.minimum_spanning_forest([0, 5], [5, 9], [1, 2])
    assert not isinstance(near, NamedForest) and near.num_vertices == 10
    far = mndmst.minimum_spanning_forest([0, 5], [5, 1 << 40], [1, 2])
    assert isinstance(far, NamedForest) and far.num_vertices == 3
    assert list(far) == [(0, 5, 1), (5, 1 << 40, 2)]
    assert far.connected(0, 1 << 40)
    given = mndmst.minimum_spanning_forest([0, 5], [5, 1 << 25], [1, 2], (1 << 25) + 1)
    assert not isinstance(given, NamedForest)
    ids = np.array([1 << 63, 1 << 30], np.uint64)
    wide = mndmst.minimum_spanning_forest(ids, ids[::-1], [3, 4])
    assert list(wide) == [(1 << 30, 1 << 63, 3)]
    mixed = mndmst.minimum_spanning_forest(
        np.array([-5, 1 << 40]), np.array([1 << 63, 7], np.uint64), [3, 4],
        nodes=[-5, 7, 1 << 40, 1 << 63],
    )  # fmt: skip
    assert list(mixed) == [(-5, 1 << 63, 3), (7, 1 << 40, 4)]


def test_isolated_vertices_are_named() -> None:
    forest = mndmst.minimum_spanning_forest(["a"], ["c"], [1], nodes=["c", "b", "a"])
    assert forest.nodes.tolist() == ["a", "b", "c"]
    assert forest.num_trees == 2
    with pytest.raises(InputError, match="an edge joins 'c', which nodes lacks"):
        mndmst.minimum_spanning_forest(["a"], ["c"], [1], nodes=["a"])
    with pytest.raises(InputError, match="nodes has 'a' more than once"):
        mndmst.minimum_spanning_forest(["a"], ["c"], [1], nodes=["a", "c", "a"])
    plain = mndmst.minimum_spanning_forest([0], [2], [1], nodes=[2, 1, 0])
    assert not isinstance(plain, NamedForest) and plain.num_trees == 2


def test_names_without_an_order_keep_that_of_their_first_occurrence() -> None:
    forest = mndmst.minimum_spanning_forest([("x", 1, 3), (1, (2, "y"), 4)])
    assert forest.nodes.tolist() == ["x", 1, (2, "y")]
    assert forest.connected("x", (2, "y"))


def test_an_integer_and_a_text_are_two_names() -> None:
    forest = mndmst.minimum_spanning_forest([(1, "a", 3), ("1", "a", 4)])
    assert forest.num_vertices == 3


@pytest.mark.parametrize(
    ("src", "dst", "message"),
    [
        (["a", None], ["b", "c"], "src has None"),
        (["a", float("nan")], ["b", "c"], "src has nan"),
        ([0.5, 1.0], [1, 2], "src has values of type float64"),
        ([True, False], [1, 2], "src has values of type bool"),
        ([["a"], ["b"]], ["b", "c"], "hashable"),
        (np.array(["a", "b"]), np.array([1, 2]), "several types"),
        (["a", "b"], [1, 2], "several types"),
        (np.array(["2024-01-01", "NaT"], "M8[D]"), ["b", "c"], "NaT"),
        ("ab", ["b", "c"], "src is a value of type str"),
    ],
)
def test_values_that_are_no_names(src, dst, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mndmst.minimum_spanning_forest(src, dst, [1, 2])


def test_names_do_not_go_with_a_number_of_vertices() -> None:
    with pytest.raises(InputError, match="give all names as nodes"):
        mndmst.minimum_spanning_forest(["a"], ["b"], [1], num_vertices=2)


def random_networkx(kind: type, seed: int = 3) -> networkx.Graph:
    random = np.random.default_rng(seed)
    graph = kind()
    graph.add_nodes_from(f"n{i}" for i in range(30))
    for u, v, w in random.integers(0, 30, (60, 3)).tolist():
        graph.add_edge(f"n{u}", f"n{v}", weight=w, length=w + 0.5)
    return graph


@pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
def test_graphs_of_networkx(kind: str) -> None:
    graph = random_networkx(getattr(networkx, kind))
    forest = mndmst.minimum_spanning_forest(graph)
    undirected = networkx.MultiGraph()
    undirected.add_nodes_from(graph)
    undirected.add_edges_from(graph.edges(data=True))
    expected = networkx.minimum_spanning_tree(undirected)
    assert forest.total_weight == expected.size("weight")
    assert set(forest.nodes) == set(graph)
    edges = list(graph.edges(data="weight"))
    for (u, v, w), position in zip(forest, forest.edge_ids.tolist(), strict=True):
        assert {u, v} == set(edges[position][:2]) and w == edges[position][2]
    by_length = mndmst.minimum_spanning_forest(graph, weight="length")
    assert by_length.total_weight == forest.total_weight + 0.5 * len(forest)


def test_weights_of_graphs_follow_the_rule_of_files() -> None:
    """`weight`, else a known name; numbers of unknown meaning are refused."""
    graph = networkx.Graph()
    graph.add_edge("a", "b", osmid=5, length=2.5, lanes=2)
    assert mndmst.minimum_spanning_forest(graph).total_weight == 2.5
    graph.add_edge("b", "c", length=1.0, weight=1)
    with pytest.raises(InputError, match=r"the edge \('a', 'b'\) has no weight"):
        mndmst.minimum_spanning_forest(graph)
    with pytest.raises(ConfigError, match="no edge has an attribute 'cost'"):
        mndmst.minimum_spanning_forest(graph, weight="cost")
    path = networkx.path_graph(4)
    assert mndmst.minimum_spanning_forest(path).total_weight == 3
    assert len(mndmst.minimum_spanning_forest(networkx.Graph())) == 0


@pytest.mark.parametrize("names", [("lanes",), ("cost", "length")])
def test_weights_of_graphs_are_never_guessed(names: tuple[str, ...]) -> None:
    graph = networkx.Graph()
    graph.add_edge("a", "b", **dict.fromkeys(names, 2.5))
    with pytest.raises(InputError, match=f"weight={names[0]!r}") as caught:
        mndmst.minimum_spanning_forest(graph)
    assert "--" not in str(caught.value)


def test_graphs_of_igraph() -> None:
    igraph = pytest.importorskip("igraph", reason="reads graphs of igraph")
    graph = igraph.Graph.TupleList(ROUTES, weights=True)
    forest = mndmst.minimum_spanning_forest(graph)
    assert sorted(map(frozenset, forest.edges.tolist()), key=sorted) == sorted(
        (frozenset(edge[:2]) for edge in ROUTES[1:]), key=sorted
    )
    assert graph.es[forest.edge_ids.tolist()]["weight"] == forest.weight.tolist()
    unnamed = igraph.Graph([(0, 1), (1, 2), (0, 2)], edge_attrs={"cost": [1.0, 2, 3]})
    forest = mndmst.minimum_spanning_forest(unnamed, weight="cost")
    assert list(forest) == [(0, 1, 1.0), (1, 2, 2.0)]


def test_an_empty_weight_gives_each_edge_of_a_graph_1() -> None:
    networkx = pytest.importorskip("networkx", reason="makes a graph")
    graph = networkx.Graph()
    graph.add_edge("a", "b", weight=5)
    graph.add_edge("b", "c", cost=7.5)
    with pytest.raises(InputError, match="or give weight='' for weight 1"):
        mndmst.minimum_spanning_forest(graph, weight="cost")
    assert mndmst.minimum_spanning_forest(graph, weight="").total_weight == 2
    igraph = pytest.importorskip("igraph", reason="makes a graph")
    graph = igraph.Graph([(0, 1), (1, 2)], edge_attrs={"weight": [5, 6]})
    assert mndmst.minimum_spanning_forest(graph, weight="").total_weight == 2


def test_graphs_of_rustworkx() -> None:
    rustworkx = pytest.importorskip("rustworkx", reason="reads graphs of rustworkx")
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(["a", "b", "c", "d"])
    graph.remove_node(1)
    graph.add_edges_from([(0, 2, 5.0), (2, 3, 1.5), (0, 3, 2.5)])
    forest = mndmst.minimum_spanning_forest(graph)
    assert list(forest) == [(0, 3, 2.5), (2, 3, 1.5)]
    edges = [graph.edge_indices()[i] for i in forest.edge_ids.tolist()]
    assert [graph.get_edge_data_by_index(edge) for edge in edges] == [2.5, 1.5]
    attributes = rustworkx.PyDiGraph()
    attributes.add_nodes_from(range(3))
    attributes.add_edges_from([(0, 1, {"cost": 3}), (1, 2, {"cost": 4})])
    assert mndmst.minimum_spanning_forest(attributes, weight="cost").total_weight == 7
    assert mndmst.minimum_spanning_forest(attributes).total_weight == 7


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ([("a", "b")], r"edge 0 of the list is \('a', 'b'\)"),
        ([["a", "b", 1]], "a value of type list is not a graph"),
        (None, "a value of type NoneType is not a graph"),
        (5, "a value of type int is not a graph"),
        ({"a": {"b": 1}}, "a value of type dict is not a graph"),
    ],
)
def test_values_that_are_no_graphs(graph, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mndmst.minimum_spanning_forest(graph)


@pytest.mark.parametrize("name", ["similarity", "Score", "correlation"])
def test_similarities_are_minimised_with_a_word_or_as_asked(name: str) -> None:
    table = pandas.DataFrame({"src": [0, 1, 0], "dst": [1, 2, 2], name: [1, 2, 3]})
    graph = networkx.Graph()
    graph.add_edge(0, 1, **{name: 1})
    for edges in ((table,), (graph,), (table.src, table.dst, table[name])):
        with pytest.warns(UserWarning, match=f"weight: {name}.*maximum=True"):
            mndmst.minimum_spanning_forest(*edges)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for maximum in (True, False):
                found = mndmst.minimum_spanning_forest(*edges, maximum=maximum)
                assert found.maximum is maximum


def test_partition_minimises_similarities_with_a_word_or_as_asked(tmp_path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("src,dst,similarity\n0,1,1\n1,2,2\n")
    with pytest.warns(UserWarning, match="weight: similarity.*maximum=True") as said:
        mndmst.partition(table, tmp_path / "asked")
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for maximum in (True, False):
            mndmst.partition(table, tmp_path / str(maximum), maximum=maximum)
        mndmst.partition(table, tmp_path / "even", weights="constant:1")
