"""Read chunks of HDF5 datasets by several threads.

HDF5 does one thing at a time for all threads. So it only says where the chunks are;
threads read them straight into place, check their sums and unpack them, none of which
holds the interpreter lock.
"""

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ...host.errors import InputError
from ...kernels.threads import Threads
from ..kernels.chunk_reading import SUM_BYTES, Chunks, read_chunks
from .chunk_filters import FEW_BYTES, FLETCHER, applied_filters, most_stored, undo

# Chunks that are looked up one by one.
FEW_CHUNKS = 4


@dataclass(frozen=True)
class _StoredChunk:
    """A chunk of a dataset: its first entry, and where it is in the file."""

    first: int
    offset: int
    size: int
    skipped: int  # a bit for each filter that was not applied


class ChunkReader:
    """Entries [begin, end) of a dataset, for threads to read while its file is open.

    Parameters
    ----------
    path : Path
        The file of the dataset.
    dataset : h5py.Dataset
        As `checked_datasets.checked_dataset` returns it.

    Attributes
    ----------
    whole : Chunks or None
        The chunks, if all have a checksum and no other filter.

    Raises
    ------
    InputError
        If a chunk is missing.
    OSError
        If the file cannot be read.
    """

    def __init__(self, path: Path, dataset: h5py.Dataset, begin: int, end: int) -> None:
        self.path, self.dataset = path, dataset
        # The file that is open, not what has its name by now
        self._handle = dataset.file.id.get_vfd_handle()
        self._filters = applied_filters(dataset)
        self._begin, self._end, self._length = begin, end, dataset.chunks[0]
        self._first = begin // self._length
        self._chunks = _chunks(path, dataset, begin, end)
        self.whole = self._whole_chunks()

    def cut(self, count: int) -> list[tuple[int, int]]:
        """Split all entries into at most `count` ranges that divide no chunk."""
        step = self._length * -(-len(self._chunks) // count) or self._end
        first = self._first * self._length
        inner = range(first + step, self._end, step)
        return list(pairwise([self._begin, *inner, self._end]))

    def read(self, begin: int, target: np.ndarray) -> None:
        """Read `len(target)` entries from `begin` on.

        Parameters
        ----------
        target : ndarray
            Of integers of the same width or of the same type; filled.

        Raises
        ------
        InputError
            If a checksum is wrong, or a chunk is not as long as it should be.
        OSError
            If the file cannot be read.
        """
        raw, width = target.view(np.uint8), target.itemsize
        end = begin + len(target)
        if self.whole is not None and self.dataset.nbytes > FEW_BYTES:
            done = read_chunks(self.whole, begin, raw)
            if done < end:
                raise self.damage(done)
            return
        low, high = begin // self._length, -(-end // self._length)
        for chunk in self._chunks[low - self._first : high - self._first]:
            self._read_part(chunk, begin, raw, width)

    def damage(self, entry: int) -> InputError:
        """Return the error for a damaged chunk."""
        chunk = self._chunks[entry // self._length - self._first]
        os.pread(self._handle, 1, chunk.offset)
        return _damaged(self.path, chunk)

    def _whole_chunks(self) -> Chunks | None:
        nbytes = self._length * self.dataset.dtype.itemsize
        plain = self._filters == (FLETCHER,) and nbytes % 2 == 0  # sums are of words
        for chunk in self._chunks:
            plain &= not chunk.skipped and chunk.size == nbytes + SUM_BYTES
        if not plain:
            return None
        offsets = np.array([chunk.offset for chunk in self._chunks], np.int64)
        first = self._first * self._length
        return Chunks(self._handle, self._length, nbytes, first, offsets)

    def _read_part(
        self, chunk: _StoredChunk, begin: int, raw: np.ndarray, width: int
    ) -> None:
        """Copy the requested entries of a chunk, through a buffer for all of it."""
        nbytes = self._length * width
        if chunk.size > most_stored(nbytes):
            raise _damaged(self.path, chunk)
        data = np.empty(chunk.size, np.uint8)
        if os.preadv(self._handle, [data.data], chunk.offset) != chunk.size:
            raise _damaged(self.path, chunk)
        try:
            data = undo(self._filters, chunk.skipped, data, width, nbytes)
        except ValueError as error:
            raise _damaged(self.path, chunk) from error
        if len(data) != nbytes:
            raise _damaged(self.path, chunk)
        first = max(chunk.first, begin)
        data = data[(first - chunk.first) * width :]
        place = raw[(first - begin) * width :][: len(data)]
        place[:] = data[: len(place)]


def read_range(
    path: Path, dataset: h5py.Dataset, begin: int, target: np.ndarray, threads: Threads
) -> None:
    """Read the entries of a dataset from `begin` on with some threads.

    See `ChunkReader.read`.
    """
    end = begin + len(target)
    if begin == end:
        return
    reader = ChunkReader(path, dataset, begin, end)
    threads.map(
        lambda low, high: reader.read(low, target[low - begin : high - begin]),
        reader.cut(threads.count),
    )


def _chunks(
    path: Path, dataset: h5py.Dataset, begin: int, end: int
) -> list[_StoredChunk]:
    length = dataset.chunks[0]
    firsts = range(begin // length * length, end, length)
    infos = _infos(dataset, firsts)
    found = []
    for first in firsts:
        info = infos.get(first)
        if info is None or info.byte_offset is None:
            raise InputError(
                f"{path}: dataset {dataset.name} was not written to its end. Make the "
                "graph again."
            )
        found.append(_StoredChunk(first, info.byte_offset, info.size, info.filter_mask))
    return found


def _infos(dataset: h5py.Dataset, firsts: range) -> dict[int, Any]:
    """Return HDF5's records of the chunks that begin with some entries.

    To find one it walks over all of a dataset; so it walks once if many are wanted.
    HDF5 can do that since version 1.12.3.
    """
    if len(firsts) <= FEW_CHUNKS or not hasattr(dataset.id, "chunk_iter"):
        return {first: dataset.id.get_chunk_info_by_coord((first,)) for first in firsts}
    infos: dict[int, Any] = {}

    def add(info: Any) -> None:
        infos[info.chunk_offset[0]] = info

    dataset.id.chunk_iter(add)
    return infos


def _damaged(path: Path, chunk: _StoredChunk) -> InputError:
    return InputError(
        f"{path}: damaged or cut short (the chunk at byte {chunk.offset} is not what "
        "was written). Copy it again from where it is whole, or make the graph again."
    )
