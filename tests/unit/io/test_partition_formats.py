"""Text, rows and random graphs: the same shards from any processes; full disks."""

import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_partition import digest, random_edges

from mndmst.comm.world import SingleProcess
from mndmst.host.errors import ConfigError, InputError, OutputError
from mndmst.io.edge_file import EdgeFile, Edges, EdgesInMemory
from mndmst.io.formats import open_edges, write_edges
from mndmst.io.partitioner.edge_survey import BufferSizes
from mndmst.io.partitioner.forked_processes import run_forked
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.partitioner.random_graphs import open_random
from mndmst.io.partitioner.vertex_numbering import symmetric_rows
from mndmst.io.shards.row_reading import read_rows


def text(folder: Path) -> EdgeFile:
    write_edges(random_edges(1500, 9000, "int32"), folder / "graph.gr")
    return open_edges(folder / "graph.gr")


def binary(folder: Path) -> EdgeFile:
    """Return a file of rows, which are not routed."""
    indptr, indices, weights = symmetric_rows(random_edges(1500, 9000, "int32"))
    counts = np.array([len(indptr) - 1, len(indices)])
    columns = (counts, indptr, indices, weights)
    content = b"".join(column.astype("<i4").tobytes() for column in columns)
    (folder / "graph.egr").write_bytes(content)
    return open_edges(folder / "graph.egr")


def random(folder: Path) -> EdgeFile:
    return open_random("rmat", 3, "int32", scale=10, edge_factor=8)


@pytest.mark.parametrize("make", [text, binary, random], ids=lambda make: make.__name__)
def test_any_number_of_processes_makes_the_same_shards(
    tmp_path: Path, make: Callable[[Path], EdgeFile]
) -> None:
    file = make(tmp_path)
    digests = set()
    for jobs in (1, 2, 7):  # seven are more than the parts
        options = Options(tmp_path / f"{jobs}", parts=5, quiet=True)
        run_forked(jobs, partition, file, options)
        digests.add(digest(options.out))
    assert len(digests) == 1


@pytest.mark.parametrize("arcs", [700, 1 << 16])
def test_rows_are_the_graph_in_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arcs: int
) -> None:
    monkeypatch.setattr("mndmst.io.formats.binary_graphs.PIECE_ARCS", arcs)
    monkeypatch.setattr("mndmst.io.formats.binary_graphs.PIECE_ROWS", 90)
    sizes = BufferSizes(largest_bucket=30000)
    rows = set()
    for make in (text, binary):
        options = Options(tmp_path / make.__name__, parts=2, quiet=True, sizes=sizes)
        graph = run_forked(3, partition, make(tmp_path), options)
        indptr, indices, weights = read_rows(graph, 0, graph.num_vertices)
        rows.add((indptr.tobytes(), indices.tobytes(), weights.tobytes()))
    assert len(rows) == 1


@pytest.mark.parametrize("routed", [True, False])
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, routed: bool) -> None:
    edges = random_edges(2000, 400_000)  # parts of two whole chunks and a rest
    if not routed:  # the first file that is written is a part
        indptr, indices, weights = symmetric_rows(edges)
        tails = np.repeat(np.arange(2000, dtype=np.uint32), np.diff(indptr))
        edges = Edges(2000, tails, indices, weights)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_500_000, hard))
    try:
        with pytest.raises(OutputError, match="cannot be written"):
            file = EdgesInMemory("edges", edges)
            partition(SingleProcess(), file, Options(tmp_path / "graph", quiet=True))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("compress", [False, True])
def test_one_wrong_id_is_refused_before_its_vertices_are_written(
    tmp_path, jobs, compress
):
    (tmp_path / "wrong.gr").write_text(
        "p sp 100000000000001 2\na 1 2 5\na 1 100000000000001 3\n"
    )
    options = Options(tmp_path / "graph", 2, compress=compress, quiet=True)
    text = r"wrong\.gr: 2 edges .*id that occurs.* is 100000000000001\."
    with pytest.raises(InputError, match=text):
        run_forked(jobs, partition, open_edges(tmp_path / "wrong.gr"), options)
    asked = replace(options, num_vertices=100000000000001)
    text = r"graph: .*wrong\.gr in 2 parts takes .* has 100,000,000,000,001 vertices"
    with pytest.raises(OutputError, match=text):
        run_forked(jobs, partition, open_edges(tmp_path / "wrong.gr"), asked)
    assert not (tmp_path / "graph").exists()
    assert not options.work.exists()


def test_parts_beyond_reason_are_refused(tmp_path):
    edges = EdgesInMemory("edges", random_edges(4, 9))
    with pytest.raises(ConfigError, match="4 vertices, too few for 1,000,000 parts"):
        partition(
            SingleProcess(), edges, Options(tmp_path / "graph", 1_000_000, quiet=True)
        )
    # What every part holds of all others counts, too
    edges = EdgesInMemory("edges", random_edges(1 << 23, 9))
    with pytest.raises(OutputError, match=r"in 8,000,000 parts takes 465\.7 TiB"):
        partition(
            SingleProcess(), edges, Options(tmp_path / "more", 8_000_000, quiet=True)
        )
