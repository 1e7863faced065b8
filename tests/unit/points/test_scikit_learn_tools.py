"""Tools of scikit-learn take the estimator: clones, pipelines, grid search, pickles."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import mndmst
from mndmst.points.point_files import example_points

base = pytest.importorskip("sklearn.base", reason="needs scikit-learn")
checks = pytest.importorskip("sklearn.utils.estimator_checks")
selection = pytest.importorskip("sklearn.model_selection")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")

POINTS, NEW = example_points("blobs", 200), example_points("blobs", 40, seed=3)
PROFILES = np.random.default_rng(0).integers(0, 4, (80, 9)).astype(float)

MODELS = {
    "default": {},
    "cosine": {"metric": "cosine"},
    "minkowski": {"metric": "minkowski", "p": 3, "metric_params": {"w": [1.0, 2.0]}},
    "seuclidean": {"metric": "seuclidean", "V": [1.0, 2.0]},
    "hamming": {"metric": "hamming", "metric_params": {"missing": 0}},
    "alpha": {"alpha": 1.3},
    "codes": {"non_finite": "codes", "store_centers": "both"},
    "noise at once": {"min_cluster_size": 150},
    "one cluster": {"allow_single_cluster": True},
}


def predictions(model: mndmst.HDBSCAN, new: np.ndarray) -> list[np.ndarray]:
    """Return all that a fitted model says of its points and of new ones."""
    return [
        model.labels_,
        model.probabilities_,
        model.outlier_scores_,
        *model.approximate_predict(new),
        model.approximate_predict_scores(new),
        model.membership_vector(new),
        model.all_points_membership_vectors(),
        *model.exemplars_,
    ]


def assert_equal(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "copied", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy]
)
def test_copies_of_fitted_models_predict(name: str, copied: Callable) -> None:
    points, new = (PROFILES, PROFILES[:9]) if name == "hamming" else (POINTS, NEW)
    if name == "codes":
        points = np.concatenate([points, [[np.nan, 1]]])
    model = mndmst.HDBSCAN(**{"min_cluster_size": 9, **MODELS[name]}).fit(points)
    before = copied(model)  # with nothing that predictions compute on first use
    expected = predictions(model, new)
    assert_equal(predictions(before, new), expected)
    assert_equal(predictions(copied(model), new), expected)
    assert_equal(predictions(copied(before), new), expected)


@pytest.mark.parametrize("name", MODELS)
def test_clones_have_the_parameters_and_no_results(name: str) -> None:
    model = mndmst.HDBSCAN(**{"min_cluster_size": 9, **MODELS[name]})
    points = PROFILES if name == "hamming" else POINTS
    fitted = base.clone(model).fit(points)
    clone = base.clone(fitted)
    assert clone.get_params() == model.get_params() == fitted.get_params()
    assert not hasattr(clone, "labels_") and "_clusters" not in vars(clone)
    np.testing.assert_array_equal(clone.fit_predict(points), fitted.labels_)


def test_parameters_that_are_set_after_the_fit_wait_for_the_next() -> None:
    model = mndmst.HDBSCAN(9).fit(POINTS)
    expected = predictions(mndmst.HDBSCAN(9).fit(POINTS), NEW)
    model.set_params(
        metric="manhattan", cluster_selection_epsilon=3.0, min_samples=2, alpha=2.0
    )
    assert_equal(predictions(model, NEW), expected)
    assert model.fit(POINTS).linkage_[:, 2].max() > 0
    assert not np.array_equal(model.membership_vector(NEW), expected[6])


def test_pipelines_fit_predict_and_are_pickled() -> None:
    scaler = preprocessing.StandardScaler().fit(POINTS)
    alone = mndmst.HDBSCAN(9).fit(scaler.transform(POINTS))
    steps = pipeline.make_pipeline(preprocessing.StandardScaler(), mndmst.HDBSCAN(9))
    np.testing.assert_array_equal(steps.fit_predict(POINTS), alone.labels_)
    expected = alone.predict(scaler.transform(NEW))
    np.testing.assert_array_equal(steps.predict(NEW), expected)
    again = pickle.loads(pickle.dumps(steps))
    np.testing.assert_array_equal(again.predict(NEW), expected)
    pandas = pytest.importorskip("pandas")
    steps.set_output(transform="pandas")
    steps.fit(pandas.DataFrame(POINTS, columns=["lon", "lat"]))
    assert steps[-1].feature_names_in_.tolist() == ["lon", "lat"]
    with pytest.raises(ValueError, match="feature names"):
        steps.predict(pandas.DataFrame(NEW, columns=["lat", "lon"]))


def test_grid_search_takes_the_best_and_predicts() -> None:
    known = mndmst.HDBSCAN(9).fit_predict(POINTS)
    steps = pipeline.make_pipeline(preprocessing.StandardScaler(), mndmst.HDBSCAN())
    grid = {
        "hdbscan__min_cluster_size": [5, 60],
        "hdbscan__metric": ["euclidean", "manhattan"],
    }
    search = selection.GridSearchCV(
        steps, grid, scoring="adjusted_rand_score", cv=3, error_score="raise"
    ).fit(POINTS, known)
    assert search.best_params_["hdbscan__min_cluster_size"] == 5
    assert 0.5 < search.best_score_ <= 1
    best = base.clone(steps).set_params(**search.best_params_).fit(POINTS)
    np.testing.assert_array_equal(search.predict(NEW), best.predict(NEW))


def test_grid_search_works_in_other_processes() -> None:
    found = [
        selection.GridSearchCV(
            mndmst.HDBSCAN(),
            {"min_cluster_size": [5, 9]},
            scoring=_validity,
            cv=2,
            n_jobs=jobs,
            error_score="raise",
        ).fit(POINTS)
        for jobs in (1, 2)
    ]
    one, other = (search.cv_results_["mean_test_score"] for search in found)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found[0].predict(NEW), found[1].predict(NEW))


def _validity(model: mndmst.HDBSCAN, points: np.ndarray, y: object = None) -> float:
    return model.relative_validity_


def test_folds_of_precomputed_distances_take_rows_and_columns() -> None:
    folds = selection.KFold(3)
    search = selection.GridSearchCV(
        mndmst.HDBSCAN(metric="precomputed"),
        {"min_cluster_size": [5, 9]},
        scoring=_validity,
        cv=folds,
        error_score="raise",
    ).fit(squareform(pdist(POINTS)))
    rows, _ = next(folds.split(POINTS))
    by_points = mndmst.HDBSCAN(9).fit(POINTS[rows])
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(
        by_points.relative_validity_, rel=1e-12
    )


def test_the_checks_of_scikit_learn_pass() -> None:
    results = checks.check_estimator(mndmst.HDBSCAN(), on_skip=None, on_fail="raise")
    assert len(results) > 30
    model = mndmst.HDBSCAN(non_finite="error")
    checks.check_estimators_nan_inf("HDBSCAN", model)
    assert not model.__sklearn_tags__().input_tags.allow_nan


@pytest.mark.filterwarnings("ignore:min_cluster_size:UserWarning")
def test_the_checks_of_scikit_learn_pass_with_distances() -> None:
    reasons = {
        "check_clustering": "its data are points",
        "check_estimators_nan_inf": "an infinite distance is a missing one",
    }
    checks.check_estimator(
        mndmst.HDBSCAN(metric="precomputed"),
        expected_failed_checks=reasons,
        on_skip=None,
        on_fail="raise",
    )


def test_distances_alone_predict_nothing() -> None:
    distances = squareform(pdist(POINTS))
    model = mndmst.HDBSCAN(metric="precomputed").fit(distances)
    assert not hasattr(model, "predict") and hasattr(mndmst.HDBSCAN(), "predict")
    with pytest.raises(ValueError, match="no points, so nothing can be predicted"):
        model.approximate_predict(distances)


@pytest.mark.parametrize("copied", [False, True])
def test_a_copy_keeps_predictions_of_an_array_that_changes(copied: bool) -> None:
    points = POINTS.copy()
    expected = predictions(mndmst.HDBSCAN(9).fit(POINTS), NEW)
    model = mndmst.HDBSCAN(9, copy=copied).fit(points)
    points[:] = 0
    assert np.array_equal(model.predict(NEW), expected[3]) == copied
