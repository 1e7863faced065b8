"""A tree on a device finds the forest that the CPU finds, bit for bit."""

import numpy as np
import pytest

from mndmst.backends.cuda import unavailable
from mndmst.points.coordinates import PointCoordinates
from mndmst.points.point_forest import points_forest
from mndmst.points.scale import Scale
from mndmst.points.search import search_choice

reason = unavailable()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(reason is not None, reason=str(reason)),
]

SHAPES = {
    "line": lambda r: np.outer(np.arange(700.0), np.ones(7)),
    "gaps that grow": lambda r: np.cumsum(np.arange(900.0))[:, None],
    "grid": lambda r: r.integers(0, 5, (2000, 3)).astype(float),
    "equal": lambda r: np.ones((1500, 4)),
    "copies": lambda r: np.repeat(r.standard_normal((20, 3)), 70, axis=0),
    "zeros and far": lambda r: np.r_[
        np.zeros((99, 6)), 1e-9 * r.standard_normal((99, 6)), 1e6 * np.eye(6)
    ],
    "clusters in clusters": lambda r: sum(
        10.0**-e * r.integers(0, 3, (1500, 2)) for e in (0, 6, 12)
    ),
    "tiny": lambda r: 1e-150 * r.standard_normal((150, 12)),
    "huge": lambda r: 1e149 * r.uniform(-1, 1, (150, 12)),
    "zeros and huge": lambda r: np.r_[
        np.zeros((200, 3)), 1e150 * r.integers(0, 2, (200, 3))
    ],
    "off centre": lambda r: 1e4 + 1e-3 * r.standard_normal((900, 10)),
    "blobs": lambda r: (
        np.repeat(9 * r.standard_normal((30, 3)), 100, axis=0)
        + r.standard_normal((3000, 3))
    ),
}


@pytest.fixture(autouse=True)
def _any_number_of_points(monkeypatch):
    monkeypatch.setattr(search_choice, "DEVICE_POINTS", 2)
    monkeypatch.setattr(search_choice, "START_POINTS", 2)
    monkeypatch.setattr(search_choice, "START_TREE", 0)


@pytest.fixture
def check(monkeypatch):
    def compare(points, metric, min_samples):
        found = points_forest(points, metric, min_samples, search="tree")
        assert found.search == "device-tree"
        with monkeypatch.context() as patch:
            patch.setattr(search_choice, "DEVICE_POINTS", 1 << 60)
            tree = points_forest(points, metric, min_samples, search="tree")
        assert tree.search == "tree"
        for column in ("src", "dst", "weight"):
            np.testing.assert_array_equal(
                getattr(found.forest, column), getattr(tree.forest, column)
            )

    return compare


