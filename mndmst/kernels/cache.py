"""Where compiled kernels are kept: a directory for each state of the sources.

Numba looks at the file of a kernel to tell whether what it has compiled is still
right, but not at the files of the kernels that it calls: after an update one could go
on with another's old code. So the directory is named after all of them.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from numba import config

from ..host.caches import fresh_directory, make_private, tell_once

PACKAGE = Path(__file__).parents[1]


def use_cache_of_these_sources() -> None:
    """Point Numba to the directory; to be called before the first kernel is defined.

    It lies in `NUMBA_CACHE_DIR`, else in `MNDMST_CACHE_DIR` or the user's cache, else
    in a directory of the user's own for temporary files: in the first of these that
    can be written, and that nobody else can change. Numba executes what lies there.

    Raises
    ------
    ConfigError
        If there is none, and none can be made.
    """
    refused = None
    for base in _candidates():
        directory = base / _state()
        try:
            weak = make_private(directory)
        except OSError:
            continue
        if weak is None:
            break
        refused = refused or (directory, weak)
    else:
        directory = fresh_directory()
    config.CACHE_DIR = str(directory)
    if refused:
        tell_once(*refused, directory)


def _state() -> str:
    """Return a name that only these sources have."""
    state = hashlib.blake2b(digest_size=8)
    for source in sorted(kernel_files(PACKAGE)):
        facts = source.stat()
        state.update(f"{source} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return state.hexdigest()


def kernel_files(package: Path) -> list[Path]:
    """Return the files that may hold kernels: those in which Numba may be imported."""
    return [
        *package.glob("kernels/*.py"),
        *package.glob("backends/cpu/*.py"),
        *package.glob("*/kernels/*.py"),
        *package.glob("*/kernels.py"),
    ]


def _candidates() -> Iterator[Path]:
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"])
    if os.environ.get("MNDMST_CACHE_DIR"):
        yield Path(os.environ["MNDMST_CACHE_DIR"]) / "numba"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    yield Path(home) / "mndmst" / "numba"
    yield Path(tempfile.gettempdir()) / f"mndmst-cache-{os.getuid()}" / "numba"
