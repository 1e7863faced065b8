"""mndmst.HDBSCAN has the parameters and results of hdbscan and scikit-learn."""

import io
import pickle
import re
import tracemalloc
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform

import mndmst
from mndmst.api.forest import Forest
from mndmst.cli.__main__ import commands
from mndmst.cli.main import parser
from mndmst.host.errors import ConfigError, InputError
from mndmst.host.progress import Progress
from mndmst.points import estimator
from mndmst.points.clusters.condensed import condensed_tree
from mndmst.points.clusters.density import label_points
from mndmst.points.clusters.selection import ClusterSelection, select_clusters
from mndmst.points.pairwise_forest import (
    PreparedRows,
    forest_of_rows,
    metric_forest,
)
from mndmst.points.point_files import example_points
from mndmst.points.point_forest import PointForest
from mndmst.points.search_reporter import SearchReporter
from mndmst.points.versions import point_version

hdbscan = pytest.importorskip("hdbscan", reason="needs hdbscan")
trees = pytest.importorskip("hdbscan.hdbscan_")


def same_clusters(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    names = len(set(one.tolist())), len(set(other.tolist()))
    return len(pairs) == names[0] == names[1] and bool(((one < 0) == (other < 0)).all())


def by_label(ours: np.ndarray, theirs: np.ndarray) -> list[int]:
    """Return the label of hdbscan for each of ours."""
    return [int(theirs[ours == label][0]) for label in range(ours.max() + 1)]


def theirs_on(points: np.ndarray, **options: object):
    """Return a fitted estimator of hdbscan, on points without equal distances."""
    return hdbscan.HDBSCAN(
        min_samples=1, algorithm="prims_kdtree", gen_min_span_tree=True, **options
    ).fit(points)


@cache
def trees_of(name: str):
    """Return points, their dendrogram and the condensed trees of two least sizes."""
    points = example_points(name, 800)
    dendrogram = mndmst.single_linkage(points)
    return points, dendrogram, {n: condensed_tree(dendrogram, n) for n in (5, 25)}


@pytest.mark.parametrize("single", [False, True], ids=["", "single"])
@pytest.mark.parametrize("most", [0, 60, 400])
@pytest.mark.parametrize("epsilon", [0.0, 0.15, 0.6])
@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize("name", ["rings", "blobs"])
def test_selection_is_that_of_hdbscan(
    name: str, method: str, epsilon: float, most: int, single: bool
) -> None:
    points, dendrogram, condensed = trees_of(name)
    for farthest in (np.inf, 0.7):
        for least in (5, 25):
            rule = ClusterSelection(method, epsilon, farthest, single, most)
            tree = condensed[least]
            found = label_points(tree, select_clusters(tree, rule), epsilon)
            labels, probabilities, *_ = trees._tree_to_labels(
                points, dendrogram.copy(), least, method, single, False, epsilon, 0.0,
                most, farthest,
            )  # fmt: skip
            assert same_clusters(found.labels, labels)
            np.testing.assert_allclose(found.probabilities, probabilities)


@pytest.mark.parametrize("persistence", [0.05, 0.3, 1.0, 5.0])
def test_persistence_threshold_is_that_of_hdbscan(persistence: float) -> None:
    points = example_points("blobs", 800)
    ours = mndmst.HDBSCAN(8, 1, cluster_selection_persistence=persistence).fit(points)
    theirs = theirs_on(
        points, min_cluster_size=8, cluster_selection_persistence=persistence
    )
    assert same_clusters(ours.labels_, theirs.labels_)


@pytest.mark.parametrize("dimensions", [2, 7, 30])
def test_results_are_those_of_hdbscan(dimensions: int) -> None:
    generator = np.random.default_rng(dimensions)
    points = generator.normal(size=(500, dimensions))
    points += 6 * generator.integers(0, 3, (500, 1))
    ours = mndmst.HDBSCAN(20, 1, store_centers="both").fit(points)
    theirs = theirs_on(points, min_cluster_size=20)
    assert ours.labels_.max() >= 1 and same_clusters(ours.labels_, theirs.labels_)
    names = by_label(ours.labels_, theirs.labels_)
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(ours.probabilities_, theirs.probabilities_, **close)
    np.testing.assert_allclose(ours.outlier_scores_, theirs.outlier_scores_, **close)
    np.testing.assert_allclose(
        ours.cluster_persistence_, theirs.cluster_persistence_[names], **close
    )
    np.testing.assert_allclose(ours.relative_validity_, theirs.relative_validity_)
    for label, name in enumerate(names):
        exemplars = [*map(tuple, ours.exemplars_[label])]
        assert sorted(exemplars) == sorted(map(tuple, theirs.exemplars_[name]))
        centroid = theirs.weighted_cluster_centroid(name)
        np.testing.assert_allclose(ours.centroids_[label], centroid)
        medoid = theirs.weighted_cluster_medoid(name)
        np.testing.assert_array_equal(ours.medoids_[label], medoid)
    for cut in (0.5, 1.0, 3.0):
        found = ours.dbscan_clustering(cut, 10)
        assert same_clusters(found, theirs.dbscan_clustering(cut, 10))


def test_results_are_computed_when_they_are_asked_for_and_once() -> None:
    model = mndmst.HDBSCAN(20).fit(example_points("blobs", 300))
    measures = {"linkage", "persistence", "outlier_scores"}
    assert not measures & vars(model._fitted()).keys()
    assert "_validity" not in vars(model) and "_exemplars" not in vars(model)
    for name in ("linkage_", "cluster_persistence_", "outlier_scores_", "exemplars_"):
        assert getattr(model, name) is getattr(model, name)
    assert measures <= vars(model._fitted()).keys()
    before = model.relative_validity_
    assert model.fit(example_points("rings", 300)).relative_validity_ != before


def test_trees_have_the_fields_of_hdbscan() -> None:
    points = example_points("blobs", 300)
    ours, theirs = mndmst.HDBSCAN(10, 1).fit(points), theirs_on(points)
    for name in ("condensed_tree_", "single_linkage_tree_", "minimum_spanning_tree_"):
        one, other = getattr(ours, name), getattr(theirs, name)
        assert [*one.to_pandas().columns] == [*other.to_pandas().columns]
        assert one.to_numpy().dtype.names == other.to_numpy().dtype.names
        graph, expected = one.to_networkx(), other.to_networkx()
        assert type(graph) is type(expected)
        assert next(iter(graph.edges(data=True)))[2].keys() == {"weight"}
    rows = ours.condensed_tree_.to_pandas()
    assert rows[rows.child < 300].child_size.eq(1).all()
    assert len(ours.minimum_spanning_tree_.to_networkx()) == 300
    linkage = ours.single_linkage_tree_
    np.testing.assert_array_equal(linkage.to_numpy(), ours.linkage_)
    assert linkage.to_networkx().number_of_edges() == 598


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_trees_are_drawn(dimensions: int, tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    points = np.random.default_rng(1).normal(size=(400, dimensions))
    points[::2] += 9
    points[:20] = points[0]  # an infinite lambda
    model = mndmst.HDBSCAN(10, 2).fit(points)
    drawings = [
        (model.minimum_spanning_tree_, {}),
        (model.minimum_spanning_tree_, {"vary_line_width": False, "node_size": 1}),
    ]
    if dimensions == 2:  # the other trees do not show the coordinates
        condensed, linkage = model.condensed_tree_, model.single_linkage_tree_
        drawings += [
            (condensed, {}),
            (condensed, {"log_size": True, "cmap": "none", "colorbar": False}),
            (condensed, {"select_clusters": True, "label_clusters": True}),
            (linkage, {}),
            (linkage, {"truncate_mode": "lastp", "p": 9}),
        ]
    for tree, options in drawings:
        figure, axes = pyplot.subplots()
        assert tree.plot(axis=axes, **options) is axes
        figure.savefig(tmp_path / "tree.png")
        assert (tmp_path / "tree.png").stat().st_size > 4000
        pyplot.close(figure)
    if dimensions == 5:
        axes = model.minimum_spanning_tree_.plot()
        assert axes.get_xlabel().startswith("first principal component")
        pyplot.close("all")


def mutual_reachability(
    distances: np.ndarray, samples: int, alpha: float = 1.0
) -> np.ndarray:
    cores = np.sort(distances, axis=1)[:, samples]
    return np.maximum(distances / alpha, np.maximum(cores[:, None], cores))


METRICS = {
    "chebyshev": {}, "minkowski": {"p": 3}, "canberra": {}, "hamming": {},
    "jaccard": {}, "seuclidean": {}, "braycurtis": {}, "correlation": {}, "l1": {},
}  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_the_forest_of_all_pairs(metric: str) -> None:
    generator = np.random.default_rng(3)
    points = generator.integers(0, 4, (120, 6)).astype(np.float64)
    points += 0 if metric in ("hamming", "jaccard") else generator.random((120, 6))
    name = {"l1": "cityblock"}.get(metric, metric)
    given = points != 0 if metric == "jaccard" else points
    options = {"V": points.var(axis=0, ddof=1)} if metric == "seuclidean" else {}
    distances = cdist(given, given, name, **METRICS[metric], **options)
    expected = mndmst.minimum_spanning_forest(
        *np.triu_indices(120, 1),
        mutual_reachability(distances, 4)[np.triu_indices(120, 1)],
    )
    model = mndmst.HDBSCAN(6, 4, metric=metric, metric_params=METRICS[metric])
    model.fit(points)
    np.testing.assert_allclose(
        np.sort(model.forest_.weight), np.sort(expected.weight), rtol=1e-9, atol=1e-12
    )
    assert model.exact_ and model.forest_.num_trees == 1
    order = generator.permutation(120)
    again = mndmst.HDBSCAN(6, 4, metric=metric, metric_params=METRICS[metric])
    assert same_clusters(again.fit_predict(points[order]), model.labels_[order])


def test_a_function_is_a_metric() -> None:
    points = example_points("blobs", 120)

    def distance(one: np.ndarray, other: np.ndarray) -> float:
        return float(np.abs(one - other).max())

    found = mndmst.HDBSCAN(8, metric=distance).fit_predict(points)
    named = mndmst.HDBSCAN(8, metric="chebyshev").fit_predict(points)
    np.testing.assert_array_equal(found, named)


@pytest.mark.parametrize(("nearer", "clusters"), [(0.0, 2), (2.0**-48, 3)])
def test_masses_are_compared_exactly(nearer: float, clusters: int) -> None:
    """Ten points in a line have the mass of their two halves, or hardly less."""
    gaps = [3.0] * 4 + [4.0] + [3 - nearer] * 4 + [6.0] + [1.0] * 4
    points = np.concatenate([[0.0], np.cumsum(gaps)])[:, None]
    labels = mndmst.HDBSCAN(min_cluster_size=5, min_samples=1).fit_predict(points)
    assert len(np.unique(labels)) == clusters


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("alpha", [0.5, 1.3])
def test_alpha_scales_distances_and_not_cores(alpha: float, metric: str) -> None:
    points = example_points("blobs", 150) + 20
    name = {"manhattan": "cityblock"}.get(metric, metric)
    mutual = mutual_reachability(squareform(pdist(points, name)), 5, alpha)
    pairs = np.triu_indices(150, 1)
    expected = mndmst.minimum_spanning_forest(*pairs, mutual[pairs])
    model = mndmst.HDBSCAN(6, 5, metric=metric, alpha=alpha).fit(points)
    np.testing.assert_allclose(
        np.sort(model.forest_.weight), np.sort(expected.weight), rtol=1e-7
    )


def test_precomputed_distances_give_the_clusters_of_the_points(tmp_path: Path) -> None:
    points = np.random.default_rng(4).integers(0, 30, (200, 2)).astype(np.float64)
    expected = mndmst.HDBSCAN(6, 3).fit(points)
    condensed = pdist(points)
    matrix = squareform(condensed)
    np.save(tmp_path / "matrix.npy", matrix)
    graph = np.where(matrix == 0, 1e-300, matrix)  # a zero would not be an entry
    np.fill_diagonal(graph, 0)
    for distances in (
        matrix,
        matrix.tolist(),
        np.load(tmp_path / "matrix.npy", mmap_mode="r"),
        condensed,
        sparse.csr_matrix(graph),
        sparse.coo_array(graph),
    ):
        model = mndmst.HDBSCAN(6, 3, metric="precomputed").fit(distances)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_allclose(
            np.sort(model.forest_.weight), np.sort(expected.forest_.weight)
        )
    model.condensed_tree_.to_numpy()
    with pytest.raises(AttributeError, match="exemplars_"):
        _ = model.exemplars_
    with pytest.raises(mndmst.points.estimator.ConfigError, match="to_networkx"):
        model.minimum_spanning_tree_.plot()


def test_missing_distances_leave_several_trees() -> None:
    near = squareform(pdist(example_points("blobs", 40)))
    apart = np.full((40, 40), np.inf)
    dense = np.block([[near, apart], [apart, near]])
    graph = sparse.csr_matrix(np.kron(np.eye(2), near))
    for distances in (dense, graph):
        model = mndmst.HDBSCAN(40, 3, metric="precomputed").fit(distances)
        assert model.forest_.num_trees == 2
        assert model.labels_.tolist() == [0] * 40 + [1] * 40
    few = sparse.csr_matrix(np.diag(np.ones(9), 1) + np.diag(np.ones(9), -1))
    model = mndmst.HDBSCAN(2, 2, metric="precomputed").fit(few)
    assert model.labels_[0] == model.labels_[-1] == -1  # one neighbour each


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        (np.zeros((3, 4)), "matrix has shape"),
        (np.array([[0.0, 1], [2, 0]]), "not symmetric"),
        (np.array([[0.0, np.nan], [np.nan, 0]]), "np.nan values found"),
        (np.array([[0.0, -1], [-1, 0]]), "Negative values"),
        (np.array([[1, 0.9, 0], [0.9, 1, 0.5], [0, 0.5, 1]]), "one of similarities"),
        (np.array([[0, 0, 0], [0, 1, 0.5], [0, 0.5, 1.0]]), "one of similarities"),
        (np.arange(5.0), "5 distances in one dimension"),
        (sparse.csr_matrix(np.array([[0.0, 1], [2, 0]])), "not symmetric"),
        (sparse.csr_matrix(np.ones((2, 3))), "has shape"),
        (sparse.csr_matrix(np.array([[9, 1], [1, 9]])), "one of similarities"),
    ],
)
def test_matrices_that_are_not_distances(distances, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mndmst.HDBSCAN(2, 1, metric="precomputed").fit(distances)


def test_rows_that_are_not_finite() -> None:
    points = example_points("blobs", 300)
    clean = mndmst.HDBSCAN(10, 4).fit(points)
    given = np.insert(
        points, [0, 50, 300], [[np.nan, 1], [np.inf, 0], [np.inf, np.nan]], 0
    )
    rows = np.isfinite(given).all(axis=1)
    model = mndmst.HDBSCAN(10, 4).fit(given)
    assert model.labels_[~rows].tolist() == [-1, -1, -1]
    assert model.probabilities_[~rows].tolist() == [0, 0, 0]
    assert model.outlier_scores_[~rows].tolist() == [1, 1, 1]
    for name in ("labels_", "probabilities_", "outlier_scores_"):
        values = getattr(model, name)[rows]
        np.testing.assert_array_equal(values, getattr(clean, name))
    np.testing.assert_array_equal(
        model.cluster_persistence_, clean.cluster_persistence_
    )
    single = {"allow_single_cluster": True, "cluster_selection_epsilon_max": 3.0}
    found = mndmst.HDBSCAN(10, 4, **single).fit_predict(given)[rows]
    np.testing.assert_array_equal(
        found, mndmst.HDBSCAN(10, 4, **single).fit_predict(points)
    )
    coded = mndmst.HDBSCAN(10, 4, non_finite="codes").fit(given)
    assert coded.labels_[~rows].tolist() == [-3, -2, -3]
    assert np.isnan(coded.probabilities_[~rows]).tolist() == [True, False, True]
    assert coded.dbscan_clustering(0.4)[~rows].tolist() == [-3, -2, -3]
    with pytest.raises(ValueError, match="point 0 has a coordinate that is NaN"):
        mndmst.HDBSCAN(non_finite="error").fit(given)
    nothing = mndmst.HDBSCAN(2).fit(np.full((4, 2), np.nan))
    assert nothing.labels_.tolist() == [-1] * 4


def test_parameters_without_effect_are_named_in_one_line() -> None:
    points = example_points("blobs", 60)
    model = mndmst.HDBSCAN(
        algorithm="boruvka_kdtree", gen_min_span_tree=True, core_dist_n_jobs=1
    )
    message = "algorithm, gen_min_span_tree, core_dist_n_jobs change nothing"
    with pytest.warns(UserWarning, match=message):
        model.fit(points)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_cluster_size": "five"}, "min_cluster_size 'five' is not an integer"),
        ({"min_cluster_size": None}, "min_cluster_size None is not an integer"),
        ({"min_samples": 2.0}, "min_samples 2.0 is not an integer"),
        ({"max_cluster_size": -1}, "max_cluster_size -1"),
        ({"alpha": 0}, "alpha 0"),
        ({"alpha": "one"}, "alpha 'one' is not a number"),
        ({"cluster_selection_epsilon_max": -1}, "epsilon_max -1"),
        ({"cluster_selection_persistence": -1.0}, "persistence -1"),
        ({"store_centers": "mean"}, "store_centers 'mean'"),
        ({"non_finite": "keep"}, "non_finite 'keep'"),
        ({"metric": "imperial"}, "no metric 'imperial'"),
        ({"metric": None}, "no metric None"),
        ({"metric": "minkowski", "p": -1}, "minkowski p -1"),
        (
            {"metric": "precomputed", "algorithm": "kd_tree"},
            "precomputed is not a valid",
        ),
        ({"metric": "canberra", "approximate": True}, "approximate takes the metrics"),
        ({"metric": "canberra", "search": "tree"}, "search 'tree' takes the metrics"),
        ({"alpha": 1.3, "search": "product"}, "search 'product' takes the metrics"),
        ({"metric": "precomputed", "search": "tree"}, "search 'tree' searches points"),
        ({"allow_single_cluster": "no"}, "allow_single_cluster is 'no'; give True"),
        ({"approximate": "no"}, "approximate is 'no'; give True or False"),
        ({"copy": 2}, "copy is 2; give True or False"),
        ({"metric_params": 3}, "metric_params 3: give a dict"),
        ({"metric_params": "p=3"}, "metric_params 'p=3': give a dict"),
        ({"n_jobs": 0}, "n_jobs 0: give a number of threads from 1 to 4,096"),
        ({"n_jobs": 2.5}, "n_jobs 2.5: give a number of threads"),
        ({"n_jobs": "all", "metric": "precomputed"}, "n_jobs 'all': give a number"),
        ({"n_jobs": 10**9}, "n_jobs 1000000000: give a number of threads"),
    ],
)
def test_values_out_of_range_are_value_errors(options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mndmst.HDBSCAN(**options).fit(example_points("blobs", 30))


def test_negative_jobs_count_from_all_cores(monkeypatch) -> None:
    monkeypatch.setattr(estimator, "core_count", lambda: 4)
    given = [None, -1, -2, -4, -9, 1, np.int64(3)]
    threads = [mndmst.HDBSCAN(n_jobs=jobs)._threads() for jobs in given]
    assert threads == [0, 0, 3, 1, 1, 1, 3]


def test_condensed_distances_are_as_few_as_those_of_a_square_matrix() -> None:
    distances = pdist(example_points("blobs", 10))
    for given in (distances, squareform(distances)):
        with pytest.raises(ValueError, match=r"min_samples \(50\) must be at most"):
            mndmst.HDBSCAN(5, 50, metric="precomputed").fit(given)
        with pytest.warns(UserWarning, match=r"\(50\) is larger than the data"):
            mndmst.HDBSCAN(50, metric="precomputed").fit(given)


@pytest.mark.parametrize("distance", [-1.0, np.nan])
def test_a_function_that_returns_no_distance(distance: float) -> None:
    def measure(one: np.ndarray, other: np.ndarray) -> float:
        return distance if max(one[0], other[0]) > 4 else abs(one[0] - other[0])

    points = np.arange(8.0)[:, None]
    with pytest.raises(ValueError, match=r"of point 0 from point 5 is .*; a metric"):
        mndmst.HDBSCAN(2, 1, metric=measure).fit(points)
    model = mndmst.HDBSCAN(2, 1, metric=measure).fit(points[:5])
    with pytest.raises(ValueError, match="of a new point from point 0 is"):
        model.predict([[7.0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("far",), "cut_distance is 'far'; give a number"),
        ((None,), "cut_distance is None; give a number"),
        ((np.nan,), "the threshold must not be NaN"),
        ((0.5, 2.5), "min_cluster_size is 2.5; give an integer"),
        ((0.5, "few"), "min_cluster_size is 'few'; give an integer"),
    ],
)
def test_a_cut_is_at_a_number(arguments, message: str) -> None:
    model = mndmst.HDBSCAN(5).fit(example_points("blobs", 30))
    with pytest.raises(ValueError, match=message):
        model.dbscan_clustering(*arguments)


@pytest.mark.parametrize("cluster", [-1, 99, 0.5, "0", True, None])
def test_centres_of_clusters_that_do_not_exist(cluster: object) -> None:
    model = mndmst.HDBSCAN(20, 5).fit(example_points("blobs", 300))
    for centre in (model.weighted_cluster_centroid, model.weighted_cluster_medoid):
        with pytest.raises(ValueError, match=f"no cluster {cluster!r}"):
            centre(cluster)


@pytest.mark.parametrize("points", [None, 3, "abc", [[1, 2], [3]]])
def test_values_that_are_not_points(points: object) -> None:
    model = mndmst.HDBSCAN(2).fit(np.eye(4))
    for call in (mndmst.HDBSCAN(2).fit, model.predict):
        with pytest.raises(ValueError):
            call(points)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fewer_points_than_a_cluster_has_are_noise(count: int) -> None:
    points = np.arange(count)[:, None]
    with pytest.warns(UserWarning, match=r"\(50\) is larger than the data"):
        model = mndmst.HDBSCAN(50).fit(points)
    with pytest.raises(ValueError, match=r"min_samples \(50\) must be at most"):
        mndmst.HDBSCAN(2, 50).fit(points)
    assert model.labels_.tolist() == [-1] * count
    assert model.relative_validity_ == 0 and model.exemplars_ == []
    assert len(model.cluster_persistence_) == 0


@pytest.mark.parametrize("size", [301, 900])
@pytest.mark.parametrize("single", [False, True])
def test_a_size_beyond_the_data_takes_no_search_until_a_result_needs_it(
    size: int, single: bool, monkeypatch
) -> None:
    searches = []

    def counted(*given, **options):
        searches.append(given)
        return metric_forest(*given, **options)

    monkeypatch.setattr("mndmst.points.estimator.metric_forest", counted)
    points = example_points("blobs", 300)
    with pytest.warns(UserWarning, match="so all points are noise"):
        model = mndmst.HDBSCAN(size, 4, allow_single_cluster=single).fit(points)
    assert set(model.labels_.tolist()) == {-1} and not model.probabilities_.any()
    assert len(model.cluster_persistence_) == 0 and searches == []
    usual = mndmst.HDBSCAN(9, 4).fit(points)
    searches.clear()
    model.set_params(min_samples=7, metric="manhattan")  # of the next fit
    again = pickle.loads(pickle.dumps(model))
    assert len(model.minimum_spanning_tree_.to_numpy()) == 299
    np.testing.assert_array_equal(model.linkage_, usual.linkage_)
    assert model.forest_.digest == usual.forest_.digest and model.exact_
    assert len(searches) == 1
    assert model.outlier_scores_.tolist() == [0] * 300
    assert set(model.predict(points[:5]).tolist()) == {-1}
    assert len(searches) == 1
    np.testing.assert_array_equal(again.linkage_, usual.linkage_)


def test_a_size_beyond_half_of_the_data_finds_noise_without_a_search() -> None:
    points = example_points("blobs", 300)
    model = mndmst.HDBSCAN(151, 3).fit(points)
    assert set(model.labels_.tolist()) == {-1}
    assert "value" not in vars(model._clusters)
    np.testing.assert_array_equal(model._fitted().flat.labels, model.labels_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "cosine"}, "zero in all coordinates"),
        ({"metric": "nowhere"}, "no metric 'nowhere'"),
        ({"search": "quick"}, "no search 'quick'"),
        ({"metric": "canberra", "approximate": True}, "approximate takes the metrics"),
    ],
)
def test_noise_at_once_does_not_hide_errors(options, message: str) -> None:
    with (
        pytest.warns(UserWarning, match="larger than the data"),
        pytest.raises(ValueError, match=message),
    ):
        mndmst.HDBSCAN(50, **options).fit(np.arange(9.0)[:, None])


