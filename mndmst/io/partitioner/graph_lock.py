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
def locked(comm: Comm, place: Path, name: Path) -> Iterator[bool]:
    """Keep other runs from writing a graph to `place`, named `name`. Collective.

    Yields whether the lock works; some network file systems have no locks.
    """
    path = _lock_path(place)
    file = None
    with comm.raise_on_all():
        if comm.rank == 0:
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            with _refused(name):
                file = LockFile.take(path, text=TEXT)
    failed = True
    try:
        # All of them share it; no other run has had it alone since
        with comm.raise_on_all(), _refused(name):
            if file is not None:
                file.lock(fcntl.LOCK_SH)
        with comm.raise_on_all(), _refused(name):
            file = file or LockFile.take(path, fcntl.LOCK_SH, text=None)
        yield bool(comm.min(int(file.refusal is None)))
        failed = False
    except BaseException as error:
        failed = getattr(error, "ranks", 1) < comm.size
        raise
    finally:
        if file is not None:
            # After a failure of one process others may still be at work
            if comm.rank == 0 and not failed and file.content() == TEXT:
                file.own.remove()
            file.close()


@contextmanager
def _refused(name: Path) -> Iterator[None]:
    """Tell that another run holds the lock of the graph that is named `name`."""
    try:
        yield
    except BusyError as error:
        raise OutputError(
            f"{name}: another run is writing a graph there. Wait for it, or give "
            "another directory."
        ) from error


def check_early(target: Destination, num_parts: int) -> None:
    """Refuse a directory that holds something else, before any work.

    While another run writes there, its files are in no state to judge; the run that has
    the lock checks them.
    """
    path = _lock_path(target.path.resolve())
    if os.path.lexists(path):
        return
    try:
        target.check(num_parts)
    except OutputError:
        if not os.path.lexists(path):
            raise


def _lock_path(place: Path) -> Path:
    return place.with_name(f"{place.name}.mndmst-lock")
