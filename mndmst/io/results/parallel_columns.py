"""Write columns to an HDF5 file from all ranks at once, so that no rank gathers them.

HDF5 writes through one process, one chunk after the other. So rank 0 has HDF5 allocate
all chunks, and every rank writes its chunks at their offsets in the file. A chunk with
entries of several ranks is written by the first of them.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...kernels.threads import ALONE, Threads
from ..atomic_output import AtomicOutput
from ..file_access import flush_to_disk, write_at, write_attributes, writing
from ..hdf5_reader import SUM_BYTES, checksum
from ..hdf5_writer import CHUNK_ROWS, create_dataset, hdf5_file, reserving_file
from ..output_kinds import Kind


def write_columns(
    outputs: AtomicOutput,
    path: Path,
    kind: Kind,
    columns: dict[str, np.ndarray],
    attributes: Callable[[], dict[str, object]],
    stored: dict[str, "StoredAs"] | None = None,
    threads: Threads = ALONE,
) -> None:
    """Write columns that are spread over the ranks; every rank calls it.

    The file becomes `path` with the other outputs. `columns` are this rank's parts of
    the datasets, which the parts of the ranks fill in rank order. `stored` has the
    datasets that are converted for storage. Every rank calls `attributes`, of the root,
    when the columns have been written.
    """
    comm = outputs.ranks
    kinds = {name: StoredAs(column.dtype) for name, column in columns.items()}
    kinds |= stored or {}
    lengths = [len(column) for column in columns.values()]
    bounds = np.cumsum(comm.allgather(np.array(lengths, np.int64)), axis=0)
    layouts = [
        Layout(name, kinds[name], np.append(0, ends))
        for name, ends in zip(columns, bounds.T, strict=True)
    ]
    temporary = outputs.begin(path, kind)
    offsets: list[np.ndarray] | None = None
    with comm.raise_on_all(), writing(path):
        if comm.rank == 0:
            offsets = reserve_columns(temporary, layouts)
    offsets = comm.bcast(offsets)
    assert offsets is not None
    chunks: list[ReservedChunk] = []
    for layout, column, starts in zip(layouts, columns.values(), offsets, strict=True):
        counts, leading = layout.leading_entries(comm.rank, column)
        _, (trailing,) = comm.alltoallv(counts, leading)
        chunks += layout.chunks(comm.rank, column, trailing, starts)
    hosts = comm.hosts()
    for turn in np.flatnonzero(hosts == np.arange(comm.size)):
        with comm.raise_on_all(), writing(path):
            if turn == hosts[comm.rank]:
                write_chunks(temporary, chunks, threads)
    with ThreadPoolExecutor(1, "mndmst-flush") as flusher:
        # The disk works while the attributes are computed
        flushing = flusher.submit(flush_to_disk, temporary) if comm.rank == 0 else None
        facts = attributes()
    with comm.raise_on_all(), writing(path):
        if flushing is not None:
            flushing.result()
            with hdf5_file(temporary, "r+") as file:
                write_attributes(file, facts)


class StoredAs(NamedTuple):
    """The storage of the entries of a column."""

    dtype: np.dtype
    added: int = 0  # to every entry


@dataclass(frozen=True)
class ReservedChunk:
    """A chunk that has an offset in the file, but is not written yet."""

    entries: np.ndarray  # this rank's entries of the chunk
    # The entries of later ranks, behind them. Zeros fill the rest of the chunk.
    trailing: np.ndarray
    stored: StoredAs
    length: int  # entries of a whole chunk
    offset: int  # the chunk's first byte in the file

    def encoded(self) -> np.ndarray:
        """Return the chunk's bytes in the file: entries and checksum."""
        dtype, added = self.stored
        nbytes, middle = self.length * dtype.itemsize, len(self.entries)
        raw = np.zeros(nbytes + SUM_BYTES, np.uint8)
        values = raw[:nbytes].view(dtype)
        values[:middle] = self.entries
        values[middle : middle + len(self.trailing)] = self.trailing
        if added:
            values[: middle + len(self.trailing)] += dtype.type(added)
        raw[nbytes:].view("<u4")[0] = checksum(raw[:nbytes])
        return raw


@dataclass(frozen=True)
class Layout:
    """A column of all ranks; a rank writes the chunks that begin among its entries."""

    name: str
    stored: StoredAs
    starts: np.ndarray  # int64 [ranks + 1]: the first entry of each rank

    @property
    def total(self) -> int:
        """Number of entries of all ranks."""
        return int(self.starts[-1])

    @property
    def chunk_length(self) -> int:
        """Entries of a chunk."""
        return max(1, min(self.total, CHUNK_ROWS))

    def _first_own(self, rank: int) -> int:
        """Return the first entry of the first chunk that a rank writes."""
        begin, end = self.starts[rank : rank + 2].tolist()
        return min(-(-begin // self.chunk_length) * self.chunk_length, end)

    def leading_entries(
        self, rank: int, column: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a rank's leading entries, and the count for each receiving rank."""
        counts = np.zeros(len(self.starts) - 1, np.int64)
        begin = int(self.starts[rank])
        leading = column[: self._first_own(rank) - begin]
        if len(leading):
            chunk_begin = begin // self.chunk_length * self.chunk_length
            writer = int(np.searchsorted(self.starts, chunk_begin, "right")) - 1
            counts[writer] = len(leading)
        return counts, leading

    def chunks(
        self, rank: int, column: np.ndarray, trailing: np.ndarray, offsets: np.ndarray
    ) -> list[ReservedChunk]:
        """Return the chunks that a rank writes; `trailing` complete the last one."""
        begin, end = self.starts[rank : rank + 2].tolist()
        length = self.chunk_length
        return [
            ReservedChunk(
                column[first - begin : first - begin + length],
                trailing if first + length > end else trailing[:0],
                self.stored,
                length,
                int(offsets[first // length]),
            )
            for first in range(self._first_own(rank), end, length)
        ]


def reserve_columns(path: Path, layouts: list[Layout]) -> list[np.ndarray]:
    """Create all datasets and allocate their chunks; return the offsets of chunks."""
    offsets_of_columns = []
    with reserving_file(path) as reserving:
        for layout in layouts:
            dataset = create_dataset(
                reserving.file, layout.name, (layout.total,), layout.stored.dtype
            )
            length = layout.chunk_length
            nbytes = length * layout.stored.dtype.itemsize
            stand_in = np.empty(nbytes + SUM_BYTES, np.uint8)
            offsets = [
                reserving.reserve(dataset, first, stand_in)
                for first in range(0, layout.total, length)
            ]
            offsets_of_columns.append(np.array(offsets, np.int64))
    return offsets_of_columns


def write_chunks(path: Path, chunks: list[ReservedChunk], threads: Threads) -> None:
    """Write chunks directly to the file, past HDF5, which writes one at a time."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def write(chunk: ReservedChunk) -> None:
        write_at(descriptor, chunk.encoded().data, chunk.offset)

    try:
        threads.map(write, [(chunk,) for chunk in chunks])
    finally:
        os.close(descriptor)
