"""Sharded graphs: what is written is read, and what is damaged is refused."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.sparse import csr_array

from mndmst.errors import InputError, OutputError
from mndmst.io.shards import ShardWriter, open_graph
from mndmst.order import WEIGHT_DTYPES

UUID = "00000000-0000-0000-0000-000000000001"


def symmetric_rows(num_vertices=60, num_edges=150, dtype=np.int32, seed=1):
    """Return random CSR rows with the isolated vertices 10 to 19."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, num_vertices, (2, num_edges))
    ends = ends[:, (ends[0] != ends[1]) & ((ends < 10) | (ends > 19)).all(axis=0)]
    pairs = np.unique(np.sort(ends, axis=0), axis=1)
    weights = random.integers(0, 100, pairs.shape[1]).astype(dtype)
    rows, columns = np.concatenate((pairs, pairs[::-1]), axis=1)
    order = np.lexsort((columns, rows))
    counts = np.bincount(rows, minlength=num_vertices)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    return indptr, columns[order].astype(np.uint32), np.tile(weights, 2)[order]


def write(path, rows, vtxdist, uuid=UUID, num_vertices=None, **options):
    indptr, indices, weights = rows
    num_vertices = len(indptr) - 1 if num_vertices is None else num_vertices
    with ShardWriter(
        path, num_vertices, weights.dtype, np.array(vtxdist), uuid, **options
    ) as writer:
        for part in range(writer.num_parts):
            begin, end = vtxdist[part : part + 2]
            low, high = indptr[[begin, end]]
            pointers = indptr[begin : end + 1] - low
            writer.write_part(part, pointers, indices[low:high], weights[low:high])
        writer.finish()
    return path


@pytest.fixture
def graph(tmp_path):
    return write(tmp_path / "graph", symmetric_rows(), [0, 25, 25, 40, 60, 60])


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES, ids=str)
@pytest.mark.parametrize("vtxdist", [[0, 60], [0, 0, 7, 7, 15, 60], [0, 60, 60]])
@pytest.mark.parametrize("compress", [False, True])
def test_rows_come_back_from_any_range(tmp_path, dtype, vtxdist, compress):
    indptr, indices, weights = rows = symmetric_rows(dtype=dtype)
    graph = open_graph(write(tmp_path / "graph", rows, vtxdist, compress=compress))
    assert (graph.num_vertices, graph.num_arcs) == (60, len(indices))
    assert graph.weight_dtype == dtype
    assert graph.num_parts == len(vtxdist) - 1
    assert graph.uuid == UUID
    np.testing.assert_array_equal(graph.arcdist, indptr[vtxdist])
    for begin, end in [(0, 60), (0, 0), (60, 60), (7, 7), (3, 9), (12, 18), (14, 60)]:
        low, high = indptr[[begin, end]]
        np.testing.assert_array_equal(
            graph.read_indptr(begin, end), indptr[begin : end + 1]
        )
        found = graph.read_rows(begin, end)
        np.testing.assert_array_equal(found[0], indptr[begin : end + 1] - low)
        np.testing.assert_array_equal(found[1], indices[low:high])
        np.testing.assert_array_equal(found[2], weights[low:high])
        assert [array.dtype for array in found] == [np.int64, np.uint32, dtype]


@pytest.mark.parametrize("piece", [1, 2, 3, 7])
def test_pieces_change_nothing(graph, monkeypatch, piece):
    whole = open_graph(graph).read_rows(5, 55)
    monkeypatch.setattr("mndmst.io.shard_reader.PIECE_ARCS", piece)
    for one, other in zip(whole, open_graph(graph).read_rows(5, 55), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("vtxdist", [[0, 0], [0, 0, 0, 0]])
def test_a_graph_without_vertices(tmp_path, vtxdist):
    rows = np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
    graph = open_graph(write(tmp_path / "graph", rows, vtxdist))
    assert (graph.num_vertices, graph.num_arcs) == (0, 0)
    assert [len(array) for array in graph.read_rows(0, 0)] == [1, 0, 0]


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
        tmp_path / "graph", num_vertices, np.int32, [0, num_vertices - 2, num_vertices],
        UUID,
    )  # fmt: skip
    writer.write_part(1, np.arange(3), ids, np.ones(2, np.int32))
    monkeypatch.setattr(
        ShardWriter, "_count_arcs", lambda self, file: 2 * ("1" in file.name)
    )
    shutil.copy(writer.path / "part-00001.h5.tmp", writer.path / "part-00000.h5.tmp")
    writer.finish()
    graph = open_graph(tmp_path / "graph", check=False)
    with h5py.File(graph.parts[1]) as file:
        assert file["graph/indices"].dtype == on_disk
    indices = graph.read_rows(num_vertices - 2, num_vertices)[1]
    assert indices.dtype == in_memory
    np.testing.assert_array_equal(indices, ids)


