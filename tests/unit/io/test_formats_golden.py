"""The same graph from every format, whole, in pieces, packed and weighed."""

import gzip
import itertools
import re
import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import forests
import numpy as np
import pytest
import scipy.sparse
import zstandard
from bvgraph import write_bvgraph
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import kruskal
from square import DATA, SQUARE, square, triples

from mndmst.comm.world import SingleProcess
from mndmst.host.errors import ConfigError, InputError
from mndmst.io import formats
from mndmst.io.formats import NAMES, open_edges, read_edges, write_edges
from mndmst.io.formats.binary_graphs import RowsFile
from mndmst.io.partitioner.edge_survey import check_copies
from mndmst.io.partitioner.forked_processes import run_forked
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.partitioner.weight_rules import weigh
from mndmst.io.shards.row_reading import read_rows
from tests.fuzz import binary_graphs, tables, text_graphs

MEMORY = 4 << 30
WEIGHTED = (
    "square.gr", "square.mtx", "square.npz", "square-rows.npz", "square.parquet",
    "square.arrow",
    "square.graph", "square.parhip", "square32.parhip", "square.wsg", "square.egr",
    "square64.egr", "square.txt", "square.adj", "square.json", "square-adjacency.json",
    "square.graphml", "square.gml", "square.net", "square.leda",
)  # fmt: skip
BARE = (
    "square.sg",
    "square.edgelist",
    "square.binary-edgelist",
    "square.undirected-binary-edgelist",
)


@pytest.fixture(scope="module")
def bvgraph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lists = [[1, 2, 3], [0, 2], [0, 1, 3], [0, 2], []]
    return write_bvgraph(tmp_path_factory.mktemp("web") / "square.graph", lists)


@pytest.mark.parametrize("name", WEIGHTED)
def test_the_square_in_every_format(name: str) -> None:
    edges = read_edges(DATA / name)
    assert (edges.num_vertices, edges.src.dtype) == (5, np.uint32)
    assert edges.weight.dtype == ("int64" if name == "square.parhip" else "int32")
    assert triples(edges) == SQUARE


@pytest.mark.parametrize("rule", ["file", "constant:3", "hash:7", "ecl"])
def test_one_digest_from_all_formats(rule: str, bvgraph: Path) -> None:
    names = [*BARE, *(WEIGHTED if rule != "file" else ())]
    digests = set()
    for path in (bvgraph, *(DATA / name for name in names)):
        edges = weigh(open_edges(path), rule).read()
        answer = kruskal(5, edges.src, edges.dst, edges.weight)
        digests.add((answer.digest, answer.total, edges.weight.dtype))
    assert len(digests) == 1


def test_one_graph_from_all_formats(tmp_path: Path, bvgraph: Path) -> None:
    uuids, rows = set(), set()
    paths = (bvgraph, *(DATA / name for name in WEIGHTED + BARE))
    for number, path in enumerate(paths):
        file, out = weigh(open_edges(path), "hash"), tmp_path / str(number)
        options = Options(out, 2, MEMORY, quiet=True, symmetrize=True)
        graph = partition(SingleProcess(), file, options)
        uuids.add((graph.first_id, graph.uuid))
        columns = read_rows(graph, 0, graph.num_vertices)
        rows.add(tuple(column.tobytes() for column in columns))
    assert len(rows) == 1
    assert sorted(first_id for first_id, _ in uuids) == [0, 1]


@pytest.mark.parametrize("name", WEIGHTED + BARE)
def test_ranges_give_every_entry_once(name: str) -> None:
    file = open_edges(DATA / name)
    whole = file.read()
    expected = list(zip(*columns(whole), strict=True))
    cuts = range(file.length + 1) if file.seekable else ()
    for cut in cuts:
        ranges = ((0, cut), (cut, file.length))
        pieces = itertools.chain.from_iterable(file.pieces(*r) for r in ranges)
        found = [e for p in pieces for e in zip(*columns(p), strict=True)]
        assert found == expected


def columns(edges: object) -> list[list]:
    return [column.tolist() for column in (edges.src, edges.dst, edges.weight)]


@pytest.mark.parametrize("name", WEIGHTED + BARE)
@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".zst", zstandard.ZstdCompressor().compress)],
)
def test_packed_files(name: str, suffix: str, pack: object, tmp_path: Path) -> None:
    path = tmp_path / (name + suffix)
    packed = pack((DATA / name).read_bytes())
    path.write_bytes(packed)
    assert triples(read_edges(path)) == triples(read_edges(DATA / name))
    path.write_bytes(packed[:-3])
    with pytest.raises(InputError, match="damaged or cut short"):
        read_edges(path)


