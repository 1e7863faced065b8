"""Arguments of kernels: their types, types as text, and the machine words to pass.

In Numba's calling convention an array is passed as seven words or more: two owners, its
length, its item's size, its address, its shape and its strides. Types are the ones that
Numba's typing distinguishes:

| text | argument |
|---|---|
| `i8`, `u4`, `f8`, `b1` | a number; Python's own are `i8`, `f8` and `b1` |
| `u4[]`, `u4[,]` | an array in C order, of one and of two dimensions |
| `u4[:]` | an array of another layout |
| `u4!` before a bracket | a read-only array |
| `none` | None |
| `(i8,u4[])` | a tuple; a named one has its class before it |
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from ctypes import addressof, c_char
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np


class Scalar(NamedTuple):
    """A number or None."""

    name: str

    def __str__(self) -> str:
        return self.name


class Array(NamedTuple):
    """An array of numbers."""

    item: str
    ndim: int
    in_c_order: bool
    writable: bool

    def __str__(self) -> str:
        dimension = "" if self.in_c_order else ":"
        mark = "" if self.writable else "!"
        return f"{self.item}{mark}[{','.join([dimension] * self.ndim)}]"


class Tuple(NamedTuple):
    """A tuple; `name` is the class of a named tuple, else empty."""

    name: str
    members: list["Type"]

    @classmethod
    def of(cls, kind: type, members: Iterable["Type"]) -> "Tuple":
        """Return the type of a tuple, given its class and members."""
        name = "" if kind is tuple else f"{kind.__module__}.{kind.__qualname__}"
        return cls(name, list(members))

    def __str__(self) -> str:
        return f"{self.name}({text_of(self.members)})"


Type = Scalar | Array | Tuple


NONE = Scalar("none")


def text_of(types: Iterable[Type]) -> str:
    """Return types as text."""
    return ",".join(map(str, types))


def parse(text: str) -> list[Type]:
    """Return the types that a text describes."""
    return [_parse_one(part) for part in _split(text)]


def _parse_one(text: str) -> Type:
    if text.endswith("]"):
        item, _, dimensions = text[:-1].partition("[")
        ndim = dimensions.count(",") + 1
        return Array(item.rstrip("!"), ndim, ":" not in dimensions, "!" not in item)
    if text.endswith(")"):
        name, _, members = text[:-1].partition("(")
        return Tuple(name, parse(members))
    return Scalar(text)


def _split(text: str) -> list[str]:
    """Split a text at the commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]] if text else []


def named(name: str) -> Any:
    """Import and return an object, given `module.name`."""
    module, _, name = name.rpartition(".")
    return getattr(import_module(module), name)


# Flags that distinguish types of arrays: C order, alignment, writability.
_C, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_LAYOUT = _C | _ALIGNED | _WRITEABLE


def layout_flags(kind: Array) -> int:
    """Return NumPy's flags of arrays of a type."""
    return kind.in_c_order * _C | _ALIGNED | kind.writable * _WRITEABLE


Pack = Callable[[Any, list], Any]


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


class Pieces:
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
    ) -> "Pieces":
        """Return writable arrays of one dimension and contiguous items."""
        strides = np.full((len(address), 1), dtype.itemsize)
        shape = lengths.astype(np.int64)[:, None]
        return cls(dtype, address, shape, strides, _LAYOUT, owners)

    @classmethod
    def of(cls, array: np.ndarray, bounds: np.ndarray) -> "Pieces":
        """Cut an array at positions: its begin, the inner cuts, and its end."""
        address = address_of(array) + bounds[:-1] * array.itemsize
        return cls.flat(array.dtype, address, np.diff(bounds), array)

    @classmethod
    def of_arrays(cls, arrays: Sequence[np.ndarray]) -> "Pieces":
        """Describe arrays of one type."""
        facts = [(address_of(a), a.shape, a.strides) for a in arrays]
        address, shape, strides = (
            np.array(column, np.int64) for column in zip(*facts, strict=True)
        )
        flags = arrays[0].flags.num & _LAYOUT
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

    def first(self, lengths: np.ndarray) -> "Pieces":
        """Return the first items of each array."""
        return Pieces.flat(self.dtype, self.address, lengths, self.owners)

    def __len__(self) -> int:
        return len(self.address)

    def __getitem__(self, call: int) -> np.ndarray:
        shape, strides = self.shape[call].tolist(), self.strides[call].tolist()
        writable, address = bool(self.flags & _WRITEABLE), int(self.address[call])
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
        if len({(a.dtype, a.ndim, a.flags.num & _LAYOUT) for a in values}) > 1:
            raise TypesDifferError
        return Pieces.of_arrays(values)
    if kind not in _INTEGERS:
        raise TypesDifferError
    wide = np.uint64 if kind is np.uint64 else np.int64
    return PerCall(np.array(values, wide), kind)


