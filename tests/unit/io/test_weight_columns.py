"""Columns of weights beside the shards of a graph."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from graphs import NASTY, Graph, random, write_graph

from mndmst.cli.main import main
from mndmst.host.errors import ConfigError, InputError, OutputError
from mndmst.io.file_access import write_attributes
from mndmst.io.shards import weight_columns
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.io.shards.weight_columns import (
    find_columns,
    weights_of_same_edges,
    write_column,
)


def by_edge(graph: Graph) -> np.ndarray:
    """Return the weights of a graph in the order of edges."""
    low, high = np.minimum(graph.src, graph.dst), np.maximum(graph.src, graph.dst)
    order = np.lexsort((high, low))
    return graph.weight[order[(low != high)[order]]]


def other_weights(graph: Graph) -> Graph:
    return graph.with_weights([0.5, -2.25, 7.0], "float64")


def made(folder: Path, graph: Graph, name: str = "time") -> np.ndarray:
    """Make a column of other weights; return what is in it."""
    write_graph(folder / "g", graph, 3)
    write_graph(folder / "other", other_weights(graph), 2)
    assert main(["column", str(folder / "g"), name, str(folder / "other")]) == 0
    column = find_columns(open_graph(folder / "g"))[name]
    assert column.dtype == np.float64
    return column.read(0, column.num_edges)


def test_a_column_of_another_graph(tmp_path: Path, monkeypatch) -> None:
    drawn = np.sort(np.random.default_rng(1).integers(0, 300, (900, 2)), axis=1)
    src, dst = np.unique(drawn, axis=0).T  # loops are among them
    graph = Graph(300, src, dst, src)
    monkeypatch.setattr(weight_columns, "_ARCS", 50)
    monkeypatch.setattr(weight_columns, "_ROWS", 70)
    expected = by_edge(other_weights(graph))
    assert made(tmp_path, graph).tolist() == expected.tolist()
    assert len(expected) > 500


@pytest.mark.parametrize("name", ["loops only", "parallel edges", "no edge"])
def test_graphs_that_break_programs(tmp_path: Path, name: str) -> None:
    graph = NASTY[name]
    found = made(tmp_path, graph)
    assert sorted(found) == sorted(by_edge(other_weights(graph)))


@pytest.mark.parametrize("name", ["a b", "1st", "weight", "../up", ""])
def test_names_that_no_expression_could_use(tmp_path: Path, name: str) -> None:
    graph = open_graph(write_graph(tmp_path / "g", random(9, 20, 1)))
    with pytest.raises(ConfigError, match="cannot name a column"):
        write_column(graph, name, np.dtype("f4"), [])


def test_a_column_replaces_a_column_and_no_other_file(tmp_path: Path) -> None:
    before = made(tmp_path, random(30, 60, 1))
    graph = open_graph(tmp_path / "g")
    write_column(graph, "time", before.dtype, [before + 1])
    column = find_columns(graph)["time"]
    assert column.read(0, column.num_edges).tolist() == (before + 1).tolist()
    column.path.write_text("notes")
    with pytest.raises(OutputError, match=r"time\.h5: exists, and is not a column"):
        write_column(graph, "time", before.dtype, [before])
    assert column.path.read_text() == "notes"
    write_column(graph, "time", before.dtype, [before], overwrite=True)
    assert column.read(0, column.num_edges).tolist() == before.tolist()


def test_other_edges_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    graph = Graph(4, *np.array([[0, 1, 2], [1, 2, 3], [1, 1, 1]]))
    rows = open_graph(write_graph(tmp_path / "g", graph))
    fewer = Graph(4, *(column[:2] for column in graph[1:]))
    moved = graph._replace(dst=np.array([1, 3, 3]))
    for name, other, words in (
        ("fewer", fewer, "4 vertices and 2 edges, and .* has 4 and 3"),
        ("moved", moved, "other edges than .* at the vertices from 0 to 3"),
    ):
        shards = open_graph(write_graph(tmp_path / name, other))
        pieces = weights_of_same_edges(rows, shards)
        with pytest.raises(InputError, match=words):
            write_column(rows, name, shards.weight_dtype, pieces)
    assert find_columns(rows) == {}
    assert list((tmp_path / "g/columns").iterdir()) == []


def test_a_column_of_another_graph_is_refused(tmp_path: Path) -> None:
    made(tmp_path, random(30, 60, 1))
    with h5py.File(tmp_path / "g/columns/time.h5", "r+") as stored:
        write_attributes(stored, {"graph-uuid": "another"})
    with pytest.raises(InputError, match="belongs to another graph"):
        find_columns(open_graph(tmp_path / "g"))
