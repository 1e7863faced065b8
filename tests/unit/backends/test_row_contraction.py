"""Rows that are contracted in one step, and the hooks of rows."""

from dataclasses import replace
from unittest.mock import patch

import graphs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import kruskal

from mndmst.backends.base import Band
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.graph.model import EdgeList, Rows
from mndmst.kernels import bordered_contraction
from mndmst.kernels.heavier_arcs import cut_arcs
from mndmst.kernels.hooks import Hooks
from mndmst.kernels.pointer_jumping import step_up
from mndmst.solver.contract import contract
from mndmst.solver.reduced_graphs import reduced_graph

BACKENDS = [CpuBackend(1), CpuBackend(2)]
WATCHED = patch.object(
    bordered_contraction, "contract_blocks", wraps=bordered_contraction.contract_blocks
)


def rows_of(graph: graphs.Graph, shift: int = 0) -> Rows:
    """Return all rows of a graph without loops; ids begin at `shift`."""
    tail = np.concatenate([graph.src, graph.dst])
    head = np.concatenate([graph.dst, graph.src])
    order = np.lexsort((head, tail))
    indptr = np.searchsorted(tail[order], np.arange(graph.n + 1))
    ids = np.int64 if shift else np.uint32
    indices = head[order].astype(ids) + ids(shift)
    return Rows(
        shift, graph.n + shift, indptr, indices, np.tile(graph.weight, 2)[order]
    )


def triples(edges: EdgeList) -> list[tuple[int, int, int]]:
    return list(zip(*(c.tolist() for c in (edges.u, edges.v, edges.key)), strict=True))


@st.composite
def cut_graphs(draw: st.DrawFn) -> tuple[graphs.Graph, int, int]:
    """Draw a graph with ties and parallel edges, and a range of its rows."""
    n = draw(st.integers(2, 60))
    graph = graphs.random(n, draw(st.integers(0, 8 * n)), draw(st.integers(0, 1 << 30)))
    distinct = draw(st.sampled_from([1, 5, 1 << 32]))
    values = np.random.default_rng(n).integers(0, distinct, len(graph.src))
    keys = (np.iinfo(np.uint32).max - values).astype(np.uint32)
    other = graph.src != graph.dst
    graph = graph._replace(src=graph.src[other], dst=graph.dst[other])
    begin, end = sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    return graph._replace(weight=keys[other]), begin, end


@settings(max_examples=80, deadline=None)
@given(cut_graphs(), st.sampled_from([0, 1 << 33]))
def test_all_edges_at_once(case: tuple[graphs.Graph, int, int], shift: int) -> None:
    graph, begin, end = case
    rows = rows_of(graph, shift).cut(begin, end)
    for backend in BACKENDS:
        contracted = backend.contract_rows(rows, Band())
        edges = backend.band_forest(rows, Band(), None)
        reduced = reduced_graph(edges, (edges.u, edges.v), rows.first, rows.last)
        expected = contract(backend, reduced)
        assert set(triples(contracted.forest_edges)) == set(
            triples(expected.forest_edges)
        )
        assert triples(contracted.remaining) == triples(expected.graph.edges)
        old = np.flatnonzero(contracted.label != np.arange(len(rows)))
        assert (old + rows.first).tolist() == expected.old.tolist()
        assert (
            contracted.label[old].astype(int) + rows.first
        ).tolist() == expected.new.tolist()
        numbers = expected.graph.a, expected.graph.b
        for end_, number in zip(contracted.ends, numbers, strict=True):
            assert end_.tolist() == expected.graph.labels[number].tolist()


@settings(max_examples=80, deadline=None)
@given(cut_graphs(), st.data())
def test_a_band(case: tuple[graphs.Graph, int, int], data: st.DataObject) -> None:
    graph, begin, end = case
    high = data.draw(st.sampled_from([0, *graph.weight.tolist()]))
    rows = rows_of(graph).cut(begin, end)
    answer = kruskal(*graph)
    truth = set(
        zip(
            answer.src.tolist(),
            answer.dst.tolist(),
            answer.weight.tolist(),
            strict=True,
        )
    )
    for backend in BACKENDS:
        contracted = backend.contract_rows(rows, Band(None, high))
        assert set(triples(contracted.forest_edges)) <= truth
        components = np.unique(contracted.label)
        assert len(contracted.forest_edges) == len(rows) - len(components)
        # Nobody with edges is left alone: heavier ones wait where there is a ghost.
        touched = {end - begin for ends in contracted.ends for end in ends.tolist()}
        alone = np.bincount(contracted.label, minlength=len(rows)) == 1
        degree = np.diff(rows.indptr)
        assert {int(i) for i in np.flatnonzero(alone & (degree > 0))} <= touched
        pairs = list(
            zip(
                contracted.remaining.u.tolist(),
                contracted.remaining.v.tolist(),
                strict=True,
            )
        )
        assert pairs == sorted(set(pairs))


