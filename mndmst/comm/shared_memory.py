"""Arrays shared by the ranks of one host.

They are in files without names, which ranks open through the process that has made
them. So the size of /dev/shm does not limit them, and they disappear with the last
process that has them, however it ends. The others see what a rank has written after a
barrier.

There is a file for each part, and the threads of all ranks touch their shares at the
same time: the system provides the pages of a file one at a time, so 16 ranks would wait
12 µs for each page of a single file.
"""

import ctypes
import mmap
import os
from collections.abc import Sequence

import numpy as np

from ..host.errors import ConfigError
from ..kernels.edge_columns import PAGE, STAGGER, Shape, read_pages
from ..kernels.threads import ALONE, Threads, each_range
from .communicator import Comm

# Largest number of parts, and smallest size: mapping a file takes as long as touching
# some pages.
PARTS, PART_BYTES = 8, 1 << 20
# A constant of the system that the module `mmap` does not have.
_MAP_FIXED = 0x10


class SharedMemory:
    """Memory of all ranks, which must be on one host (`Comm.is_one_host`).

    The threads of this rank touch its part of the pages.
    """

    def __init__(self, comm: Comm, threads: Threads = ALONE) -> None:
        self.comm, self.threads = comm, threads

    def arrays(self, *shapes: Shape) -> list[np.ndarray]:
        """Return new arrays of zeros, of some lengths and types. Collective.

        An array lives as long as a rank has it. Raises ConfigError on every rank if the
        system gives none. Ranks of one host may not share if they are in containers
        that hide their processes from each other.
        """
        places = _offsets(shapes)
        block = self._new_block(places[-1])
        return [
            np.frombuffer(block, dtype, length, place)
            for (length, dtype), place in zip(shapes, places, strict=False)
        ]

    def _new_block(self, nbytes: int) -> mmap.mmap:
        block = self._block(nbytes)
        if block is None:
            error = ConfigError(
                f"the ranks of this host cannot share {nbytes} more bytes; give "
                "--merge replicated, which needs none"
            )
            error.ranks = self.comm.size
            raise error
        self._touch_part(block)
        return block

    def _touch_part(self, block: mmap.mmap) -> None:
        """Make the system map this rank's part of the pages."""
        pages = -(-len(block) // PAGE)
        begin, end = (pages * (self.comm.rank + i) // self.comm.size for i in (0, 1))
        share = np.frombuffer(block, np.uint8)[begin * PAGE : end * PAGE]
        ranges = each_range(self.threads.bounds(len(share), align=PAGE))
        self.threads.run(read_pages, share, *ranges)

    def _block(self, nbytes: int) -> mmap.mmap | None:
        """Return zeroed memory shared by all ranks, or None on all. Collective."""
        part = max(PART_BYTES, -(-nbytes // (PARTS * PAGE)) * PAGE)
        parts, size = -(-nbytes // part), self.comm.size
        # The first file reaches over all, so that the others find room to lie over it.
        mine = [
            _new_file(part if number else nbytes)
            for number in range(self.comm.rank, parts, size)
        ]
        files = np.full((-(-parts // size), 3), -1)
        for place, file in enumerate(mine):
            inode = os.fstat(file).st_ino if file >= 0 else -1
            files[place] = os.getpid(), file, inode
        every = self.comm.allgather(files).swapaxes(0, 1).reshape(-1, 3)[:parts]
        block = _mapped(every.tolist(), nbytes, part)
        everywhere = self.comm.min(int(block is not None))  # opened by all by now
        for file in mine:
            if file >= 0:
                os.close(file)
        return block if everywhere else None


def _new_file(length: int) -> int:
    """Return the descriptor of a new file of zeros; -1 if there is none."""
    try:
        descriptor = os.memfd_create("mndmst")
    except (OSError, AttributeError):  # not Linux
        return -1
    try:
        os.ftruncate(descriptor, length)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def _mapped(
    files: list[tuple[int, int, int]], nbytes: int, part: int
) -> mmap.mmap | None:
    """Return the memory of files, or None if it cannot be had.

    A file is a process that has it open, its descriptor there and its inode. From where
    one begins to where the next does there are `part` bytes.
    """
    block = None
    for place, (process, number, inode) in enumerate(files):
        try:
            descriptor = os.open(f"/proc/{process}/fd/{number}", os.O_RDWR)
        except OSError:
            return None
        try:
            # In a container of its own another process may have this number.
            if os.fstat(descriptor).st_ino != inode:
                return None
            if block is None:
                block = mmap.mmap(descriptor, nbytes)
            else:
                _lay_over(block, place * part, part, descriptor)
        except OSError:
            return None
        finally:
            os.close(descriptor)
    return block


def _lay_over(block: mmap.mmap, place: int, nbytes: int, descriptor: int) -> None:
    """Map a file at a place of a block, with which it goes."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    address = ctypes.addressof(ctypes.c_char.from_buffer(block)) + place
    given = library.mmap(
        ctypes.c_void_p(address), ctypes.c_size_t(min(nbytes, len(block) - place)),
        mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _MAP_FIXED, descriptor,
        ctypes.c_long(0),
    )  # fmt: skip
    if given != address:
        raise OSError(ctypes.get_errno(), "mmap")


def _offsets(shapes: Sequence[Shape]) -> list[int]:
    """Return the offsets of consecutive arrays, and the end of the last.

    They begin at different offsets of a page; see `allocate_staggered`.
    """
    places = [0]
    for number, (length, dtype) in enumerate(shapes, 1):
        end = places[-1] + max(1, length * np.dtype(dtype).itemsize)
        places.append(end + (number * STAGGER - end) % PAGE)
    return places
