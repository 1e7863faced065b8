"""Rows that stay in host memory: the same forests as from device memory."""

import numpy as np
import pytest
from shapes import IDS, KEYS, SHAPES, check, check_labels, csr, edges_of, kruskal

from mndmst.backends.base import Band
from mndmst.backends.cuda import unavailable
from mndmst.graph.tuning import Tuning

reason = unavailable()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(reason is not None, reason=str(reason)),
]


TUNING = Tuning(streamed_bytes=1 << 12)


@pytest.fixture
def backend():
    """A device with hardly any memory to give: tiny pieces, the shortest list."""
    from mndmst.backends.cuda.backend import CudaBackend

    return CudaBackend(limit=100_000, tuning=TUNING)


def stream(rows):
    from mndmst.backends.cuda.streamed import StreamedRows

    return StreamedRows.of(rows, TUNING)


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_msf(backend, shape, keys, ids):
    n, u, v, key = edges_of(shape, np.random.default_rng(1), keys)
    forest = backend.msf(stream(csr(n, u, v, key, ids)))
    expected = kruskal(u, v, key)
    check(forest.edges, expected, ids, keys)
    check_labels(forest.labels(), *expected[:2], n)


@pytest.mark.parametrize("seed", range(20))
def test_msf_of_many_small_graphs(backend, seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 40)), int(rng.integers(0, 400))
    u, v = np.sort(rng.integers(0, n, (2, m)), axis=0)
    key = rng.integers(0, 1 + seed, m).astype(np.uint32)
    forest = backend.msf(stream(csr(n, u, v, key, np.uint32)))
    check(forest.edges, kruskal(u, v, key), np.uint32, np.uint32)


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("shape", ("dense", "tied", "equal", "star", "loops"))
def test_bands_of_a_part(backend, shape, keys):
    from mndmst.backends.cuda.backend import CudaBackend

    n, u, v, key = edges_of(shape, np.random.default_rng(2), keys)
    rows = csr(n, u, v, key, np.int64).cut(n // 5, n // 2)
    middle = int(np.sort(rows.keys)[rows.num_arcs // 2])
    label = np.random.default_rng(3).integers(0, n, len(rows))
    whole = CudaBackend()
    on_device = whole.upload(rows)
    for band in (Band(), Band(None, middle), Band(middle, None)):
        for known in (None, label):
            edges = whole.band_forest(on_device, band, known)
            expected = (edges.u, edges.v, edges.key)
            found = backend.band_forest(stream(rows), band, known)
            check(found, expected, np.int64, keys)


def test_the_limit_decides(backend):
    from mndmst.backends.cuda.device_rows import DeviceRows
    from mndmst.backends.cuda.streamed import StreamedRows

    n, u, v, key = edges_of("dense", np.random.default_rng(4), np.uint32)
    rows = csr(n, u, v, key, np.uint32)
    on_device = backend.upload(rows)
    assert isinstance(on_device, StreamedRows)
    assert backend.rows_nbytes(rows) < rows.nbytes
    assert isinstance(backend.upload(rows.cut(0, 1)), DeviceRows)


def test_rows_that_do_not_fit_are_compiled_for_while_they_are_placed(monkeypatch):
    """The first solve of streamed rows compiles no kernel."""
    from mndmst.backends.cuda.backend import CudaBackend
    from mndmst.backends.cuda.streamed import StreamedRows

    streamed = []
    msf = CudaBackend.msf
    monkeypatch.setattr(
        CudaBackend, "msf", lambda self, rows: streamed.append(rows) or msf(self, rows)
    )
    backend = CudaBackend(limit=100_000, tuning=TUNING)
    n, u, v, key = edges_of("dense", np.random.default_rng(1), np.uint32)
    for _ in range(2):
        on_device = backend.upload(csr(n, u, v, key, np.uint32))
        assert isinstance(on_device, StreamedRows)
    assert [len(tiny.rows) for tiny in streamed] == [64]
    check(backend.msf(on_device).edges, kruskal(u, v, key), np.uint32, np.uint32)
