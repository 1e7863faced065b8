"""Compiled kernels: load object code, call it by Numba's convention, read the result.

A compiled function returns a status. It takes a pointer to memory for its result, a
pointer for an exception, and then its arguments as words (see `arguments`).
"""

import ctypes
import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from .arguments import Array, Tuple, Type, named, parse, words_of
from .code_store import Code
from .linker import Linker, links_here

_NUMBERS = {
    "b1": ctypes.c_uint8, "i1": ctypes.c_int8, "u1": ctypes.c_uint8,
    "i2": ctypes.c_int16, "u2": ctypes.c_uint16, "i4": ctypes.c_int32,
    "u4": ctypes.c_uint32, "i8": ctypes.c_int64, "u8": ctypes.c_uint64,
    "f4": ctypes.c_float, "f8": ctypes.c_double, "none": ctypes.c_void_p,
}  # fmt: skip


_AS: dict[str, Callable[[Any], Any]] = {
    "b1": bool,
    "f4": float,
    "f8": float,
    "none": lambda _: None,
}


Release = Callable[[int], None]


Reader = Callable[[Any, tuple, Release], Any]


class Owner:
    """Owner of the memory of an array that a kernel has returned.

    Parameters
    ----------
    interface : dict
        NumPy's array interface.
    owner : int
        Address of the reference count; 0 if an argument owns the memory.
    release : callable
        Decrements the reference count.
    arguments : tuple
        Kept alive as long as the array, which may be a view of one of them.
    """

    def __init__(
        self, interface: dict, owner: int, release: Release, arguments: tuple
    ) -> None:
        self.__array_interface__ = interface
        self._owner, self._release = owner, release
        self._arguments = () if owner else arguments

    def __del__(self) -> None:
        if self._owner:
            self._release(self._owner)


class Result:
    """Memory layout of a kernel's result, and its conversion to a Python object.

    Parameters
    ----------
    kind : str
        The type of the result, as text.
    """

    def __init__(self, kind: str) -> None:
        (parsed,) = parse(kind)
        self.layout, self._read = _reader(parsed)

    def read(self, memory: Any, arguments: tuple, release: Release) -> Any:
        """Convert the result in `memory` to a Python object."""
        field = memory if issubclass(self.layout, ctypes.Structure) else memory.value
        return self._read(field, arguments, release)


def _reader(kind: Type) -> tuple[Any, Reader]:
    if isinstance(kind, Array):
        return _array_reader(kind)
    if isinstance(kind, Tuple):
        return _tuple_reader(kind)
    # As in Numba, all integers become Python's int.
    convert = _AS.get(kind.name, int)
    return _NUMBERS[kind.name], lambda value, _, __: convert(value)


def _array_reader(kind: Array) -> tuple[Any, Reader]:
    typestr = np.dtype(kind.item).str

    class Fields(ctypes.Structure):
        _fields_ = [
            ("owner", ctypes.c_size_t), ("parent", ctypes.c_size_t),
            ("items", ctypes.c_int64), ("itemsize", ctypes.c_int64),
            ("data", ctypes.c_size_t),
            ("shape", ctypes.c_int64 * kind.ndim),
            ("strides", ctypes.c_int64 * kind.ndim),
        ]  # fmt: skip

    def read(array: Any, arguments: tuple, release: Release) -> np.ndarray:
        interface = {
            "version": 3, "typestr": typestr, "data": (array.data, not kind.writable),
            "shape": tuple(array.shape), "strides": tuple(array.strides),
        }  # fmt: skip
        return np.asarray(Owner(interface, array.owner, release, arguments))

    return Fields, read


def _tuple_reader(kind: Tuple) -> tuple[Any, Reader]:
    layouts, readers = zip(*map(_reader, kind.members), strict=True)
    fields = [(f"f{i}", layout) for i, layout in enumerate(layouts)]
    struct = type("Fields", (ctypes.Structure,), {"_fields_": fields})
    make = named(kind.name) if kind.name else lambda *values: values

    def read(memory: Any, arguments: tuple, release: Release) -> Any:
        values = (getattr(memory, field) for field, _ in fields)
        return make(
            *[
                read(value, arguments, release)
                for read, value in zip(readers, values, strict=True)
            ]
        )

    return struct, read


