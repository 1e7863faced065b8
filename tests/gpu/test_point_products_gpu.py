"""Products on a device find the forest that the tree finds, bit for bit."""

import json
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from processes import finish, python, start

from mndmst.backends.cuda import unavailable
from mndmst.points.point_forest import points_forest
from mndmst.points.search import search_choice

reason = unavailable()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(reason is not None, reason=str(reason)),
]

RANKS = Path(__file__).with_name("point_ranks_program.py")
BLOBS = Path(__file__).parents[1] / "mpi" / "blobs_program.py"

SHAPES = {
    "line": lambda r: np.outer(np.arange(700.0), np.ones(7)),
    "grid": lambda r: r.integers(0, 3, (2000, 5)).astype(float),
    "equal": lambda r: np.ones((1500, 4)),
    "copies": lambda r: np.repeat(r.standard_normal((4, 20)), 700, axis=0),
    "zeros and far": lambda r: np.r_[
        np.zeros((99, 6)), 1e-9 * r.standard_normal((99, 6)), 1e6 * np.eye(6)
    ],
    "tiny": lambda r: 1e-150 * r.standard_normal((150, 12)),
    "huge": lambda r: 1e149 * r.uniform(-1, 1, (150, 12)),
    "off centre": lambda r: 1e4 + 1e-3 * r.standard_normal((900, 30)),
    "blobs": lambda r: (
        np.repeat(r.standard_normal((5, 400)), 400, axis=0)
        + 0.1 * r.standard_normal((2000, 400))
    ),
    "far blobs": lambda r: (
        np.repeat(10 * r.standard_normal((40, 50)), 50, axis=0)
        + 0.1 * r.standard_normal((2000, 50))
    ),
    "two dimensions": lambda r: r.standard_normal((3000, 2)),
    "near ties": lambda r: np.eye(300) * (1 + 1e-13 * np.arange(300))[:, None],
}


@pytest.fixture(autouse=True)
def _any_number_of_points(monkeypatch):
    monkeypatch.setattr(search_choice, "DEVICE_POINTS", 2)
    monkeypatch.setattr(search_choice, "START_POINTS", 2)


def check(points, metric, min_samples):
    found = points_forest(points, metric, min_samples, search="product")
    tree = points_forest(points.astype(np.float64), metric, min_samples, search="tree")
    assert found.search == "device"
    for column in ("src", "dst", "weight"):
        np.testing.assert_array_equal(
            getattr(found.forest, column), getattr(tree.forest, column)
        )


