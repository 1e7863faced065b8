"""The directory of a run's checkpoints, among any other files.

    mndmst-checkpoint.lock    held (flock) by the run that keeps its checkpoints there;
                              a line that names the format, then one token a line
    TOKEN-RANK.h5, TOKEN.json made by the checkpoint with this token

A token is new for every checkpoint, and is on disk in the lock file before any file
with it in its name is created. Only files with such names are the program's and may be
removed, including files of a killed run.
"""

import os
import re
import secrets
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

from ...comm.communicator import Comm
from ...host.errors import ConfigError, OutputError
from ...io.file_access import write_at, writing
from ...io.owned_files import BusyError, LockFile
from .manifest import MANIFEST, check_own, tokens_of

LOCK = "mndmst-checkpoint.lock"
_HEAD = b"mndmst-checkpoint: the tokens that names of its files begin with"
_TOKEN = re.compile(r"[0-9a-f]{12}")
_FILE_NAME = re.compile(r"([0-9a-f]{12})(-\d{5,}\.h5|\.json)")


class Folder:
    """A directory for the checkpoints of one run at a time. Collective.

    Rank 0 creates it and holds the lock until `close`. Raises ConfigError on every rank
    if another process has the lock, or a file with the name of the lock or the manifest
    is not one; OutputError on every rank if the directory cannot be created.
    """

    def __init__(self, comm: Comm, path: Path) -> None:
        self.comm = comm
        self.path = path
        self._lock: LockFile | None = None  # on rank 0
        self._tokens: set[str] = set()
        with comm.raise_on_all():
            if comm.rank == 0:
                self._lock_directory()
        self._check_shared()

    def _check_shared(self) -> None:
        """Make sure that every rank sees the lock file and can write beside it.

        The lock file serves as the probe, so that a kill leaves no other file behind.
        """
        try:
            with self.comm.raise_on_all(), writing(self.path):
                if not (self.path / LOCK).exists():
                    raise OutputError(
                        f"{self.path}: rank {self.comm.rank} does not see the lock "
                        "that rank 0 has written there. Give a directory that all "
                        "machines share."
                    )
                (self.path / LOCK).open("r+b").close()
        except BaseException:
            self.close()
            raise

    def _lock_directory(self) -> None:
        """Lock the directory, and read the tokens of the program's files in it."""
        name = self.path / LOCK
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        try:
            # On a file system without locks the user must use the folder for one run
            self._lock = LockFile.take(name)
        except BusyError as error:
            raise ConfigError(
                f"{self.path}: another run keeps its checkpoints there. Give "
                "--checkpoint another directory, or wait for that run."
            ) from error
        try:
            with writing(name):
                self._tokens = self._recorded(self._lock)
            check_own(self.path / MANIFEST)
        except BaseException:
            self.close()
            raise
        self._tokens |= tokens_of(self.path / MANIFEST)

    def _recorded(self, lock: LockFile) -> set[str]:
        """Return the tokens in the lock file; write its head if it is new."""
        head = os.pread(lock.handle, len(_HEAD), 0)
        if not _HEAD.startswith(head):
            raise ConfigError(
                f"{lock.path}: is not a lock of mndmst. Rename it, or give "
                "--checkpoint another directory."
            )
        if head != _HEAD:  # the file is new, or its creator was killed
            _append(lock, _HEAD, 0)
        content = os.pread(lock.handle, os.fstat(lock.handle).st_size, 0)
        lines = content.decode(errors="replace").split("\n")
        return {line for line in lines if _TOKEN.fullmatch(line)}

    def new_token(self) -> str:
        """Return the token that begins the names of a checkpoint's files. Collective.

        Raises OutputError on every rank if it cannot be recorded.
        """
        token: str = self.comm.bcast(secrets.token_hex(6))
        with self.comm.raise_on_all(), writing(self.path):
            if self._lock is not None:
                end = os.fstat(self._lock.handle).st_size
                _append(self._lock, f"\n{token}".encode(), end)
                self._tokens.add(token)
        return token

    def sweep(self, keep: Container[str] = ()) -> None:
        """On rank 0, remove the program's files except those to keep."""
        for path in self._checkpoint_files():
            if path.name not in keep:
                with suppress(OSError):
                    path.unlink()

    def _checkpoint_files(self) -> list[Path]:
        """Return the files of all checkpoints in the directory."""
        files = []
        with suppress(OSError):
            for path in self.path.iterdir():
                match = _FILE_NAME.fullmatch(path.name)
                if match and match[1] in self._tokens:
                    files.append(path)
        return files

    def clear(self) -> None:
        """Remove all checkpoints, the manifest first, so that none is incomplete."""
        if self._lock is not None:
            with suppress(OSError):
                (self.path / MANIFEST).unlink(missing_ok=True)
                self.sweep()
                if not self._checkpoint_files():
                    os.ftruncate(self._lock.handle, len(_HEAD))

    def close(self) -> None:
        """Release the directory. The lock file stays: another run may have it open."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _append(lock: LockFile, data: bytes, offset: int) -> None:
    write_at(lock.handle, data, offset)
    os.fsync(lock.handle)
