"""What a kernel returns, from the memory that it has written its result to."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from .signature import Array, Tuple, Type, named, parse

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
