"""The cores of a process, and the name of the processor."""

import os
import platform
from pathlib import Path

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


def processor_name(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Return the model of the processor, or its architecture if none is listed."""
    try:
        with listing.open(errors="replace") as lines:
            named = (line for line in lines if line.startswith("model name"))
            model = next(named, "").partition(":")[2].strip()
    except OSError:
        model = ""
    return model or platform.processor() or platform.machine()
