"""Answers of queries: paths come in bounded batches, and count against the memory."""

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

from mndmst.changes.current_forest import CurrentForest
from mndmst.host.errors import ConfigError
from mndmst.service import memory as service_memory
from mndmst.service import queries
from mndmst.service.forest_view import ForestView
from mndmst.service.memory import ServiceMemory
from mndmst.service.queries import PATH_EDGE_BYTES, answers
from mndmst.tree.index import ForestIndex

N = 500


@pytest.fixture(scope="module")
def view() -> ForestView:
    """A path of N vertices, edge k from k to k + 1 with weight k."""
    src = np.arange(N - 1)
    index = ForestIndex(N, src, src + 1, src.astype(np.int64))
    return ForestView(3, CurrentForest.of(index))


def test_paths_come_in_bounded_tables(view: ForestView, monkeypatch) -> None:
    monkeypatch.setattr(queries, "PATH_EDGES", 1000)
    rng = np.random.default_rng(1)
    u, v = rng.integers(0, N, (2, 300))
    u[:5], v[:5] = v[:5], v[:5]  # paths without an edge
    memory, walks, sizes = ServiceMemory(0), [], []
    for table in answers(view, "path", u, v, memory):
        assert memory.of_requests == PATH_EDGE_BYTES * sum(
            map(len, table["path"].to_pylist())
        )
        walks += table["path"].to_pylist()
        sizes.append(memory.of_requests // PATH_EDGE_BYTES)
    assert memory.of_requests == 0
    assert len(sizes) > 10 and max(sizes) <= 1000
    assert len(walks) == 300
    for begin, end, walk in zip(u.tolist(), v.tolist(), walks, strict=True):
        low, high = sorted((begin, end))
        weights = list(range(low, high))
        assert [e["weight"] for e in walk] == (
            weights if begin < end else weights[::-1]
        )


def test_a_path_longer_than_a_batch_comes_alone(view: ForestView, monkeypatch) -> None:
    monkeypatch.setattr(queries, "PATH_EDGES", 100)
    tables = list(answers(view, "path", [0, 0, 7], [1, N - 1, 8], ServiceMemory(0)))
    lengths = [[len(path) for path in t["path"].to_pylist()] for t in tables]
    assert lengths == [[1], [N - 1], [1]]
    (empty,) = answers(view, "path", [], [], ServiceMemory(0))
    assert empty.num_rows == 0 and empty.schema == tables[0].schema


@pytest.fixture
def without_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_memory, "LEAST", 0)


@pytest.mark.usefixtures("without_least")
def test_a_path_that_does_not_fit_is_refused(view: ForestView) -> None:
    needed = PATH_EDGE_BYTES * (N - 1)
    for limit in (needed, 0):
        assert list(answers(view, "path", [0], [N - 1], ServiceMemory(limit)))
    memory = ServiceMemory(needed - 1)
    with pytest.raises(ConfigError, match=r"499 edges of paths.*--memory 1MiB suff"):
        list(answers(view, "path", [0], [N - 1], memory))
    assert memory.of_requests == 0


@pytest.mark.usefixtures("without_least")
def test_answers_side_by_side_share_the_memory() -> None:
    memory = ServiceMemory(100)
    with memory.hold(60, "one"):
        with pytest.raises(ConfigError, match="and 60 of other requests"):
            memory.hold(41, "another").__enter__()
        with memory.hold(40, "a third"):
            assert memory.of_requests == 100
    assert memory.of_requests == 0
    with (
        pytest.raises(ConfigError, match="that the host has free"),
        ServiceMemory(0).hold(1 << 60, "too much"),
    ):
        pass