@settings(max_examples=80, deadline=None)
@given(cut_graphs(), st.data())
def test_where_rows_hook(
    case: tuple[graphs.Graph, int, int], data: st.DataObject
) -> None:
    graph, begin, end = case
    high = data.draw(st.sampled_from([0, *graph.weight.tolist()]))
    whole = rows_of(graph)
    rows = whole.cut(begin, end)
    if data.draw(st.booleans()):  # as if another rank had the other rows
        rows = replace(rows, whole=None)
    else:
        assert rows.complete or rows.as_whole() is whole
    hooks = Hooks.for_rows(whole)
    edges = BACKENDS[1].row_hooks(rows, Band(None, high), hooks)
    hook, best = (column[begin:end] for column in hooks)
    for row in range(len(rows)):
        arcs = slice(*rows.indptr[row : row + 2])
        found = list(
            zip(rows.keys[arcs].tolist(), rows.indices[arcs].tolist(), strict=True)
        )
        if found:
            assert (best[row], hook[row]) == min(found)
        else:
            assert hook[row] == begin + row
    lightest: dict[tuple[int, int], int] = {}
    for u, v, key in zip(*(c.tolist() for c in graph[1:]), strict=True):
        pair = min(u, v), max(u, v)
        hooked = begin <= pair[0] < end and hook[pair[0] - begin] == pair[1]
        if begin <= pair[0] < end and key <= high and not hooked:
            lightest[pair] = min(key, lightest.get(pair, key))
    assert triples(edges) == sorted((*pair, key) for pair, key in lightest.items())


@settings(max_examples=80, deadline=None)
@given(cut_graphs(), st.sampled_from([0, 1 << 33]), st.data())
def test_cut_arcs_are_those_that_lead_out(
    case: tuple[graphs.Graph, int, int], shift: int, data: st.DataObject
) -> None:
    graph, begin, end = case
    rows = rows_of(graph, shift).cut(begin, end)
    above = data.draw(st.sampled_from([0, *rows.keys.tolist()]))
    tails = rows.first + np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    out = (rows.indices < rows.first) | (rows.indices >= rows.last)
    out &= rows.keys > above
    key = rows.keys.dtype.type(above)
    halves = (0, len(rows) // 2), (len(rows) // 2, len(rows))
    found = [cut_arcs(rows.csr, key, *half) for half in halves]
    expected = tails[out], rows.indices[out], rows.keys[out]
    for columns, column in zip(zip(*found, strict=True), expected, strict=True):
        assert np.concatenate(columns).tolist() == column.tolist()


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_names_are_replaced_by_their_parents(dtype: type) -> None:
    names = np.array([7, 5, 8, 7], dtype)
    step_up(names, 5, np.array([6, 6, 5, 8], dtype), names)
    assert names.tolist() == [5, 6, 8, 5]


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_blocks_of_several_threads_change_nothing(dtype: type) -> None:
    """Rows with many edges to close vertices, of a part with a border on both sides."""
    source = np.random.default_rng(4)
    n, begin, end = 100_000, 5_000, 95_000
    src = np.repeat(np.arange(n - 60), 3)
    dst = src + source.integers(1, 60, len(src))
    src, dst = np.unique(np.stack([src, dst]), axis=1)
    weight = source.integers(0, 1 << 20, len(src)).astype(dtype)
    graph = graphs.Graph(n, src, dst, weight)
    rows = rows_of(graph).cut(begin, end)
    with WATCHED as contract_blocks:
        alone, several = (CpuBackend(n).contract_rows(rows, Band()) for n in (1, 3))
    contract_blocks.assert_called_once()
    for one, other in zip(alone, several, strict=True):
        if isinstance(one, EdgeList):
            assert sorted(triples(one)) == sorted(triples(other))
        else:
            np.testing.assert_array_equal(one, other)
    whole = rows_of(graph)
    one, other = (CpuBackend(count).msf(whole) for count in (1, 3))
    assert set(triples(one.edges)) == set(triples(other.edges))
    np.testing.assert_array_equal(one.labels(), other.labels())
    assert set(triples(alone.forest_edges)) <= set(triples(one.edges))
