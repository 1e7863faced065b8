"""Columns of several ranks become one dataset, wherever ranks and chunks divide it."""

from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pytest

from mndmst.io.hdf5.hdf5_writer import hdf5_file
from mndmst.io.results.parallel_columns import _append, _write_chunks
from mndmst.kernels.threads import Threads


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cuts", [[], [1], [15], [16], [17, 18], [33, 64], [0, 64]])
def test_ranges_of_a_column_make_the_same_chunks(
    tmp_path: Path, threads: int, cuts: list[int]
) -> None:
    numbers = np.arange(71, dtype=np.uint32) * 60_000_001
    bounds = [0, *cuts, len(numbers)]
    with hdf5_file(tmp_path / "f") as file:
        options = {"chunks": (16,), "fletcher32": True}
        file.create_dataset("numbers", (len(numbers),), "i8", **options)
    for begin, end in pairwise(bounds):
        columns = {"numbers": numbers[begin:end]}
        chunks = _append(tmp_path / "f", columns, {"numbers": begin})
        _write_chunks(tmp_path / "f", chunks, Threads(threads))
    with h5py.File(tmp_path / "f") as file:  # HDF5 checks the sums
        np.testing.assert_array_equal(file["numbers"][:], numbers)
        assert file["numbers"].id.get_num_chunks() == 5
