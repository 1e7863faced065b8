"""Noise points in the cluster of their largest membership, on request."""

from pathlib import Path

import numpy as np
import pytest

import mndmst
from mndmst.__main__ import main


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    """Two clouds, and points far from both."""
    draw = np.random.default_rng(3)
    clouds = [draw.normal(center, 1, (120, 2)) for center in (0, 12)]
    return np.concatenate([*clouds, draw.uniform(-30, 40, (60, 2))])


@pytest.fixture(scope="module")
def kept(points: np.ndarray) -> mndmst.HDBSCAN:
    return mndmst.HDBSCAN(20, 5).fit(points)


@pytest.fixture(scope="module")
def nearest(points: np.ndarray) -> mndmst.HDBSCAN:
    return mndmst.HDBSCAN(20, 5, noise="nearest").fit(points)


def test_noise_gets_its_largest_membership_and_others_keep_theirs(
    kept: mndmst.HDBSCAN, nearest: mndmst.HDBSCAN
) -> None:
    noise = kept.labels_ < 0
    memberships = kept.all_points_membership_vectors()[noise]
    assert noise.sum() > 0 and len(memberships[0]) == 2
    assert (nearest.labels_[noise] == memberships.argmax(axis=1)).all()
    assert (nearest.probabilities_[noise] == memberships.max(axis=1)).all()
    assert (nearest.labels_[~noise] == kept.labels_[~noise]).all()
    assert (nearest.probabilities_[~noise] == kept.probabilities_[~noise]).all()


def test_other_results_are_those_of_the_clusters(
    kept: mndmst.HDBSCAN, nearest: mndmst.HDBSCAN
) -> None:
    assert nearest.relative_validity_ == kept.relative_validity_
    for ours, theirs in zip(nearest.exemplars_, kept.exemplars_, strict=True):
        assert np.array_equal(ours, theirs)
    centroids = (m.weighted_cluster_centroid(1) for m in (nearest, kept))
    assert np.array_equal(*centroids)
    assert np.array_equal(
        nearest.all_points_membership_vectors(), kept.all_points_membership_vectors()
    )


def test_predictions_have_no_noise_either(
    points: np.ndarray, kept: mndmst.HDBSCAN, nearest: mndmst.HDBSCAN
) -> None:
    labels, probabilities = nearest.approximate_predict(points)
    assert (labels == nearest.labels_).all()
    np.testing.assert_allclose(probabilities, nearest.probabilities_, atol=1e-12)
    far = [[500.0, 500.0], [-500.0, -500.0]]
    assert kept.predict(far).tolist() == [-1, -1]
    assert nearest.predict(far).tolist() == kept.predict(points[[120, 0]]).tolist()


def test_rows_that_are_not_finite_stay_noise(points: np.ndarray) -> None:
    given = points.copy()
    given[[0, 1]] = [[np.nan, 0], [np.inf, 0]]
    model = mndmst.HDBSCAN(20, 5, noise="nearest", non_finite="codes").fit(given)
    assert model.labels_[:2].tolist() == [-3, -2]
    assert model.labels_[2:].min() == 0


def test_all_points_are_noise_where_there_is_no_cluster() -> None:
    few = np.random.default_rng(1).random((8, 2))
    assert set(mndmst.HDBSCAN(5, noise="nearest").fit(few).labels_) == {-1}


def test_points_that_have_no_membership_take_the_nearest_exemplar() -> None:
    copies = np.repeat([0.0, 1.0], 10)[:, None]  # leave at distance 0: no ratio
    given = np.concatenate([copies, [[40.0], [-20.0]]])
    kept = mndmst.HDBSCAN(5, 3).fit(given)
    assert kept.labels_[-2:].tolist() == [-1, -1]
    assert not kept.all_points_membership_vectors()[-2:].any()
    model = mndmst.HDBSCAN(5, 3, noise="nearest").fit(given)
    assert model.labels_[-2:].tolist() == model.labels_[[10, 0]].tolist()
    assert model.probabilities_[-2:].tolist() == [0, 0]


def test_the_command_writes_the_labels_of_python(
    tmp_path: Path, points: np.ndarray, nearest: mndmst.HDBSCAN
) -> None:
    np.save(tmp_path / "p.npy", points)
    words = f"hdbscan {tmp_path}/p.npy --min-cluster-size 20 --min-samples 5 -q"
    assert main([*words.split(), "--noise", "nearest", "-o", f"{tmp_path}/l.csv"]) == 0
    table = np.loadtxt(tmp_path / "l.csv", delimiter=",", skiprows=1)
    assert (table[:, 1] == nearest.labels_).all()
    assert (table[:, 2] == nearest.probabilities_).all()


@pytest.mark.parametrize("metric", ["euclidean", "canberra"])
def test_predict_writes_the_labels_of_python(
    tmp_path: Path, points: np.ndarray, metric: str
) -> None:
    new = np.random.default_rng(5).uniform(-40, 50, (80, 2))
    for name, given in (("old", points), ("new", new)):
        np.save(tmp_path / f"{name}.npy", given)
    words = f"hdbscan {tmp_path}/old.npy --min-cluster-size 20 --min-samples 5 -q"
    words += f" --metric {metric} --prediction-data -o {tmp_path}/model.h5"
    assert main(words.split()) == 0
    model = mndmst.HDBSCAN(20, 5, metric=metric).fit(points)
    assert (model.predict(new) < 0).any()
    for noise in ("keep", "nearest"):
        words = f"predict {tmp_path}/model.h5 {tmp_path}/new.npy -q --noise {noise}"
        assert main([*words.split(), "-o", f"{tmp_path}/{noise}.csv"]) == 0
        table = np.loadtxt(tmp_path / f"{noise}.csv", delimiter=",", skiprows=1)
        expected = mndmst.HDBSCAN(20, 5, metric=metric, noise=noise).fit(points)
        labels, probabilities = expected.approximate_predict(new)
        assert (table[:, 1] == labels).all() and (table[:, 2] == probabilities).all()


def test_points_are_needed(
    tmp_path: Path, points: np.ndarray, capsys: pytest.CaptureFixture
) -> None:
    distances = np.abs(points[:, :1] - points[:, 0])
    model = mndmst.HDBSCAN(20, metric="precomputed", noise="nearest")
    with pytest.raises(mndmst.ConfigError, match="distances have no points"):
        model.fit(distances)
    np.save(tmp_path / "d.npy", distances)
    words = f"hdbscan {tmp_path}/d.npy --metric precomputed --noise nearest"
    assert main(words.split()) == 1
    assert "distances have no points" in capsys.readouterr().err


def test_prediction_data_are_of_the_clusters_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    words = f"hdbscan rings --noise nearest --prediction-data -o {tmp_path}/c.h5"
    assert main(words.split()) == 1
    assert "leave one out" in capsys.readouterr().err


def test_scripts_for_hdbscan_run(points: np.ndarray, kept: mndmst.HDBSCAN) -> None:
    kept.generate_prediction_data()
    labels, probabilities = mndmst.approximate_predict(kept, points[:5])
    assert (labels == kept.labels_[:5]).all()
    assert (probabilities == kept.probabilities_[:5]).all()
    with pytest.raises(mndmst.InputError, match="model"):
        mndmst.approximate_predict(points, points)
