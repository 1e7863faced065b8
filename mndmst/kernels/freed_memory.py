"""Thresholds of malloc: freed memory stays with the process for its next step.

The system clears and maps each page before its first use. That takes 0.2 to 1 s per GB,
more if several threads wait for it: a tenth to a quarter of a solve. By default glibc
maps every large array anew and returns the end of its heap to the system.
"""

import ctypes

# Larger arrays are mapped one by one. glibc before 2.35 accepts at most the second
# value.
MAPPED_BYTES, MAPPED_BYTES_ONCE = 1 << 30, 32 << 20
# Free bytes that a process keeps by default, and at most (mallopt takes an int).
# `Budget` returns them to the system before it counts.
KEPT_BYTES, MOST_BYTES = 256 << 20, (1 << 31) - 1
# A command keeps at most one part in KEPT_SHARE of its free memory.
KEPT_SHARE = 4
# Free bytes that a process keeps if its rows do not fit in memory
TIGHT_BYTES = 1 << 20
# See mallopt(3).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8


def keep_freed(nbytes: int = KEPT_BYTES) -> None:
    """Let glibc keep up to `nbytes` of freed memory; other C libraries ignore this.

    The arrays of Numba and NumPy are allocated by malloc.
    """
    _set_bounds(MAPPED_BYTES, min(max(nbytes, TIGHT_BYTES), MOST_BYTES))


def keep_nothing() -> None:
    """Let glibc give freed memory back to the system from now on."""
    _set_bounds(TIGHT_BYTES, TIGHT_BYTES)


def _set_bounds(mapped: int, trimmed: int) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        if not mallopt(_M_MMAP_THRESHOLD, mapped):
            mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES_ONCE)
        mallopt(_M_TRIM_THRESHOLD, trimmed)
        mallopt(_M_ARENA_MAX, 1)  # all threads reuse what any thread has freed
