"""Ids and positions about 2^31, 2^32 and 2^42, through the real code but few of them.

Rows of so many vertices would fill disks, so of their buckets and parts only those are
made that have arcs.
"""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from shard_files import UUID, claimed

from mndmst.comm.world import SingleProcess
from mndmst.graph.model import Csr
from mndmst.graph.order import id_dtype, key_rule
from mndmst.host.errors import ConfigError
from mndmst.io.edge_file import Edges, EdgesInMemory, RowPiece
from mndmst.io.formats import open_edges, read_edges, write_edges
from mndmst.io.partitioner.arc_buckets import (
    Plan,
    built_size,
    make_plan,
    open_run_file,
    route_arcs,
)
from mndmst.io.partitioner.edge_survey import Spool, Survey, survey_edges
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.partitioner.random_graphs import open_random
from mndmst.io.partitioner.write_parts import listed_rows, sorted_rows
from mndmst.io.shards.row_reading import read_rows
from mndmst.io.shards.shard_writer import ShardWriter
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.kernels.arc_inspection import FINE, inspect_rows
from mndmst.solver.config import parse_bytes

COUNTS = [(1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32, (1 << 32) + 1]
ROOM = 1 << 28


def ring(num_vertices: int, both: bool = False) -> Edges:
    """Return edges between the first vertices, the middle ones and the last ones."""
    n = num_vertices
    ids = sorted({0, 1, 2, n // 2, n // 2 + 1, n - 3, n - 2, n - 1})
    pairs = [*pairwise(ids), (ids[0], ids[-1])]
    arcs = [(u, v, w) for w, (u, v) in enumerate(pairs)]
    if both:
        arcs = sorted([*arcs, *((v, u, w) for u, v, w in arcs)])
    src, dst, weight = zip(*arcs, strict=True)
    ends = (np.array(end, id_dtype(n)) for end in (src, dst))
    return Edges(n, *ends, np.array(weight, np.int32))


def planned(edges: Edges, work: Path) -> tuple[Survey, Plan]:
    file = EdgesInMemory("ring", edges)
    found = survey_edges(
        SingleProcess(), file, Spool(work / "spool"), lambda pieces: pieces
    )
    return found, make_plan(found, 4, 1 << 40, 1 << 40, "ring")


def arcs_in(rows: RowPiece) -> list[tuple[int, int, int]]:
    counts = np.diff(rows.indptr)
    tails = rows.first + np.repeat(np.arange(len(counts)), counts)
    columns = (tails.tolist(), rows.heads.tolist(), rows.weights.tolist())
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("num_vertices", [*COUNTS, (1 << 40) + 1])
@pytest.mark.parametrize("in_memory", [False, True])
def test_arcs_come_back_from_their_buckets(
    tmp_path: Path,
    num_vertices: int,
    listed: bool,
    in_memory: bool,
    request: pytest.FixtureRequest,
) -> None:
    both = ring(num_vertices, both=True)
    edges = both if listed else ring(num_vertices)
    found, plan = planned(edges, tmp_path)
    assert (plan.num_vertices, plan.in_rows) == (num_vertices, listed)
    if not listed:
        run = open_run_file(tmp_path, 0, in_memory)
        request.addfinalizer(run.close)
        route_arcs(plan, iter([edges]), tmp_path, 0, ROOM, run)
        assert (tmp_path / "run-0.arcs").is_symlink() == in_memory
    arcs = []
    for bucket in np.flatnonzero(plan.arcs).tolist():
        chosen = range(bucket, bucket + 1)
        rows = next(
            listed_rows(plan, EdgesInMemory("ring", edges), chosen)
            if listed
            else sorted_rows(plan, tmp_path, chosen)
        )
        assert rows.heads.dtype == id_dtype(num_vertices)
        arcs += arcs_in(rows)
    columns = (both.src.tolist(), both.dst.tolist(), both.weight.tolist())
    assert arcs == list(zip(*columns, strict=True))
    # What is said and what is asked of the disk is what the files have
    wide = 8 if num_vertices > 1 << 31 else 4
    size = 8 * (num_vertices + 4 * 5) + (wide + 4) * len(both)
    assert built_size(found, 4) == (len(both), size)


@pytest.mark.parametrize("arcs", [(1 << 31) + 1, (1 << 32) + 1, 1 << 50])
def test_arcs_are_planned_in_64_bits(arcs: int) -> None:
    counts = np.full(1 << 10, 2 * arcs >> 10, np.int64)
    survey = Survey(1 << 20, arcs, np.dtype(np.float64), False, False, 10, counts)
    plan = make_plan(survey, 7, 1 << 60, 1 << 60, "many")
    assert plan.arcs.sum() == counts.sum()
    assert (plan.arcs > 0).all()
    assert built_size(survey, 7)[0] == counts.sum()
    text = r"many: the [0-9,]+ arcs .* take [0-9,]+.* Give --memory (.+) or more\.$"
    with pytest.raises(ConfigError, match=text) as told:
        make_plan(survey, 7, 4096, 1 << 30, "many")
    named = re.search(text, str(told.value))
    assert named is not None
    enough = parse_bytes(named[1])
    plan = make_plan(survey, 7, enough - (1 << 30) + 4096, enough, "many")
    assert plan.arcs.sum() == counts.sum()


def test_keys_that_do_not_fit_into_64_bits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ring: .* at most 2\^42 .*--compact-ids"):
        planned(ring((1 << 42) + 1), tmp_path)
    # No key is made of rows that are in order
    counts = np.full(1 << 10, 2, np.int64)
    survey = Survey(1 << 48, len(counts), np.dtype(np.int32), True, True, 38, counts)
    assert make_plan(survey, 4, 1 << 60, 1 << 60, "ring").in_rows


@pytest.mark.parametrize("num_vertices", COUNTS)
def test_the_last_rows_of_a_graph_are_read_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_vertices: int
) -> None:
    first = num_vertices - 4
    heads = np.array([1, 3, 0, 2, 1, 3, 0, 2]) + first
    indptr = np.arange(0, 9, 2)
    weights = np.array([5, 7, 5, 6, 6, 8, 7, 8], np.int32)
    vtxdist = [0, first, num_vertices]
    target = claimed(tmp_path / "graph", 2)
    writer = ShardWriter(target, num_vertices, np.int32, vtxdist, UUID)
    writer.write_part(1, indptr, heads, weights)
    writer.target.temporary("part-00000.h5").write_bytes(b"")
    before = 1 << 33  # arcs of a part that is not there
    counted = iter([before, 8])
    monkeypatch.setattr(ShardWriter, "_count_arcs", lambda *_: next(counted))
    writer.finish()
    graph = open_graph(tmp_path / "graph", check=False)
    assert (graph.num_vertices, graph.num_arcs) == (num_vertices, before + 8)
    pointers = graph.read_indptr(first, num_vertices)
    np.testing.assert_array_equal(pointers, before + indptr)
    rows = read_rows(graph, first, num_vertices)
    assert rows[1].dtype == id_dtype(num_vertices)
    np.testing.assert_array_equal(rows[1], heads)
    rule, keys = key_rule(rows[2].dtype), rows[2].view(np.uint32)
    csr = Csr(first, rows[0], rows[1], keys)
    found = inspect_rows(csr, (0, len(keys)), num_vertices, rule)
    assert found[0] == FINE
    assert found[-2:] == (4, 0)


@pytest.mark.parametrize("suffix", [".gr", ".mtx", ".npz", ".csv", ".parquet"])
@pytest.mark.parametrize("num_vertices", [*COUNTS, 1 << 48])
def test_files_of_other_formats_keep_ids(
    tmp_path: Path, suffix: str, num_vertices: int
) -> None:
    edges, file = ring(num_vertices), tmp_path / f"ring{suffix}"
    write_edges(edges, file)
    found = read_edges(file)
    for name in ("src", "dst", "weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(edges, name))
    options = Options(tmp_path / "graph", 2, compact_ids=True, quiet=True)
    graph = partition(SingleProcess(), open_edges(file), options)
    named = np.unique([edges.src, edges.dst])
    original = graph.read_original_ids(0, graph.num_vertices)
    first = 1 if suffix in (".gr", ".mtx") else 0  # the format's first id
    np.testing.assert_array_equal(original, named.astype(np.int64) + first)


@pytest.mark.parametrize(
    ("kind", "parameters", "most"),
    [
        ("gnm", {"n": (1 << 32) - 1, "m": 1 << 40}, 1 << 32),
        ("rmat", {"scale": 32}, 1 << 32),
        ("rmat", {"scale": 33}, 1 << 33),
        ("rmat", {"scale": 44, "a": 0.25, "b": 0.25, "c": 0.25}, 1 << 44),
        ("road", {"side": (1 << 16) + 1}, ((1 << 16) + 1) ** 2),
        ("road", {"side": (1 << 23) - 1}, 1 << 46),
    ],
)
def test_random_edges_go_up_to_the_last_vertex(
    kind: str, parameters: dict[str, int], most: int
) -> None:
    file = open_random(kind, **parameters)
    assert file.num_vertices is not None
    pieces = list(file.pieces(file.length - 20000, file.length))
    ends = np.concatenate([end for piece in pieces for end in (piece.src, piece.dst)])
    assert ends.dtype == id_dtype(file.num_vertices)
    assert 0.9 * most < int(ends.max()) < file.num_vertices
    assert ends.min() >= 0
