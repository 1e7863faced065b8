"""Damaged, incomplete and foreign shards are refused, by name."""

import shutil

import h5py
import numpy as np
import pytest
from shard_files import symmetric_rows, write

import mndmst
from mndmst.host.errors import InputError
from mndmst.io.file_info import describe
from mndmst.io.shards.row_reading import read_rows
from mndmst.io.shards.sharded_graph import open_graph


@pytest.fixture
def graph(tmp_path):
    return write(tmp_path / "graph", symmetric_rows(), [0, 25, 25, 40, 60, 60])


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
    path = tmp_path / "graph.h5"
    path.write_text("a graph\n")
    for read in (open_graph, describe):
        with pytest.raises(InputError, match=r"graph\.h5: is not an HDF5 .*partition"):
            read(path)
    for beginning in (b"", b"\x89HDF", b"\x89HDF\r\n\x1a\n" + bytes(9)):
        path.write_bytes(beginning)
        with pytest.raises(InputError, match=r"graph\.h5: damaged or cut short"):
            open_graph(path)


def test_hdf5_of_another_kind(tmp_path):
    h5py.File(tmp_path / "other.h5", "w").close()
    with pytest.raises(InputError, match=r"other\.h5: is HDF5, but neither the index"):
        open_graph(tmp_path / "other.h5")


def test_a_forest_in_place_of_a_graph(tmp_path):
    mndmst.minimum_spanning_forest([0], [1], [2.5]).write(tmp_path / "forest.h5")
    with pytest.raises(
        InputError, match=r"forest\.h5: is HDF5 of format mndmst-forest, but nei"
    ):
        open_graph(tmp_path / "forest.h5")


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
        read_rows(open_graph(graph.path), 0, 60)


def test_a_row_out_of_order(tmp_path):
    indptr, indices, weights = symmetric_rows()
    row = int(np.argmax(np.diff(indptr) > 2))
    indices[indptr[row]], indices[indptr[row] + 1] = (
        indices[indptr[row] + 1], indices[indptr[row]],
    )  # fmt: skip
    graph = open_graph(write(tmp_path / "graph", (indptr, indices, weights), [0, 60]))
    with pytest.raises(InputError, match="ids of a row do not ascend"):
        read_rows(graph, 0, 60)


@pytest.mark.parametrize("file", ["index.h5", "part-00000.h5"])
def test_no_flipped_byte_gives_another_graph(tmp_path, file):
    rows = symmetric_rows(num_edges=40)
    path = write(tmp_path / "graph", rows, [0, 60])
    whole = (path / file).read_bytes()
    refused = 0
    for place in range(0, len(whole), 71):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        (path / file).write_bytes(damaged)
        try:
            found = read_rows(open_graph(path), 0, 60)
        except InputError as error:
            assert file in str(error)
            refused += 1
        else:
            for one, other in zip(found, rows, strict=True):
                np.testing.assert_array_equal(one, other)
    assert refused > 3
