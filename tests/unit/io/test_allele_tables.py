"""Tables of alleles as programs write them: distances by definition, and names."""

import gzip
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
from processes import Run

import mndmst
from mndmst.host.errors import ConfigError, InputError
from mndmst.io.formats.allele_tables import LEAST_TEXT
from mndmst.points.pairwise_forest import rows_of
from mndmst.points.point_files import PointTable, read_point_table
from mndmst.points.row_metrics import ALLELE_METRICS, MISSING_RULES

SAMPLES = ["Oslo-1", "Oslo 2", "007", "x"]
LOCI = ["lmo0002", "lmo0003", "lmo0005", "lmo0006"]
ALLELES = [[1, 2, 3, 0], [1, 4, 0, 0], [12, 2, 3, 9], [0, 0, 0, 5]]
TEXTS = {1: "1", 2: "2", 3: "3", 4: "4", 5: "5", 9: "9", 12: "12", 0: "0"}


def table_in(folder: Path, text: str, name: str = "t.tsv", **more: str) -> PointTable:
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return read_point_table(path, metric="alleles", **more)


def written(
    corner: str | None = "FILE",
    separator: str = "\t",
    texts: dict[int, str] = TEXTS,
    missing: tuple[str, ...] = ("0",),
) -> str:
    """Write the alleles, with marks of missing ones in turn."""
    head = [] if corner is None else [corner]
    lines, marks = [separator.join([*head, *LOCI])], 0
    for sample, row in zip(SAMPLES, ALLELES, strict=True):
        cells = [texts[allele] for allele in row]
        for i, allele in enumerate(row):
            if allele == 0:
                cells[i] = missing[marks % len(missing)]
                marks += 1
        lines.append(separator.join([sample, *cells]))
    return "\n".join(lines) + "\n"


CLASSES = (
    "LNF",
    "PLNF",
    "ASM",
    "ALM",
    "NIPH",
    "NIPHEM",
    "PLOT3",
    "PLOT5",
    "LOTSC",
    "PAMA",
)
INFERRED = TEXTS | {12: "INF-12", 9: "*9", 4: "INF-*4"}
TABLES = {
    "chewBBACA": written(texts=INFERRED, missing=CLASSES[:5]),
    "chewBBACA, other classes": written(missing=CLASSES[5:]),
    "ExtractCgMLST, ReporTree": written(),
    "GrapeTree": written("#Strain", missing=("-",)),
    "GrapeTree with comments": "## made by a program\n\n" + written("#Name"),
    "SeqSphere": written("Sample ID", ";", missing=("? (not found)", "? (failed)", "")),
    "pandas": written("", ",", {k: f"{k}.0" for k in TEXTS}, ("", "0.0")),
    "R": written(None, missing=("NA",)),
    "negative numbers": written(missing=("-1", "0", "-2.0")),
    "Windows": "\ufeff" + written().replace("\n", "\r\n"),
    "quoted": written(separator=",").replace("Oslo 2", '"Oslo 2"'),
}


@pytest.mark.parametrize("program", TABLES)
@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz"])
def test_one_table_from_every_program(tmp_path: Path, program: str, name: str) -> None:
    found = table_in(tmp_path, TABLES[program], name)
    assert found.points.tolist() == ALLELES
    assert found.ids is not None and found.ids.tolist() == SAMPLES
    assert found.names == tuple(LOCI)
    assert f"{name}: alleles of 4 samples at 4 loci; 6 missing (" in found.notes[0]


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("marks", [False, True])
def test_typed_tables(tmp_path: Path, suffix: str, marks: bool) -> None:
    frame = pandas.DataFrame(ALLELES, SAMPLES, LOCI).replace(0, np.nan)
    if marks:
        frame = pandas.DataFrame(
            [line.split("\t")[1:] for line in TABLES["chewBBACA"].splitlines()[1:]],
            SAMPLES, LOCI,
        )  # fmt: skip
    if suffix == ".feather":
        frame = frame.rename_axis("FILE").reset_index()
    path = tmp_path / f"t{suffix}"
    getattr(frame, f"to_{suffix[1:]}")(path)
    found = read_point_table(path, metric="alleles")
    assert found.points.tolist() == ALLELES
    assert found.ids is not None and found.ids.tolist() == SAMPLES


