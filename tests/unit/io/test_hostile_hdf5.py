"""HDF5 files that lead elsewhere or unpack to far more than they are: refused."""

import resource
import shutil
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import forests
import h5py
import numpy as np
import pytest
from shard_files import symmetric_rows, write
from square import DATA

from mndmst.host.errors import InputError
from mndmst.io.atomic_output import AtomicOutput
from mndmst.io.formats import read_edges
from mndmst.io.hdf5_reader import (
    DEFLATE,
    LARGEST_CHUNK,
    checked_dataset,
    read_dataset,
    undo,
)
from mndmst.io.results.clusters_file import (
    read_dendrogram,
    read_labels,
    write_clusters,
)
from mndmst.io.results.forest_file import describe_forest
from mndmst.io.shards.row_reading import read_rows
from mndmst.io.shards.sharded_graph import open_graph


def external(file: h5py.File, name: str, other: Path) -> None:
    file[name] = h5py.ExternalLink(str(other), name)


def soft(file: h5py.File, name: str, other: Path) -> None:
    file["outside"] = h5py.ExternalLink(str(other), name)
    file[name] = h5py.SoftLink("/outside")


def virtual(file: h5py.File, name: str, other: Path) -> None:
    with h5py.File(other) as found:
        source = h5py.VirtualSource(found[name])
        layout = h5py.VirtualLayout(found[name].shape, found[name].dtype)
    layout[:] = source
    file.create_virtual_dataset(name, layout)


def raw(file: h5py.File, name: str, other: Path) -> None:
    with h5py.File(other) as found:
        values = found[name][:]
    beside = other.with_suffix(".raw")
    beside.write_bytes(values.tobytes())
    file.create_dataset(
        name, values.shape, values.dtype, external=[(str(beside), 0, values.nbytes)]
    )


def references(file: h5py.File, name: str, other: Path) -> None:
    with h5py.File(other) as found:
        length = len(found[name])
    file.create_dataset(name, data=[file.ref] * length, dtype=h5py.ref_dtype)


def other_filter(file: h5py.File, name: str, other: Path) -> None:
    with h5py.File(other) as found:
        values = found[name][:]
    file.create_dataset(name, data=values, compression="lzf", fletcher32=True)


def read_graph(path: Path) -> None:
    graph = open_graph(path.parent)
    read_rows(graph, 0, graph.num_vertices)


def make_graph(folder: Path) -> Path:
    return write(folder / "graph", symmetric_rows(), [0, 25, 60]) / "part-00001.h5"


def make_index(folder: Path) -> Path:
    return write(folder / "graph", symmetric_rows(), [0, 25, 60]) / "index.h5"


def make_forest(folder: Path) -> Path:
    ends = np.arange(40, dtype=np.uint32)
    weights = np.ones(40, np.int32)
    return forests.write(folder / "forest.h5", 60, ends, ends + 1, weights)


def make_clusters(folder: Path) -> Path:
    labels = {"labels": np.zeros(60, np.int64)}
    with AtomicOutput() as files:
        write_clusters(folder / "clusters.h5", {"num_vertices": 60}, labels, files)
    return folder / "clusters.h5"


FILES = {
    "graph/data": (make_graph, read_graph),
    "vtxdist": (make_index, read_graph),
    "forest/src": (make_forest, describe_forest),
    "labels": (make_clusters, read_labels),
}


@pytest.mark.parametrize(
    "way",
    [external, soft, virtual, raw, references, other_filter],
    ids=lambda w: w.__name__,
)
@pytest.mark.parametrize("name", FILES)
def test_nothing_outside_the_file_is_read(
    name: str, way: Callable, tmp_path: Path
) -> None:
    make, read = FILES[name]
    path = make(tmp_path)
    other = shutil.copy(path, tmp_path / "other.h5")
    read(path)
    with h5py.File(path, "r+") as file:
        del file[name]
        way(file, name, Path(other))
    with pytest.raises(InputError, match=rf"{path.name}: dataset {name} .*\.$"):
        read(path)
    if name != "labels":
        with pytest.raises(InputError, match=f"dataset {name} "):
            read_edges(path.parent if make in (make_graph, make_index) else path)


