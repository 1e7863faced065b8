"""The exact forest of points, beside an O(n^2) Prim of plain NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

import mndmst
from mndmst.graph.tuning import Tuning
from mndmst.host.errors import ConfigError, InputError
from mndmst.kernels.threads import Threads
from mndmst.points.metrics import METRICS
from mndmst.points.point_files import example_points
from mndmst.points.point_forest import (
    FEW_POINTS,
    FEW_SAMPLES,
    PAIRS,
    forest_of_keys,
    points_forest,
)

Edge = tuple[int, int, float]


def distances_from(points: np.ndarray, i: int, metric: str) -> np.ndarray:
    total = np.zeros(len(points))
    for column in points.T:
        gap = column - column[i]
        if metric == "chebyshev":
            total = np.maximum(total, np.abs(gap))
        else:
            total += np.abs(gap) if metric == "manhattan" else gap * gap
    return np.sqrt(total) if metric == "euclidean" else total


def prim(points: np.ndarray, min_samples: int, metric: str) -> list[Edge]:
    """Return the forest in the order (distance, smaller end, larger end)."""
    n, ids = len(points), np.arange(len(points))
    core = np.zeros(n)
    if min_samples:
        for i in range(n):
            others = np.delete(distances_from(points, i, metric), i)
            core[i] = np.sort(others)[min_samples - 1]
    outside = np.ones(n, bool)
    weight, low, high = np.full(n, np.inf), ids.copy(), ids.copy()
    edges, here = [], 0
    for _ in range(n - 1):
        outside[here] = False
        mutual = np.maximum(distances_from(points, here, metric), core)
        mutual = np.maximum(mutual, core[here])
        smaller, larger = np.minimum(ids, here), np.maximum(ids, here)
        order = np.stack([mutual, smaller, larger]), np.stack([weight, low, high])
        better = outside & (
            (order[0][0] < order[1][0])
            | (order[0][0] == order[1][0])
            & (
                (order[0][1] < order[1][1])
                | (order[0][1] == order[1][1]) & (order[0][2] < order[1][2])
            )
        )
        weight[better] = mutual[better]
        low[better], high[better] = smaller[better], larger[better]
        left = np.flatnonzero(outside)
        here = left[np.lexsort((high[left], low[left], weight[left]))[0]]
        edges.append((int(low[here]), int(high[here]), float(weight[here])))
    return sorted(edges)


def edges_of(forest: mndmst.Forest) -> list[Edge]:
    columns = forest.src.tolist(), forest.dst.tolist(), forest.weight.tolist()
    return list(zip(*columns, strict=True))


def points_of(kind: str, n: int, dimensions: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if kind == "uniform":
        return generator.random((n, dimensions))
    if kind == "grid":  # many ties and equal points
        return generator.integers(0, 4, (n, dimensions)).astype(float)
    if kind == "line":
        return np.outer(generator.random(n).round(2), np.arange(1.0, dimensions + 1))
    if kind == "equal":
        return np.ones((n, dimensions))
    centres = generator.uniform(-50, 50, (3, dimensions))  # far apart
    return centres[generator.integers(0, 3, n)] + generator.random((n, dimensions))


@settings(deadline=None, max_examples=120)
@given(
    kind=st.sampled_from(["uniform", "grid", "line", "equal", "far"]),
    n=st.integers(2, 160),
    dimensions=st.integers(1, 6),
    min_samples=st.integers(0, 7),
    neighbours=st.integers(1, 12),
    metric=st.sampled_from(["euclidean", "manhattan", "chebyshev"]),
    seed=st.integers(0, 99),
)
def test_the_forest_is_that_of_prim(
    kind: str,
    n: int,
    dimensions: int,
    min_samples: int,
    neighbours: int,
    metric: str,
    seed: int,
) -> None:
    points, min_samples = points_of(kind, n, dimensions, seed), min(min_samples, n - 1)
    found = points_forest(points, metric, min_samples, neighbours=neighbours)
    assert found.exact
    assert edges_of(found.forest) == prim(points, min_samples, metric)


@settings(deadline=None, max_examples=120)
@given(
    kind=st.sampled_from(["uniform", "grid", "line", "equal", "far"]),
    n=st.integers(2, 160) | st.just(FEW_POINTS),
    dimensions=st.integers(1, 6),
    min_samples=st.integers(0, 7) | st.integers(0, 160),
    metric=st.sampled_from(["euclidean", "manhattan", "chebyshev", "cosine"]),
    seed=st.integers(0, 99),
)
def test_few_points_by_pairs_have_the_bits_of_the_tree(
    kind: str, n: int, dimensions: int, min_samples: int, metric: str, seed: int
) -> None:
    """A machine without compiled kernels answers by pairs, with one kernel."""
    points = points_of(kind, n, dimensions, seed) + (metric == "cosine")
    found = points_forest(points, metric, min_samples)
    tree = points_forest(points, metric, min_samples, search="tree")
    few = min(min_samples, n - 1) <= FEW_SAMPLES
    assert (found.search, tree.search) == (PAIRS if few else "tree", "tree")
    assert found.exact and found.certain <= n - 1
    assert edges_of(found.forest) == edges_of(tree.forest)


@pytest.mark.parametrize("min_samples", [0, 1, 5])
@pytest.mark.parametrize("kind", ["uniform", "grid", "far"])
def test_threads_and_neighbours_change_nothing(kind: str, min_samples: int) -> None:
    points = points_of(kind, 1500, 3, 1)
    expected = edges_of(points_forest(points, min_samples=min_samples).forest)
    assert expected == prim(points, min_samples, "euclidean")
    for threads, neighbours in ((1, 1), (4, 3), (3, 40)):
        how = {"threads": threads, "neighbours": neighbours}
        found = points_forest(points, min_samples=min_samples, **how)
        assert edges_of(found.forest) == expected


@pytest.mark.parametrize("threads", [Threads(1), Threads(3, Tuning(grain=1))])
@pytest.mark.parametrize("last", [7, 0])
def test_a_forest_has_the_ends_of_its_keys_in_order(
    threads: Threads, last: int
) -> None:
    smaller, larger = np.array([0, 1, 1, 2, 5, last]), np.array([9, 3, 8, 4, 6, 8])
    key = smaller.astype(np.uint64) << np.uint64(32) | larger.astype(np.uint64)
    weight = np.arange(6.0)
    found, order = forest_of_keys(weight, key, 10, threads), np.argsort(key)
    assert found.src.tolist() == smaller[order].tolist()
    assert found.dst.tolist() == larger[order].tolist()
    assert found.weight.tolist() == weight[order].tolist()
    assert found.src.dtype == found.dst.dtype == np.int64


def test_clusters_far_apart_search_across_their_gaps() -> None:
    """Every point is within the gap of all of its own cluster: guides are walked."""
    points = points_of("far", 4000, 2, 3)
    found = points_forest(points, neighbours=4)
    assert found.certain < len(found.forest)
    assert edges_of(found.forest) == prim(points, 0, "euclidean")


def test_many_equal_points_take_no_quadratic_time() -> None:
    """As pairs the equal ones would be 10^10."""
    points = np.repeat([[0.0, 0.0], [3.0, 4.0]], 50_000, axis=0)
    forest = points_forest(points).forest
    assert sorted(set(forest.weight.tolist())) == [0, 5]
    assert edges_of(forest)[:2] == [(0, 1, 0.0), (0, 2, 0.0)]
    assert (0, 50_000, 5.0) in edges_of(forest)


def condensed(points: np.ndarray) -> np.ndarray:
    """Return all distances; each square is rounded, and so is each sum.

    SciPy's `pdist` does so on x86-64. On ARM its compiler fuses both.
    """
    a, b = np.triu_indices(len(points), 1)
    total = np.zeros(len(a))
    for column in points.T:
        total += (column[a] - column[b]) ** 2
    return np.sqrt(total)


@pytest.mark.parametrize("dimensions", [2, 10])
def test_heights_are_scipys_to_the_last_bit(dimensions: int) -> None:
    points = np.random.default_rng(dimensions).random((2000, dimensions))
    ours, theirs = mndmst.single_linkage(points), linkage(condensed(points), "single")
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("metric", ["cosine", "cityblock"])
def test_other_distances_are_scipys(metric: str) -> None:
    points = np.random.default_rng(2).normal(size=(500, 3))
    ours = mndmst.single_linkage(points, metric)
    theirs = linkage(pdist(points, metric), "single")
    np.testing.assert_allclose(ours[:, 2], theirs[:, 2], rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(ours[:, [0, 1, 3]], theirs[:, [0, 1, 3]])


def test_distances_are_taken_as_scipy_takes_them() -> None:
    distances = pdist(np.random.default_rng(3).normal(size=(60, 3)))
    theirs = linkage(distances, "single")
    for form in (distances, squareform(distances)):
        ours = mndmst.single_linkage(form, "precomputed")
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(InputError, match="metric='precomputed'"):
        mndmst.single_linkage(distances)


def test_haversine_is_the_angle_on_the_sphere() -> None:
    quarter = np.pi / 2
    places = [[0, 0], [0, quarter], [quarter, 1], [0, 0.1], [0, -np.pi + 0.001]]
    heights = mndmst.single_linkage(places, "haversine")[:, 2]
    expected = [0.1, quarter - 0.1, quarter, quarter]
    np.testing.assert_allclose(heights[:3], expected[:3])
    around = mndmst.single_linkage([[0, np.pi - 0.01], [0, 0.01 - np.pi]], "haversine")
    np.testing.assert_allclose(around[0, 2], 0.02)
    with pytest.raises(InputError, match="radians"):
        mndmst.single_linkage([[45.0, 90.0]], "haversine")


@pytest.mark.parametrize("metric", METRICS)
def test_the_order_of_an_array_in_memory_changes_no_bit(metric: str) -> None:
    dimensions = 2 if metric == "haversine" else 20
    points = np.random.default_rng(4).uniform(-1, 1, (600, dimensions))
    rows = points_forest(points, metric, 3).forest
    columns = points_forest(np.asfortranarray(points), metric, 3).forest
    assert edges_of(rows) == edges_of(columns)


def test_the_approximate_forest_says_how_much_of_it_is_certain() -> None:
    points = points_of("far", 600, 2, 5)
    exact = set(edges_of(points_forest(points).forest))
    found = points_forest(points, approximate=True, neighbours=3)
    near = set(edges_of(found.forest))
    assert not found.exact and found.forest.num_trees >= 3
    assert 0 < found.certain <= len(near & exact) <= len(exact)
    certain = points_forest(points, approximate=True, neighbours=20)
    assert certain.certain == len(certain.forest) == 597 and not certain.exact
    complete = points_forest(points, approximate=True, neighbours=599)
    assert complete.exact and set(edges_of(complete.forest)) == exact


def test_few_points() -> None:
    assert len(points_forest(np.zeros((1, 2))).forest) == 0
    two = points_forest(np.array([[0.0], [2.0]]), min_samples=9).forest
    assert edges_of(two) == [(0, 1, 2.0)]
    assert mndmst.single_linkage([[1.0, 2.0]]).shape == (0, 4)
    with pytest.raises(InputError, match="no points"):
        mndmst.single_linkage(np.empty((0, 2)))
    with pytest.raises(InputError, match="not a finite number"):
        mndmst.single_linkage([[np.nan]])
    with pytest.raises(ConfigError, match="no metric 'far'"):
        mndmst.single_linkage([[1.0]], "far")
    with pytest.raises(InputError, match="point 1 is zero"):
        mndmst.single_linkage([[1.0], [0.0]], "cosine")


def test_the_nearest_neighbours_certify_nearly_all_edges() -> None:
    """The exact forest costs little more than neighbours: few points search again."""
    found = points_forest(example_points("blobs", 20_000), min_samples=5)
    assert found.certain > 0.98 * len(found.forest)
