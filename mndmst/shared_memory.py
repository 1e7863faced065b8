"""Arrays that the ranks of one host have in common.

They lie in a file without a name, which the other ranks open by way of rank 0. So it is
not bound by what the system gives to /dev/shm, and gone with the last process that has
it, however that ends. What a rank has written the others see after a barrier.
"""

import mmap
import os

import numpy as np

from .comm import Comm
from .errors import ConfigError

CACHE_LINE = 64


class SharedMemory:
    """Memory of all ranks, which must be on one host; see `of`."""

    def __init__(self, comm: Comm) -> None:
        self.comm = comm

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

    def arrays(self, *shapes: tuple[int, type | np.dtype]) -> list[np.ndarray]:
        """Return new arrays of zeros, of some lengths and types. Collective.

        Pages that nobody touches take no memory. An array lives as long as a rank
        has it.

        Raises
        ------
        ConfigError
            On every rank, if the system gives none.
        """
        types = [np.dtype(dtype) for _, dtype in shapes]
        sizes = [
            -(-length * dtype.itemsize // CACHE_LINE) * CACHE_LINE
            for (length, _), dtype in zip(shapes, types, strict=True)
        ]
        block = self._block(max(CACHE_LINE, sum(sizes)))
        if block is None:
            raise ConfigError(
                f"the ranks of this host cannot share {sum(sizes)} more bytes; give "
                "--merge messages, which needs none"
            )
        places = np.cumsum([0, *sizes]).tolist()
        return [
            np.frombuffer(block, dtype, length, place)
            for (length, _), dtype, place in zip(shapes, types, places, strict=False)
        ]

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
