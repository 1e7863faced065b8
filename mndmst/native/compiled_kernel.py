"""Load code into this process, and call it by Numba's convention.

A function returns a status. It takes a pointer for its result, a pointer for an
exception, and then its arguments as words (see `arguments`).
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
    """The memory of an array that a kernel has returned.

    Parameters
    ----------
    interface : dict
        NumPy's array interface.
    owner : int
        The address of the memory's count of references; 0 if an argument has it.
    release : callable
        Takes one reference away.
    arguments : tuple
        Kept as long as the array, which may lie in one of them.
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
    """The layout of a result, and how a Python object is made of it.

    Parameters
    ----------
    kind : str
        Its type, as in `signature`.
    """

    def __init__(self, kind: str) -> None:
        (parsed,) = parse(kind)
        self.layout, self._read = _reader(parsed)

    def read(self, memory: Any, arguments: tuple, release: Release) -> Any:
        """Return the result that a kernel has written."""
        field = memory if issubclass(self.layout, ctypes.Structure) else memory.value
        return self._read(field, arguments, release)


def _reader(kind: Type) -> tuple[Any, Reader]:
    if isinstance(kind, Array):
        return _array_reader(kind)
    if isinstance(kind, Tuple):
        return _tuple_reader(kind)
    # As Numba does: its integers become Python's.
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
# All is well, or the result is None.
_DONE = (0, -2)
# A call that is put down has room for so many arguments, the two pointers among them.
MOST_WORDS = 192
HEAD_WORDS = 2  # before them the status, and the code's address


class CompiledKernel:
    """The code of a kernel for arguments of some types.

    Parameters
    ----------
    name : str
        The kernel's, for errors.
    runtime : Code
        What takes memory for kernels; loaded once.
    """

    def __init__(self, name: str, code: Code, signature: str, runtime: Code) -> None:
        self._name, self._release = name, _release(runtime)
        kinds: list[Any] = [_WORDS[kind] for kind in words_of(parse(signature))]
        pointers: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *kinds)
        self._address = _linker().add(code.code, code.symbol)
        self._native, self._result = prototype(self._address), Result(code.result)
        # Numbers that are no integers go another way than all others.
        plain = all(kind is ctypes.c_int64 for kind in kinds)
        self.can_be_queued = plain and len(kinds) + len(pointers) <= MOST_WORDS

    def __call__(self, words: list, arguments: tuple) -> Any:
        """QueuedCall the code; return its result.

        Parameters
        ----------
        words : list
            What `arguments.pack` makes of the arguments.
        """
        memory, fault = self._result.layout(), ctypes.c_void_p()
        status = self._native(ctypes.byref(memory), ctypes.byref(fault), *words)
        return self._read(status, memory, fault, arguments)

    def queue(self, words: list, arguments: tuple) -> "QueuedCall":
        """Return a call for `intrinsics.make_call` to make."""
        return QueuedCall(self, words, arguments)

    def _read(self, status: int, memory: Any, fault: Any, arguments: tuple) -> Any:
        if status not in _DONE:
            raise _error(fault.value, self._name)
        return self._result.read(memory, arguments, self._release)


class QueuedCall:
    """A call of a kernel that is put down, for another thread to make.

    Attributes
    ----------
    address : int
        Of its status, the address of its code, and the words that this takes.
    """

    def __init__(self, entry: CompiledKernel, words: list, arguments: tuple) -> None:
        self._entry, self._arguments = entry, arguments
        self._memory, self._fault = entry._result.layout(), ctypes.c_void_p()
        pointers = ctypes.addressof(self._memory), ctypes.addressof(self._fault)
        self._block = _Block(0, entry._address, *pointers, *words)
        self.address = ctypes.addressof(self._block)

    def result(self) -> Any:
        """Return what the kernel has returned, or raise what it has raised."""
        return self._entry._read(
            self._block[0], self._memory, self._fault, self._arguments
        )


_Block = ctypes.c_int64 * (HEAD_WORDS + MOST_WORDS)


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
