"""Binary files as a row of arrays, none taken before the file is known to hold it."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...host.errors import InputError
from ..regular_files import opened, state_of
from .files import COMPRESSIONS, read_bytes, readable


class StoredArray(NamedTuple):
    """Where an array lies in a file: its type, its first byte and its length."""

    dtype: np.dtype
    offset: int
    length: int


class Binary:
    """A binary file, parsed from the front into columns that are read on demand.

    Attributes
    ----------
    state : State
        What the file was at first; see `regular_files.opened`.
    size : int
        Bytes, unpacked. They are in memory if they had to be.
    at : int
        Bytes that have been taken.

    Raises
    ------
    ConfigError
        If the unpacked file exceeds the memory limit.
    InputError
        If it cannot be read, or not be unpacked.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at = 0
        with readable(path):
            self.state = state_of(path)
        self._unpacked = read_bytes(path) if path.suffix in COMPRESSIONS else None
        self.size = self.state[1] if self._unpacked is None else len(self._unpacked)

    @property
    def left(self) -> int:
        """How many bytes have not been taken."""
        return self.size - self.at

    def take(self, dtype: str | np.dtype, count: int, what: str) -> StoredArray:
        """Return where the next `count` entries of a type are.

        Raises
        ------
        InputError
            If the file is shorter, or the count is negative.
        """
        dtype = np.dtype(dtype)
        if count < 0 or count * dtype.itemsize > self.left:
            raise InputError(
                f"{self.path}: says that {count} {what} of {dtype.itemsize} bytes "
                f"begin at byte {self.at}, where {self.left} bytes are left. It is "
                "damaged or cut short, or of another format: copy it again, or name "
                "its format."
            )
        column = StoredArray(dtype, self.at, count)
        self.at += count * dtype.itemsize
        return column

    def counts(self, dtype: str, count: int) -> list[int]:
        """Take some numbers from a header and return them."""
        taken = self.take(dtype, count, "counts")
        numbers: list[int] = self.read(taken, 0, count).tolist()
        return numbers

    def read(self, column: StoredArray, begin: int, end: int) -> np.ndarray:
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
        with readable(self.path), opened(self.path, self.state) as file:
            left = part.view(np.uint8).data
            while left:  # the system reads 2 GiB at a time
                taken = os.preadv(file.fileno(), [left], place)
                if not taken:
                    raise EOFError("it was cut short while it was read")
                left, place = left[taken:], place + taken
        return part

    def end(self) -> None:
        """Raise InputError if anything is left."""
        if self.left:
            raise InputError(
                f"{self.path}: goes on for {self.left} bytes after its last entry, at "
                f"byte {self.at}. It is damaged, or of another format: copy it "
                "again, or name its format."
            )
