"""The arguments of a kernel: their types, and the machine words they become.

In Numba's calling convention an array is passed as seven words or more: two owners,
its length, its item's size, its address, its shape and its strides.
"""

from collections.abc import Callable, Hashable, Iterable
from ctypes import addressof, c_char
from typing import Any

import numpy as np

from .signature import NONE, Array, Scalar, Tuple, Type, text_of

# What makes types of arrays differ: C order, alignment, the right to write.
_C, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_LAYOUT = _C | _ALIGNED | _WRITEABLE

Pack = Callable[[Any, list], Any]


def pack(arguments: tuple, words: list) -> tuple[Hashable, ...]:
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
    return text_of(map(_type_of, arguments))


def _type_of(value: Any) -> Type:
    if value is None:
        return NONE
    if isinstance(value, tuple):
        return Tuple.of(type(value), map(_type_of, value))
    dtype = np.asarray(value).dtype
    if dtype.str[0] not in "<|" or dtype.kind not in "biuf":
        raise TypeError(f"a kernel cannot take {dtype}")
    if not isinstance(value, np.ndarray):
        return Scalar(dtype.str[1:])
    flags = value.flags
    if not (flags.aligned and value.ndim):
        raise TypeError("a kernel cannot take an array without alignment or dimension")
    return Array(dtype.str[1:], value.ndim, flags.c_contiguous, flags.writeable)


def words_of(types: Iterable[Type]) -> list[str]:
    """Return the kinds of the words of arguments: f4, f8, or i8 for all others."""
    words = []
    for kind in types:
        if isinstance(kind, Array):
            words += ["i8"] * (5 + 2 * kind.ndim)
        elif isinstance(kind, Tuple):
            words += words_of(kind.members)
        else:
            words.append(kind.name if kind.name[0] == "f" else "i8")
    return words
