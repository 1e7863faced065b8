"""Compiled kernels: load object code, call it by Numba's convention, read the result.

A compiled function returns a status. It takes a pointer to memory for its result, a
pointer for an exception, and then its arguments as words (see `arguments`).
"""

import ctypes
import functools
import pickle
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from .arguments import NONE, Array, Tuple, Type, layout_flags, named, parse, words_of
from .call_columns import ArrayPieces, address_of, array_at
from .code_store import Code
from .linker import Linker, links_here

Release = Callable[[int], None]

_ARRAY = "owner", "parent", "items", "itemsize", "data"


class _Memory:
    """Arrays that kernels have returned: their memory is released with this object.

    Parameters
    ----------
    owners : list of int
        Addresses of reference counts; 0 if an argument owns the memory.
    release : callable
        Decrements a reference count.
    arguments : tuple
        Kept alive, since an array may be a view of one of them.
    """

    def __init__(self, owners: list[int], release: Release, arguments: tuple) -> None:
        self._owners, self._release, self._arguments = owners, release, arguments

    def __del__(self) -> None:
        for owner in self._owners:
            if owner:
                self._release(owner)


def _layout(kind: Type) -> np.dtype:
    """Return the memory layout of a result, which is that of C."""
    if isinstance(kind, Array):
        shape = [f"{of}{i}" for of in ("shape", "stride") for i in range(kind.ndim)]
        fields = [(name, np.int64) for name in (*_ARRAY, *shape)]
        return np.dtype(fields, align=True)
    if isinstance(kind, Tuple):
        members = [(f"f{i}", _layout(m)) for i, m in enumerate(kind.members)]
        return np.dtype(members, align=True)
    return np.dtype(np.uint64 if kind == NONE else kind.name)


def _columns(kind: Type, results: np.ndarray, release: Release, kept: tuple) -> Any:
    """Return the results of all calls as columns; see `CompiledKernel.columns`."""
    if isinstance(kind, Tuple):
        members = [
            _columns(member, results[f"f{i}"], release, kept)
            for i, member in enumerate(kind.members)
        ]
        return named(kind.name)(*members) if kind.name else tuple(members)
    if not isinstance(kind, Array):
        return None if kind == NONE else results
    memory = _Memory(results["owner"].tolist(), release, kept)
    shape, strides = (
        np.stack([results[f"{of}{i}"] for i in range(kind.ndim)], axis=1)
        for of in ("shape", "stride")
    )
    flags = layout_flags(kind)
    dtype = np.dtype(kind.item)
    return ArrayPieces(dtype, results["data"].copy(), shape, strides, flags, memory)


def _value(kind: Type, item: Any, release: Release, kept: tuple) -> Any:
    """Return the result of one call, given its memory as Python numbers.

    As in Numba, all integers become Python's int.
    """
    if isinstance(kind, Tuple):
        members = [
            _value(member, value, release, kept)
            for member, value in zip(kind.members, item, strict=True)
        ]
        return named(kind.name)(*members) if kind.name else tuple(members)
    if not isinstance(kind, Array):
        return None if kind == NONE else item
    owner, data, numbers = item[0], item[4], item[len(_ARRAY) :]
    shape, strides = numbers[: kind.ndim], numbers[kind.ndim :]
    memory = _Memory([owner], release, kept if owner == 0 else ())
    return array_at(data, np.dtype(kind.item), shape, strides, kind.writable, memory)


_WORDS = {"i8": ctypes.c_int64, "f4": ctypes.c_float, "f8": ctypes.c_double}
# Statuses of success: a result, and the result None.
DONE, DONE_WITH_NONE = 0, -2
# Words of arguments in a queued call, the two pointers included; the words before them
# are the status, 0 for success, the address of the code, and that of an exception.
MOST_WORDS = 192
HEAD_WORDS, FAULT = 3, 2


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
    seconds : float
        Seconds that threads of Python have spent in kernels, for benchmarks.
    """

    seconds: ClassVar[float] = 0.0

    def __init__(self, name: str, code: Code, signature: str, runtime: Code) -> None:
        self._name, self._release = name, _release(runtime)
        kinds: list[Any] = [_WORDS[kind] for kind in words_of(parse(signature))]
        pointers: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *kinds)
        self._address = _linker().add(code.code, code.symbol)
        (self._kind,) = parse(code.result)
        self._native, self._layout = prototype(self._address), _layout(self._kind)
        plain = all(kind is ctypes.c_int64 for kind in kinds)
        self.can_be_queued = plain and len(kinds) + len(pointers) <= MOST_WORDS

    def __call__(self, words: list, arguments: tuple) -> Any:
        """Call the code with the words of the packed arguments; return the result."""
        memory, fault = np.empty(1, self._layout), ctypes.c_void_p()
        begin = perf_counter()
        status = self._native(address_of(memory), ctypes.byref(fault), *words)
        CompiledKernel.seconds += perf_counter() - begin
        if status not in (DONE, DONE_WITH_NONE):
            raise _error(fault.value, self._name)
        return _value(self._kind, memory.item(), self._release, arguments)

    def table(self, words: list, count: int) -> "CallTable":
        """Return a row for each of some calls; see `call_columns.PerCall`."""
        return CallTable(self._address, self._layout, words, count)

    def columns(self, table: "CallTable", arguments: tuple) -> Any:
        """Return the results of all calls as columns, or raise the first exception.

        A column is an array of numbers, or `ArrayPieces`; tuples have one per member.
        """
        self._raise_first(table)
        return _columns(self._kind, table.memory, self._release, arguments)

    def values(self, table: "CallTable", arguments: Sequence[tuple]) -> list[Any]:
        """Return the result of each call, or raise the first exception."""
        self._raise_first(table)
        return [
            _value(self._kind, item, self._release, kept)
            for item, kept in zip(table.memory.tolist(), arguments, strict=True)
        ]

    def _raise_first(self, table: "CallTable") -> None:
        for failed in np.flatnonzero(table.rows[:, 0]):
            raise _error(int(table.rows[failed, FAULT]), self._name)


class CallTable:
    """Queued calls of a kernel, for `intrinsics.make_call`: one row of words per call.

    NumPy fills in a column at a time, so the number of calls hardly matters.

    Attributes
    ----------
    rows : ndarray of int64, shape (calls, words)
        The status, the code's address, the address of the exception; then what the code
        takes: pointers to the result and to the exception, and the arguments.
    memory : ndarray, shape (calls,)
        The results.
    address : int
        The address of the first row.
    """

    def __init__(self, address: int, layout: np.dtype, words: list, count: int) -> None:
        width = HEAD_WORDS + 2 + len(words)
        self.memory = np.zeros(count, layout)
        # `make_call` loads more words than the last row has.
        self._words = np.zeros(count * width + MOST_WORDS, np.int64)
        self.address = address_of(self._words)
        self.rows = rows = self._words[: count * width].reshape(count, width)
        columns = [0 if isinstance(word, np.ndarray) else word for word in words]
        head = [0, address, 0, address_of(self.memory), self.address + 8 * FAULT]
        rows[:] = (ctypes.c_int64 * width)(*head, *columns)
        call = np.arange(count)
        rows[:, 3] += layout.itemsize * call
        rows[:, 4] += rows.strides[0] * call
        for place, word in enumerate(words, len(head)):
            if isinstance(word, np.ndarray):
                rows[:, place] = word


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
    if not fault:
        return RuntimeError(f"{name} failed")
    record = _Fault.from_address(fault)
    kind, values, *_ = pickle.loads(ctypes.string_at(record.data, record.length))
    return kind(*(values or ()))
