"""Matrices of distances in the shapes that programs write: one forest, and names."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
import scipy.sparse
from processes import Run
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

import mndmst
from mndmst.__main__ import main
from mndmst.host.errors import ConfigError, InputError
from mndmst.io.formats.matrix_values import FROM
from mndmst.points.point_files import PointTable, read_point_table

NAMES = ["s 1", "b", "NA", "x-4"]
DISTANCES = [[0, 0, 5, 9.5], [0, 0, 6, 8], [5, 6, 0, 7], [9.5, 8, 7, 0]]
WEIGHT = linkage(squareform(np.array(DISTANCES)), "single")[:, 2].sum()


def table_in(folder: Path, text: str, name: str = "d.tsv") -> PointTable:
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return read_point_table(path, metric="precomputed")


def square(separator: str, corner: str | None, column: bool = True) -> str:
    head = [] if corner is None else [corner]
    lines = [separator.join([*head, *NAMES])]
    for name, row in zip(NAMES, DISTANCES, strict=True):
        lines.append(separator.join([*[name][:column], *map(str, row)]))
    return "\n".join(lines) + "\n"


def triangle(upper: bool, diagonal: bool, header: bool, pad: str | None = None) -> str:
    lines = ["\t".join(["name", *NAMES])] * header
    for i, (name, row) in enumerate(zip(NAMES, DISTANCES, strict=True)):
        cells = list(map(str, row))
        kept = cells[i + 1 - diagonal :] if upper else cells[: i + diagonal]
        if pad is not None:
            padding = [pad] * (len(cells) - len(kept))
            kept = padding + kept if upper else kept + padding
        lines.append("\t".join([name, *kept]))
    return "\n".join(lines) + "\n"


SHAPES = {
    "snp-dists": square("\t", "snp-dists 0.8.2"),
    "cgmlst-dists": square("\t", "#cgmlst-dists"),
    "empty corner": square(",", ""),
    "no corner": square("\t", None),
    "semicolons": square(";", "x").replace(".", ","),
    "quoted": square(",", "").replace("s 1", '"s 1"').replace("b", '"b"'),
    "header alone": square(",", None, column=False),
    "column alone": "".join(square("\t", "").splitlines(True)[1:]),
    "comments": "# made by a program\n\n" + square("\t", "id"),
    "marks of Windows": "\ufeff" + square("\t", "id").replace("\n", "\r\n") + "\r\n",
    "phylip": "  4\n" + "".join(square("\t", "").splitlines(True)[1:]),
    "phylip lower": "4\n" + triangle(False, False, False),
    "trailing separators": square("\t", "id").replace("\n", "\t\n"),
    "missing": square("\t", "id").replace("\t9.5\n", "\t-\n", 1),
    "dashes on the diagonal": triangle(False, False, True, "-"),
    **{
        f"{'upper' if upper else 'lower'} {diagonal} {header} {pad}": triangle(
            upper, diagonal, header, pad
        )
        for upper in (False, True)
        for diagonal in (False, True)
        for header in (False, True)
        for pad in (None, "", "NA")
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["d.tsv", "d.csv.gz"])
def test_one_matrix_from_every_shape(tmp_path: Path, shape: str, name: str) -> None:
    text = SHAPES[shape]
    if shape == "trailing separators":
        first, *rest = text.split("\n")
        text = "\n".join([first.rstrip("\t"), *rest])
    found = table_in(tmp_path, text, name)
    assert found.points.tolist() == DISTANCES
    assert found.ids is not None and found.ids.tolist() == NAMES
    assert "distances of 4 points with names: " in found.notes[0]


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("column", ["index", "sample", None])
def test_typed_tables(tmp_path: Path, suffix: str, column: str | None) -> None:
    frame = pandas.DataFrame(DISTANCES, columns=NAMES, index=NAMES)
    if column is not None:
        frame = frame.rename_axis(column).reset_index()
    elif suffix == ".feather":
        frame = frame.reset_index(drop=True)
    path = tmp_path / f"d{suffix}"
    getattr(frame, f"to_{suffix[1:]}")(path)
    found = read_point_table(path, metric="precomputed")
    assert found.points.tolist() == DISTANCES
    assert found.ids is not None and found.ids.tolist() == NAMES


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";"])
def test_numbers_alone_have_no_names(tmp_path: Path, separator: str) -> None:
    rows = [separator.join(map(str, row)) for row in DISTANCES]
    found = table_in(tmp_path, "\n".join(rows))
    assert (found.points.tolist(), found.ids) == (DISTANCES, None)
    lower = "\n".join(
        separator.join(map(str, row[: i + 1])) for i, row in enumerate(DISTANCES)
    )
    assert table_in(tmp_path, lower).points.tolist() == DISTANCES


@pytest.mark.parametrize("names", [["101", "7", "33", "5"], ["0", "1", "2", "3"]])
def test_names_that_are_numbers(tmp_path: Path, names: list[str]) -> None:
    frame = pandas.DataFrame(DISTANCES, columns=names, index=names)
    frame.to_csv(tmp_path / "d.csv")
    found = read_point_table(tmp_path / "d.csv", metric="precomputed")
    assert found.points.tolist() == DISTANCES
    expected = None if names[0] == "0" else list(map(int, names))
    assert (None if found.ids is None else found.ids.tolist()) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x\ta\tb\na\t0\t1\nb\t2\t0\n", "distances of a and b differ: 2 below"),
        ("x\ta\tb\na\t0\t-1\nb\t-1\t0\n", "distance of a and b is -1"),
        ("x\ta\tb\na\t0\tNA\nb\t-\t0\n", "distance of a and b is missing"),
        ("x\ta\tb\na\t0\tinf\nb\tinf\t0\n", "distance of a and b is inf"),
        ("x\ta\tb\na\t1\t0.5\nb\t0.5\t1\n", "a and itself is 1, .*--from correlation"),
        ("x\ta\tb\na\t9\t5\nb\t5\t8\n", "a and itself is 9, .*not similarities"),
        ("x\ta\tb\nb\t0\t1\na\t1\t0\n", "row 1 is named b and column 1 a"),
        ("x\ta\ta\na\t0\t1\na\t1\t0\n", "two rows are named a"),
        ("x\ta\tb\na\t0\tfar\nb\t1\t0\n", 'line 2 has "far", and a distance is'),
        ("x\ta\tb\tc\na\t0\t1\t2\nb\t1\t0\t3\n", "has 2 rows and names 4 columns"),
        ("0 1 2\n1 0 3\n", "line 1 has 3 distances of 2 points"),
        ("5\n6 7\n3 4 5\n", "is a triangle without names, and has other numbers"),
        ("x\ta\n", "has 1 row"),
        ("\t3\t4\n3\t\t5\n4\t5\t\n", "may be names, or distances beside an empty"),
    ],
)
def test_other_tables_are_refused_with_the_place(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(InputError, match=rf"d\.tsv: .*{problem}"):
        table_in(tmp_path, text)


def test_columns_are_of_points(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text(square("\t", "x"))
    with pytest.raises(ConfigError, match="--columns names coordinates"):
        read_point_table(tmp_path / "d.tsv", columns="b", metric="precomputed")


def test_names_come_back_in_all_results(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text(square("\t", "snp-dists 0.8.2"))
    command = ["linkage", str(path), "--metric", "precomputed", "-q"]
    for out in ("tree.nwk", "tree.h5"):
        assert main([*command, "-o", str(tmp_path / out), "--overwrite"]) == 0
    assert main([*command, "--forest", str(tmp_path / "f.h5")]) == 0
    assert main(["verify", str(path), str(tmp_path / "f.h5")]) == 0
    assert main(["convert", str(tmp_path / "f.h5"), str(tmp_path / "f.csv")]) == 0
    labels = ["--min-cluster-size", "2", "--min-samples", "1"]
    command[0] = "hdbscan"
    assert main([*command, *labels, "-o", str(tmp_path / "labels.csv")]) == 0
    newick = (tmp_path / "tree.nwk").read_text()
    for name in ("'s 1'", "b", "NA", "x-4"):
        assert f"{name}:" in newick
    with h5py.File(tmp_path / "tree.h5") as file:
        assert [name.decode() for name in file["ids"][:]] == NAMES
        assert file["linkage"][:, 2].sum() == WEIGHT
    rows = [line.split(",") for line in (tmp_path / "f.csv").read_text().splitlines()]
    assert sum(float(row[2]) for row in rows[1:]) == WEIGHT
    assert {end for row in rows[1:] for end in row[:2]} == set(NAMES)
    lines = (tmp_path / "labels.csv").read_text().splitlines()
    assert lines[0].startswith("vertex,name,label,")
    assert [line.split(",")[1] for line in lines[1:]] == NAMES


@pytest.mark.parametrize("command", ["linkage {} --forest", "solve {} -o"])
@pytest.mark.parametrize("name", ["forest.csv", "forest.tsv", "forest.h5"])
def test_the_forest_of_a_matrix_is_a_table_or_a_file(
    tmp_path: Path, command: str, name: str
) -> None:
    path, forest = tmp_path / "d.tsv", tmp_path / name
    path.write_text(square("\t", "snp-dists 0.8.2"))
    words = [*command.format(path).split(), str(forest), "--metric", "precomputed"]
    assert main([*words, "-q"]) == 0
    if name == "forest.h5":
        assert main(["verify", str(path), str(forest)]) == 0
        return
    separator = "," if name == "forest.csv" else "\t"
    header, *rows = (r.split(separator) for r in forest.read_text().splitlines())
    assert header == ["source", "target", "weight"]
    assert sum(float(row[2]) for row in rows) == WEIGHT
    assert {end for row in rows for end in row[:2]} == set(NAMES)


def test_solve_takes_correlations_as_linkage_does(tmp_path: Path) -> None:
    path = correlation_file(tmp_path, "r.csv")
    files = [tmp_path / "linkage.tsv", tmp_path / "solve.tsv"]
    values = ["--metric", "precomputed", "--from", "correlation:1-r", "-q"]
    assert main(["linkage", str(path), *values, "--forest", str(files[0])]) == 0
    assert main(["solve", str(path), *values, "-o", str(files[1])]) == 0
    assert files[0].read_text() == files[1].read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--metric precomputed --labels", "--labels takes a graph"),
        ("--metric precomputed --memory 1GiB", "--memory takes a graph"),
        ("--metric precomputed --light-edges 2", "--light-edges takes a graph"),
        ("--metric precomputed -o {0}/a.h5 -o {0}/b.csv", "goes to one file"),
        ("--metric precomputed -o {0}/a.png", "give a name in .h5, .hdf5, .csv, .tsv"),
        ("--from correlation", "give --metric precomputed, too"),
    ],
)
def test_solve_refuses_options_that_a_matrix_does_not_take(
    tmp_path: Path, capsys: pytest.CaptureFixture, words: str, said: str
) -> None:
    path = tmp_path / "d.tsv"
    path.write_text(square("\t", "snp-dists 0.8.2"))
    assert main(["solve", str(path), *words.format(tmp_path).split()]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("command", ["partition {} g", "linkage {}", "hdbscan {}"])
@pytest.mark.parametrize("labelled", [False, True])
def test_messages_advise_the_metric_which_keeps_distances_of_zero(
    tmp_path: Path, command: str, labelled: bool, mndmst: Callable[..., Run]
) -> None:
    """A sparse matrix would lose them; the advice is followed as it stands."""
    path = tmp_path / "d.tsv"
    names = [f"a rather long name of a sample, number {i}" for i in range(300)]
    points = np.arange(300) // 2
    matrix = np.abs(points[:, None] - points)
    text = "\n".join("\t".join(map(str, row)) for row in matrix.tolist())
    if labelled:
        frame = pandas.DataFrame(matrix, names, names)
        text = "dists" + frame.to_csv(sep="\t")
    path.write_text(text)
    run = mndmst(*command.format(path).replace(" g", f" {tmp_path}/g").split())
    if labelled or command.startswith("partition"):
        assert run.returncode
        assert "--metric precomputed" in run.stderr
    assert "save_npz" not in run.stderr and len(run.stderr) < 1000
    run = mndmst("linkage", path, "--metric", "precomputed")
    assert f"weight={149.0}" in run.stdout
    np.savez(tmp_path / "d.npz", matrix)
    run = mndmst("partition", tmp_path / "d.npz", tmp_path / "g")
    advised = f"mndmst solve {tmp_path}/d.npz --metric precomputed"
    assert run.returncode and advised in run.stderr and "save_npz" not in run.stderr
    run = mndmst(*advised.split()[1:])
    assert f"weight={149.0}" in run.stdout


CORRELATIONS = [[1, 0.25, -0.5, 0], [0.25, 1, 0.5, -1], [-0.5, 0.5, 1, 0.1],
                [0, -1, 0.1, 1]]  # fmt: skip
FORMULAS = {
    "correlation": lambda r: np.sqrt(2 * (1 - r)),
    "correlation:1-r": lambda r: 1 - r,
}


def correlation_file(folder: Path, name: str) -> Path:
    """Write the correlations as pandas or NumPy writes them, or as a triangle."""
    path, frame = folder / name, pandas.DataFrame(CORRELATIONS, NAMES, NAMES)
    match path.stem, path.suffix:
        case "lower", _:
            rows = frame.round(9).astype(str).to_numpy()
            lines = ["\t".join([NAMES[i], *rows[i, : i + 1]]) for i in range(4)]
            path.write_text("\n".join(lines))
        case _, ".npy":
            np.save(path, frame.to_numpy(np.float32))
        case _, ".parquet":
            frame.to_parquet(path)
        case _:
            frame.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("name", ["r.csv", "r.tsv", "lower.tsv", "r.parquet", "r.npy"])
@pytest.mark.parametrize("formula", FROM)
def test_correlations_become_distances_by_the_named_formula(
    tmp_path: Path, capsys: pytest.CaptureFixture, name: str, formula: str
) -> None:
    path, forest = correlation_file(tmp_path, name), tmp_path / "f.h5"
    matrix = np.array(CORRELATIONS)
    if name == "r.npy":
        matrix = matrix.astype(np.float32).astype(np.float64)
    distances = FORMULAS[formula](matrix)
    expected = linkage(squareform(distances), "single")
    words = ["linkage", str(path), "--metric", "precomputed", "--from", formula]
    files = ["-o", str(tmp_path / "tree.h5"), "--forest", str(forest)]
    assert main([*words, *files]) == 0
    note = capsys.readouterr().err.splitlines()[0]
    assert "correlations of 4 points" in note
    largest = 2  # of the correlation -1, by both formulas
    assert f"distances {FROM[formula].formula} up to {largest};" in note
    assert note.endswith("2 pairs with a negative correlation")
    with h5py.File(tmp_path / "tree.h5") as file:
        np.testing.assert_array_equal(file["linkage"][:, 2], expected[:, 2])
    assert main(["verify", str(path), str(forest)]) == 0
    with h5py.File(forest, "r+") as file:
        file["forest/weight"][1] = np.nextafter(file["forest/weight"][1], 9)
    assert main(["verify", str(path), str(forest)]) == 1


@pytest.mark.parametrize("formula", FROM)
def test_python_takes_correlations_by_the_same_name(formula: str) -> None:
    matrix = np.array(CORRELATIONS)
    distances = FORMULAS[formula](matrix)
    parameters = {"from": formula}
    found = mndmst.single_linkage(matrix, "precomputed", metric_params=parameters)
    np.testing.assert_array_equal(
        found, mndmst.single_linkage(distances, "precomputed")
    )
    model = mndmst.HDBSCAN(2, 1, metric="precomputed", metric_params=parameters)
    np.testing.assert_array_equal(
        model.fit(matrix).linkage_,
        mndmst.HDBSCAN(2, 1, metric="precomputed").fit(distances).linkage_,
    )


def test_rounding_beyond_1_is_1_and_of_two_mirrored_values_the_larger_counts() -> None:
    matrix = [[1 + 1e-7, 0.5, -1 - 1e-7], [0.5 + 1e-9, 1, 0.25], [-1, 0.25, 1 - 1e-7]]
    found = mndmst.single_linkage(
        matrix, "precomputed", metric_params={"from": "correlation:1-r"}
    )
    assert found[:, 2].tolist() == [1 - (0.5 + 1e-9), 0.75]


@pytest.mark.parametrize(
    ("i", "j", "value", "problem"),
    [
        (1, 3, 1.01, "correlation of {1} and {3} is 1.01. Give a number from -1 to 1"),
        (3, 1, -1.5, "correlation of {1} and {3} is -1.5. Give a number"),
        (2, 3, np.inf, "correlation of {2} and {3} is inf. Give"),
        (0, 2, 0.5, "correlations of {0} and {2} differ: -0.5 below the diagonal, 0.5"),
        (2, 2, 0, "the correlation of {2} and itself is 0, and a correlation is 1"),
        (1, 1, 4, "the correlation of {1} and itself is 4, and"),
    ],
)
def test_other_matrices_than_correlations_are_refused_with_the_place(
    tmp_path: Path, i: int, j: int, value: float, problem: str
) -> None:
    matrix = np.array(CORRELATIONS, np.float64)
    matrix[i, j] = value
    pandas.DataFrame(matrix, NAMES, NAMES).to_csv(tmp_path / "r.csv")
    np.save(tmp_path / "r.npy", matrix)
    with pytest.raises(InputError, match=re.escape(problem.format(*NAMES))):
        read_point_table(
            tmp_path / "r.csv", metric="precomputed", values=FROM["correlation"]
        )
    if np.isfinite(value):
        for_arrays = problem.replace("of {1} and {3}", "of points 1 and 3 (from 0)")
        for_arrays = for_arrays.replace("of {0} and {2}", "of points 0 and 2 (from 0)")
        for_arrays = re.sub(
            r"of \{(.)\} and itself", r"of point \1 and itself", for_arrays
        )
        with pytest.raises(InputError, match=re.escape(for_arrays)):
            read_point_table(
                tmp_path / "r.npy", metric="precomputed", values=FROM["correlation"]
            )
        with pytest.raises(InputError, match=re.escape(for_arrays)):
            mndmst.single_linkage(
                matrix, "precomputed", metric_params={"from": "correlation"}
            )


def test_a_constant_series_has_no_correlation(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"a": [1, 2, 4.0], "b": [3, 1, 5.0], "flat": [7, 7, 7.0]})
    frame.corr().to_csv(tmp_path / "r.csv")
    with pytest.raises(InputError, match="correlation of a and flat is missing"):
        read_point_table(
            tmp_path / "r.csv", metric="precomputed", values=FROM["correlation"]
        )


@pytest.mark.parametrize(
    ("matrix", "parameters", "error", "problem"),
    [
        (np.eye(3), {"from": "covariance"}, ConfigError, "give correlation or"),
        (np.eye(3), {"form": "correlation"}, ConfigError, "form goes with the metric"),
        (np.ones(3), {"from": "correlation"}, InputError, "dense square matrix"),
        (np.ones((2, 3)), {"from": "correlation"}, InputError, "give a square one"),
        (scipy.sparse.eye(3), {"from": "correlation"}, InputError, "dense square"),
    ],
)
def test_python_refuses_other_values(
    matrix: object, parameters: dict, error: type, problem: str
) -> None:
    with pytest.raises(error, match=problem):
        mndmst.single_linkage(matrix, "precomputed", metric_params=parameters)


def test_the_option_has_the_names_of_the_table(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        main(["linkage", "--help"])
    assert f"--from {{{','.join(FROM)}}}" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["r.csv", "r.npy"])
def test_the_advice_on_correlations_is_followed_as_it_stands(
    tmp_path: Path, name: str, mndmst: Callable[..., Run]
) -> None:
    path = correlation_file(tmp_path, name)
    words = "linkage", path, "--metric", "precomputed"
    run = mndmst(*words)
    assert run.returncode and run.stderr.count("\n") == 1
    (advised,) = re.findall("give (--from correlation) ", run.stderr)
    run = mndmst(*words, *advised.split(), "-o", tmp_path / "tree.nwk")
    assert run.returncode == 0 and "distances sqrt(2(1-r)) up to 2;" in run.stderr
    assert ("x-4:" in (tmp_path / "tree.nwk").read_text()) == (name == "r.csv")
