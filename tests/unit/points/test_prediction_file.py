"""`mndmst predict` gives bit by bit the results of the estimator's method."""

from pathlib import Path

import h5py
import numpy as np
import pytest

import mndmst
from mndmst.__main__ import main
from mndmst.io.file_info import describe
from mndmst.points.point_files import example_points

pytest.importorskip("scipy", reason="needs SciPy")

CASES = [
    ("", {}),
    ("--min-samples 3", {"min_samples": 3}),
    ("--metric manhattan", {"metric": "manhattan"}),
    ("--metric cosine", {"metric": "cosine"}),
    ("--metric cosine --alpha 0.7", {"metric": "cosine", "alpha": 0.7}),
    (
        "--metric minkowski --p 3 --w 1,2.5",
        {"metric": "minkowski", "p": 3, "metric_params": {"w": [1, 2.5]}},
    ),
    ("--metric l1", {"metric": "minkowski", "p": 1}),
    ("--metric seuclidean", {"metric": "seuclidean"}),
    (
        "--metric mahalanobis --V 2,0.5,0.5,1",
        {"metric": "mahalanobis", "V": [[2, 0.5], [0.5, 1]]},
    ),
    ("--cluster-selection-method leaf", {"cluster_selection_method": "leaf"}),
    ("--cluster-selection-epsilon 0.3", {"cluster_selection_epsilon": 0.3}),
    ("--cluster-selection-persistence 0.2", {"cluster_selection_persistence": 0.2}),
    (
        "--allow-single-cluster --cluster-selection-epsilon 3",
        {"allow_single_cluster": True, "cluster_selection_epsilon": 3},
    ),
]


def run(command: str) -> None:
    assert main([*command.split(), "-q"]) == 0


@pytest.mark.parametrize(
    ("options", "parameters", "dtype"),
    [(*case, np.float64) for case in CASES] + [(*CASES[0], np.float32)],
)
def test_labels_and_probabilities_are_those_of_the_estimator(
    tmp_path: Path, options: str, parameters: dict, dtype: type
) -> None:
    points = example_points("blobs", 400).astype(dtype)
    points[10:14] = points[9]  # equal points leave at distance 0
    new = np.concatenate([example_points("blobs", 300, seed=4), points[:40]])
    np.save(tmp_path / "points.npy", points)
    np.save(tmp_path / "new.npy", new)
    size = "--min-cluster-size 9"
    model = f"{tmp_path}/model.h5"
    run(f"hdbscan {tmp_path}/points.npy -o {model} {size} {options} --prediction-data")
    run(f"predict {model} {tmp_path}/new.npy -o {tmp_path}/found.h5")
    run(f"predict {model} {tmp_path}/new.npy -o {tmp_path}/found.csv")

    fitted = mndmst.HDBSCAN(9, **parameters).fit(points)
    labels, probabilities = fitted.approximate_predict(new)
    assert (labels >= 0).any()
    with h5py.File(tmp_path / "found.h5") as file:
        assert file["labels"][:].tobytes() == labels.tobytes()
        assert file["probabilities"][:].tobytes() == probabilities.tobytes()
    header, *lines = (tmp_path / "found.csv").read_text().splitlines()
    assert header == "vertex,label,probability"
    cells = [line.split(",") for line in lines]
    assert [int(cell[0]) for cell in cells] == [*range(len(new))]
    assert [int(cell[1]) for cell in cells] == labels.tolist()
    assert [float(cell[2]) for cell in cells] == probabilities.tolist()


def test_one_new_point_may_have_a_label_above_0(tmp_path: Path) -> None:
    points = example_points("blobs", 400)
    model = mndmst.HDBSCAN(9).fit(points)
    last = points[np.flatnonzero(model.labels_ == model.labels_.max())[:1]]
    np.save(tmp_path / "points.npy", points)
    np.save(tmp_path / "new.npy", last)
    clusters, found = f"{tmp_path}/c.h5", tmp_path / "found.h5"
    size = "--min-cluster-size 9"
    run(f"hdbscan {tmp_path}/points.npy -o {clusters} {size} --prediction-data")
    run(f"predict {clusters} {tmp_path}/new.npy -o {found}")
    facts = describe(found)
    assert (facts["num_vertices"], facts["largest"], facts["noise"]) == (1, 1, 0)
    assert facts["num_clusters"] == model.labels_.max() + 1


def test_ids_of_a_table_go_with_the_labels(tmp_path: Path) -> None:
    points = example_points("blobs", 60).tolist()
    rows = [f"p{i},{x!r},{y!r}" for i, (x, y) in enumerate(points)]
    table = tmp_path / "points.csv"
    table.write_text("\n".join(["id,x,y", *rows]) + "\n")
    run(f"hdbscan {table} -o {tmp_path}/c.h5 --prediction-data")
    run(f"hdbscan {table} -o {tmp_path}/fitted.csv")
    run(f"predict {tmp_path}/c.h5 {table} -o {tmp_path}/found.csv")
    found = (tmp_path / "found.csv").read_text()
    assert found.startswith("vertex,id,label,probability\n0,p0,")
    # Training points are predicted as themselves.
    assert found == (tmp_path / "fitted.csv").read_text()


@pytest.mark.parametrize("rule", ["noise", "codes"])
def test_rows_that_are_not_finite_are_as_the_rule_has_them(
    tmp_path: Path, rule: str
) -> None:
    points, new = example_points("blobs", 200), example_points("blobs", 50, seed=4)
    points[3], points[7, 1], new[5, 0] = np.nan, np.inf, np.nan
    np.save(tmp_path / "points.npy", points)
    np.save(tmp_path / "new.npy", new)
    model = mndmst.HDBSCAN(non_finite=rule).fit(points)
    run(
        f"hdbscan {tmp_path}/points.npy -o {tmp_path}/c.h5 --non-finite {rule} "
        f"--prediction-data --forest {tmp_path}/forest.h5"
    )
    run(f"verify {tmp_path}/points.npy {tmp_path}/forest.h5")
    run(f"predict {tmp_path}/c.h5 {tmp_path}/new.npy -o {tmp_path}/found.h5")
    with h5py.File(tmp_path / "c.h5") as file:
        np.testing.assert_array_equal(file["labels"][:], model.labels_)
        np.testing.assert_array_equal(file["probabilities"][:], model.probabilities_)
    with h5py.File(tmp_path / "found.h5") as file:
        np.testing.assert_array_equal(file["labels"][:], model.predict(new))
    expected = [-1, -1] if rule == "noise" else [-3, -2]
    assert model.labels_[[3, 7]].tolist() == expected


@pytest.mark.parametrize("size", [5, 150])
def test_centers_are_those_of_the_estimator(tmp_path: Path, size: int) -> None:
    points = example_points("blobs", 200)
    np.save(tmp_path / "points.npy", points)
    model = mndmst.HDBSCAN(size, store_centers="both").fit(points)
    run(
        f"hdbscan {tmp_path}/points.npy -o {tmp_path}/c.h5 --min-cluster-size {size} "
        "--store-centers both"
    )
    with h5py.File(tmp_path / "c.h5") as file:
        np.testing.assert_array_equal(file["centroids"][:], model.centroids_)
        np.testing.assert_array_equal(file["medoids"][:], model.medoids_)
