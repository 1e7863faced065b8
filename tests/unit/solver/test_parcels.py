"""What ranks send comes back as it was, and in fewer bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mndmst.graph.model import EdgeList, ReducedGraph
from mndmst.solver.merging.leaders import pack, unpack
from mndmst.solver.reduced_graphs import empty_graph, reduced_graph

FAR = 2**48  # beyond 32 bits
SMALL, LARGE = np.dtype(np.uint32), np.dtype(np.int64)


def graph_of(
    pairs: set[tuple[int, int]], ids: np.dtype, own_below: int
) -> ReducedGraph:
    u, v = np.array(sorted(pairs), ids).reshape(-1, 2).T.copy()
    key = np.arange(len(u), dtype=np.uint64) << np.uint64(40)
    return reduced_graph(EdgeList(u, v, key), (u, v), 0, own_below)


def assert_same(graph: ReducedGraph, other: ReducedGraph) -> None:
    for one, two in zip(columns(graph), columns(other), strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


def columns(graph: ReducedGraph) -> list[np.ndarray]:
    edges = graph.edges
    return [edges.u, edges.v, edges.key, graph.a, graph.b, graph.labels, graph.interior]


def pairs(most: int) -> st.SearchStrategy[set[tuple[int, int]]]:
    ids = st.integers(0, most) | st.integers(0, 50)
    pair = st.tuples(ids, ids).filter(lambda p: p[0] < p[1])
    return st.sets(pair, max_size=30)


@settings(deadline=None)
@given(pairs(2**32 - 1), st.integers(0, 60))
def test_a_graph_comes_back(edges: set[tuple[int, int]], own_below: int) -> None:
    graph = graph_of(edges, SMALL, own_below)
    assert_same(unpack(pack(graph), SMALL), graph)


@settings(deadline=None)
@given(pairs(FAR))
def test_ids_beyond_32_bits_come_back(edges: set[tuple[int, int]]) -> None:
    graph = graph_of(edges, LARGE, own_below=40)
    assert_same(unpack(pack(graph), LARGE), graph)


def test_nothing_comes_back() -> None:
    graph = empty_graph(EdgeList.empty(SMALL, np.dtype(np.uint32)))
    assert_same(unpack(pack(graph), SMALL), graph)


@pytest.mark.parametrize(("ids", "share"), [(SMALL, 0.6), (LARGE, 0.5)])
def test_a_parcel_is_smaller(ids: np.dtype, share: float) -> None:
    rng = np.random.default_rng(3)
    u = np.sort(rng.integers(0, 2**20, 5000))
    v = u + rng.integers(1, 2000, 5000)
    graph = graph_of(set(zip(u.tolist(), v.tolist(), strict=True)), ids, 2**19)
    assert sum(array.nbytes for array in pack(graph)) < share * graph.nbytes
