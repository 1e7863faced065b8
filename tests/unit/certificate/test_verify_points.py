"""Forests of points are proved and refuted from the points."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from oracle import kruskal

from mndmst.api.forest import Forest
from mndmst.host.errors import InputError
from mndmst.io.atomic_output import AtomicOutput
from mndmst.io.results.forest_file import ForestHeader, write_forest_in
from mndmst.points.certificate.pairwise_certificate import PairDistances
from mndmst.points.certificate.point_certificate import Claims, verify_points
from mndmst.points.metrics import METRICS
from mndmst.points.pairwise_forest import metric_forest, rows_of
from mndmst.points.point_files import uuid_of
from mndmst.points.point_forest import points_forest

KINDS = ("uniform", "grid", "far", "equal")


def points_of(kind: str, n: int) -> np.ndarray:
    generator = np.random.default_rng(n)
    if kind == "equal":
        return np.ones((n, 2))
    if kind == "grid":
        return generator.integers(0, 6, (n, 2)).astype(float)
    points = generator.random((n, 3))
    return points + 20 * generator.integers(0, 3, (n, 1)) if kind == "far" else points


def write(path: Path, points: np.ndarray, forest: Forest, **config: object) -> None:
    order = np.lexsort((forest.dst, forest.src))
    columns = forest.src[order], forest.dst[order], forest.weight[order]
    forest = Forest(*columns, forest.labels)
    weight, digest = forest.total_weight, forest.digest
    header = ForestHeader(uuid_of(points), len(points), weight, digest, config)
    with AtomicOutput() as files:
        write_forest_in(files, path, columns, header)


def side_of(tree: Forest, edge: int) -> np.ndarray:
    """Return which points a tree joins with the first end of an edge without it."""
    side = np.zeros(tree.num_vertices, bool)
    side[tree.src[edge]] = True
    src, dst = np.delete(tree.src, edge), np.delete(tree.dst, edge)
    while (grows := side[src] != side[dst]).any():
        side[src[grows]] = side[dst[grows]] = True
    return side


@pytest.mark.parametrize("min_samples", [0, 1, 6])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine"])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_forests_are_proved(
    kind: str, metric: str, min_samples: int, tmp_path: Path
) -> None:
    points = points_of(kind, 400) + 1
    found = points_forest(points, metric, min_samples)
    path = tmp_path / "forest.h5"
    write(path, points, found.forest, metric=metric, min_samples=min_samples)
    verdict = verify_points(points, path)
    assert verdict.ok, verdict.text()
    assert verdict.m == 400 * 399 // 2 and verdict.weight == found.forest.total_weight


@pytest.mark.parametrize("metric", ["chebyshev", "correlation", "haversine"])
def test_a_forest_of_another_metric_is_refuted(metric: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    points = generator.uniform(-1.5, 1.5, (300, 2 if metric == "haversine" else 5))
    path = tmp_path / "forest.h5"
    right = points_forest(points, metric, 4).forest
    write(path, points, right, metric=metric, min_samples=4)
    assert verify_points(points, path).ok
    wrong = points_forest(points, "euclidean", 4).forest
    write(path, points, wrong, metric=metric, min_samples=4)
    verdict = verify_points(points, path)
    assert not verdict.ok and "has weight" in verdict.problems[0]


@pytest.mark.parametrize("min_samples", [0, 6])
@pytest.mark.parametrize("kind", ["uniform", "grid", "far"])
def test_other_spanning_trees_are_refuted(
    kind: str, min_samples: int, tmp_path: Path
) -> None:
    """One edge is put in place by another that joins the same two sides."""
    points, path = points_of(kind, 120), tmp_path / "forest.h5"
    config = {"metric": "euclidean", "min_samples": min_samples}
    forest = points_forest(points, min_samples=min_samples).forest
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    core = np.sort(distance, axis=1)[:, min_samples]
    generator = np.random.default_rng(1)
    for taken in generator.choice(len(forest), 12, replace=False).tolist():
        kept = np.delete(np.arange(len(forest)), taken)
        side = side_of(forest, taken)
        u = generator.choice(np.flatnonzero(side))
        v = generator.choice(np.flatnonzero(~side))
        u, v = min(u, v), max(u, v)
        if (u, v) == (forest.src[taken], forest.dst[taken]):
            continue
        total = sum((points[u, d] - points[v, d]) ** 2 for d in range(points.shape[1]))
        weight = max(np.sqrt(total), core[u], core[v])
        changed = Forest(
            np.append(forest.src[kept], u),
            np.append(forest.dst[kept], v),
            np.append(forest.weight[kept], weight),
            forest.labels,
        )
        write(path, points, changed, **config)
        verdict = verify_points(points, path)
        assert not verdict.ok
        assert any("comes before" in text for text in verdict.problems), verdict.text()


@pytest.mark.parametrize("min_samples", [0, 4])
def test_many_equal_points_take_no_quadratic_time(
    min_samples: int, tmp_path: Path
) -> None:
    """As pairs the equal ones would be 10^9."""
    points, path = np.repeat([[0.0, 0.0], [3.0, 4.0]], 25_000, axis=0), tmp_path / "f"
    points[::1000] += np.random.default_rng(1).random((50, 2))
    forest = points_forest(points, min_samples=min_samples).forest
    config = {"metric": "euclidean", "min_samples": min_samples}
    write(path, points, forest, **config)
    verdict = verify_points(points, path)
    assert verdict.ok, verdict.text()
    edge = np.flatnonzero((forest.src == 1) & (forest.weight == 0))[-1]
    forest.src[edge] = forest.dst[edge] - 1  # as near, but a larger number
    write(path, points, forest, **config)
    assert "comes before" in verify_points(points, path).problems[0]


def test_damages_are_named(tmp_path: Path) -> None:
    points, path = points_of("uniform", 50), tmp_path / "forest.h5"
    config = {"metric": "euclidean", "min_samples": 0}
    forest = points_forest(points).forest
    weight = forest.weight.copy()
    weight[3] *= 1.0000001
    heavier = Forest(forest.src, forest.dst, weight, forest.labels)
    write(path, points, heavier, **config)
    assert "has weight" in verify_points(points, path).problems[0]
    fewer = Forest(*(c[1:] for c in (forest.src, forest.dst, weight)), forest.labels)
    write(path, points, fewer, **config)
    assert "tree of 49 edges" in verify_points(points, path).problems[0]
    write(path, points, forest, **config)
    of_others = verify_points(points[::-1], path)
    assert not of_others.ok and "this graph is" in of_others.problems[0]
    write(path, points, forest)
    with pytest.raises(InputError, match="which distances"):
        verify_points(points, path)


@pytest.mark.parametrize("min_samples", [0, 4])
def test_products_prove_and_refute_as_trees_do(min_samples: int) -> None:
    """Points of many dimensions, and equal ones, are proved by products."""
    generator = np.random.default_rng(4)
    points = generator.standard_normal((300, 40))
    points[generator.integers(0, 300, 60)] = points[7]
    claims = Claims(points, "euclidean", min_samples, by_products=True)
    assert claims.distinct.products is not None
    forest = points_forest(points, "euclidean", min_samples).forest
    columns = forest.src, forest.dst, forest.weight
    assert claims.problems(*columns) == []
    # The heaviest edge, replaced by another between the same two trees, is refuted.
    heaviest = int(np.argmax(forest.weight))
    side = side_of(forest, heaviest)
    one, other = np.flatnonzero(side)[-1], np.flatnonzero(~side)[-1]
    ends = np.sort([one, other])
    src, dst = forest.src.copy(), forest.dst.copy()
    src[heaviest], dst[heaviest] = ends
    weight = forest.weight.copy()
    weight[heaviest] = claims.weight(ends[:1], ends[1:])[0]
    if weight[heaviest] > forest.weight[heaviest]:
        assert any("comes before" in text for text in claims.problems(src, dst, weight))


@pytest.mark.parametrize("min_samples", [0, 9])
@pytest.mark.parametrize("dimensions", [2, 24])
def test_a_later_edge_of_equal_weight_is_refuted(
    dimensions: int, min_samples: int, tmp_path: Path
) -> None:
    """Among equal points only the order of their numbers tells edges apart."""
    generator = np.random.default_rng(dimensions)
    points = np.zeros((60, dimensions))
    points[:, :2] = generator.integers(0, 3, (60, 2))
    right = points_forest(points, "euclidean", min_samples).forest
    path = tmp_path / "forest.h5"
    write(path, points, right, metric="euclidean", min_samples=min_samples)
    assert verify_points(points, path).ok
    claims = Claims(points, "euclidean", min_samples)
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    cores = np.sort(distance, axis=1)[:, min_samples]
    distance = np.maximum(distance, np.maximum(cores, cores[:, None]))
    refuted = 0
    for edge in range(len(right.src)):
        side = side_of(right, edge)
        u, v = np.nonzero(np.triu(side[:, None] != side, 1))
        equal = np.isclose(distance[u, v], right.weight[edge])
        if equal.sum() < 2:
            continue
        last = np.flatnonzero(equal)[-1]
        src, dst = right.src.copy(), right.dst.copy()
        src[edge], dst[edge] = u[last], v[last]
        (problem,) = claims.problems(src, dst, right.weight)[:1]
        assert "comes before" in problem
        refuted += 1
    assert refuted > 20


def spanning_trees(count: int) -> Iterator[list[tuple[int, int]]]:
    """Yield all count^(count - 2) trees of some vertices, by their Pruefer codes."""
    for code in product(range(count), repeat=count - 2):
        degree = [1 + code.count(vertex) for vertex in range(count)]
        edges = []
        for vertex in code:
            leaf = degree.index(1)
            edges.append((min(leaf, vertex), max(leaf, vertex)))
            degree[leaf] -= 1
            degree[vertex] -= 1
        edges.append(tuple(v for v in range(count) if degree[v] == 1))
        yield sorted(edges)


# Points of a line by their places: equal ones are those of the same place.
@pytest.mark.parametrize(
    "places", ["00000", "01010", "10010", "01120", "20110", "01234"]
)
@pytest.mark.parametrize("min_samples", [0, 1, 2, 3])
@pytest.mark.parametrize("by_products", [False, True])
def test_one_of_all_spanning_trees_is_proved(
    places: str, min_samples: int, by_products: bool
) -> None:
    """Equal points have equal distances, so only their numbers tell edges apart."""
    points = np.array([[float(place)] for place in places])
    claims = Claims(points, "euclidean", min_samples, by_products)
    gaps = np.abs(points - points.T)
    cores = np.sort(gaps, axis=1)[:, min_samples]
    weight = np.maximum(gaps, np.maximum.outer(cores, cores))
    ends = np.triu_indices(5, 1)
    right = kruskal(5, *ends, weight[ends])
    proved = []
    for tree in spanning_trees(5):
        u, v = np.array(tree).T
        if not claims.problems(u, v, weight[u, v]):
            proved.append(tree)
    assert proved == [list(zip(right.src.tolist(), right.dst.tolist(), strict=True))]


@pytest.mark.parametrize("min_samples", [0, 2])
@pytest.mark.parametrize("by_products", [False, True])
def test_an_edge_longer_than_to_the_nearest_points_is_proved_and_refuted(
    by_products: bool, min_samples: int
) -> None:
    """Many nearest points of each are in its own of two groups, 0.1 apart in 1.2."""
    place = np.concatenate([np.arange(20), np.arange(31, 51)]) * 0.1
    points = place[:, None] + [0.0, 0.0]
    claims = Claims(points, "euclidean", min_samples, by_products)
    right = points_forest(points, "euclidean", min_samples).forest
    assert claims.problems(right.src, right.dst, right.weight) == []
    (bridge,) = np.flatnonzero((right.src < 20) & (right.dst >= 20))
    for u, v in ((18, 20), (19, 21), (0, 39)):
        src, dst, weight = right.src.copy(), right.dst.copy(), right.weight.copy()
        src[bridge], dst[bridge] = u, v
        weight[bridge] = claims.weight(np.array([u]), np.array([v]))[0]
        (problem,) = claims.problems(src, dst, weight)[:1]
        assert f"comes before ({u}, {v})" in problem


def test_a_query_of_a_tree_asks_for_a_bounded_number_of_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of 60 near points of one component are asked for, four times as many each."""
    points = np.array([[float(k >= 60), k * 1e-3] for k in range(65)])
    claims, queries = Claims(points, "euclidean", 0, False, 3, 25), []
    make = claims.make_tree

    class Recorded:
        def __init__(self, places: np.ndarray) -> None:
            self.tree = make(places)

        def query(self, asking: np.ndarray, nearest: list[int], **options: object):
            queries.append((len(asking), nearest))
            return self.tree.query(asking, nearest, **options)

    claims.make_tree = Recorded  # type: ignore[method-assign]
    # No pair precedes the edge, but all are as near as it is long.
    monkeypatch.setattr(claims, "_compare", lambda *_: [])
    edges = np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, 2.0)
    claim = np.zeros(65, np.int64)
    assert claims._search(np.arange(60, 65), np.arange(60), claim, edges) == []
    asked = [(size, len(nearest)) for size, nearest in queries]
    assert asked == [(5, 3), (2, 12), (2, 12), (1, 12), *[(1, 48)] * 5, *[(1, 60)] * 5]
    assert all(nearest == [*range(1, len(nearest) + 1)] for _, nearest in queries)


