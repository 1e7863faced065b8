"""Memory that other processes can open: files in memory, by their descriptors."""

import ctypes
import mmap
import os
from weakref import finalize

allocated: dict[int, str] = {}


class OutOfMemoryError(MemoryError):
    """A lack of device memory."""


class Memory:
    """An allocation of its own."""

    def __init__(self, nbytes: int) -> None:
        file = os.memfd_create("emulated-cuda")
        os.truncate(file, nbytes)
        self.mapping, self.ptr = mapped(file)
        allocated[self.ptr] = f"/proc/{os.getpid()}/fd/{file}"
        finalize(self, _free, file, self.ptr)


def mapped(file: int) -> tuple[mmap.mmap, int]:
    """Return a file in memory, and its address."""
    mapping = mmap.mmap(file, 0)
    return mapping, ctypes.addressof(ctypes.c_char.from_buffer(mapping))


def _free(file: int, ptr: int) -> None:
    del allocated[ptr]
    os.close(file)
