"""Binary files as a row of arrays, none taken before the file is known to hold it."""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...host.errors import InputError
from .files import COMPRESSIONS, read_bytes


class Column(NamedTuple):
    """Where an array lies in a file: its type, its first byte and its length."""

    dtype: np.dtype
    offset: int
    length: int


class Binary:
    """A file that is taken apart from the front, without reading what it holds.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    path : Path
    size : int
        Bytes, unpacked.
    at : int
        Bytes that have been taken.

    Raises
    ------
    InputError
        If it cannot be read, or not be unpacked.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at = 0
        self._unpacked = read_bytes(path) if path.suffix in COMPRESSIONS else None
        with _readable(path):
            self.size = (
                path.stat().st_size if self._unpacked is None else len(self._unpacked)
            )

    @property
    def left(self) -> int:
        """How many bytes have not been taken."""
        return self.size - self.at

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
        taken = self.take(dtype, count, "counts")
        numbers: list[int] = self.read(taken, 0, count).tolist()
        return numbers

    def read(self, column: Column, begin: int, end: int) -> np.ndarray:
        """Return the entries [begin, end) of an array.

        They have memory of their own: of a map all that was read would stay.

        Raises
        ------
        InputError
            If the file has become shorter, or cannot be read.
        """
        place = column.offset + begin * column.dtype.itemsize
        if self._unpacked is not None:
            held = np.frombuffer(self._unpacked, column.dtype, end - begin, place)
            return held.copy()
        part = np.empty(end - begin, column.dtype)
        with _readable(self.path), self.path.open("rb", buffering=0) as file:
            file.seek(place)
            left = part.view(np.uint8).data
            while left:  # the system reads 2 GiB at a time
                taken = file.readinto(left)
                if not taken:
                    raise InputError(
                        f"{self.path}: was cut short while it was read. Copy it again."
                    )
                left = left[taken:]
        return part

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
        with _readable(path), path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:  # an empty file cannot be mapped
        return b""


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what the file system raises on reading into an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
