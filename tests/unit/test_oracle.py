"""The oracle against all forests of small graphs, and how graphs are written."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from graphs import NASTY, Graph, graphs, write_graph
from hypothesis import given
from oracle import kruskal

from mndmst.io.shards.row_reading import read_rows
from mndmst.io.shards.sharded_graph import open_graph

Edge = tuple[float, int, int]


def components(n: int, edges: tuple[Edge, ...]) -> int:
    label = list(range(n))
    for _, u, v in edges:
        label = [label[u] if x == label[v] else x for x in label]
    return len(set(label))


def first_forest(graph: Graph) -> set[Edge]:
    """Return the spanning forest whose sorted edges come first, by trying all."""
    ends = np.sort((graph.src, graph.dst), axis=0).tolist()
    edges = sorted(zip(graph.weight.tolist(), *ends, strict=True))
    trees = components(graph.n, tuple(edges))
    choices = combinations(edges, graph.n - trees)
    return set(next(c for c in choices if components(graph.n, c) == trees))


@given(graphs(max_vertices=6, max_edges=8))
def test_kruskal_finds_the_first_forest(graph: Graph) -> None:
    answer = kruskal(*graph)
    columns = (answer.weight.tolist(), answer.src.tolist(), answer.dst.tolist())
    assert set(zip(*columns, strict=True)) == first_forest(graph)
    assert answer.trees == graph.n - len(answer.src)


def test_kruskal_counts_and_adds_up() -> None:
    answer = kruskal(*NASTY["parallel edges"])
    assert (answer.m, answer.trees, answer.total) == (1, 1, 2)
    answer = kruskal(*NASTY["many trees"])
    assert (answer.m, answer.trees, answer.total) == (300, 200, 240)
    top = 2**64 - 1
    ends = np.array([0, 1]), np.array([1, 2])
    assert kruskal(3, *ends, np.array([top, top], np.uint64)).total == 2 * top
    assert kruskal(3, *ends, np.array([1e16, 1.0])).total == 1e16 + 1.0


def test_the_digest_is_of_sorted_pairs() -> None:
    graph = Graph(4, np.array([3, 1]), np.array([2, 0]), np.array([1, 2], np.int32))
    assert kruskal(*graph).digest == (
        "a1e03200f1f82ad2c1cec8795c271aaecf98f5aa2d151d2229ec5fa0c177cf77"
    )


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("name", NASTY)
def test_graphs_are_written_as_given(tmp_path: Path, name: str, parts: int) -> None:
    graph = NASTY[name]
    stored = open_graph(write_graph(tmp_path / "graph", graph, parts))
    loops = int((graph.src == graph.dst).sum())
    assert (stored.num_vertices, stored.num_parts) == (graph.n, parts)
    assert stored.num_arcs == 2 * len(graph.src) - loops
    indptr, indices, weight = read_rows(stored, 0, graph.n)
    degrees = np.bincount(graph.src, minlength=graph.n)
    degrees += np.bincount(graph.dst[graph.src != graph.dst], minlength=graph.n)
    np.testing.assert_array_equal(np.diff(indptr), degrees)
    rows = np.repeat(np.arange(graph.n), degrees)
    half = rows <= indices
    expected = np.lexsort((graph.weight, *np.sort((graph.src, graph.dst), axis=0)))
    found = np.lexsort((weight[half], rows[half], indices[half]))
    np.testing.assert_array_equal(weight[half][found], graph.weight[expected])
    np.testing.assert_array_equal(
        rows[half][found], np.minimum(graph.src, graph.dst)[expected]
    )
