"""Removal of shared memory files that MPI libraries leave behind in killed jobs.

MPICH's ranks on a machine share a file in /dev/shm, which keeps its name until the last
of them ends normally; UCX, on which it is built, removes its names at once. A few
killed jobs fill the /dev/shm of a container, and then no job starts any more.
"""

import contextlib
import fcntl
import os
import re
import signal
import stat
import time
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
NAME = re.compile(r"(mpich_shm_[0-9a-f]+_[0-9]+|ucx_shm_posix_[0-9a-f]+)")
# Long past the moment between making a file and opening it on all ranks; but Slurm
# starts a requeued job, whose file has the same name, after two minutes.
LEAST_AGE = 60.0
# Other ranks that look at a file at the same moment have it open, for a moment.
TRIES, PAUSE = 5, 0.002
# The signal that the kernel sends if a process opens a leased file: by default it
# does nothing, where the usual one would end the process.
HARMLESS = signal.SIGURG


def remove_leftovers(directory: Path = SHARED_MEMORY, age: float = LEAST_AGE) -> None:
    """Remove the files of this user that no process uses, and no others.

    All ranks of a host may do so at once: some may be in MPI before the others.

    Parameters
    ----------
    age : float
        Seconds since anything about a file has changed, at least.
    """
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_unless_used(Path(entry.path), age)


def _remove_unless_used(path: Path, age: float) -> None:
    """Remove a file if the kernel grants a lease on it.

    The lease is granted only if no other process has the file open or mapped, also in
    containers whose processes this one cannot see. A process that opens it then waits
    until the lease is given back.

    Raises
    ------
    OSError
        If another process has the file, or the file system or user gets no leases.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags)
    try:
        if not _left_behind(os.fstat(handle), age):
            return
        fcntl.fcntl(handle, fcntl.F_SETSIG, HARMLESS)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _lease(handle)
        if os.path.samestat(path.lstat(), os.fstat(handle)):
            path.unlink()
    finally:
        os.close(handle)


def _lease(handle: int) -> None:
    for _ in range(TRIES - 1):
        with contextlib.suppress(BlockingIOError):
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            return
        time.sleep(PAUSE)
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)


def _left_behind(facts: os.stat_result, age: float) -> bool:
    """Return whether a file is this user's, regular, and old."""
    return (
        stat.S_ISREG(facts.st_mode)
        and facts.st_uid == os.geteuid()
        and facts.st_nlink == 1
        and time.time() - max(facts.st_mtime, facts.st_ctime) >= age
    )
