"""Metrics that compare all pairs: a periodic box, and profiles with missing alleles."""

from pathlib import Path

import h5py
import numpy as np
import pytest

import mndmst
from mndmst.__main__ import main as run_command
from mndmst.cli.main import main
from mndmst.host.errors import ConfigError, InputError
from mndmst.io.file_access import write_attributes
from mndmst.io.results.forest_file import read_forest
from mndmst.points.certificate.point_certificate import verify_points
from mndmst.points.pairwise_forest import metric_forest, rows_of
from mndmst.points.point_files import uuid_of
from mndmst.points.row_metrics import PERIODIC, ROW_METRICS


def profiles(rows: int = 40, columns: int = 300) -> np.ndarray:
    rng = np.random.default_rng(5)
    roots = rng.integers(1, 9, (4, columns))
    found = roots[rng.integers(0, 4, rows)]
    changed = rng.random(found.shape) < 0.1
    found[changed] = rng.integers(9, 400, changed.sum())
    found[rng.random(found.shape) < 0.1] = 0
    found[3] = 0  # no allele at all
    return found.astype(np.float64)


def hamming(a: np.ndarray, b: np.ndarray, rule: str) -> float:
    """Return the distance column by column, in plain Python."""
    differing = compared = 0
    for one, other in zip(a.tolist(), b.tolist(), strict=True):
        if one == 0 or other == 0:
            compared += rule != "ignore"
            differing += rule == "differ"
        else:
            compared += 1
            differing += one != other
    return differing / compared if compared else 1.0


@pytest.mark.parametrize("rule", ["ignore", "equal", "differ"])
def test_missing_alleles_count_by_the_rule(rule: str) -> None:
    points = profiles()
    rows = rows_of(points, "hamming", {"missing": 0, "missing_rule": rule})
    for i in range(len(points)):
        expected = [hamming(points[i], other, rule) for other in points]
        expected[i] = 0.0
        assert rows.row(i).tolist() == expected


@pytest.mark.parametrize("metric", ["hamming", "jaccard"])
def test_without_missing_entries_distances_are_those_of_scipy(metric: str) -> None:
    distance = pytest.importorskip("scipy.spatial.distance")
    points = np.random.default_rng(2).integers(0, 3, (30, 700)).astype(np.float64)
    points[4] = 0
    given = points != 0 if metric == "jaccard" else points
    expected = distance.cdist(given, given, metric)
    rows = rows_of(points, metric, {})
    assert np.array_equal([rows.row(i) for i in range(30)], expected)


def test_jaccard_leaves_missing_entries_out() -> None:
    points = np.array([[1.0, 1, 0, 9], [1, 0, 9, 1], [9, 9, 9, 0], [0, 0, 0, 0]])
    rows = rows_of(points, "jaccard", {"missing": 9})
    assert rows.row(0).tolist() == [0, 1 / 2, 1, 1]
    assert rows.row(2)[3] == 0


def test_a_periodic_box_measures_around_its_sides() -> None:
    rng = np.random.default_rng(1)
    points, box = rng.random((60, 3)) * [1, 2, 5], np.array([1.0, 0, 5])
    rows = rows_of(points, "euclidean", {"boxsize": box})
    shifts = np.array([[x, 0, z] for x in (-1, 0, 1) for z in (-5, 0, 5)], float)
    for i in range(60):
        images = points[None, :, :] + shifts[:, None, :]
        expected = np.linalg.norm(images - points[i], axis=2).min(axis=0)
        assert rows.row(i) == pytest.approx(expected, abs=1e-12)


def test_clusters_go_through_the_sides_of_the_box() -> None:
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(c, 0.02, (80, 2)) for c in (0.0, 0.5)]) % 1
    plain = mndmst.HDBSCAN(10).fit(points)
    around = mndmst.HDBSCAN(10, metric_params={"boxsize": 1.0}).fit(points)
    assert around.labels_[around.labels_ >= 0].max() == 1 < plain.labels_.max()
    assert around.predict([[0.999, 0.001], [0.001, 0.999]]).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        (("euclidean", {"boxsize": [1, 2]}), ConfigError, "2 numbers for 3 dim"),
        (("euclidean", {"boxsize": 0.5}), InputError, "outside the periodic box"),
        (("manhattan", {"boxsize": 1}), ConfigError, "goes with the metric euclidean"),
        (("euclidean", {"missing": 1}), ConfigError, "goes with the metric hamming"),
        (("hamming", {"missing": np.nan}), ConfigError, "fill missing entries"),
        (("hamming", {"missing_rule": "x"}), ConfigError, "give ignore, equal"),
        (("periodic", {}), ConfigError, "needs its boxsize"),
    ],
)
def test_other_parameters_are_refused(parameters, error, text) -> None:
    with pytest.raises(error, match=text):
        rows_of(np.ones((4, 3)), *parameters)


CASES = {
    "ignore": ("--metric", "hamming", "--missing", "0"),
    "differ": ("--metric", "hamming", "--missing", "0", "--missing-rule", "differ"),
    "jaccard": ("--metric", "jaccard", "--missing", "0"),
    "alleles": ("--metric", "alleles"),
    "alleles equal": ("--metric", "alleles", "--missing-rule", "equal"),
    "allele_shares": ("--metric", "allele_shares", "--missing-rule", "differ"),
    "box": ("--boxsize", "400"),
}


