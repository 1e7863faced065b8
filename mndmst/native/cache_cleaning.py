"""Removal of cached files that this user's runs have not used for a long time.

Each state of the kernels' sources has a separate directory of machine code; no run
removes another's. Only files in the user's cache are removed whose names and contents
show that mndmst wrote them. A directory with any other file stays.
"""

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..host.caches import DAY, UNUSED_DAYS, read_trusted, user_cache_bases
from .cache_dirs import DIGEST_BYTES
from .code_store import is_code_file, without_digest
from .loader import LOCK
from .shipped import is_trusted

_CODE_DIRECTORY = re.compile(r"(x86-64-v\d|armv[\d.]+-a|native|cuda\d+)-[0-9a-f]{16}")
_SOURCES = re.compile(r"sources-[0-9a-f]{16}")
# Temporary files of `caches.replace_file`, whose writer was killed.
_PART = re.compile(r"\.part-[a-z0-9_]{8}")
_GPU_CODE = re.compile(r"\w+(-\w+)+-(sm|compute)_\w+\.(cubin|ptx)")


class Unused(NamedTuple):
    """A file or directory of the cache, and the time of its last use."""

    path: Path
    files: list[Path]
    nbytes: int
    last_used: float


def remove_unused(days: float = UNUSED_DAYS) -> list[Unused]:
    """Remove files and directories that no run has used for some days; return them.

    A use sets the modification time of a directory (`caches.mark_used`). Times of
    access count, too, if the file system records them.
    """
    return [
        unused
        for base in filter(is_trusted, user_cache_bases())
        for unused in _unused(base, time.time() - days * DAY)
        if _remove(unused)
    ]


def _unused(base: Path, since: float) -> Iterator[Unused]:
    """Yield the files and directories of mndmst that were last used before a time."""
    for path in sorted(base.iterdir()):
        with suppress(OSError):
            files = _files(path)
            facts = [entry.lstat() for entry in files]
            times = [max(state.st_atime, state.st_mtime) for state in facts]
            last_used = max([path.lstat().st_mtime, *times])
            nbytes = sum(state.st_size for state in facts)
            if files and last_used < since and all(map(_is_ours, files)):
                yield Unused(path, files, nbytes, last_used)


def _files(path: Path) -> list[Path]:
    """Return the files of a code directory, or the path of a file with a known name."""
    if path.is_symlink():
        return []
    if _CODE_DIRECTORY.fullmatch(path.name) and path.is_dir():
        return list(path.iterdir())
    known = (_SOURCES, _PART)
    return [path] if any(name.fullmatch(path.name) for name in known) else []


def _is_ours(path: Path) -> bool:
    """Return whether mndmst has written a file, by its name and contents."""
    name, nbytes = path.name, path.lstat().st_size
    if _PART.fullmatch(name):
        return path.is_file() and not path.is_symlink()
    if name == LOCK:
        return nbytes == 0
    if _SOURCES.fullmatch(name):
        return nbytes == 2 * DIGEST_BYTES
    if _GPU_CODE.fullmatch(name):
        return without_digest(read_trusted(path) or b"") is not None
    return is_code_file(path)


def _remove(unused: Unused) -> bool:
    """Remove the files, and then their directory; return whether all are removed."""
    with suppress(OSError):
        for file in unused.files:
            file.unlink()
        if unused.path not in unused.files:
            unused.path.rmdir()
        return True
    return False
