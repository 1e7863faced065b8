"""Compiled kernels: load object code, call it, read the result.

Compiled code takes the address of a row of words, and returns a status. The words are
an address for the result, one for the address of an exception, and then the arguments
(see `arguments`). To pack a row takes a tenth of the time in which ctypes converts as
many arguments.
"""

import ctypes
import functools
import pickle
import struct
from collections.abc import Callable
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from .arguments import NONE, Array, Tuple, Type, named, parse, words_of
from .call_columns import ArrayPieces, address_of, array_at
from .code_store import Code
from .linker import linker

Release = Callable[[int], None]

_ARRAY = "owner", "parent", "items", "itemsize", "data"


class _Memory:
    """Releases arrays that kernels have returned; `owners` are their reference counts.

    An owner is 0 if an argument, which stays alive, has the memory.
    """

    def __init__(self, owners: list[int], release: Release, arguments: tuple) -> None:
        self._owners, self._release, self._arguments = owners, release, arguments

    def __del__(self) -> None:
        for owner in self._owners:
            if owner:
                self._release(owner)


def _layout(kind: Type) -> np.dtype:
    """Return the memory layout of a result, as in C."""
    if isinstance(kind, Array):
        shape = [f"{of}{i}" for of in ("shape", "stride") for i in range(kind.ndim)]
        fields = [(name, np.int64) for name in (*_ARRAY, *shape)]
        return np.dtype(fields, align=True)
    if isinstance(kind, Tuple):
        members = [(f"f{i}", _layout(m)) for i, m in enumerate(kind.members)]
        return np.dtype(members, align=True)
    return np.dtype(np.uint64 if kind == NONE else kind)


def _result(kind: Type, memory: Any, array_of: Callable[[Array, Any], Any]) -> Any:
    """Return a result, given its memory: a number or a tuple, or columns of these.

    As in Numba, all integers of a single result become Python integers.
    """
    if isinstance(kind, Tuple):
        parts = memory
        if not isinstance(memory, tuple):
            parts = [memory[name] for name in memory.dtype.names]
        pairs = zip(kind.members, parts, strict=True)
        members = [_result(member, part, array_of) for member, part in pairs]
        return named(kind.name)(*members) if kind.name else tuple(members)
    if isinstance(kind, Array):
        return array_of(kind, memory)
    return None if kind == NONE else memory


# The words of arguments, as `struct` packs them.
_WORDS = {"i8": "q", "f4": "f4x", "f8": "d"}
# Statuses of success: a result, and the result None.
DONE, DONE_WITH_NONE = 0, -2
# Words of a queued call before its row: the status (0 for success), the address of the
# code, and the address of an exception.
HEAD_WORDS, FAULT = 3, 2


class CompiledKernel:
    """A loaded kernel for one signature, callable with packed arguments.

    `seconds` is the time that Python threads have spent in kernels, for benchmarks. The
    `runtime`, the memory functions that kernels call, is loaded once.
    """

    seconds: ClassVar[float] = 0.0

    def __init__(self, name: str, code: Code, signature: str, runtime: Code) -> None:
        self._name, self._release = name, _release(runtime)
        words = [_WORDS[kind] for kind in words_of(parse(signature))]
        self._row = struct.Struct("=qq" + "".join(words))
        self._address = linker().add(code.code, code.symbol)
        self._native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p)(self._address)
        (self._kind,) = parse(code.result)
        self._layout = _layout(self._kind)
        fields = [("fault", np.int64), ("result", self._layout)]
        self._memory = np.dtype(fields, align=True)
        self._result_at = self._memory.fields["result"][1]  # type: ignore[index]

    def __call__(self, words: list, arguments: tuple) -> Any:
        """Call the code with the words of the packed arguments; return the result."""
        memory = np.zeros(1, self._memory)
        address = address_of(memory)
        row = self._row.pack(address + self._result_at, address, *words)
        begin = perf_counter()
        status = self._native(row)
        CompiledKernel.seconds += perf_counter() - begin
        fault, result = memory.item()
        if status not in (DONE, DONE_WITH_NONE):
            raise _error(fault, self._name)

        def array_of(kind: Array, item: tuple) -> np.ndarray:
            owner, data, shape = item[0], item[4], item[5 : 5 + kind.ndim]
            memory = _Memory([owner], self._release, () if owner else arguments)
            dtype, strides = np.dtype(kind.item), item[5 + kind.ndim :]
            return array_at(data, dtype, shape, strides, kind.writable, memory)

        return _result(self._kind, result, array_of)

    def call_all(
        self,
        words: list,
        columns: dict[int, np.ndarray],
        make_calls: Callable[[np.ndarray], object],
        arguments: tuple,
    ) -> Any:
        """Return the results of many calls as columns, or raise the first exception.

        `columns` has the `words` that differ from call to call, by index. Results are
        arrays of numbers or `ArrayPieces`; tuples have one per member. `make_calls`
        gets queued calls (int64), one per call: the status, the address of the code,
        the address of the exception; then the row of words that the code takes.
        """
        count = len(next(iter(columns.values())))
        results = np.zeros(count, self._layout)
        row = np.frombuffer(self._row.pack(0, 0, *words), np.int64)
        calls = np.zeros((count, HEAD_WORDS + len(row)), np.int64)
        rows, number = calls[:, HEAD_WORDS:], np.arange(count)
        calls[:, 1], rows[:] = self._address, row
        rows[:, 0] = address_of(results) + results.itemsize * number
        rows[:, 1] = address_of(calls) + calls.strides[0] * number + 8 * FAULT
        for word, column in columns.items():
            rows[:, 2 + word] = column
        make_calls(calls)
        for failed in np.flatnonzero(calls[:, 0]):
            raise _error(int(calls[failed, FAULT]), self._name)

        def array_of(kind: Array, memory: np.ndarray) -> ArrayPieces:
            if kind.ndim > 1 or not kind.in_c_order:
                raise TypeError(f"results of type {kind} make no column")
            owner = _Memory(memory["owner"].tolist(), self._release, arguments)
            address, lengths = memory["data"].copy(), memory["shape0"].copy()
            return ArrayPieces(np.dtype(kind.item), address, lengths, owner)

        return _result(self._kind, results, array_of)


@functools.cache
def _release(runtime: Code) -> Release:
    """Load the runtime; return its function that decrements a reference count."""
    return ctypes.CFUNCTYPE(None, ctypes.c_size_t)(
        linker().add(runtime.code, runtime.symbol)
    )


# Numba's record of a raised exception: address and length of a pickle.
_FAULT = struct.Struct("<Qi")


def _error(fault: int | None, name: str) -> Exception:
    """Return the exception that a kernel has raised."""
    if not fault:
        return RuntimeError(f"{name} failed")
    data, length = _FAULT.unpack(ctypes.string_at(fault, _FAULT.size))
    kind, values, *_ = pickle.loads(ctypes.string_at(data, length))
    return kind(*(values or ()))
