"""Arguments of kernels: their types, types as text, and the machine words to pass.

In Numba's calling convention an array is passed as seven words or more: two owners, its
length, its item's size, its address, its shape and its strides. The types are those of
Numba's typing:

| text | argument |
|---|---|
| `i8`, `u4`, `f8`, `b1` | a number; Python's own are `i8`, `f8` and `b1` |
| `u4[]`, `u4[,]` | an array in C order, of one and of two dimensions |
| `u4[:]` | an array of another layout |
| `u4!` before a bracket | a read-only array |
| `none` | None |
| `(i8,u4[])` | a tuple; a named one has its class before it |
"""

from collections.abc import Callable, Hashable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from .call_columns import ArrayPieces, PerCall, address_of

# NumPy's flags that distinguish types of arrays: C order, alignment, writability.
C, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
LAYOUT = C | ALIGNED | WRITEABLE


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


# A number or None is its text.
Type = str | Array | Tuple
NONE = "none"


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
    return text


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


def pack(arguments: tuple, words: list) -> tuple[Hashable, ...]:
    """Append the words of the arguments; return a key that identifies their types.

    A word is a number, or an array of numbers if it differs from call to call. Raises
    TypeError for an argument that kernels do not support.
    """
    return tuple([_PACK.get(type(a), _pack_other)(a, words) for a in arguments])


class Packed:
    """An argument whose words are packed once, for many calls of kernels."""

    def __init__(self, argument: tuple) -> None:
        self.argument, self.words = argument, []  # type: tuple, list
        (self.key,) = pack((argument,), self.words)

    def __reduce__(self) -> tuple[type, tuple]:
        """Pack a copy anew: its arrays are elsewhere."""
        return Packed, (self.argument,)


def unpacked(argument: Any) -> Any:
    """Return an argument as Numba takes it."""
    return argument.argument if isinstance(argument, Packed) else argument


def _pack_array(array: Any, words: list) -> tuple:
    address = address_of(array)
    words += (0, 0, array.size, array.itemsize, address, *array.shape, *array.strides)
    return array.dtype, array.ndim, array.flags.num & LAYOUT


def _pack_number(number: Any, words: list) -> type:
    words.append(number)
    return type(number)


def _pack_scalar(scalar: np.generic, words: list) -> type:
    words.append(scalar.item())
    return type(scalar)


def _pack_uint64(scalar: np.uint64, words: list) -> type:
    words.append(int(scalar.view(np.int64)))  # words are signed
    return type(scalar)


def _pack_per_call(number: PerCall, words: list) -> type:
    words.append(number.values.astype(np.int64, copy=False))
    return number.kind


def _pack_pieces(arrays: ArrayPieces, words: list) -> tuple:
    item = arrays.dtype.itemsize
    words += (0, 0, arrays.lengths, item, arrays.address, arrays.lengths, item)
    return arrays.dtype, 1, LAYOUT


def _pack_packed(packed: Packed, words: list) -> Hashable:
    words += packed.words
    return packed.key


def _pack_other(value: Any, words: list) -> Any:
    if value is None:
        words.append(0)
        return type(None)
    if isinstance(value, tuple):
        return type(value), pack(value, words)
    if isinstance(value, np.ndarray):  # such as one mapped from a file
        return _pack_array(value.view(np.ndarray), words)
    raise TypeError(f"a kernel cannot take {type(value).__name__}")


_SCALARS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64,
    np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64,
)  # fmt: skip
_PACK: dict[type, Callable[[Any, list], Any]] = {
    np.ndarray: _pack_array, PerCall: _pack_per_call, ArrayPieces: _pack_pieces,
    Packed: _pack_packed,
    **dict.fromkeys((int, float, bool), _pack_number),
    **dict.fromkeys(_SCALARS, _pack_scalar), np.uint64: _pack_uint64,
}  # fmt: skip


def types_of(key: tuple[Hashable, ...]) -> str:
    """Return the types that a key of `pack` identifies as text."""
    return text_of(map(_type_of, key))


def _type_of(part: Any) -> Type:
    """Return the type of an argument, given its part of the key."""
    if part is type(None):
        return NONE
    if not isinstance(part, tuple):
        return np.dtype(part).str[1:]
    if isinstance(part[0], type):
        return Tuple.of(part[0], map(_type_of, part[1]))
    dtype, ndim, flags = part
    if dtype.str[0] not in "<|" or dtype.kind not in "biuf":
        raise TypeError(f"a kernel cannot take {dtype}")
    if not (flags & ALIGNED and ndim):
        raise TypeError("a kernel cannot take an array without alignment or dimension")
    return Array(dtype.str[1:], ndim, bool(flags & C), bool(flags & WRITEABLE))


def words_of(types: Iterable[Type]) -> list[str]:
    """Return the kind of each argument word: f4, f8, or i8 for all others."""
    words = []
    for kind in types:
        if isinstance(kind, Array):
            words += ["i8"] * (5 + 2 * kind.ndim)
        elif isinstance(kind, Tuple):
            words += words_of(kind.members)
        else:
            words.append(kind if kind[0] == "f" else "i8")
    return words