@pytest.mark.parametrize("count", [1, 2, 3, 5, 30])
@pytest.mark.parametrize("values", [1, 2, 5, 1000])
def test_the_forest_of_largest_core_distances(count: int, values: int) -> None:
    rng = np.random.default_rng(count)
    points = rng.integers(0, values, (count, 2)).astype(np.float64)
    rows = PreparedRows(points, "manhattan")
    distance = np.array([rows.row(i) for i in range(count)])
    core = distance.max(axis=1)
    u, v = np.triu_indices(count, 1)
    weight = np.maximum(np.maximum(core[u], core[v]), distance[u, v])
    expected = mndmst.minimum_spanning_forest(u, v, weight, count)
    found = forest_of_rows(rows, count + 3).forest
    assert list(found) == list(expected) and found.digest == expected.digest


def test_distances_of_a_plain_tree_are_computed_once() -> None:
    rows, asked = PreparedRows(example_points("blobs", 40), "euclidean"), []

    class Counting(PreparedRows):
        def row(self, point: int) -> np.ndarray:
            asked.append(point)
            return rows.row(point)

    found = forest_of_rows(Counting(rows.rows.points, "euclidean"), 0).forest
    assert len(found) == 39 and sorted(asked) == sorted(set(asked))


def test_all_pairs_tell_the_time_that_is_left(monkeypatch) -> None:
    monkeypatch.setattr("mndmst.points.search_reporter.SOON", 0.0)
    stream = io.StringIO()
    reporter = SearchReporter(Progress(True, stream, cadence=0.0))
    rows = PreparedRows(example_points("blobs", 200), "euclidean")
    forest_of_rows(rows, 5, reporter=reporter)
    lines = stream.getvalue().splitlines()
    assert "distances between all pairs: 64 of 400 rows, about 0 s left" in lines[1]
    assert "392 of 400 rows" in lines[-1]


