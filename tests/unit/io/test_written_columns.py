"""Columns of several ranks become one dataset, wherever ranks and chunks divide it."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from mndmst.host.errors import OutputError
from mndmst.io import hdf5_writer
from mndmst.io.file_access import writing
from mndmst.io.results import parallel_columns
from mndmst.io.results.parallel_columns import (
    Layout,
    StoredAs,
    reserve_columns,
    write_chunks,
)
from mndmst.kernels.threads import Threads


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (hdf5_writer, parallel_columns):
        monkeypatch.setattr(module, "CHUNK_ROWS", 16)


def write(path: Path, layout: Layout, numbers: np.ndarray, threads: int) -> None:
    """Write a column as the ranks do, one rank after the other."""
    ranks = len(layout.starts) - 1
    (offsets,) = reserve_columns(path, [layout])
    parts = np.split(numbers, layout.starts[1:-1])
    sent = [layout.leading_entries(rank, parts[rank]) for rank in range(ranks)]
    for rank, part in enumerate(parts):
        pieces = [leading for counts, leading in sent if counts[rank]]
        trailing = np.concatenate([part[:0], *pieces])
        chunks = layout.chunks(rank, part, trailing, offsets)
        write_chunks(path, chunks, Threads(threads))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "cuts",
    [
        [], [1], [15], [16], [17, 18], [33, 64], [0, 64], [3, 5, 9, 70], [16, 16, 17],
        [0, 0, 71, 71], list(range(1, 71)),
    ],
)  # fmt: skip
def test_any_ranges_make_the_same_file(
    tmp_path: Path, threads: int, cuts: list[int]
) -> None:
    numbers = np.arange(71, dtype=np.uint32) * 60_000_001
    dtype = StoredAs(np.dtype(np.int64))
    whole, ranks = (
        Layout("numbers", dtype, np.array([0, *inner, 71])) for inner in ([], cuts)
    )
    write(tmp_path / "whole", whole, numbers, 1)
    write(tmp_path / "ranks", ranks, numbers, threads)
    with h5py.File(tmp_path / "ranks") as file:  # HDF5 checks the sums
        np.testing.assert_array_equal(file["numbers"][:], numbers)
        assert file["numbers"].id.get_num_chunks() == 5
    chunks = [
        [file["numbers"].id.read_direct_chunk((first,)) for first in range(0, 71, 16)]
        for file in map(h5py.File, (tmp_path / "whole", tmp_path / "ranks"))
    ]
    assert chunks[0] == chunks[1]


def test_a_chunk_is_what_hdf5_would_write(tmp_path: Path) -> None:
    numbers = np.arange(37, dtype=np.int32)
    layout = Layout("numbers", StoredAs(np.dtype(np.int64)), np.array([0, 20, 37]))
    write(tmp_path / "ranks", layout, numbers, 1)
    with h5py.File(tmp_path / "alone", "w") as file:
        dataset = file.create_dataset(
            "numbers", (37,), "i8", chunks=(16,), fletcher32=True
        )
        dataset[:] = numbers
    one, other = (
        h5py.File(tmp_path / name)["numbers"].id for name in ("alone", "ranks")
    )
    for first in (0, 16, 32):
        assert one.read_direct_chunk((first,)) == other.read_direct_chunk((first,))


def test_a_column_without_entries(tmp_path: Path) -> None:
    layout = Layout("none", StoredAs(np.dtype(np.int64)), np.array([0, 0, 0]))
    write(tmp_path / "f", layout, np.empty(0, np.int64), 1)
    with h5py.File(tmp_path / "f") as file:
        assert file["none"].shape == (0,)


def test_a_full_disk_is_an_error_of_the_rank_that_meets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout("numbers", StoredAs(np.dtype(np.int64)), np.array([0, 71]))
    (offsets,) = reserve_columns(tmp_path / "f", [layout])
    chunks = layout.chunks(0, np.arange(71), np.empty(0, np.int64), offsets)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(OutputError, match="No space left"), writing(tmp_path / "f"):
        write_chunks(tmp_path / "f", chunks, Threads(2))