def test_every_format_has_a_golden_file() -> None:
    """But other names of edge lists and of METIS, and files that the tests write."""
    found = {name for name in NAMES if (DATA / f"square.{name}").exists()}
    lists = {"el", "wel", "tsv", "edges", "plain-edgelist"}
    assert set(NAMES) - found == {*lists, "metis", "feather", "bvgraph", "ncol", "h5"}


@pytest.mark.parametrize(
    ("name", "vertices", "dtype"),
    [("square.csv", 4, "int32"), ("square.gexf", 5, "float64")],
)
def test_a_table_has_no_vertex_alone_and_gexf_has_floats(
    name: str, vertices: int, dtype: str
) -> None:
    edges = read_edges(DATA / name)
    assert (edges.num_vertices, edges.weight.dtype) == (vertices, dtype)
    assert triples(edges) == SQUARE


def test_every_golden_file_is_read() -> None:
    found = {path.name for path in DATA.glob("square*")}
    known = {*WEIGHTED, *BARE, "square.csv", "square.gexf"}
    assert found == known, "add them to WEIGHTED or BARE"


def test_every_format_has_a_row_in_the_table() -> None:
    page = Path(formats.__file__).with_name("README.md").read_text()
    names = (re.findall(r"`([^`]*)`", row.split("|")[1]) for row in
             page.splitlines() if row.startswith("| `"))  # fmt: skip
    listed = set(" ".join(itertools.chain.from_iterable(names)).split())
    assert set(NAMES) <= listed, "add a row to mndmst/io/formats/README.md"


def test_every_format_is_fuzzed() -> None:
    """But other names of edge lists and of METIS, and shards, which are a target."""
    fuzzed = {
        "bvgraph",
        *(Path(name).suffix[1:] for name in binary_graphs.FILES),
        *text_graphs.SUFFIXES,
        *(suffix for suffix, reader in tables.READINGS if reader is read_edges),
    }
    lists = {"el", "wel", "edges", "edgelist", "plain-edgelist"}
    missing = set(NAMES) - fuzzed - lists - {"metis", "feather", "h5"}
    assert not missing, "add them to FILES or SUFFIXES of a target in tests/fuzz"


@pytest.mark.parametrize("name", [n for n in NAMES if (DATA / f"square.{n}").exists()])
def test_a_format_can_be_forced(name: str, tmp_path: Path) -> None:
    golden = DATA / f"square.{name}"
    shutil.copy(golden, tmp_path / "graph.of-unknown-kind")
    with pytest.raises(InputError, match="unknown suffix"):
        read_edges(tmp_path / "graph.of-unknown-kind")
    edges = read_edges(tmp_path / "graph.of-unknown-kind", name)
    assert triples(edges) == triples(read_edges(golden))


def test_no_such_format() -> None:
    with pytest.raises(ConfigError, match="--format xyz: known are"):
        read_edges(DATA / "square.gr", "xyz")


