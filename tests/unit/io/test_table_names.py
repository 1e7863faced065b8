"""Tables whose ends are names: text, or integers that are not numbers of vertices."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from killed_partition import killed_in, without
from processes import Run
from test_partition import digest

from mndmst.host.errors import ConfigError, InputError
from mndmst.io.formats import open_edges, read_edges, write_edges
from mndmst.io.names import NameKind
from mndmst.io.partitioner.edge_survey import BufferSizes
from mndmst.io.partitioner.forked_processes import run_forked
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.shards.sharded_graph import ShardedGraph

# Names that a table may quote, but not break over lines
NAMES = (
    "a,b", 'say "hi"', "tab\there", " blanks ", "01", "1", "é", "e\u0301", "東京",
    "#comment", "a;b", "null", "1e5", "a1b2c3d4-0000-4000-8000-00000000000a", "x" * 300,
)  # fmt: skip
BIG = (2**63 - 1, 7, 12_000_000_000, 2**48, 2**50 + 1)
UNSIGNED = (2**64 - 1, 2**63, 7, 2**48)
SIGNED = (-1, -(2**63), 2**63 - 1, 0)


def rows_of(names: tuple) -> list[tuple]:
    """Return the edges of a circle, whose weights tell them apart."""
    pairs = zip(names, (*names[1:], names[0]), strict=True)
    return [(u, v, w) for w, (u, v) in enumerate(pairs, 5)]


def made(file: Path, out: Path, jobs: int = 1, **options: object) -> ShardedGraph:
    given = Options(out, **{"parts": 3, "quiet": True, **options})
    return run_forked(jobs, partition, open_edges(file), given)


def table(path: Path, rows: list[tuple]) -> Path:
    """Write rows as the format that the suffix says, as its library does."""
    columns = list(zip(*rows, strict=True))
    named = dict(zip(("source", "target", "weight"), map(list, columns), strict=True))
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8") as file:
            quoting = csv.writer(
                file,
                delimiter="," if path.suffix == ".csv" else "\t",
                lineterminator="\n",
                quoting=csv.QUOTE_NONNUMERIC,
            )
            quoting.writerows([tuple(named), *rows])
    elif path.suffix == ".json":
        records = [dict(zip(named, row, strict=True)) for row in rows]
        path.write_text(json.dumps(records))
    else:
        arrow = pytest.importorskip("pyarrow")
        if any(end >= 2**63 for end in columns[0] if isinstance(end, int)):
            named |= {
                side: np.array(named[side], np.uint64) for side in ("source", "target")
            }
        whole = arrow.table(named)
        if path.suffix == ".parquet":
            parquet = pytest.importorskip("pyarrow.parquet")
            parquet.write_table(whole, path, row_group_size=3)
        else:
            ipc = pytest.importorskip("pyarrow.ipc")
            with ipc.new_file(path, whole.schema) as file:
                file.write_table(whole, 3)
    return path


def edges_of(graph: ShardedGraph) -> dict[frozenset, float]:
    """Return the weights of a graph's edges by the values of their names."""
    edges = read_edges(graph.location)
    values = edges.names.values()
    columns = edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist()
    return {
        frozenset((values[u], values[v])): w for u, v, w in zip(*columns, strict=True)
    }


FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".json")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("names", "kind", "jobs"),
    [
        (NAMES, NameKind.TEXT, 1),
        (NAMES, NameKind.TEXT, 3),
        (BIG, NameKind.INT64, 1),
        (UNSIGNED, NameKind.UINT64, 1),
        (SIGNED, NameKind.INT64, 3),
    ],
    ids=["text", "text by three", "big", "unsigned", "signed by three"],
)
def test_a_table_of_names_makes_a_graph_that_keeps_them(
    tmp_path: Path, suffix: str, names: tuple, kind: NameKind, jobs: int
) -> None:
    graph = made(table(tmp_path / f"g{suffix}", rows_of(names)), tmp_path / "g", jobs)
    assert graph.names is kind
    found = graph.read_names(0, graph.num_vertices).values()
    assert found == sorted(names)
    assert edges_of(graph) == {frozenset((u, v)): w for u, v, w in rows_of(names)}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".json"])
@pytest.mark.parametrize("names", [NAMES, BIG, SIGNED], ids=["text", "big", "signed"])
def test_a_graph_survives_its_own_tables(
    tmp_path: Path, suffix: str, names: tuple
) -> None:
    first = made(table(tmp_path / "g.json", rows_of(names)), tmp_path / "first")
    write_edges(read_edges(first.location), tmp_path / f"g{suffix}")
    assert made(tmp_path / f"g{suffix}", tmp_path / "second").uuid == first.uuid


