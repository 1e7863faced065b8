"""Arrays shared by the ranks of one host.

They are in anonymous files, which ranks open through the process that made them. So the
size of /dev/shm does not limit them, and the system frees them after the last process
that uses them, however it ends. After a barrier every rank sees the writes of the
others.

A block consists of several files, and the threads of all ranks touch their shares at
the same time: the system provides the pages of a file one at a time, so 16 ranks would
wait 12 µs for each page of a single file. Large blocks get huge pages if the system can
collapse memory into them.
"""

import ctypes
import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

import numpy as np

from ..host.errors import ConfigError
from ..host.formatting import size_text
from ..kernels.edge_columns import PAGE, STAGGER, Shape, read_pages
from ..kernels.threads import ALONE, Threads, each_range
from ..native.call_columns import address_of
from .communicator import Comm

# Largest number of parts: mapping a file takes as long as touching some pages.
PARTS = 8
HUGE_PAGE = 2 << 20
# Constants of the system that the module `mmap` does not have.
_MAP_FIXED, _MADV_COLLAPSE = 0x10, 25


class SharedMemory:
    """Memory of all ranks, which must be on one host (`Comm.is_one_host`).

    The threads of this rank touch its part of the pages. The list `reused` passes
    blocks from one `SharedMemory` of the same ranks to the next, which drops the blocks
    that it does not need. No rank may use arrays of the earlier one any more.
    """

    def __init__(
        self,
        comm: Comm,
        threads: Threads = ALONE,
        reused: list[np.ndarray] | None = None,
    ) -> None:
        self.comm, self.threads = comm, threads
        self._reused, self._unused = reused, list(reused or ())
        if reused is not None:
            reused.clear()

    def arrays(self, *shapes: Shape) -> list[np.ndarray]:
        """Return arrays of some lengths and types; new blocks are zero. Collective.

        Raises ConfigError on every rank if the system gives no memory, such as to ranks
        in containers that hide their processes from each other.
        """
        offsets = _offsets(shapes)
        memory = self._memory(offsets[-1])
        return [
            memory[offset : offset + length * np.dtype(dtype).itemsize].view(dtype)
            for (length, dtype), offset in zip(shapes, offsets, strict=False)
        ]

    def _memory(self, nbytes: int) -> np.ndarray:
        """Return the smallest unused block of one to two times the size, or a new one.

        All ranks have the same blocks, so they choose the same one.
        """
        page = HUGE_PAGE if nbytes >= HUGE_PAGE else PAGE
        length = -(-nbytes // page) * page
        sizes = [len(block) for block in self._unused]
        fitting = [size for size in sizes if length <= size <= 2 * length]
        if fitting:
            memory = self._unused.pop(sizes.index(min(fitting)))
        else:
            memory = self._new_memory(length, page)
        if self._reused is not None:
            self._reused.append(memory)
        return memory

    def _new_memory(self, nbytes: int, page: int) -> np.ndarray:
        memory = self._map(nbytes, page)
        if memory is None:
            error = ConfigError(
                f"the ranks of this host cannot share {size_text(nbytes)} more; give "
                "--merge replicated, which needs none"
            )
            error.ranks = self.comm.size
            raise error
        self._touch_part(memory, page)
        return memory

    def _touch_part(self, memory: np.ndarray, page: int) -> None:
        """Make the system map this rank's part of the pages."""
        pages, rank, size = len(memory) // page, self.comm.rank, self.comm.size
        share = memory[pages * rank // size * page : pages * (rank + 1) // size * page]
        if page == HUGE_PAGE:
            whole = self.threads.ranges(len(share), HUGE_PAGE, HUGE_PAGE)
            self.threads.map(_use_huge_pages, [(share[a:b],) for a, b in whole])
        ranges = each_range(self.threads.bounds(len(share), align=PAGE))
        self.threads.run(read_pages, share, *ranges)

    def _map(self, nbytes: int, page: int) -> np.ndarray | None:
        """Return zeroed bytes that all ranks share, or None on all. Collective.

        They begin at a multiple of `page` and are a multiple of it long.
        """
        part, size = -(-nbytes // (PARTS * page)) * page, self.comm.size
        parts = -(-nbytes // part)
        # The first file is mapped over the whole block, up to the next page; the other
        # files replace its parts.
        local_files = [
            _new_file(part if number else nbytes + page)
            for number in range(self.comm.rank, parts, size)
        ]
        files = np.full((-(-parts // size), 3), -1)
        for number, file in enumerate(local_files):
            inode = os.fstat(file).st_ino if file >= 0 else -1
            files[number] = os.getpid(), file, inode
        every = self.comm.allgather(files).swapaxes(0, 1).reshape(-1, 3)[:parts]
        memory = None
        with suppress(OSError):
            memory = _mapped(every.tolist(), nbytes, part, page)
        everywhere = self.comm.min(
            int(memory is not None)
        )  # all ranks have opened them
        for file in local_files:
            if file >= 0:
                os.close(file)
        return memory if everywhere else None


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
    files: list[tuple[int, int, int]], nbytes: int, part: int, page: int
) -> np.ndarray:
    """Map files side by side and return their memory; see `SharedMemory._map`.

    A file is given by a process that has it open, its descriptor there and its inode.
    The files are `part` bytes apart. Raises OSError if a file cannot be opened or
    mapped.
    """
    descriptors: list[int] = []
    try:
        for process, number, inode in files:
            descriptor = os.open(f"/proc/{process}/fd/{number}", os.O_RDWR)
            descriptors.append(descriptor)
            # In another container, another process may have this number.
            if os.fstat(descriptor).st_ino != inode:
                raise FileNotFoundError(f"/proc/{process}/fd/{number}")
        memory = np.frombuffer(mmap.mmap(descriptors[0], nbytes + page), np.uint8)
        begin = -address_of(memory) % page
        memory = memory[begin : begin + nbytes]
        for number, descriptor in enumerate(descriptors):
            _map_over(memory[number * part : (number + 1) * part], descriptor)
        return memory
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _map_over(memory: np.ndarray, descriptor: int) -> None:
    """Map a file over mapped memory; it is unmapped together with the memory."""
    address = address_of(memory)
    given = _library().mmap(
        ctypes.c_void_p(address), ctypes.c_size_t(len(memory)),
        mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _MAP_FIXED, descriptor,
        ctypes.c_long(0),
    )  # fmt: skip
    if given != address:
        raise OSError(ctypes.get_errno(), "mmap")


def _use_huge_pages(memory: np.ndarray) -> None:
    """Collapse whole huge pages, which must be aligned, if the system can.

    The system collapses memory with at least one page, and fills the rest with zeros.
    It does so even if it gives files no huge pages at the first touch, as is common.
    """
    memory[::HUGE_PAGE].sum()
    start, length = ctypes.c_void_p(address_of(memory)), ctypes.c_size_t(len(memory))
    _library().madvise(start, length, _MADV_COLLAPSE)


@cache
def _library() -> ctypes.CDLL:
    """Return the C library, whose mmap(2) returns an address."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    return library


def _offsets(shapes: Sequence[Shape]) -> list[int]:
    """Return the offsets of consecutive arrays, and the end of the last.

    They begin at different offsets of a page; see `allocate_staggered`.
    """
    offsets = [0]
    for number, (length, dtype) in enumerate(shapes, 1):
        end = offsets[-1] + max(1, length * np.dtype(dtype).itemsize)
        offsets.append(end + (number * STAGGER - end) % PAGE)
    return offsets
