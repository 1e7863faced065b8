"""Arcs that are read in pieces are the same, however small the pieces are."""

from contextlib import nullcontext
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest
from shard_files import symmetric_rows, write

from mndmst.graph.order import keys_to_weights, weights_to_keys
from mndmst.host.errors import InputError
from mndmst.host.memory import Budget
from mndmst.io.shards.arc_reader import ArcReader
from mndmst.io.shards.sharded_graph import ShardedGraph, open_graph
from mndmst.io.shards.stored_rows import load_rows
from mndmst.kernels.arc_inspection import ArcFacts
from mndmst.kernels.read_progress import STEP, ArcsRead
from mndmst.kernels.threads import Threads
from mndmst.steps.read import read_rows

ALONE = SimpleNamespace(
    rank=0, size=1, raise_on_all=nullcontext, sum=lambda value: value
)

FACTS, ONE = ArcFacts(3, 5), Threads(1)


@pytest.fixture(autouse=True)
def tiny_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mndmst.io.shards.part_writer.CHUNK_BYTES", 16)
    monkeypatch.setattr("mndmst.io.shards.arc_reader.PIECE_BYTES", 24)


def reader(graph: ShardedGraph, begin: int, end: int) -> ArcReader:
    return ArcReader(graph, begin, end, graph.read_indptr(begin, end))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("begin", "end"), [(0, 60), (5, 55), (30, 30)])
def test_every_arc_is_seen_once(
    tmp_path: Path, threads: int, begin: int, end: int
) -> None:
    rows = symmetric_rows()
    graph = open_graph(write(tmp_path / "graph", rows, [0, 25, 25, 60]))
    arcs = reader(graph, begin, end)

    facts = arcs.read(Threads(threads), to_keys=False)
    indptr, indices, weights = rows
    low, high = indptr[[begin, end]]
    np.testing.assert_array_equal(arcs.indices, indices[low:high])
    np.testing.assert_array_equal(arcs.weights, weights[low:high])
    tails = np.repeat(np.arange(60), np.diff(indptr))[low:high]
    pairs = {*zip(tails.tolist(), indices[low:high].tolist(), strict=True)}
    assert facts.edges == sum(tail < head for tail, head in pairs)
    assert (facts.balance == 0) == (end - begin in (0, 60))
    arcs.read(Threads(threads))
    keys = weights_to_keys(weights[low:high].copy())
    np.testing.assert_array_equal(arcs.keys, keys)
    arcs.progress.wait(high - low)


@pytest.mark.parametrize("threads", [1, 3])
def test_arcs_that_a_device_looks_at_get_their_keys(
    tmp_path: Path, threads: int
) -> None:
    rows = symmetric_rows()
    graph = open_graph(write(tmp_path / "graph", rows, [0, 25, 25, 60]))
    whole, keys_only = reader(graph, 5, 55), reader(graph, 5, 55)
    facts = whole.read(Threads(threads))

    assert keys_only.read(Threads(threads), whole=False) == (0, 0)
    np.testing.assert_array_equal(keys_only.keys, whole.keys)
    np.testing.assert_array_equal(keys_only.indices, whole.indices)
    # What it has not looked at the host can look at later
    assert facts.edges
    assert keys_only.look(Threads(threads)) == facts
    np.testing.assert_array_equal(keys_only.keys, whole.keys)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_wrong_is_named_whoever_looks(tmp_path: Path, dtype: str) -> None:
    indices = np.array([*range(16, 40), *range(16)], np.uint32)
    weights = np.ones(40, dtype)
    rows = np.r_[0, np.full(40, 40)], indices, weights
    graph = open_graph(write(tmp_path / "descends", rows, [0, 40]))
    found, facts = load_rows(graph, 0, 40, ONE, begun=lambda rows: lambda: FACTS)
    assert facts == FACTS  # those of who looks
    assert len(found) == 40
    with pytest.raises(InputError, match=r"do not ascend \(vertex 0\)"):
        load_rows(graph, 0, 40, ONE, begun=lambda rows: lambda: None)
    weights[7] = np.nan
    rows = np.r_[0, np.full(40, 40)], np.sort(indices), weights
    graph = open_graph(write(tmp_path / "no-number", rows, [0, 40]))
    with pytest.raises(InputError, match=r"weight of arc \(0, 7\) is NaN"):
        load_rows(graph, 0, 40, ONE, begun=lambda rows: lambda: FACTS)


def test_parallel_edges_count_once_where_a_row_is_divided(tmp_path: Path) -> None:
    heads = np.array([1] * 9 + [0] * 9, np.uint32)
    rows = np.array([0, 9, 18]), heads, np.arange(18, dtype=np.int32) % 9
    graph = open_graph(write(tmp_path / "graph", rows, [0, 2]))
    found, _, edges = read_rows(ALONE, graph, np.array([0, 2]), Budget(0))  # type: ignore[arg-type]
    assert edges == 1
    np.testing.assert_array_equal(keys_to_weights(found.keys, np.dtype("i4")), rows[2])


def test_a_row_that_descends_where_it_is_divided(tmp_path: Path) -> None:
    indices = np.array([*range(16, 40), *range(16)], np.uint32)  # in pieces of 8
    rows = np.r_[0, np.full(40, 40)], indices, np.zeros(40, np.int32)
    graph = open_graph(write(tmp_path / "graph", rows, [0, 40]))
    arcs = reader(graph, 0, 40)
    with pytest.raises(InputError, match=r"do not ascend \(vertex 0\)"):
        arcs.read(Threads(2))
    with pytest.raises(InputError, match="not been read"):
        arcs.progress.wait(41)


def test_who_waits_for_arcs_gets_them_in_order() -> None:
    progress, seen = ArcsRead(2 * STEP + 7), []

    def follow() -> None:
        for arc in (0, 3, STEP + 3, 2 * STEP + 7):
            progress.wait(arc)
            seen.append(arc)

    follower = Thread(target=follow)
    follower.start()
    progress.note(STEP + 5, 2 * STEP + 7)
    progress.note(3, STEP + 5)
    assert 3 not in seen
    progress.note(0, 3)
    follower.join(10)
    assert seen == [0, 3, STEP + 3, 2 * STEP + 7]
