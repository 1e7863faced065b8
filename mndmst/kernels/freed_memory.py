"""Bounds of malloc: freed memory stays with the process for its next step.

A page that the system hands out for the first time is cleared and mapped, 0.2 to 1 s
for each GB, and more where threads wait for each other to do so: a tenth to a quarter
of a solve. glibc maps every large array anew and gives the end of its heap back, unless
it is told not to.
"""

import ctypes

# Larger arrays are mapped one by one, where glibc takes such a bound; before 2.35 it
# took none above the other.
MAPPED_BYTES, MAPPED_BYTES_ONCE = 1 << 30, 32 << 20
# Free bytes that a process keeps by default, and at most (mallopt takes an int).
# `Budget` gives them back before it counts.
KEPT_BYTES, MOST_BYTES = 256 << 20, (1 << 31) - 1
# A command keeps one part in KEPT_SHARE of the memory that its rows leave free.
KEPT_SHARE = 4
# Where rows do not fit, nothing is kept.
TIGHT_BYTES = 1 << 20
# See mallopt(3).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8


def keep_freed(nbytes: int = KEPT_BYTES) -> None:
    """Let glibc keep up to `nbytes` of freed memory; other C libraries ignore it.

    Numba's arrays and NumPy's both come from malloc.
    """
    _set_bounds(MAPPED_BYTES, min(max(nbytes, TIGHT_BYTES), MOST_BYTES))


def keep_nothing() -> None:
    """Let glibc give freed memory back to the system from now on."""
    _set_bounds(TIGHT_BYTES, TIGHT_BYTES)


def _set_bounds(mapped: int, kept: int) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        if not mallopt(_M_MMAP_THRESHOLD, mapped):
            mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES_ONCE)
        mallopt(_M_TRIM_THRESHOLD, kept)
        mallopt(_M_ARENA_MAX, 1)  # all threads reuse what any thread has freed
