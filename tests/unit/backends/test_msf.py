"""The whole-graph kernel on shapes and weights that aim at one of its steps."""

from functools import cache

import graphs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cpu_backend import backend, expected, rows_of, triples

from mndmst import minimum_spanning_forest
from mndmst.backends.base import Band
from mndmst.backends.cpu.bands import Sample, Segment, edges_expected, row_bounds
from mndmst.kernels.heavier_arcs import lightest_from
from mndmst.kernels.threads import ALONE, Threads

_DENSE = np.array(graphs.random(100, 2400, 3)[1:3])
_FEW = np.array(graphs.random(40, 300, 4)[1:3])
SHAPES = {
    "path": graphs.path(700),
    "star": graphs.star(600, 300),
    "clique": graphs.clique(60),
    "many to the arc": graphs.random(150, 3000, 1),
    "isolated in between": graphs.random(90, 1500, 2)._replace(n=400),
    # Two dense halves without a giant component, and rows of parallel arcs and loops
    "two halves": graphs.Graph(200, *(_DENSE + np.arange(2400) % 2 * 100), np.ones(1)),
    "parallel": graphs.Graph(40, *np.tile(_FEW, 3), np.ones(1)),
}


@cache
def weights(kind: str, size: int) -> np.ndarray:
    """Return weights that are hard in some way."""
    generator = np.random.default_rng(size)
    return {
        "equal": np.full(size, 7, np.int32),
        "largest": np.full(size, np.iinfo(np.uint32).max, np.uint32),
        "ascending": np.arange(size, dtype=np.int64),
        "descending": np.arange(size, dtype=np.int32)[::-1],
        "few": generator.integers(0, 3, size, np.uint64),
        "beyond 2^53": (1 << 53) + generator.integers(0, 4, size),
        "zeros of both signs": generator.choice([-0.0, 0.0, 1.0], size),
        "skewed": generator.standard_normal(size).cumprod(),
        "infinite": generator.choice([np.inf, -np.inf, 1.5], size),
    }[kind]


KINDS = (
    *("equal", "largest", "ascending", "descending", "few", "beyond 2^53"),
    *("zeros of both signs", "skewed", "infinite"),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_msf_of_shapes(shape: str, kind: str) -> None:
    graph = SHAPES[shape]
    graph = graph._replace(weight=weights(kind, len(graph.src)).copy())
    rows = rows_of(graph, np.uint32)
    truth = expected(graph)
    forest = backend(1).msf(rows)
    assert sorted(triples(forest.edges)) == truth
    assert forest.labels().tolist() == smallest_of_trees(graph.n, truth)
    assert triples(backend(1).band_forest(rows, Band(), None)) == truth
    middle = int(np.median(rows.keys))
    light = [edge for edge in truth if edge[2] <= middle]
    assert triples(backend(1).band_forest(rows, Band(None, middle), None)) == light


def smallest_of_trees(n: int, edges: list[tuple[int, int, int]]) -> list[int]:
    label = list(range(n))
    for _ in range(n):
        before = label.copy()
        for u, v, _ in edges:
            label[u] = label[v] = min(label[u], label[v])
        if label == before:
            break
    return label


@pytest.mark.parametrize("distinct", [1, 40, 1 << 30])
def test_threads_share_every_step(distinct: int) -> None:
    # Large enough that every thread gets a range of vertices, arcs and edges.
    values = np.random.default_rng(7).integers(0, distinct, 160_000, np.uint32)
    graph = graphs.random(20_000, 160_000, 8)._replace(weight=values)
    rows = rows_of(graph, np.uint32)
    alone, many = (backend(threads).msf(rows) for threads in (1, 4))
    assert len(row_bounds(rows, 0, len(rows), Threads(4))) > 5
    assert sorted(triples(alone.edges)) == sorted(triples(many.edges))
    assert (alone.labels() == many.labels()).all()


@pytest.mark.timeout(60)  # for chains that are followed to their end from each vertex
@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("falling", [False, True])
def test_chains_of_all_vertices(falling: bool, threads: int) -> None:
    n = 300_000
    weight = np.arange(n - 1, dtype=np.int32)[:: -1 if falling else 1]
    rows = rows_of(graphs.path(n)._replace(weight=weight), np.uint32)
    workers = backend(threads)
    for _ in range(threads):  # threads meet each other elsewhere every time
        forest = workers.msf(rows)
        assert len(forest.edges) == n - 1
        assert not forest.labels().any()


@pytest.mark.timeout(60)
def test_chain_of_light_edges_below_others() -> None:
    # The light edges are linked from the last vertex down: no way is ever shortened.
    n, generator = 400_000, np.random.default_rng(3)
    chain = np.arange(n - 1)
    src, dst = np.concatenate([[chain, chain + 1], generator.integers(0, n, (2, n))], 1)
    weight = np.concatenate([n - chain, np.full(n, n + 1)]).astype(np.int32)
    forest = minimum_spanning_forest(src, dst, weight, n, threads=4)
    assert (forest.src == chain).all()
    assert (forest.dst == chain + 1).all()


@pytest.mark.parametrize("end", [400, 4000])
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_room_for_a_band_suffices_without_waste(end: int, share: float) -> None:
    graph = graphs.random(4000, 80_000, 9)
    rows = rows_of(graph, np.uint32)
    high = int(np.quantile(rows.keys, share))
    tails = np.repeat(np.arange(4000), np.diff(rows.indptr))
    upward = (rows.indices > tails) & (rows.keys <= high) & (tails < end)
    needed = np.count_nonzero(upward)
    part, bounds = Segment.of(rows, 0, end, 0, high), np.array([0, end])
    (room,) = edges_expected(rows, Sample.of(rows, ALONE), part, bounds)
    assert needed <= room <= 2 * needed + 1000


@given(
    st.lists(st.one_of(st.integers(0, 5), st.just(2**32 - 1)), max_size=80), st.data()
)
@settings(deadline=None)
def test_lightest_from(values: list[int], data: st.DataObject) -> None:
    keys = np.array(values, np.uint32)
    begin = data.draw(st.integers(0, len(keys)))
    end = data.draw(st.integers(begin, len(keys)))
    low = data.draw(st.sampled_from([0, 2, 2**32 - 1]))
    places = [i for i in range(begin, end) if values[i] >= low]
    first = min(places, key=lambda i: (values[i], i), default=-1)
    assert lightest_from(keys, begin, end, np.uint32(low)) == first
