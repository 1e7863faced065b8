"""`mndmst predict` says in one line which file it cannot use, and the remedy."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from mndmst.__main__ import main
from mndmst.io.file_access import write_attributes
from mndmst.points.clusters.prediction_file import StoredModel
from mndmst.points.point_files import example_points

pytest.importorskip("scipy", reason="needs SciPy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with points, clusters with and without prediction data."""
    folder = tmp_path_factory.mktemp("predict")
    points = example_points("blobs", 200)
    np.save(folder / "points.npy", points)
    np.save(folder / "three.npy", np.ones((4, 3)))
    points[7, 1] = np.nan
    np.save(folder / "nan.npy", points)
    words = ["hdbscan", str(folder / "points.npy"), "-q", "-o"]
    assert main([*words, str(folder / "plain.h5")]) == 0
    assert main([*words, str(folder / "model.h5"), "--prediction-data"]) == 0
    cosine = [*words, str(folder / "cosine.h5"), "--metric", "cosine"]
    assert main([*cosine, "--prediction-data"]) == 0
    np.save(folder / "zero.npy", np.array([[1.0, 1], [0, 0]]))
    assert main(["linkage", *words[1:], str(folder / "linkage.h5")]) == 0
    lines = [f"{lat},{lon}" for lat, lon in example_points("blobs", 30).tolist()]
    (folder / "old.csv").write_text("\n".join(["lat,lon", *lines]))
    words[1] = str(folder / "old.csv")
    assert main([*words, str(folder / "table.h5"), "--prediction-data"]) == 0
    (folder / "turned.csv").write_text("lon,Lat\n1,2\n")
    (folder / "other.csv").write_text("x,y\n1,2\n")
    return folder


@pytest.mark.parametrize(
    ("model", "points", "message"),
    [
        ("plain.h5", "points.npy", "plain.h5: has no prediction data. Run mndmst "
         "hdbscan again with --prediction-data."),
        ("linkage.h5", "points.npy", "linkage.h5: has no prediction data. Run"),
        ("points.npy", "three.npy", "points.npy: is not an HDF5 file"),
        ("missing.h5", "points.npy", "missing.h5: no such file"),
        ("model.h5", "three.npy", "three.npy: has 3 dimensions, and the training "
         "points of {0}/model.h5 2. Give the same columns"),
        ("model.h5", "nan.npy", "nan.npy: point 7 (from 0) has a coordinate that is "
         "not a finite number. Fix it"),
        ("table.h5", "turned.csv", "turned.csv: its coordinates are lon, Lat, and "
         "those of the training points of {0}/table.h5 lat, lon. Give them in the "
         "order of these: --columns Lat,lon."),
        ("table.h5", "other.csv", "order of these: --columns x,y."),
        ("cosine.h5", "zero.npy", "zero.npy: point 1 is zero in all coordinates"),
        ("model.h5", "points.npy -o {0}/x.nwk", "x.nwk: give a name in .h5"),
    ],
)  # fmt: skip
def test_unusable_files_are_named_with_the_remedy(
    folder: Path, capsys: pytest.CaptureFixture, model: str, points: str, message: str
) -> None:
    words = f"predict {{0}}/{model} {{0}}/{points}".format(folder).split()
    assert main(words) == 1
    *notes, error = capsys.readouterr().err.splitlines()
    assert message.format(folder) in error
    assert all(note.startswith("mndmst: coordinates: ") for note in notes)


@pytest.mark.parametrize("output", ["", "-o {}/labels.csv", "-o {}/tree.nwk"])
def test_prediction_data_need_a_cluster_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture, output: str
) -> None:
    words = f"hdbscan {folder}/points.npy --prediction-data {output.format(tmp_path)}"
    assert main(words.split()) == 1
    assert "Give -o a name in .h5." in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def _cycle(file: h5py.File) -> None:
    """Make the clusters of the condensed tree their own parents."""
    file["condensed/parent"][0] = file["condensed/child"][0]


def _beyond(file: h5py.File) -> None:
    """Give a point a cluster that is not there."""
    file["condensed/parent"][-1] = 10**9


def _other_metric(file: h5py.File) -> None:
    write_attributes(file, {"metric": "precomputed"})


def _other_parameters(file: h5py.File) -> None:
    write_attributes(file, {"metric_params": '{"p": "x"}'})


def _other_alpha(file: h5py.File) -> None:
    file.attrs["alpha"] = -1.0


def _no_points(file: h5py.File) -> None:
    del file["prediction/points"]


def _other_shape(file: h5py.File) -> None:
    file.attrs["dimensions"] = 7


@pytest.mark.parametrize(
    "damage",
    [
        _cycle,
        _beyond,
        _other_metric,
        _other_parameters,
        _other_alpha,
        _no_points,
        _other_shape,
    ],
)
def test_a_damaged_model_is_refused(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    damage: Callable[[h5py.File], None],
) -> None:
    model = tmp_path / "model.h5"
    model.write_bytes((folder / "model.h5").read_bytes())
    with h5py.File(model, "r+") as file:
        damage(file)
    assert main(["predict", str(model), str(folder / "points.npy")]) == 1
    error = capsys.readouterr().err
    assert f"{model}: " in error and "mndmst hdbscan again" in error
    assert error.count("\n") == 1


def test_products_search_again_in_a_model_that_names_them(
    folder: Path, tmp_path: Path
) -> None:
    words = ["hdbscan", str(folder / "points.npy"), "-q", "--prediction-data"]
    words += ["--search", "product", "-o", str(tmp_path / "model.h5")]
    assert main(words) == 0
    model = StoredModel.read(tmp_path / "model.h5")
    assert model.search == "product"
    points = np.load(folder / "points.npy")[:50] + 0.25
    found, expected = (
        each.predict(points, folder / "points.npy")
        for each in (model, StoredModel.read(folder / "model.h5"))
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "points",
    [
        "old.csv",
        "turned.csv --columns lat,lon",
        "other.csv --columns x,y",
        "points.npy",
    ],
)
def test_coordinates_of_the_same_names_or_named_ones_are_predicted(
    folder: Path, points: str
) -> None:
    words = f"predict {folder}/table.h5 {folder}/{points} -q".split()
    assert main(words) == 0


def test_a_count_of_points_goes_with_an_example(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    for command in ("hdbscan", "linkage"):
        assert main([command, str(folder / "points.npy"), "--count", "5"]) == 1
        error = capsys.readouterr().err
        assert "--count is the number of points of an example, rings or blobs" in error
