"""Open a user's files for reading: regular files only, unchanged while open.

A pipe, a socket or a device may never give a byte, or bytes without end.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from ..host.errors import ConfigError, InputError, MndmstError

# More than any options file, recipe or list of properties has.
LARGEST_TEXT = 4 << 20
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

# What distinguishes states of a file: its inode, bytes and time of change.
State = tuple[int, int, int]


def check_regular(path: Path) -> None:
    """Refuse a path that is not a regular file, before it is opened.

    Raises
    ------
    InputError
        If it is a directory, a pipe, a socket or a device.
    OSError
        If it is missing or cannot be reached.
    """
    _refuse_others(path, path.stat())


def state_of(path: Path) -> State:
    """Return the state of a regular file; see `check_regular`."""
    found = path.stat()
    _refuse_others(path, found)
    return _state(found)


@contextmanager
def opened(path: Path, state: State | None = None) -> Iterator[BufferedReader]:
    """Open a regular file for reading; see `check_regular`.

    Parameters
    ----------
    state : State, optional
        What the file was when it was first looked at.

    Raises
    ------
    InputError
        Also if it has changed since then, or while it was open.
    """
    check_regular(path)  # to open a device might have an effect
    with open(path, "rb", opener=_without_waiting) as file:
        found = os.fstat(file.fileno())
        _refuse_others(path, found)
        before = _state(found) if state is None else state
        if _state(found) != before:
            raise _changed(path)
        yield file
        if _state(os.fstat(file.fileno())) != before:
            raise _changed(path)


def read_small(path: Path, most: int = LARGEST_TEXT) -> bytes:
    """Return the contents of a file that has to be small.

    Raises
    ------
    InputError
        If it is larger, or not a regular file.
    OSError
        If it cannot be read.
    """
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise InputError(
                f"{path}: is larger than {most:,} bytes, the limit for such files. "
                "Give another file."
            )
        return file.read(size)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a file of options or a recipe.

    Raises
    ------
    ConfigError
        If it is missing or not TOML.
    InputError
        If it is too large, or not a regular file.
    """
    import tomllib  # only runs with a file of options need it

    try:
        return tomllib.loads(read_small(path).decode())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}).") from error
    except MndmstError:
        raise
    except ValueError as error:
        raise ConfigError(f"{path}: is not TOML ({error}). Fix it.") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: is nested too deeply. Fix it.") from error


def _without_waiting(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NONBLOCK)


def _state(found: os.stat_result) -> State:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _refuse_others(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((text for test, text in _KINDS if test(found.st_mode)), "no file")
        raise InputError(
            f"{path}: is {kind}; a regular file is expected. Give the name of one."
        )


def _changed(path: Path) -> InputError:
    return InputError(
        f"{path}: has changed while it was read. Wait until it is whole, and try again."
    )
