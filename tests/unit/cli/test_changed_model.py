"""`mndmst hdbscan --model`: points come and go, and clusters keep their numbers."""

import csv
import shutil
from pathlib import Path

import h5py
import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import mndmst
from mndmst.__main__ import main
from mndmst.api.forest import Forest
from mndmst.io.file_access import write_attributes
from mndmst.points.search.point_search import TreeSearch
from mndmst.points.search.product_search import HostProducts

CENTRES = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
SIZE = "--min-cluster-size 5 --min-samples 3"


def blob(centre: int, count: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return CENTRES[centre] + random.normal(size=(count, 2)).round(2)


def write_table(path: Path, points: np.ndarray, ids: list | None = None) -> Path:
    head = ["x", "y"] if ids is None else ["id", "x", "y"]
    rows = points.tolist()
    if ids is not None:
        rows = [[name, *row] for name, row in zip(ids, rows, strict=True)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def run(command: str) -> None:
    assert main([*command.split(), "-q"]) == 0


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model of two clusters of 20 points with the ids p0, p1, ..., and changes."""
    old = np.concatenate([blob(0, 20, 1), blob(1, 20, 2)])
    write_table(tmp_path / "old.csv", old, [f"p{i}" for i in range(40)])
    new = np.concatenate([blob(0, 5, 3), blob(2, 15, 4)])
    write_table(tmp_path / "new.csv", new, [f"q{i}" for i in range(20)])
    (tmp_path / "gone.txt").write_text("".join(f"p{i}\n" for i in range(25, 32)))
    model = tmp_path / "model.h5"
    run(f"hdbscan {tmp_path}/old.csv -o {model} --prediction-data {SIZE}")
    return tmp_path


def test_yesterdays_model_goes_on_and_clusters_keep_their_numbers(folder: Path) -> None:
    go_on = f"hdbscan --model {folder}/model.h5 --overwrite -o {folder}/labels.csv"
    run(f"{go_on} --insert {folder}/new.csv --remove {folder}/gone.txt")
    labels = {row["id"]: row["label"] for row in rows_of(folder / "labels.csv")}
    assert len(labels) == 53
    assert {labels[f"p{i}"] for i in range(20)} == {"0"}
    assert {labels[f"q{i}"] for i in range(5, 20)} == {"2"}
    # The first cluster goes, and the one that has its label 0 keeps the number 1
    (folder / "gone.txt").write_text(
        "".join([*(f"p{i}\n" for i in range(20)), *(f"q{i}\n" for i in range(5))])
    )
    write_table(folder / "new.csv", blob(3, 9, 5), [f"r{i}" for i in range(9)])
    changes = f"--insert {folder}/new.csv --remove {folder}/gone.txt"
    run(f"{go_on} {changes} --events {folder}/events.csv")
    labels = {row["id"]: row["label"] for row in rows_of(folder / "labels.csv")}
    assert labels["p39"] == "1"
    assert labels["q19"] == "2"
    assert {labels[f"r{i}"] for i in range(9)} == {"3"}
    assert (folder / "events.csv").read_text().splitlines() == [
        "version,kind,old,new,old_sizes,new_sizes",
        "2,born,,3,,9",
        "2,died,0,,25,",
    ]


def test_numbers_depend_on_no_order_of_the_rows_of_files(folder: Path) -> None:
    """Two clusters are born; the ids decide which one gets the smaller number."""
    points = np.concatenate([blob(2, 15, 4), blob(3, 15, 5)])
    ids = [f"q{i}" for i in range(30)]
    gone = (folder / "gone.txt").read_text().splitlines()
    found = []
    for order in (range(30), range(29, -1, -1)):
        rows = list(order)
        write_table(folder / "new.csv", points[rows], [ids[row] for row in rows])
        (folder / "gone.txt").write_text("".join(f"{name}\n" for name in gone))
        shutil.copy(folder / "model.h5", folder / "copy.h5")
        changes = f"--insert {folder}/new.csv --remove {folder}/gone.txt"
        labels = f"-o {folder}/labels.csv --overwrite"
        run(f"hdbscan --model {folder}/copy.h5 {changes} {labels}")
        found.append({r["id"]: r["label"] for r in rows_of(folder / "labels.csv")})
        gone.reverse()
    assert found[0] == found[1]
    assert (found[0]["q0"], found[0]["q29"]) == ("2", "3")


def test_new_points_are_predicted_to_be_in_clusters_of_these_numbers(
    folder: Path,
) -> None:
    model = f"{folder}/model.h5"
    (folder / "gone.txt").write_text("".join(f"p{i}\n" for i in range(20)))
    changes = f"--insert {folder}/new.csv --remove {folder}/gone.txt"
    run(f"hdbscan --model {model} {changes} -o {folder}/labels.csv")
    run(f"predict {model} {folder}/new.csv -o {folder}/predicted.h5")
    with h5py.File(folder / "predicted.h5") as file:
        predicted = [str(label) for label in file["labels"]]
    labels = [row["label"] for row in rows_of(folder / "labels.csv")]
    assert predicted == labels[-20:]
    assert predicted[-1] == "2"
    run(f"convert {folder}/predicted.h5 {folder}/predicted.csv")


@pytest.mark.parametrize(
    ("metric", "ids"),
    [
        ("euclidean", None),
        ("euclidean", "integers"),
        ("manhattan", "texts"),
        ("cosine", None),
        ("braycurtis", None),
        ("seuclidean", None),
        ("euclidean --boxsize 12", None),
        ("euclidean --alpha 2", None),
        ("chebyshev --allow-single-cluster --cluster-selection-epsilon 2", None),
    ],
)
def test_clusters_and_forest_are_those_of_a_fresh_fit(
    tmp_path: Path, metric: str, ids: str | None
) -> None:
    random = np.random.default_rng(7)
    points = np.abs(random.normal(size=(150, 3)).round(1)) + 0.1
    names = None
    if ids == "integers":
        names = random.permutation(150).tolist()
    if ids == "texts":
        names = [f"name {i}" for i in range(150)]
    np.save(tmp_path / "present.npy", points[20:])
    first, last = slice(100), slice(100, 150)
    write_table_of = {"old.csv": first, "new.csv": last}
    for name, rows in write_table_of.items():
        own = None if names is None else names[rows]
        with (tmp_path / name).open("w", newline="") as file:
            head = ["x", "y", "z"] if own is None else ["id", "x", "y", "z"]
            lines = points[rows].tolist()
            if own is not None:
                lines = [[i, *line] for i, line in zip(own, lines, strict=True)]
            csv.writer(file).writerows([head, *lines])
    gone = range(20) if names is None else names[:20]
    (tmp_path / "gone.csv").write_text("id\n" + "".join(f"{i}\n" for i in gone))
    options = f"--metric {metric} --min-cluster-size 4"
    model, fresh = tmp_path / "model.h5", tmp_path / "fresh.h5"
    run(f"hdbscan {tmp_path}/old.csv -o {model} --prediction-data {options}")
    run(
        f"hdbscan {tmp_path}/old.csv --model {model} --insert {tmp_path}/new.csv "
        f"--remove {tmp_path}/gone.csv --forest {tmp_path}/forest.h5 "
        f"--save {tmp_path}/saved.npy"
    )
    run(
        f"hdbscan {tmp_path}/present.npy -o {fresh} --prediction-data {options} "
        f"--forest {tmp_path}/fitted.h5"
    )
    forest, fitted = (Forest.read(tmp_path / f"{n}.h5") for n in ("forest", "fitted"))
    assert forest.digest == fitted.digest
    assert np.load(tmp_path / "saved.npy").tobytes() == points[20:].tobytes()
    run(f"verify {tmp_path}/saved.npy {tmp_path}/forest.h5")
    with h5py.File(model) as changed, h5py.File(fresh) as fitted_file:
        for name in ("probabilities", "outlier_scores", "persistence", "linkage"):
            assert changed[name][:].tobytes() == fitted_file[name][:].tobytes(), name
        labels, numbers = fitted_file["labels"][:], changed["numbers"][:]
        shown = np.where(labels < 0, -1, np.append(numbers, -1)[labels])
        assert changed["labels"][:].tolist() == shown.tolist()
        assert changed.attrs["graph-uuid"] == fitted_file.attrs["graph-uuid"]


def test_points_of_float32_stay_so(tmp_path: Path) -> None:
    points = np.random.default_rng(5).normal(size=(60, 8)).astype(np.float32)
    np.save(tmp_path / "old.npy", points[:40])
    np.save(tmp_path / "new.npy", points[40:])
    model = tmp_path / "model.h5"
    run(f"hdbscan {tmp_path}/old.npy -o {model} --prediction-data {SIZE}")
    run(f"hdbscan --model {model} --insert {tmp_path}/new.npy --save {tmp_path}/s.npy")
    saved = np.load(tmp_path / "s.npy")
    assert saved.dtype == np.float32
    assert np.array_equal(saved, points)


def test_parameters_are_those_of_the_model_unless_they_are_given(folder: Path) -> None:
    go_on = f"hdbscan --model {folder}/model.h5 --remove {folder}/gone.txt"
    run(f"{go_on} --min-cluster-size 12")
    points = np.concatenate([blob(0, 20, 1), blob(1, 20, 2)])
    fitted = mndmst.HDBSCAN(12, 3).fit(np.delete(points, range(25, 32), axis=0))
    with h5py.File(folder / "model.h5") as file:
        assert file["labels"][:].tolist() == fitted.labels_.tolist()
        assert (
            file.attrs["rule"]
            .decode()
            .startswith("hdbscan min_cluster_size 12 min_samples 3 ")
        )


def test_other_options_alone_make_the_next_version(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = folder / "model.h5"
    run(f"hdbscan --model {model} --insert {folder}/new.csv")
    capsys.readouterr()
    words = f"hdbscan --model {model} --min-cluster-size 16 -o {folder}/labels.csv"
    assert main(words.split()) == 0
    printed = capsys.readouterr()
    assert f"{model}: from now on min_cluster_size 16 (was 5)\n" in printed.err
    assert "clusters 0 (25) and 2 (15) merge into 0 (40)\n" in printed.out
    assert "RESULT n=60 clusters=2 noise=0 version=2 events=1 " in printed.out
    assert {row["label"] for row in rows_of(folder / "labels.csv")} == {"0", "1"}
    assert main(f"hdbscan --model {model} --min-cluster-size 5".split()) == 0
    assert "cluster 0 (40) splits into 0 (25) and 3 (15)\n" in capsys.readouterr().out


def test_a_parameter_gets_its_default_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    go_on = f"hdbscan --model {folder}/model.h5 --default min-samples"
    assert main(f"{go_on} --allow-single-cluster".split()) == 0
    said = "from now on min_samples 5 (was 3), allow_single_cluster True (was False)"
    assert said in capsys.readouterr().err
    words = f"hdbscan --model {folder}/model.h5 --default allow_single_cluster"
    assert main(words.split()) == 0
    assert "allow_single_cluster False (was True)\n" in capsys.readouterr().err
    assert main(f"{go_on} --min-samples 4".split()) == 1
    said = "give --min-samples or --default min-samples, but not both"
    assert said in capsys.readouterr().err


def test_min_samples_that_follows_the_cluster_size_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, model = folder / "old.csv", folder / "own.h5"
    run(f"hdbscan {old} -o {model} --prediction-data --min-cluster-size 5")
    capsys.readouterr()
    assert main(f"hdbscan --model {model} --min-cluster-size 8".split()) == 0
    assert (
        f"{model}: from now on min_cluster_size 8 (was 5), min_samples 8 (was 5), "
        "which needs a new search of all points\n"
    ) in capsys.readouterr().err
    run(f"hdbscan {old} -o {folder}/fresh.h5 --prediction-data --min-cluster-size 8")
    with h5py.File(model) as changed, h5py.File(folder / "fresh.h5") as fresh:
        assert changed["linkage"][:].tobytes() == fresh["linkage"][:].tobytes()
        assert changed["labels"][:].tolist() == fresh["labels"][:].tolist()


FAULTS = [
    ("", "model.h5: nothing changes; give --insert, --remove, or another option"),
    ("--min-cluster-size 5 --min-samples 3", "model.h5: nothing changes; give"),
    ("--remove {0}/none.txt", "none.txt: no such file"),
    ("--remove {0}/unknown.txt",
     "unknown.txt: the id 'x9' is not that of a present point, such as 'p0'. Leave"),
    ("--remove {0}/twice.txt", "twice.txt: the id 'p3' is there twice. Name it once."),
    ("--remove {0}/empty.txt", "empty.txt: holds no ids. Give one a row, or leave the"),
    ("--remove {0}/head.csv", "head.csv: holds no ids. Give one a row, or leave the"),
    ("--remove {0}/columns.csv", "columns.csv: has columns a, b, and the ids are in"),
    ("--remove {0}/all.txt", "all.txt: has the ids of all points"),
    ("--remove {0}/ids.json", "ids.json: give ids in a file whose name ends in"),
    ("--insert {0}/old.csv", "old.csv: the id 'p0' was given before."),
    ("--insert {0}/bare.csv", "bare.csv: has no column of ids, and the points so far"),
    ("--insert {0}/three.csv", "three.csv: its coordinates are x, y, z, and those of "
     "the training points of {0}/model.h5 x, y. Give them in the order of these: "
     "--columns x,y."),
    ("--insert {0}/unnamed.csv", "unnamed.csv: point 1 (from 0) has no id. Give each"),
    ("--insert {0}/one.csv", "model.h5 x, y. Add y."),
    ("--insert {0}/swapped.csv", "of these: --columns X,Y."),
    ("--insert {0}/far.csv", "of these: --columns lon,lat."),
    ("--insert {0}/none.csv", "none.csv: holds no points below the names of columns"),
    ("--insert {0}/word.csv", "word.csv: line 3 has \"one\" in column y, and a"),
    ("--insert {0}/latin.csv", "latin.csv: is not UTF-8 (invalid start byte"),
    ("--insert {0}/nan.csv", "nan.csv: point 0 (from 0) has a coordinate that is not"),
    ("--insert {0}/new.csv --metric cosine", "--metric does not go with --model"),
    ("--insert {0}/new.csv --min-samples 99", "min_samples (99) must be at most"),
    ("--insert {0}/new.csv --remove {0}/gone.txt -o {0}/model.h5",
     "model.h5: two outputs would be written there"),
    ("--insert {0}/new.csv -o {0}/new.csv", "new.csv: is read by this command"),
    ("--insert {0}/new.csv --events {0}/e.json", "e.json: give a name in .csv"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), FAULTS)
def test_a_bad_batch_is_one_sentence_and_changes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, message: str
) -> None:
    (folder / "unknown.txt").write_text("p1\nx9\n")
    (folder / "twice.txt").write_text("p3\np3\n")
    (folder / "columns.csv").write_text("a,b\n1,2\n")
    (folder / "all.txt").write_text("".join(f"p{i}\n" for i in range(40)))
    (folder / "ids.json").write_text("[]")
    (folder / "bare.csv").write_text("x,y\n1,2\n")
    (folder / "three.csv").write_text("id,x,y,z\na,1,2,3\n")
    (folder / "nan.csv").write_text("id,x,y\na,nan,1\n")
    (folder / "unnamed.csv").write_text("id,x,y\na,1,2\n,1,2\n")
    (folder / "one.csv").write_text("id,x\na,1\n")
    (folder / "swapped.csv").write_text("id,Y,X\na,1,2\n")
    (folder / "far.csv").write_text("id,lon,lat\na,1,2\n")
    (folder / "none.csv").write_text("id,x,y\n")
    (folder / "word.csv").write_text("id,x,y\na,1,2\nb,1,one\n")
    (folder / "latin.csv").write_bytes("id,x,y\nü,1,2\n".encode("latin-1"))
    (folder / "empty.txt").write_text("")
    (folder / "head.csv").write_text("id,day\n")
    capsys.readouterr()
    files = {path: path.read_bytes() for path in folder.iterdir()}
    words = f"hdbscan --model {folder}/model.h5 {options.format(folder)}".split()
    assert main([*words, "-q"]) == 1
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert message.format(folder) in error[0]
    assert all(error[0].count(f"{path}: ") <= 1 for path in files)
    assert {path: path.read_bytes() for path in folder.iterdir()} == files


def test_points_without_ids_take_no_column_of_ids(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(folder / "old.csv", blob(0, 20, 1))
    run(f"hdbscan {folder}/old.csv -o {folder}/bare.h5 --prediction-data {SIZE}")
    words = f"hdbscan --model {folder}/bare.h5 --insert {folder}/new.csv -q"
    assert main(words.split()) == 1
    assert (
        "new.csv: has a column of ids, and the points so far have none: they are "
        "numbered. Leave the column out."
    ) in capsys.readouterr().err


def test_ids_that_are_numbers_become_texts_beside_others(folder: Path) -> None:
    write_table(folder / "old.csv", blob(0, 20, 1), list(range(100, 120)))
    run(f"hdbscan {folder}/old.csv -o {folder}/model.h5 --prediction-data --overwrite")
    go_on = f"hdbscan --model {folder}/model.h5 --insert {folder}/new.csv --overwrite"
    run(f"{go_on} -o {folder}/labels.csv")
    ids = [row["id"] for row in rows_of(folder / "labels.csv")]
    assert ids == [*map(str, range(100, 120)), *(f"q{i}" for i in range(20))]
    write_table(folder / "new.csv", blob(0, 1, 2), ["100"])
    assert main([*go_on.split(), "-q"]) == 1


def test_a_second_table_of_new_points_does_not_replace_the_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"hdbscan --model {folder}/model.h5 " + f"--insert {folder}/new.csv " * 2
    with pytest.raises(SystemExit):
        main(words.split())
    assert "--insert: is given twice; name one file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--model {0}/none.h5 --insert {0}/new.csv", "none.h5: no such file. Make the "
         "model first: mndmst hdbscan POINTS -o {0}/none.h5 --prediction-data"),
        ("{0}/new.csv --model {0}/model.h5 --insert {0}/new.csv", "new.csv: has other "
         "points than version 0 of {0}/model.h5. Leave POINTS out to go on"),
        ("{0}/old.csv --insert {0}/new.csv", "--insert changes a model"),
        ("--model {0}/old.csv --insert {0}/new.csv", "old.csv: give a name in .h5"),
        ("--model {0}/plain.h5 --insert {0}/new.csv", "plain.h5: has no prediction"),
        ("--model {0}/bare.h5 --insert {0}/new.csv", "bare.h5: has no forest to go on"),
        ("--model {0}/foreign.h5 --insert {0}/new.csv", "foreign.h5: exists, and is "
         "not a cluster file that mndmst has written"),
        ("", "give POINTS, or a model by --model"),
    ],
)  # fmt: skip
def test_only_a_model_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    run(f"hdbscan {folder}/old.csv -o {folder}/plain.h5 {SIZE}")
    with h5py.File(folder / "foreign.h5", "w") as file:
        file["labels"] = [0]
    shutil.copy(folder / "model.h5", folder / "bare.h5")
    with h5py.File(folder / "bare.h5", "r+") as file:
        del file["version"]
    capsys.readouterr()
    assert main(["hdbscan", *words.format(folder).split(), "-q"]) == 1
    assert message.format(folder) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version/src", np.full(39, 40)),
        ("version/dst", np.zeros(39)),
        ("version/weight", np.full(39, np.nan)),
        ("version/src", np.arange(7)),
        ("version/dst", np.append(np.arange(1, 39), 38)),
        ("version/point", np.arange(40)[::-1]),
        ("version/point", np.arange(1, 41)),
        ("version/point", np.full(40, -1)),
        ("version/radius", np.zeros(39)),
        ("version/radius", np.full(40, np.nan)),
        ("version/neighbours", np.zeros(4 * 40 + 1, np.uint32)),
        ("version/neighbours", np.zeros(2 * 40, np.uint32)),
        ("version/neighbours", np.full(4 * 40, 40, np.uint32)),
        ("version/neighbours", np.full(4 * 40, 2**32 - 1, np.uint32)),
        ("numbers", np.array([1 << 40])),
        ("parameters", '{"min_cluster_size": 5, "min_samples": 4}'),
        ("parameters", '{"min_cluster_size": -1, "min_samples": 3}'),
        ("parameters", '{"metric": "cosine"}'),
        ("given_params", '{"p": 3}'),
        ("given_params", "[3]"),
        ("metric_params", '{"p": 3}'),
        ("metric", "other"),
        ("metric", "precomputed"),
        ("non_finite", "other"),
        ("next_point", np.uint64(2**64 - 1)),
        ("next_point", np.uint64(41)),
        ("point_version", np.uint64(2**64 - 1)),
    ],
)
def test_a_version_that_contradicts_itself_is_refused(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: np.ndarray | np.uint64 | str,
) -> None:
    with h5py.File(folder / "model.h5", "r+") as file:
        if name in file:
            del file[name]
        if isinstance(value, np.ndarray):
            stored = {"chunks": value.shape, "fletcher32": True}
            file.create_dataset(name, data=value, **stored)
        else:
            write_attributes(file, {name: value})
        file.attrs["next_number"] = 2
    capsys.readouterr()
    words = f"hdbscan --model {folder}/model.h5 --insert {folder}/new.csv"
    assert main([*words.split(), "-q"]) == 1
    said = capsys.readouterr().err
    assert f"{folder}/model.h5: " in said and "bug in mndmst" not in said
    assert "checksums" not in said and "fixed length" not in said


def core_distances(path: Path) -> bytes:
    with h5py.File(path) as file:
        return file["version/radius"][:].tobytes()


@pytest.mark.parametrize(
    ("name", "search", "of_all_points"),
    [("tree", TreeSearch, "neighbours"), ("product", HostProducts, "nearest")],
)
def test_a_model_goes_on_from_the_core_distances_of_its_points(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    search: type[TreeSearch] | type[HostProducts],
    of_all_points: str,
) -> None:
    points = np.random.default_rng(6).normal(size=(700, 5))
    np.save(tmp_path / "old.npy", points[:-1])
    np.save(tmp_path / "new.npy", points[-1:])
    (tmp_path / "gone.txt").write_text("3\n")
    model, fresh = tmp_path / "model.h5", tmp_path / "fresh.h5"
    options = f"--prediction-data {SIZE} --search {name}"
    run(f"hdbscan {tmp_path}/old.npy -o {model} {options}")
    older = shutil.copy(model, tmp_path / "older.h5")
    with h5py.File(older, "r+") as file:
        for known in {"radius", "neighbours"} & file["version"].keys():
            del file["version"][known]
    files = f"--insert {tmp_path}/new.npy --remove {tmp_path}/gone.txt --search {name}"
    run(f"hdbscan --model {older} {files} --save {tmp_path}/now.npy")
    monkeypatch.delattr(search, of_all_points)
    run(f"hdbscan --model {model} {files} --forest {tmp_path}/forest.h5")
    monkeypatch.undo()
    run(f"hdbscan {tmp_path}/now.npy -o {fresh} {options} --forest {tmp_path}/fit.h5")
    forest, fitted = (Forest.read(tmp_path / f"{n}.h5") for n in ("forest", "fit"))
    assert forest.digest == fitted.digest
    assert core_distances(model) == core_distances(older) == core_distances(fresh)


def test_points_that_are_not_finite_have_no_core_distances(tmp_path: Path) -> None:
    points = np.random.default_rng(6).normal(size=(700, 2))
    points[5, 1] = np.nan
    np.save(tmp_path / "old.npy", points)
    options = f"--prediction-data --non-finite noise {SIZE}"
    run(f"hdbscan {tmp_path}/old.npy -o {tmp_path}/model.h5 {options}")
    with h5py.File(tmp_path / "model.h5") as file:
        assert "weight" in file["version"] and "radius" not in file["version"]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_changes_and_labels_may_be_tables_of_arrow(folder: Path, suffix: str) -> None:
    def write(name: str, **columns: object) -> Path:
        path = (folder / name).with_suffix(suffix)
        if suffix == ".parquet":
            pyarrow.parquet.write_table(pyarrow.table(columns), path)
        else:
            pyarrow.feather.write_feather(pyarrow.table(columns), path)
        return path

    x, y = blob(2, 15, 4).T
    new = write("new", id=[f"q{i}" for i in range(15)], x=x, y=y)
    gone = write("gone", day=[1, 1], id=["p0", "p39"])
    labels = folder / f"labels{suffix}"
    changes = f"--insert {new} --remove {gone}"
    run(f"hdbscan --model {folder}/model.h5 {changes} -o {labels} -o {folder}/l.csv")
    read = (
        pyarrow.parquet.read_table
        if suffix == ".parquet"
        else pyarrow.feather.read_table
    )
    written = read(labels).to_pydict()
    rows = rows_of(folder / "l.csv")
    assert list(written) == ["vertex", "id", "label", "probability"]
    assert written["id"] == [row["id"] for row in rows]
    assert written["label"] == [int(row["label"]) for row in rows]
    assert written["probability"] == [float(row["probability"]) for row in rows]