def test_the_command_finds_noise_without_a_search(mndmst, tmp_path: Path) -> None:
    points, labels = tmp_path / "points.npy", tmp_path / "labels.csv"
    np.save(points, example_points("blobs", 300))
    run = mndmst("hdbscan", points, "-o", labels, "--min-cluster-size", 301)
    assert run.returncode == 0, run.stderr
    assert "clusters=0 noise=300 exact=True search=none" in run.stdout
    assert "so all points are noise" in run.stderr
    assert "exact forest" not in run.stdout
    assert labels.read_text().splitlines()[:2] == [
        "vertex,label,probability",
        "0,-1,0.0",
    ]
    clusters = tmp_path / "clusters.h5"
    run = mndmst("hdbscan", points, "-o", clusters, "--min-cluster-size", 301)
    assert run.returncode == 0 and "exact forest" in run.stdout, run.stderr
    assert "clusters.h5: needs the forest of the points" in run.stderr
    with h5py.File(clusters) as file:
        assert file["linkage"].shape == (299, 4) and (file["labels"][:] == -1).all()


def test_options_of_the_command_are_those_of_python(mndmst, tmp_path: Path) -> None:
    points, clusters = tmp_path / "points.npy", tmp_path / "clusters.h5"
    given = example_points("rings", 600)
    np.save(points, given)
    run = mndmst(
        "hdbscan", points, "-o", clusters, "--min-cluster-size", 9, "--min-samples", 3,
        "--allow-single-cluster", "--max-cluster-size", 300,
        "--cluster-selection-epsilon", 0.1, "--cluster-selection-epsilon-max", 2,
        "--cluster-selection-persistence", 0.2,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    from mndmst import HDBSCAN

    model = HDBSCAN(
        9, 3, 0.1, 0.2, 300, allow_single_cluster=True, cluster_selection_epsilon_max=2
    ).fit(given)
    with h5py.File(clusters) as file:
        np.testing.assert_array_equal(file["labels"], model.labels_)
        np.testing.assert_array_equal(file["outlier_scores"], model.outlier_scores_)
        np.testing.assert_array_equal(file["persistence"], model.cluster_persistence_)
        assert (
            "max_cluster_size 300 allow_single_cluster" in file.attrs["rule"].decode()
        )
    np.save(points, np.zeros((1, 2)))
    run = mndmst("hdbscan", points, "-o", clusters)
    assert run.returncode == 0 and "clusters=0 noise=1" in run.stdout, run.stderr
    assert "larger than the data (1 point)" in run.stderr
    run = mndmst("hdbscan", points, "--min-samples", 3, "-o", clusters)
    assert run.returncode != 0 and "(3) must be at most" in run.stderr
    run = mndmst("hdbscan", points, "--cluster-selection-epsilon-max", -1)
    assert run.returncode == 2 and "'-1' is not a number from 0 on" in run.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"algorithm": "quick"}, "no algorithm 'quick'"),
        ({"algorithm": "kd_tree", "metric": "hamming"}, "valid metric for a KDTree"),
        ({"algorithm": "ball_tree", "metric": "cosine"}, "valid metric for a BallTree"),
    ],
)
def test_algorithms_refuse_what_the_other_packages_refuse(options, text) -> None:
    with pytest.raises(ValueError, match=text):
        mndmst.HDBSCAN(**options).fit(example_points("blobs", 60))


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_masked_values_are_not_taken_for_numbers(metric: str) -> None:
    masked = np.ma.masked_array(np.ones((4, 4)), mask=np.eye(4, dtype=bool))
    with pytest.raises(ValueError, match="X has masked values"):
        mndmst.HDBSCAN(2, metric=metric).fit(masked)
    columns = 5 if metric == "euclidean" else 4
    nothing = np.ma.masked_array(np.ones((4, columns)) - np.eye(4, columns), mask=False)
    assert mndmst.HDBSCAN(2, metric=metric).fit(nothing).labels_.tolist() == [-1] * 4


