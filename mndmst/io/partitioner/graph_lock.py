"""One run for each directory that a graph is written to.

The lock is on a file beside the directory, `NAME.mndmst-lock`. All processes of a run
hold it, so that it is free only when the last of them has ended, however it ended. The
file is removed at the end by the run that holds it, if it is one of ours; any other
file of that name is locked as it is, and neither written nor removed.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...comm.communicator import Comm
from ...host.errors import OutputError
from ..file_access import writing
from ..owned_files import BusyError, LockFile
from ..shards.graph_directory import Destination

TEXT = b"A run of mndmst writes the graph beside this file.\n"


@contextmanager
def locked(comm: Comm, directory: Path, name: Path) -> Iterator[bool]:
    """Keep other runs from writing a graph to a directory. Collective.

    `name` is the directory as the user named it, for errors. Yields whether the lock
    works; some network file systems have no locks.
    """
    path = _lock_path(directory)
    file = None
    with comm.raise_on_all():
        if comm.rank == 0:
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            with _busy_as_output_error(name):
                file = LockFile.take(path, text=TEXT)
    failed = True
    try:
        # Every process shares the lock, so no other run can hold it exclusively
        with comm.raise_on_all(), _busy_as_output_error(name):
            if file is not None:
                file.lock(fcntl.LOCK_SH)
        with comm.raise_on_all(), _busy_as_output_error(name):
            file = file or LockFile.take(path, fcntl.LOCK_SH, text=None)
        yield bool(comm.min(int(file.refusal is None)))
        failed = False
    except BaseException as error:
        failed = getattr(error, "ranks", 1) < comm.size
        raise
    finally:
        if file is not None:
            # After a failure on some ranks the other ranks may still write
            if comm.rank == 0 and not failed and file.content() == TEXT:
                file.removable.remove()
            file.close()


@contextmanager
def _busy_as_output_error(name: Path) -> Iterator[None]:
    """Turn a BusyError into an OutputError that names the graph."""
    try:
        yield
    except BusyError as error:
        raise OutputError(
            f"{name}: another run is writing a graph there. Wait for it, or give "
            "another directory."
        ) from error


def check_early(target: Destination, num_parts: int) -> None:
    """Refuse a directory that holds files other than a graph, before any work.

    While another run writes there the files are incomplete, so this run checks them
    once it holds the lock.
    """
    path = _lock_path(target.path.resolve())
    if os.path.lexists(path):
        return
    try:
        target.check(num_parts)
    except OutputError:
        if not os.path.lexists(path):
            raise


def _lock_path(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.mndmst-lock")
