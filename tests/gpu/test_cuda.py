"""The CUDA backend against an oracle, step by step."""

import subprocess
import sys
from itertools import pairwise
from threading import Thread

import numpy as np
import pytest
from shapes import IDS, KEYS, SHAPES, check, check_labels, csr, edges_of, kruskal

from mndmst.backends import cpu_device
from mndmst.backends.base import Band, DeviceMemoryError
from mndmst.backends.cuda import unavailable
from mndmst.graph.model import EdgeList, ReducedGraph, Rows
from mndmst.graph.tuning import Tuning
from mndmst.host.errors import ConfigError
from mndmst.kernels.hooks import Hooks

reason = unavailable()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(reason is not None, reason=str(reason)),
]


@pytest.fixture
def small(backend, monkeypatch):
    """Send small reduced graphs to the device too."""
    monkeypatch.setattr(backend, "tuning", Tuning(device_edges=0))


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_msf(backend, shape, keys, ids):
    n, u, v, key = edges_of(shape, np.random.default_rng(1), keys)
    forest = backend.msf(backend.upload(csr(n, u, v, key, ids)))
    expected = kruskal(u, v, key)
    check(forest.edges, expected, ids, keys)
    check_labels(forest.labels(), *expected[:2], n)


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("seed", range(20))
def test_msf_of_many_small_graphs(backend, seed, keys):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 40)), int(rng.integers(0, 120))
    u, v = rng.integers(0, n, (2, m))
    u, v = np.minimum(u, v), np.maximum(u, v)
    key = rng.integers(0, 1 + seed, m).astype(keys)
    forest = backend.msf(backend.upload(csr(n, u, v, key, np.uint32)))
    check(forest.edges, kruskal(u, v, key), np.uint32, keys)


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("shape", ("dense", "tied", "equal", "star"))
def test_msf_when_lists_overflow(backend, shape, keys, monkeypatch):
    tuning = Tuning(listed_slack=0, dense_edges=0.5, device_light_edges=0.1)
    monkeypatch.setattr(backend, "tuning", tuning)
    monkeypatch.setattr(backend, "_room", lambda held: 60 * 1500)
    n, u, v, key = edges_of(shape, np.random.default_rng(2), keys)
    forest = backend.msf(backend.upload(csr(n, u, v, key, np.uint32)))
    check(forest.edges, kruskal(u, v, key), np.uint32, keys)


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("shape", ("dense", "tied", "equal"))
@pytest.mark.parametrize("edges", [0, 1, 5000])
def test_the_limit_bounds_the_list_of_edges(backend, shape, keys, edges):
    """The rows are there, and the limit leaves room for few edges beside them."""
    tuning = Tuning(listed_slack=0)
    n, u, v, key = edges_of(shape, np.random.default_rng(2), keys)
    on_device = backend.upload(csr(n, u, v, key, np.uint32))
    width = np.dtype(keys).itemsize
    own = 28 * n + 4 * 128 + (8 + width) * n
    limit = on_device.nbytes + own + int((edges + 0.5) * (40 + width) / 0.8)
    small = type(backend)(limit=limit, tuning=tuning)
    if edges < 10:
        room = f"room for a list of {edges} edges?, and [0-9,]+ edges must be"
        hooks = Hooks(np.empty(n, np.uint32), np.empty(n, keys))
        for solve in (small.msf, lambda rows: small.row_hooks(rows, Band(), hooks)):
            with pytest.raises(DeviceMemoryError, match=room):
                solve(on_device)
    else:
        check(small.msf(on_device).edges, kruskal(u, v, key), np.uint32, keys)


def shift_ids(rows, by):
    """Move a graph to ids beyond 2^32."""
    return Rows(
        rows.first + by,
        rows.num_vertices + 2 * by,
        rows.indptr,
        rows.indices.astype(np.int64) + by,
        rows.keys,
    )


