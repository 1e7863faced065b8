"""Call the code of kernels: from the store, or compiled now."""

import fcntl
import functools
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from ..host.launcher import launched_rank
from .cache_dirs import directories, writable
from .code_store import RUNTIME_NAME, Code, find, keep
from .compiled_kernel import CompiledKernel
from .processor_levels import best_level

# A file of the store; each of its bytes is a lock of some kernels.
LOCK = "lock"

_loaded: list[tuple[str, str]] = []
_announce: Callable[[str], object] | None = None


def announce_compiling(say: Callable[[str], object]) -> None:
    """Have this process say once that it compiles, before its next compilation."""
    global _announce
    _announce = say


def load(name: str, function: Callable[..., Any], signature: str) -> Callable:
    """Return a function that calls a kernel with words for arguments of some types.

    Not to be called by two threads at a time.
    """
    _loaded.append((name, signature))
    code = find(directories(), name, signature)
    if code is None:
        _say_that_it_compiles()
        with _locked(name, signature):  # another process may have kept it meanwhile
            code = find(directories(), name, signature)
            code = code or _compile(name, function, signature)
    if code is None:
        from .compiler import dispatcher_of

        plain = dispatcher_of(function, "never", alone=True)
        return lambda words, arguments: plain(*arguments)
    return CompiledKernel(name, code, signature, _runtime())


def _say_that_it_compiles() -> None:
    global _announce
    if _announce is not None:
        _announce("compiling kernels, once on this machine")
        _announce = None


def _compile(name: str, function: Callable[..., Any], signature: str) -> Code | None:
    """Compile a kernel and keep its code; None if such code cannot be called."""
    if not _compiler_serves():
        return None
    from .compiler import compile_kernel

    code = compile_kernel(function, signature, best_level())
    _keep(name, signature, code)
    return code


@contextmanager
def _locked(name: str, signature: str) -> Iterator[None]:
    """Let one process compile a kernel; ranks that call it, too, wait for its code."""
    place = writable()
    with ExitStack() as stack:
        with suppress(OSError):  # a file system may have no locks
            if place is not None:
                file = stack.enter_context((place / LOCK).open("w"))
                byte = zlib.crc32(f"{name} {signature}".encode())
                fcntl.lockf(file, fcntl.LOCK_EX, 1, byte)
        yield


def loaded() -> list[tuple[str, str]]:
    """Return the kernels that this process has called, and for which types."""
    return list(_loaded)


@functools.cache
def _runtime() -> Code:
    """Return the code that takes memory for kernels and frees it."""
    code = find(directories(), RUNTIME_NAME, "")
    if code is None:
        from .compiler import compile_runtime

        code = compile_runtime(best_level())
        _keep(RUNTIME_NAME, "", code)
    return code


def _keep(name: str, signature: str, code: Code) -> None:
    place = writable()
    if place is not None:
        keep(name, signature, code, place)


@functools.cache
def _compiler_serves() -> bool:
    """Return whether code of this Numba can be called from here; say so if not.

    What is used of Numba is not all its public interface, and a version that this
    program does not know may have changed it.
    """
    from .self_test import EXPECTED, GIVEN, NAME, TYPES, proof

    try:
        from .compiler import compile_kernel

        code = compile_kernel(proof, TYPES, best_level())
        call = CompiledKernel(NAME, code, TYPES, _runtime())
        if call(*GIVEN) == EXPECTED:
            return True
        reason = "a kernel returned something else than it should"
    except Exception as error:  # whatever an unknown version may raise
        reason = f"{type(error).__name__}: {error}"
    if launched_rank() == 0:
        sys.stderr.write(
            f"mndmst: kernels are called through Numba, which takes longer to start: "
            f"this version of it makes code of another kind ({reason}). Install one "
            "that was tried, such as 0.68.\n"
        )
    return False
