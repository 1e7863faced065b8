"""Directories of compiled kernels, named by a digest of all that the code depends on.

A directory belongs to one state of the kernels' sources, one version of the compiler,
and one level of the processor. So a second installation of the same sources compiles
nothing, and no process loads code of another version or processor.
"""

import functools
import hashlib
import os
import platform
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ..host.caches import (
    make_private,
    mark_used,
    read_trusted,
    replace_file,
    report_no_cache,
    report_refused_cache,
    user_cache_bases,
)
from ..host.errors import ConfigError
from .processor_levels import LEVELS, NATIVE, best_level, processor
from .shipped import SHIPPED, is_trusted, read_code

PACKAGE = Path(__file__).parents[1]
# The packages that compile kernels, and the file in a shared directory that records
# which versions compiled its code.
PACKAGES, VERSIONS = ("numba", "llvmlite"), "compiler-versions"
DIGEST_BYTES = 16
# Nanoseconds. While sources have changed more recently, every process reads them.
SETTLED_NS = 2_000_000_000

# Docstrings and comments of Python; and strings, so that no comment matches inside one.
_TEXTS = re.compile(
    rb'(?:\A|(?<=:\n))\s*"""(?s:.*?)"""|#.*'
    rb'|(?P<string>"""(?s:.*?)"""|(?P<quote>["\'])(?:\\.|(?!(?P=quote)).)*(?P=quote))'
)

_directories: list[tuple[Path, ...]] = []


def use_directories(dirs: tuple[Path, ...]) -> None:
    """Use the directories that another process of this host has chosen."""
    _directories[:] = [dirs]


def directories() -> tuple[Path, ...]:
    """Return the trusted directories of code for these sources, most specific first.

    Directories for exactly this processor (`NATIVE`) come first, then directories for
    its level.
    """
    if not _directories:
        use_directories(_find_directories())
    return _directories[0]


def _find_directories() -> tuple[Path, ...]:
    users, shared = writable(), tuple(_shared_bases())
    exact = _compiled_for(NATIVE, (*user_cache_bases(), *shared))
    if best_level() == NATIVE:
        return exact
    return (*exact, *([users] if users else []), *_compiled_for(best_level(), shared))


def _compiled_for(processors: str, bases: Iterable[Path]) -> tuple[Path, ...]:
    """Return the trusted directories below bases that have code of these sources."""
    return _trusted(base / state(processors, _versions_in(base)) for base in bases)


def _trusted(directories: Iterable[Path]) -> tuple[Path, ...]:
    trusted = tuple(filter(is_trusted, directories))
    for directory in trusted:
        mark_used(directory)
    return trusted


def writable() -> Path | None:
    """Return the user's directory for new code, created if missing; or None."""
    return writable_named(state(best_level()))


def directories_named(name: str) -> tuple[Path, ...]:
    """Return the trusted directories of a name in the user's cache and shared bases."""
    return _trusted(base / name for base in (*user_cache_bases(), *_shared_bases()))


@functools.cache
def writable_named(name: str) -> Path | None:
    """Return a directory for new code, created if missing; None without one.

    Candidates are `MNDMST_CACHE_DIR`, the user's cache, and the temporary directory, in
    this order. The first one that this user, and no other user, can write to is chosen.
    """
    refused = None
    for base in user_cache_bases():
        directory = base / name
        try:
            weak = make_private(directory)
        except OSError:
            continue
        if weak is None:
            if refused:
                report_refused_cache(*refused, directory)
            mark_used(directory)
            return directory
        refused = refused or (directory, weak)
    report_no_cache(refused)
    return None


def directory_for(base: Path | None, name: str) -> Path:
    """Create and return a directory for code below `base`, readable by all users.

    Without a base, return the directory in the user's cache. Raises ConfigError if
    there is none, or the directory is not writable, or other users can write to it.
    """
    if base is None:
        users = writable_named(name)
        if users is None:
            raise ConfigError(
                "no directory for compiled kernels is writable; see above"
            )
        return users
    directory = base.absolute() / name
    parents = (directory, *directory.parents)
    missing = [folder for folder in parents if not folder.exists()]
    try:
        weak = make_private(directory)
        for folder in missing:
            folder.chmod(0o755)
        replace_file(base / VERSIONS, _compiler())
    except OSError as error:
        raise ConfigError(
            f"{base}: compiled kernels cannot be written there ({error}). Name another "
            "directory with --into."
        ) from error
    if weak is not None:
        raise ConfigError(
            f"{base}: {weak} is writable by other users, so code from it would not be "
            "loaded. Remove their permission (chmod go-w), or name another directory."
        )
    return directory


