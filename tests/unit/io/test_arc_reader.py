"""Arcs that are read in pieces are the same, however small the pieces are."""

import ctypes
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
from shard_files import symmetric_rows, write

from mndmst.graph.arc_files import Driver, Lane
from mndmst.graph.order import keys_to_weights, weights_to_keys
from mndmst.graph.tuning import Tuning
from mndmst.host.errors import InputError
from mndmst.host.memory import Budget
from mndmst.io.shards.row_reading import ReadInProgress
from mndmst.io.shards.sharded_graph import ShardedGraph, open_graph
from mndmst.kernels.arc_inspection import ArcFacts
from mndmst.kernels.read_progress import STEP, ArcsRead
from mndmst.kernels.threads import Threads
from mndmst.solver.read import begin_read

ALONE = SimpleNamespace(
    rank=0, size=1, raise_on_all=nullcontext, sum=lambda value: value
)

FACTS = ArcFacts(3, 5)
KEPT: list[Any] = []  # functions that kernels call


@pytest.fixture(autouse=True)
def tiny_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mndmst.io.hdf5_writer.CHUNK_BYTES", 16)
    monkeypatch.setattr("mndmst.io.shards.arc_pieces.PIECE_BYTES", 24)


class Inspection:
    """An inspection on a device that finds some facts, or fails."""

    def __init__(self, found: ArcFacts | None) -> None:
        self.found = found

    def facts(self) -> ArcFacts | None:
        return self.found


def host_as_device(
    threads: int, nbytes: int, failure: int = 0
) -> tuple[Driver, list[tuple[Lane, Lane]]]:
    """Return a driver whose device is the host, and lanes.

    It copies when a stream is waited for. With a `failure` every copy fails so.
    """
    begun: dict[int, list[tuple[int, int, int]]] = defaultdict(list)

    def copy(target: int, source: int, nbytes: int, stream: int) -> int:
        begun[stream].append((target, source, nbytes))
        return failure

    def wait(stream: int, *_: int) -> int:
        for one in begun.pop(stream, []):
            ctypes.memmove(*one)
        return 0

    kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * 4)
    functions = [kind(lambda context, *_: int(context != 7)), kind(copy), kind(wait)]
    KEPT.extend(functions)
    places = [
        ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions
    ]
    lanes = [Lane(np.empty(nbytes, np.uint8), i) for i in range(2 * threads)]
    return Driver(*places, 7), list(zip(lanes[::2], lanes[1::2], strict=True))


def addresses(arrays: tuple[np.ndarray, ...]) -> list[int]:
    return [array.ctypes.data for array in arrays]


def reader(
    graph: ShardedGraph, begin: int, end: int, threads: int = 1
) -> ReadInProgress:
    return ReadInProgress(graph, begin, end, Threads(threads, Tuning(few_arcs=0)))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("begin", "end"), [(0, 60), (5, 55), (30, 30)])
def test_every_arc_is_seen_once(
    tmp_path: Path, threads: int, begin: int, end: int
) -> None:
    rows = symmetric_rows()
    graph = open_graph(write(tmp_path / "graph", rows, [0, 25, 25, 60]))
    arcs = reader(graph, begin, end, threads)

    facts = arcs.read(to_keys=False)
    indptr, indices, weights = rows
    low, high = indptr[[begin, end]]
    np.testing.assert_array_equal(arcs.indices, indices[low:high])
    np.testing.assert_array_equal(arcs.weights, weights[low:high])
    tails = np.repeat(np.arange(60), np.diff(indptr))[low:high]
    pairs = {*zip(tails.tolist(), indices[low:high].tolist(), strict=True)}
    assert facts.edges == sum(tail < head for tail, head in pairs)
    assert (facts.balance == 0) == (end - begin in (0, 60))
    arcs.read()
    keys = weights_to_keys(weights[low:high].copy())
    np.testing.assert_array_equal(arcs.keys, keys)
    arcs.progress.wait(high - low)


@pytest.mark.parametrize("threads", [1, 3])
def test_arcs_that_a_device_inspects_get_their_keys(
    tmp_path: Path, threads: int
) -> None:
    rows = symmetric_rows()
    graph = open_graph(write(tmp_path / "graph", rows, [0, 25, 25, 60]))
    whole, keys_only = reader(graph, 5, 55, threads), reader(graph, 5, 55, threads)
    facts = whole.read()

    assert keys_only.read(inspection=Inspection(FACTS)) == FACTS
    np.testing.assert_array_equal(keys_only.keys, whole.keys)
    np.testing.assert_array_equal(keys_only.indices, whole.indices)
    # The host can inspect them later
    assert facts.edges
    assert keys_only.inspect() == facts
    np.testing.assert_array_equal(keys_only.keys, whole.keys)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_fault_is_named_if_a_device_finds_it(tmp_path: Path, dtype: str) -> None:
    indices = np.array([*range(16, 40), *range(16)], np.uint32)
    weights = np.ones(40, dtype)
    rows = np.r_[0, np.full(40, 40)], indices, weights
    graph = open_graph(write(tmp_path / "descends", rows, [0, 40]))
    arcs = reader(graph, 0, 40)
    assert arcs.read(inspection=Inspection(FACTS)) == FACTS  # the device's
    assert len(arcs.rows) == 40
    with pytest.raises(InputError, match=r"do not ascend \(vertex 0\)"):
        reader(graph, 0, 40).read(inspection=Inspection(None))
    weights[7] = np.nan
    rows = np.r_[0, np.full(40, 40)], np.sort(indices), weights
    graph = open_graph(write(tmp_path / "no-number", rows, [0, 40]))
    with pytest.raises(InputError, match=r"weight of arc \(0, 7\) is NaN"):
        reader(graph, 0, 40).read(inspection=Inspection(FACTS))


