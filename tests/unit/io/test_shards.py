"""Sharded graphs: what is written is read, and a graph is whole or not there."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.sparse import csr_array
from shard_files import UUID, claimed, symmetric_rows, write

from mndmst.graph.order import WEIGHT_DTYPES
from mndmst.host.errors import OutputError
from mndmst.io.shards.graph_directory import Destination
from mndmst.io.shards.row_reading import read_rows
from mndmst.io.shards.shard_writer import ShardWriter
from mndmst.io.shards.sharded_graph import open_graph
from mndmst.kernels.threads import Threads


@pytest.fixture
def graph(tmp_path):
    return write(tmp_path / "graph", symmetric_rows(), [0, 25, 25, 40, 60, 60])


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES, ids=str)
@pytest.mark.parametrize("compress", [False, True])
def test_weights_come_back_exactly(tmp_path, dtype, compress):
    rows = symmetric_rows(dtype=dtype)
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    rows[2][:2] = limits.min, limits.max
    graph = open_graph(write(tmp_path / "graph", rows, [0, 60], compress=compress))
    assert graph.weight_dtype == dtype
    for found, array in zip(read_rows(graph, 0, 60), rows, strict=True):
        np.testing.assert_array_equal(found, array, strict=True)


@pytest.mark.parametrize("vtxdist", [[0, 60], [0, 0, 7, 7, 15, 60], [0, 60, 60]])
def test_rows_come_back_from_any_range(tmp_path, vtxdist):
    indptr, indices, weights = rows = symmetric_rows()
    graph = open_graph(write(tmp_path / "graph", rows, vtxdist))
    assert (graph.num_vertices, graph.num_arcs) == (60, len(indices))
    assert graph.num_parts == len(vtxdist) - 1
    assert graph.uuid == UUID
    np.testing.assert_array_equal(graph.arcdist, indptr[vtxdist])
    for begin, end in [(0, 60), (0, 0), (60, 60), (7, 7), (3, 9), (12, 18), (14, 60)]:
        low, high = indptr[[begin, end]]
        np.testing.assert_array_equal(
            graph.read_indptr(begin, end), indptr[begin : end + 1]
        )
        found = read_rows(graph, begin, end)
        np.testing.assert_array_equal(found[0], indptr[begin : end + 1] - low)
        np.testing.assert_array_equal(found[1], indices[low:high])
        np.testing.assert_array_equal(found[2], weights[low:high])


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("compress", [False, True])
def test_chunks_and_threads_change_nothing(tmp_path, monkeypatch, threads, compress):
    rows = symmetric_rows()
    whole = read_rows(open_graph(write(tmp_path / "whole", rows, [0, 60])), 5, 55)
    monkeypatch.setattr("mndmst.io.hdf5_writer.CHUNK_BYTES", 56)
    monkeypatch.setattr("mndmst.io.shards.sharded_graph.OPEN_PARTS", 2)
    vtxdist = [0, 7, 9, 25, 25, 25, 26, 31, 44, 60]
    path = write(tmp_path / "graph", rows, vtxdist, compress=compress)
    found = read_rows(open_graph(path), 5, 55, Threads(threads))
    for one, other in zip(whole, found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("vtxdist", [[0, 0], [0, 0, 0, 0]])
def test_a_graph_without_vertices(tmp_path, vtxdist):
    rows = np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
    graph = open_graph(write(tmp_path / "graph", rows, vtxdist))
    assert (graph.num_vertices, graph.num_arcs) == (0, 0)
    assert [len(array) for array in read_rows(graph, 0, 0)] == [1, 0, 0]


@pytest.mark.parametrize(
    ("num_vertices", "on_disk", "in_memory"),
    [(1 << 31, np.int32, np.uint32), (1 << 32, np.int64, np.uint32),
     ((1 << 32) + 1, np.int64, np.int64)],
)  # fmt: skip
def test_id_types_follow_the_number_of_vertices(
    tmp_path, monkeypatch, num_vertices, on_disk, in_memory
):
    # The last rows of a graph too large to write: the check of its first part, which
    # would have 2^31 rows, is left out.
    ids = np.array([num_vertices - 1, num_vertices - 2], in_memory)
    writer = ShardWriter(
        claimed(tmp_path / "graph", 2), num_vertices, np.int32,
        [0, num_vertices - 2, num_vertices], UUID,
    )  # fmt: skip
    writer.write_part(1, np.arange(3), ids, np.ones(2, np.int32))
    monkeypatch.setattr(
        ShardWriter, "_count_arcs", lambda self, file, uuid: 2 * ("1" in file.name)
    )
    names = ("part-00001.h5", "part-00000.h5")
    shutil.copy(*map(writer.target.temporary, names))
    writer.finish()
    graph = open_graph(tmp_path / "graph", check=False)
    with h5py.File(graph.parts[1]) as file:
        assert file["graph/indices"].dtype == on_disk
    indices = read_rows(graph, num_vertices - 2, num_vertices)[1]
    assert indices.dtype == in_memory
    np.testing.assert_array_equal(indices, ids)


def test_one_shard_that_is_the_graph(tmp_path):
    rows = symmetric_rows()
    write(tmp_path / "graph", rows, [0, 60])
    alone = shutil.copy(tmp_path / "graph" / "part-00000.h5", tmp_path / "alone.h5")
    for found, expected in zip(read_rows(open_graph(alone), 0, 60), rows, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_plain_h5py_and_scipy_read_a_shard(tmp_path):
    rows = symmetric_rows(dtype=np.float64)
    path = write(tmp_path / "graph", rows, [0, 60])
    with h5py.File(path / "part-00000.h5") as file:
        group = file["graph"]
        assert group.attrs["encoding-type"] == b"csr_matrix"
        arrays = tuple(group[name][:] for name in ("data", "indices", "indptr"))
        matrix = csr_array(arrays, shape=tuple(group.attrs["shape"]))
    assert matrix.has_sorted_indices
    assert abs(matrix - matrix.T).max() == 0


def test_the_index_can_be_opened_by_its_own_name(graph):
    assert open_graph(graph / "index.h5").num_parts == open_graph(graph).num_parts == 5


def test_what_is_there_is_kept_unless_asked(graph):
    with pytest.raises(OutputError, match=r"not empty.*--overwrite.*overwrite=True"):
        write(graph, symmetric_rows(), [0, 60])
    assert open_graph(graph).num_parts == 5
    write(graph, symmetric_rows(), [0, 60], overwrite=True)
    assert open_graph(graph).num_parts == 1
    assert sorted(p.name for p in graph.iterdir()) == ["index.h5", "part-00000.h5"]


def test_a_failure_while_writing_leaves_the_old_graph(graph):
    before = read_rows(open_graph(graph), 0, 60)
    indptr, indices, weights = symmetric_rows(seed=2)
    with pytest.raises(ValueError, match="disagree"):
        write(graph, (indptr, indices, weights[:-1]), [0, 30, 60], overwrite=True)
    assert not list(graph.glob("*.tmp"))
    for one, other in zip(read_rows(open_graph(graph), 0, 60), before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_part_that_was_not_written(tmp_path):
    writer = ShardWriter(claimed(tmp_path / "graph", 2), 4, np.int32, [0, 2, 4], UUID)
    writer.write_part(0, np.zeros(3, int), np.empty(0, int), np.empty(0, np.int32))
    with pytest.raises(OutputError, match=r"part-00001\.h5.*not written"):
        writer.finish()
    assert not (tmp_path / "graph" / "index.h5").exists()


def test_leftovers_of_a_killed_run_are_no_graph(tmp_path):
    killed = Destination(tmp_path / "graph")
    killed.claim(1)
    killed.temporary("part-00000.h5").write_text("half a part")
    write(tmp_path / "graph", symmetric_rows(), [0, 60])
    assert open_graph(tmp_path / "graph").num_parts == 1
    assert killed.temporary("part-00000.h5").read_text() == "half a part"


def test_a_target_that_is_a_file(tmp_path):
    (tmp_path / "graph").touch()
    with pytest.raises(OutputError, match="is a file"):
        write(tmp_path / "graph", symmetric_rows(), [0, 60], overwrite=True)


def test_a_target_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        write(Path(tmp_path / "file" / "graph"), symmetric_rows(), [0, 60])
