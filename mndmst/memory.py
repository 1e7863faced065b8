"""How much memory a rank may still take."""

import os
import sys
from pathlib import Path


def resident_bytes() -> int:
    """Return the bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def free_bytes() -> int:
    """Return the bytes of this machine that processes may still take."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


class Budget:
    """The bytes a rank may hold.

    Parameters
    ----------
    limit : int
        Bytes, or 0 for no limit.
    """

    # A graph that is merged, contracted and filtered exists up to this many times.
    COPIES = 3

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def room(self) -> int:
        """Return how many more bytes fit."""
        if not self.limit:
            return sys.maxsize
        return max(0, self.limit - resident_bytes())

    def fits(self, nbytes: int) -> bool:
        """Return whether a reduced graph of some bytes can be taken in."""
        return self.COPIES * nbytes <= self.room()
