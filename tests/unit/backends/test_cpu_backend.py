"""Each step of the CPU backend against Kruskal's algorithm in plain Python."""

from functools import cache

import graphs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import kruskal

from mndmst.backends.base import Band
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.graph.model import EdgeList, Rows
from mndmst.graph.order import weights_to_keys
from mndmst.solver.contract import contract
from mndmst.solver.reduced_graphs import reduced_graph


@cache
def backend(threads: int) -> CpuBackend:
    return CpuBackend(threads)


def rows_of(graph: graphs.Graph, ids: type) -> Rows:
    """Return all rows of a graph, unsorted parallels and loops included."""
    keys = weights_to_keys(graph.weight.copy())
    other = graph.src != graph.dst
    tail = np.concatenate([graph.src, graph.dst[other]])
    head = np.concatenate([graph.dst, graph.src[other]])
    key = np.concatenate([keys, keys[other]])
    order = np.lexsort((head, tail))
    indptr = np.searchsorted(tail[order], np.arange(graph.n + 1))
    return Rows(0, graph.n, indptr, head[order].astype(ids), key[order])


def triples(edges: EdgeList) -> list[tuple[int, int, int]]:
    return list(zip(*(c.tolist() for c in (edges.u, edges.v, edges.key)), strict=True))


def expected(graph: graphs.Graph, chosen: np.ndarray | None = None) -> list:
    """Return the forest of the chosen edges as (u, v, key)."""
    chosen = np.ones(len(graph.src), bool) if chosen is None else chosen
    keys = weights_to_keys(graph.weight.copy())
    answer = kruskal(graph.n, graph.src[chosen], graph.dst[chosen], keys[chosen])
    columns = (answer.src, answer.dst, answer.weight)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@st.composite
def dense_graphs(draw: st.DrawFn) -> graphs.Graph:
    """Draw a graph with enough edges for light bands, a hub and outsiders."""
    n = draw(st.integers(20, 150))
    m = draw(st.integers(8 * n, 20 * n))
    generator = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    src, dst = generator.integers(0, n, (2, m))
    src[: m // 4] = draw(st.integers(0, n - 1))
    top = draw(st.sampled_from([1, 2, 50, 1 << 31, (1 << 63) - 1]))
    weight = generator.integers(0, top, m).astype(np.uint64)
    return graphs.Graph(n, src, dst, weight)


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(graphs.graphs(), dense_graphs()),
    st.sampled_from([np.uint32, np.int64]),
    st.sampled_from([1, 2]),
)
def test_msf(graph: graphs.Graph, ids: type, threads: int) -> None:
    rows = rows_of(graph, ids)
    forest = backend(threads).msf(rows)
    assert sorted(triples(forest.edges)) == expected(graph)
    components, label_of = {}, forest.labels()
    for u, v in zip(forest.edges.u.tolist(), forest.edges.v.tolist(), strict=True):
        assert label_of[u] == label_of[v]
    for label in label_of.tolist():
        components[label] = components.get(label, 0) + 1
    assert len(components) == graph.n - len(forest.edges)


@pytest.mark.parametrize("name", graphs.NASTY)
def test_msf_of_nasty_graphs(name: str) -> None:
    graph = graphs.NASTY[name]
    rows = rows_of(graph, np.uint32)
    assert sorted(triples(backend(2).msf(rows).edges)) == expected(graph)


@settings(max_examples=60, deadline=None)
@given(st.one_of(graphs.graphs(), dense_graphs()), st.data())
def test_band_forest_of_some_rows(graph: graphs.Graph, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, graph.n))
    end = data.draw(st.integers(begin, graph.n))
    keys = weights_to_keys(graph.weight.copy())
    low, high = (
        data.draw(st.one_of(st.none(), st.sampled_from(keys.tolist() or [0])))
        for _ in range(2)
    )
    if low is not None and high is not None and low > high:
        low, high = high, low
    piece = rows_of(graph, np.uint32).cut(begin, end)
    edges = backend(1).band_forest(piece, Band(low, high), None)
    ends = [(end_ >= begin) & (end_ < end) for end_ in (graph.src, graph.dst)]
    chosen = ends[0] | ends[1]
    # Parallel edges are one edge, the lightest in the band.
    chosen &= (keys > low) if low is not None else True
    chosen &= (keys <= high) if high is not None else True
    assert triples(edges) == expected(graph, chosen)


@settings(max_examples=60, deadline=None)
@given(st.one_of(graphs.graphs(), dense_graphs()), st.data())
def test_contraction_fixes_forest_edges_only(
    graph: graphs.Graph, data: st.DataObject
) -> None:
    begin = data.draw(st.integers(0, graph.n))
    end = data.draw(st.integers(begin, graph.n))
    piece = rows_of(graph, np.uint32).cut(begin, end)
    edges = backend(1).band_forest(piece, Band(), None)
    reduced = reduced_graph(edges, (edges.u, edges.v), begin, end)
    fixed, old, new, left = contract(backend(1), reduced)
    forest = set(expected(graph))
    assert set(triples(fixed)) <= forest
    assert len(old) == len(fixed) == len(set(old.tolist()))
    assert (old > new).all()
    # No component that is left may have an inner edge as its lightest.
    for component in np.flatnonzero(left.interior):
        touching = np.flatnonzero((left.a == component) | (left.b == component))
        first = min(touching, key=lambda i: (left.edges.key[i], i))
        assert not (left.interior[left.a[first]] and left.interior[left.b[first]])


@pytest.mark.parametrize("distinct", [1, 7, 1 << 40])
def test_threads_change_nothing(distinct: int) -> None:
    # Large enough that every thread gets a share of every step.
    values = np.random.default_rng(3).integers(0, distinct, 60_000, np.uint64)
    graph = graphs.random(20_000, 60_000, 4)._replace(weight=values)
    rows = rows_of(graph, np.uint32)
    alone, *others = (backend(threads).msf(rows) for threads in (1, 3, 5))
    for other in others:
        assert sorted(triples(other.edges)) == sorted(triples(alone.edges))
        assert (other.labels() == alone.labels()).all()
    piece = rows.cut(5_000, 17_000)
    forests = [backend(t).band_forest(piece, Band(), None) for t in (1, 3)]
    assert triples(forests[0]) == triples(forests[1])


@pytest.mark.parametrize("shift", [(1 << 31) - 50, 1 << 33])
def test_ids_beyond_32_bits(shift: int) -> None:
    values = np.random.default_rng(5).integers(0, 9, 3000, np.uint64)
    graph = graphs.random(200, 3000, 6)._replace(weight=values)
    piece = rows_of(graph, np.int64).cut(60, 140)
    far = Rows(60 + shift, 200 + shift, piece.indptr, piece.indices + shift, piece.keys)
    near_edges = backend(1).band_forest(piece, Band(2, 6), None)
    far_edges = backend(1).band_forest(far, Band(2, 6), None)
    moved = [(u + shift, v + shift, key) for u, v, key in triples(near_edges)]
    assert triples(far_edges) == moved
    ends = (far_edges.u, far_edges.v)
    reduced = reduced_graph(far_edges, ends, 60 + shift, 140 + shift)
    contraction = contract(backend(1), reduced)
    assert set(triples(contraction.forest_edges)) <= set(moved)
    assert contraction.new.min() >= shift