_WORDS = {"i8": ctypes.c_int64, "f4": ctypes.c_float, "f8": ctypes.c_double}
# Statuses of success: a result, and the result None.
_DONE = (0, -2)
# Words of arguments in a queued call, the two pointers included; the words before them
# are the status and the address of the code.
MOST_WORDS = 192
HEAD_WORDS = 2


class CompiledKernel:
    """A loaded kernel for one signature, callable with packed arguments.

    Parameters
    ----------
    name : str
        The kernel's name, for errors.
    runtime : Code
        The memory functions that kernels call; loaded once.

    Attributes
    ----------
    can_be_queued : bool
        Whether a worker thread can make the call. Floating-point arguments travel in
        other registers than `intrinsics.make_call` fills.
    """

    def __init__(self, name: str, code: Code, signature: str, runtime: Code) -> None:
        self._name, self._release = name, _release(runtime)
        kinds: list[Any] = [_WORDS[kind] for kind in words_of(parse(signature))]
        pointers: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *kinds)
        self._address = _linker().add(code.code, code.symbol)
        self._native, self._result = prototype(self._address), Result(code.result)
        plain = all(kind is ctypes.c_int64 for kind in kinds)
        self.can_be_queued = plain and len(kinds) + len(pointers) <= MOST_WORDS

    def __call__(self, words: list, arguments: tuple) -> Any:
        """Call the code with the words of the packed arguments; return the result."""
        memory, fault = self._result.layout(), ctypes.c_void_p()
        status = self._native(ctypes.byref(memory), ctypes.byref(fault), *words)
        return self._read(status, memory, fault, arguments)

    def queue(self, words: list, arguments: tuple) -> "QueuedCall":
        """Return a queued call, for `intrinsics.make_call` to make."""
        return QueuedCall(self, words, arguments)

    def _read(self, status: int, memory: Any, fault: Any, arguments: tuple) -> Any:
        if status not in _DONE:
            raise _error(fault.value, self._name)
        return self._result.read(memory, arguments, self._release)


class QueuedCall:
    """A queued kernel call.

    Attributes
    ----------
    address : int
        Address of a block of words: the status, the code's address, the arguments.
    """

    def __init__(self, entry: CompiledKernel, words: list, arguments: tuple) -> None:
        self._entry, self._arguments = entry, arguments
        self._memory, self._fault = entry._result.layout(), ctypes.c_void_p()
        self._block = _Block(
            0,
            entry._address,
            ctypes.addressof(self._memory),
            ctypes.addressof(self._fault),
            *words,
        )
        self.address = ctypes.addressof(self._block)

    def result(self) -> Any:
        """Return the kernel's result, or raise its exception."""
        return self._entry._read(
            self._block[0], self._memory, self._fault, self._arguments
        )


_Block = ctypes.c_int64 * (HEAD_WORDS + MOST_WORDS)


class _LlvmLinker:
    """LLVM's linker, for machines that `linker` does not support.

    LLVM reads the bytes of an object after it has been added, so they stay alive.
    """

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
    """Return this process's linker."""
    return Linker() if links_here() else _LlvmLinker()


@functools.cache
def _release(runtime: Code) -> Release:
    """Load the runtime; return its function that decrements a reference count."""
    return ctypes.CFUNCTYPE(None, ctypes.c_size_t)(
        _linker().add(runtime.code, runtime.symbol)
    )


class _Fault(ctypes.Structure):
    """Numba's record of a raised exception: a pickle."""

    _fields_ = (("data", ctypes.c_void_p), ("length", ctypes.c_int32))


def _error(fault: int | None, name: str) -> Exception:
    """Return the exception that a kernel has raised."""
    if fault is None:
        return RuntimeError(f"{name} failed")
    record = _Fault.from_address(fault)
    kind, values, *_ = pickle.loads(ctypes.string_at(record.data, record.length))
    return kind(*(values or ()))
