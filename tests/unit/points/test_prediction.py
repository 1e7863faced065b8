"""New points get the labels of clusters that are there, as from hdbscan."""

import os
import signal
import warnings
from collections.abc import Iterator
from threading import Thread, current_thread, main_thread

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import mndmst
from mndmst.kernels.threads import Threads
from mndmst.native.kernel import Kernel
from mndmst.points.clusters import training_search
from mndmst.points.clusters.prediction import FIRST, TrainingPoints
from mndmst.points.point_files import example_points
from mndmst.points.search.product_search import COLUMNS, ROWS, HostProducts

hdbscan = pytest.importorskip("hdbscan", reason="needs hdbscan")


def clouds(dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points to fit, and new points around them."""
    generator = np.random.default_rng(dimensions)
    points = generator.normal(size=(400, dimensions))
    new = 2 * generator.normal(size=(250, dimensions))
    return (
        points + 6 * generator.integers(0, 3, (400, 1)),
        new + 6 * generator.integers(0, 3, (250, 1)),
    )


@pytest.mark.parametrize("options", [{}, {"cluster_selection_method": "leaf"}])
@pytest.mark.parametrize("dimensions", [2, 6])
def test_labels_and_memberships_are_those_of_hdbscan(dimensions: int, options) -> None:
    points, new = clouds(dimensions)
    ours = mndmst.HDBSCAN(20, 1, **options).fit(points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = hdbscan.HDBSCAN(
            20, 1, algorithm="prims_kdtree", prediction_data=True, **options
        ).fit(points)
        expected, _ = hdbscan.approximate_predict(theirs, new)
        memberships = hdbscan.all_points_membership_vectors(theirs)
    count = int(ours.labels_.max()) + 1
    names = [int(theirs.labels_[ours.labels_ == label][0]) for label in range(count)]
    labels = np.array([*names, -1])[ours.predict(new)]
    # hdbscan counts one more neighbour of a new point, so some leave clusters earlier.
    assert (labels[expected >= 0] == expected[expected >= 0]).all()
    assert (labels == expected).mean() > 0.95
    found = ours.all_points_membership_vectors()
    np.testing.assert_allclose(found, memberships[:, names], atol=1e-7)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "correlation",
                                    "chebyshev"])  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"allow_single_cluster": True}])
def test_points_of_the_fit_are_predicted_as_themselves(metric: str, options) -> None:
    points = example_points("blobs", 300) @ np.array([[1.0, 2, 0, 1], [0, 1, 1, 3]]) + 9
    model = mndmst.HDBSCAN(8, 4, metric=metric, **options).fit(points)
    labels, probabilities = model.approximate_predict(points)
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_array_equal(probabilities, model.probabilities_)
    scores = model.approximate_predict_scores(points)
    np.testing.assert_allclose(scores, model.outlier_scores_, atol=1e-12)
    vectors = model.all_points_membership_vectors()
    np.testing.assert_array_equal(model.membership_vector(points), vectors)
    assert (vectors >= 0).all() and vectors.sum(axis=1).max() <= 1 + 1e-12


def test_a_new_point_joins_the_nearest_by_mutual_reachability() -> None:
    """All training points are compared, not the nearest few alone."""
    points, new = clouds(3)
    model = mndmst.HDBSCAN(5, 7).fit(points)
    model.predict(new)
    joined = model._search.value.connect(new)
    distance = cdist(new, points)
    cores = np.sort(cdist(points, points), axis=1)[:, 7]
    own = np.sort(distance, axis=1)[:, 6]
    mutual = np.maximum(np.maximum(distance, cores), own[:, None])
    found = mutual[np.arange(len(new)), joined.neighbour]
    np.testing.assert_allclose(found, mutual.min(axis=1), rtol=1e-12)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("samples", [0, 1, 7, 499])
@pytest.mark.parametrize(
    ("metric", "dimensions", "count"),
    [("manhattan", 2, 500), ("chebyshev", 5, 500), ("euclidean", 40, 2600)],
)
def test_connections_are_those_of_the_definition(
    metric: str, dimensions: int, count: int, samples: int, alpha: float
) -> None:
    """Of small integers, of which many are equal or equally far; all exact."""
    generator = np.random.default_rng(dimensions)
    points = generator.integers(0, 12, (count, dimensions)).astype(np.float64)
    points[count // 2 :][:9] = points[0]
    new = generator.integers(0, 12, (60, dimensions)) + generator.choice(
        [0, 0.5], (60, 1)
    )
    new[:9] = points[:9]
    left = generator.integers(0, 4, count) / 8
    distance = cdist(new, points, metric.replace("manhattan", "cityblock"))
    between = cdist(points, points, metric.replace("manhattan", "cityblock"))
    core = np.sort(distance, axis=1)[:, [samples - 1]] if samples else 0.0
    mutual = np.maximum(distance / alpha, np.sort(between, axis=1)[:, samples])
    mutual = np.maximum(mutual, core)
    equal = (distance == 0).any(axis=1)
    mutual[equal] = np.where(distance[equal] == 0, 0, np.inf)
    least = mutual.min(axis=1)
    first = [
        min(np.flatnonzero(row == low), key=lambda i: (left[i], far[i], i))
        for row, low, far in zip(mutual, least, distance, strict=True)
    ]
    training = TrainingPoints(points, metric, {}, samples, alpha, left)
    joined = training.connect(new)
    np.testing.assert_array_equal(joined.neighbour, first)
    np.testing.assert_allclose(
        joined.distance, np.maximum(least, left[first]), rtol=1e-15
    )


@pytest.mark.parametrize(
    ("dimensions", "kind"), [(3, "_TreeSearch"), (100, "_ProductSearch")]
)
def test_a_few_new_points_need_few_core_distances(dimensions: int, kind: str) -> None:
    """In many dimensions by products, since a tree would be visited whole."""
    generator = np.random.default_rng(1)
    points = generator.normal(size=(3000, dimensions))
    left = np.zeros(3000)
    training = TrainingPoints(points, "cosine", {}, 5, 1.0, left)
    training.connect(generator.normal(size=(3, dimensions)))
    assert type(training.search).__name__ == kind
    assert 0 < np.isfinite(training._cores).sum() <= 3 * (2 * 5 + FIRST)


@pytest.mark.parametrize("count", [3, 60])
def test_products_of_the_fit_search_without_a_choice(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    generator = np.random.default_rng(3)
    points = generator.integers(0, 5, (count, 6)).astype(np.float32) + 1
    new, left = generator.integers(0, 5, (40, 6)) + 1, np.zeros(count)
    chosen = TrainingPoints(points, "cosine", {}, 2, 1.0, left)
    assert type(chosen.search).__name__ == "_TreeSearch"
    monkeypatch.delattr(training_search, "prefers_products")
    known = TrainingPoints(points, "cosine", {}, 2, 1.0, left, fit_search="product")
    assert type(known.search).__name__ == "_ProductSearch"
    for found, expected in zip(
        vars(known.connect(new)).values(),
        vars(chosen.connect(new)).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


def test_predictions_do_not_depend_on_the_order_of_the_points() -> None:
    generator = np.random.default_rng(2)
    points = generator.integers(0, 40, (300, 2)).astype(np.float64)
    new = generator.integers(0, 40, (200, 2)) + generator.choice([0.0, 0.5], (200, 1))
    model = mndmst.HDBSCAN(6, 3).fit(points)
    order = generator.permutation(300)
    again = mndmst.HDBSCAN(6, 3).fit(points[order])
    names = {**dict(zip(again.labels_, model.labels_[order], strict=True)), -1: -1}
    labels, probabilities = again.approximate_predict(new)
    found, expected = model.approximate_predict(new)
    agree = np.array([names[label] for label in labels]) == found
    # Halfway between two clusters a point may be given to either.
    assert agree.mean() > 0.97
    np.testing.assert_allclose(probabilities[agree], expected[agree])


def test_rows_that_are_not_finite_are_noise() -> None:
    points, new = clouds(2)
    points[3], new[:2] = [np.nan, 0], [[np.inf, 0], [np.nan, np.nan]]
    model = mndmst.HDBSCAN(20).fit(points)
    labels, probabilities = model.approximate_predict(new)
    assert labels[:2].tolist() == [-1, -1] and probabilities[:2].tolist() == [0, 0]
    assert model.approximate_predict_scores(new)[:2].tolist() == [1, 1]
    assert not model.membership_vector(new)[:2].any()
    assert not model.all_points_membership_vectors()[3].any()


def test_without_clusters_all_new_points_are_noise() -> None:
    points, new = clouds(2)
    model = mndmst.HDBSCAN(399).fit(points)
    assert set(model.predict(new).tolist()) == {-1}
    assert model.membership_vector(new).shape == (250, 0)
    assert model.all_points_membership_vectors().shape == (400, 0)
    with pytest.warns(UserWarning, match="larger than the data"):
        alone = mndmst.HDBSCAN().fit([[1.0, 2.0]])
    assert alone.predict(new[:3]).tolist() == [-1] * 3


def test_equal_points_have_memberships() -> None:
    points = np.repeat([[0.0, 0], [9, 9], [0, 9]], 10, axis=0)
    model = mndmst.HDBSCAN(5).fit(points)
    vectors = model.all_points_membership_vectors()
    assert np.isfinite(vectors).all()
    np.testing.assert_array_equal(vectors.argmax(axis=1), model.labels_)
    assert model.predict([[0.0, 9.0]]).tolist() == [2]


def test_what_cannot_be_predicted_is_refused() -> None:
    points, new = clouds(2)
    model = mndmst.HDBSCAN(20).fit(points)
    with pytest.raises(ValueError, match=r"3 (features|dimensions)"):
        model.predict(np.ones((2, 3)))
    with pytest.raises(AttributeError, match="call fit first"):
        mndmst.HDBSCAN().predict(new)
    distances = mndmst.HDBSCAN(metric="precomputed").fit(cdist(points, points))
    assert not hasattr(distances, "predict")
    with pytest.raises(ValueError, match="precomputed distances have no points"):
        distances.approximate_predict(new)


@pytest.fixture
def interrupts() -> Iterator[None]:
    """An interrupt raises KeyboardInterrupt, also where a shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_ends_a_prediction_after_one_product_of_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It need not wait for others; one product takes milliseconds."""
    generator = np.random.default_rng(5)
    points = generator.normal(size=(2 * COLUMNS, 384)).astype(np.float32)
    new = generator.normal(size=(2 * ROWS, 384)).astype(np.float32)
    left = np.zeros(len(points))
    training = TrainingPoints(points, "cosine", {}, 5, 1.0, left, fit_search="product")
    multiply, sizes = HostProducts._multiply, []

    def interrupted(products: HostProducts, *given: np.ndarray) -> np.ndarray:
        sizes.append([len(given[0]), len(given[1])])
        if len(sizes) == 2:
            Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
        return multiply(products, *given)

    monkeypatch.setattr(HostProducts, "_multiply", interrupted)
    with pytest.raises(KeyboardInterrupt):
        training.connect(new)
    assert sizes == [[ROWS, COLUMNS]] * 2
    monkeypatch.undo()
    again = TrainingPoints(points, "cosine", {}, 5, 1.0, left, fit_search="product")
    for found, expected in zip(
        vars(training.connect(new[:9])).values(),
        vars(again.connect(new[:9])).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


def test_the_main_thread_can_handle_signals_while_a_tree_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Few queries of many points may take long, too, if most leaves are visited."""
    generator = np.random.default_rng(2)
    points = generator.normal(size=(500, 3))
    training = TrainingPoints(points, "manhattan", {}, 5, 1.0, np.zeros(500))
    run, used = Threads.run, []

    def recorded(threads: Threads, kernel: Kernel, *arguments: object) -> object:
        used.append(current_thread())
        return run(threads, kernel, *arguments)

    monkeypatch.setattr(Threads, "run", recorded)
    training.connect(generator.normal(size=(3, 3)))
    assert used and main_thread() not in used