def test_one_shard_that_is_the_graph(tmp_path):
    rows = symmetric_rows()
    write(tmp_path / "graph", rows, [0, 60])
    alone = shutil.copy(tmp_path / "graph" / "part-00000.h5", tmp_path / "alone.h5")
    for found, expected in zip(open_graph(alone).read_rows(0, 60), rows, strict=True):
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


# Refusals


def test_a_part_of_many_is_refused_alone(graph):
    with pytest.raises(InputError, match=r"part-00001\.h5: is one part of 5"):
        open_graph(graph / "part-00001.h5")


def test_no_index(graph):
    (graph / "index.h5").unlink()
    with pytest.raises(InputError, match=r"no index\.h5.*again"):
        open_graph(graph)


def test_nothing_there(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        open_graph(tmp_path / "nowhere")


def test_not_hdf5(tmp_path):
    (tmp_path / "graph.h5").write_text("a graph\n")
    with pytest.raises(InputError, match=r"graph\.h5: damaged"):
        open_graph(tmp_path / "graph.h5")


def test_hdf5_of_another_kind(tmp_path):
    h5py.File(tmp_path / "other.h5", "w").close()
    with pytest.raises(InputError, match="neither the index nor a shard"):
        open_graph(tmp_path / "other.h5")


def test_a_missing_part(graph):
    (graph / "part-00003.h5").unlink()
    with pytest.raises(InputError, match=r"part-00003\.h5: no such file"):
        open_graph(graph)


def test_a_foreign_part(graph, tmp_path):
    other = write(
        tmp_path / "other", symmetric_rows(), [0, 25, 25, 40, 60, 60], "other"
    )
    shutil.copy(other / "part-00003.h5", graph)
    with pytest.raises(InputError, match=r"part-00003\.h5: belongs to another.*uuid"):
        open_graph(graph)


def test_a_part_under_the_name_of_another(graph):
    shutil.copy(graph / "part-00000.h5", graph / "part-00003.h5")
    with pytest.raises(InputError, match=r"part-00003\.h5: belongs"):
        open_graph(graph)


def test_a_truncated_part(graph):
    part = graph / "part-00000.h5"
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"part-00000\.h5: damaged or cut short"):
        open_graph(graph)


@pytest.mark.parametrize("name", ["num_arcs", "num_vertices", "num_parts"])
@pytest.mark.parametrize("file", ["index.h5", "part-00000.h5"])
def test_a_lying_header_takes_no_memory(graph, name, file):
    with h5py.File(graph / file, "r+") as opened:
        opened.attrs[name] = 1 << 60
    with pytest.raises(InputError, match=file):
        open_graph(graph)


def test_a_dataset_that_was_never_written_is_not_zeros(graph):
    part = graph / "part-00000.h5"
    with h5py.File(part, "r+") as file:
        shape = file["graph/indices"].shape
        del file["graph/indices"]
        file.create_dataset("graph/indices", shape, "i4", chunks=(8,), fletcher32=True)
    with pytest.raises(InputError, match=r"part-00000\.h5.*not written to its end"):
        open_graph(graph)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [("graph/indices", 3, 60, "out of range"), ("graph/indices", 3, -1, "out of range"),
     ("graph/indptr", 0, 1, "do not ascend"), ("graph/indptr", 8, 1 << 40, "ascend"),
     ("graph/indptr", -1, 3, "do not ascend"), ("graph/data", 5, np.nan, "is NaN")],
)  # fmt: skip
def test_wrong_contents(tmp_path, name, place, value, message):
    rows = symmetric_rows(dtype=np.float32)
    graph = open_graph(write(tmp_path / "graph", rows, [0, 25, 60]))
    with h5py.File(graph.parts[0], "r+") as file:
        values = file[name][:]
        values[place] = value
        file[name][:] = values
    with pytest.raises(InputError, match=rf"part-00000\.h5.*{message}"):
        graph.read_rows(0, 60)


