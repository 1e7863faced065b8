"""Load kernels: cached code if the store has it, else code compiled now."""

import fcntl
import functools
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from threading import Timer
from typing import Any

from ..host.errors import ConfigError
from ..host.launcher import launched_rank
from ..host.progress import notice
from .arguments import named, unpacked
from .cache_dirs import directories, has_compiler, writable
from .code_store import RUNTIME_NAME, Code, find, save
from .compiled_kernel import CompiledKernel
from .processor_levels import best_level

# A file of the store; each of its bytes is a lock of some kernels.
LOCK = "lock"

# Seconds of waiting for a compilation before a line says so.
PATIENCE = 1.0

_loaded: list[tuple[str, str]] = []


class _Announcement:
    """Writes a line about a compilation by `say`, at most once."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say, self._written = say, False

    def __call__(self) -> None:
        if not self._written and launched_rank() == 0:
            self._written = True
            self._say("compiling kernels, once on this machine")


# The announcement in a block of `announcing_compilation`, and the one outside of blocks
_announcement: ContextVar[_Announcement] = ContextVar("announcement")
_OTHERS = _Announcement(notice)


@contextmanager
def announcing_compilation(say: Callable[[str], object]) -> Iterator[None]:
    """Have `say` announce long compilations by this thread in the block."""
    before = _announcement.set(_Announcement(say))
    try:
        yield
    finally:
        _announcement.reset(before)


@contextmanager
def announced() -> Iterator[None]:
    """Write a line if the compilation in the block takes long.

    The line is written once in a process, or in a block of `announcing_compilation`.
    """
    timer = Timer(PATIENCE, _announcement.get(_OTHERS))
    timer.daemon = True
    with suppress(RuntimeError):  # there is no memory for the stack of a thread
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def load(name: str, function: Callable[..., Any], signature: str) -> Callable:
    """Return a callable that takes packed arguments of one signature.

    Not thread-safe: `Kernel` calls it under its lock.
    """
    _loaded.append((name, signature))
    code = find(directories(), name, signature)
    if code is None and not has_compiler():
        raise ConfigError(
            f"{name} is not compiled for {signature}, and Numba is not installed. "
            "Install it: pip install numba"
        )
    if code is None:
        # Another process may save it while this one waits for the lock.
        with announced(), _locked(name, signature):
            code = find(directories(), name, signature)
            if code is None and _compiler_works():
                code = compile_and_save(name, signature, function)
    if code is None:
        from .compiler import dispatcher_of

        plain = dispatcher_of(function, "never", alone=True)
        return lambda words, arguments: plain(*map(unpacked, arguments))
    return CompiledKernel(name, code, signature, _runtime())


def compile_and_save(
    name: str,
    signature: str,
    function: Callable[..., Any] | None = None,
    level: str | None = None,
    directory: Path | None = None,
) -> Code:
    """Compile a kernel, or the runtime, and save its code.

    By default the function is the one of this name, the level is this processor's best,
    and the directory is the user's cache.
    """
    from .compiler import compile_kernel, compile_runtime

    level, directory = level or best_level(), directory or writable()
    if name == RUNTIME_NAME:
        code = compile_runtime(level)
    else:
        code = compile_kernel(function or named(name).function, signature, level)
    if directory is not None:
        save(name, signature, code, directory)
    return code


@contextmanager
def _locked(name: str, signature: str) -> Iterator[None]:
    """Hold the file lock of a kernel, so that one process compiles and others wait."""
    directory = writable()
    with ExitStack() as stack:
        with suppress(OSError):  # some file systems have no locks
            if directory is not None:
                file = stack.enter_context((directory / LOCK).open("w"))
                byte = zlib.crc32(f"{name} {signature}".encode())
                fcntl.lockf(file, fcntl.LOCK_EX, 1, byte)
        yield


def loaded() -> list[tuple[str, str]]:
    """Return the name and signature of every kernel that this process has called."""
    return list(_loaded)


@functools.cache
def _runtime() -> Code:
    """Return the code of the memory functions that kernels call."""
    code = find(directories(), RUNTIME_NAME, "")
    return code or compile_and_save(RUNTIME_NAME, "")


@functools.cache
def _compiler_works() -> bool:
    """Return whether compiled code of the installed Numba passes the self-test.

    Part of the interface is not public, so another version of Numba may differ. A
    warning tells the user if kernels have to be called through Numba.
    """
    from .self_test import ARGUMENTS, EXPECTED, TYPES, WORDS, self_test

    try:
        from .compiler import compile_kernel

        code = compile_kernel(self_test, TYPES, best_level())
        call = CompiledKernel(self_test.__name__, code, TYPES, _runtime())
        if call(WORDS, ARGUMENTS) == EXPECTED:
            return True
        reason = "the self-test returned a wrong result"
    except Exception as error:  # an unknown version may raise any exception
        reason = f"{type(error).__name__}: {error}"
    if launched_rank() == 0:
        notice(
            "kernels are called through Numba, which takes longer to start: the code "
            f"of this version of Numba is unusable ({reason}). Install a tested "
            "version, such as 0.68."
        )
    return False