def test_every_row_metric_has_a_case_that_verify_proves() -> None:
    named = {word for options in CASES.values() for word in options}
    assert ROW_METRICS.keys() - {PERIODIC} <= named, "add a case to CASES"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("command", ["linkage", "hdbscan"])
def test_the_forest_is_proved_and_a_wrong_one_refused(
    tmp_path: Path, case: str, command: str
) -> None:
    points, forest = tmp_path / "points.npy", tmp_path / "forest.h5"
    np.save(points, profiles()[:, : 3 if case == "box" else 300])
    options = [command, str(points), *CASES[case], "--forest", str(forest), "-q"]
    assert main(options) == 0
    assert main(["verify", str(points), str(forest)]) == 0
    with h5py.File(forest, "r+") as file:
        file["forest/weight"][5] = np.nextafter(file["forest/weight"][5], 9)
    assert main(["verify", str(points), str(forest)]) == 1


def test_verify_sees_a_tree_that_is_not_the_lightest() -> None:
    from mndmst.points.certificate.pairwise_certificate import (
        PairDistances,
        pairwise_problems,
    )

    points = profiles()
    forest = metric_forest(points, "hamming", 3, parameters={"missing": 0}).forest
    distances = PairDistances(points, "hamming", {"missing": 0})
    edges = forest.src, forest.dst, forest.weight
    assert pairwise_problems(distances, 3, *edges) == []
    cores = [np.sort(distances.between(i, np.arange(40)))[3] for i in range(40)]
    star = np.array([max(distances.between(0, np.array([j]))[0], cores[0], cores[j])
                     for j in range(1, 40)])  # fmt: skip
    ends = np.zeros(39, np.int64), np.arange(1, 40)
    assert "comes before" in pairwise_problems(distances, 3, *ends, star)[0]


def test_the_command_names_the_metrics(mndmst) -> None:
    run = mndmst("hdbscan", "rings", "--count", 50, "--metric", "far")
    assert "no metric 'far'; give one of euclidean" in run.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--p 3", "p goes with the metric minkowski, not with euclidean"),
        ("--metric minkowski --w 1,x", "--w 1,x: give numbers such as 1,1,2"),
        ("--metric minkowski --w 1,-1", "minkowski of these points: Input weights"),
        ("--metric seuclidean --V 1,2,3", "seuclidean of these points: Variance"),
        ("--metric mahalanobis", "mahalanobis: give the covariance V"),
        ("--metric mahalanobis --V 1,2,3", "mahalanobis takes a square matrix"),
        ("--alpha 2 --search tree", "leave it out to compute all distances"),
        ("--metric precomputed --non-finite noise", "Give a matrix without missing"),
        ("--metric precomputed --prediction-data", "so nothing can be predicted"),
        ("--metric precomputed --store-centers both", "Cannot store centers"),
        ("--metric precomputed", "has shape (50, 2); give a square one"),
        ("--store-centers both", "Give -o a name in .h5."),
    ],
)
def test_the_command_refuses_other_parameters_in_one_line(
    capsys: pytest.CaptureFixture, options: str, message: str
) -> None:
    words = ["hdbscan", "rings", "--count", "50", "-q", *options.split()]
    assert run_command(words) in (1, 2)
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_the_covariance_may_be_a_file(tmp_path: Path) -> None:
    covariance = [[2.0, 0.5], [0.5, 1.0]]
    np.save(tmp_path / "covariance.npy", covariance)
    found = []
    for given in ("2,0.5,0.5,1", str(tmp_path / "covariance.npy")):
        forest = tmp_path / f"{len(found)}.h5"
        words = f"linkage rings --count 50 -q --metric mahalanobis --V {given} --forest"
        assert run_command([*words.split(), str(forest)]) == 0
        found.append(read_forest(forest).header)
    assert found[0].config["V"] == covariance
    assert found[0].digest == found[1].digest


def test_the_command_takes_a_matrix_of_distances(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    points = profiles()
    rows = rows_of(points, "hamming", {"missing": 0})
    matrix = np.array([rows.row(point) for point in range(len(points))])
    np.save(tmp_path / "matrix.npy", matrix)
    model = mndmst.HDBSCAN(5, metric="precomputed", alpha=1.2).fit(matrix)
    words = f"hdbscan {tmp_path}/matrix.npy --metric precomputed --alpha 1.2 -o"
    forest = tmp_path / "forest.h5"
    files = [str(tmp_path / "clusters.h5"), "--forest", str(forest)]
    assert run_command([*words.split(), *files]) == 0
    with h5py.File(tmp_path / "clusters.h5") as file:
        np.testing.assert_array_equal(file["labels"][:], model.labels_)
    assert run_command(["verify", str(tmp_path / "matrix.npy"), str(forest)]) == 0
    assert "taken as points" not in capsys.readouterr().err
    matrix[0, 1:] = matrix[1:, 0] = 0
    assert "has weight" in verify_of(matrix, forest, tmp_path)[0]


def verify_of(matrix: np.ndarray, forest: Path, folder: Path) -> list[str]:
    """Return the problems of a forest file, which says it is of this matrix."""
    changed = folder / "changed.h5"
    changed.write_bytes(forest.read_bytes())
    with h5py.File(changed, "r+") as file:
        write_attributes(file, {"graph-uuid": uuid_of(matrix)})
    return verify_points(matrix, changed).problems