def test_the_note_counts_the_marks_and_names_what_is_left_out(tmp_path: Path) -> None:
    text = "#ID\tST\t#country\ta\tb\nx\t11\tNO\t1\tLNF\ny\t11\tSE\t-\tLNF\n"
    found = table_in(tmp_path, text)
    assert found.notes[0].endswith(
        "alleles of 2 samples at 2 loci; 3 missing (LNF 2, - 1); left out: ST, #country"
    )
    assert found.names == ("a", "b") and found.id_name == "ID"
    assert table_in(tmp_path, text, columns="b, ST").points.tolist() == [[0, 11]] * 2


def test_texts_are_alleles_that_are_the_same_in_every_table(tmp_path: Path) -> None:
    """Hashes of sequences, and bases; a hash may have digits alone."""
    text = "FILE\ta\tb\tc\nx\t{}\t12345678\te1\ny\t{}\t0\te2\nz\t{}\tdeadbeef\te2\n"
    one = table_in(tmp_path, text.format("1f00aa23", "LNF", "77aa0b11"))
    other = table_in(tmp_path, text.format("77aa0b11", "1f00aa23", "?"), "u.tsv")
    assert ", as texts; 2 missing (LNF 1, 0 1)" in one.notes[0]
    assert one.points[[0, 2], 0].tolist() == other.points[[1, 0], 0].tolist()
    assert one.points[:, 1].tolist() == other.points[:, 1].tolist()
    assert one.points[0, 1] == 12345678 and one.points[2, 1] >= LEAST_TEXT
    assert len(set(one.points[:, 0].tolist())) == 3
    for corner in ("#S1", "Sample", ""):
        table_in(tmp_path, f"{corner}\t1\t2\nx\tA\tG\n", "v.tsv")
    bases = table_in(tmp_path, "pos\t100\t2000\nx\tA\tN\ny\tG\t-\n", "s.tsv")
    assert (bases.points > 0).tolist() == [[True, False]] * 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("FILE\ta\tb\nx\t1\t2\ny\t1\tFAIL\n", 'line 3 has "FAIL" at b, and other'),
        ("FILE\ta\tcc\nx\t1\tC1\ny\t2\tC2\n", 'line 2 has "C1" at cc, and other'),
        ("FILE\ta\tb\nx\t1\n", "line 2 has 2 columns, not 3"),
        ("FILE\ta\tb\nx\t1\t1\nx\t2\t2\n", "two rows are named x"),
        ("FILE\ta\ta\nx\t1\t1\ny\t2\t2\n", "two columns are named a"),
        ("FILE\ta\tb\n\t1\t1\ny\t2\t2\n", "line 2 has no name of a sample"),
        ("FILE\ta\tb\nx\t1\t1\n#y\t2\t2\n", "line 3 begins with #"),
        ("w\t5\t7\t7\nx\t1\t1\t1\ny\t2\t2\t3\n", "columns are named 7"),
        ("w\t9\t7\nx\t1\t1\ny\t2\t2\n", "its first line has alleles"),
        ("w\t1\tINF-7\tLNF\nx\t1\t1\t3\n", "its first line has alleles"),
        ("S1\t1\t2\t3\nS2\t1\t1\t1\n", "may name loci by numbers, or be the sample S1"),
        ("FILE\ta\tb\nx\t0.5\t1.25\n", "line 2 has 0.5, and an allele is a whole"),
        ("FILE\ta\tb\n", "holds no samples"),
        ("FILE\tST\nx\t1\n", "has no column of a locus"),
    ],
)
def test_other_tables_are_refused_with_the_place(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(InputError, match=rf"t\.tsv: .*{problem}"):
        table_in(tmp_path, text)


def test_two_texts_of_one_digest_stay_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Constant:
        def __init__(self, *_: object, **__: object) -> None: ...

        def digest(self) -> bytes:
            return b"\xff" * 8

    monkeypatch.setattr("mndmst.io.formats.allele_tables.blake2b", Constant)
    found = table_in(tmp_path, "FILE\ta\nx\tA\ny\tC\nz\tA\n").points[:, 0].tolist()
    assert found[0] == found[2] != found[1] and min(found) >= LEAST_TEXT


def by_definition(metric: str, rule: str) -> list[list[float]]:
    """Return the distances of the alleles, locus by locus."""
    found = []
    for one in ALLELES:
        found.append([])
        for other in ALLELES:
            pairs = list(zip(one, other, strict=True))
            common = [(a, b) for a, b in pairs if a and b]
            differ = sum(a != b for a, b in common)
            loci = len(pairs)
            if rule == "differ":
                differ += len(pairs) - len(common)
            if rule == "ignore" and not common:
                differ = loci = len(pairs)
            elif rule == "ignore":
                loci = len(common)
            distance = differ / loci if metric == "allele_shares" else differ
            found[-1].append(0 if one is other else distance)
    return found


@pytest.mark.parametrize("rule", MISSING_RULES)
@pytest.mark.parametrize("metric", ALLELE_METRICS)
def test_distances_are_those_of_the_definition(metric: str, rule: str) -> None:
    rows = rows_of(np.array(ALLELES, float), metric, {"missing_rule": rule})
    assert [rows.row(i).tolist() for i in range(4)] == by_definition(metric, rule)
    below = np.where(np.array(ALLELES) == 0, -1.0, ALLELES)
    same = rows_of(below, metric, {"missing_rule": rule})
    assert [same.row(i).tolist() for i in range(4)] == by_definition(metric, rule)


def test_shares_are_those_of_hamming_with_a_mark() -> None:
    points = np.random.default_rng(4).integers(0, 4, (30, 200)).astype(np.float64)
    for rule in MISSING_RULES:
        shares = rows_of(points, "allele_shares", {"missing_rule": rule})
        hamming = rows_of(points, "hamming", {"missing": 0, "missing_rule": rule})
        counts = rows_of(points, "alleles", {"missing_rule": rule})
        for i in range(30):
            assert shares.row(i).tolist() == hamming.row(i).tolist()
            if rule != "ignore":
                assert np.allclose(counts.row(i), 200 * shares.row(i))


def test_python_reads_the_table_and_clusters_it(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(TABLES["chewBBACA"])
    points = mndmst.read_points(tmp_path / "t.tsv", metric="alleles")
    assert points.tolist() == ALLELES
    rule = {"missing_rule": "equal"}
    heights = mndmst.single_linkage(points, "alleles", metric_params=rule)[:, 2]
    assert heights.tolist() == [0, 0, 1]
    model = mndmst.HDBSCAN(2, 1, metric="alleles", metric_params=rule).fit(points)
    assert model.forest_.weight.sum() == sum(model.linkage_[:, 2])
    with pytest.raises(ConfigError, match="missing goes with the metric hamming"):
        mndmst.single_linkage(points, "alleles", metric_params={"missing": 0})


def test_hamming_of_a_table_of_alleles_advises_the_metric(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("FILE\ta\tb\nx\t1\tINF-2\ny\t1\tLNF\n")
    with pytest.raises(InputError, match="give --metric alleles"):
        read_point_table(tmp_path / "t.tsv", metric="hamming")


@pytest.mark.slow
def test_names_come_back_in_all_results(
    tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    path = tmp_path / "alleles.profile"
    path.write_text(TABLES["chewBBACA"])
    words = path, "--metric", "alleles"
    run = mndmst("solve", path)
    assert run.returncode and '"mndmst linkage FILE --forest FOREST.h5"' in run.stderr
    run = mndmst(
        "linkage", *words, "-o", tmp_path / "t.nwk", "--forest", tmp_path / "f.h5"
    )
    assert run.returncode == 0 and "weight=3.0" in run.stdout
    assert "number of loci that differ; loci that one of two samples" in run.stderr
    newick = (tmp_path / "t.nwk").read_text()
    assert all(f"{name}:" in newick for name in ("Oslo-1", "'Oslo 2'", "007", "x"))
    run = mndmst("verify", path, tmp_path / "f.h5")
    assert run.returncode == 0 and "VERDICT ok" in run.stdout
    assert mndmst("convert", tmp_path / "f.h5", tmp_path / "f.csv").returncode == 0
    rows = [line.split(",") for line in (tmp_path / "f.csv").read_text().splitlines()]
    assert {end for row in rows[1:] for end in row[:2]} == set(SAMPLES)
    model, labels = tmp_path / "model.h5", tmp_path / "labels.csv"
    few = "--min-cluster-size", "2", "--min-samples", "1", "--allow-single-cluster"
    run = mndmst("hdbscan", *words, *few, "-o", model, "--prediction-data")
    assert run.returncode == 0
    with h5py.File(model) as file:
        assert [name.decode() for name in file["ids"][:]] == SAMPLES
    assert mndmst("predict", model, path, "-o", labels).returncode == 0
    lines = labels.read_text().splitlines()
    assert lines[0].startswith("vertex,FILE,label,")
    assert [line.split(",")[1] for line in lines[1:]] == SAMPLES
