"""Read datasets of HDF5 files that are not trusted, by several threads.

HDF5 follows links into other files, composes datasets of others, loads filters, and
takes memory for whole chunks, all as a file asks for. `checked_dataset` accepts only
datasets that are in the file itself, in chunks of bounded size, with the filters that
mndmst uses: shuffle, deflate and Fletcher-32.

HDF5 does one thing at a time for all threads. So it only says where the chunks are;
threads read them straight into their arrays, check their sums and unpack them, without
the interpreter lock.
"""

import math
import os
import zlib
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from ..host.errors import InputError
from ..host.formatting import size_text
from ..host.memory import FREE_MEMORY
from .file_access import CHUNK_BYTES
from .kernels.chunk_reading import SUM_BYTES, Chunks, fletcher32, read_chunks
from .memory_limit import check_room
from .names import LONGEST_NAME, IntegerNames, NameKind, Names, TextNames

DEFLATE, SHUFFLE, FLETCHER = 1, 2, 3  # as HDF5 numbers them
FILTERS = {DEFLATE, SHUFFLE, FLETCHER}
# NumPy sums fewer bytes in a millisecond, so the opening of a graph and the reading of
# few arcs compile no kernel. A whole chunk of a forest has this many bytes.
FEW_BYTES = 1 << 18

# Chunks that are looked up one by one.
FEW_CHUNKS = 4
# Chunks that mndmst writes have `CHUNK_BYTES`.
LARGEST_CHUNK = 16 * CHUNK_BYTES
LONGEST_TEXT = 1 << 10


def applied_filters(dataset: h5py.Dataset) -> tuple[int, ...]:
    """Return the filters of a dataset, in the order in which they are applied."""
    properties = dataset.id.get_create_plist()
    return tuple(properties.get_filter(i)[0] for i in range(properties.get_nfilters()))


def most_stored(nbytes: int) -> int:
    """Return the most bytes that a chunk of `nbytes` has in the file."""
    return nbytes + nbytes // 512 + 64


def undo(
    filters: tuple[int, ...], skipped: int, data: np.ndarray, width: int, nbytes: int
) -> np.ndarray:
    """Return the `nbytes` of a chunk before its filters; ValueError for damage.

    Entries have `width` bytes; `skipped` has a bit for each filter not applied.
    """
    for number, applied in reversed(list(enumerate(filters))):
        if skipped & 1 << number:
            continue
        if applied == FLETCHER:
            data, stored = data[:-SUM_BYTES], data[-SUM_BYTES:]
            if checksum(data) != int.from_bytes(stored.tobytes(), "little"):
                raise ValueError("the checksum is wrong")
        elif applied == DEFLATE:
            data = _inflate(data, most_stored(nbytes))
        else:
            data = data.reshape(width, -1).T.ravel()
    return data


def _inflate(data: np.ndarray, most: int) -> np.ndarray:
    """Inflate data; ValueError if they are cut short or exceed `most` bytes."""
    stream = zlib.decompressobj()
    try:
        unpacked = stream.decompress(data.data, most)
    except zlib.error as error:
        raise ValueError("the compressed data are damaged") from error
    if not stream.eof:
        raise ValueError("the compressed data do not end where they should")
    return np.frombuffer(unpacked, np.uint8)


def checksum(data: np.ndarray) -> int:
    """Return the Fletcher-32 checksum of bytes, odd numbers included, as HDF5 does."""
    if len(data) % 2:  # HDF5 takes the last byte for the upper one of a word
        data = np.append(data, np.uint8(0))
    if len(data) >= FEW_BYTES:
        return int(fletcher32(np.ascontiguousarray(data).view(np.uint16)))
    words = np.frombuffer(data.tobytes(), ">u2").astype(np.uint64)
    weighted = words * np.arange(len(words), 0, -1).astype(np.uint64)
    # A sum that is not zero is never written as zero, but as the modulus
    sums = int(words.sum()), int(weighted.sum())
    one, two = ((total - 1) % 65535 + 1 if total else 0 for total in sums)
    return two << 16 | one


