"""Graphs in other formats: one small graph in each, round trips, and mistakes."""

import gzip
import lzma
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from square import DATA, SQUARE, square, triples

from mndmst.host.errors import ConfigError, InputError, MissingExtraError
from mndmst.io.edge_file import Edges
from mndmst.io.formats import open_edges, read_edges, write_edges
from mndmst.io.partitioner.partition import build_shards
from mndmst.io.partitioner.partition_run import InputCopy
from mndmst.io.partitioner.weight_rules import weigh


@pytest.mark.parametrize("suffix", [".gr", ".mtx", ".npz"])
@pytest.mark.parametrize(("packed", "pack"), [(".gz", gzip), (".xz", lzma)])
def test_packed_files_and_what_is_left_of_them(tmp_path, suffix, packed, pack):
    whole = pack.compress((DATA / f"square{suffix}").read_bytes())
    path = tmp_path / f"square{suffix}{packed}"
    path.write_bytes(whole)
    assert triples(read_edges(path)) == SQUARE
    for rest in (whole[:-5], whole[: len(whole) // 2], b"not packed"):
        path.write_bytes(rest)
        with pytest.raises(InputError, match=rf"square{suffix}{packed}: damaged"):
            read_edges(path)


def test_shards_are_a_format(tmp_path):
    build_shards(square(np.float32), tmp_path / "shards", 3)
    for path in (tmp_path / "shards", tmp_path / "shards" / "index.h5"):
        edges = read_edges(path)
        assert len(edges) == 5
        assert edges.weight.dtype == np.float32
        assert triples(edges) == SQUARE


@pytest.mark.parametrize("suffix", [".gr", ".mtx", ".npz"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
@pytest.mark.parametrize("directed", [False, True])
def test_round_trips_keep_every_digit(tmp_path, suffix, dtype, directed):
    weight = {"int32": [1, -5, 0, 2**31 - 1, 7], "int64": [2**53 + 1, -4, 0, 1, 2]}.get(
        dtype, [0.1, -1 / 3, 5e-324, 1.7976931348623157e308, 2.0]
    )
    edges = square(dtype)
    edges = Edges(5, edges.src, edges.dst, np.array(weight, dtype), directed)
    write_edges(edges, tmp_path / f"graph{suffix}")
    found = read_edges(tmp_path / f"graph{suffix}")
    assert found.weight.dtype == dtype
    assert triples(found) == triples(edges)
    assert [file.name for file in tmp_path.iterdir()] == [f"graph{suffix}"]


@pytest.mark.parametrize("suffix", [".gr", ".mtx", ".npz"])
@pytest.mark.parametrize("num_vertices", [0, 3])
def test_graphs_without_edges(tmp_path, suffix, num_vertices):
    nothing = np.empty(0, np.uint32)
    edges = Edges(num_vertices, nothing, nothing, np.empty(0, np.int32), False)
    write_edges(edges, tmp_path / f"empty{suffix}")
    found = read_edges(tmp_path / f"empty{suffix}")
    assert (found.num_vertices, len(found)) == (num_vertices, 0)


def test_a_pattern_has_weights_one(tmp_path):
    header = "%%MatrixMarket matrix coordinate pattern general\n"
    (tmp_path / "p.mtx").write_text(header + "3 3 2\n1 2\n3 1\n")
    edges = read_edges(tmp_path / "p.mtx")
    assert edges.weight.dtype == np.int32
    assert triples(edges) == [(0, 1, 1), (0, 2, 1)]


def test_parallel_entries_are_not_added_up(tmp_path):
    header = "%%MatrixMarket matrix coordinate integer general\n"
    (tmp_path / "p.mtx").write_text(header + "2 2 3\n1 2 4\n1 2 3\n2 1 5\n")
    assert triples(read_edges(tmp_path / "p.mtx")) == [(0, 1, 3)]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("bool", "int32"), ("int8", "int32"), ("uint16", "int32"), ("int64", "int64"),
     ("uint32", "uint32"), ("uint64", "uint64"), ("float32", "float32")],
)  # fmt: skip
def test_types_of_npz_weights(tmp_path, given, kept):
    matrix = scipy.sparse.coo_array((np.array([1, 1], given), ([0, 1], [1, 2])), (3, 3))
    scipy.sparse.save_npz(tmp_path / "m.npz", matrix)
    edges = read_edges(tmp_path / "m.npz")
    assert edges.weight.dtype == kept
    assert triples(edges) == [(0, 1, 1), (1, 2, 1)]


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_reals_in_gr_are_read_as_python_reads_them(tmp_path_factory, numbers):
    path = tmp_path_factory.getbasetemp() / "reals.gr"
    lines = [f"a 1 2 {number!r}" for number in numbers]
    path.write_text("\n".join([f"p sp 2 {len(numbers) + 1}", *lines, "a 2 1 .5"]))
    weight = read_edges(path).weight
    np.testing.assert_array_equal(weight, [*numbers, 0.5])


@pytest.mark.parametrize(
    ("lines", "message"),
    [(["a 1 2 3"], "no line"), (["p sp 3 x"], "no line"),
     (["p sp 3 1", "a 1 2"], "line 2 is"), (["p sp 3 1", "a 1 2 x"], "line 2 has"),
     (["p sp 3 1", "a 1 2 3 4"], "line 2 is"), (["p sp 3 1", "b 1 2 3"], "line 2 is"),
     (["p sp 3 1", "a 1.5 2 3"], "2 has"), (["p sp 3 1", "a 1 2 3x"], '2 has "3x"'),
     (["p sp 3 1", "", "c", "a 1 4 3"], 'line 4 has "4" .* from 1, below 4'),
     (["p sp 3 1", "a 0 1 3"], 'line 2 has "0" in column u, and .* from 1'),
     (["p sp 3 1", "a 1 2 nan"], 'line 2 has "nan" in column w'),
     (["p sp 3 2", "a 1 2 1.5", "a 1 3 2.x"], 'line 3 has "2.x"'),
     (["p sp 3 1", "a 1 2 3", "a 1 2 3"], "holds 2 arcs.*says 1"),
     (["p sp 3 2", "a 1 2 3"], "holds 1 arc,.*says 2"),
     (["p sp 3 999999999", "a 1 2 3"], "more than the file can hold"),
     (["p sp 3 1", "a 1 2 12345678901234567890"], "line 2 has .* of over 64 bits"),
     (["p sp 3 1", "a 1 2 3", " # c"], "line 3 is not")],
)  # fmt: skip
def test_mistakes_in_gr(tmp_path, lines, message):
    (tmp_path / "bad.gr").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=rf"bad\.gr.*{message}"):
        read_edges(tmp_path / "bad.gr")


@pytest.mark.parametrize(
    ("text", "message"),
    [("nothing\n", "bad.mtx"),
     ("%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1 1\n", "complex"),
     ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "array"),
     ("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 1\n", "2 by 3"),
     ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n", "line 3 has"),
     ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 nan\n", "line 3 has"),
     ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n", "bad.mtx"),
     ("%%MatrixMarket matrix coordinate real general\n2 2 99999\n1 2 1\n", "can hold")],
)  # fmt: skip
def test_mistakes_in_mtx(tmp_path, text, message):
    (tmp_path / "bad.mtx").write_text(text)
    with pytest.raises(InputError, match=message):
        read_edges(tmp_path / "bad.mtx")


