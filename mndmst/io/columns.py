"""Write columns to an HDF5 file rank by rank, so that no rank gathers them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..kernels.threads import ALONE, Threads
from .filters import SUM_BYTES, checksum
from .hdf5_file import hdf5_file
from .layout import writing
from .outputs import Outputs

_CHUNK_ROWS = 1 << 16


def write_columns(
    outputs: Outputs,
    path: Path,
    columns: dict[str, np.ndarray],
    attributes: Callable[[], dict[str, Any]],
    dtypes: dict[str, np.dtype] | None = None,
    threads: Threads = ALONE,
) -> None:
    """Write columns that are spread over the ranks; every rank calls it.

    The ranks append, one after the other, to the file that becomes `path` with the
    other outputs.

    Parameters
    ----------
    outputs : Outputs
    path : Path
    columns : dict of str to ndarray
        Under the name of each dataset this rank's part, in rank order; names and
        types are the same on every rank.
    attributes : callable
        Returns attributes of the root. Every rank calls it when the columns have been
        written; so what it waits for may be computed meanwhile.
    dtypes : dict of str to dtype, optional
        The types to store, where they are not the arrays'.
    threads : Threads
        Convert the columns to these types, and sum them up.

    Raises
    ------
    OutputError
        On every rank, if any of them could not write.
    """
    comm = outputs.comm
    kinds = {name: column.dtype for name, column in columns.items()} | (dtypes or {})
    lengths = {name: comm.sum(len(column)) for name, column in columns.items()}
    places = {name: comm.exscan(len(column)) for name, column in columns.items()}
    temporary = outputs.begin(path)
    with comm.raise_on_all(), writing(path):
        if comm.rank == 0:
            with hdf5_file(temporary) as file:
                for name in columns:
                    create_dataset(file, name, lengths[name], kinds[name])
    for turn in range(comm.size):
        # `raise_on_all` lets the next rank open the file when this one has closed it.
        with comm.raise_on_all(), writing(path):
            if turn == comm.rank:
                _append(temporary, columns, places, threads)
    facts = attributes()
    with comm.raise_on_all(), writing(path):
        if comm.rank == 0:
            with hdf5_file(temporary, "r+") as file:
                file.attrs.update(facts)


def create_dataset(
    file: h5py.File, name: str, length: int, dtype: np.dtype
) -> h5py.Dataset:
    """Create a dataset with checksums; HDF5 cannot chunk one without elements."""
    chunked = {"chunks": (min(length, _CHUNK_ROWS),), "fletcher32": True}
    return file.create_dataset(name, (length,), dtype, **(chunked if length else {}))


def _append(
    path: Path,
    columns: dict[str, np.ndarray],
    places: dict[str, int],
    threads: Threads,
) -> None:
    if not any(len(column) for column in columns.values()):
        return
    with hdf5_file(path, "r+") as file:
        for name, column in columns.items():
            if len(column):
                _write_range(file[name], places[name], column, threads)


def _write_range(
    dataset: h5py.Dataset, begin: int, column: np.ndarray, threads: Threads
) -> None:
    """Write entries from `begin` on: whole chunks past HDF5's filter, which is slow.

    HDF5 itself writes what shares a chunk with another rank, or ends the dataset.
    """
    length, end = dataset.chunks[0], begin + len(column)
    low = min(-(-begin // length) * length, end)
    high = max(end // length * length, low)
    dataset[begin:low] = column[: low - begin]
    buffers = [
        np.empty(length * dataset.dtype.itemsize + SUM_BYTES, np.uint8)
        for _ in range(threads.count)
    ]

    def fill(first: int, raw: np.ndarray) -> None:
        entries = column[first - begin : first - begin + length]
        raw[:-SUM_BYTES].view(dataset.dtype)[:] = entries
        raw[-SUM_BYTES:].view("<u4")[0] = checksum(raw[:-SUM_BYTES])

    chunks = range(low, high, length)
    for some in range(0, len(chunks), len(buffers)):
        filled = list(zip(chunks[some : some + len(buffers)], buffers, strict=False))
        threads.map(fill, filled)
        for first, raw in filled:
            dataset.id.write_direct_chunk((first,), raw)
    dataset[high:end] = column[high - begin :]
