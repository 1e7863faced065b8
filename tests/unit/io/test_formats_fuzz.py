"""Damaged files of every format: a graph or a clear error, soon and in little memory.

Bytes are cut off, changed or overwritten by numbers that a header could lie with.
"""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.ipc
import pytest
from bvgraph import write_bvgraph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from square import DATA

from mndmst.host.errors import ConfigError, InputError
from mndmst.io.formats import open_edges, read_edges

# A piece of a file, its buffers, and what a library needs in between
MOST_BYTES = 64 << 20

FILES = sorted(path.name for path in DATA.glob("square*"))
LIES = [0, 1, 2, 4, 11, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1]

cuts = st.floats(0, 1).map(lambda share: ("cut", share, b""))
flips = st.tuples(st.just("put"), st.floats(0, 1), st.binary(min_size=1, max_size=3))
numbers = st.sampled_from(LIES).flatmap(
    lambda number: st.sampled_from(
        [number.to_bytes(8, "little"), (number % 2**32).to_bytes(4, "little")]
    )
)
headers = st.sampled_from([0, 1, 4, 8, 9, 16, 17, 24]).flatmap(
    lambda at: numbers.map(lambda number: ("at", at, number))
)
digits = st.sampled_from([b"9999999999999", b"-1", b"1e99", b"nan", b"\n", b" ", b"x"])
words = st.tuples(st.just("in"), st.floats(0, 1), digits)
damages = st.lists(st.one_of(cuts, flips, headers, words), min_size=1, max_size=3)


def damaged(contents: bytes, damage: list[tuple[str, float, bytes]]) -> bytes:
    for kind, where, what in damage:
        at = int(where) if kind == "at" else int(where * len(contents))
        if kind == "cut":
            contents = contents[:at]
        elif kind == "in":
            contents = contents[:at] + what + contents[at:]
        else:
            contents = contents[:at] + what + contents[at + len(what) :]
    return contents


@pytest.fixture(autouse=True)
def own_pool() -> Iterator[None]:
    """Count what Arrow allocates here; other tests allocate from the default pool."""
    pool = pyarrow.default_memory_pool()
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    yield
    pyarrow.set_memory_pool(pool)


def check(path: Path, format: str | None = None) -> None:
    tracemalloc.start()
    try:
        edges = read_edges(path, format)
    except (InputError, ConfigError) as error:  # the latter if a size is too large
        assert path.stem.partition(".")[0] in str(error)
        assert str(error).count(".") >= 2
        assert "\n" not in str(error)
    else:
        assert len(edges) <= 64 * path.stat().st_size
        assert not len(edges) or edges.src.max() < edges.num_vertices
        assert not len(edges) or edges.dst.max() < edges.num_vertices
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MOST_BYTES
    assert pyarrow.default_memory_pool().max_memory() < MOST_BYTES


@pytest.mark.parametrize("name", FILES)
def test_damaged_files(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("fuzz") / name
    contents = (DATA / name).read_bytes()
    read_edges(DATA / name)  # what has to be compiled is

    @settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
    @given(damages)
    def fuzz(damage: list[tuple[str, float, bytes]]) -> None:
        path.write_bytes(damaged(contents, damage))
        check(path)

    fuzz()


def test_a_header_of_numpy_that_ends_early(tmp_path: Path) -> None:
    contents = (DATA / "square-rows.npz").read_bytes()
    for at in range(contents.index(b"{'descr'"), contents.index(b"}") + 1):
        for what in (b"\0", b"\0\0", b"\n\n", b"(", b"'"):
            path = tmp_path / "header.npz"
            path.write_bytes(contents[:at] + what + contents[at + len(what) :])
            check(path)


def test_the_text_of_a_library_is_cut_to_one_line(tmp_path: Path) -> None:
    """Thrift's text, of a footer of Parquet, ends with the end of a line."""
    contents, path = (DATA / "square.parquet").read_bytes(), tmp_path / "footer.parquet"
    length = int.from_bytes(contents[-8:-4], "little")
    path.write_bytes(contents[: -8 - length] + b"\xff" * length + contents[-8:])
    with pytest.raises(InputError, match=r"deserialize thrift: .*\)\. Write it again"):
        read_edges(path)
    check(path)


@pytest.mark.parametrize("which", [".graph", ".properties"])
def test_damaged_web_graphs(
    which: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lists = [[1, 2, 3, 4, 5], [0, 2, 3, 4, 5], [0, 1, 3, 5], [], [5], [0, 4]] * 4
    path = write_bvgraph(tmp_path_factory.mktemp("fuzz") / "web.graph", lists)
    read_edges(path, "bvgraph")
    contents = path.with_suffix(which).read_bytes()

    @settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
    @given(damages)
    def fuzz(damage: list[tuple[str, float, bytes]]) -> None:
        path.with_suffix(which).write_bytes(damaged(contents, damage))
        check(path, "bvgraph")

    fuzz()


@pytest.mark.parametrize("packing", [None, "zstd"])
def test_arrow_files_of_many_batches(tmp_path: Path, packing: str | None) -> None:
    names = pyarrow.array(["a", "b", "c"] * 40).dictionary_encode()
    ends = np.arange(120)
    table = pyarrow.table({"name": names, "source": ends, "target": ends + 1})
    path = tmp_path / "path.arrow"
    options = pyarrow.ipc.IpcWriteOptions(compression=packing)
    with pyarrow.ipc.new_file(str(path), table.schema, options=options) as file:
        file.write_table(table, max_chunksize=50)
    edges = open_edges(path)
    for begin, end in [(0, 120), (60, 110), (100, 101), (7, 7)]:
        found = [piece.src for piece in edges.pieces(begin, end)]
        expected = np.arange(begin, end)
        np.testing.assert_array_equal(np.concatenate([expected[:0], *found]), expected)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="its last bytes are not ARROW1"):
        open_edges(path)
