"""A bound for the memory of Arrow in the processes of a service.

Arrow's server unpacks a batch of a client before any code in Python sees it: 127 kB on
the wire may hold 4 GiB of zeros. It has no option to refuse compression, and none for
its memory. So its allocator, mimalloc, reserves one range of addresses at the start,
and takes no other. Only used pages of the range take memory. An allocation that does
not fit fails, and the request with it.

PyArrow 21 to 23 have no bound. The mimalloc of 21 (2.2.4) reserves further ranges, that
of 22 and 23 (3.1.5) finds no place in a range for objects of more than 32 MiB.
"""

import mmap
import os
from importlib.metadata import PackageNotFoundError, version

from ..host.errors import optional
from ..host.memory import free_bytes
from ..host.memory_costs import ARROW_RESERVE

POOL = "ARROW_DEFAULT_MEMORY_POOL"
NORESERVE = getattr(mmap, "MAP_NORESERVE", 0)  # not on every system
WITHOUT_A_BOUND = ("21.", "22.", "23.")  # versions of PyArrow

UNBOUNDED = (
    "the memory of Arrow has no bound here: a compressed batch of a client may unpack "
    "to more than --memory. PyArrow 24 or later keeps a bound by its own allocator, "
    "mimalloc, where the host reserves addresses without memory for them"
)


def bound_arrow(limit: int) -> bool:
    """Import Arrow so that it takes at most `limit` bytes, and some for itself.

    A limit of 0 stands for half the free memory of the host. Returns False if this
    build of Arrow or this host does not keep the bound, or the user has chosen another
    allocator by Arrow's own variable.
    """
    most = (limit or free_bytes() // 2) + ARROW_RESERVE
    settings = {
        "MIMALLOC_RESERVE_OS_MEMORY": f"{most >> 10}KiB",
        "MIMALLOC_DISALLOW_OS_ALLOC": "1",
        "MIMALLOC_LIMIT_OS_ALLOC": "1",  # its name in older versions
        "MIMALLOC_ARENA_MAX_OBJECT_SIZE": f"{most >> 10}KiB",  # else 2 GiB
        "MIMALLOC_PURGE_DELAY": "0",  # give freed memory back
    }
    bounded = (
        os.environ.get(POOL, "mimalloc") == "mimalloc"
        and not _arrow_version().startswith(WITHOUT_A_BOUND)
        and _can_reserve(most)
    )
    if bounded:
        os.environ[POOL] = "mimalloc"
        os.environ.update(settings)
    else:  # other allocators keep freed memory
        os.environ.setdefault(POOL, "system")
    arrow = optional("pyarrow", "serve", "The service needs")
    if bounded:
        try:
            arrow.allocate_buffer(2 * most)  # some versions round up the range
            bounded = False
        except MemoryError:
            arrow.allocate_buffer(1)
        for name in settings:  # other programs may read them, too
            del os.environ[name]
    return bounded


def _arrow_version() -> str:
    """Return the version of PyArrow without an import, or an empty string."""
    try:
        return version("pyarrow")
    except PackageNotFoundError:
        return ""


def _can_reserve(nbytes: int) -> bool:
    """Return whether the system reserves a range of addresses without memory for it."""
    try:
        mmap.mmap(-1, nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE).close()
    except OSError:
        return False
    return True
