"""The memory that a rank may still take.

Batch systems and containers limit a job by control groups. The system still reports the
free memory of the whole machine, and kills a process that exceeds its group's limit. So
the free memory is the minimum of the two.
"""

import ctypes
import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import starmap
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from .errors import ConfigError
from .formatting import counted, option_size, size_text, sufficient_size
from .memory_costs import (
    ARC_BYTES,
    BAND_EDGE_BYTES,
    BAND_EDGES_PER_ROW,
    LONE_ROW_BYTES,
    PEER_RANK_BYTES,
    RANK_RESERVE,
    REDUCED_GRAPH_COPIES,
    ROW_BYTES,
    STORED_ROW_BYTES,
)


class _Files(NamedTuple):
    """The names of files in a version of control groups."""

    limit: str
    usage: str
    cache: str


# The first version reports the largest integer, in whole pages, for no limit.
_NO_BOUND = 1 << 62
_ONE = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_TWO = _Files("memory.max", "memory.current", "inactive_file")


def allowed_bytes(
    groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> int:
    """Return the bytes that the groups still allow; sys.maxsize without a bound.

    `groups` is the file with the groups of this process; `mounted` is the mount point
    of cgroups, which in a container may be the process's group.
    """
    try:
        return min(starmap(_remaining, _bounded(groups, mounted)), default=sys.maxsize)
    except (OSError, ValueError):  # no control groups, or an unknown format
        return sys.maxsize


@cache
def _bounded(groups: Path, mounted: Path) -> list[tuple[Path, _Files]]:
    """Return the groups of this process that bound memory; usually there is none."""
    return [
        (root / path.relative_to("/"), files)
        for root, group, files in _hierarchies(groups, mounted)
        for path in (group, *group.parents)
        if _limit(root / path.relative_to("/"), files) < _NO_BOUND
    ]


def _hierarchies(
    groups: Path, mounted: Path
) -> Iterator[tuple[Path, PurePosixPath, _Files]]:
    """Yield the roots of hierarchies for memory, and this process's group in each."""
    for line in groups.read_text().splitlines():
        number, controllers, group = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield mounted / "memory", PurePosixPath(group), _ONE
        elif number == "0":
            yield mounted, PurePosixPath(group), _TWO


def _limit(group: Path, files: _Files) -> int:
    """Return the bound of a group; _NO_BOUND if it has none or does not exist."""
    try:
        limit = (group / files.limit).read_text().strip()
    except OSError:
        return _NO_BOUND
    return _NO_BOUND if limit == "max" else int(limit)


def _remaining(group: Path, files: _Files) -> int:
    """Return the bytes that a group still allows."""
    used = int((group / files.usage).read_text())
    counts = dict(map(str.split, (group / "memory.stat").read_text().splitlines()))
    # The kernel evicts inactive pages of files before it ends a process.
    return max(0, _limit(group, files) - used + int(counts.get(files.cache, 0)))


# Fields of /proc/self/statm, in pages.
_RESIDENT, _DATA = 1, 5


def resident_bytes() -> int:
    """Return the bytes of this process that are in memory.

    Without /proc it is the largest number of bytes that were in memory at a time.
    """
    return _process_bytes(_RESIDENT)


def peak_bytes() -> int:
    """Return the largest number of bytes that this process has had in memory."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def data_bytes() -> int:
    """Return the bytes of this process that count for `RLIMIT_DATA`.

    Without /proc it is the largest number of bytes that were in memory at a time.
    """
    return _process_bytes(_DATA)


def _process_bytes(field: int) -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[field])
    except OSError:
        return peak_bytes()
    return pages * os.sysconf("SC_PAGE_SIZE")


def free_bytes() -> int:
    """Return the bytes of this machine that this process may still take.

    Without /proc it is all memory of the machine.
    """
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return _physical_bytes()
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    for line in lines:
        if line.startswith("MemAvailable:"):
            free = 1024 * int(line.split()[1])
    return min(free, allowed_bytes())


def machine_bytes(
    groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> int:
    """Return the memory of this machine, or the smallest limit of its groups."""
    try:
        limits = list(starmap(_limit, _bounded(groups, mounted)))
    except (OSError, ValueError):
        limits = []
    return min([_physical_bytes(), *limits])


def _physical_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def give_back_freed() -> None:
    """Return freed memory to the system, which glibc would keep."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def held_bytes() -> int:
    """Return the bytes of this process that it cannot give back."""
    give_back_freed()
    return resident_bytes()


@dataclass(frozen=True)
class Budget:
    """The memory that a process may hold, passed as an argument.

    It is immutable, so calls in several threads do not change each other's limits.
    """

    limit: int = 0  # Bytes; 0 for the free memory of the machine
    one_band: bool = False  # Whether all edges of the rows are contracted in one band
    # Whether the limit is the rank's share of its host, and not the user's
    shared: bool = False
    # Bytes that suffice for any graph with these rows and arcs on each rank
    enough: int = 0
    # Whether the process runs a single command, so that the system's limit for the
    # process may enforce this limit
    whole_process: bool = False

    LEAST_PIECE = 1 << 18  # bytes of a piece of the rows

    @property
    def given(self) -> bool:
        """Whether the user gave the limit; else it may become the host's."""
        return self.limit > 0 and not self.shared

    def room(self) -> int:
        """Return the bytes that may still be taken."""
        if not self.limit:
            return sys.maxsize
        return max(0, self.limit - held_bytes())

    def fits(self, nbytes: int) -> bool:
        """Return whether a reduced graph of some bytes can be received.

        Without a limit, a leader still must not exceed the memory of its machine.
        """
        return self.has(REDUCED_GRAPH_COPIES * nbytes)

    def has(self, nbytes: int) -> bool:
        """Return whether the rank can allocate some more bytes."""
        return nbytes <= min(self.room(), free_bytes())

    def for_rows(self, rows: int, arcs: int, row_bytes: int, ranks: int) -> int:
        """Return the bytes that rows need, with their contraction and merge.

        `row_bytes` is the size of the rows themselves; `ranks` is the number of ranks.
        """
        edges = min(arcs, BAND_EDGES_PER_ROW * rows)
        work = REDUCED_GRAPH_COPIES * BAND_EDGE_BYTES * edges
        if self.one_band:
            work = ARC_BYTES * arcs
        work += (ROW_BYTES if ranks > 1 else LONE_ROW_BYTES) * rows
        return row_bytes + work + RANK_RESERVE + PEER_RANK_BYTES * ranks

    def for_piece(self, room: int, rows: int, ranks: int) -> int:
        """Return the bytes that a piece of the rows may take if `room` bytes are free.

        A piece gets half of the memory; the other half is for the edges that earlier
        pieces leave.
        """
        fixed = STORED_ROW_BYTES * rows + RANK_RESERVE + PEER_RANK_BYTES * ranks
        return (room - fixed) // 2

    def exceeded(self, path: Path, data: str, ranks: int) -> ConfigError:
        """Return the error for data that do not fit; it names a limit that suffices."""
        enough = sufficient_size(self.enough)
        those = counted(ranks, "rank")
        if not self.given:
            return ConfigError(
                f"{path}: {size_text(self.limit)}, a rank's share of its host's "
                f"memory, are too few for {data}. On {those} {enough} each "
                "suffice; take more hosts, with fewer ranks on each."
            )
        return ConfigError(
            f"{path}: --memory {option_size(self.limit)} is too little for {data}. "
            f"On {those} --memory {enough} suffices; more ranks need less each."
        )


# The budget of a call that was given no limit.
FREE_MEMORY = Budget()
