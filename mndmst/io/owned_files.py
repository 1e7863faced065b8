"""Files that belong to one process: files it has made, and files it holds locked.

Another process may rename, remove or replace a file at any time. So an owned file is
known by its inode, and a process removes or renames the name only while the name still
has that inode. A lock (flock) belongs to the open file, is shared with forked children,
and ends when the last of them has closed it, also by a kill.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from ..host.errors import OutputError
from .file_access import write_at, writing

# Processes of a run that was killed take a moment to end.
PATIENCE_SECONDS, PAUSE_SECONDS = 2.0, 0.02
# Other runs may remove the file between its opening and its locking
MOST_TRIES = 1000
MOST_CONTENT = 1 << 16
_LOCKED = (errno.EWOULDBLOCK, errno.EACCES)
# Follow no link, and do not wait for the other end of a pipe
_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class OwnFile(NamedTuple):
    """A file that this process has made, and may therefore remove."""

    path: Path
    device: int
    inode: int

    @classmethod
    def make(cls, path: Path) -> Self:
        """Make an empty file; OSError if anything has that name, even a link."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags, 0o666)
        try:
            return cls.of(path, os.fstat(handle))
        finally:
            os.close(handle)

    @classmethod
    def at(cls, path: Path) -> Self:
        """Return the file, of whatever kind, that this process has made at a path."""
        return cls.of(path, path.lstat())

    @classmethod
    def of(cls, path: Path, status: os.stat_result) -> Self:
        """Return the file of a status."""
        return cls(path, status.st_dev, status.st_ino)

    def publish(self, target: Path) -> None:
        """Give the file its final name."""
        if not self.is_there():
            raise OutputError(
                f"{target}: its temporary file {self.path.name} has been removed or "
                "replaced meanwhile. Write it again."
            )
        self.path.replace(target)

    def remove(self) -> None:
        """Remove the file, if it is still there and may be removed."""
        with suppress(OSError):
            if self.is_there():
                self.path.unlink()

    def is_there(self) -> bool:
        """Return whether the name still is that of this file."""
        with suppress(FileNotFoundError):
            return self.at(self.path) == self
        return False


def sweep(paths: Iterable[Path]) -> None:
    """Remove the files at some paths that are this user's and that no process locks."""
    for path in paths:
        with suppress(OSError, BusyError), LockFile(path) as file:
            if os.fstat(file.handle).st_uid == os.geteuid():
                file.lock(wait=False)
                if file.is_named() and file.refusal is None:
                    file.removable.remove()


class BusyError(Exception):
    """Another process holds the lock of a file; `content` has its first bytes."""

    def __init__(self, content: bytes) -> None:
        super().__init__("another process holds the lock")
        self.content = content


class LockFile:
    """An open file, or directory, with its lock; a context manager closes it.

    `refusal` is the error of a file system that has no locks.
    """

    def __init__(self, path: Path, flags: int = os.O_RDWR, mode: int = 0o666) -> None:
        self.path = path
        self.refusal: OSError | None = None
        self.handle = os.open(path, flags | _CAREFUL, mode)

    @classmethod
    def make(cls, draw: Callable[[], Path], mode: int = 0o666) -> Self:
        """Make an empty file at a drawn path, and share its lock against `sweep`.

        Raises OSError if anything has that name, even a link.
        """
        while True:
            file = cls(draw(), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
            # A process may sweep the file before it is locked
            with suppress(BusyError):
                file.lock(fcntl.LOCK_SH)
                if file.is_named():
                    return file
            file.close()

    @classmethod
    def take(
        cls, path: Path, kind: int = fcntl.LOCK_EX, text: bytes | None = b""
    ) -> Self:
        """Open and lock the regular file at a path; make it with `text` if missing.

        Without a text the file is of another rank, which may appear a moment later.
        Raises BusyError if another process holds the lock, OutputError if the file
        cannot be opened or made.
        """
        for _ in range(MOST_TRIES):
            with writing(path):
                _provide(path, text)
                try:
                    file = cls(path)
                except FileNotFoundError:  # another run has removed it
                    continue
            try:
                file.lock(kind)
                if file.is_named():
                    return file
            except BaseException:
                file.close()
                raise
            file.close()
        raise BusyError(b"")

    def lock(self, kind: int = fcntl.LOCK_EX, wait: bool = True) -> None:
        """Lock the file, waiting a moment for the process that has it.

        Raises BusyError if that process keeps it. Sets `refusal` if the file system
        refuses locks.
        """
        patience = time.monotonic() + PATIENCE_SECONDS * wait
        self.refusal = None
        while True:
            try:
                fcntl.flock(self.handle, kind | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in _LOCKED:
                    self.refusal = error
                    return
                if time.monotonic() >= patience:
                    raise BusyError(self.content()) from error
            time.sleep(PAUSE_SECONDS)

    @property
    def removable(self) -> OwnFile:
        """The file as one that this process may remove while it holds the lock."""
        return OwnFile.of(self.path, os.fstat(self.handle))

    def is_named(self) -> bool:
        """Return whether this file is regular and still has its name."""
        regular = stat.S_ISREG(os.fstat(self.handle).st_mode)
        return regular and self.removable.is_there()

    def content(self) -> bytes:
        """Return the first bytes of the file; none of a directory."""
        with suppress(OSError):
            return os.pread(self.handle, MOST_CONTENT, 0)
        return b""

    def close(self) -> None:
        """Close the file, which releases the lock."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _provide(path: Path, text: bytes | None) -> None:
    """Make a lock file with a text, or wait for another rank's; refuse other kinds."""
    patience = time.monotonic() + PATIENCE_SECONDS
    while True:
        if text is not None:
            with suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CAREFUL
                handle = os.open(path, flags, 0o666)
                try:
                    write_at(handle, text, 0)
                finally:
                    os.close(handle)
                return
        with suppress(FileNotFoundError):
            if stat.S_ISREG(path.lstat().st_mode):
                return
            raise OutputError(
                f"{path}: is not a regular file, but has the name of a lock. Move it "
                "away."
            )
        if text is None and time.monotonic() > patience:
            raise OutputError(
                f"{path}: not every rank sees the file that rank 0 has written there. "
                "Give a directory that all machines share."
            )
        time.sleep(PAUSE_SECONDS)
