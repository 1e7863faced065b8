"""Graph and forest files that anybody may have made: read, or refused by name.

Whatever bytes were changed and whatever a header says: no crash, no memory beyond
what the files are large, and no file outside the graph's directory.
"""

import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mpi4py import MPI
from shard_files import symmetric_rows, write

from mndmst.comm.communicator import Comm
from mndmst.graph.model import EdgeList
from mndmst.host.errors import InputError
from mndmst.io.atomic_output import AtomicOutput
from mndmst.io.names import IdRange
from mndmst.io.results.forest_file import ForestHeader, describe_forest, write_forest
from mndmst.io.shards.row_reading import read_rows
from mndmst.io.shards.sharded_graph import open_graph

# Tracing memory is slow; the libraries' own needs are far below this.
MOST_MEMORY = 32 << 20

hostile = settings(
    max_examples=25,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "graph"
    return write(path, symmetric_rows(), [0, 25, 60])


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "forest.h5"
    ends = np.arange(40, dtype=np.uint32)
    header = ForestHeader("uuid", 60, 40, "0" * 64)
    weights = np.ones(40, np.int32)
    edges = EdgeList(ends, ends + 1, weights.view(np.uint32))
    labels = np.zeros(60, np.int64)
    with AtomicOutput(Comm(MPI.COMM_SELF)) as outputs:
        write_forest(
            outputs, path, edges, weights, lambda: header, IdRange(0, 60), labels
        )
    return path


def read_graph(path: Path) -> None:
    opened = open_graph(path)
    assert all(part.parent == path for part in opened.parts)
    read_rows(opened, 0, opened.num_vertices)


def read_forest(path: Path) -> None:
    describe_forest(path / "forest.h5")


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """Yield a copy of a directory."""
    copy = path.with_name(f"{path.name}-copy")
    shutil.copytree(path, copy)
    try:
        yield copy
    finally:
        shutil.rmtree(copy)


def survives(read: Callable[[Path], None], path: Path) -> None:
    """Read; check that there is no error but one that names a file, and no waste."""
    tracemalloc.start()
    try:
        read(path)
    except InputError as error:
        assert str(path) in str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MOST_MEMORY


FILES = [
    ("graph", "index.h5", read_graph),
    ("graph", "part-00001.h5", read_graph),
    ("forest", "forest.h5", read_forest),
]


@pytest.fixture(params=FILES, ids=lambda case: case[1])
def case(request: pytest.FixtureRequest) -> tuple[Path, str, Callable]:
    name, file, read = request.param
    path = request.getfixturevalue(name)
    return (path if path.is_dir() else path.parent), file, read


@hostile
@given(data=st.data())
def test_changed_bytes(case: tuple[Path, str, Callable], data: st.DataObject) -> None:
    path, file, read = case
    with copied(path) as copy:
        content = bytearray((copy / file).read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(content) - 1))
            content[place] = data.draw(st.integers(0, 255))
        end = data.draw(st.sampled_from([len(content)] * 3 + [place]))
        (copy / file).write_bytes(content[:end])
        survives(read, copy)


NUMBERS = st.sampled_from([0, 1, -1, 2, 59, 61, 1 << 31, 1 << 40, 1 << 62, -(1 << 62)])
VALUES = st.one_of(
    NUMBERS,
    st.floats(),
    st.sampled_from(["", "int32", "float16", "../../etc/passwd", "[1", "{}", "\x00"]),
    st.sampled_from([np.bytes_("float16"), np.bytes_("{}"), np.bytes_("../../up")]),
    st.sampled_from([b"\xff\xfe", np.zeros(3), np.zeros((2, 2)), h5py.Empty("i8")]),
)


@hostile
@given(data=st.data())
def test_lying_attributes(
    case: tuple[Path, str, Callable], data: st.DataObject
) -> None:
    path, file, read = case
    with copied(path) as copy:
        with h5py.File(copy / file, "r+") as opened:
            name = data.draw(st.sampled_from(sorted(opened.attrs)))
            if data.draw(st.integers(0, 4)) == 0:
                del opened.attrs[name]
            else:
                store(opened, name, data.draw(VALUES))
        survives(read, copy)


