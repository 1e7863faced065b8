"""The right of one service to a folder: a lock on the file `lease` in it.

The service holds it from before it reads anything there until its process ends, however
it ends. The file names the process that holds it, and stays.
"""

import errno
import fcntl
import os
import socket
import stat
import time
from pathlib import Path

from ..host.errors import OutputError
from ..io.file_errors import writing

NAME = "lease"
MOST_BYTES = 1000
# A process that was killed takes a moment to end.
PATIENCE_SECONDS, PAUSE_SECONDS = 2.0, 0.02
_BUSY = (errno.EWOULDBLOCK, errno.EACCES)


class Lease:
    """Holds the lock of a folder, until it is closed or the process ends.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    OutputError
        If another service holds it, the folder cannot be written, or its file system
        has no locks.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / NAME
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with writing(path):
            self._file = os.open(path, flags, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise OutputError(f"{path}: is not a regular file. Move it away.")
            self._lock(folder, path)
            since = time.strftime("%Y-%m-%dT%H:%M:%S%z")
            text = f"process {os.getpid()} on {socket.gethostname()}, since {since}\n"
            with writing(path):
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, text.encode(), 0)
        except BaseException:
            self.close()
            raise

    def _lock(self, folder: Path, path: Path) -> None:
        patience = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _BUSY:
                    raise OutputError(
                        f"{path}: cannot be locked ({error.strerror}), so two services "
                        "could write one journal. Give a --journal on a file system "
                        "with locks."
                    ) from error
                if time.monotonic() > patience:
                    raise OutputError(
                        f"{folder}: another service has this journal: "
                        f"{self._holder()}. End that one, or give another --journal."
                    ) from error
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def _holder(self) -> str:
        text = os.pread(self._file, MOST_BYTES, 0).decode(errors="replace").strip()
        return text if text.isprintable() and text else "it has not said its process"

    def close(self) -> None:
        """Give the lock up."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