def test_times_are_not_taken_for_numbers() -> None:
    days = np.array([["2020-01-01"], ["2020-01-03"]], "M8[D]")
    with pytest.raises(ValueError, match=r"X: has datetime64\[D\]"):
        mndmst.HDBSCAN(2).fit(days)
    with pytest.raises(ValueError, match="X: point 0 has a time"):
        mndmst.HDBSCAN(2).fit(np.array([[days[0, 0]], [days[1, 0]]], object))
    seconds = np.ones((3, 3), "m8[s]") - np.eye(3).astype("m8[s]")
    with pytest.raises(ValueError, match=r"X: has timedelta64\[s\]"):
        mndmst.HDBSCAN(2, metric="precomputed").fit(seconds)


def test_warnings_name_the_line_that_calls() -> None:
    points = example_points("blobs", 20)
    square = squareform(pdist(points))
    calls = [
        (lambda: mndmst.HDBSCAN(21).fit(points), "larger than the data"),
        (lambda: mndmst.HDBSCAN(21).fit_predict(points), "larger than the data"),
        (lambda: mndmst.HDBSCAN(5, leaf_size=9).fit(points), "leaf_size changes no"),
        (lambda: mndmst.HDBSCAN(5).fit(square), "metric='precomputed'"),
    ]
    for call, message in calls:
        with pytest.warns(UserWarning, match=message) as told:
            call()
        assert [Path(warning.filename).name for warning in told] == [
            Path(__file__).name
        ]


