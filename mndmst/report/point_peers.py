"""Trees and clusters of points by this package and others, with the same parameters.

A package is imported when it is used, and need not be installed.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from .peers import Answer, Clusters, Peer, TreeAnswer

Points = np.ndarray
# A function of points that returns the weights of a tree, or labels
Task = Callable[[Points], np.ndarray]

MIN_CLUSTER_SIZE, MIN_SAMPLES = 100, 10
# The parameters of packages in which a point is not its own neighbour, and of others
SIZES: dict[str, Any] = {
    "min_cluster_size": MIN_CLUSTER_SIZE,
    "min_samples": MIN_SAMPLES,
}
SELF_COUNTED = SIZES | {"min_samples": MIN_SAMPLES + 1}
# The most dimensions in which hdbscan searches by Borůvka's method, approximate by
# default
HDBSCAN_BORUVKA = 60
CLOUDS = 20


def blobs(count: int, dimensions: int) -> Points:
    """Return points in round clouds of different width."""
    generator = np.random.default_rng(1)
    centres = generator.uniform(-10, 10, (CLOUDS, dimensions))
    cloud = generator.integers(0, CLOUDS, count)
    spread = generator.uniform(0.3, 1.5, CLOUDS)[cloud]
    noise = generator.standard_normal((count, dimensions))
    return centres[cloud] + spread[:, None] * noise


def fit(module: str, **options: Any) -> Task:
    """Return a fit by an estimator that follows scikit-learn's interface."""

    def labels(points: Points) -> np.ndarray:
        found: Any = import_module(module)
        return np.asarray(found.HDBSCAN(**options).fit(points).labels_)

    return labels


def fast_hdbscan_tree(points: Points) -> np.ndarray:
    """Return the weights of the tree of fast_hdbscan."""
    module: Any = import_module("fast_hdbscan.hdbscan")
    made = module.compute_minimum_spanning_tree(points, MIN_SAMPLES)
    return made[0][:, 2]


def hdbscan_labels(points: Points, **options: Any) -> np.ndarray:
    """Return the labels of hdbscan."""
    # Threads, whose CPU seconds count; joblib's processes outlive the turn.
    with import_module("joblib").parallel_config("threading"):
        return fit("hdbscan", **SIZES, core_dist_n_jobs=-1, **options)(points)


def hdbscan_tree(points: Points, **options: Any) -> np.ndarray:
    """Return the weights of the tree that hdbscan's `algorithm="best"` computes."""
    module: Any = import_module("hdbscan.hdbscan_")
    common: dict[str, Any] = {"metric": "euclidean", "gen_min_span_tree": True}
    if points.shape[1] > HDBSCAN_BORUVKA:
        made = module._hdbscan_prims_kdtree(points, MIN_SAMPLES, **common)
    else:
        common |= {"core_dist_n_jobs": -1} | options
        with import_module("joblib").parallel_config("threading"):
            made = module._hdbscan_boruvka_kdtree(points, MIN_SAMPLES, **common)
    return made[1][:, 2]


def sklearn_labels(algorithm: str) -> Task:
    """Return a fit by scikit-learn."""
    options = SELF_COUNTED | {"algorithm": algorithm, "n_jobs": -1, "copy": True}
    return fit("sklearn.cluster", **options)


def _scipy_tree(points: Points) -> np.ndarray:
    """Return the weights of SciPy's tree of the matrix of all distances."""
    distance = import_module("scipy.spatial.distance")
    matrix = distance.squareform(distance.pdist(points))
    core = np.partition(matrix, MIN_SAMPLES, axis=1)[:, MIN_SAMPLES]
    np.maximum(matrix, core, out=matrix)
    np.maximum(matrix, core[:, None], out=matrix)
    solve = import_module("scipy.sparse.csgraph").minimum_spanning_tree
    return solve(matrix, overwrite=True).data


def _our_tree(threads: int, points: Points) -> np.ndarray:
    made: Any = import_module("mndmst.points.point_forest")
    found = made.points_forest(points, min_samples=MIN_SAMPLES, threads=threads)
    return found.forest.weight


def _of_tree(_: Points, weights: np.ndarray) -> TreeAnswer:
    return TreeAnswer(len(weights), float(weights.sum()))


def _of_labels(_: Points, labels: np.ndarray) -> Clusters:
    return Clusters(int(labels.max()) + 1, int((labels < 0).sum()))


class PointTask(NamedTuple):
    """Points, and the programs that compute their tree or clusters."""

    num_points: int
    dimensions: int
    peers: tuple[Peer, ...]
    ours: Callable[[int], Task]  # by the number of threads
    answer: Callable[[Points, np.ndarray], Answer | Clusters]

    def our_peer(self, name: str, threads: int) -> Peer:
        """Return this package as a program with a number of threads."""
        return _peer(name, "mndmst", "mndmst", self.ours(threads), self.answer)


def _peer(name: str, package: str, module: str, solve: Task, answer: Any) -> Peer:
    return Peer(name, package, module, lambda points: points, solve, answer)


# The tasks by their names. SciPy's matrix bounds the points of the tree.
POINT_TASKS = {
    "tree": PointTask(
        2000,
        3,
        (
            _peer("scipy", "scipy", "scipy.sparse.csgraph", _scipy_tree, _of_tree),
            _peer(
                "fast_hdbscan", "fast_hdbscan", "fast_hdbscan", fast_hdbscan_tree,
                _of_tree,
            ),
            _peer(
                "hdbscan, exact", "hdbscan", "hdbscan",
                partial(hdbscan_tree, approx_min_span_tree=False), _of_tree,
            ),
        ),
        lambda threads: partial(_our_tree, threads),
        _of_tree,
    ),
    "clusters": PointTask(
        20_000,
        3,
        (
            _peer(
                "fast_hdbscan", "fast_hdbscan", "fast_hdbscan",
                fit("fast_hdbscan", **SIZES), _of_labels,
            ),
            _peer(
                "hdbscan, exact", "hdbscan", "hdbscan",
                partial(hdbscan_labels, approx_min_span_tree=False), _of_labels,
            ),
            _peer(
                "scikit-learn", "scikit-learn", "sklearn.cluster",
                sklearn_labels("kd_tree"), _of_labels,
            ),
        ),
        lambda threads: fit("mndmst.points.estimator", **SIZES, n_jobs=threads),
        _of_labels,
    ),
}  # fmt: skip
