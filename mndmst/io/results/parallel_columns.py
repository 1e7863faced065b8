"""Write columns to an HDF5 file from all ranks, so that no rank gathers them.

HDF5 writes through one process, one chunk after the other. So the ranks only have it
find a place for each chunk, in turn, and write there by themselves.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from ...kernels.threads import ALONE, Threads
from ..atomic_output import AtomicOutput
from ..file_errors import flush_to_disk, writing
from ..file_suffixes import Kind
from ..hdf5.chunk_filters import SUM_BYTES, checksum
from ..hdf5.hdf5_writer import Reserving, hdf5_file, reserving_file

_CHUNK_ROWS = 1 << 16


def write_columns(
    outputs: AtomicOutput,
    path: Path,
    kind: Kind,
    columns: dict[str, np.ndarray],
    attributes: Callable[[], dict[str, Any]],
    dtypes: dict[str, np.dtype] | None = None,
    threads: Threads = ALONE,
) -> None:
    """Write columns that are spread over the ranks; every rank calls it.

    The file becomes `path` with the other outputs. Hosts write one after the other: of
    two hosts that change one page of a network file system, one may lose its bytes.

    Parameters
    ----------
    outputs : AtomicOutput
        Of all ranks.
    path : Path
    kind : Kind
    columns : dict of str to ndarray
        Under the name of each dataset this rank's part, in rank order; names and
        types are the same on every rank.
    attributes : callable
        Returns attributes of the root. Every rank calls it when the columns have been
        written, so the attributes may be computed meanwhile.
    dtypes : dict of str to dtype, optional
        The types to store, where they are not the arrays'.
    threads : Threads
        Convert the columns to these types, sum them up and write them.

    Raises
    ------
    OutputError
        On every rank, if any of them could not write.
    """
    comm = outputs.ranks
    kinds = {name: column.dtype for name, column in columns.items()} | (dtypes or {})
    lengths = {name: comm.sum(len(column)) for name, column in columns.items()}
    places = {name: comm.exscan(len(column)) for name, column in columns.items()}
    temporary = outputs.begin(path, kind)
    with comm.raise_on_all(), writing(path):
        if comm.rank == 0:
            with hdf5_file(temporary) as file:
                for name in columns:
                    create_dataset(file, name, lengths[name], kinds[name])
    chunks: list[_Chunk] = []
    for turn in range(comm.size):
        # `raise_on_all` lets the next rank open the file when this one has closed it.
        with comm.raise_on_all(), writing(path):
            if turn == comm.rank:
                chunks = _append(temporary, columns, places)
    hosts = comm.hosts()
    for turn in np.unique(hosts):
        with comm.raise_on_all(), writing(path):
            if turn == hosts[comm.rank]:
                _write_chunks(temporary, chunks, threads)
    with ThreadPoolExecutor(1, "mndmst-flush") as flusher:
        # The disk works beside what the attributes wait for
        flushing = flusher.submit(flush_to_disk, temporary) if comm.rank == 0 else None
        facts = attributes()
    with comm.raise_on_all(), writing(path):
        if flushing is not None:
            flushing.result()
            with hdf5_file(temporary, "r+") as file:
                file.attrs.update(facts)


def create_dataset(
    file: h5py.File, name: str, length: int, dtype: np.dtype
) -> h5py.Dataset:
    """Create a dataset with checksums; HDF5 cannot chunk one without elements."""
    chunked = {"chunks": (min(length, _CHUNK_ROWS),), "fletcher32": True}
    return file.create_dataset(name, (length,), dtype, **(chunked if length else {}))


class _Chunk(NamedTuple):
    """A chunk that has a place in the file, but is not written yet.

    Attributes
    ----------
    entries : ndarray
        What it is to hold.
    dtype : dtype
        As what.
    place : int
        Where in the file it begins.
    """

    entries: np.ndarray
    dtype: np.dtype
    place: int


def _append(
    path: Path, columns: dict[str, np.ndarray], places: dict[str, int]
) -> list[_Chunk]:
    """Add this rank's part of all columns, and return the chunks that are to follow.

    Those that it shares with another rank, or with which a dataset ends, HDF5 writes.
    """
    chunks: list[_Chunk] = []
    if not any(len(column) for column in columns.values()):
        return chunks
    with reserving_file(path) as reserving:
        for name, column in columns.items():
            if len(column):
                chunks += _reserve(reserving, name, places[name], column)
    return chunks


def _reserve(
    reserving: Reserving, name: str, begin: int, column: np.ndarray
) -> list[_Chunk]:
    dataset = reserving.file[name]
    dtype, length, end = dataset.dtype, dataset.chunks[0], begin + len(column)
    low = min(-(-begin // length) * length, end)
    high = max(end // length * length, low)
    dataset[begin:low] = column[: low - begin]
    dataset[high:end] = column[high - begin :]
    stand_in = np.empty(length * dtype.itemsize + SUM_BYTES, np.uint8)
    chunks = []
    for first in range(low, high, length):
        entries = column[first - begin : first - begin + length]
        place = reserving.reserve(dataset, first, stand_in)
        chunks.append(_Chunk(entries, dtype, place))
    return chunks


def _write_chunks(path: Path, chunks: list[_Chunk], threads: Threads) -> None:
    """Write chunks past HDF5, which would do so one after the other."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def write(chunk: _Chunk) -> None:
        nbytes = len(chunk.entries) * chunk.dtype.itemsize
        raw = np.empty(nbytes + SUM_BYTES, np.uint8)
        raw[:nbytes].view(chunk.dtype)[:] = chunk.entries
        raw[nbytes:].view("<u4")[0] = checksum(raw[:nbytes])
        rest, place = raw.data, chunk.place
        while len(rest):
            done = os.pwrite(descriptor, rest, place)
            rest, place = rest[done:], place + done

    try:
        threads.map(write, [(chunk,) for chunk in chunks])
    finally:
        os.close(descriptor)