@pytest.mark.parametrize("min_samples", [0, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(check, shape, min_samples):
    check(SHAPES[shape](np.random.default_rng(3)), "euclidean", min_samples)


@pytest.mark.parametrize("count", [2, 3, 8, 9, 15, 16, 17, 63, 64, 65, 129])
@pytest.mark.parametrize("min_samples", [0, 1, 16])
def test_borders_of_leaves(check, count, min_samples):
    check(np.random.default_rng(count).random((count, 2)), "euclidean", min_samples)


@pytest.mark.parametrize("dimensions", range(1, 17))
def test_dimensions(check, dimensions):
    r = np.random.default_rng(dimensions)
    check(r.standard_normal((600, dimensions)), "euclidean", 16 * (dimensions % 2))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize(
    "metric", ["euclidean", "manhattan", "chebyshev", "cosine", "haversine"]
)
def test_types_and_metrics(check, metric, dtype):
    points = np.random.default_rng(5).uniform(-1, 1, (1000, 2)).astype(dtype)
    check(points, metric, 4)


@pytest.mark.parametrize("seed", range(20))
def test_random_points(check, seed):
    r = np.random.default_rng(seed)
    count, dimensions = int(r.integers(2, 4000)), int(r.integers(1, 5))
    points = r.standard_normal((count, dimensions)) * r.choice([1e-3, 1, 1e5])
    if seed % 2:
        points = np.round(points * 3)
    points[r.integers(0, count, count // 3)] = points[0]
    check(points, "euclidean", int(r.choice([0, 1, 5, 16, 64])))


def test_the_forest_is_that_of_all_pairs():
    """Prim's algorithm on all distances stands for the CPU's tree."""
    r = np.random.default_rng(6)
    points = np.round(r.standard_normal((150, 3)) * 4)
    found = points_forest(points, "euclidean", 0, search="tree").forest
    edges = _prim(points)
    assert found.src.tolist() == [edge[1] for edge in edges]
    assert found.dst.tolist() == [edge[2] for edge in edges]
    assert found.weight.tolist() == [edge[0] for edge in edges]


def _prim(points):
    square = np.zeros((len(points), len(points)))
    for column in points.T:
        square += (column[:, None] - column) ** 2
    distance, inside, edges = np.sqrt(square), [0], []
    while len(inside) < len(points):
        outside = sorted(set(range(len(points))) - set(inside))
        first = min(
            (distance[a, b], min(a, b), max(a, b)) for a in inside for b in outside
        )
        edges.append(first)
        inside.append(first[2] if first[1] in inside else first[1])
    return sorted(edges, key=lambda edge: edge[1:])


def test_a_device_without_room_leaves_the_search_to_the_host(monkeypatch):
    from mndmst.points.cuda import point_tree

    monkeypatch.setattr(point_tree, "DEVICE_LIBRARIES_RESERVE", 1 << 60)
    points = np.random.default_rng(2).standard_normal((300, 3))
    assert points_forest(points, "euclidean", 3, search="tree").search == "tree"


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_arrays_of_a_device(metric, dtype):
    import cupy

    from mndmst.points.estimator import HDBSCAN

    points = np.random.default_rng(3).standard_normal((500, 6)).astype(dtype)
    options = {"metric": metric, "search": "tree"}
    found = HDBSCAN(**options).fit(cupy.asarray(points)).labels_
    np.testing.assert_array_equal(found, HDBSCAN(**options).fit(points).labels_)


@pytest.mark.parametrize(
    ("count", "dimensions", "min_samples", "suits"),
    [
        (9, 3, 0, True),
        (9, 16, 64, True),
        (9, 17, 0, False),
        (9, 3, 65, False),
        (1, 1, 0, False),
    ],
)
def test_what_suits_a_device(count, dimensions, min_samples, suits):
    none = np.empty(0)
    points = PointCoordinates(np.zeros((count, dimensions)), none, none, Scale())
    assert search_choice.suits_device(points, min_samples) == suits


def test_points_of_crowded_cells_follow_the_curve_inside_each():
    import cupy

    from mndmst.backends.cuda.kernels import NULL
    from mndmst.points.cuda.point_tree import LEAF, CudaPointTree
    from mndmst.points.devices import TreePoints

    r = np.random.default_rng(8)
    far = 1e9 * np.ones((1, 3))  # makes one cell of all other points
    points = np.r_[far, 1e3 * np.eye(3), r.standard_normal((3000, 3))]
    tree = CudaPointTree(TreePoints(points, 2, 0))
    values = cupy.asarray(points)
    frame, n = tree._frame(values), len(points)
    levels = [cupy.asnumpy(tree._codes(values, NULL, n, frame, i)) for i in range(3)]
    order = cupy.asnumpy(tree._arrays["point"])
    assert sorted(order) == [*range(n)]
    paths = np.stack(levels, axis=1)[order]
    crowded = 0
    for depth in range(3):
        above = np.any(paths[1:, :depth] != paths[:-1, :depth], axis=1)
        runs = np.split(paths[:, depth], np.flatnonzero(above) + 1)
        long = [run for run in runs if len(run) > LEAF]
        assert all((run[1:] >= run[:-1]).all() for run in long)
        crowded += depth > 0 and len(long) > 0
    assert crowded


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_modules_of_every_tree_are_compiled_ahead(metric, kind, monkeypatch):
    """With Euclidean distances, of up to 16 dimensions and 10 `min_samples`."""
    from mndmst.backends.cuda.modules import ARCHITECTURES, KernelSources
    from mndmst.points.cuda.modules import SOURCES

    class AskedError(Exception):
        pass

    def ask(sources, file, macros):
        raise AskedError(file, dict(macros))

    monkeypatch.setattr(KernelSources, "load_module", ask)
    ahead = {a: [*SOURCES.ahead(a)] for a in ARCHITECTURES}
    for dimensions in (*range(1, 20), 33, 384, 1000):
        points = 1 + np.random.default_rng(1).random((700, dimensions)).astype(kind)
        for min_samples in (0, 1, 5, 6, 10):
            search = "tree" if dimensions <= 16 else "auto"
            try:
                found = points_forest(points, metric, min_samples, search=search)
            except AskedError as asked:
                for modules in ahead.values():
                    assert asked.args in modules
            else:
                assert dimensions > 16 and found.search == "tree"