@pytest.mark.parametrize("kind", ["array", "half"])
def test_an_attribute_of_another_type_is_damage(
    case: tuple[Path, str, Callable], kind: str
) -> None:
    """An array of a text twice, and a half-precision number in place of a count."""
    path, file, read = case
    with h5py.File(path / file) as opened:
        stored = dict(opened.attrs)
    if read is read_graph:
        del stored["creator"]  # a graph is read without it
    if file.startswith("part"):
        del stored["reordered"]  # the index says it
    for name, value in stored.items():
        wrong = np.array([value, value])
        if kind == "half":
            if not isinstance(value, np.integer):
                continue
            wrong = np.float16(value)
        elif wrong.dtype.kind == "U":
            wrong = wrong.astype("S")
        with copied(path) as copy:
            with h5py.File(copy / file, "r+") as opened:
                opened.attrs[name] = wrong
            with pytest.raises(InputError, match=file):
                read(copy)
                pytest.fail(f"{name} is read")


def store(file: h5py.File, name: str, value: Any) -> None:
    try:
        file.attrs[name] = value
    except (ValueError, TypeError, OverflowError):
        file.attrs[name] = 7  # HDF5 itself cannot hold the value


def datasets(file: h5py.File) -> list[str]:
    names: list[str] = []
    file.visititems(
        lambda name, item: names.append(name) if hasattr(item, "shape") else None
    )
    return names


SHAPES = st.sampled_from([(), (0,), (1,), (25,), (60,), (2, 30), (1 << 40,)])
DTYPES = st.sampled_from(["i1", "i4", "i8", "u8", "f4", "f8", "S300", "c16", "?"])


@hostile
@given(data=st.data())
def test_lying_datasets(case: tuple[Path, str, Callable], data: st.DataObject) -> None:
    path, file, read = case
    with copied(path) as copy:
        with h5py.File(copy / file, "r+") as opened:
            name = data.draw(st.sampled_from(datasets(opened)))
            kind = data.draw(
                st.sampled_from(["none", "group", "shape", "values", "link"])
            )
            if kind == "values":
                values = opened[name][:]
                place = data.draw(st.integers(0, len(values) - 1))
                values[place] = data.draw(NUMBERS) if values.dtype.itemsize == 8 else 0
                opened[name][:] = values
            else:
                del opened[name]
            if kind == "group":
                opened.create_group(name)
            elif kind == "link":
                opened[name] = h5py.ExternalLink("/etc/passwd", "/x")
            elif kind == "shape":
                shape, dtype = data.draw(SHAPES), data.draw(DTYPES)
                chunked = {"chunks": (1,) * len(shape), "fletcher32": True}
                opened.create_dataset(
                    name,
                    shape,
                    dtype,
                    **(chunked if 0 not in (*shape, len(shape)) else {}),
                )
        survives(read, copy)


@pytest.mark.parametrize(
    "name", ["../part-00001.h5", "/etc/passwd", "..", "", "index.h5", "x/part-00001.h5"]
)
def test_a_name_that_leads_elsewhere(graph: Path, name: str) -> None:
    with copied(graph) as copy:
        with h5py.File(copy / "index.h5", "r+") as index:
            names = index["parts"][:].astype("S40")
            names[1] = name
            del index["parts"]
            index.create_dataset("parts", data=names, chunks=(1,), fletcher32=True)
        survives(read_graph, copy)


def test_a_dataset_in_another_file(graph: Path) -> None:
    with copied(graph) as copy:
        elsewhere = copy.with_name("elsewhere.h5")
        shutil.copy(copy / "part-00001.h5", elsewhere)
        with h5py.File(copy / "part-00001.h5", "r+") as part:
            del part["graph/data"]
            part["graph/data"] = h5py.ExternalLink(str(elsewhere), "graph/data")
        with pytest.raises(InputError, match=r"part-00001\.h5"):
            read_graph(copy)
