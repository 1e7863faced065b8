"""Shards of edges: each undirected edge twice, the same graph in any parts."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mndmst.host.errors import ConfigError
from mndmst.io.edge_file import Edges
from mndmst.io.file_info import describe_graph
from mndmst.io.formats import read_edges
from mndmst.io.partitioner.arc_buckets import balanced_cuts
from mndmst.io.partitioner.partition import build_shards
from mndmst.io.partitioner.vertex_numbering import symmetric_rows
from mndmst.io.shards.row_reading import read_rows

weights = st.sampled_from([-0.0, 0.0, -1.5, 1.0, 7.0, np.inf, -np.inf])


@st.composite
def edge_lists(draw):
    num_vertices = draw(st.integers(1, 12))
    vertex = st.integers(0, num_vertices - 1)
    triples = draw(st.lists(st.tuples(vertex, vertex, weights), max_size=60))
    columns = zip(*triples, strict=True) if triples else ([], [], [])
    types = draw(st.sampled_from([np.uint32, np.int64])), np.float32
    src, dst, weight = columns
    src, dst = np.array(src, types[0]), np.array(dst, types[0])
    return Edges(num_vertices, src, dst, np.array(weight, types[1]), True)


def lightest(edges):
    """Return {(smaller, larger): weight} by going through the list."""
    best: dict = {}
    columns = (edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist())
    for u, v, w in zip(*columns, strict=True):
        if u != v:
            pair = min(u, v), max(u, v)
            best[pair] = min(w, best.get(pair, np.inf))
    return best


@settings(deadline=None)  # the first call compiles
@given(edge_lists())
def test_each_edge_stands_twice_with_its_lightest_weight(edges):
    indptr, indices, weight = symmetric_rows(edges)
    rows = np.repeat(np.arange(edges.num_vertices), np.diff(indptr))
    arcs = list(zip(rows.tolist(), indices.tolist(), weight.tolist(), strict=True))
    best = lightest(edges)
    both = [(*pair, w) for (u, v), w in best.items() for pair in ((u, v), (v, u))]
    assert arcs == sorted(both)
    assert not np.signbit(weight[weight == 0]).any()
    assert (indices.dtype, weight.dtype) == (edges.src.dtype, edges.weight.dtype)


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 60))
def test_parts_cover_all_vertices_and_none_is_heavy(degrees, num_parts):
    indptr = np.concatenate(([0], np.cumsum(degrees, dtype=np.int64)))
    vtxdist = balanced_cuts(indptr + np.arange(len(indptr)), num_parts)
    assert len(vtxdist) == num_parts + 1
    assert vtxdist[0] == 0
    assert vtxdist[-1] == len(degrees)
    assert (np.diff(vtxdist) >= 0).all()
    cost = np.diff(indptr[vtxdist] + vtxdist)
    fair = (indptr[-1] + len(degrees)) / num_parts
    assert cost.max() <= fair + max(degrees, default=0) + 2


def random_edges(num_vertices=300, num_edges=1000, dtype="int64"):
    random = np.random.default_rng(5)
    src, dst = random.integers(0, num_vertices, (2, num_edges)).astype(np.uint32)
    weight = random.integers(-5, 5, num_edges).astype(dtype)
    return Edges(num_vertices, src, dst, weight, True)


def test_any_number_of_parts_holds_the_same_graph(tmp_path):
    edges = random_edges(30, 100)
    graphs = [build_shards(edges, tmp_path / f"{p}", p) for p in (1, 2, 7, 40)]
    assert len({graph.uuid for graph in graphs}) == 1
    assert [graph.num_parts for graph in graphs] == [1, 2, 7, 40]
    expected = symmetric_rows(edges)
    for graph in graphs:
        for found, array in zip(read_rows(graph, 0, 30), expected, strict=True):
            np.testing.assert_array_equal(found, array)


def test_sharding_anew_and_the_order_of_the_list_change_nothing(tmp_path):
    edges = random_edges()
    graph = build_shards(edges, tmp_path / "three", 3)
    again = build_shards(read_edges(tmp_path / "three"), tmp_path / "five", 5)
    backwards = dataclasses.replace(
        edges, src=edges.dst[::-1], dst=edges.src[::-1], weight=edges.weight[::-1]
    )
    other = build_shards(backwards, tmp_path / "backwards", 3)
    assert graph.uuid == again.uuid == other.uuid


def test_another_weight_or_type_is_another_graph(tmp_path):
    edges = random_edges()
    weight = edges.weight.copy()
    weight[np.flatnonzero(edges.src != edges.dst)[0]] = -100
    others = [
        edges,
        dataclasses.replace(edges, weight=weight),
        dataclasses.replace(edges, weight=edges.weight.astype("int32")),
        dataclasses.replace(edges, num_vertices=301),
    ]
    graphs = [build_shards(e, tmp_path / f"{i}", 2) for i, e in enumerate(others)]
    assert len({graph.uuid for graph in graphs}) == 4


def test_no_part_is_no_graph(tmp_path):
    with pytest.raises(ConfigError, match="--parts 0: give 1 or more"):
        build_shards(random_edges(), tmp_path / "graph", 0)


@pytest.mark.timeout(60)
def test_a_number_of_parts_is_no_reason_to_hang(tmp_path):
    with pytest.raises(ConfigError, match="too few for 9,999,999,999,999 parts"):
        build_shards(random_edges(), tmp_path / "graph", 9_999_999_999_999)


@pytest.mark.parametrize("piece", [3, 1 << 20])
def test_describe(tmp_path, piece):
    ends = np.array([[0, 0, 0, 5], [1, 2, 3, 6]], np.uint32)
    edges = Edges(8, *ends, np.ones(4, np.float32), False)
    build_shards(edges, tmp_path / "graph", 3)
    found = describe_graph(tmp_path / "graph", piece)
    expected = {
        "vertices": 8, "arcs": 8, "weights": "float32", "parts": 3, "reordered": False,
        "degree_min": 0, "degree_mean": 1.0, "degree_max": 3, "isolated": 2,
    }  # fmt: skip
    assert found | expected == found