def test_one_text_far_down_makes_all_ids_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{k},{k + 1},{k}" for k in range(1000)]
    lines.insert(800, "01,1,9")
    lines.insert(850, "7,A1,9")
    (tmp_path / "g.csv").write_text("\n".join(["source,target,weight", *lines]) + "\n")
    monkeypatch.setattr("mndmst.io.formats.edge_text.TextFile.piece_bytes", 700)
    graphs = [
        made(tmp_path / "g.csv", tmp_path / f"{jobs}-{order}", jobs, reorder=order)
        for jobs in (1, 4)
        for order in ("none", "degree")
    ]
    assert {graph.names for graph in graphs} == {NameKind.TEXT}
    assert len({graph.uuid for graph in graphs}) == 2
    assert digest(tmp_path / "1-none") == digest(tmp_path / "4-none")
    names = graphs[0].read_names(0, graphs[0].num_vertices).texts()
    assert names == sorted({str(k) for k in range(1001)} | {"01", "A1"})
    edges = edges_of(graphs[0])
    assert edges[frozenset(("01", "1"))] == 9 != edges[frozenset(("0", "1"))]


def test_a_line_says_which_names_there_are(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = table(tmp_path / "g.csv", rows_of(("Rome", "Paris", "Bonn")))
    made(file, tmp_path / "g", quiet=False)
    said = "g.csv: its vertices have names (text, from Bonn to Rome), which the graph"
    assert said in capfd.readouterr().err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"source,target,weight\na,,1\n", "line 2 has nothing in column target"),
        (b"source,target,weight\n0,1,2\nb,,1\n", "line 3 has nothing"),
        (b"source,target,weight\na,\xff\xfe,1\n", "is not UTF-8"),
        (b"source,target,weight\na,b,1\na,b,x\n", 'line 3 has "x" in column weight'),
        (b'source,target,weight\na,"b\nc",1\n', "a quote that the line does not close"),
        (b"source,target,weight\na,b\x00,1\n", "has a byte 0"),
        (
            b"source,target,weight\na,b,1\nc," + b"x" * 70_000 + b",1\n",
            r"name \d+ \(xxx.* 70,000 bytes",
        ),
    ],
)
def test_what_is_wrong_in_a_table_of_names_is_said_with_its_place(
    tmp_path: Path, text: bytes, why: str
) -> None:
    (tmp_path / "g.csv").write_bytes(text)
    with pytest.raises(InputError, match=rf"g\.csv: .*{why}"):
        made(tmp_path / "g.csv", tmp_path / "g")


@pytest.mark.parametrize(
    "rows",
    ["1,2.0,5\n", "1.0,2.0,5\n", "1,2,5\n2,3.0,7\n", "01,2,5\n1,2.,7\n"],
)
def test_numbers_with_a_point_are_not_names(tmp_path: Path, rows: str) -> None:
    """Data frames make 2.0 of 2 where a value is missing; it is not another vertex."""
    (tmp_path / "g.csv").write_text(f"source,target,weight\n{rows}")
    with pytest.raises(InputError, match="whole number"):
        made(tmp_path / "g.csv", tmp_path / "g", 2)
    with pytest.raises(InputError, match="whole number"):
        read_edges(tmp_path / "g.csv")
    # Beside texts it is a name, such as a version
    (tmp_path / "h.csv").write_text(f"source,target,weight\n{rows}1,v2,5\n")
    assert made(tmp_path / "h.csv", tmp_path / "h", 2).names is NameKind.TEXT


@pytest.mark.parametrize("head", ["", "source,target,weight\n"])
@pytest.mark.parametrize(
    "ends", ["0 1,1 2,0 2", "-1.5 3,2 .5,1 2.", "1 2e5,1E-3 4,5 6"]
)
def test_numbers_in_any_notation_are_not_names(
    tmp_path: Path, head: str, ends: str
) -> None:
    """numpy.savetxt writes 1 as 1.000000000000000000e+00."""
    lines = [f"{pair.replace(' ', ',')},1" for pair in ends.split(",")]
    if "." not in ends:
        lines = [
            ",".join(f"{float(word):.18e}" for word in row.split(",")) for row in lines
        ]
    file = tmp_path / "g.csv"
    file.write_text(head + "\n".join(lines) + "\n")
    with pytest.raises(
        InputError, match=r"whole number from 0.*savetxt.*mndmst hdbscan"
    ):
        made(file, tmp_path / "g", 2)
    with pytest.raises(InputError, match="whole number"):
        read_edges(file)