PAGE = Path(mndmst.__file__).parent / "docs/from-hdbscan-and-scikit-learn.md"


def test_the_command_has_every_parameter_or_the_page_says_why_not() -> None:
    command = dict(commands(parser()))["hdbscan"]
    options = {action.dest for action in command._actions if action.help}
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    excused = set()
    for row in rows:
        name, meaning = row.split(" | ", 1)
        if meaning.startswith(("in Python alone", "accepted without effect")):
            excused |= set(re.findall(r"`(\w+)`", name))
    parameters = set(mndmst.HDBSCAN().get_params())
    assert parameters - options == excused & parameters - options
    assert excused <= parameters
    documented = set(re.findall(r"`(\w+)[=`]", "\n".join(rows)))
    assert parameters - {"search", "approximate"} <= documented | options


def test_the_file_has_every_result_and_the_page_names_it(
    mndmst, tmp_path: Path
) -> None:
    from mndmst import HDBSCAN

    points, name = tmp_path / "points.npy", tmp_path / "clusters.h5"
    np.save(points, example_points("rings", 300))
    forest = tmp_path / "forest.h5"
    run = mndmst("hdbscan", points, "-o", name, "--forest", forest)
    assert run.returncode == 0, run.stderr
    model = HDBSCAN(store_centers="both").fit(np.load(points))
    results = {n for n in dir(model) if n.endswith("_") and not n.startswith("_")}
    in_python = {"centroids_", "medoids_", "n_features_in_", "exact_"}
    in_python |= {"ids_", "cluster_numbers_", "events_", "version_"}
    with h5py.File(name) as file, h5py.File(forest) as edges:
        stored = {
            "labels_": file["labels"][:],
            "probabilities_": file["probabilities"][:],
            "outlier_scores_": file["outlier_scores"][:],
            "cluster_persistence_": file["persistence"][:],
            "linkage_": file["linkage"][:],
            "relative_validity_": file.attrs["relative_validity"],
            "exemplars_": model._points[file["exemplars"][:]],
            "condensed_tree_": file["condensed/lambda"][:],
            "single_linkage_tree_": file["linkage"][:],
            "minimum_spanning_tree_": edges["forest/weight"][:],
            "forest_": edges["forest/weight"][:],
        }
    assert set(stored) == results - in_python
    expected = {
        **{
            n: getattr(model, n) for n in stored if not n.endswith(("tree_", "forest_"))
        },
        "exemplars_": np.concatenate(model.exemplars_),
        "condensed_tree_": model._fitted().tree.scale,
        "single_linkage_tree_": model.single_linkage_tree_.to_numpy(),
        "minimum_spanning_tree_": model.forest_.weight,
        "forest_": model.forest_.weight,
    }
    for result, value in expected.items():
        np.testing.assert_array_equal(stored[result], value, err_msg=result)
    text = PAGE.read_text()
    assert [n for n in results - {"n_features_in_"} if f"`{n}`" not in text] == []
    files = PAGE.with_name("files.md").read_text()
    assert "`exemplars`" in files and "`relative_validity`" in files


