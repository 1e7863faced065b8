"""HDF5 files on full disks: an error every time, never a crash; and their checksums."""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import pytest
from mpi4py import MPI
from shard_files import claimed

from mndmst.comm.communicator import Comm
from mndmst.graph.model import EdgeList
from mndmst.host.errors import OutputError
from mndmst.io.atomic_output import AtomicOutput
from mndmst.io.file_access import (
    read_attribute,
    read_attributes,
    text_attribute,
    write_attributes,
)
from mndmst.io.hdf5_reader import FEW_BYTES, checksum
from mndmst.io.hdf5_writer import hdf5_file
from mndmst.io.names import IdRange
from mndmst.io.results.clusters_file import write_clusters
from mndmst.io.results.forest_file import ForestHeader, write_forest
from mndmst.io.results.labels_file import write_labels
from mndmst.io.shards.shard_writer import ShardWriter
from mndmst.solver.checkpoint import Folder, Saved, save

COMM = Comm(MPI.COMM_SELF)
N = 3000
IDS = IdRange(0, N)
NUMBERS = np.random.default_rng(1).integers(0, N, 2 * N)


def clusters(path: Path) -> None:
    columns = {
        "labels": NUMBERS,
        "condensed/parent": NUMBERS,
        "condensed/size": NUMBERS,
    }
    with AtomicOutput() as begun:
        write_clusters(path, {"rule": "count 3"}, columns, begun)


def labels(path: Path) -> None:
    with AtomicOutput(COMM) as outputs:
        write_labels(outputs, path, NUMBERS, "uuid", 3, "0" * 64)


def forest(path: Path) -> None:
    ends = np.arange(N, dtype=np.uint32)
    edges = EdgeList(ends, ends, ends)
    header = ForestHeader("uuid", N, 7, "0" * 64, {"threads": 1}, {"ranks": [1] * 500})
    with AtomicOutput(COMM) as outputs:
        write_forest(
            outputs, path, edges, ends.view(np.int32), lambda: header, IDS, NUMBERS
        )


def shards(path: Path) -> None:
    vtxdist = np.array([0, N // 2, N])
    indptr = np.arange(N // 2 + 1)
    target = claimed(path, 2)
    with ShardWriter(target, N, np.dtype(np.int32), vtxdist, "uuid") as writer:
        for part in (0, 1):
            columns = NUMBERS[: N // 2], NUMBERS[: N // 2].astype(np.int32)
            writer.write_part(part, indptr, *columns)
        writer.finish()


def checkpoint(path: Path) -> None:
    ends = np.arange(N, dtype=np.uint32)
    state = Saved(7, ends, EdgeList(ends, ends, ends))
    graph = {
        "uuid": "u", "num_vertices": N, "num_arcs": 5, "weight_dtype": "int32"
    }  # fmt: skip
    folder = Folder(COMM, path)
    try:
        save(folder, graph, np.array([0, N]), state)
    finally:
        folder.close()


WRITERS = (clusters, labels, forest, shards, checkpoint)
SIZE = 200_000  # more than any of the files has


@contextmanager
def at_most(nbytes: int) -> Iterator[None]:
    """Let no file become longer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def still_open() -> int:
    """Return how many files HDF5 would have to close when the process ends."""
    return int(h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE))


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_a_full_disk_is_an_error_and_leaves_nothing_open(
    tmp_path: Path, write: Callable
) -> None:
    failures = successes = 0
    before = still_open()
    for limit in range(0, SIZE, 1500):
        try:
            with at_most(limit):
                write(tmp_path / str(limit))
            successes += 1
        except OutputError as error:
            assert "File too large" in str(error)
            failures += 1
            assert failures == limit // 1500 + 1
        assert still_open() == before
        if successes == 3:  # so do all that have more room
            break
    assert 10 < failures < SIZE // 1500


def test_the_first_reason_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="File too large"),
        at_most(20_000),
        hdf5_file(tmp_path / "f") as file,
    ):
        file["numbers"] = NUMBERS
        raise RuntimeError("what HDF5 made of it")


def test_files_are_gone_on_with(tmp_path: Path) -> None:
    with hdf5_file(tmp_path / "f") as file:
        file.create_dataset("numbers", (2 * N,), int, chunks=(500,), fletcher32=True)
    with hdf5_file(tmp_path / "f", "r+") as file:
        file["numbers"][:] = NUMBERS
    with h5py.File(tmp_path / "f") as file:
        assert (file["numbers"][:] == NUMBERS).all()
    with hdf5_file(tmp_path / "f") as file:
        assert not len(file)


def test_attributes_are_texts_of_any_letters(tmp_path: Path) -> None:
    with hdf5_file(tmp_path / "f.h5") as file:
        write_attributes(file, {"place": "Größe €", "count": 3, "none": ""})
    with h5py.File(tmp_path / "f.h5") as file:
        assert read_attributes(file) == {"place": "Größe €", "count": 3, "none": ""}
        assert file.attrs["place"].decode() == "Größe €"


def test_long_texts_are_attributes(tmp_path: Path) -> None:
    """Beyond the 64 KiB of a header, as the report of many ranks."""
    text = "report " * 100_000
    with hdf5_file(tmp_path / "f.h5") as file:
        write_attributes(file, {"report": text})
    with h5py.File(tmp_path / "f.h5") as file:
        assert read_attribute(file, "report") == text


def test_values_of_variable_length_are_not_read(tmp_path: Path) -> None:
    """HDF5 keeps them in a heap without checksum, and may search it without end."""
    with hdf5_file(tmp_path / "f.h5") as file:
        file.attrs["format"] = "mndmst-forest"
        file.attrs["texts"] = ["of", "variable length"]
        file.attrs["count"] = 3
    with h5py.File(tmp_path / "f.h5") as file:
        assert file.attrs["format"] == "mndmst-forest"
        assert read_attribute(file, "format") is None
        assert read_attributes(file) == {"count": 3}
        with pytest.raises(ValueError, match="format is not a text of fixed length"):
            text_attribute(file, "format")


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "f").symlink_to("precious")
    with pytest.raises(OSError, match=os.strerror(40)), hdf5_file(tmp_path / "f"):
        pass
    with pytest.raises(OutputError):
        clusters(tmp_path / "f")
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("fill", [None, 0, 255])
@pytest.mark.parametrize("length", [1, 2, 7, 1000, FEW_BYTES, FEW_BYTES + 2])
def test_sums_are_those_of_hdf5(tmp_path: Path, length: int, fill: int | None) -> None:
    data = np.random.default_rng(length).integers(0, 256, length).astype(np.uint8)
    if fill is not None:
        data[:] = fill
    with h5py.File(tmp_path / "file.h5", "w") as file:
        options = {"chunks": (length,), "fletcher32": True}
        dataset = file.create_dataset("data", data=data, **options)
        _, stored = dataset.id.read_direct_chunk((0,))
    assert checksum(data) == int.from_bytes(stored[-4:], "little")