def test_the_remedies_for_numbers_in_exponents_are_right(
    tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    rows = np.array([[0, 1, 0.5], [1, 2, 1.5], [0, 2, 9]])
    np.savetxt(tmp_path / "g.txt", rows)
    run = mndmst("partition", tmp_path / "g.txt", tmp_path / "g")
    assert run.returncode and 'fmt="%d %d %.17g"' in run.stderr
    assert "mndmst hdbscan" in run.stderr and "mndmst linkage" in run.stderr
    np.savetxt(tmp_path / "g.txt", rows, fmt="%d %d %.17g")
    edges = read_edges(tmp_path / "g.txt")
    assert edges.names is None and edges.weight.tolist() == [0.5, 1.5, 9]
    np.savetxt(tmp_path / "p.txt", rows + 0.25)
    assert mndmst("linkage", tmp_path / "p.txt").returncode == 0


@pytest.mark.parametrize("head", ["", "source,target,weight\n", "# c\n", "\ufeff"])
@pytest.mark.parametrize("separator", [",", "\t", ";", " "])
@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([(-5, -1, 0.5), (7, -5, 0.25)], NameKind.INT64),
        ([(2**48, 1, 2), (7, 2**48, 3)], NameKind.INT64),
        ([(2**63, 5, 1), (2**64 - 1, 2**63, 2)], NameKind.UINT64),
    ],
)
def test_integers_are_names_with_and_without_a_header(
    tmp_path: Path, head: str, separator: str, rows: list, kind: NameKind
) -> None:
    file = tmp_path / "g.csv"
    lines = [separator.join(map(str, row)) for row in rows]
    file.write_text(head.replace(",", separator) + "\n".join(lines) + "\n")
    graph = made(file, tmp_path / "g", 2)
    assert graph.names is kind
    assert edges_of(graph) == {frozenset((u, v)): w for u, v, w in rows}
    assert read_edges(file).names is not None


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow", ".ncol"])
def test_a_table_of_names_without_rows_is_a_graph_without_vertices(
    tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"g{suffix}"
    if suffix == ".ncol":
        file.touch()
    elif suffix in (".csv", ".tsv"):
        file.write_text(
            "source,target,weight\n".replace(",", "\t" * (suffix != ".csv") or ",")
        )
    else:
        arrow = pytest.importorskip("pyarrow")
        text, real = arrow.array([], arrow.string()), arrow.array([], arrow.float64())
        empty = arrow.table({"source": text, "target": text, "weight": real})
        if suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(empty, file)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(empty, file)
    graph = made(file, tmp_path / "g")
    assert (graph.num_vertices, graph.num_arcs) == (0, 0)
    assert len(read_edges(file).src) == 0


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_name_with_a_line_feed_has_no_place_in_a_text_table(
    tmp_path: Path, suffix: str
) -> None:
    """No text table is written that the same command would not read."""
    first = made(
        table(tmp_path / "g.json", rows_of(("a\nb", "c", "d"))), tmp_path / "g"
    )
    edges = read_edges(first.location)
    with pytest.raises(
        ConfigError, match=r'"a\\nb" has a line feed.*\.parquet or \.json'
    ):
        write_edges(edges, tmp_path / f"f{suffix}")
    assert not (tmp_path / f"f{suffix}").exists()
    for good in (".parquet", ".json"):
        write_edges(edges, tmp_path / f"f{good}")
        assert made(tmp_path / f"f{good}", tmp_path / good[1:]).uuid == first.uuid


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".csv", "source,target,weight\n01,1,3\n1,2,4\n"),
        (".tsv", "source\ttarget\tweight\n1\t 01 \t3\n1\t2\t4\n"),
        (".csv", 'day,source,target,weight\n08,"01","1",3\n"a,9","1","2",4\n'),
        (".csv", "day,target,source,weight\n08,01,1,3\n09,1,2,4\n"),
        (".csv", "# of 08\nsource,target,weight\n2,1,4\n# of 09\n1,01,3\n"),
        (".tsv", "target\tsource\tweight\n01\t1\t3\n1\t2\t4\n"),
        (".csv", "source;target;weight\n01;1;3,0\n1;2;4,05\n"),
        (".csv", "01,1,3\n1,2,4\n"),
        (".txt", "01 1 3\n1 2 4\n"),
        (".txt", "1 2 4\n\n1  01 3\n"),
        (".txt", "source target weight day\n1 01 3 08\n1 2 4 09\n"),
    ],
)
def test_ids_with_leading_zeros_are_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], suffix: str, text: str
) -> None:
    file = tmp_path / f"g{suffix}"
    file.write_text(text)
    graph = made(file, tmp_path / "g", 2, quiet=False)
    assert "the id 01 begins with 0, so all ids are texts" in capfd.readouterr().err
    assert graph.names is NameKind.TEXT
    found = {pair: int(weight) for pair, weight in edges_of(graph).items()}
    assert found == {frozenset(("01", "1")): 3, frozenset(("1", "2")): 4}
    edges = read_edges(file)
    assert edges.names is not None
    assert edges.names.values() == ["01", "1", "2"]
    with pytest.raises(InputError, match=r'line \d has "01" in .*leading zeros'):
        made(file, tmp_path / "h", num_vertices=5)


