"""The filters that chunks of HDF5 datasets go through on their way to the file."""

import zlib

import numpy as np

from .kernels.checks import fletcher32

DEFLATE, SHUFFLE, FLETCHER = 1, 2, 3  # as HDF5 numbers them
FILTERS = {DEFLATE, SHUFFLE, FLETCHER}
SUM_BYTES = 4


def undo(
    filters: tuple[int, ...], skipped: int, data: np.ndarray, width: int
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
            try:
                data = np.frombuffer(zlib.decompress(data.data), np.uint8)
            except zlib.error as error:
                raise ValueError("the compressed data are damaged") from error
        else:
            data = data.reshape(width, -1).T.ravel()
    return data


def checksum(data: np.ndarray) -> int:
    """Return the Fletcher-32 checksum of any number of bytes, as HDF5 has it."""
    if len(data) % 2:  # HDF5 takes the last byte for the upper one of a word
        data = np.append(data, np.uint8(0))
    return int(fletcher32(np.ascontiguousarray(data).view(np.uint16)))