def blobs(*centres):
    random = np.random.default_rng(4)
    return np.concatenate([random.normal(c, 0.3, (40, 2)) for c in centres])


def test_attributes_follow_the_points():
    given = blobs(0, 5, 10)
    model = mndmst.HDBSCAN(min_cluster_size=8).fit(given)
    new = blobs(15)
    assert model.insert(new).tolist() == list(range(120, 160))
    model.remove(range(40))
    fresh = mndmst.HDBSCAN(min_cluster_size=8).fit(np.append(given[40:], new, axis=0))
    assert (model.version_, model.ids_.tolist()) == (2, list(range(40, 160)))
    assert model.cluster_numbers_.tolist() == [1, 2, 3]
    labels = np.append(model.cluster_numbers_, -1)[fresh.labels_]
    assert np.array_equal(model.labels_, labels)
    for name in ("probabilities_", "outlier_scores_", "linkage_"):
        assert np.array_equal(getattr(model, name), getattr(fresh, name))
    changes = [(event.version, event.kind, event.old, event.new)
               for event in model.events_]  # fmt: skip
    assert changes == [(1, "born", (), (3,)), (2, "died", (0,), ())]
    assert model.predict([[15, 15], [5, 5]]).tolist() == [3, 1]
    centre = model.weighted_cluster_centroid(3)
    assert np.array_equal(centre, fresh.weighted_cluster_centroid(2))
    with pytest.raises(ConfigError, match="no cluster 0"):
        model.weighted_cluster_centroid(0)


