"""Answers of queries: paths come in bounded batches; all count against the memory."""

import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

import pyarrow as arrow

from mndmst.changes.current_forest import CurrentForest
from mndmst.host.errors import ConfigError
from mndmst.host.memory_costs import (
    COMPONENTS_BYTES,
    DENSITY_BYTES,
    INDEX_VERTEX_BYTES,
    LINKAGE_BYTES,
    LOOKUP_BYTES,
    PAIR_BYTES,
    PATH_EDGE_BYTES,
    PATH_PAIR_BYTES,
    ROOTING_BYTES,
)
from mndmst.service.front_server import FrontServer
from mndmst.service.graph_version import ForestView
from mndmst.service.limits import ServiceMemory
from mndmst.service.queries import (
    answers,
    held_labels,
)
from mndmst.service.served_graph import ServedGraph
from mndmst.tree.index import ForestIndex

N = 500


@pytest.fixture(scope="module")
def view() -> ForestView:
    """A path of N vertices, edge k from k to k + 1 with weight k."""
    src = np.arange(N - 1)
    index = ForestIndex(N, src, src + 1, src.astype(np.int64))
    return ForestView(3, CurrentForest.of(index), ServiceMemory(0))


def test_paths_come_in_bounded_tables(view: ForestView) -> None:
    rng = np.random.default_rng(1)
    u, v = rng.integers(0, N, (2, 300))
    u[:5], v[:5] = v[:5], v[:5]  # paths without an edge
    memory, walks, sizes = ServiceMemory(0), [], []
    pairs = PATH_PAIR_BYTES * len(u)
    for table in answers(view, "path", u, v, memory, path_edges=1000):
        edges = sum(map(len, table["path"].to_pylist()))
        assert memory.of_requests == pairs + PATH_EDGE_BYTES * edges
        walks += table["path"].to_pylist()
        sizes.append(edges)
    assert memory.of_requests == 0
    assert len(sizes) > 10 and max(sizes) <= 1000
    assert len(walks) == 300
    for begin, end, walk in zip(u.tolist(), v.tolist(), walks, strict=True):
        low, high = sorted((begin, end))
        weights = list(range(low, high))
        assert [e["weight"] for e in walk] == (
            weights if begin < end else weights[::-1]
        )


def test_a_path_longer_than_a_batch_comes_alone(view: ForestView) -> None:
    pairs = [0, 0, 7], [1, N - 1, 8]
    tables = list(answers(view, "path", *pairs, ServiceMemory(0), path_edges=100))
    lengths = [[len(path) for path in t["path"].to_pylist()] for t in tables]
    assert lengths == [[1], [N - 1], [1]]
    (empty,) = answers(view, "path", [], [], ServiceMemory(0))
    assert empty.num_rows == 0 and empty.schema == tables[0].schema


def test_a_path_that_does_not_fit_is_refused(view: ForestView) -> None:
    needed = PATH_PAIR_BYTES + PATH_EDGE_BYTES * (N - 1)
    assert view.index().rooted
    for limit in (needed, 0):
        assert list(answers(view, "path", [0], [N - 1], ServiceMemory(limit, least=0)))
    memory = ServiceMemory(needed - 1, least=0)
    with pytest.raises(ConfigError, match=r"499 edges of paths.*--memory 2MiB suff"):
        list(answers(view, "path", [0], [N - 1], memory))
    assert memory.of_requests == 0


@pytest.mark.parametrize("query", ["connected", "path_max", "path"])
def test_pairs_count_against_the_memory(view: ForestView, query: str) -> None:
    u, v = np.zeros(100, np.int64), np.full(100, 1)
    assert view.index().rooted
    each = PATH_PAIR_BYTES + PATH_EDGE_BYTES
    needed = 100 * PAIR_BYTES.get(query, each)
    memory = ServiceMemory(needed, least=0)
    for table in answers(view, query, u, v, memory):
        kept = needed if query == "path" else table.nbytes
        assert memory.of_requests == kept > 0
    small = ServiceMemory(needed - 1, least=0)
    with pytest.raises(ConfigError, match=r"too little for .*100 (pairs|edges)"):
        list(answers(view, query, u, v, small))
    assert memory.of_requests == small.of_requests == 0


def traced(work: Callable[[], object]) -> int:
    """Return the largest number of bytes that some work takes at a time."""
    work()  # compiles kernels, and fills caches
    tracemalloc.start()
    try:
        before = arrow.total_allocated_bytes()
        result = work()
        kept = arrow.total_allocated_bytes() - before  # Arrow's are not traced
        peak = tracemalloc.get_traced_memory()[1]
        del result
        return peak + kept
    finally:
        tracemalloc.stop()


MANY = 50_000


def random_forest(shape: str) -> ForestIndex:
    rng = np.random.default_rng(2)
    child = np.arange(1, MANY, dtype=np.uint32)
    parent = child - 1
    if shape == "random":
        parent = (rng.random(MANY - 1) * child).astype(np.uint32)
    order = np.lexsort((child, parent))
    return ForestIndex(MANY, parent[order], child[order], rng.permutation(MANY - 1))


def without_edges(forest: CurrentForest, count: int) -> CurrentForest:
    """Return a forest from which some edges have left."""
    rng = np.random.default_rng(3)
    below = rng.choice(np.arange(1, MANY, dtype=np.uint32), count, replace=False)
    return forest.changed(below, np.zeros(0, np.bool_), forest.entered)


