"""Arrays that the ranks of one host have in common.

They lie in a file without a name, which the other ranks open by way of rank 0. So it is
not bound by what the system gives to /dev/shm, and gone with the last process that has
it, however that ends. What a rank has written the others see after a barrier.
"""

import mmap
import os
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from .comm import Comm
from .errors import ConfigError

CACHE_LINE = 64
_MADV_POPULATE_WRITE = 23  # see madvise(2)

Shape = tuple[int, type | np.dtype]


class SharedMemory:
    """Memory of all ranks, which must be on one host; see `of`."""

    def __init__(self, comm: Comm) -> None:
        self.comm = comm
        self._scratch: mmap.mmap | np.ndarray | None = None

    @classmethod
    def of(cls, comm: Comm) -> "SharedMemory | None":
        """Return the memory, or None if ranks are apart or may not share. Collective.

        Ranks of one host may not if they are in containers that hide their processes
        from each other.
        """
        node = comm.node()
        one_host = node.size == comm.size
        node.free()
        memory = cls(comm)
        if not comm.min(int(one_host)) or memory._block(CACHE_LINE) is None:
            return None
        return memory

    def arrays(self, *shapes: Shape) -> list[np.ndarray]:
        """Return new arrays of zeros, of some lengths and types. Collective.

        An array lives as long as a rank has it.

        Raises
        ------
        ConfigError
            On every rank, if the system gives none.
        """
        places = _places(shapes)
        block = self._new_block(places[-1])
        self._touch_share(block)
        return _carved(block, shapes, places)

    def scratch(self, *shapes: Shape) -> list[np.ndarray]:
        """Return arrays as `arrays` does, but of memory that the next call gives again.

        Collective; they are not cleared. All must be done with those of the last call.
        Memory is slow at first touch, more so where many processes touch it at once.
        """
        places = _places(shapes)
        if self._scratch is None or len(self._scratch) < places[-1]:
            self._scratch = None  # lets the other one go
            self._scratch = self._new_block(places[-1])
        return _carved(self._scratch, shapes, places)

    def lend(self, array: np.ndarray) -> None:
        """Give what of a shared array is done with for scratch; all must have done."""
        unaligned = -array.ctypes.data % CACHE_LINE // array.itemsize
        self._scratch = array[unaligned:].view(np.uint8)

    def _new_block(self, nbytes: int) -> mmap.mmap:
        block = self._block(nbytes)
        if block is None:
            error = ConfigError(
                f"the ranks of this host cannot share {nbytes} more bytes; give "
                "--merge messages, which needs none"
            )
            error.ranks = self.comm.size
            raise error
        return block

    def _touch_share(self, block: mmap.mmap) -> None:
        """Have the system give this rank's share of a block at once.

        That takes two thirds of the time it takes page by page.
        """
        pages = len(block) // mmap.PAGESIZE
        rank, size = self.comm.rank, self.comm.size
        begin, end = pages * rank // size, pages * (rank + 1) // size
        with suppress(OSError):  # before Linux 5.14
            if begin < end:
                share = begin * mmap.PAGESIZE, (end - begin) * mmap.PAGESIZE
                block.madvise(_MADV_POPULATE_WRITE, *share)

    def _block(self, nbytes: int) -> mmap.mmap | None:
        """Return zeros that all ranks see, or None on all of them. Collective."""
        descriptor, block, file = -1, None, None
        try:
            if self.comm.rank == 0:
                descriptor = os.memfd_create("mndmst")
                os.ftruncate(descriptor, nbytes)
                file = os.getpid(), descriptor, os.fstat(descriptor).st_ino
        except (OSError, AttributeError):  # not Linux
            pass
        file = self.comm.share(file)
        try:
            if file is not None and self.comm.rank > 0:
                process, number, _ = file
                descriptor = os.open(f"/proc/{process}/fd/{number}", os.O_RDWR)
            # In a container of its own another process may have this number.
            if file is not None and os.fstat(descriptor).st_ino == file[2]:
                block = mmap.mmap(descriptor, nbytes)
        except OSError:
            pass
        everywhere = self.comm.min(int(block is not None))  # opened by all by now
        if descriptor >= 0:
            os.close(descriptor)
        return block if everywhere else None


def _places(shapes: Sequence[Shape]) -> list[int]:
    """Return where arrays begin that lie one after the other, and the end."""
    sizes = [
        -(-length * np.dtype(dtype).itemsize // CACHE_LINE) * CACHE_LINE
        for length, dtype in shapes
    ]
    return np.cumsum([0, *sizes[:-1], max(sizes[-1], CACHE_LINE)]).tolist()


def _carved(
    block: mmap.mmap | np.ndarray, shapes: Sequence[Shape], places: list[int]
) -> list[np.ndarray]:
    return [
        np.frombuffer(block, dtype, length, place)
        for (length, dtype), place in zip(shapes, places, strict=False)
    ]
