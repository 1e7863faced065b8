"""Checks that an input fits a budget before memory is taken for it.

Readers ask before they take memory whose size a file determines: its unpacked contents,
or sizes in its header. The caller passes the budget, a command that of `--memory`.
"""

import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

from ..host.errors import ConfigError
from ..host.formatting import option_size, size_text, sufficient_size
from ..host.memory import (
    FREE_MEMORY,
    Budget,
    data_bytes,
    free_bytes,
    held_bytes,
)
from ..host.memory_costs import MIB, READER_RESERVE

# Small files are read under any limit.
LEAST = MIB
LEAST_OF_LIBRARIES = 64 * MIB
# Bytes beyond the limit are still counted, up to this multiple of it.
FAR = 16
T = TypeVar("T")


def room(budget: Budget) -> int:
    """Return the bytes that readers may still take."""
    return max(min(free_bytes(), budget.room() - READER_RESERVE), LEAST)


def check_room(budget: Budget, path: str | Path, nbytes: int, what: str) -> None:
    """Raise ConfigError, with a limit that suffices, if `what` takes too much."""
    if nbytes > room(budget):
        raise exceeded(budget, path, nbytes, what)


def exceeded(
    budget: Budget, path: str | Path, nbytes: int, what: str, least: str = ""
) -> ConfigError:
    """Return the error for an exceeded limit; `least` is " at least", or empty."""
    if not budget.limit:
        return ConfigError(
            f"{path}: {what} takes{least} {size_text(nbytes)} of memory, and "
            f"{size_text(free_bytes())} are free. Take a machine with more memory, or "
            "unpack the file and convert it to a format that is read in pieces."
        )
    enough = sufficient_size(held_bytes() + READER_RESERVE + nbytes)
    return ConfigError(
        f"{path}: --memory {option_size(budget.limit)} is too little: {what} "
        f"takes{least} {size_text(nbytes)} of memory. --memory {enough} suffices "
        "for as much."
    )


def collect(
    budget: Budget, path: str | Path, pieces: Iterable[T], cost: Callable[[T], int]
) -> list[T]:
    """Return all pieces; count on, without keeping them, if they do not fit."""
    limit, nbytes = room(budget), 0
    collected: list[T] = []
    for piece in pieces:
        nbytes += cost(piece)
        if nbytes <= limit:
            collected.append(piece)
        elif nbytes > FAR * limit:
            break
        else:
            collected.clear()
    if nbytes > limit:
        least = " at least" if nbytes > FAR * limit else ""
        raise exceeded(budget, path, nbytes, "the list of its edges", least)
    return collected


class _SystemLimit:
    """The system's limit for the data of this process, `RLIMIT_DATA`.

    The system has one for all threads. Of overlapping blocks, the first sets the
    limit and the last restores the one from before.
    """

    def __init__(self) -> None:
        self._lock, self._blocks = Lock(), 0
        self._before = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    def enter(self, nbytes: int) -> None:
        """Limit the process to some bytes, unless another block has limited it."""
        with self._lock:
            if not self._blocks:
                self._before = resource.getrlimit(resource.RLIMIT_DATA)
                known = [n for n in self._before if n != resource.RLIM_INFINITY]
                limits = min([nbytes, *known]), self._before[1]
                resource.setrlimit(resource.RLIMIT_DATA, limits)
            self._blocks += 1

    def leave(self) -> None:
        """End a block that has entered."""
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                resource.setrlimit(resource.RLIMIT_DATA, self._before)


_system_limit = _SystemLimit()


@contextmanager
def capped(budget: Budget) -> Iterator[None]:
    """Limit by the system the memory of libraries that unpack files without asking.

    In a program with other work the limit is the machine's free memory, whatever the
    budget: a smaller one would make calls in other threads fail.
    """
    allowed = room(budget if budget.whole_process else FREE_MEMORY)
    _system_limit.enter(data_bytes() + max(allowed, LEAST_OF_LIBRARIES))
    try:
        yield
    finally:
        _system_limit.leave()