@pytest.mark.parametrize("shape", ["path", "random"])
@pytest.mark.parametrize("differs", [0, 100])
@pytest.mark.parametrize("query", ["connected", "path_max"])
def test_the_work_on_pairs_takes_no_more_than_is_counted(
    query: str, differs: int, shape: str
) -> None:
    forest = CurrentForest.of(random_forest(shape))
    if differs:
        forest = without_edges(forest, differs)
    pairs = 5000 if differs else 100_000
    u, v = np.random.default_rng(4).integers(0, MANY, (2, pairs))

    def work() -> object:
        view = ForestView(3, forest, ServiceMemory(0))
        found = list(answers(view, query, u, v, ServiceMemory(0)))
        assert (view.index_for(0) is None) == bool(differs)
        return found

    each = LOOKUP_BYTES[query] if differs else PAIR_BYTES[query]
    counted = each * (pairs + differs)
    assert counted / 4 <= traced(work) <= counted + 100_000  # Python's own objects


def test_the_work_on_an_index_takes_no_more_than_is_counted() -> None:
    changed = without_edges(CurrentForest.of(random_forest("random")), 100)
    peak = traced(changed.indexed)
    assert INDEX_VERTEX_BYTES * MANY / 2 <= peak <= INDEX_VERTEX_BYTES * MANY + 100_000

    def root() -> object:
        vars(changed.index).pop("rooted")
        return changed.index.rooted

    assert 24 * MANY <= traced(root) <= ROOTING_BYTES * MANY + 100_000


def test_an_index_counts_while_it_lives() -> None:
    first = random_forest("random")
    changed = without_edges(CurrentForest.of(first), 100)
    memory = ServiceMemory(0, least=0)
    view = ForestView(3, changed, memory)
    assert memory.of_graphs == first.nbytes > 40 * MANY  # rooted
    assert view.index() is view.index() is not first
    assert memory.of_graphs == first.nbytes + view.index().nbytes
    before = memory.of_graphs
    assert len(view.index().labels) == MANY
    assert memory.of_graphs == before + 4 * MANY
    del view
    assert memory.of_graphs == first.nbytes
    memory.limit = first.nbytes + INDEX_VERTEX_BYTES * MANY - 1
    view = ForestView(3, changed, memory)
    for work in (view.index, lambda: view.index_for(MANY)):
        with pytest.raises(ConfigError, match="an index of the forest of 50,000 vert"):
            work()
    memory.limit += 1
    assert view.index().num_trees == 101 and memory.of_requests == 0


LABELS = [
    ({"table": "labels"}, COMPONENTS_BYTES, 8),
    ({"table": "labels", "below": 7}, COMPONENTS_BYTES, 8),
    ({"table": "clusters", "count": 3}, LINKAGE_BYTES, 8),
    ({"table": "clusters", "threshold": 7}, LINKAGE_BYTES, 8),
    ({"table": "clusters", "threshold": -1}, LINKAGE_BYTES, 8),
    ({"table": "clusters", "min_size": 2}, DENSITY_BYTES, 16),
]


@pytest.mark.parametrize(("request_", "each", "kept"), LABELS)
def test_labels_count_against_the_memory(
    view: ForestView, request_: dict[str, object], each: int, kept: int
) -> None:
    memory = ServiceMemory(each * N, least=0)
    with held_labels(view.index(), request_, memory) as table:
        assert table.num_rows == N
        assert memory.of_requests == kept * N == table.nbytes
    assert memory.of_requests == 0
    memory = ServiceMemory(each * N - 1, least=0)
    with (
        pytest.raises(
            ConfigError, match=f"too little for {request_['table']} of 500 v"
        ),
        held_labels(view.index(), request_, memory),
    ):
        pass
    assert memory.of_requests == 0


def test_a_stream_of_labels_counts_until_it_ends(view: ForestView) -> None:
    memory = ServiceMemory(0)
    graph = ServedGraph.__new__(ServedGraph)  # whose rows are not needed
    graph.name = "g"
    server = SimpleNamespace(
        executor=SimpleNamespace(served={"g": graph}.get),
        _memory=memory,
        _view=lambda graph, version: view,
    )
    request = {"graph": "g", "table": "clusters", "min_size": 2}
    for whole in (True, False):
        share = FrontServer.share(server, request)
        schema = next(share)
        assert schema.names == ["label", "probability"]
        assert memory.of_requests == 16 * N
        batch = next(share)
        assert batch.num_rows == N and memory.of_requests == 16 * N
        assert list(share) == [] if whole else share.close() is None
        assert memory.of_requests == 0


@pytest.mark.parametrize(("request_", "each", "kept"), LABELS)
@pytest.mark.parametrize("shape", ["path", "star", "random", "pairs"])
def test_the_work_on_labels_takes_no_more_than_is_counted(
    request_: dict[str, object], each: int, kept: int, shape: str
) -> None:
    rng = np.random.default_rng(2)
    child, weight = np.arange(1, MANY), rng.permutation(MANY - 1)
    parent = child - 1
    if shape == "star":
        parent = np.zeros(MANY - 1, np.int64)
    elif shape == "random":
        parent = (rng.random(MANY - 1) * child).astype(np.int64)
    elif shape == "pairs":  # the most clusters of two vertices
        weight += MANY * (1 - child % 2)
    index = ForestIndex(MANY, child, parent, weight)

    def work() -> None:
        with held_labels(index, request_, ServiceMemory(0)):
            pass

    peak = traced(work)
    assert kept * MANY <= peak <= each * MANY + 100_000  # Python's own objects


def test_answers_side_by_side_share_the_memory() -> None:
    memory = ServiceMemory(100, least=0)
    with memory.hold(60, "one"):
        with pytest.raises(ConfigError, match="and 60 bytes of other requests"):
            memory.hold(41, "another").__enter__()
        with memory.hold(40, "a third"):
            assert memory.of_requests == 100
    assert memory.of_requests == 0
    with (
        pytest.raises(ConfigError, match="that the host has free"),
        ServiceMemory(0).hold(1 << 60, "too much"),
    ):
        pass
