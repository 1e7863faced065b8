"""Directories that only the user can change, for files that later runs use.

The program trusts the files of a cache, and executes compiled code. So it uses a
directory only if no other user but root can create a file there or replace the
directory, and a file only if no other user can write to it. It refuses directories and
files that are writable by a group. This covers access control lists of POSIX: if a list
permits another user to write, so does its mask, and the mode of a file shows the mask
as the permissions of the group.
"""

import atexit
import errno
import functools
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .errors import ConfigError
from .launcher import launched_rank

MOST_LINKS = 40  # symbolic links that the kernel follows
DAY = 86_400.0  # seconds
# `native/cache_cleaning.py` removes files that no run has used for this many days.
UNUSED_DAYS = 30


def weak_ancestor(directory: Path) -> Path | None:
    """Return the first directory on a path that others can change, if any.

    Every directory, from the root of the file system on, must belong to the user or to
    root, and only they may write there. Directories above may be writable by others if
    they are sticky, such as `/tmp`: there, others cannot replace the user's files.
    Symbolic links and their targets follow the same rules. Missing directories are not
    checked. Raises OSError if a component cannot be read, or is not a directory.
    """
    reached, ahead, links = Path("/"), _components(directory.absolute()), 0
    while True:
        weak = _others_write(reached, is_last=not ahead)
        if weak or not ahead:
            return reached if weak else None
        step = reached / ahead.pop()
        try:
            facts = step.lstat()
        except FileNotFoundError:
            return None
        if not _trusted(facts.st_uid):
            return step
        if stat.S_ISLNK(facts.st_mode):
            if links == MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(step))
            target, links = step.readlink(), links + 1
            ahead += _components(target)
            reached = Path("/") if target.is_absolute() else reached
        elif step.name == "..":
            reached = reached.parent
        else:
            reached = step


def weak_file(file: Path | int) -> bool:
    """Return whether another user can write to a file, or it is not a regular file.

    A descriptor refers to the open file that is then read. Raises OSError if the file
    cannot be inspected.
    """
    facts = os.fstat(file) if isinstance(file, int) else file.lstat()
    return not stat.S_ISREG(facts.st_mode) or _open_to_others(facts)


def user_cache_bases() -> Iterator[Path]:
    """Yield the directories for this user's cache, the preferred one first."""
    if os.environ.get("MNDMST_CACHE_DIR"):
        yield Path(os.environ["MNDMST_CACHE_DIR"]) / "kernels"
    home, given = home_directory(), os.environ.get("XDG_CACHE_HOME")
    if given:
        yield Path(given) / "mndmst" / "kernels"
    elif home is not None:
        yield home / ".cache" / "mndmst" / "kernels"
    temporary = os.environ.get("TMPDIR") or "/tmp"
    yield Path(temporary) / f"mndmst-cache-{os.getuid()}" / "kernels"


def home_directory() -> Path | None:
    """Return the user's home directory; None for a user id without one."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def read_trusted(path: Path) -> bytes | None:
    """Return the contents of a file; None if another user can write to it.

    The check is of the open file, and symbolic links are not followed. A notice names a
    refused file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError), os.fdopen(os.open(path, flags), "rb") as file:
        if not weak_file(file.fileno()):
            return file.read()
        _report_refused_file(path)
    return None


def replace_file(path: Path, content: bytes) -> None:
    """Write a file that every user may read; readers see the old or the new content.

    Raises OSError if it cannot be written, such as on a full disk.
    """
    import tempfile  # few processes write to a cache

    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(handle, 0o644)  # permissions of the directory limit readers
        Path(part).replace(path)
    except OSError:
        Path(part).unlink()
        raise


