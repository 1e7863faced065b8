"""The arguments of a kernel: their types as text, and the machine words they become.

A type is written as Numba's typing sees it:

| text | argument |
|---|---|
| `i8`, `u4`, `f8`, `b1` | a number; Python's own are `i8`, `f8` and `b1` |
| `u4[]`, `u4[,]` | an array in C order, of one and of two dimensions |
| `u4[:]` | an array of another layout |
| `u4!` before a bracket | one that cannot be written |
| `none` | None |
| `(i8,u4[])` | a tuple; a named one has its class before it |

In Numba's calling convention an array is passed as seven words or more: two owners,
its length, its item's size, its address, its shape and its strides.
"""

from collections.abc import Callable, Hashable
from ctypes import addressof, c_char
from importlib import import_module
from typing import Any

import numpy as np

# What makes types of arrays differ: C order, alignment, the right to write.
_C, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_LAYOUT = _C | _ALIGNED | _WRITEABLE

Pack = Callable[[Any, list], Any]


def pack(arguments: tuple, words: list) -> Hashable:
    """Append the words of some arguments; return a key that their types have alone.

    Raises
    ------
    TypeError
        If an argument is nothing that a kernel takes.
    """
    return tuple([_PACK.get(type(a), _pack_other)(a, words) for a in arguments])


def _pack_array(array: Any, words: list) -> tuple:
    try:  # thrice as fast as what follows
        address = addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):  # read only, with gaps, or empty
        address = array.__array_interface__["data"][0]
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
    **dict.fromkeys((int, float, bool), _pack_number),
    **dict.fromkeys(_SCALARS, _pack_scalar),
}  # fmt: skip


def types_of(arguments: tuple) -> str:
    """Return the types of some arguments, as text."""
    return ",".join(map(_type_of, arguments))


def _type_of(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        kind = type(value)
        name = "" if kind is tuple else f"{kind.__module__}.{kind.__qualname__}"
        return f"{name}({types_of(value)})"
    dtype = np.asarray(value).dtype
    if dtype.str[0] not in "<|" or dtype.kind not in "biuf":
        raise TypeError(f"a kernel cannot take {dtype}")
    if not isinstance(value, np.ndarray):
        return dtype.str[1:]
    flags = value.flags
    if not (flags.aligned and value.ndim):
        raise TypeError("a kernel cannot take an array without alignment or dimension")
    dimension = "" if flags.c_contiguous else ":"
    readonly = "" if flags.writeable else "!"
    return f"{dtype.str[1:]}{readonly}[{','.join([dimension] * value.ndim)}]"


def named(name: str) -> Any:
    """Return what has a name with its module before it."""
    module, _, name = name.rpartition(".")
    return getattr(import_module(module), name)


def split(types: str) -> list[str]:
    """Return the types that commas separate, outside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(types):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(types[begin:at])
            begin = at + 1
    return [*parts, types[begin:]] if types else []


def words_of(types: str) -> list[str]:
    """Return the kinds of the words of arguments: f4, f8, or i8 for all others."""
    words = []
    for kind in split(types):
        if kind.endswith("]"):
            words += ["i8"] * (5 + 2 * (kind.count(",") + 1))
        elif kind.endswith(")"):
            words += words_of(kind[kind.index("(") + 1 : -1])
        else:
            words.append(kind if kind[0] == "f" else "i8")
    return words