def parts(rows):
    cuts = (0, len(rows) // 5, len(rows) // 2, len(rows))
    return [rows.cut(low, high) for low, high in pairwise(cuts)]


def edges_in(rows):
    """Return each edge of some rows once, by its global ends."""
    source = rows.first + np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    target = rows.indices.astype(np.int64)
    inside = (target >= rows.first) & (target < rows.last)
    once = (source < target) | ~inside
    u, v = np.minimum(source, target)[once], np.maximum(source, target)[once]
    return u, v, rows.keys[once]


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_band_forest(backend, shape, keys, ids):
    n, u, v, key = edges_of(shape, np.random.default_rng(3), keys)
    whole = csr(n, u, v, key, ids)
    if ids is np.int64:
        whole = shift_ids(whole, 1 << 40)
    middle = int(np.sort(key)[len(key) // 3])
    for rows in parts(whole):
        on_device = backend.upload(rows)
        u, v, key = edges_in(rows)
        for band in (Band(), Band(None, middle), Band(middle, None)):
            low = -1 if band.low is None else band.low
            inside = np.array([k > low for k in key.tolist()], bool)
            if band.high is not None:
                inside &= key <= keys(band.high)
            expected = kruskal(u[inside], v[inside], key[inside])
            check(backend.band_forest(on_device, band, None), expected, ids, keys)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("complete", (True, False))
def test_band_forest_with_labels(backend, complete, seed):
    rng = np.random.default_rng(seed)
    n, u, v, key = edges_of("gnm", rng, np.uint32)
    whole = csr(n, u, v, key, np.int64)
    rows = whole if complete else parts(whole)[1]
    # Labels of vertices here, of ghosts, and of vertices that are not seen here.
    label = rng.integers(0, n, len(rows))
    label[:50] = n + 7
    u, v, key = edges_in(rows)

    def component(x):
        inside = (x >= rows.first) & (x < rows.last)
        return np.where(inside, label[np.where(inside, x - rows.first, 0)], x)

    high = int(np.median(key))
    for band in (Band(None, high), Band(high, None)):
        inside = key > high if band.high is None else key <= high
        e = u[inside], v[inside], key[inside]
        expected = kruskal(*e, component(e[0]), component(e[1]))
        result = backend.band_forest(backend.upload(rows), band, label)
        check(result, expected, np.int64, np.uint32)


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("shape", ("tied", "star", "loops", "dense", "gnm"))
def test_row_hooks(backend, shape, keys, ids):
    n, u, v, key = edges_of(shape, np.random.default_rng(4), keys)
    u, v, key = (np.concatenate([column, column[:50]]) for column in (u, v, key))
    key[-50:] = key[50:100]  # parallel to the first, of other weights
    whole = csr(n, u, v, key, ids)
    for rows in (whole, *parts(whole)):
        on_device, vertices = backend.upload(rows), np.arange(rows.first, rows.last)
        for band in (Band(), Band(None, int(np.sort(key)[len(key) // 2]))):
            hooks, expected = (
                Hooks(np.full(n, n, np.uint32), np.zeros(n, keys)) for _ in range(2)
            )
            edges = backend.row_hooks(on_device, band, hooks)
            expected_edges = backend.host.row_hooks(rows, band, expected)
            np.testing.assert_array_equal(hooks.hook, expected.hook)
            assert (np.delete(hooks.hook, vertices) == n).all()
            hooked = vertices[hooks.hook[vertices] != vertices]
            np.testing.assert_array_equal(hooks.best[hooked], expected.best[hooked])
            for name in ("u", "v", "key"):
                found, right = getattr(edges, name), getattr(expected_edges, name)
                assert found.dtype == right.dtype
                np.testing.assert_array_equal(found, right)


def reduced(rng, components, m, keys, ghosts):
    """Return a reduced graph with ties and multi-edges."""
    u = rng.integers(0, 10 * components, m)
    v = rng.integers(0, 10 * components, m)
    u, v = np.minimum(u, v), np.maximum(u, v)
    pairs = np.unique(np.stack((u, v)), axis=1)
    u, v = pairs[:, pairs[0] // 10 != pairs[1] // 10]
    key = rng.integers(0, 40, len(u)).astype(keys) + keys(np.iinfo(keys).max - 40)
    return ReducedGraph(
        EdgeList(u, v, key),
        u // 10,
        v // 10,
        10 * np.arange(components),
        rng.random(components) >= ghosts,
    )


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("m", (1, 50, 20000))
def test_forest(backend, small, m, keys):
    graph = reduced(np.random.default_rng(m), 2000, m, keys, 0.2)
    growth = backend.forest(graph)
    e = graph.edges
    expected = kruskal(e.u, e.v, e.key, graph.a, graph.b)
    check(e.take(growth.in_forest), expected, np.int64, keys)
    final = growth.in_forest
    check_labels(growth.root, graph.a[final], graph.b[final], 2000)


@pytest.mark.parametrize("ghosts", (0.0, 0.2, 1.0))
def test_grow_agrees_with_the_host(backend, small, ghosts):
    graph = reduced(np.random.default_rng(5), 2000, 20000, np.uint64, ghosts)
    growth, expected = backend.contract(graph), backend.host.contract(graph)
    np.testing.assert_array_equal(growth.in_forest, expected.in_forest)
    np.testing.assert_array_equal(growth.root, expected.root)
    assert growth.in_forest.any() == (ghosts < 1.0)


def test_steps_in_a_thread(backend):
    n, u, v, key = edges_of("gnm", np.random.default_rng(6), np.uint32)
    results = []

    def work():
        results.append(backend.msf(backend.upload(csr(n, u, v, key, np.uint32))))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    check(results[0].edges, kruskal(u, v, key), np.uint32, np.uint32)


def test_copies_of_many_pieces(backend):
    from mndmst.backends.cuda.transfer import PIECE_BYTES, PIECES

    array = np.random.default_rng(7).integers(
        0, 255, PIECE_BYTES * (PIECES + 2) + 5, np.uint8
    )
    with backend._current():
        back = backend._transfer.to_host(backend._transfer.to_device(array))
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("lengths", [(0,), (1, 0, 3), (5, 1 << 18, 7), (3 << 20, 9)])
def test_copies_of_several_arrays(backend, lengths):
    rng = np.random.default_rng(8)
    kinds = (np.uint32, np.uint64, np.uint8)
    arrays = [
        rng.integers(0, 255, length).astype(kind)
        for length, kind in zip(lengths, kinds, strict=False)
    ]
    backend.start(np.dtype(np.uint32))  # pins the pieces, so that threads empty them
    with backend._current():
        transfer = backend._transfer
        backs = transfer.all_to_host(*map(transfer.to_device, arrays))
    for back, array in zip(backs, arrays, strict=True):
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)


def test_rows_without_arcs(backend):
    rows = Rows(
        2, 9, np.zeros(4, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint32)
    )
    on_device = backend.upload(rows)
    assert len(backend.band_forest(on_device, Band(), None)) == 0
    assert len(backend.band_forest(on_device, Band(), np.array([2, 3, 4]))) == 0


def test_a_device_that_does_not_exist():
    from mndmst.backends.cuda.backend import CudaBackend

    with pytest.raises(ConfigError, match="CUDA device 99 does not exist"):
        CudaBackend(99)


def test_too_little_memory(backend, monkeypatch):
    n, u, v, key = edges_of("dense", np.random.default_rng(9), np.uint32)
    on_device = backend.upload(csr(n, u, v, key, np.uint32))
    tuning = Tuning(listed_slack=1 << 40, most_listed=1 << 40)
    monkeypatch.setattr(backend, "tuning", tuning)
    monkeypatch.setattr(backend, "_room", lambda held: 1 << 48)
    with pytest.raises(ConfigError, match="too little free memory"):
        backend.msf(on_device)


def test_numba_agrees(backend):
    n, u, v, key = edges_of("dense", np.random.default_rng(8), np.uint64)
    rows = csr(n, u, v, key, np.uint32)
    host = cpu_device()
    mine, theirs = (b.msf(b.upload(rows)).edges for b in (backend, host))
    theirs = theirs.take(np.lexsort((theirs.v, theirs.u)))
    check(mine, (theirs.u, theirs.v, theirs.key), np.uint32, np.uint64)


@pytest.mark.parametrize("keys", KEYS)
def test_start_calls_no_kernel_of_the_host(keys):
    program = (
        "import numpy as np; from mndmst.backends.cuda import make_device; "
        "from mndmst.native.loader import loaded; "
        f"make_device(0).start(np.dtype('{np.dtype(keys).str}')); print(loaded())"
    )
    run = subprocess.run([sys.executable, "-c", program], stdout=-1, check=True)
    assert run.stdout == b"[]\n"
