"""Checksums of chunks: those that HDF5 writes."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from mndmst.io.hdf5_reader import FEW_BYTES, checksum


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
