"""Where the code of kernels lies: in directories named after what it depends on.

A directory belongs to one state of the kernels' sources, one version of the compiler,
and one level of the processor. So a second installation of the same sources compiles
nothing, and no code of another version or processor is ever loaded.
"""

import functools
import hashlib
import os
import platform
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from ..host.caches import make_private, tell_once, tell_without_cache, weak_place
from ..host.errors import ConfigError
from .processor_levels import NATIVE, best_level, processor

PACKAGE = Path(__file__).parents[1]
# Code that an installation brings along.
SHIPPED = Path(__file__).with_name("objects")


@functools.cache
def directories() -> tuple[Path, ...]:
    """Return where code of these sources may lie, for this processor before others.

    What only this processor runs lies there if somebody has compiled it so.
    """
    own = writable()
    shared = [*_shared_bases(), SHIPPED]
    found = [base / state(NATIVE) for base in (*_own_bases(), *shared)]
    found += [own] if own else []
    if best_level() != NATIVE:
        found += [base / state(best_level()) for base in shared]
    return tuple(place for place in found if place == own or _trusted(place))


def _trusted(place: Path) -> bool:
    """Return whether a directory is there, and nobody else can change it."""
    try:
        return place.is_dir() and weak_place(place) is None
    except OSError:
        return False


@functools.cache
def writable() -> Path | None:
    """Return the directory that new code is kept in, made if need be.

    It lies in `MNDMST_CACHE_DIR`, else in the user's cache, else among temporary
    files: in the first of these that can be written and that nobody else can change.
    """
    refused = None
    for base in _own_bases():
        directory = base / state(best_level())
        try:
            weak = make_private(directory)
        except OSError:
            continue
        if weak is None:
            if refused:
                tell_once(*refused, directory)
            return directory
        refused = refused or (directory, weak)
    tell_without_cache(refused)
    return None


def place_for(base: Path | None, processors: str) -> Path:
    """Return the directory for code in a base, which all may read; make it.

    Without a base it is the user's own.

    Raises
    ------
    ConfigError
        If others can change it, or it cannot be written.
    """
    shared = base is not None
    if base is None:
        own = writable()
        if own is None:
            raise ConfigError(
                "there is no place to keep compiled kernels in; see above"
            )
        base = own.parent
    place = base.absolute() / state(processors)
    missing = [folder for folder in (place, *place.parents) if not folder.exists()]
    try:
        weak = make_private(place)
        for folder in missing if shared else ():
            folder.chmod(0o755)
    except OSError as error:
        raise ConfigError(
            f"{base}: compiled kernels cannot be kept there ({error}). Name another "
            "directory with --into."
        ) from error
    if weak is not None:
        raise ConfigError(
            f"{base}: others can change {weak}, so code there would not be believed. "
            "Take the right to write from them, or name another directory."
        )
    return place


def _own_bases() -> Iterator[Path]:
    if os.environ.get("MNDMST_CACHE_DIR"):
        yield Path(os.environ["MNDMST_CACHE_DIR"]) / "kernels"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    yield Path(home) / "mndmst" / "kernels"
    yield Path(tempfile.gettempdir()) / f"mndmst-cache-{os.getuid()}" / "kernels"


def _shared_bases() -> Iterator[Path]:
    """Yield where `mndmst compile --into` has put code for many users."""
    for place in os.environ.get("MNDMST_KERNELS", "").split(os.pathsep):
        if place:
            yield Path(place)


@functools.cache
def state(processors: str) -> str:
    """Return a name that these sources, a compiler and a level have alone.

    Parameters
    ----------
    processors : str
        The name of a level, of `levels.NAMES`.
    """
    text = hashlib.blake2b(_sources(), digest_size=8)
    versions = map(_version, ("numba", "llvmlite"))
    for facts in (*versions, platform.system(), platform.machine()):
        text.update(f"{facts}\n".encode())
    if processors == NATIVE:
        text.update(processor().encode())
    return f"{processors}-{text.hexdigest()}"


@functools.cache
def _sources() -> bytes:
    """Return a digest of what kernels depend on."""
    text = hashlib.blake2b(digest_size=16)
    for source in sorted(kernel_files(PACKAGE)):
        text.update(f"{source.relative_to(PACKAGE)}\n".encode() + source.read_bytes())
    return text.digest()


def _version(package: str) -> str:
    """Return the version of a package, which is not imported for that."""
    found = find_spec(package)
    if found is None or found.origin is None:
        return "none"
    return Path(found.origin).with_name("_version.py").read_text()


def kernel_files(package: Path) -> list[Path]:
    """Return the files that kernels depend on: theirs, and those of their tuples."""
    return [
        *package.glob("native/*.ll"),
        package / "native" / "compiler.py",
        package / "native" / "processor_levels.py",
        package / "native" / "arguments.py",
        package / "graph" / "model.py",
        *package.glob("kernels/*.py"),
        *package.glob("tree/*.py"),
        *package.glob("backends/cpu/*.py"),
        *package.glob("*/kernels/*.py"),
        *package.glob("*/kernels.py"),
    ]