@pytest.mark.parametrize(
    "text",
    [
        "source,target,weight\n0,1,007\n1,2,0.05\n",
        "source,target,weight,day\n0,1,7,2024-01-05\n1,2,.05,08:30\n",
        'source,target,weight,day\n0,1,7,"a,02"\n1,2,.05,"03"\n',
        "source;target;weight\n0;1;7,05\n1;2;0,05\n",
        "0 1 007\n\n1 2 00.05\n",
    ],
)
def test_leading_zeros_beside_the_ends_leave_ids_numbers(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "g.csv").write_text(text)
    edges = read_edges(tmp_path / "g.csv")
    assert edges.names is None
    assert edges.src.tolist() == [0, 1]
    assert edges.dst.tolist() == [1, 2]


def test_formats_of_whole_numbers_take_leading_zeros(tmp_path: Path) -> None:
    (tmp_path / "g.gr").write_text("p sp 2 1\na 01 02 7\n")
    edges = read_edges(tmp_path / "g.gr")
    assert (edges.names, edges.src.tolist(), edges.dst.tolist()) == (None, [0], [1])


def test_a_number_of_vertices_goes_with_numbers(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("source,target\na,b\n")
    with pytest.raises(ConfigError, match="--num-vertices goes with vertices that"):
        made(tmp_path / "g.csv", tmp_path / "g", num_vertices=5)
    (tmp_path / "h.csv").write_text("source,target\n0,-1\n")
    with pytest.raises(InputError, match="a vertex is a whole number"):
        made(tmp_path / "h.csv", tmp_path / "g", num_vertices=5)


def test_weights_of_named_edges_may_all_be_one_number(
    tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    file = table(tmp_path / "g.csv", rows_of(("a", "b", "c")))
    given = ("partition", file, tmp_path / "g", "--weights")
    assert mndmst(*given, "constant:4").returncode == 0
    run = mndmst("partition", file, tmp_path / "h", "--weights", "hash")
    assert run.returncode == 1 and "Give constant:X" in run.stderr


@pytest.mark.parametrize("names", [("v1", "7", "u"), UNSIGNED], ids=["text", "numbers"])
def test_a_killed_run_goes_on_with_the_names_of_a_table(
    tmp_path: Path, names: tuple
) -> None:
    file = table(tmp_path / "g.csv", [(0, 1, 1)] * 300 + rows_of(names))
    expected = made(file, tmp_path / "whole")

    with killed_in("write_part"):
        made(file, tmp_path / "g", restart=True)
    with without("save_names"):
        graph = made(file, tmp_path / "g", restart=True)
    assert graph.uuid == expected.uuid
    assert digest(tmp_path / "g") == digest(tmp_path / "whole")
    assert not (tmp_path / "g.partition-work").exists()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_little_memory_makes_the_same_graph_of_a_table(
    tmp_path: Path, suffix: str
) -> None:
    rng = np.random.default_rng(1)
    ids = [int(k) for k in rng.integers(2**60, 2**62, 300)]
    rows = [(*map(int, pair), w) for w, pair in enumerate(rng.choice(ids, (900, 2)))]
    file = table(tmp_path / f"g{suffix}", rows)
    whole = made(file, tmp_path / "whole")
    sizes = BufferSizes(fewest_names=600, most_names=600, slice_edges=20)
    assert made(file, tmp_path / "again", 3, sizes=sizes).uuid == whole.uuid
    assert whole.names is NameKind.INT64
    named = {end for row in rows for end in row[:2]}
    assert whole.read_names(0, whole.num_vertices).values() == sorted(named)


@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("name", ["New York", "#New York", "a b c", "São Paulo #2"])
def test_a_name_with_a_blank_needs_no_header(
    tmp_path: Path, separator: str, name: str
) -> None:
    rows = [("Boston", "Albany", "3"), ("Boston", name, "4")]
    lines = "".join(f"{separator.join(row)}\n" for row in rows)
    (tmp_path / "g.csv").write_text(lines)
    edges = read_edges(tmp_path / "g.csv")
    assert edges.names is not None
    assert set(edges.names.texts()) == {"Boston", "Albany", name}
    assert edges.weight.tolist() == [3, 4]
