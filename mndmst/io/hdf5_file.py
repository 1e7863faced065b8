"""The one way to write an HDF5 file: a full disk is an error, never a crash.

HDF5 that cannot flush a file when it closes it keeps the file open, tries again when
the process ends, and crashes. Here it does not see a failed write: all its bytes go
through an object that remembers the first error and drops what comes after. So every
file can be closed, and the error is raised then.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from .layout import HDF5_LAYOUT


@contextmanager
def hdf5_file(path: Path, mode: str = "w") -> Iterator[h5py.File]:
    """Give an HDF5 file to write to.

    Parameters
    ----------
    path : Path
        A symbolic link is not followed.
    mode : "w", "x" or "r+"
        Replace the contents, or make a file that must not exist, or continue with what
        a file holds.

    Raises
    ------
    OSError
        After the block, with the first reason why something could not be written.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    flags |= {"w": os.O_CREAT | os.O_TRUNC, "x": os.O_CREAT | os.O_EXCL}.get(mode, 0)

    made = "r+" if mode == "r+" else "w"

    def opened(name: str, _: int) -> int:
        return os.open(name, flags, 0o666)

    with _Disk(path, "r+", opener=opened) as disk:
        try:
            # Without a chunk cache what is written goes to disk at once.
            with h5py.File(disk, made, libver=HDF5_LAYOUT, rdcc_nbytes=0) as file:
                yield file
        finally:
            if disk.error is not None:
                raise disk.error


class _Disk(io.FileIO):
    """A file whose writes seem to succeed.

    Attributes
    ----------
    error : OSError or None
        The first one that was not shown.
    """

    error: OSError | None = None

    def write(self, data: Any) -> int:
        """Write all of the data, unless something could not be written before."""
        rest = memoryview(data)
        try:
            while self.error is None and len(rest):
                rest = rest[super().write(rest) :]
        except OSError as error:
            self.error = error
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        """Change the file's length; as `write`."""
        try:
            if self.error is None:
                super().truncate(size)
        except OSError as error:
            self.error = error
        return self.tell() if size is None else size
