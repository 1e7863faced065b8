"""One run for each directory that a graph is written to.

The lock is on a file beside the directory, `NAME.mndmst-lock`. All processes of a run
hold it, so that it is free only when the last of them has ended, however it ended. The
file is removed at the end by the run that holds it, if it is one of ours; any other
file of that name is locked as it is, and neither written nor removed.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...host.errors import OutputError
from ..file_access import PATIENCE_SECONDS, PAUSE_SECONDS, lock, writing
from ..shards.graph_directory import Destination
from .builders import Builders

TEXT = b"A run of mndmst writes the graph beside this file.\n"


@contextmanager
def locked(builders: Builders, place: Path, name: Path) -> Iterator[bool]:
    """Keep other runs from writing a graph to `place`, named `name`. Collective.

    Yields whether the lock works; some network file systems have no locks.
    """
    path = _lock_path(place)
    file = -1
    with builders.raise_on_all():
        if builders.rank == 0:
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            file = _take(path, name, fcntl.LOCK_EX, os.O_CREAT | os.O_EXCL)
    failed = True
    try:
        # All of them share it; no other run has had it alone since
        with builders.raise_on_all():
            if builders.rank == 0:
                _lock(file, name, fcntl.LOCK_SH)
        with builders.raise_on_all():
            if builders.rank > 0:
                file = _take(path, name, fcntl.LOCK_SH)
        yield all(builders.allgather(_has_locks(file)))
        failed = False
    except BaseException as error:
        failed = getattr(error, "ranks", 1) < builders.size
        raise
    finally:
        # After a failure of one process others may still be at work
        if builders.rank == 0 and not failed:
            _remove(path, file)
        if file >= 0:
            os.close(file)


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


def _take(path: Path, name: Path, kind: int, making: int = 0) -> int:
    """Open and lock the file; try again if another file takes its name meanwhile."""
    while True:
        file = _open(path, making)
        try:
            _lock(file, name, kind)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), path.lstat()):
                    return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _open(path: Path, making: int) -> int:
    """Open the file, which is made if it is not there and may be made."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    patience = time.monotonic() + PATIENCE_SECONDS
    with writing(path):
        while making or time.monotonic() < patience:
            with suppress(FileExistsError, FileNotFoundError):
                file = os.open(path, flags | making, 0o666)
                if making:
                    os.write(file, TEXT)
                return file
            with suppress(FileNotFoundError):  # it may be removed in between
                if stat.S_ISREG(path.lstat().st_mode):
                    return os.open(path, flags)
                raise OutputError(
                    f"{path}: is not a regular file, but has the name of a lock. Move "
                    "it away."
                )
            time.sleep(PAUSE_SECONDS)
    raise OutputError(
        f"{path}: not every rank sees what rank 0 writes there. Give a directory that "
        "all machines share."
    )


def _lock(file: int, name: Path, kind: int) -> None:
    """Lock an open file, unless the file system has no locks."""
    try:
        lock(file, kind)
    except BlockingIOError as error:
        raise OutputError(
            f"{name}: another run is writing a graph there. Wait for it, or give "
            "another directory."
        ) from error
    except OSError:
        pass


def _has_locks(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(path: Path, file: int) -> None:
    """Remove the file if it is still the one that is locked, and ours."""
    with suppress(OSError):
        same = os.path.samestat(os.fstat(file), path.lstat())
        if same and os.pread(file, len(TEXT) + 1, 0) == TEXT:
            path.unlink()