def test_parallel_edges_count_once_where_a_row_is_divided(tmp_path: Path) -> None:
    heads = np.array([1] * 9 + [0] * 9, np.uint32)
    rows = np.array([0, 9, 18]), heads, np.arange(18, dtype=np.int32) % 9
    graph = open_graph(write(tmp_path / "graph", rows, [0, 2]))
    read = begin_read(ALONE, graph, np.array([0, 2]), Budget(0))  # type: ignore[arg-type]
    assert read.finish() == 1
    np.testing.assert_array_equal(
        keys_to_weights(read.rows.keys, np.dtype("i4")), rows[2]
    )


def test_a_row_that_descends_where_it_is_divided(tmp_path: Path) -> None:
    indices = np.array([*range(16, 40), *range(16)], np.uint32)  # in pieces of 8
    rows = np.r_[0, np.full(40, 40)], indices, np.zeros(40, np.int32)
    graph = open_graph(write(tmp_path / "graph", rows, [0, 40]))
    arcs = reader(graph, 0, 40, threads=2)
    with pytest.raises(InputError, match=r"do not ascend \(vertex 0\)"):
        arcs.read()
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


@pytest.mark.parametrize("threads", [1, 3])
def test_a_device_reads_the_arcs_and_the_host_when_it_needs_them(
    tmp_path: Path, threads: int
) -> None:
    indptr, indices, weights = symmetric_rows()
    graph = open_graph(
        write(tmp_path / "graph", (indptr, indices, weights), [0, 25, 60])
    )
    begun = reader(graph, 5, 55, threads)
    rows, (low, high) = begun.rows_in_files(), indptr[[5, 55]]
    assert rows.num_arcs == high - low
    assert (rows.id_dtype, rows.key_dtype) == (np.uint32, np.uint32)
    found = np.zeros(rows.num_arcs, np.uint32), np.zeros(rows.num_arcs, np.int32)
    assert rows.files is not None
    with rows.files.opened() as arcs:
        assert arcs is not None
        assert arcs.copy(*host_as_device(2, arcs.piece_bytes), *addresses(found)) == 0
    np.testing.assert_array_equal(found[0], indices[low:high])
    np.testing.assert_array_equal(found[1], weights[low:high])
    np.testing.assert_array_equal(np.sort(rows.sample_indices(9)), np.sort(found[0]))

    np.testing.assert_array_equal(rows.indices, indices[low:high])
    np.testing.assert_array_equal(rows.keys, weights_to_keys(found[1].copy()))
    assert begun.load() == reader(graph, 5, 55).read()


@pytest.mark.parametrize("reads", ["device", "host"])
def test_files_are_open_until_the_arcs_are_read(tmp_path: Path, reads: str) -> None:
    graph = open_graph(write(tmp_path / "graph", symmetric_rows(), [0, 25, 60]))
    begun = reader(graph, 0, 60)
    rows = begun.rows_in_files()
    assert open_files() >= set(graph.parts)
    if reads == "device":
        with begun.opened():
            pass
    else:
        assert len(rows.indices) == graph.num_arcs
    assert not open_files() & set(graph.parts)


def open_files() -> set[Path]:
    return {link.resolve() for link in Path("/proc/self/fd").iterdir()}


def open_on_device(
    graph: ShardedGraph, threads: int, failure: int = 0
) -> tuple[int, ArcFacts]:
    """Copy all arcs to a device; return the driver's status, and the host's facts."""
    begun = reader(graph, 0, graph.num_vertices, threads)
    found = np.zeros_like(begun.indices), np.zeros_like(begun.keys)
    with begun.opened() as arcs:
        assert arcs is not None
        device = host_as_device(threads, arcs.piece_bytes, failure)
        status = arcs.copy(*device, *addresses(found))
    return status, begun.load()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_the_driver_ends_the_copies(tmp_path: Path, threads: int) -> None:
    graph = open_graph(write(tmp_path / "graph", symmetric_rows(), [0, 25, 60]))
    status, facts = open_on_device(graph, threads, failure=719)
    assert status == 719
    assert facts.balance == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_of_several_damaged_chunks_the_first_is_named(
    tmp_path: Path, threads: int
) -> None:
    graph = open_graph(write(tmp_path / "graph", symmetric_rows(), [0, 25, 60]))
    with h5py.File(graph.parts[1]) as file:
        stored = file["graph/indices"].id
        places = [stored.get_chunk_info(i).byte_offset for i in (5, 9)]
    content = bytearray(graph.parts[1].read_bytes())
    for place in places:
        content[place] ^= 1
    graph.parts[1].write_bytes(content)
    named = rf"part-00001.*the chunk at byte {min(places)} "
    graph = open_graph(graph.path)
    with pytest.raises(InputError, match=named):
        open_on_device(graph, threads)
    with pytest.raises(InputError, match=named):
        reader(graph, 0, 60, threads).read()


def test_arcs_that_only_the_host_unpacks(tmp_path: Path) -> None:
    rows = symmetric_rows()
    graph = open_graph(write(tmp_path / "graph", rows, [0, 25, 60], compress=True))
    begun = reader(graph, 0, 60)
    with begun.opened() as arcs:
        assert arcs is None
    np.testing.assert_array_equal(begun.rows_in_files().indices, rows[1])
