"""Trust in files of compiled code: those that a wheel brings, and all others.

`launch/wheel.sh` puts a module with the digests of its files of code beside them.
Python executes the modules of an installation, whatever users may write to them. So a
user who can change the digests can change the program, and a file that has its digest
needs no further check; with a umask of 002 a group can write to it. Any other file is
loaded only if no other user can write to it (`host/caches.py`).
"""

import functools
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from ..host.caches import has_trusted, read_trusted, weak_ancestor

# Code shipped with an installation.
SHIPPED = Path(__file__).with_name("objects")
DIGEST_BYTES = 16


def read_code(path: Path) -> bytes | None:
    """Return the contents of a file of code; None if it is missing or not trusted."""
    digest = digests().get(_name(path))
    if digest is None:
        return read_trusted(path)
    with suppress(OSError):
        content = path.read_bytes()
        if digest_of(content) == digest:
            return content
    return None


def has_code(path: Path) -> bool:
    """Return whether a file of code exists and is trusted, its contents unread."""
    return path.exists() if _name(path) in digests() else has_trusted(path)


def is_trusted(directory: Path) -> bool:
    """Return whether a directory has shipped code, or no other user can write to it."""
    if directory.parent == SHIPPED and _name(directory) in _shipped_directories():
        return True
    try:
        return directory.is_dir() and weak_ancestor(directory) is None
    except OSError:
        return False


def digest_of(content: bytes) -> str:
    """Return the digest of a file of code."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


@functools.cache
def digests() -> Mapping[str, str]:
    """Return the digests of shipped files, by name below `SHIPPED`."""
    try:
        module = import_module(f"{__package__}.{SHIPPED.name}")
    except ModuleNotFoundError:  # most installations have none
        return {}
    return dict(getattr(module, "DIGESTS", {}))


@functools.cache
def _shipped_directories() -> frozenset[str]:
    return frozenset(name.partition("/")[0] for name in digests() if "/" in name)


def _name(path: Path) -> str:
    """Return the name of a file or directory below `SHIPPED`; empty elsewhere."""
    return path.relative_to(SHIPPED).as_posix() if SHIPPED in path.parents else ""