class _StoredChunk(NamedTuple):
    """A chunk of a dataset: its first entry, and where it is in the file."""

    first: int
    offset: int
    size: int
    skipped: int  # a bit for each filter that was not applied


class ChunkReader:
    """Entries [begin, end) of a checked, open dataset, for threads to read."""

    def __init__(self, path: Path, dataset: h5py.Dataset, begin: int, end: int) -> None:
        self.path, self.dataset = path, dataset
        # The file that is open, not another one that has its name by now
        self._handle = dataset.file.id.get_vfd_handle()
        self._filters = applied_filters(dataset)
        self._begin, self._end, self._length = begin, end, dataset.chunks[0]
        self._few = dataset.nbytes <= FEW_BYTES
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
        """Read `len(target)` entries from `begin` on, of the target's type or width."""
        raw, width = target.view(np.uint8), target.itemsize
        end = begin + len(target)
        if self.whole is not None and not self._few:
            done = read_chunks(self.whole, begin, raw)
            if done < end:
                raise self.damage(done)
            return
        low, high = begin // self._length, -(-end // self._length)
        for chunk in self._chunks[low - self._first : high - self._first].tolist():
            self._read_part(_StoredChunk(*chunk), begin, raw, width)

    def damage(self, entry: int) -> InputError:
        """Return the error for a damaged chunk."""
        chunk = _StoredChunk(*self._chunks[entry // self._length - self._first])
        os.pread(self._handle, 1, chunk.offset)
        return _damaged(self.path, chunk)

    def _whole_chunks(self) -> Chunks | None:
        nbytes = self._length * self.dataset.dtype.itemsize
        plain = self._filters == (FLETCHER,) and nbytes % 2 == 0  # sums are of words
        _, offset, size, skipped = self._chunks.T
        if not plain or skipped.any() or (size != nbytes + SUM_BYTES).any():
            return None
        first = self._first * self._length
        return Chunks(self._handle, self._length, nbytes, first, offset.copy())

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
        target = raw[(first - begin) * width :][: len(data)]
        target[:] = data[: len(target)]


def _chunks(path: Path, dataset: h5py.Dataset, begin: int, end: int) -> np.ndarray:
    """Return the facts of `_StoredChunk` about some chunks (int64 [chunks, 4])."""
    length = dataset.chunks[0]
    firsts = range(begin // length * length, end, length)
    chunks = np.full((len(firsts), 4), -1, np.int64)
    facts = np.array(_infos(dataset, firsts), np.int64).reshape(-1, 4)
    number = (facts[:, 0] - firsts.start) // length
    here = (number >= 0) & (number < len(firsts))
    chunks[number[here]] = facts[here]
    if (chunks[:, 1] < 0).any():
        raise InputError(
            f"{path}: dataset {dataset.name} was not written to its end. Make the "
            "graph again."
        )
    return chunks


def _infos(dataset: h5py.Dataset, firsts: range) -> list[tuple[int, ...]]:
    """Return facts of the chunks that begin with some entries, or of all chunks."""
    infos: list[tuple[int, ...]] = []

    def add(info: "h5py.h5d.StoreInfo", first: int | None = None) -> None:
        first = info.chunk_offset[0] if first is None else first
        offset = -1 if info.byte_offset is None else info.byte_offset
        infos.append((first, offset, info.size, info.filter_mask))

    # To find one it walks over all of a dataset; so it walks once if many are wanted.
    # HDF5 can do that since version 1.12.3.
    if len(firsts) <= FEW_CHUNKS or not hasattr(dataset.id, "chunk_iter"):
        for first in firsts:
            add(dataset.id.get_chunk_info_by_coord((first,)), first)
    else:
        dataset.id.chunk_iter(add)
    return infos


def _damaged(path: Path, chunk: _StoredChunk) -> InputError:
    return InputError(
        f"{path}: damaged or cut short (the chunk at byte {chunk.offset} is not what "
        "was written). Copy it again from where it is whole, or make the graph again."
    )


def checked_dataset(
    path: Path,
    file: h5py.File,
    name: str,
    length: int | None = None,
    remake: str = "Make the graph again",
    dimensions: int = 1,
) -> h5py.Dataset:
    """Return a dataset that is in the file itself, checksummed, and whole."""
    dataset, problem = _item_in_file(file, name)
    if not problem:
        problem = _problem(dataset, length, dimensions)
    if problem:
        raise InputError(f"{path}: dataset {name} {problem}. {remake}.")
    return dataset


def read_dataset(
    path: Path, dataset: h5py.Dataset, begin: int = 0, end: int | None = None
) -> np.ndarray:
    """Return the entries [begin, end) of a dataset that has been checked; else all."""
    end = len(dataset) if end is None else min(end, len(dataset))
    target = np.empty(max(0, end - begin), dataset.dtype)
    if len(target):
        ChunkReader(path, dataset, begin, end).read(begin, target)
    return target


def read_names(
    path: Path,
    file: h5py.File,
    kind: NameKind,
    count: int,
    rows: range,
    remake: str = "Make the graph again",
) -> Names:
    """Return some of the `count` names of a kind that a file keeps in `names`."""

    def column(name: str, length: int | None = None) -> h5py.Dataset:
        return checked_dataset(path, file, f"names/{name}", length, remake)

    if kind.is_integer:
        integers = column("integers", count)
        return IntegerNames(read_dataset(path, integers, rows.start, rows.stop))
    begins = read_dataset(path, column("begins", count + 1), rows.start, rows.stop + 1)
    text, lengths = column("text"), np.diff(begins)
    first, last = begins[[0, -1]].tolist()
    fault = ""
    if not (
        0 <= first <= last <= len(text)
        and (lengths > 0).all()
        and (rows.start > 0 or first == 0)
        and (rows.stop < count or last == len(text))
    ):
        fault = "where its names begin does not ascend"
    elif len(lengths) and lengths.max() > LONGEST_NAME:
        fault = f"a name has {lengths.max():,} bytes"
    else:
        check_room(FREE_MEMORY, path, last - first, "the text of names")
        names = TextNames(kind, read_dataset(path, text, first, last), begins - first)
        if names.are_utf8():
            return names
        fault = "a name is not UTF-8"
    raise InputError(f"{path}: {fault}. {remake}.")


def _item_in_file(file: h5py.File, name: str) -> tuple[h5py.Dataset, str]:
    """Return the object of a name in the file itself, and a text for its fault."""
    item = file
    for step in name.split("/"):
        link = item.get(step, getlink=True) if isinstance(item, h5py.Group) else None
        if link is None:
            return item, "is missing"
        if not isinstance(link, h5py.HardLink):
            return item, "is a link, which may lead into another file"
        item = item[step]
    return item, ""


def _problem(dataset: h5py.Dataset, length: int | None, dimensions: int) -> str:
    """Return a text for a dataset's fault before any entry is read; "" if none."""
    if not isinstance(dataset, h5py.Dataset):
        return "is missing"
    # To ask for the shape of a virtual one might open other files.
    if dataset.is_virtual:
        return "is virtual: put together out of others"
    if dataset.id.get_create_plist().get_external_count():
        return "is stored in another file"
    if dataset.ndim != dimensions:
        return f"has {dataset.ndim} dimensions where {dimensions} is expected"
    if dataset.dtype.kind not in "iufS" or dataset.dtype.itemsize > LONGEST_TEXT:
        return "does not hold numbers or short texts"
    if length is not None and len(dataset) != length:
        return f"has {len(dataset)} entries where {length} are expected"
    return _storage_problem(dataset) if len(dataset) else ""


def _storage_problem(dataset: h5py.Dataset) -> str:
    filters = applied_filters(dataset)
    if not dataset.fletcher32 or dataset.chunks is None:
        return "has no checksums"
    if not set(filters) <= FILTERS or len(set(filters)) < len(filters):
        return "is stored through a filter that mndmst does not use"
    width = dataset.dtype.itemsize * math.prod(dataset.shape[1:])
    chunk = dataset.chunks[0]
    if width * chunk > min(LARGEST_CHUNK, max(CHUNK_BYTES, width * len(dataset))):
        return f"has chunks of {size_text(width * chunk)}, too large for it"
    if dataset.id.get_num_chunks() * chunk < len(dataset):
        return "was not written to its end"
    return ""
