"""Standard input as a file: edges are read twice, and by several processes.

The copy is in a directory beside the output, `NAME.input-work`, with an empty file
whose name is the token of the run (see `partition_run`). The run holds a lock on that
file, so the next run knows which files a killed run has left, and removes them.
"""

import errno
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...host.errors import MndmstError, OutputError
from ..file_access import writing
from ..shards.graph_directory import new_token, no_new_folders
from .partition_run import make_work, mark_of, read_token, remove_work

NAME = "standard input"
_PIECE = 1 << 20
# First bytes of packed files
_PACKED = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\0": ".xz", b"(\xb5/\xfd": ".zst"}


@contextmanager
def stored(out: Path, format: str | None) -> Iterator[Path]:
    """Copy standard input to a file beside an output, and remove it after the block."""
    # Packed input is known by its first bytes
    source = sys.stdin.buffer
    first = source.read(_PIECE)
    packed = (suffix for mark, suffix in _PACKED.items() if first.startswith(mark))
    place = Path(os.path.realpath(out))
    folder = place.with_name(f"{place.name}.input-work")
    with no_new_folders(place), _own_directory(folder, out) as work:
        path = work / f"input.{format or 'txt'}{next(packed, '')}"
        try:
            with writing(path), path.open("xb") as copy:
                copy.write(first)
                shutil.copyfileobj(source, copy, _PIECE)
            yield path
        except MndmstError as error:
            raise type(error)(str(error).replace(str(path), NAME)) from error


@contextmanager
def _own_directory(work: Path, out: Path) -> Iterator[Path]:
    """Make a directory for this run; remove it after the block."""
    before = read_token(work)
    if before is not None:
        os.close(_locked(mark_of(work, before), out))
        remove_work(work, before)
    token = new_token()
    with writing(work):
        work.parent.mkdir(parents=True, exist_ok=True)
    make_work(work, token)
    lock = _locked(mark_of(work, token), out)
    try:
        yield work
    finally:
        os.close(lock)
        remove_work(work, token)


def _locked(mark: Path, out: Path) -> int:
    """Open a file and lock it, where the file system has locks."""
    with writing(mark):
        file = os.open(mark, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            os.close(file)
            raise OutputError(
                f"{out}: another run copies standard input to {mark.parent}. Wait for "
                "it, or give another directory."
            ) from error
    return file