@pytest.mark.parametrize("min_samples", [0, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape, min_samples):
    check(SHAPES[shape](np.random.default_rng(3)), "euclidean", min_samples)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_types_and_metrics(metric, dtype):
    points = (9 * np.random.default_rng(5).standard_normal((3000, 24))).astype(dtype)
    check(points, metric, 4)


@pytest.mark.parametrize("seed", range(12))
def test_random_points(seed):
    r = np.random.default_rng(seed)
    count, dimensions = int(r.integers(2, 6000)), int(r.integers(1, 401))
    points = r.standard_normal((count, dimensions)) * r.choice([1e-3, 1, 1e5])
    points[r.integers(0, count, count // 3)] = points[0]
    check(points, "euclidean", int(r.integers(0, 40)))


def test_many_rows_and_columns_take_several_launches(monkeypatch):
    from mndmst.points.cuda import device_products

    monkeypatch.setattr(device_products, "ROWS", 1024)
    monkeypatch.setattr(device_products, "COLUMNS", 512)
    r = np.random.default_rng(8)
    check(r.standard_normal((5000, 33)).astype(np.float32), "cosine", 7)


def dense(r, count, each, dimensions, far, near):
    """Return points of dense clusters that are far from each other."""
    points = np.repeat(far * r.standard_normal((count, dimensions)), each, axis=0)
    return points + near * r.standard_normal(points.shape)


DENSE = {
    "float16": lambda r: dense(r, 4, 60, 10, 1e4, 1e-2),
    "bfloat16": lambda r: np.r_[
        1e-9 * r.standard_normal((99, 6)), 1e6 + dense(r, 2, 50, 6, 1, 1e-3)
    ],
    "two sizes": lambda r: np.r_[
        dense(r, 2, 80, 5, 50, 1), dense(r, 2, 60, 5, 50, 1e-5)
    ],
    "more points than a list has": lambda r: np.r_[
        dense(r, 1, 600, 4, 30, 1e-3), dense(r, 2, 50, 4, 30, 1)
    ],
}


@pytest.mark.parametrize(
    ("metric", "min_samples", "dtype"),
    [("euclidean", 4, "f4"), ("euclidean", 0, "f8"), ("cosine", 3, "f4")],
)
@pytest.mark.parametrize("shape", DENSE)
def test_dense_clusters_are_groups_of_columns(
    monkeypatch, shape, metric, min_samples, dtype
):
    from mndmst.points.cuda import device_products
    from mndmst.points.devices import column_groups

    groups = []
    found = column_groups.find_groups

    def find_groups(*given):
        groups.append(found(*given))
        return groups[-1]

    monkeypatch.setattr(device_products, "find_groups", find_groups)
    monkeypatch.setattr(device_products, "FEWEST_GROUPED", 0)
    monkeypatch.setattr(column_groups, "FEWEST", 32)
    monkeypatch.setattr(device_products, "FIRST", 64)
    monkeypatch.setattr(device_products, "COLUMNS", 256)
    points = DENSE[shape](np.random.default_rng(4)).astype(dtype)
    check(points, metric, min_samples)
    assert metric == "cosine" or groups[-1] is not None


@pytest.mark.parametrize("min_samples", [0, 6])
def test_several_devices_share_the_rows(monkeypatch, min_samples):
    """One device twice stands for two where there is one."""
    from mndmst.backends.cuda import device_count
    from mndmst.points import cuda

    count = device_count()
    devices = range(count) if count > 1 else (0, 0)
    make = cuda.make_point_products
    monkeypatch.setattr(
        cuda, "make_point_products", lambda points, **given: make(points, devices)
    )
    r = np.random.default_rng(4)
    points = np.repeat(5 * r.standard_normal((30, 40)), 200, axis=0)
    check(points + r.standard_normal(points.shape), "euclidean", min_samples)


@pytest.mark.parametrize("min_samples", [0, 6])
def test_points_larger_than_a_device_pass_in_parts(monkeypatch, min_samples):
    from mndmst.points.cuda import device_products
    from mndmst.points.search.parted_products import PartedProducts

    made, begin = [], PartedProducts.__init__

    def count(self, points, make, parts):
        begin(self, points, make, parts)
        made.append(parts)

    monkeypatch.setattr(PartedProducts, "__init__", count)
    monkeypatch.setattr(
        device_products.DeviceProducts, "bytes_of", lambda self, _: self.count
    )
    monkeypatch.setattr(device_products, "free_bytes", lambda: 150)
    r = np.random.default_rng(6)
    points = np.repeat(r.standard_normal((9, 20)), 40, axis=0)
    points += 0.01 * r.integers(0, 3, points.shape)
    check(points, "cosine", min_samples)
    assert made == [4]


@pytest.mark.parametrize("noise", [0.3, 2.0])
@pytest.mark.parametrize(("metric", "min_samples"), [("euclidean", 0), ("cosine", 6)])
def test_components_of_many_points_join_at_once(
    monkeypatch, metric, min_samples, noise
):
    from mndmst.points.cuda import component_pairs, point_products
    from mndmst.points.cuda.point_products import CudaPointProducts

    found, between = [], CudaPointProducts.between

    def search(self, *given):
        found.append(between(self, *given))
        return found[-1]

    monkeypatch.setattr(CudaPointProducts, "between", search)
    monkeypatch.setattr(point_products, "FILLED", 0)
    monkeypatch.setattr(component_pairs, "UNIT", 256)
    r = np.random.default_rng(4)
    points = np.repeat(3 * r.standard_normal((9, 40)), 70, axis=0)[:600]
    points += noise * r.standard_normal(points.shape)
    check(points.astype(np.float32), metric, min_samples)
    assert noise > 1 or len(found[-1][0]) >= 8


def test_too_many_pairs_leave_the_search_to_single_points(monkeypatch):
    from mndmst.points.cuda import component_pairs, point_products

    monkeypatch.setattr(point_products, "FILLED", 0)
    monkeypatch.setattr(component_pairs, "CAPACITY", 5)
    r = np.random.default_rng(4)
    check(np.repeat(r.standard_normal((9, 40)), 70, axis=0), "euclidean", 0)
    check(
        np.kron(np.eye(5), np.ones((70, 20))) + 1e-9 * r.random((350, 100)),
        "euclidean",
        2,
    )


def test_pairs_of_an_eighth_of_the_components_are_tried_again(monkeypatch):
    from mndmst.points.cuda import point_products
    from mndmst.points.cuda.point_products import CudaPointProducts

    counts = []

    def fail(self, components, *given):
        counts.append(len(components.bound))

    monkeypatch.setattr(CudaPointProducts, "_between", fail)
    r = np.random.default_rng(4)
    points = np.repeat(3 * r.standard_normal((9, 20)), 30, axis=0)
    check(
        (points + 0.3 * r.standard_normal(points.shape)).astype(np.float32),
        "euclidean",
        0,
    )
    assert counts
    assert all(
        after <= before // point_products.FEWER for before, after in pairwise(counts)
    )


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_search_on_devices(mpirun, ranks):
    run = mpirun(ranks, "-m", "mpi4py", RANKS, timeout=280)
    assert run.returncode == 0, run.stderr[-3000:]
    assert json.loads(run.stdout) == {"same": 4, "searches": ["device"]}
    assert "products of rank 0's points on device 0" in run.stderr


@pytest.mark.parametrize("ranks", [2, 3])
def test_components_of_ranks_join_at_once(mpirun, ranks):
    run = mpirun(ranks, "-m", "mpi4py", BLOBS, "device", timeout=280)
    assert run.returncode == 0, run.stderr[-3000:]
    cases = json.loads(run.stdout)
    assert len(cases) == 8
    for noise, same, passes, searches, search in cases:
        assert same and search == "device"
        assert noise > 1 or (len(passes) == 1 and not searches)


def test_a_device_that_adds_up_with_few_bits_is_refused(monkeypatch):
    """A bound that no device keeps stands for a device without these bits."""
    from mndmst.host.errors import ConfigError
    from mndmst.points.cuda import device_products
    from mndmst.points.devices.point_products import PointArrays

    monkeypatch.setattr(device_products, "SUM_ROUNDING", 2.0**-40)
    monkeypatch.setattr(device_products, "_TESTED", set())
    points, none = np.random.default_rng(2).standard_normal((300, 9)), np.empty(0)
    row = np.arange(300, dtype=np.uint32)
    with pytest.raises(ConfigError, match="fewer bits"):
        device_products.DeviceProducts(PointArrays(points, none, none, row, row))


def test_a_device_without_room_leaves_the_search_to_the_host(monkeypatch, capsys):
    from mndmst.host.errors import ConfigError
    from mndmst.points.cuda import point_products

    def refuse(points, devices=()):
        raise ConfigError("no room")

    monkeypatch.setattr(point_products, "CudaPointProducts", refuse)
    points = np.random.default_rng(2).standard_normal((300, 9))
    found = points_forest(points, "euclidean", 3, search="product")
    tree = points_forest(points, "euclidean", 3, search="tree")
    assert found.forest.digest == tree.forest.digest


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sizes_of_points_have_the_bits_of_the_host(dtype):
    import cupy

    from mndmst.points.cuda.point_rows import CudaPoints

    r = np.random.default_rng(2)
    for dimensions in (*range(1, 18), 127, 128, 129, 136, 255, 384, 1000, 3001):
        points = r.standard_normal((5, dimensions)).astype(dtype)
        points[0, 0] = 0
        points[1, -1] = np.inf
        found = CudaPoints(cupy.asarray(points)).measures
        sizes = np.abs(points.astype(np.float64))
        largest = sizes.max(axis=1)
        np.testing.assert_array_equal(found.largest, largest)
        smallest = np.where(sizes > 0, sizes, np.inf).min(axis=1)
        np.testing.assert_array_equal(found.smallest, smallest)
        parts = sizes[2:] / largest[2:, None]
        length = np.sqrt((parts * parts).sum(axis=1))
        np.testing.assert_array_equal(found.length[2:], length)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_of_points_are_those_of_the_host(dtype):
    import cupy

    from mndmst.points.cuda.point_rows import CudaPoints

    r = np.random.default_rng(6)
    points = r.standard_normal((700, 9)).astype(dtype)
    given = CudaPoints(cupy.asarray(points))
    some = np.array([699, 0, 5, 5])
    for rows in (some, some[:0], some.astype("u4"), r.random(700) < 0.1, slice(3, 50)):
        np.testing.assert_array_equal(given[rows], points[rows])


FIRST_FITS = """
import os
import numpy as np
from mndmst import HDBSCAN

points = np.random.default_rng(7).standard_normal((17000, 20)).astype("f4")
for search, dimensions in (("product", 20), ("tree", 3)):
    HDBSCAN(search=search, min_samples=5).fit(points[:, :dimensions])
print(os.environ["CUPY_CACHE_DIR"])
"""


@pytest.mark.slow
def test_first_fits_let_cupy_compile_nothing(tmp_path):
    run = finish(start(python("-c", FIRST_FITS), CUPY_CACHE_DIR=str(tmp_path)), 150)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [str(tmp_path)]
    assert not list(tmp_path.iterdir())


def arrays_of(library, points):
    return pytest.importorskip(library).asarray(points, **DEVICES[library])


DEVICES = {"cupy": {}, "torch": {"device": "cuda"}}


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("library", DEVICES)
def test_points_on_a_device_stay_there(monkeypatch, library, metric, dtype):
    """Of all points, few rows go to the host, until something else needs them."""
    from mndmst.points.cuda.point_rows import CudaPoints
    from mndmst.points.estimator import HDBSCAN

    r = np.random.default_rng(1)
    points = np.repeat(r.standard_normal((5, 70)), 15, axis=0)
    points = (points + 0.2 * r.standard_normal(points.shape)).astype(dtype)
    given, whole = arrays_of(library, points), CudaPoints.__array__
    monkeypatch.setattr(CudaPoints, "__array__", None)
    found = HDBSCAN(metric=metric, search="product").fit(given)
    expected = HDBSCAN(metric=metric, search="tree").fit(points)
    assert found.forest_.digest == expected.forest_.digest
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.exemplars_[0], expected.exemplars_[0])
    monkeypatch.setattr(CudaPoints, "__array__", whole)
    np.testing.assert_array_equal(found.predict(given[:9]), found.labels_[:9])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found._points)), points)


def test_arrays_of_a_device_go_to_the_host_where_no_product_serves():
    import cupy

    from mndmst.points.estimator import HDBSCAN

    points = np.random.default_rng(3).standard_normal((500, 6))
    points[3, 2] = np.nan
    for options in ({}, {"metric": "cosine"}, {"metric": "manhattan"}):
        found = HDBSCAN(**options).fit(cupy.asarray(points)).labels_
        np.testing.assert_array_equal(found, HDBSCAN(**options).fit(points).labels_)