def test_metis_files_may_have_sizes_and_weights_of_vertices(tmp_path):
    """Flags 111 and 2: a size, two weights, then neighbours with weights of edges."""
    rows = "5 1 9 2 7", "5 1 9 1 7 3 8", "% a comment", "5 1 9 2 8"
    (tmp_path / "sizes.metis").write_text("\n".join(["3 2 111 2", *rows]) + "\n")
    assert triples(read_edges(tmp_path / "sizes.metis")) == [(0, 1, 7), (1, 2, 8)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [("a.metis", "2 1 1\n2\n1 5\n", "line 2 has .* a neighbour without a weight"),
     ("a.metis", "2 1 10\n3 2\n\n", "line 3 has too few numbers"),
     ("a.metis", "2 1\n2\n1 2\n", "line 3 has arcs beyond the number"),
     ("a.metis", "2 1\n2\n\n", "lists 1 neighbour, but 1 edge have 2"),
     ("a.metis", "2 1\n2\n3\n", "line 3 has a neighbour not between 1 and"),
     ("a.metis", "2 1\n2\n1\n2\n", "line 4 follows the lines of all 2 vertices"),
     ("a.metis", "2 1\n2\nx\n", "line 3 is not whole numbers alone"),
     ("a.metis", "2 1\n2\n", "ends after the line of vertex 1 of 2"),
     ("a.adj", "AdjacencyGraph\n2\n2\n0\n1\n1\n0\n9\n", "line 8 goes on after"),
     ("a.adj", "AdjacencyGraph\n2\n2\n0\n5\n1\n0\n", "beginnings of the rows do not"),
     ("a.adj", "AdjacencyGraph\n2\n2\n0\n1\n1\n", "ends before the numbers"),
     ("a.adj", "AdjacencyGraph\n2\nx\n0\n1\n1\n0\n", "line 3 has a word that is not"),
     ("a.adj", "WeightedAdjacencyGraph\n2\n2\n0\n1\n1\n0\n2.5\n", "1 weight for 2")],
)  # fmt: skip
def test_mistakes_in_lists_of_neighbours(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_edges(tmp_path / name)


def gap(path: Path, vertices: int, *rows: list[tuple[int, int, int]]) -> Path:
    """Write arcs by their tails as GAP does: directed ones, and then turned round."""
    parts = [np.array([1], "u1"), np.array([len(rows[0]), vertices], "<i8")]
    for arcs in rows:
        begins = [sum(u < row for u, *_ in arcs) for row in range(vertices + 1)]
        neighbours = [arc[1:] for arc in arcs]
        parts += [np.array(begins, "<i8"), np.array(neighbours, "<i4").ravel()]
    path.write_bytes(b"".join(part.tobytes() for part in parts))
    return path


def test_a_directed_graph_of_gap_has_each_arc_once(tmp_path):
    turned = sorted((v, u, w) for u, v, w in SQUARE)
    path = gap(tmp_path / "square.wsg", 5, SQUARE, turned)
    edges = read_edges(path)
    assert (len(edges), triples(edges)) == (len(SQUARE), SQUARE)
    gap(path, 5, SQUARE)
    with pytest.raises(InputError, match=r"square\.wsg: "):
        read_edges(path)
    gap(path, -1, [], [])
    with pytest.raises(InputError, match="has a negative number of vertices"):
        read_edges(path)


@pytest.mark.parametrize(
    ("low", "high", "kind"), [(-3, 3, "int32"), (0.5, 2, "float64")]
)
def test_random_weights_lie_between_the_bounds(low, high, kind):
    file = open_edges(DATA / "square.txt")
    weights = [
        weigh(file, f"random:{low}:{high}:{seed}").read().weight for seed in (1, 2)
    ]
    assert {weight.dtype for weight in weights} == {np.dtype(kind)}
    assert all(((low <= w) & (w <= high)).all() for w in weights)
    assert (weights[0] != weights[1]).any()


@pytest.mark.parametrize(
    ("rule", "message"),
    [("random:5:3", "5 is more than 3"), ("hash:x", "'x' is not a seed from 0 to 2"),
     ("random:1:2:-1", "'-1' is not a seed"), ("random:1", "there is no such rule"),
     ("constant:x", "'x' is not a number that fits")],
)  # fmt: skip
def test_mistakes_in_rules_of_weights(rule, message):
    with pytest.raises(ConfigError, match=rf"--weights {rule}: {message}"):
        weigh(open_edges(DATA / "square.txt"), rule)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "g.ncol",
            "a b 9007199254740993\nb c 0.5\n",
            "9007199254740993 and weights wi",
        ),
        ("g.json", '[{"source": 0, "target": 1, "weight": %s}]', "of over 64 bits"),
        (
            "g.gml",
            "graph [ node [ id 0 ] node [ id 1 ] edge [source 0 target 1 weight %s] ]",
            "of over 64 bits",
        ),
    ],
)
def test_whole_weights_are_exact_or_refused(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text.replace("%s", "9" * 20))
    with pytest.raises(InputError, match=message):
        read_edges(path)