def test_one_batch_removes_and_inserts_with_ids_of_the_user():
    model = mndmst.HDBSCAN(min_cluster_size=3).fit(blobs(0, 5), ids=range(100, 180))
    given = model.update(insert=[[0, 0], [5, 5]], ids=[7, 9], remove=[100, 179])
    assert given.tolist() == [7, 9]
    assert model.ids_.tolist() == [*range(101, 179), 7, 9]
    assert model.version_ == 1
    model.fit(blobs(0))
    assert (model.version_, model.events_) == (0, [])


def test_points_may_become_few_or_none():
    model = mndmst.HDBSCAN(min_cluster_size=5).fit(blobs(0, 5))
    model.remove(model.ids_)
    assert len(model.labels_) == len(model.cluster_persistence_) == 0
    assert len(model.forest_) == 0
    model.insert([[1, 2]])
    assert model.labels_.tolist() == [-1]
    model.insert(blobs(0, 5))
    assert np.unique(model.labels_[1:]).tolist() == [2, 3]


def test_min_samples_and_cluster_size_may_change_with_a_batch():
    given = blobs(0, 5, 10)
    model = mndmst.HDBSCAN(min_cluster_size=8, min_samples=3).fit(given[1:])
    model.set_params(min_cluster_size=12, min_samples=5).insert(given[:1])
    fresh = mndmst.HDBSCAN(min_cluster_size=12, min_samples=5)
    fresh.fit(np.roll(given, -1, axis=0))
    assert np.array_equal(model.linkage_, fresh.linkage_)
    assert np.array_equal(model.probabilities_, fresh.probabilities_)


@pytest.mark.parametrize(
    ("changes", "searches"),
    [
        ({"min_cluster_size": 20}, 0),
        ({"cluster_selection_method": "leaf", "cluster_selection_epsilon": 0.3}, 0),
        ({"allow_single_cluster": True, "max_cluster_size": 90}, 0),
        ({"min_samples": 6}, 1),
        ({"min_samples": None}, 1),  # so it is `min_cluster_size`
    ],
)
def test_other_parameters_make_the_next_version_of_the_same_points(
    changes, searches, monkeypatch
):
    given = np.append(blobs(0, 5, 10), blobs(0)[:15] + 20, axis=0)
    model = mndmst.HDBSCAN(min_cluster_size=8, min_samples=3).fit(given[1:])
    model.insert(given[:1])
    first = model.labels_
    made = []
    search = point_version.metric_forest
    monkeypatch.setattr(
        point_version,
        "metric_forest",
        lambda *a, **k: made.append(1) or search(*a, **k),
    )
    assert np.array_equal(model.set_params(**changes).labels_, first)
    assert model.update().tolist() == []
    assert len(made) == searches
    assert (model.version_, len(model.ids_)) == (2, len(given))
    fresh = mndmst.HDBSCAN(**model.get_params()).fit(np.roll(given, -1, axis=0))
    numbers = np.append(model.cluster_numbers_, -1)
    assert np.array_equal(model.labels_, numbers[fresh.labels_])
    assert np.array_equal(model.linkage_, fresh.linkage_)
    assert np.array_equal(model.probabilities_, fresh.probabilities_)