def calls_of(column: Any, count: int) -> list[Any]:
    """Return the value of each call, given an argument that stands for all of them."""
    if isinstance(column, tuple):
        members = zip(*(calls_of(m, count) for m in column), strict=True)
        kind = type(column)
        return [tuple(m) if kind is tuple else kind(*m) for m in members]
    if isinstance(column, (PerCall, Pieces)):
        return [column[call] for call in range(count)]
    return [column] * count


def result_columns(results: Sequence[Any]) -> Any:
    """Return results of calls as `Pieces`, an array of numbers, or a tuple of both."""
    first = results[0]
    if isinstance(first, tuple):
        members = [result_columns(m) for m in zip(*results, strict=True)]
        return tuple(members) if type(first) is tuple else type(first)(*members)
    if isinstance(first, np.ndarray):
        return Pieces.of_arrays(results)
    return None if first is None else np.array(results)


def pack(arguments: tuple, words: list) -> tuple[Hashable, ...]:
    """Append the words of the arguments; return a key that identifies their types.

    A word is a number, or an array of numbers if it differs from call to call.

    Raises
    ------
    TypeError
        If kernels take no arguments of such a type.
    """
    return tuple([_PACK.get(type(a), _pack_other)(a, words) for a in arguments])


def _pack_array(array: Any, words: list) -> tuple:
    address = address_of(array)
    words += (0, 0, array.size, array.itemsize, address, *array.shape, *array.strides)
    return array.dtype, array.ndim, array.flags.num & _LAYOUT


def _pack_number(number: Any, words: list) -> type:
    words.append(number)
    return type(number)


def _pack_scalar(scalar: np.generic, words: list) -> type:
    words.append(scalar.item())
    return type(scalar)


def _pack_none(nothing: None, words: list) -> type:
    words.append(0)
    return type(nothing)


def _pack_per_call(number: PerCall, words: list) -> type:
    words.append(number.values)
    return number.kind


def _pack_pieces(arrays: Pieces, words: list) -> tuple:
    size = arrays.shape.prod(axis=1)
    words += (0, 0, size, arrays.dtype.itemsize, arrays.address)
    words += (*arrays.shape.T, *arrays.strides.T)
    return arrays.dtype, arrays.ndim, arrays.flags


def _pack_other(value: Any, words: list) -> tuple:
    if isinstance(value, tuple):
        return type(value), pack(value, words)
    if isinstance(value, np.ndarray):  # such as one mapped from a file
        return _pack_array(value.view(np.ndarray), words)
    raise TypeError(f"a kernel cannot take {type(value).__name__}")


_SCALARS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64,
    np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64,
)  # fmt: skip
_PACK: dict[type, Pack] = {
    np.ndarray: _pack_array, type(None): _pack_none,
    PerCall: _pack_per_call, Pieces: _pack_pieces,
    **dict.fromkeys((int, float, bool), _pack_number),
    **dict.fromkeys(_SCALARS, _pack_scalar),
}  # fmt: skip


_INTEGERS = {int, bool, *(k for k in _SCALARS if not issubclass(k, np.floating))}


def types_of(arguments: tuple) -> str:
    """Return the types of arguments as text."""
    return text_of(map(_type_of, arguments))


def _type_of(value: Any) -> Type:
    if value is None:
        return NONE
    if isinstance(value, tuple):
        return Tuple.of(type(value), map(_type_of, value))
    if isinstance(value, PerCall):
        return Scalar(np.dtype(value.kind).str[1:])
    arrays = isinstance(value, (np.ndarray, Pieces))
    dtype = value.dtype if arrays else np.asarray(value).dtype
    if dtype.str[0] not in "<|" or dtype.kind not in "biuf":
        raise TypeError(f"a kernel cannot take {dtype}")
    if not arrays:
        return Scalar(dtype.str[1:])
    ndim = value.ndim
    flags = value.flags if isinstance(value, Pieces) else value.flags.num
    if not (flags & _ALIGNED and ndim):
        raise TypeError("a kernel cannot take an array without alignment or dimension")
    return Array(dtype.str[1:], ndim, bool(flags & _C), bool(flags & _WRITEABLE))


def words_of(types: Iterable[Type]) -> list[str]:
    """Return the kind of each argument word: f4, f8, or i8 for all others."""
    words = []
    for kind in types:
        if isinstance(kind, Array):
            words += ["i8"] * (5 + 2 * kind.ndim)
        elif isinstance(kind, Tuple):
            words += words_of(kind.members)
        else:
            words.append(kind.name if kind.name[0] == "f" else "i8")
    return words
