"""Filters of HDF5 chunks: shuffle, deflate, Fletcher-32; only these are accepted."""

import zlib

import h5py
import numpy as np

from ..kernels.chunk_reading import SUM_BYTES, fletcher32

DEFLATE, SHUFFLE, FLETCHER = 1, 2, 3  # as HDF5 numbers them
FILTERS = {DEFLATE, SHUFFLE, FLETCHER}
# So much is summed without a kernel: to open a graph should not have one compiled.
FEW_BYTES = 1 << 16


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
    """Return the bytes of a chunk after undoing its filters, the last one first.

    Parameters
    ----------
    filters : tuple of int
        In the order in which they were applied.
    skipped : int
        A bit for each filter that was not applied.
    data : ndarray of uint8
        The chunk as it is in the file.
    width : int
        Bytes of an entry.
    nbytes : int
        Bytes of the chunk; compressed data that are more are damaged.

    Raises
    ------
    ValueError
        If a checksum is wrong or compressed data are damaged.
    """
    for number, applied in reversed(list(enumerate(filters))):
        if skipped & 1 << number:
            continue
        if applied == FLETCHER:
            data, found = data[:-SUM_BYTES], data[-SUM_BYTES:]
            if checksum(data) != int.from_bytes(found.tobytes(), "little"):
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
    """Return the Fletcher-32 checksum of any number of bytes, as HDF5 has it."""
    if len(data) % 2:  # HDF5 takes the last byte for the upper one of a word
        data = np.append(data, np.uint8(0))
    if len(data) > FEW_BYTES:
        return int(fletcher32(np.ascontiguousarray(data).view(np.uint16)))
    words = np.frombuffer(data.tobytes(), ">u2").astype(np.uint64)
    weighted = words * np.arange(len(words), 0, -1).astype(np.uint64)
    # A sum that is not zero is never written as zero, but as the modulus
    sums = int(words.sum()), int(weighted.sum())
    one, two = ((total - 1) % 65535 + 1 if total else 0 for total in sums)
    return two << 16 | one
