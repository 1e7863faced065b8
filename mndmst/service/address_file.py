"""The file with a service's address, and the lock that protects it.

A service holds a lock on the file for as long as it runs, so another service replaces
only the file of a dead one. The lock belongs to the file and not to its name: the file
has it before it appears under its name.
"""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..host.errors import OutputError
from ..io.atomic_output import whole_file
from ..io.file_access import lock, writing
from ..io.output_kinds import ADDRESS, is_earlier_result, json_mark
from .access import locked_folder
from .protocol import to_bytes

MOST_BYTES = 1 << 16


def remove_left_over(path: Path) -> None:
    """Remove the address file of a dead service, which would mislead clients.

    Raises OutputError if a running service uses the file, or it cannot be removed.
    """
    with locked_folder(path.parent), writing(path):
        if is_earlier_result(path, ADDRESS):
            _check_unused(path)
            path.unlink(missing_ok=True)


@contextmanager
def published_address(
    path: Path, address: dict[str, str | None], overwrite: bool
) -> Iterator[None]:
    """Publish an address while the block runs.

    Raises OutputError if a running service uses the file, or the file cannot be
    written.
    """
    process = {"host": socket.gethostname(), "process": os.getpid()}
    text = to_bytes(json_mark(ADDRESS) | address | process) + b"\n"
    with locked_folder(path.parent):
        if is_earlier_result(path, ADDRESS):
            _check_unused(path)
        with whole_file(path, ADDRESS, overwrite) as temporary:
            temporary.write_bytes(text)
            file = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            with suppress(OSError):  # the file system has no locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield
    finally:
        with suppress(OSError):
            if os.path.samestat(os.fstat(file), path.lstat()):
                path.unlink()
        os.close(file)


def _check_unused(path: Path) -> None:
    """Refuse an address file whose service runs, or may run."""
    with writing(path):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        lock(file, fcntl.LOCK_SH)
    except BlockingIOError as error:
        raise OutputError(
            f"{path}: a running service uses this address file: {_service(file)}. End "
            f"it with mndmst client {path} shutdown, or give another --address-file."
        ) from error
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be locked ({error.strerror}), so a running service may "
            f"use this address file: {_service(file)}. If that service has ended, "
            "remove the file; else give another --address-file."
        ) from error
    finally:
        os.close(file)


def _service(file: int) -> str:
    """Return the address and the process in an open address file."""
    with suppress(ValueError, LookupError, TypeError):
        found = json.loads(os.pread(file, MOST_BYTES, 0))
        text = f"{found['url']}, process {found['process']} on {found['host']}"
        if text.isprintable():
            return text
    return "the file names no process"
