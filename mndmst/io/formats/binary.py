"""Binary files as a row of arrays, none taken before the file is known to hold it."""

import mmap
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from .files import COMPRESSIONS, read_bytes


class Column(NamedTuple):
    """Where an array lies in a file: its type, its first byte and its length."""

    dtype: np.dtype
    offset: int
    length: int

    def of(self, contents: bytes | mmap.mmap) -> np.ndarray:
        """Return the array; it shares memory with the contents."""
        return np.frombuffer(contents, self.dtype, self.length, self.offset)


class Binary:
    """A file that is taken apart from the front, without reading what it holds.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    path : Path
    contents : bytes or mmap
        See `contents`.
    at : int
        Bytes that have been taken.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.contents = contents(path)
        self.at = 0

    @property
    def left(self) -> int:
        """How many bytes have not been taken."""
        return len(self.contents) - self.at

    def take(self, dtype: str | np.dtype, count: int, what: str) -> Column:
        """Return where the next `count` entries of a type are.

        Raises
        ------
        InputError
            If so many are not left, or the count is negative.
        """
        dtype = np.dtype(dtype)
        if count < 0 or count * dtype.itemsize > self.left:
            raise InputError(
                f"{self.path}: says that {count} {what} of {dtype.itemsize} bytes "
                f"begin at byte {self.at}, where {self.left} bytes are left. It is "
                "damaged or cut short, or of another format: copy it again, or name "
                "its format."
            )
        column = Column(dtype, self.at, count)
        self.at += count * dtype.itemsize
        return column

    def counts(self, dtype: str, count: int) -> list[int]:
        """Take some numbers from a header and return them."""
        numbers: list[int] = (
            self.take(dtype, count, "counts").of(self.contents).tolist()
        )
        return numbers

    def end(self) -> None:
        """Raise InputError if anything is left."""
        if self.left:
            raise InputError(
                f"{self.path}: goes on for {self.left} bytes after its last entry, at "
                f"byte {self.at}. It is damaged, or of another format: copy it "
                "again, or name its format."
            )


def contents(path: Path) -> bytes | mmap.mmap:
    """Return what a file holds: mapped, or in memory if it has to be unpacked.

    Raises
    ------
    InputError
        If it cannot be read or is cut short.
    """
    if path.suffix in COMPRESSIONS:
        return read_bytes(path)
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:  # an empty file cannot be mapped
        return b""
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
