"""Arguments and results of many calls of a kernel as columns of numbers.

Python takes microseconds for each tuple, array slice and number of a list of calls. A
column describes an argument of all calls: NumPy processes a column in about the same
time for any number of calls, and writes it to a table of calls
(`CompiledKernel.call_all`).
"""

from collections.abc import Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class PerCall:
    """An integer argument, int64 or uint64, that differs from call to call."""

    values: np.ndarray
    kind: type = int  # the type of each value, as a kernel takes it


@dataclass
class ArrayPieces:
    """Writable contiguous arrays of one type, one for each call."""

    dtype: np.dtype
    address: np.ndarray  # int64, by call
    lengths: np.ndarray  # int64, by call
    owners: object  # keeps the memory alive

    @classmethod
    def of(
        cls, array: np.ndarray, begins: np.ndarray, ends: np.ndarray | None = None
    ) -> "ArrayPieces":
        """Divide an array at bounds, or select its pieces [begins, ends)."""
        assert array.flags.c_contiguous
        if ends is None:
            begins, ends = begins[:-1], begins[1:]
        address = address_of(array) + begins * array.itemsize
        return cls(array.dtype, address, ends - begins, array)

    @classmethod
    def of_arrays(cls, arrays: Sequence[np.ndarray]) -> "ArrayPieces":
        """Describe contiguous arrays of one type."""
        facts = np.array([(address_of(a), len(a)) for a in arrays], np.int64)
        return cls(arrays[0].dtype, facts[:, 0], facts[:, 1], arrays)

    @classmethod
    def together(cls, parts: Sequence["ArrayPieces"]) -> "ArrayPieces":
        """Describe the arrays of all parts."""
        address = np.concatenate([part.address for part in parts])
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(parts[0].dtype, address, lengths, parts)

    def first(self, lengths: np.ndarray) -> "ArrayPieces":
        """Return the first items of each array."""
        lengths = lengths.astype(np.int64)
        return ArrayPieces(self.dtype, self.address, lengths, self.owners)

    def __len__(self) -> int:
        return len(self.address)

    def __getitem__(self, call: int) -> np.ndarray:
        address, length = int(self.address[call]), int(self.lengths[call])
        return array_at(address, self.dtype, (length,), None, True, self.owners)


class _View:
    """An array interface for NumPy that keeps the owner of the memory alive."""

    def __init__(self, interface: dict[str, object], owner: object) -> None:
        self.__array_interface__, self._owner = interface, owner


def array_at(
    address: int,
    dtype: np.dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    writable: bool,
    owner: object,
) -> np.ndarray:
    """Return the array at an address; it keeps the owner of its memory alive."""
    interface = {
        "version": 3, "typestr": dtype.str, "data": (address, not writable),
        "shape": shape, "strides": strides,
    }  # fmt: skip
    return np.asarray(_View(interface, owner))


def address_of(array: Any) -> int:
    """Return the address of an array's first item."""
    try:  # three times as fast as the array interface
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):  # read-only, strided or empty
        return array.__array_interface__["data"][0]


def calls_of(column: Any, count: int) -> list[Any]:
    """Return the argument of each call, given the column for all calls."""
    if isinstance(column, PerCall):
        return list(map(column.kind, column.values))
    if isinstance(column, ArrayPieces):
        return [column[call] for call in range(count)]
    if not isinstance(column, tuple):
        return [column] * count
    members = zip(*(calls_of(member, count) for member in column), strict=True)
    kind = type(column)
    return [tuple(m) if kind is tuple else kind(*m) for m in members]


def result_columns(results: Sequence[Any]) -> Any:
    """Return results of calls as columns; see `Threads.run`."""
    first = results[0]
    if isinstance(first, tuple):
        members = [result_columns(m) for m in zip(*results, strict=True)]
        return tuple(members) if type(first) is tuple else type(first)(*members)
    if isinstance(first, np.ndarray):
        return ArrayPieces.of_arrays(results)
    return None if first is None else np.array(results)
