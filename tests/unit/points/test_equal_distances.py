"""Equal distances go at once: clusters do not depend on the order of points."""

import dataclasses
import sys

import numpy as np
import pytest
from density_oracle import (
    INFINITE,
    Rule,
    hierarchy,
    labels_of,
    outlier_scores_of,
    persistence_of,
    probabilities_of,
    select,
    without_brief,
)
from scipy.spatial.distance import pdist, squareform

import mndmst
from mndmst.points.clusters.condensed import (
    CondensedTree,
    condensed_tree,
    without_brief_clusters,
)
from mndmst.points.clusters.density import (
    cluster_persistence,
    flat_clusters,
    label_points,
    outlier_scores,
)
from mndmst.points.clusters.selection import (
    ClusterSelection,
    most_stable,
    select_clusters,
)
from mndmst.points.point_files import example_points
from mndmst.tree.linkage import single_linkage

pytestmark = pytest.mark.slow


def tree_of(distances: np.ndarray, least: int) -> CondensedTree:
    pairs = np.triu_indices(len(distances), 1)
    forest = mndmst.minimum_spanning_forest(*pairs, distances[pairs], len(distances))
    return condensed_tree(single_linkage(forest), least)


def random_distances(generator: np.random.Generator) -> np.ndarray:
    """Return mutual reachability distances of a few points on a coarse grid."""
    n, dimensions = generator.integers(1, 30), generator.integers(1, 4)
    points = generator.integers(0, generator.integers(2, 14), (n, dimensions))
    scaled = points / generator.choice([1, 3, 7])
    metric = generator.choice(["cityblock", "euclidean"])
    distances = squareform(pdist(scaled, metric)) if n > 1 else np.zeros((1, 1))
    cores = np.sort(distances, axis=1)[:, min(generator.integers(0, 6), n - 1)]
    mutual = np.maximum(distances, np.maximum(cores[:, None], cores))
    np.fill_diagonal(mutual, 0)
    return mutual