def bomb(path: Path, length: int, chunk: int, stored: bytes) -> h5py.File:
    """Return a file with a dataset whose first chunk is stored as some bytes."""
    file = h5py.File(path, "w", libver="v110")
    dataset = file.create_dataset(
        "x",
        (length,),
        "i8",
        chunks=(chunk,),
        maxshape=(None,),
        compression="gzip",
        fletcher32=True,
    )
    dataset.id.write_direct_chunk((0,), stored)
    return file


def test_a_chunk_larger_than_its_dataset(tmp_path: Path) -> None:
    said = pytest.raises(InputError, match="chunks of 1 GiB,")
    with bomb(tmp_path / "b.h5", 8, 1 << 27, b"0" * 100) as file, said:
        checked_dataset(tmp_path / "b.h5", file, "x", 8)


def test_a_chunk_larger_than_any(tmp_path: Path) -> None:
    length = LARGEST_CHUNK // 8 + 1
    said = pytest.raises(InputError, match="too large for it")
    with bomb(tmp_path / "b.h5", length, length, b"0" * 100) as file, said:
        checked_dataset(tmp_path / "b.h5", file, "x", length)


def test_a_chunk_that_unpacks_to_more(tmp_path: Path) -> None:
    packed = zlib.compress(bytes(400 << 20), 9)
    stored = packed + b"0000"
    path = tmp_path / "b.h5"
    with bomb(path, 1 << 17, 1 << 17, stored) as file:
        dataset = checked_dataset(path, file, "x", 1 << 17)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(InputError, match="damaged or cut short"):
            read_dataset(path, dataset)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 100 << 10


def test_the_same_filter_twice(tmp_path: Path) -> None:
    path = tmp_path / "b.h5"
    with h5py.File(path, "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((8,))
        properties.set_deflate(9)
        properties.set_deflate(9)
        properties.set_fletcher32()
        space = h5py.h5s.create_simple((8,))
        kind = h5py.h5t.NATIVE_INT64
        h5py.h5d.create(file.id, b"x", kind, space, dcpl=properties)
        file["x"][:] = 1
        with pytest.raises(InputError, match="a filter that mndmst does not use"):
            checked_dataset(path, file, "x", 8)


def test_a_negative_id_is_told_as_it_stands(tmp_path: Path) -> None:
    path = make_graph(tmp_path)
    with h5py.File(path, "r+") as part:
        part["graph/indices"][0] = -7
    with pytest.raises(
        InputError, match=r"part-00001.h5: arc \(\d+, -7\): an id is out"
    ):
        read_graph(path)


def shortened(file: h5py.File, name: str) -> None:
    column = file[name][:-1]
    del file[name]
    file.create_dataset(name, data=column, fletcher32=True)


def with_entry(file: h5py.File, name: str, entry: tuple[int, ...], value: int) -> None:
    file[name][entry] = value


@pytest.mark.parametrize(
    ("change", "read", "message"),
    [
        (partial(with_entry, name="linkage", entry=(0, 0), value=99),
         read_dendrogram, "linkage is not a dendrogram"),
        (partial(with_entry, name="linkage", entry=(3, 1), value=0),
         read_dendrogram, "linkage is not a dendrogram"),
        (partial(shortened, name="labels"), read_dendrogram, "linkage and labels diff"),
        (partial(shortened, name="ids"), read_dendrogram, "linkage and ids differ"),
        (partial(with_entry, name="labels", entry=(0,), value=99),
         read_labels, "a label is out of range"),
    ],
)  # fmt: skip
def test_clusters_that_contradict_themselves(
    change: Callable, read: Callable, message: str, tmp_path: Path
) -> None:
    path = Path(shutil.copy(DATA / "golden/before.h5", tmp_path))
    read(path)
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(InputError, match=rf"before\.h5: .*{message}"):
        read(path)


@pytest.mark.parametrize(
    ("stored", "message"),
    [(b"no zlib", "are damaged"), (zlib.compress(bytes(16))[:-6], "do not end where")],
)
def test_a_chunk_that_does_not_unpack(stored: bytes, message: str) -> None:
    whole = np.frombuffer(zlib.compress(bytes(16)), np.uint8)
    assert undo((DEFLATE,), 0, whole, 8, 16).tobytes() == bytes(16)
    with pytest.raises(ValueError, match=message):
        undo((DEFLATE,), 0, np.frombuffer(stored, np.uint8), 8, 16)