def _shared_bases() -> Iterator[Path]:
    """Yield the directories of `MNDMST_KERNELS` (`compile --into`), and `SHIPPED`."""
    yield from map(
        Path, filter(None, os.environ.get("MNDMST_KERNELS", "").split(os.pathsep))
    )
    yield SHIPPED


@functools.cache
def state(processors: str, versions: bytes | None = None) -> str:
    """Return the directory name for these sources, a level and a compiler.

    `versions` are those of the compiler; by default it is the installed one.
    """
    level = LEVELS.get(processors)
    machine = platform.machine() if level is None else level.machine
    text = hashlib.blake2b(_sources(), digest_size=8)
    text.update(versions or _compiler())
    text.update(f"{platform.system()}\n{machine}\n".encode())
    if processors == NATIVE:
        text.update(processor().encode())
    return f"{processors}-{text.hexdigest()}"


@functools.cache
def _sources() -> bytes:
    """Return a digest of the source files that kernels depend on.

    The user's cache stores the digest beside `_file_facts`, so that most processes read
    no source.
    """
    sources = sorted(kernel_files(PACKAGE))
    facts, newest = _file_facts(sources)
    file = _digest_file()
    stored = (file and read_trusted(file)) or b""
    if file and stored.startswith(facts) and len(stored) == 2 * DIGEST_BYTES:
        mark_used(file)
        return stored[DIGEST_BYTES:]
    text = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for source in sources:
        text.update(f"{source.relative_to(PACKAGE)}\n".encode() + _code(source))
    # Two changes in one tick of the file system's clock would have equal facts
    if file is not None and newest < time.time_ns() - SETTLED_NS:
        with suppress(OSError):
            replace_file(file, facts + text.digest())
    return text.digest()


def _code(source: Path) -> bytes:
    """Return a source; Python sources without docstrings, comments and blank lines."""
    code = source.read_bytes()
    if source.suffix == ".py":
        code = _TEXTS.sub(lambda text: text["string"] or b"", code)
    return b"\n".join(line.rstrip() for line in code.splitlines() if line.strip())


def _file_facts(sources: Iterable[Path]) -> tuple[bytes, int]:
    """Return a digest of names, sizes, inodes and times of files, and the last time.

    The facts of a changed file differ, because no system call sets the time of the last
    change (ctime).
    """
    text, newest = hashlib.blake2b(digest_size=DIGEST_BYTES), 0
    for source in sources:
        facts = source.stat()
        newest = max(newest, facts.st_mtime_ns, facts.st_ctime_ns)
        numbers = facts.st_size, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns
        text.update(f"{source.relative_to(PACKAGE)} {numbers}\n".encode())
    return text.digest(), newest


def _digest_file() -> Path | None:
    """Return the cache file with the digest of these sources; None without a cache."""
    package = hashlib.blake2b(os.fsencode(PACKAGE), digest_size=8).hexdigest()
    bases = (base for base in user_cache_bases() if is_trusted(base))
    return next((base / f"sources-{package}" for base in bases), None)


@functools.cache
def _compiler() -> bytes:
    """Return the versions of Numba and llvmlite, which compile the kernels."""
    if not has_compiler():
        return b"none\n" * len(PACKAGES)
    return b"".join(_version(name) for name in PACKAGES)


def _versions_in(base: Path) -> bytes | None:
    """Return the versions that compiled the code of a shared directory, if known.

    The code needs no compiler, so it serves installations with other versions, or none,
    such as an image.
    """
    return read_code(base / VERSIONS)


def has_compiler() -> bool:
    """Return whether the packages that compile kernels are installed."""
    return all(find_spec(name) is not None for name in PACKAGES)


def _version(package: str) -> bytes:
    """Return the version of a package without importing it."""
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).with_name("_version.py").read_bytes() + b"\n"


def kernel_files(package: Path) -> list[Path]:
    """Return the source files of kernels and of the tuples in their arguments."""
    return [
        *package.glob("native/*.ll"),
        package / "native" / "compiler.py",
        package / "native" / "processor_levels.py",
        package / "native" / "arguments.py",
        *(package / "graph" / f"{name}.py" for name in ("arc_files", "model", "order")),
        *package.glob("kernels/*.py"),
        *package.glob("tree/*.py"),
        *package.glob("backends/cpu/*.py"),
        *package.glob("*/kernels/*.py"),
        *package.glob("*/kernels.py"),
    ]
