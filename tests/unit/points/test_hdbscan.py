"""HDBSCAN* of points: equal to hdbscan's, as an estimator and as a command."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from processes import finish, python, start
from scipy.cluster.hierarchy import is_valid_linkage, linkage

import mndmst
from mndmst import HDBSCAN
from mndmst.host.errors import ConfigError, InputError
from mndmst.points.point_files import example_points

hdbscan = pytest.importorskip("hdbscan", reason="needs hdbscan")
trees = pytest.importorskip("hdbscan.hdbscan_")


def same_clusters(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    names = len(set(one.tolist())), len(set(other.tolist()))
    return len(pairs) == names[0] == names[1] and bool(((one < 0) == (other < 0)).all())


@pytest.mark.parametrize("dimensions", [2, 5])
@pytest.mark.parametrize("min_samples", [1, 5, 10])
def test_heights_are_hdbscans_to_the_last_bit(
    dimensions: int, min_samples: int
) -> None:
    generator = np.random.default_rng(dimensions)
    points = generator.normal(size=(1500, dimensions)) + generator.integers(
        0, 5, (1500, 1)
    )
    ours = mndmst.HDBSCAN(20, min_samples).fit(points)
    theirs = hdbscan.HDBSCAN(
        min_cluster_size=20, min_samples=min_samples, approx_min_span_tree=False
    ).fit(points)
    heights = theirs.single_linkage_tree_.to_numpy()[:, 2]
    assert is_valid_linkage(ours.linkage_)
    np.testing.assert_array_equal(ours.linkage_[:, 2], np.sort(heights))
    if min_samples == 1:  # without ties, which it breaks in other ways
        assert same_clusters(ours.labels_, theirs.labels_)


@pytest.mark.parametrize("epsilon", [0.0, 0.15, 0.5, 100.0])
@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize("name", ["rings", "blobs"])
def test_labels_are_those_of_hdbscan_for_our_dendrogram(
    name: str, method: str, epsilon: float
) -> None:
    points = example_points(name, 1500)
    # With more samples core distances are shared, and hdbscan splits ties in an order.
    ours = mndmst.HDBSCAN(15, 1, epsilon, cluster_selection_method=method).fit(points)
    labels, probabilities, *_ = trees._tree_to_labels(
        points, ours.linkage_.copy(), 15, method, False, False, epsilon
    )
    assert same_clusters(ours.labels_, labels)
    np.testing.assert_allclose(ours.probabilities_, probabilities)


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        ([[1.0, 2.0]], [-1]),
        ([[1.0], [2.0]], [-1, -1]),
        (np.ones((30, 2)), [-1] * 30),
        (np.repeat([[0.0], [9.0]], 10, axis=0), [0] * 10 + [1] * 10),
        (np.append(np.arange(10.0), np.arange(50, 60.0))[:, None], [0] * 10 + [1] * 10),
    ],
    ids=["one", "two", "equal", "twice equal", "collinear"],
)
def test_small_and_degenerate(points: np.ndarray, labels: list[int]) -> None:
    size = min(5, max(2, len(points)))
    if len(points) < size:
        with pytest.warns(UserWarning, match="all points are noise"):
            found = mndmst.HDBSCAN(size).fit(points)
    else:
        found = mndmst.HDBSCAN(size).fit(points)
    assert found.labels_.tolist() == labels
    assert np.isfinite(found.probabilities_).all()


def test_it_needs_no_scikit_learn() -> None:
    program = (
        "import sys; sys.modules['sklearn'] = None; import mndmst; "
        "points = [[0.0], [1.0], [2.0], [50.0], [51.0], [53.0]]; "
        "print(mndmst.HDBSCAN(3, 1).fit_predict(points).tolist())"
    )
    run = finish(start(python("-c", program)), 60)
    assert run.stdout == "[0, 0, 0, 1, 1, 1]\n", run.stderr


def test_parameters_that_are_none() -> None:
    points = np.arange(9.0)[:, None]
    for options, message in (
        ({"min_cluster_size": 1}, "min_cluster_size 1"),
        ({"min_samples": 0}, "min_samples 0"),
        ({"cluster_selection_method": "best"}, "'best': give eom or leaf"),
        ({"cluster_selection_epsilon": -1.0}, "epsilon -1"),
        ({"metric": "far"}, "no metric 'far'"),
    ):
        with pytest.raises(ConfigError, match=message):
            mndmst.HDBSCAN(**options).fit(points)
    with pytest.raises(InputError, match="beyond"):
        mndmst.HDBSCAN().fit(points * 1e300)


def test_commands_write_what_python_finds(mndmst, tmp_path: Path) -> None:
    points, forest = tmp_path / "points.npy", tmp_path / "forest.h5"
    clusters, dendrogram = tmp_path / "clusters.h5", tmp_path / "linkage.h5"
    run = mndmst(
        "hdbscan", "blobs", "--count", 900, "--min-cluster-size", 30, "--min-samples",
        4, "--save", points, "-o", clusters, "--forest", forest,
        "--plot", tmp_path / "blobs.png",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "exact forest: 899 edges, 1 tree;" in run.stdout
    given = np.load(points)
    expected = HDBSCAN(30, 4).fit(given)
    with h5py.File(clusters) as file:
        np.testing.assert_array_equal(file["labels"], expected.labels_)
        np.testing.assert_array_equal(file["linkage"], expected.linkage_)
    assert (tmp_path / "blobs.png").stat().st_size > 1000
    run = mndmst("verify", points, forest)
    assert run.returncode == 0 and run.stdout.startswith("VERDICT ok n=900")
    run = mndmst("linkage", points, "-o", dendrogram, "-q")
    assert run.returncode == 0 and run.stdout.startswith("RESULT n=900 edges=899")
    with h5py.File(dendrogram) as file:
        np.testing.assert_array_equal(file["linkage"], linkage(given, "single"))
    assert mndmst("info", dendrogram).returncode == 0
    run = mndmst("verify", points, dendrogram)
    assert run.returncode == 1 and "linkage.h5" in run.stderr
    run = mndmst("linkage", points, "-o", points)
    assert run.returncode == 1 and "would be replaced" in run.stderr
    run = mndmst("linkage", points, "--approximate", "--neighbours", 3)
    assert run.returncode == 0 and "approximate forest" in run.stdout
    assert "exact=False" in run.stdout and "not kept" in run.stderr


def test_errors_about_points_name_their_file(mndmst, tmp_path: Path) -> None:
    """Squares of these distances do not fit float64 together."""
    points = np.random.default_rng(0).random((300, 3))
    points[:3] = [[1e-310, 0, 0], [0, 0, 0], [1e149, 0, 0]]
    file = tmp_path / "tiny.npy"
    np.save(file, points)
    for command in (("linkage", file), ("neighbours", file, tmp_path / "g", "--k", 5)):
        run = mndmst(*command)
        assert run.returncode == 1
        assert f"mndmst: error: {file}: points are nearer than" in run.stderr


def test_tables_are_read_by_pandas(mndmst, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    points, table = tmp_path / "points.npy", tmp_path / "table.csv"
    given = example_points("blobs", 300)
    np.save(points, given)
    assert mndmst("hdbscan", points, "-o", table, "-q").returncode == 0
    found, expected = pandas.read_csv(table), HDBSCAN()
    expected.fit(given)
    assert [*found.columns] == ["vertex", "label", "probability"]
    np.testing.assert_array_equal(found["vertex"], np.arange(300))
    np.testing.assert_array_equal(found["label"], expected.labels_)
    np.testing.assert_allclose(found["probability"], expected.probabilities_, 1e-14)
    again = ("--overwrite", "-q")
    assert mndmst("linkage", points, "-o", table, *again).returncode == 0
    # By default earlier versions of pandas read digits with an error of 1e-14
    steps = pandas.read_csv(table, dtype=str).astype(float)
    np.testing.assert_allclose(steps, linkage(given, "single"), 1e-14)
    forest = tmp_path / "forest.h5"
    assert mndmst("linkage", points, "--forest", forest, "-q").returncode == 0
    run = mndmst("cluster", forest, "--count", 4, "-o", table, *again)
    assert run.returncode == 0, run.stderr
    assert [*pandas.read_csv(table).columns] == ["vertex", "label"]
