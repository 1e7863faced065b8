"""The one way to write an HDF5 file: a full disk is an error, never a crash.

HDF5 that cannot flush a file when it closes it keeps the file open, tries again when
the process ends, and crashes. Here it does not see a failed write: all its bytes go
through an object that remembers the first error and drops all later bytes. So every
file can be closed, and the error is raised then.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import h5py
import numpy as np
from h5py._objects import phil

from .file_access import CHUNK_BYTES, HDF5_LAYOUT
from .hdf5_reader import SUM_BYTES, checksum

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc from Python 3.12 on

CHUNK_ROWS = 1 << 16  # of datasets that are written at once


@contextmanager
def hdf5_file(path: Path, mode: str = "w") -> Iterator[h5py.File]:
    """Give an HDF5 file to write to; raise the first failed write after the block.

    Mode "w" replaces the contents, "x" makes a new file, "r+" goes on with a file.
    """
    with _opened(path, mode) as (file, _):
        yield file


@contextmanager
def reserving_file(path: Path) -> Iterator["Reserving"]:
    """Replace a file by HDF5 whose chunks are written later; see `hdf5_file`."""
    with _opened(path, "w") as (file, disk):
        yield Reserving(file, disk)


@contextmanager
def _opened(path: Path, mode: str) -> Iterator[tuple[h5py.File, "_Disk"]]:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    flags |= {"w": os.O_CREAT | os.O_TRUNC, "x": os.O_CREAT | os.O_EXCL}.get(mode, 0)

    made = "r+" if mode == "r+" else "w"

    def opened(name: str, _: int) -> int:
        return os.open(name, flags, 0o666)

    with _Disk(path, "r+", opener=opened) as disk:
        try:
            # Without a chunk cache HDF5 passes each chunk on at once.
            with h5py.File(disk, made, libver=HDF5_LAYOUT, rdcc_nbytes=0) as file:
                yield file, disk
        finally:
            if disk.error is not None:
                raise disk.error


class Reserving(NamedTuple):
    """An open HDF5 file, and the disk below it."""

    file: h5py.File
    disk: "_Disk"

    def reserve(self, dataset: h5py.Dataset, first: int, stand_in: np.ndarray) -> int:
        """Have HDF5 allocate a chunk of the size of `stand_in`; return its offset."""
        self.disk.stand_in, self.disk.offset = stand_in.ctypes.data, None
        _write_chunk(dataset, first, stand_in)
        self.disk.stand_in = None
        if self.disk.offset is None:  # HDF5 has copied the bytes before it wrote them
            return int(dataset.id.get_chunk_info_by_coord((first,)).byte_offset)
        return self.disk.offset


class _Disk(io.FileIO):
    """A file whose writes seem to succeed."""

    error: OSError | None = None  # the first error of a write
    stand_in: int | None = None  # the address of bytes that `write` skips
    offset: int | None = None  # the file offset of the skipped bytes

    def write(self, data: "Buffer") -> int:
        """Write all of the data, unless something could not be written before."""
        rest = memoryview(data)
        nbytes = rest.nbytes
        if self.stand_in == np.frombuffer(rest, np.uint8).ctypes.data:
            self.offset = self.tell()
            return nbytes
        try:
            while self.error is None and len(rest):
                rest = rest[super().write(rest) :]
        except OSError as error:
            self.error = error
        return nbytes

    def truncate(self, size: int | None = None) -> int:
        """Change the file's length; as `write`."""
        try:
            if self.error is None:
                super().truncate(size)
        except OSError as error:
            self.error = error
        return self.tell() if size is None else size


def create_dataset(
    group: h5py.Group, name: str, shape: tuple[int, ...], dtype: np.dtype
) -> h5py.Dataset:
    """Create a dataset with checksums; HDF5 cannot chunk one without elements."""
    chunks = (min(shape[0], CHUNK_ROWS), *shape[1:])
    checked = {"chunks": chunks, "fletcher32": True} if shape[0] else {}
    return group.create_dataset(name, shape, dtype, **checked)


class ColumnWriter:
    """A checksummed dataset of at most `most` entries, written from beginning to end.

    Entries are gathered to whole chunks, so no chunk is checksummed twice. `compress`
    shuffles and gzips them.
    """

    def __init__(
        self,
        group: h5py.Group,
        name: str,
        most: int,
        dtype: np.dtype,
        compress: bool = False,
    ) -> None:
        self.length = 0
        self.buffered = 0
        self.compress = compress
        self.chunk = max(1, min(most, CHUNK_BYTES // dtype.itemsize))
        self.raw = np.empty(self.chunk * dtype.itemsize + SUM_BYTES, np.uint8)
        self.entries = self.raw[:-SUM_BYTES].view(dtype)
        if most == 0:  # HDF5 cannot chunk a dataset without elements
            self.dataset = group.create_dataset(name, shape=(0,), dtype=dtype)
            return
        packing = "gzip" if compress else None
        self.dataset = group.create_dataset(
            name, (most,), dtype, chunks=(self.chunk,), maxshape=(most,),
            fletcher32=True, shuffle=compress, compression=packing,
        )  # fmt: skip

    def append(self, data: np.ndarray) -> None:
        """Append entries; integers of another width are converted."""
        while len(data):
            some = data[: self.chunk - self.buffered]
            self.entries[self.buffered : self.buffered + len(some)] = some
            self.buffered += len(some)
            if self.buffered == self.chunk:
                self._write()
            data = data[len(some) :]

    def finish(self) -> int:
        """Write the remaining entries; return the number of all entries."""
        if self.buffered:
            self._write()
        if self.length < len(self.dataset):
            self.dataset.resize((self.length,))
        return self.length

    def _write(self) -> None:
        """Write a chunk; a whole one past HDF5's filter, which takes long to sum."""
        end = self.length + self.buffered
        if self.compress or self.buffered < self.chunk:
            buffered = self.entries[: self.buffered]
            self.dataset.write_direct(buffered, dest_sel=np.s_[self.length : end])
        else:
            total = checksum(self.raw[:-SUM_BYTES])
            self.raw[-SUM_BYTES:].view("<u4")[0] = total
            _write_chunk(self.dataset, self.length, self.raw)
        self.length, self.buffered = end, 0


def _write_chunk(dataset: h5py.Dataset, first: int, raw: np.ndarray) -> None:
    """Write the bytes of a whole chunk, whose first entry has the index `first`."""
    with phil:  # the lock of HDF5, which an older h5py does not take here
        dataset.id.write_direct_chunk((first,), raw)