def test_products_serve_euclidean_distances_alone() -> None:
    points = points_of("uniform", 50)
    claims = Claims(points, "euclidean", 2, by_products=True)
    assert claims.distinct.products is not None
    for metric in ("manhattan", "chebyshev"):
        claims = Claims(points, metric, 2, by_products=True)
        assert claims.distinct.products is None
        right = points_forest(points, metric, 2).forest
        assert claims.problems(right.src, right.dst, right.weight) == []


ALL_PAIRS = [
    {"metric": "minkowski", "p": 3},
    {"metric": "minkowski", "p": 1.5, "w": [1, 2, 0.5]},
    {"metric": "minkowski", "p": 1},
    {"metric": "seuclidean", "V": [1, 2, 3]},
    {"metric": "mahalanobis", "V": [[2, 0.5, 0], [0.5, 1, 0], [0, 0, 3]]},
    {"metric": "sqeuclidean"},
    {"metric": "braycurtis"},
    {"metric": "canberra", "w": [1, 2, 0.5]},
    {"metric": "hamming", "w": [1, 2, 0.5]},
    {"metric": "dice"},
    {"metric": "yule"},
    {"metric": "euclidean", "alpha": 1.3},
    {"metric": "cosine", "alpha": 0.7},
    {"metric": "chebyshev", "alpha": 2},
    {"metric": "euclidean", "boxsize": [50, 0, 50], "alpha": 1.3},
]


