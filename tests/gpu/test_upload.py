"""Rows come to the device while they are read, and to others that merge with it."""

import ctypes
from itertools import pairwise
from threading import Thread

import numpy as np
import pytest
from shapes import KEYS, csr, edges_of
from shard_files import symmetric_rows, write

from mndmst.backends.base import Band
from mndmst.backends.cuda import unavailable
from mndmst.graph.model import Rows
from mndmst.graph.tuning import Tuning
from mndmst.host.errors import InputError
from mndmst.io.shards.row_reading import ReadInProgress
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.kernels.read_progress import ArcsRead
from mndmst.kernels.threads import Threads

reason = unavailable()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(reason is not None, reason=str(reason)),
]


@pytest.mark.parametrize("keys", KEYS)
def test_rows_are_placed_while_they_are_read(backend, monkeypatch, keys):
    monkeypatch.setattr(backend, "tuning", Tuning(uploaded_arcs=64))
    n, u, v, key = edges_of("gnm", np.random.default_rng(7), keys)
    whole = csr(n, u, v, key, np.uint32)
    for rows in (whole, whole.cut(n // 3, n // 2)):
        arrays = [np.zeros_like(array) for array in (rows.indices, rows.keys)]
        progress = ArcsRead(rows.num_arcs)
        coming = Rows(rows.first, n, rows.indptr, *arrays, progress)

        def read(rows=rows, arrays=arrays, progress=progress):
            steps = list(pairwise([*range(0, rows.num_arcs, 50), rows.num_arcs]))
            for low, high in steps[::-1][1:] + steps[-1:]:
                for array, source in zip(
                    arrays, (rows.indices, rows.keys), strict=True
                ):
                    array[low:high] = source[low:high]
                progress.note(low, high)

        reader = Thread(target=read)
        reader.start()
        on_device = backend.upload(coming)
        reader.join()
        result, expected = (
            backend.band_forest(p, Band(), None)
            for p in (on_device, backend.upload(rows))
        )
        for name in ("u", "v", "key"):
            np.testing.assert_array_equal(
                getattr(result, name), getattr(expected, name)
            )


def test_rows_that_do_not_come_are_not_waited_for(backend):
    n, u, v, key = edges_of("gnm", np.random.default_rng(7), np.uint32)
    rows = csr(n, u, v, key, np.uint32)
    progress = ArcsRead(rows.num_arcs)
    progress.fail()
    with pytest.raises(InputError, match="not been read"):
        backend.upload(Rows(0, n, rows.indptr, rows.indices, rows.keys, progress))


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("part", [(0, 2000), (500, 1500)])
def test_rows_come_from_files(backend, tmp_path, compress, part):
    graph = written(tmp_path / "graph", compress)
    in_memory = ReadInProgress(graph, *part)
    facts = in_memory.read()
    on_device = backend.upload(ReadInProgress(graph, *part, Threads(3)).rows_in_files())
    assert backend.inspect_arcs(on_device, 2000) == facts
    expected = backend.upload(in_memory.rows)
    for name in ("ends", "keys", "ghosts"):
        one, other = (getattr(rows, name).get() for rows in (on_device, expected))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("compress", [False, True])
def test_rows_in_files_that_do_not_fit_are_streamed(backend, tmp_path, compress):
    streamed = pytest.importorskip("mndmst.backends.cuda.streamed")
    graph = written(tmp_path / "graph", compress)
    in_memory = ReadInProgress(graph, 0, 2000)
    in_memory.read()
    small = type(backend)(limit=300_000, tuning=Tuning(streamed_bytes=1 << 12))
    on_device = small.upload(ReadInProgress(graph, 0, 2000).rows_in_files())
    assert isinstance(on_device, streamed.StreamedRows)
    found = (
        small.msf(on_device).edges,
        backend.msf(backend.upload(in_memory.rows)).edges,
    )
    for name in ("u", "v", "key"):
        np.testing.assert_array_equal(*(getattr(edges, name) for edges in found))


@pytest.mark.parametrize("function", ["enter", "copy", "wait"])
def test_an_error_of_the_driver_is_one_of_the_device(
    backend, tmp_path, monkeypatch, function
):
    transfer = pytest.importorskip("mndmst.backends.cuda.transfer")
    failing = ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: 719)
    address = ctypes.cast(failing, ctypes.c_void_p).value
    whole = transfer._driver
    monkeypatch.setattr(
        transfer, "_driver", lambda: whole()._replace(**{function: address})
    )
    rows = ReadInProgress(written(tmp_path / "graph"), 0, 2000).rows_in_files()
    with pytest.raises(transfer.cupy.cuda.runtime.CUDARuntimeError) as caught:
        backend.upload(rows)
    assert caught.value.status == 719


def written(path, compress=False):
    rows = symmetric_rows(2000, 9000)
    return open_graph(write(path, rows, [0, 700, 2000], compress=compress))


def test_one_peer_alone_finds_the_forest(backend):
    n, u, v, key = edges_of("gnm", np.random.default_rng(3), np.uint32)
    on_device = backend.upload(csr(n, u, v, key, np.uint32))
    peer = backend.peer(on_device, n)
    edges, label = peer.receive(peer.merge([peer.publish()], 0), 0)
    expected = backend.msf(on_device)
    for name in ("u", "v", "key"):
        np.testing.assert_array_equal(
            getattr(edges, name), getattr(expected.edges, name)
        )
    np.testing.assert_array_equal(label, expected.labels())


@pytest.mark.parametrize("step", ["publish", "merge"])
def test_where_handles_are_refused_no_peer_goes_on(backend, monkeypatch, step):
    def refuse(block):
        raise cupy.cuda.runtime.CUDARuntimeError(801)  # cudaErrorNotSupported

    n, u, v, key = edges_of("gnm", np.random.default_rng(3), np.uint32)
    peer = backend.peer(backend.upload(csr(n, u, v, key, np.uint32)), n)
    published = [peer.publish()] if step == "merge" else []
    cupy = pytest.importorskip("cupy")
    monkeypatch.setattr("mndmst.backends.cuda.peer._shared", refuse)
    assert (peer.merge(published, 0) if published else peer.publish()) is None