def random_rule(generator: np.random.Generator, distances: np.ndarray) -> Rule:
    epsilon = float(generator.choice([0.0, 0.0, 1.3, *distances.ravel()]))
    return Rule(
        str(generator.choice(["eom", "leaf"])),
        epsilon,
        float(generator.choice([np.inf, np.inf, max(epsilon, distances.max() / 2)])),
        bool(generator.integers(0, 2)),
        int(generator.choice([0, 0, len(distances) // 2])),
    )


@pytest.mark.parametrize("seed", range(10))
def test_every_result_is_that_of_the_definition(seed: int) -> None:
    generator = np.random.default_rng(seed)
    for _ in range(120):
        distances = random_distances(generator)
        least = int(generator.integers(2, 7))
        root, tree = hierarchy(distances, least), tree_of(distances, least)
        if generator.integers(0, 3) == 0:
            persistence = float(generator.choice([0.0513, 0.2017, 0.7031]))
            without_brief(root, persistence)
            tree = without_brief_clusters(tree, persistence)
        clusters = [*root.inside()]
        births = sorted(cluster.birth for cluster in clusters)
        assert sorted(tree.birth.tolist()) == births
        mass = sorted(float(min(c.mass, INFINITE / 10**95)) for c in clusters)
        finite = [value if value < 1e300 else np.inf for value in mass]
        np.testing.assert_allclose(np.sort(tree.mass), finite, rtol=1e-13)
        scores = outlier_scores_of(root)
        np.testing.assert_allclose(outlier_scores(tree), scores, rtol=1e-13)
        for _ in range(8):
            rule = random_rule(generator, distances)
            labels, flat = labels_of(select(root, rule), root, rule.epsilon)
            selection = ClusterSelection(*dataclasses.astuple(rule))
            chosen = select_clusters(tree, selection)
            found = label_points(tree, chosen, rule.epsilon)
            assert found.labels.tolist() == labels.tolist(), rule
            expected = probabilities_of(root, labels, flat)
            np.testing.assert_allclose(found.probabilities, expected, rtol=1e-14)
            lasting = persistence_of(root, labels, flat)
            ours = cluster_persistence(tree, chosen, found.labels)
            np.testing.assert_allclose(ours, lasting, rtol=1e-13)


def grid(generator: np.random.Generator, side: int, dimensions: int) -> np.ndarray:
    """Return points on an integer grid, a third of its places taken."""
    places = np.indices((side,) * dimensions).reshape(dimensions, -1).T
    chosen = generator.choice(len(places), len(places) // 3, replace=False)
    return places[chosen].astype(np.float64)


def data_sets() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(5)
    sets = {
        "rings": example_points("rings", 600),
        "blobs": example_points("blobs", 600),
        "cloud in 5 dimensions": generator.normal(size=(400, 5)),
        "clouds in 16 dimensions": generator.normal(size=(400, 16))
        + 3 * generator.integers(0, 4, (400, 1)),
        "grid": grid(generator, 36, 2),
        "grid in 3 dimensions": grid(generator, 10, 3),
        "integers": generator.integers(0, 50, (500, 1)).astype(np.float64),
        "rounded blobs": np.round(example_points("blobs", 500), 1),
        "repeated": np.repeat(generator.normal(size=(80, 2)), 6, axis=0),
        "binary rows": generator.integers(0, 2, (300, 12)).astype(np.float64),
    }
    try:
        from sklearn import datasets
    except ImportError:
        return sets
    return sets | {
        "iris": datasets.load_iris().data,
        "digits": datasets.load_digits().data,
        "wine": datasets.load_wine().data,
    }


SETS = data_sets()


@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize("name", SETS)
def test_shuffled_points_have_the_same_clusters(name: str, method: str) -> None:
    points = SETS[name]
    model = mndmst.HDBSCAN(8, 4, cluster_selection_method=method)
    model.fit(points)
    labels, probabilities = model.labels_, model.probabilities_
    mass = np.sort(model.condensed_tree_.tree.mass)
    generator = np.random.default_rng(1)
    for _ in range(5):
        order = generator.permutation(len(points))
        model.fit(points[order])
        pairs = {*zip(model.labels_.tolist(), labels[order].tolist(), strict=True)}
        assert len(pairs) == len({*labels.tolist()}) == len({*model.labels_.tolist()})
        assert all((one < 0) == (other < 0) for one, other in pairs)
        np.testing.assert_array_equal(model.probabilities_, probabilities[order])
        np.testing.assert_array_equal(np.sort(model.condensed_tree_.tree.mass), mass)


def test_clusters_that_only_an_order_of_ties_makes_are_none() -> None:
    points = np.array([[3.0], [9], [3], [4], [7], [6]])
    generator = np.random.default_rng(1)
    for _ in range(30):
        shuffled = points[generator.permutation(6)]
        assert mndmst.HDBSCAN(3, 1).fit_predict(shuffled).tolist() == [-1] * 6


def test_a_node_splits_into_three_clusters_at_once() -> None:
    """Three pairs, 5 apart, and a lone point that leaves at the same distance."""
    points = np.array([[0.0], [1], [6], [7], [12], [13], [18]])
    tree = tree_of(squareform(pdist(points)), 2)
    assert tree.cluster_parent.tolist() == [0, 0, 0, 0]
    assert tree.birth.tolist() == [np.inf, 5, 5, 5]
    assert tree.cluster_size.tolist() == [7, 2, 2, 2]
    assert tree.point_cluster.tolist() == [1, 1, 2, 2, 3, 3, 0]
    np.testing.assert_allclose(tree.mass, [7 / 5, 8 / 5, 8 / 5, 8 / 5])
    assert flat_clusters(tree).labels.tolist() == [0, 0, 1, 1, 2, 2, -1]


def test_equal_masses_keep_the_parent() -> None:
    """A mass of 1 beside twice 1/2, of which float64 makes a little more."""
    for scale in (1.0, 3.0, 7.0, 49.0):
        tree = CondensedTree(
            parent=np.array([6, 7, 7, *[8] * 3, *[9] * 3]),
            distance=np.array([6.0, 3, 3, *[2] * 6]) * scale,
            cluster_size=np.array([6, 6, 3, 3]),
            mass=np.array([1.0, 1, 0.5, np.nextafter(0.5, 1)]) / scale,
            num_points=6,
        )
        assert most_stable(tree, np.ones(4, np.bool_)).tolist() == [
            True,
            True,
            True,
            True,
        ]


def test_trees_of_a_forest_part_at_once() -> None:
    forest = mndmst.minimum_spanning_forest(
        [0, 2, 4, 6], [1, 3, 5, 7], [2.0, 4.0, 1.0, 4.0], 9
    )
    tree = condensed_tree(single_linkage(forest), 2)
    assert tree.birth.tolist() == [np.inf] * 5
    assert tree.mass.tolist() == [0, 1, 0.5, 2, 0.5]
    assert flat_clusters(tree).labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, -1]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_more_points_are_asked_for_than_there_are(n: int) -> None:
    tree = tree_of(np.ones((n, n)) - np.eye(n), sys.maxsize)
    assert tree.num_clusters == 1
    assert flat_clusters(tree).labels.tolist() == [-1] * n


def test_clusters_born_at_a_distance_of_0_or_below_have_no_mass() -> None:
    """The weights of a graph may be negative; lambda is infinite there."""
    weight = [-2, 0, -2, 5, -2, 0, -2]
    forest = mndmst.minimum_spanning_forest(range(7), range(1, 8), weight)
    tree = condensed_tree(single_linkage(forest), 2)
    assert tree.mass.tolist() == [8 / 5, np.inf, np.inf, 0, 0, 0, 0]
    assert flat_clusters(tree).labels.tolist() == [0] * 4 + [1] * 4
    generator = np.random.default_rng(37)
    for _ in range(60):
        weight = generator.integers(-4, 3, 40)
        forest = mndmst.minimum_spanning_forest(range(40), range(1, 41), weight)
        for least in (2, 3, 5):
            tree = condensed_tree(single_linkage(forest), least)
            assert len(flat_clusters(tree).labels) == 41