def forest_by(points: np.ndarray, config: dict) -> Forest:
    """Return the forest by the metric, parameters and alpha of a forest file."""
    further = {k: v for k, v in config.items() if k not in ("metric", "alpha")}
    metric, alpha = config["metric"], config.get("alpha", 1.0)
    return metric_forest(points, metric, 4, alpha=alpha, parameters=further).forest


@pytest.mark.parametrize("config", ALL_PAIRS)
@pytest.mark.parametrize("strange", [0, 2])
def test_forests_by_metrics_of_all_pairs_are_proved(
    config: dict, strange: int, tmp_path: Path
) -> None:
    if config["metric"] in ("hamming", "dice", "yule"):
        points = np.random.default_rng(1).integers(0, 2, (90, 3)).astype(float)
        points[:, 0] = 1  # Yule distances of equal rows are 0 / 0
    else:
        points = points_of("far", 90)
    points[5 : 5 + strange, 1] = [np.nan, np.inf][:strange]
    found, path = forest_by(points, config), tmp_path / "forest.h5"
    write(path, points, found, **config, min_samples=4)
    verdict = verify_points(points, path)
    assert verdict.ok, verdict.text()
    assert verdict.edges == 89 - strange and verdict.trees == 1 + strange
    if len(found) and config["metric"] != "yule":
        lighter = found.weight.copy()
        lighter[3] += 0.5
        write(path, points, replace(found, weight=lighter), **config, min_samples=4)
        (text,) = verify_points(points, path).problems
        assert "has weight" in text and text.startswith("of the") == bool(strange)


