"""Read chunks of HDF5 datasets by several threads.

HDF5 does one thing at a time, whoever asks. So it is asked only where the chunks lie;
threads read them straight into place, check their sums and unpack them, none of which
holds the interpreter lock.
"""

import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from ..backends.numba.checks import fletcher32
from ..backends.numba.threads import Threads
from ..errors import InputError

DEFLATE, SHUFFLE, FLETCHER = 1, 2, 3  # as HDF5 numbers its filters
SUM_BYTES = 4


@dataclass(frozen=True)
class _Chunk:
    """A chunk of a dataset: its first entry, and where it is in the file."""

    first: int
    offset: int
    size: int
    skipped: int  # a bit for each filter that was not applied


def read_range(
    path: Path, dataset: h5py.Dataset, begin: int, target: np.ndarray, threads: Threads
) -> None:
    """Read the entries of a dataset from `begin` on, as many as `target` has.

    Parameters
    ----------
    path : Path
        The file of the dataset.
    dataset : h5py.Dataset
        One-dimensional and chunked.
    target : ndarray
        Of integers of the same width or of the same type; filled.
    threads : Threads

    Raises
    ------
    InputError
        If a checksum is wrong, or a chunk is missing or not as long as it should be.
    OSError
        If the file cannot be read.
    """
    if len(target) == 0:
        return
    filters = _filters(dataset)
    if not set(filters) <= {DEFLATE, SHUFFLE, FLETCHER}:
        dataset.read_direct(
            target.view(dataset.dtype), np.s_[begin : begin + len(target)]
        )
        return
    chunks = _chunks(path, dataset, begin, begin + len(target))
    length, handle = dataset.chunks[0], os.open(path, os.O_RDONLY)
    raw = target.view(np.uint8)
    width = target.itemsize

    def read(low: int, high: int) -> None:
        spare = np.empty(0, np.uint8)
        for chunk in chunks[low:high]:
            first = max(chunk.first, begin)
            last = min(chunk.first + length, begin + len(target))
            place = raw[(first - begin) * width : (last - begin) * width]
            whole = last - first == length and filters == (FLETCHER,)
            if whole and not chunk.skipped:
                _read_whole(path, handle, chunk, place)
                continue
            if len(spare) < chunk.size:
                spare = np.empty(chunk.size, np.uint8)
            data = _unpack(path, handle, chunk, filters, width, spare[: chunk.size])
            if len(data) != length * width:
                raise _damaged(path, chunk)
            skip = (first - chunk.first) * width
            place[:] = data[skip : skip + len(place)]

    try:
        threads.map(read, threads.ranges(len(chunks), grain=1))
    finally:
        os.close(handle)


def _filters(dataset: h5py.Dataset) -> tuple[int, ...]:
    properties = dataset.id.get_create_plist()
    return tuple(properties.get_filter(i)[0] for i in range(properties.get_nfilters()))


def _chunks(path: Path, dataset: h5py.Dataset, begin: int, end: int) -> list[_Chunk]:
    length = dataset.chunks[0]
    found = []
    for first in range(begin // length * length, end, length):
        info = dataset.id.get_chunk_info_by_coord((first,))
        if info.byte_offset is None:
            raise InputError(
                f"{path}: dataset {dataset.name} was not written to its end. Make the "
                "graph again."
            )
        found.append(_Chunk(first, info.byte_offset, info.size, info.filter_mask))
    return found


def _read_whole(path: Path, handle: int, chunk: _Chunk, place: np.ndarray) -> None:
    """Read a chunk with a checksum and no other filter to where it belongs."""
    if chunk.size != len(place) + SUM_BYTES:
        raise _damaged(path, chunk)
    found = np.empty(1, "<u4")
    buffers = [place.data, found.view(np.uint8).data]
    if os.preadv(handle, buffers, chunk.offset) != chunk.size:
        raise _damaged(path, chunk)
    if fletcher32(place.view(np.uint16)) != found[0]:
        raise _damaged(path, chunk)


def _unpack(
    path: Path,
    handle: int,
    chunk: _Chunk,
    filters: tuple[int, ...],
    width: int,
    data: np.ndarray,
) -> np.ndarray:
    """Return the bytes of a chunk after undoing its filters, the last one first."""
    if os.preadv(handle, [data.data], chunk.offset) != len(data):
        raise _damaged(path, chunk)
    for number, applied in reversed(list(enumerate(filters))):
        if chunk.skipped & 1 << number:
            continue
        if applied == FLETCHER:
            data, found = data[:-SUM_BYTES], data[-SUM_BYTES:]
            if checksum(data) != int.from_bytes(found.tobytes(), "little"):
                raise _damaged(path, chunk)
        elif applied == DEFLATE:
            try:
                data = np.frombuffer(zlib.decompress(data.data), np.uint8)
            except zlib.error as error:
                raise _damaged(path, chunk) from error
        else:
            data = data.reshape(width, -1).T.ravel()
    return data


def checksum(data: np.ndarray) -> int:
    """Return the Fletcher-32 checksum of any number of bytes, as HDF5 has it."""
    if len(data) % 2:  # HDF5 takes the last byte for the upper one of a word
        data = np.append(data, np.uint8(0))
    return int(fletcher32(np.ascontiguousarray(data).view(np.uint16)))


def _damaged(path: Path, chunk: _Chunk) -> InputError:
    return InputError(
        f"{path}: damaged or cut short (the chunk at byte {chunk.offset} is not what "
        "was written). Copy it again from where it is whole, or make the graph again."
    )