def mark_used(path: Path) -> None:
    """Set the modification time of a user's file to now, at most once a day."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > DAY:
            os.utime(path)


def has_trusted(path: Path) -> bool:
    """Return whether a file exists and no other user can write to it."""
    try:
        return not weak_file(path)
    except OSError:
        return False


def weak_file_in(directory: Path) -> Path | None:
    """Return a file in a directory that another user can write to, if any.

    Raises OSError if the directory cannot be read.
    """
    with os.scandir(directory) as entries:
        for entry in entries:
            path = Path(entry.path)
            if entry.is_file(follow_symlinks=False) and weak_file(path):
                return path
    return None


def make_private(directory: Path) -> Path | None:
    """Make a directory for the user alone; return a path others can change, if any.

    No directory is made below such a path. Raises OSError if the directory cannot be
    created or written.
    """
    weak = weak_ancestor(directory)
    if weak is None:
        missing = [p for p in (directory, *directory.parents) if not p.exists()]
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)
        if not os.access(directory, os.W_OK):
            raise PermissionError(f"{directory} cannot be written")
        weak = weak_ancestor(directory)
        if weak is None and directory.stat().st_uid != os.geteuid():
            weak = directory
    return weak


def fresh_directory() -> Path:
    """Return a new directory for this process, which removes it when it exits.

    Raises ConfigError if others could replace it below every candidate.
    """
    import tempfile  # few processes are without a cache

    for base in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"):
        try:
            made = Path(tempfile.mkdtemp(prefix="mndmst-cache-", dir=base))
        except OSError:
            continue
        atexit.register(_remove, made, os.getpid())
        if weak_ancestor(made) is None:
            return made
    raise ConfigError(
        "there is no place for compiled kernels that others cannot change. Point "
        "MNDMST_CACHE_DIR at a directory that only you can write, in one like that."
    )


def report_refused_cache(refused: Path, weak: Path, instead: Path) -> None:
    """Print on the first rank that another cache is used than the preferred one."""
    _notice(
        f"not using the cache {refused}, for others can change {weak}; using "
        f"{instead}. Remove their permission: chmod go-w {weak}, or point "
        "MNDMST_CACHE_DIR at a directory that only you can write."
    )


def report_no_cache(refused: tuple[Path, Path] | None) -> None:
    """Print on the first rank that compiled kernels are not stored."""
    why = f"others can change {refused[1]}" if refused else "no directory is writable"
    _notice(
        f"no usable cache ({why}); kernels are recompiled every run. Point "
        "MNDMST_CACHE_DIR at a directory that only you can write."
    )


@functools.cache
def _report_refused_file(path: Path) -> None:
    _notice(
        f"not loading {path}, for others can write to it; its kernel is compiled "
        f"again. Remove the file, or let no other user write: chmod 644 {path}"
    )


def _notice(text: str) -> None:
    """Print a notice on the first rank."""
    from .progress import notice  # most processes print no notice

    if launched_rank() == 0:
        notice(text)


def _components(path: Path) -> list[str]:
    """Return the components of a path, the first one last."""
    return [name for name in reversed(path.parts) if name != "/"]


def _others_write(directory: Path, is_last: bool) -> bool:
    """Return whether others can change the user's entries of a directory.

    In the last directory of a path, they must not add entries either, as is possible in
    a sticky directory.
    """
    facts = directory.lstat()
    if not stat.S_ISDIR(facts.st_mode):
        raise NotADirectoryError(f"{directory} is not a directory")
    if not _open_to_others(facts):
        return False
    sticky = facts.st_mode & stat.S_ISVTX and _trusted(facts.st_uid)
    return is_last or not sticky


def _open_to_others(facts: os.stat_result) -> bool:
    """Return whether another user owns a file, or group or others may write to it."""
    writable = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return bool(writable) or not _trusted(facts.st_uid)


def _trusted(owner: int) -> bool:
    return owner in (0, os.geteuid())


def _remove(directory: Path, maker: int) -> None:
    import shutil

    if os.getpid() == maker:  # not in a process that was forked from it
        shutil.rmtree(directory, ignore_errors=True)