@pytest.mark.parametrize(
    ("config", "other"),
    [
        ({"metric": "minkowski", "p": 3}, {"p": 4}),
        ({"metric": "seuclidean", "V": [1, 2, 3]}, {"V": [1, 2, 4]}),
        ({"metric": "euclidean", "alpha": 0.5}, {"alpha": 1}),
    ],
)
def test_other_parameters_are_refuted(
    config: dict, other: dict, tmp_path: Path
) -> None:
    points, path = points_of("uniform", 60), tmp_path / "forest.h5"
    found = forest_by(points, config)
    write(path, points, found, **config | other, min_samples=4)
    assert "has weight" in verify_points(points, path).problems[0]


@pytest.mark.parametrize(
    "config",
    [
        {"metric": "seuclidean", "V": [1, 2]},
        {"metric": "minkowski", "p": "three"},
        {"metric": "euclidean", "alpha": -1},
        {"metric": "far"},
    ],
)
def test_parameters_that_do_not_suit_the_points_are_refused(
    config: dict, tmp_path: Path
) -> None:
    points, path = points_of("uniform", 60), tmp_path / "forest.h5"
    found = points_forest(points, "euclidean", 4).forest
    write(path, points, found, **config, min_samples=4)
    with pytest.raises(InputError, match="does not say which distances"):
        verify_points(points, path)


def test_an_edge_to_a_point_that_is_not_finite_is_refuted(tmp_path: Path) -> None:
    points, path = points_of("uniform", 30), tmp_path / "forest.h5"
    found = points_forest(points, "euclidean", 0).forest
    points[7] = np.nan
    kept = np.arange(len(found)) != int(np.flatnonzero(found.src != 7)[0])
    edges = (found.src[kept], found.dst[kept], found.weight[kept])
    forest = Forest(*edges, found.labels)
    write(path, points, forest, metric="euclidean", min_samples=0)
    problems = verify_points(points, path).problems
    assert problems == ["an edge joins a point that is not finite"]


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_distances_are_those_of_the_search_bit_by_bit(metric: str) -> None:
    dimensions = 2 if metric == "haversine" else 37
    points = np.random.default_rng(4).uniform(-1.5, 1.5, (40, dimensions))
    proof, rows = PairDistances(points, metric, {}), rows_of(points, metric, {})
    for point in range(40):
        found = proof.between(point, np.arange(40))
        assert found.tobytes() == rows.row(point).tobytes()
