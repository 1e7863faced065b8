"""The cores of a process."""

import os

# More than any machine has cores; the system would refuse to start more threads.
MOST_THREADS = 1 << 12


def usable_cores(process: int = 0) -> set[int]:
    """Return the cores that a process, by default this one, may use.

    On systems without core binding, such as macOS, these are all cores of the machine.
    Raises OSError if there is no such process.
    """
    ask = getattr(os, "sched_getaffinity", None)
    return set(range(os.cpu_count() or 1)) if ask is None else ask(process)


def core_count() -> int:
    """Return the number of cores this process may use, at least 1."""
    return len(usable_cores())
