"""Load code into this process, and call it by Numba's convention.

A function returns a status. It takes a pointer for its result, a pointer for an
exception, and then its arguments as words (see `arguments`).
"""

import ctypes
import functools
import pickle
from collections.abc import Callable
from typing import Any

from .arguments import words_of
from .linker import Linker, links_here
from .results import Release, Result
from .signature import parse
from .store import Code

Call = Callable[[list, tuple], Any]

_WORDS = {"i8": ctypes.c_int64, "f4": ctypes.c_float, "f8": ctypes.c_double}
# All is well, or the result is None.
_DONE = (0, -2)


def caller(name: str, code: Code, signature: str, runtime: Code) -> Call:
    """Load a kernel; return a function that takes its words and its arguments.

    Parameters
    ----------
    name : str
        The kernel's, for errors.
    runtime : Code
        What takes memory for kernels; loaded once.
    """
    release = _release(runtime)
    kinds: list[Any] = [_WORDS[kind] for kind in words_of(parse(signature))]
    pointers: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *kinds)
    native = prototype(_linker().add(code.code, code.symbol))
    result = Result(code.result)
    layout, read, byref = result.layout, result.read, ctypes.byref

    def call(words: list, arguments: tuple) -> Any:
        memory, fault = layout(), ctypes.c_void_p()
        status = native(byref(memory), byref(fault), *words)
        if status not in _DONE:
            raise _error(fault.value, name)
        return read(memory, arguments, release)

    return call


class _LlvmLinker:
    """LLVM's linker, for other machines. It goes on to read what it was given."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple().create_target_machine()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
        self._objects: list[Any] = []

    def add(self, code: bytes, symbol: str) -> int:
        """Load an object; return the address of one of its symbols."""
        from llvmlite.binding import ObjectFileRef

        file = ObjectFileRef.from_data(code)
        self._objects.append((file, code))
        self._engine.add_object_file(file)
        self._engine.finalize_object()
        return self._engine.get_function_address(symbol)


@functools.cache
def _linker() -> Linker | _LlvmLinker:
    """Return the one that links for this process."""
    return Linker() if links_here() else _LlvmLinker()


@functools.cache
def _release(runtime: Code) -> Release:
    """Load what takes and frees memory; return what takes a reference away."""
    return ctypes.CFUNCTYPE(None, ctypes.c_size_t)(
        _linker().add(runtime.code, runtime.symbol)
    )


class _Fault(ctypes.Structure):
    """What Numba's code points to when it raises: an exception, pickled."""

    _fields_ = (("data", ctypes.c_void_p), ("length", ctypes.c_int32))


def _error(fault: int | None, name: str) -> Exception:
    """Return the exception that a kernel has raised."""
    if fault is None:
        return RuntimeError(f"{name} failed")
    told = _Fault.from_address(fault)
    kind, values, *_ = pickle.loads(ctypes.string_at(told.data, told.length))
    return kind(*(values or ()))
