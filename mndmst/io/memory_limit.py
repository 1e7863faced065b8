"""The limit on memory that this process takes for its inputs.

A command sets the limit once, from its option `--memory`. Readers ask before they take
memory whose size a file determines: its unpacked contents, or sizes in its header.
"""

import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from ..host.errors import ConfigError
from ..host.memory import MIB, Budget, data_bytes, free_bytes, held_bytes

# Compiled kernels, buffers, and code that is loaded when it is needed.
RESERVE = 128 * MIB
# Small files are read under any limit.
LEAST = MIB
LEAST_OF_LIBRARIES = 64 * MIB


# Bytes beyond the limit are still counted, up to this multiple of it.
FAR = 16
T = TypeVar("T")

_limit = Budget(0)


def allow(limit: int) -> None:
    """Set the limit in bytes; 0 sets none but the machine's free memory."""
    _limit.limit = limit


def room() -> int:
    """Return the bytes that readers may still take."""
    return max(min(free_bytes(), _limit.room() - RESERVE), LEAST)


def check_room(path: str | Path, nbytes: int, what: str) -> None:
    """Raise ConfigError, with a limit that suffices, if `what` takes too much."""
    if nbytes > room():
        raise exceeded(path, nbytes, what)


def exceeded(path: str | Path, nbytes: int, what: str, least: str = "") -> ConfigError:
    """Return the error for an exceeded limit; `least` is " at least", or empty."""
    if not _limit.limit:
        return ConfigError(
            f"{path}: {what} takes{least} {nbytes:,} bytes of memory, and "
            f"{free_bytes():,} are free. Take a machine with more memory, or unpack "
            "the file and convert it to a format that is read in pieces."
        )
    enough = -(-(held_bytes() + RESERVE + nbytes) // MIB)
    return ConfigError(
        f"{path}: --memory {_limit.limit:,} is too little: {what} takes{least} "
        f"{nbytes:,} bytes. --memory {enough}MiB suffices for as much."
    )


def collect(path: str | Path, pieces: Iterable[T], cost: Callable[[T], int]) -> list[T]:
    """Return all pieces; count on, without keeping them, if they do not fit."""
    limit, nbytes = room(), 0
    kept: list[T] = []
    for piece in pieces:
        nbytes += cost(piece)
        if nbytes <= limit:
            kept.append(piece)
        elif nbytes > FAR * limit:
            break
        else:
            kept.clear()
    if nbytes > limit:
        least = " at least" if nbytes > FAR * limit else ""
        raise exceeded(path, nbytes, "the list of its edges", least)
    return kept


@contextmanager
def capped() -> Iterator[None]:
    """Limit by the system what libraries take that unpack files without asking."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [data_bytes() + max(room(), LEAST_OF_LIBRARIES)]
    limits += [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
