"""The search by matrix products finds the forest of the tree, bit for bit."""

from types import SimpleNamespace

import numpy as np
import pytest

from mndmst.host.errors import ConfigError
from mndmst.kernels.threads import Threads
from mndmst.points.coordinates import PointCoordinates, point_coordinates
from mndmst.points.devices.point_products import PointArrays
from mndmst.points.kernels.product_filter import GAMMA, UNIT
from mndmst.points.point_forest import points_forest
from mndmst.points.scale import Scale
from mndmst.points.search import product_search, search_choice
from mndmst.points.search.blas_threads import one_blas_thread
from mndmst.points.search.point_search import TreeSearch
from mndmst.points.search.product_search import HostProducts, random_order
from mndmst.points.search.search_choice import choose_search
from mndmst.points.search_reporter import SearchReporter

pytest.importorskip("scipy")


def prim(points, metric, min_samples):
    """Return the forest's edges by an O(n^2) Prim over float64 distances."""
    x = point_coordinates(points, metric).all()
    n = len(x)
    square = np.zeros((n, n))
    for column in x.T:  # in the order of the dimensions, as searches add them up
        square += (column[:, None] - column) ** 2
    weight = np.sqrt(square)
    if min_samples:
        order = min(min_samples, n - 1)
        core = np.partition(weight, order, axis=1)[:, order]
        weight = np.maximum(weight, np.maximum(core[:, None], core))
    number = np.arange(n)
    low = np.minimum(number[:, None], number)
    high = np.maximum(number[:, None], number)
    key = low * n + high
    outside = np.ones(n, bool)
    best, edge = np.full(n, np.inf), np.full(n, n * n)
    here, edges = 0, []
    for _ in range(n - 1):
        outside[here] = False
        nearer = (weight[here] < best) | ((weight[here] == best) & (key[here] < edge))
        nearer &= outside
        best[nearer], edge[nearer] = weight[here][nearer], key[here][nearer]
        rest = np.flatnonzero(outside)
        here = rest[np.lexsort((edge[rest], best[rest]))[0]]
        edges.append((edge[here] // n, edge[here] % n))
    return np.array(sorted(edges)).reshape(-1, 2)


def host_products(points):
    none, rows = np.empty(0), random_order(len(points))
    return HostProducts(PointArrays(points, none, none, rows, rows), Threads(1))


def edges_of(points, metric, min_samples, **options):
    forest = points_forest(points, metric, min_samples, **options).forest
    return np.stack([forest.src, forest.dst], axis=1), forest.weight


SHAPES = {
    "line": lambda r: np.outer(np.arange(150.0), np.ones(7)),
    "grid": lambda r: r.integers(0, 3, (300, 5)).astype(float),
    "equal": lambda r: np.ones((90, 4)),
    "copies": lambda r: np.repeat(r.standard_normal((12, 20)), 25, axis=0),
    "zeros and far": lambda r: np.r_[
        np.zeros((99, 6)), 1e-9 * r.standard_normal((99, 6)), 1e6 * np.eye(6)
    ],
    "tiny": lambda r: 1e-150 * r.standard_normal((150, 12)),
    "huge": lambda r: 1e149 * r.uniform(-1, 1, (150, 12)),
    "off centre": lambda r: 1e4 + 1e-3 * r.standard_normal((200, 30)),
    "blobs": lambda r: (
        np.repeat(r.standard_normal((5, 400)), 40, axis=0)
        + 0.1 * r.standard_normal((200, 400))
    ),
    "two dimensions": lambda r: r.standard_normal((400, 2)),
}


@pytest.mark.parametrize("min_samples", [0, 1, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_searches_find_the_forest_of_prim(shape, min_samples):
    points = SHAPES[shape](np.random.default_rng(3))
    tree, weight = edges_of(points, "euclidean", min_samples, search="tree")
    found, same = edges_of(points, "euclidean", min_samples, search="product")
    np.testing.assert_array_equal(found, tree)
    np.testing.assert_array_equal(same, weight)
    np.testing.assert_array_equal(found, prim(points, "euclidean", min_samples))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i4"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("copied", [0, 1 << 24])
def test_points_of_any_type_have_the_forest_of_their_float64_values(
    metric, dtype, copied, monkeypatch
):
    monkeypatch.setattr("mndmst.points.coordinates.COPIED", copied)
    points = (9 * np.random.default_rng(5).standard_normal((300, 16))).astype(dtype)
    points[:, 0] += 30  # no point is zero
    found = edges_of(points, metric, 4, search="product")
    tree = edges_of(points.astype(np.float64), metric, 4, search="tree")
    np.testing.assert_array_equal(found[0], tree[0])
    np.testing.assert_array_equal(found[1], tree[1])


@pytest.mark.parametrize("seed", range(20))
def test_random_points_of_random_shapes(seed):
    r = np.random.default_rng(seed)
    count, dimensions = int(r.integers(2, 400)), int(r.integers(1, 401))
    points = r.standard_normal((count, dimensions)) * r.choice([1e-3, 1, 1e5])
    points[r.integers(0, count, count // 3)] = points[0]
    samples = int(r.integers(0, 9))
    found, _ = edges_of(points, "euclidean", samples, search="product", threads=2)
    np.testing.assert_array_equal(found, prim(points, "euclidean", samples))


def test_near_ties_below_the_bound_are_told_apart():
    """All distances from a point differ by less than float32 products can tell."""
    r = np.random.default_rng(7)
    directions = r.standard_normal((300, 64))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    points = directions * (1 + 1e-12 * r.permutation(300))[:, None]
    points = np.r_[np.zeros((1, 64)), points, points * (1 + 3e-13)]
    search = host_products(points)
    numbers = search.bounds.numbers
    width = 2 * numbers[GAMMA] / numbers[UNIT]
    spread = np.ptp((points[1:301] ** 2).sum(axis=1))
    assert spread < width
    for samples in (0, 3, 70):
        found, _ = edges_of(points, "euclidean", samples, search="product")
        np.testing.assert_array_equal(found, prim(points, "euclidean", samples))


def test_scores_are_within_their_bound():
    """The computed score is off by no more than the proof says."""
    r = np.random.default_rng(9)
    for dimensions in (2, 31, 384):
        points = r.standard_normal((257, dimensions)) + 5
        search = host_products(points)
        bounds, square = search.bounds, search.bounds.square
        product = search.points @ search.points.T
        score = (product - bounds.half).astype(np.float64)
        x = points[search.exact.source]
        gamma, absolute, unit = bounds.numbers
        distance = ((x[:, None, :] - x) ** 2).sum(axis=2) * unit
        true = (square[:, None] - distance) / 2
        above = true - score
        limit = gamma / 2 * square[:, None] + absolute
        assert (above <= limit).all()
        assert (above >= -limit - gamma * square).all()


def test_the_probe_chooses_by_what_a_tree_visits():
    r = np.random.default_rng(11)
    wide = r.standard_normal((4000, 100))
    flat = r.standard_normal((4000, 2)) @ r.standard_normal((2, 100))
    choices = {
        name: choose_search(point_coordinates(x, "euclidean"), "euclidean", "auto", 9)
        for name, x in (("wide", wide), ("flat", flat))
    }
    assert choices["wide"].name == "product"
    assert choices["flat"].name == "tree"
    assert "visits" in choices["wide"].reason


def no_device(pays):
    return None


@pytest.mark.parametrize("dimensions", [5, 8, 9])
def test_few_dimensions_take_the_tree_without_a_probe(dimensions):
    """Even a query that visits all points takes no longer than a product there."""
    probes = []

    def visit_all(points, neighbours, count):
        probes.append(count)
        return count

    points = np.random.default_rng(2).random((3000, dimensions))
    coordinates = point_coordinates(points, "euclidean")
    given = {"probe": visit_all, "find_device": no_device}
    choice = choose_search(coordinates, "euclidean", "auto", 9, **given)
    assert choice.name == ("tree" if dimensions <= 8 else "product")
    most = search_choice.prefers_products(coordinates, 9, visit_all)
    assert most == (dimensions > 8)
    assert len(probes) == 2 * (dimensions > 8)


def started_device(pays):
    return object()


@pytest.mark.parametrize(
    ("share", "dimensions", "expected"),
    [
        (0.9, 3, "device-tree"),
        (0.01, 10, "device-tree"),
        (0.15, 10, "device"),
        (0.05, 16, "device-tree"),
        (0.15, 16, "device"),
    ],
)
def test_a_tree_on_a_device_visits_more_than_the_hosts(share, dimensions, expected):
    given = {
        "probe": lambda p, k, count: share * count,
        "find_device": started_device,
    }
    points = np.random.default_rng(2).random((3000, dimensions))
    coordinates = point_coordinates(points, "euclidean")
    asked = coordinates, "euclidean", "auto", 9, 1_000_000
    assert choose_search(*asked, device_tree=True, **given).name == expected
    if dimensions == 10:
        choice = choose_search(*asked, **given)
        assert choice.name == ("device" if share == 0.15 else "tree")


def test_a_device_multiplies_few_pairs_without_a_probe():
    probes = []
    given = {
        "probe": lambda *facts: probes.append(1) or 1,
        "find_device": started_device,
    }
    points = np.random.default_rng(2).random((3000, 384))
    coordinates = point_coordinates(points, "euclidean")
    for count, name in ((20_000, "device"), (200_000, "tree")):
        choice = choose_search(coordinates, "euclidean", "auto", 9, count, **given)
        assert choice.name == name
    assert probes == [1]


@pytest.mark.parametrize(
    ("dimensions", "share", "expected", "probes"),
    [
        (10, 0.9, "device-tree", 0),
        (11, 0.9, "device", 1),
        (11, 0.01, "device-tree", 1),
        (16, 0.01, "device-tree", 1),
    ],
)
def test_a_probe_decides_between_products_and_a_tree_of_a_device(
    dimensions, share, expected, probes
):
    """Products of few dense clusters take up to nine times as long as the tree."""
    probed = []
    given = {
        "probe": lambda p, k, count: probed.append(1) or share * count,
        "find_device": started_device,
    }
    points = np.random.default_rng(2).random((3000, dimensions))
    asked = point_coordinates(points, "euclidean"), "euclidean", "auto", 9, 20_000
    assert choose_search(*asked, device_tree=True, **given).name == expected
    assert len(probed) == probes


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize(
    ("count", "dimensions", "cold", "warm"),
    [
        (20_000, 3, "tree", "device-tree"),
        (400_000, 3, "device-tree", "device-tree"),
        (16_000, 3, "tree", "device-tree"),
        (4_000, 3, "tree", "tree"),
        (4_000, 1000, "tree", "tree"),
        (5_000, 384, "tree", "device"),
        (20_000, 20, "tree", "device"),
        (20_000, 1000, "device", "device"),
    ],
)
def test_a_device_starts_for_much_work(count, dimensions, cold, warm, started):
    given = {
        "probe": lambda p, k, count: 0.001 * count,
        "find_device": lambda pays: object() if pays or started else None,
    }
    values = np.broadcast_to(np.float32(0), (count, dimensions))
    points = PointCoordinates(values, np.empty(0), np.empty(0), Scale())
    tree = search_choice.suits_device(points, 9, given["find_device"])
    choice = choose_search(points, "euclidean", "auto", 9, device_tree=tree, **given)
    assert choice.name == (warm if started else cold)


@pytest.mark.parametrize("pays", [False, True])
@pytest.mark.parametrize("started", [False, True])
def test_a_device_is_looked_for_where_it_pays_or_has_started(
    pays, started, monkeypatch
):
    """Loading the library of a device takes longer than many fits."""
    starts = []
    device = SimpleNamespace(started=lambda: started, start_driver=starts.append)
    monkeypatch.setattr(search_choice, "accelerators", lambda: iter([device]))
    monkeypatch.setattr(search_choice, "find_accelerator", lambda kind: (device, None))
    found = search_choice.look_for_device(pays)
    assert found is (device if pays or started else None)
    assert starts == ([0] if pays and not started else [])


@pytest.mark.parametrize("copies", [40, 3000])
def test_queries_of_equal_points_visit_a_leaf(copies):
    """All neighbours of a point with many copies are within a distance of zero."""
    points = np.random.default_rng(4).random((3000 // copies, 12))
    coordinates = point_coordinates(np.repeat(points, copies, axis=0), "euclidean")
    visits = search_choice.estimate_visits(coordinates, 9, 3000)
    assert 1 <= visits < 40
    choice = choose_search(coordinates, "euclidean", "auto", 9, find_device=no_device)
    assert choice.name == "tree"


@pytest.mark.parametrize("enough", [100, 300_000])
def test_the_small_sample_decides_where_it_can(monkeypatch, enough):
    """A query visits all points of either sample, so from 2,048 to 400,000 of all."""
    sizes, build = [], search_choice.build_tree

    def build_tree(points, *given):
        sizes.append(len(points))
        return build(points, *given)

    monkeypatch.setattr(search_choice, "build_tree", build_tree)
    points = np.random.default_rng(4).standard_normal((9000, 60))
    coordinates = point_coordinates(points, "euclidean")
    visits = search_choice.estimate_visits(coordinates, 9, 400_000, enough)
    assert visits > enough
    small, large = search_choice.SAMPLES
    assert sizes == ([small] if enough < small else [small, large])


def test_the_small_sample_shows_that_a_query_visits_few_points(monkeypatch):
    monkeypatch.setattr(search_choice, "SAMPLES", (search_choice.SAMPLES[0], 0))
    points = np.random.default_rng(4).standard_normal((9000, 3))
    coordinates = point_coordinates(points, "euclidean")
    assert search_choice.estimate_visits(coordinates, 9, 400_000, 200_000) < 200_000


@pytest.mark.parametrize(("count", "expected"), [(20_000, 1), (400_000, 4)])
def test_further_devices_search_where_the_work_is_worth_their_start(
    count, expected, monkeypatch
):
    class Devices:
        def device_names(self):
            return ["a device"] * 4

        def make_point_products(self, arrays, devices):
            return list(devices)

    monkeypatch.setattr(search_choice, "find_accelerator", lambda kind: (Devices(), ""))
    monkeypatch.setattr(search_choice, "searches_on", lambda kind: kind)
    arrays = PointArrays(
        np.broadcast_to(np.float32(0), (count, 384)), *[np.empty(0)] * 4
    )
    choice = search_choice.SearchChoice("device", "asked for")
    made = search_choice.make_products(arrays, choice, Threads(1), SearchReporter())
    assert made == list(range(expected))


def test_a_search_that_does_not_suit_is_refused():
    with pytest.raises(ConfigError, match="no search 'hash'"):
        points_forest(np.eye(3), search="hash")
    with pytest.raises(ConfigError, match="manhattan"):
        points_forest(np.eye(3), "manhattan", search="product")


@pytest.mark.parametrize(("dimensions", "search"), [(3, "auto"), (40, "tree")])
def test_no_device_is_looked_for_where_the_tree_is_certain(dimensions, search):
    """Loading the library of a device takes longer than many searches."""

    def look(pays):
        raise AssertionError("looked for a device")

    points = np.random.default_rng(2).random((1 << 15, dimensions))
    coordinates = point_coordinates(points, "euclidean")
    choice = choose_search(coordinates, "euclidean", search, 9, find_device=look)
    assert choice.name == "tree"


def test_a_product_serves_rows_and_columns_of_any_blocks(monkeypatch):
    r = np.random.default_rng(13)
    points = np.r_[r.standard_normal((170, 12)), r.integers(0, 2, (90, 12))]
    expected = edges_of(points, "euclidean", 4, search="tree")
    for listed, rows, columns in ((64, 16, 32), (300, 64, 16), (100, 32, 48)):
        monkeypatch.setattr(product_search, "LISTED_ROWS", listed)
        monkeypatch.setattr(product_search, "ROWS", rows)
        monkeypatch.setattr(product_search, "COLUMNS", columns)
        monkeypatch.setattr(product_search, "GRAIN", 4)
        found = edges_of(points, "euclidean", 4, search="product", threads=2)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


EQUAL_BLOBS = {
    "round": lambda r: 0.1 * r.standard_normal((400, 30)),
    "whole numbers": lambda r: r.integers(0, 2, (400, 30)) / 64,
    "some copies": lambda r: r.integers(0, 2, (400, 6)) @ r.random((6, 30)) / 64,
}


@pytest.mark.parametrize("min_samples", [0, 5])
@pytest.mark.parametrize("search", ["tree", "product"])
@pytest.mark.parametrize("shape", EQUAL_BLOBS)
def test_blobs_of_equal_size_join_after_one_pass_over_all_pairs(
    shape, search, min_samples, monkeypatch
):
    """Rounds would search from most points again and again."""
    monkeypatch.setattr(product_search, "ROWS", 64)
    monkeypatch.setattr(product_search, "COLUMNS", 96)
    passes = []

    def between(products, components, least, exchange, report):
        passes.append(len(least))
        return made(products, components, least, exchange, report)

    made = HostProducts.between
    monkeypatch.setattr(HostProducts, "between", between)
    r = np.random.default_rng(17)
    centres = np.repeat(np.eye(8, 30), 50, axis=0)
    points = centres[r.permutation(400)] + EQUAL_BLOBS[shape](r)
    found, _ = edges_of(points, "euclidean", min_samples, search=search, threads=2)
    np.testing.assert_array_equal(found, prim(points, "euclidean", min_samples))
    assert len(passes) == 1


def test_a_pass_comes_before_long_walks_of_less_than_half_of_the_points(monkeypatch):
    """Some blobs have no listed edge to others: their walks visit nearly all points."""
    walked = []

    def lightest(search, components, queries, bounded=False):
        walked.append(len(queries))
        return walk(search, components, queries, bounded)

    walk = TreeSearch.lightest
    monkeypatch.setattr(TreeSearch, "lightest", lightest)
    r = np.random.default_rng(6)
    centres = 100 * np.eye(8, 128)
    centres[[1, 3, 5]] = centres[[0, 2, 4]] + 12 * np.eye(3, 128, k=50)
    points = np.repeat(centres, 300, axis=0) + r.standard_normal((2400, 128))
    found, _ = edges_of(points, "euclidean", 5, search="tree", threads=2)
    np.testing.assert_array_equal(found, prim(points, "euclidean", 5))
    assert not walked


def test_walks_go_on_where_a_few_of_them_lower_the_bounds(monkeypatch):
    """Blobs far apart have no bound at first, so any walk would seem to visit all."""
    passes = []
    monkeypatch.setattr(HostProducts, "between", lambda *given: passes.append(given))
    r = np.random.default_rng(3)
    centres = r.uniform(-10, 10, (30, 10))
    points = centres[r.integers(0, 30, 4000)] + r.standard_normal((4000, 10))
    found, _ = edges_of(points, "euclidean", 10, search="tree", threads=1)
    np.testing.assert_array_equal(found, prim(points, "euclidean", 10))
    assert not passes


def test_products_take_one_thread_of_blas_and_give_the_others_back():
    control = pytest.importorskip("threadpoolctl")

    def counts():
        return [
            library["num_threads"]
            for library in control.threadpool_info()
            if library["user_api"] == "blas"
        ]

    before = counts()
    with one_blas_thread():
        assert set(counts()) <= {1}
    assert counts() == before
