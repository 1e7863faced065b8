"""Arguments of many calls of a kernel as columns of numbers.

Python takes microseconds for each tuple, array slice and number of a list of calls. A
column describes an argument of all calls: NumPy computes on it in the same time for any
number of calls, and fills it into a table of calls (`compiled_kernel.CallTable`).
"""

from collections.abc import Sequence
from ctypes import addressof, c_char
from typing import Any

import numpy as np

# Flags that distinguish types of arrays: C order, alignment, writability.
C, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
LAYOUT = C | ALIGNED | WRITEABLE


class PerCall:
    """An integer argument that differs from call to call.

    Parameters
    ----------
    values : ndarray of int64 or uint64, shape (calls,)
    kind : type
        The type of each value, as a kernel takes it.
    """

    def __init__(self, values: np.ndarray, kind: type = int) -> None:
        self.values, self.kind = values, kind

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, call: int) -> Any:
        return self.kind(self.values[call])


class ArrayPieces:
    """Arrays of one type, one for each call, described by columns of numbers.

    A list of arrays costs microseconds for each. These columns cost the same for any
    number of arrays: NumPy computes on all of them at once.

    Parameters
    ----------
    dtype : dtype
    address : ndarray of int64, shape (calls,)
    shape, strides : ndarray of int64, shape (calls, dimensions)
    flags : int
        NumPy's flags for C order, alignment and writability.
    owners : object
        Keeps the memory.
    """

    def __init__(
        self,
        dtype: np.dtype,
        address: np.ndarray,
        shape: np.ndarray,
        strides: np.ndarray,
        flags: int,
        owners: Any,
    ) -> None:
        self.dtype, self.flags, self.owners = dtype, flags, owners
        self.address, self.shape, self.strides = address, shape, strides

    @classmethod
    def flat(
        cls, dtype: np.dtype, address: np.ndarray, lengths: np.ndarray, owners: Any
    ) -> "ArrayPieces":
        """Return writable arrays of one dimension and contiguous items."""
        strides = np.full((len(address), 1), dtype.itemsize)
        shape = lengths.astype(np.int64)[:, None]
        return cls(dtype, address, shape, strides, LAYOUT, owners)

    @classmethod
    def of(cls, array: np.ndarray, bounds: np.ndarray) -> "ArrayPieces":
        """Cut an array at positions: its begin, the inner cuts, and its end."""
        address = address_of(array) + bounds[:-1] * array.itemsize
        return cls.flat(array.dtype, address, np.diff(bounds), array)

    @classmethod
    def of_arrays(cls, arrays: Sequence[np.ndarray]) -> "ArrayPieces":
        """Describe arrays of one type."""
        facts = [(address_of(a), a.shape, a.strides) for a in arrays]
        address, shape, strides = (
            np.array(column, np.int64) for column in zip(*facts, strict=True)
        )
        flags = arrays[0].flags.num & LAYOUT
        return cls(arrays[0].dtype, address, shape, strides, flags, arrays)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.shape.shape[1]

    @property
    def lengths(self) -> np.ndarray:
        """The length of each array of one dimension."""
        return self.shape[:, 0]

    def release(self) -> None:
        """Drop the memory; the arrays are empty from now on."""
        self.shape, self.owners = np.zeros_like(self.shape), None

    def first(self, lengths: np.ndarray) -> "ArrayPieces":
        """Return the first items of each array."""
        return ArrayPieces.flat(self.dtype, self.address, lengths, self.owners)

    def __len__(self) -> int:
        return len(self.address)

    def __getitem__(self, call: int) -> np.ndarray:
        shape, strides = self.shape[call].tolist(), self.strides[call].tolist()
        writable, address = bool(self.flags & WRITEABLE), int(self.address[call])
        return array_at(address, self.dtype, shape, strides, writable, self.owners)


class _View:
    """The memory of an array, for NumPy, and its owner."""

    def __init__(self, interface: dict, owner: Any) -> None:
        self.__array_interface__, self._owner = interface, owner


def array_at(
    address: int,
    dtype: np.dtype,
    shape: Sequence[int],
    strides: Sequence[int],
    writable: bool,
    owner: Any,
) -> np.ndarray:
    """Return the array at an address, which keeps the owner of its memory."""
    interface = {
        "version": 3, "typestr": dtype.str, "data": (address, not writable),
        "shape": tuple(shape), "strides": tuple(strides),
    }  # fmt: skip
    return np.asarray(_View(interface, owner))


def address_of(array: Any) -> int:
    """Return the address of an array's first item."""
    try:  # three times as fast as the general way
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):  # read-only, strided or empty
        return array.__array_interface__["data"][0]


class TypesDifferError(Exception):
    """The arguments of several calls have no common type."""


def columns_of(values: Sequence[Any]) -> Any:
    """Return one argument that stands for the values of all calls.

    A value that all calls share stays as it is.

    Raises
    ------
    TypesDifferError
        If the values have several types, or are floating-point numbers.
    """
    first = values[0]
    if all(value is first for value in values):
        return first
    kind = type(first)
    if any(type(value) is not kind for value in values):
        raise TypesDifferError
    if isinstance(first, tuple):
        members = [columns_of(member) for member in zip(*values, strict=True)]
        return tuple(members) if kind is tuple else kind(*members)
    if isinstance(first, np.ndarray):
        if len({(a.dtype, a.ndim, a.flags.num & LAYOUT) for a in values}) > 1:
            raise TypesDifferError
        return ArrayPieces.of_arrays(values)
    if not issubclass(kind, (int, np.integer, np.bool_)):
        raise TypesDifferError
    wide = np.uint64 if kind is np.uint64 else np.int64
    return PerCall(np.array(values, wide), kind)


def calls_of(column: Any, count: int) -> list[Any]:
    """Return the value of each call, given an argument that stands for all of them."""
    if isinstance(column, tuple):
        members = zip(*(calls_of(m, count) for m in column), strict=True)
        kind = type(column)
        return [tuple(m) if kind is tuple else kind(*m) for m in members]
    if isinstance(column, (PerCall, ArrayPieces)):
        return [column[call] for call in range(count)]
    return [column] * count


def result_columns(results: Sequence[Any]) -> Any:
    """Return results of calls as columns; see `Threads.run`."""
    first = results[0]
    if isinstance(first, tuple):
        members = [result_columns(m) for m in zip(*results, strict=True)]
        return tuple(members) if type(first) is tuple else type(first)(*members)
    if isinstance(first, np.ndarray):
        return ArrayPieces.of_arrays(results)
    return None if first is None else np.array(results)