@pytest.mark.parametrize("suffix", [".parquet", ".txt", ".csv", ".wel"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", "float32", "float64"])
def test_what_is_written_is_read(tmp_path: Path, suffix: str, dtype: str) -> None:
    edges = square(dtype)
    top = 0.1 if dtype.startswith("f") else np.iinfo(dtype).max // 2
    weight = np.array([top, 1, 0, 3, 4], dtype)
    path = tmp_path / f"graph{suffix}"
    write_edges(replace(edges, weight=weight), path)
    found = read_edges(path)
    assert found.num_vertices == (4 if suffix == ".csv" else 5)
    if suffix == ".parquet":
        assert found.weight.dtype == dtype
        np.testing.assert_array_equal(found.weight, weight)
    else:
        assert found.weight.tolist() == weight.tolist()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_forests_are_written_in_other_formats(tmp_path: Path) -> None:
    src, dst = np.array([0, 0, 1]), np.array([2, 3, 2])
    forests.write(tmp_path / "f.h5", 5, src, dst, np.array([7, 0, -2], np.int32))
    for suffix in (".txt", ".csv", ".parquet", ".npz", ".mtx", ".gr"):
        write_edges(read_edges(tmp_path / "f.h5"), tmp_path / f"f{suffix}")
        found = read_edges(tmp_path / f"f{suffix}")
        assert found.num_vertices == (4 if suffix == ".csv" else 5)
        assert triples(found) == [(0, 2, 7), (0, 3, 0), (1, 2, -2)]


@pytest.mark.parametrize(
    ("text", "vertices", "found"),
    [("# 7 vertices\n", 7, []), ("0 1\n2 1\n", 3, [(0, 1, 1), (1, 2, 1)]),
     ("% a\n0,1,2.5\n1;2;3", 3, [(0, 1, 2.5), (1, 2, 3.0)]),
     ("u v\n0 1\n", 2, [(0, 1, 1)]), ("# 4 vertices\nu,v,w\n0,1,5\n", 4, [(0, 1, 5)]),
     ("p 3 1\ne 1 3\n", 3, [(0, 2, 1)]), ("p 3 0\n", 3, []),
     ("\ufeff0,1,3\n1,2,4\n", 3, [(0, 1, 3), (1, 2, 4)]),
     ("\ufeff# 4 vertices\n0 1\n", 4, [(0, 1, 1)]),
     ("\ufeffp 3 1\ne 1 3\n", 3, [(0, 2, 1)]),
     ("\ufeff\"u\",\"v\"\n\n# c\n0,1\n", 2, [(0, 1, 1)])],
)  # fmt: skip
def test_dialects_of_edge_lists(
    tmp_path: Path, text: str, vertices: int, found: list
) -> None:
    (tmp_path / "g.txt").write_text(text)
    edges = read_edges(tmp_path / "g.txt")
    assert edges.num_vertices == vertices
    assert triples(edges) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [("0 1\n0 1 2\n", 'line 2 is not "u v" .*: it has 3 columns'),
     ("0 1 2\n0 1\n", 'line 2 is not "u v w" .*: it has 2 columns'),
     ("0,1,2\n01 2\n", "line 2 is not .* 2 columns between commas, semi"),
     ("0 1 2\n0 1 x\n", "line 2"),
     ("0\n1\n", "one column"),
     ("# 2 vertices\n0 2 1\n", 'line 2 has "2"'), ("p 2 1\ne 1 3\n", 'line 2 has "3"'),
     ("# 999999999999999 vertices\n0 1 1\n", "at most 2"),
     ("# c\nO 1 3\n0 2 4\n", "line 2 is neither an edge nor names of columns"),
     ("u .5\n0 1\n", "line 1 is neither"),
     ("x,y,z\n", "line 1 is not an edge, and none"),
     ("// c\n# 0 1\n", "line 1, // c, may be an edge or the names of")],
)  # fmt: skip
def test_mistakes_in_edge_lists(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(InputError, match=rf"bad\.txt.*{message}"):
        read_edges(tmp_path / "bad.txt")


def test_ecl_weights_are_of_32_bits(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("# 2147483648 vertices\n0 1\n")
    with pytest.raises(ConfigError, match=r"g\.txt has 2147483648 vertices"):
        weigh(open_edges(path), "ecl")
    path.write_text("# 2147483647 vertices\n2 3\n")
    piece = next(weigh(open_edges(path), "ecl").pieces(0, 99))
    assert piece.weight.tolist() == [7]


@pytest.mark.parametrize("word", ["inf", "-Infinity", "nan", "1e400"])
def test_weights_of_adjacency_that_are_no_numbers(tmp_path: Path, word: str) -> None:
    path = tmp_path / "g.adj"
    path.write_text(f"WeightedAdjacencyGraph\n2\n2\n0\n1\n1\n0\n2.5\n{word}\n")
    with pytest.raises(InputError, match=rf"g\.adj: a weight, {word}, does not fit"):
        read_edges(path)


@pytest.mark.parametrize("word", ["1e400", "-1e400"])
def test_weights_of_json_beyond_float64(tmp_path: Path, word: str) -> None:
    path = tmp_path / "g.json"
    links = f'{{"source": 0, "target": 1, "weight": {word}}}'
    path.write_text(f'{{"nodes": [{{"id": 0}}, {{"id": 1}}], "links": [{links}]}}')
    with pytest.raises(InputError, match=rf"g\.json: .*{word} is beyond the largest"):
        read_edges(path)


@pytest.mark.parametrize("head", ["", "c roads\n"])
def test_a_mark_of_utf8_before_dimacs(tmp_path: Path, head: str) -> None:
    path = tmp_path / "g.gr"
    path.write_text(f"{head}p sp 3 2\na 1 2 5\na 2 3 6\n", "utf-8-sig")
    edges = read_edges(path)
    assert (edges.num_vertices, edges.weight.tolist()) == (3, [5, 6])


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", ["0 1 3\n1 2 4\n", "# c\n0 1 3\n", "u v w\n0 1 3\n"])
def test_text_of_wide_letters_is_refused(tmp_path: Path, code: str, text: str) -> None:
    for name in ("wide.txt", "wide.mtx", "wide.gr"):
        (tmp_path / name).write_text(text, code)
        with pytest.raises(InputError, match=rf"{name}: .*UTF-16.*Save it as UTF-8"):
            read_edges(tmp_path / name)


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["int32", "bool", "float64"])
def test_stored_matrices_are_read_in_pieces(
    tmp_path: Path, kind: str, dtype: str
) -> None:
    src, dst, weight = (np.array(column) for column in zip(*SQUARE, strict=True))
    weight = weight.astype(dtype)
    matrix = scipy.sparse.coo_array((weight, (src, dst)), (5, 5)).asformat(kind)
    path = tmp_path / "m.npz"
    scipy.sparse.save_npz(path, matrix, compressed=False)
    file = open_edges(path)
    assert file.seekable
    assert isinstance(file, RowsFile)
    assert file.weight_dtype == ("int32" if dtype == "bool" else dtype)
    given = (column.tolist() for column in (src, dst, weight))
    assert triples(file.read()) == list(zip(*given, strict=True))
    contents = bytearray(path.read_bytes())
    header = contents.index(b"\x93NUMPY", contents.index(b"data.npy"))
    contents[header + 128] ^= 1
    path.write_bytes(contents)
    for jobs in (1, 3):
        options = Options(tmp_path / "graph", quiet=True)
        with pytest.raises(InputError, match=r"m\.npz.*data\.npy has another checksum"):
            run_forked(jobs, partition, open_edges(path), options)


class OnHosts(SingleProcess):
    """A rank of several hosts."""

    def __init__(self, rank: int, hosts: str) -> None:
        super().__init__()
        on_node = SingleProcess()
        on_node.rank = hosts[:rank].count(hosts[rank])
        self._node = on_node


@pytest.mark.parametrize(
    ("rank", "hosts", "checks"), [(0, "aab", True), (1, "aab", False), (2, "aab", True)]
)
def test_one_rank_of_each_host_checks_the_checksums(
    tmp_path: Path, rank: int, hosts: str, checks: bool
) -> None:
    """Each host may have a copy of its own, of which one alone is damaged."""
    path = tmp_path / "m.npz"
    matrix = scipy.sparse.csr_array(np.eye(5, k=1) + np.eye(5, k=-1))
    scipy.sparse.save_npz(path, matrix, compressed=False)
    contents = bytearray(path.read_bytes())
    contents[contents.index(b"data.npy") + 200] ^= 1
    path.write_bytes(contents)
    damage = pytest.raises(InputError, match=r"m\.npz.*data\.npy has another checksum")
    with damage if checks else nullcontext():
        check_copies(OnHosts(rank, hosts), open_edges(path))


adjacency = st.integers(0, 40).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(0, max(0, n - 1)), unique=True, max_size=n).map(sorted),
        min_size=n,
        max_size=n,
    )
)


@settings(deadline=None, max_examples=60)
@given(adjacency, st.integers(1, 3))
def test_web_graphs_are_decoded(
    tmp_path_factory: pytest.TempPathFactory, lists: list[list[int]], repeat: int
) -> None:
    lists = [row for row in lists for _ in range(repeat)]  # lists to copy from
    path = tmp_path_factory.getbasetemp() / "web.graph"
    edges = read_edges(write_bvgraph(path, lists))
    arcs = [(u, v) for u, row in enumerate(lists) for v in row]
    assert list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True)) == arcs


def test_long_lists_of_web_graphs(tmp_path: Path) -> None:
    rows = [[*range(300)], [*range(0, 300, 2)], [*range(7, 290)]] * 100
    edges = read_edges(write_bvgraph(tmp_path / "web.graph", rows))
    assert edges.dst.tolist() == [v for row in rows for v in row]
    (tmp_path / "web.properties").unlink()
    with pytest.raises(InputError, match="first line"):  # a METIS graph, then
        read_edges(tmp_path / "web.graph")
    with pytest.raises(InputError, match=r"web\.properties: no such file"):
        read_edges(tmp_path / "web.graph", "bvgraph")