def test_mistakes_in_npz(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"bad\.npz: is not a sparse matrix"):
        read_edges(tmp_path / "bad.npz")
    for name, matrix in {
        "shape": scipy.sparse.coo_array((2, 3)),
        "cannot be kept": scipy.sparse.coo_array(np.array([[0, 1j], [0, 0]])),
        "is NaN": scipy.sparse.coo_array(np.array([[0, np.nan], [0, 0]])),
    }.items():
        scipy.sparse.save_npz(tmp_path / "bad.npz", matrix)
        with pytest.raises(InputError, match=rf"bad\.npz.*{name}"):
            read_edges(tmp_path / "bad.npz")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".el", ".edgelist"])
def test_an_empty_text_is_refused(tmp_path, suffix):
    path = tmp_path / f"graph{suffix}"
    for text in ("", "\n", "\n \n\t\n", "\ufeff\n"):
        path.write_text(text)
        with pytest.raises(InputError, match="is empty, or has blank lines alone"):
            read_edges(path)
    path.write_text("# none\n")
    assert read_edges(path).num_vertices == 0


def test_names_that_say_nothing(tmp_path):
    (tmp_path / "graph.xyz").touch()
    with pytest.raises(
        InputError,
        match=r"unknown suffix \.xyz\. Name the format with --format, or rename",
    ):
        read_edges(tmp_path / "graph.xyz")
    with pytest.raises(InputError, match="no such file"):
        read_edges(tmp_path / "graph.gr")
    with pytest.raises(ConfigError, match=r"cannot write \.xyz"):
        write_edges(square(), tmp_path / "graph.xyz")


def test_without_scipy_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    with pytest.raises(MissingExtraError, match=r"pip install \"mndmst\[formats\]\""):
        read_edges(DATA / "square.npz")
    assert triples(read_edges(DATA / "square.mtx")) == SQUARE


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".txt", b"0 1 5\n1 2 x\n"),
        (".txt.gz", gzip.compress(b"0 1 5\n" * 100, mtime=0)[:-9]),
        (".csv", b"source,target,weight\n0,1,x\n"),
        (".mtx", b"%%MatrixMarket matrix\n"),
        (".egr", bytes(32)),
        (".npz", b"PK"),
        (".parquet", b"PAR1"),
        (".json", b"{"),
    ],
)
def test_mistakes_in_a_copy_of_standard_input_name_that(
    tmp_path: Path, suffix: str, content: bytes
) -> None:
    copy = InputCopy(tmp_path / f"input{suffix}")
    copy.write_bytes(content)
    for path in copy, pickle.loads(pickle.dumps(copy)):
        with pytest.raises(InputError, match=r"^standard input: ") as caught:
            read_edges(path)
        assert str(tmp_path) not in str(caught.value)