@pytest.mark.parametrize("seed", range(4))
def test_numbers_and_events_depend_on_no_order_of_rows_or_ids(seed):
    """The same points with the same ids come and go in two orders."""
    random = np.random.default_rng(seed)
    one, other = (mndmst.HDBSCAN(min_cluster_size=4, min_samples=2) for _ in range(2))
    given, ids, rows = random.integers(0, 9, (90, 2)), np.arange(90), np.arange(90)
    random.shuffle(rows)
    one.fit(given, ids=ids)
    other.fit(given[rows], ids=ids[rows])
    # The labels of a fit are counted by smallest rows
    first = dict(zip(one.labels_[rows].tolist(), other.labels_.tolist(), strict=True))
    for version in range(1, 6):
        new, rows = random.integers(0, 12, (25, 2)), random.permutation(25)
        ids = 100 * version + random.permutation(25)
        gone = random.choice(one.ids_, 25, replace=False)
        one.update(new, ids, gone)
        other.update(new[rows], ids[rows], random.permutation(gone))

    def numbers(model, names):
        labels = model.labels_[np.argsort(model.ids_)].tolist()
        return [names.get(label, label) for label in labels]

    def changes(model, names):
        def named(numbers, sizes):
            return frozenset(
                zip([names.get(n, n) for n in numbers], sizes, strict=True)
            )

        return {
            (e.version, e.kind, named(e.old, e.old_sizes), named(e.new, e.new_sizes))
            for e in model.events_
        }

    assert numbers(one, first) == numbers(other, {})
    assert len(one.events_) > 4
    assert changes(one, first) == changes(other, {})


def test_a_smaller_cluster_size_splits_and_a_larger_one_ends_clusters():
    given = np.append(blobs(0, 5, 10), blobs(0)[:15] + 20, axis=0)
    model = mndmst.HDBSCAN(min_cluster_size=10, min_samples=3).fit(given)
    model.set_params(min_cluster_size=20).update()
    model.set_params(min_cluster_size=10).update()
    changes = [(e.version, e.kind, e.old, e.new) for e in model.events_]
    assert changes == [(1, "died", (3,), ()), (2, "born", (), (4,))]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"metric": "manhattan"}, "metric changed since fit, and clusters follow"),
        ({"p": 4}, "a parameter of the metric changed since fit"),
        ({"approximate": True}, "approximate forests do not follow"),
        ({"alpha": 2.0}, "alpha changed since fit"),
        ({"min_samples": 80}, r"min_samples \(80\) must be at most"),
        ({"min_cluster_size": 1}, "min_cluster_size 1: give at least 2"),
    ],
)
def test_a_version_under_wrong_parameters_changes_nothing(changes, sentence):
    model = mndmst.HDBSCAN(min_cluster_size=8, metric="minkowski", p=3)
    labels = model.fit(blobs(0, 5)).labels_
    with pytest.raises(ConfigError, match=sentence):
        model.set_params(**changes).update()
    assert model.labels_ is labels
    assert model.version_ == 0


@pytest.mark.parametrize(
    ("options", "batch", "sentence"),
    [
        ({}, {"remove": [99]}, "remove: id 99 is not one of the present points"),
        ({}, {"insert": [[np.nan, 0]]}, "insert: point 0 has a coordinate that is NaN"),
        ({}, {"insert": [[0, 0]], "ids": [3]}, "ids: id 3 was given before"),
        ({"approximate": True}, {"insert": [[0, 0]]}, "approximate forests do not"),
        ({"metric": "precomputed"}, {"remove": [0]}, "precomputed distances have no"),
    ],
)
def test_a_refused_batch_changes_no_attribute(options, batch, sentence):
    points = blobs(0, 5)
    if options.get("metric") == "precomputed":
        points = np.abs(points[:, :1] - points[:, :1].T)
    model = mndmst.HDBSCAN(min_cluster_size=8, **options).fit(points)
    labels = model.labels_
    with pytest.raises((InputError, ConfigError), match=sentence):
        model.update(**batch)
    assert model.labels_ is labels
    assert (model.version_, model.ids_.tolist()) == (0, list(range(80)))


def test_a_fit_takes_few_bytes_beyond_the_points_and_their_forest(monkeypatch):
    """The tree of clusters and labels have 40; copies of labels, and ids, none."""
    count = 300_000
    r = np.random.default_rng(3)
    point = np.arange(count)
    forest = Forest(
        point[:-1], point[1:], r.random(count - 1), np.zeros(count, np.int64)
    )
    made = PointForest(forest, count - 1, True)
    monkeypatch.setattr(estimator, "metric_forest", lambda *given, **options: made)
    points = r.random((count, 2), np.float32)
    mndmst.HDBSCAN(min_cluster_size=50).fit(points)
    tracemalloc.start()
    try:
        fitted = mndmst.HDBSCAN(min_cluster_size=50).fit(points)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 48 * count
    np.testing.assert_array_equal(fitted.ids_, point)