@pytest.mark.parametrize("piece", [2, 1 << 20])
def test_a_row_out_of_order(tmp_path, monkeypatch, piece):
    monkeypatch.setattr("mndmst.io.shard_reader.PIECE_ARCS", piece)
    indptr, indices, weights = symmetric_rows()
    row = int(np.argmax(np.diff(indptr) > 2))
    indices[indptr[row]], indices[indptr[row] + 1] = (
        indices[indptr[row] + 1], indices[indptr[row]],
    )  # fmt: skip
    graph = open_graph(write(tmp_path / "graph", (indptr, indices, weights), [0, 60]))
    with pytest.raises(InputError, match="ids of a row do not ascend"):
        graph.read_rows(0, 60)


@pytest.mark.parametrize("file", ["index.h5", "part-00000.h5"])
def test_no_flipped_byte_gives_another_graph(tmp_path, file):
    rows = symmetric_rows(num_edges=40)
    path = write(tmp_path / "graph", rows, [0, 60])
    whole = (path / file).read_bytes()
    refused = 0
    for place in range(0, len(whole), 37):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        (path / file).write_bytes(damaged)
        try:
            found = open_graph(path).read_rows(0, 60)
        except InputError as error:
            assert file in str(error)
            refused += 1
        else:
            for one, other in zip(found, rows, strict=True):
                np.testing.assert_array_equal(one, other)
    assert refused > 5


# Writing


def test_what_is_there_is_kept_unless_asked(graph):
    with pytest.raises(OutputError, match="not empty"):
        write(graph, symmetric_rows(), [0, 60])
    assert open_graph(graph).num_parts == 5
    write(graph, symmetric_rows(), [0, 60], overwrite=True)
    assert open_graph(graph).num_parts == 1
    assert sorted(p.name for p in graph.iterdir()) == ["index.h5", "part-00000.h5"]


def test_a_failure_while_writing_leaves_the_old_graph(graph):
    before = open_graph(graph).read_rows(0, 60)
    indptr, indices, weights = symmetric_rows(seed=2)
    with pytest.raises(ValueError, match="disagree"):
        write(graph, (indptr, indices, weights[:-1]), [0, 30, 60], overwrite=True)
    assert not list(graph.glob("*.tmp"))
    for one, other in zip(open_graph(graph).read_rows(0, 60), before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_part_that_was_not_written(tmp_path):
    writer = ShardWriter(tmp_path / "graph", 4, np.int32, [0, 2, 4], UUID)
    writer.write_part(0, np.zeros(3, int), np.empty(0, int), np.empty(0, np.int32))
    with pytest.raises(OutputError, match=r"part-00001\.h5.*not written"):
        writer.finish()
    assert not (tmp_path / "graph" / "index.h5").exists()


def test_leftovers_of_a_killed_run_are_no_graph(tmp_path):
    leftover = tmp_path / "graph" / "part-00007.h5.tmp"
    leftover.parent.mkdir()
    leftover.touch()
    write(tmp_path / "graph", symmetric_rows(), [0, 60])
    assert open_graph(tmp_path / "graph").num_parts == 1


def test_a_target_that_is_a_file(tmp_path):
    (tmp_path / "graph").touch()
    with pytest.raises(OutputError, match="is a file"):
        write(tmp_path / "graph", symmetric_rows(), [0, 60], overwrite=True)


def test_a_target_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        write(Path(tmp_path / "file" / "graph"), symmetric_rows(), [0, 60])
