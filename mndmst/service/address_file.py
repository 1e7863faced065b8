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
from ..io.file_access import writing
from ..io.output_kinds import ADDRESS, is_earlier_result, json_mark
from ..io.owned_files import BusyError, LockFile
from .access import locked_folder
from .protocol import to_bytes


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
            file = LockFile(temporary)
            with suppress(BusyError):
                file.lock(fcntl.LOCK_SH, wait=False)  # as its writer does
    try:
        yield
    finally:
        file.removable._replace(path=path).remove()
        file.close()


def _check_unused(path: Path) -> None:
    """Refuse an address file whose service runs, or may run."""
    with writing(path):
        file = LockFile(path)
    with file:
        try:
            file.lock()
        except BusyError as error:
            raise OutputError(
                f"{path}: a running service uses this address file: "
                f"{_service(error.content)}. End it with mndmst client {path} "
                "shutdown, or give another --address-file."
            ) from error
        if file.refusal is not None:
            raise OutputError(
                f"{path}: cannot be locked ({file.refusal.strerror}), so a running "
                f"service may use this address file: {_service(file.content())}. If "
                "that service has ended, remove the file; else give another "
                "--address-file."
            ) from file.refusal


def _service(content: bytes) -> str:
    """Return the address and the process in an address file."""
    with suppress(ValueError, LookupError, TypeError):
        fields = json.loads(content)
        text = f"{fields['url']}, process {fields['process']} on {fields['host']}"
        if text.isprintable():
            return text
    return "the file names no process"
