"""Metrics that compare all pairs: a periodic box, and profiles with missing alleles."""

from pathlib import Path

import h5py
import numpy as np
import pytest

import mndmst
from mndmst.cli.main import main
from mndmst.host.errors import ConfigError, InputError
from mndmst.points.pairwise_forest import metric_forest, rows_of


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
    "box": ("--boxsize", "400"),
}


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
    from mndmst.verify.pairwise_certificate import PairDistances, pairwise_problems

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


def test_the_command_says_where_other_metrics_are(mndmst) -> None:
    for metric, elsewhere in (
        ("precomputed", True),
        ("canberra", True),
        ("far", False),
    ):
        run = mndmst("hdbscan", "rings", "--count", 50, "--metric", metric)
        assert f"no metric '{metric}' here; give one of euclidean" in run.stderr
        assert ("HDBSCAN in Python takes it" in run.stderr) == elsewhere
