"""A stand-in for CuPy without a device: arrays in host memory, kernels on the CPU.

It has the calls that `mndmst` makes, and refuses what CuPy refuses: NumPy's arrays
among its own, arguments of kernels that differ from the kernels' parameters, and copies
beyond an array. Copies and launches are done when they return.
"""

import ctypes
from typing import Any

import numpy as np

from . import cuda
from .cuda import MemoryPointer

nan = np.nan


class ndarray(np.ndarray):  # noqa: N801
    """An array of the emulated device."""

    __array_priority__ = 100

    def __new__(cls, shape: Any, dtype: Any = float, memptr: Any = None) -> "ndarray":
        """Return an array at a pointer, or in memory of its own."""
        if memptr is None:
            return super().__new__(cls, shape, dtype)
        length = int(np.prod(shape))
        nbytes = length * np.dtype(dtype).itemsize
        memory = (ctypes.c_char * nbytes).from_address(memptr.ptr)
        array = np.frombuffer(memory, dtype, length).reshape(shape).view(cls)
        array._memptr = memptr
        return array

    def __array_finalize__(self, source: Any) -> None:
        self._memptr = getattr(source, "_memptr", None)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **given: Any
    ) -> Any:
        out = given.get("out", ())
        for array in (*inputs, *out):
            if type(array) is np.ndarray and array.ndim:
                raise TypeError("an array of NumPy among arrays of the device")
        plain = [_host(x) for x in inputs]
        if out:
            given["out"] = tuple(map(_host, out))
        with np.errstate(all="ignore"):
            result = getattr(ufunc, method)(*plain, **given)
        return out[0] if out else _device(result)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            key = tuple(map(_index, key))
        return _device(self.view(np.ndarray)[_index(key)], self)

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(value) is np.ndarray and value.ndim:
            raise TypeError("an array of NumPy among arrays of the device")
        key = tuple(map(_index, key)) if isinstance(key, tuple) else _index(key)
        self.view(np.ndarray)[key] = _host(value)

    @property
    def data(self) -> MemoryPointer:
        """The address of the first entry, and how many bytes follow it."""
        end = self.nbytes if self.flags.c_contiguous else 0
        return MemoryPointer(self, 0, self.ctypes.data, end)

    @property
    def device(self) -> "cuda.Device":
        """The only device."""
        return cuda.Device(0)

    @property
    def __cuda_array_interface__(self) -> dict:
        """What marks arrays of devices."""
        return dict(self.__array_interface__, version=3)

    def set(self, values: np.ndarray) -> None:
        """Copy an array of the host."""
        self.view(np.ndarray)[...] = values

    def get(self, out: Any = None, blocking: bool = True) -> np.ndarray:
        """Return a copy on the host."""
        if out is None:
            return np.array(self.view(np.ndarray))
        out[...] = self.view(np.ndarray)
        return out


def _index(key: Any) -> Any:
    if type(key) is np.ndarray and key.ndim:
        raise TypeError("an index of NumPy for an array of the device")
    return _host(key)


def _host(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, ndarray) else value


def _device(value: Any, source: Any = None) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_device, value))
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        return value
    array = value.view(ndarray)
    array._memptr = getattr(source, "_memptr", None)
    return array


def _lifted(function: Any) -> Any:
    def call(*args: Any, **given: Any) -> Any:
        for value in args:
            if type(value) is np.ndarray and value.ndim:
                raise TypeError("an array of NumPy among arrays of the device")
        args = [[*map(_host, a)] if isinstance(a, list | tuple) else _host(a)
                for a in args]  # fmt: skip
        given = {name: _host(value) for name, value in given.items()}
        try:
            return _device(function(*args, **given))
        except MemoryError as error:
            raise cuda.memory.OutOfMemoryError(str(error)) from error

    return call


empty, zeros, ones, full, arange, empty_like, copyto = map(
    _lifted,
    (np.empty, np.zeros, np.ones, np.full, np.arange, np.empty_like, np.copyto),
)
concatenate, stack, where, unique, searchsorted, flatnonzero, diff, sort = map(
    _lifted,
    (np.concatenate, np.stack, np.where, np.unique, np.searchsorted, np.flatnonzero,
     np.diff, np.sort),
)  # fmt: skip
minimum, maximum, sqrt, isnan, count_nonzero, bincount, cumsum, lexsort = map(
    _lifted,
    (np.minimum, np.maximum, np.sqrt, np.isnan, np.count_nonzero, np.bincount,
     np.cumsum, np.lexsort),
)  # fmt: skip


def asarray(values: Any, dtype: Any = None) -> ndarray:
    """Return an array of the device; itself if it is one."""
    if isinstance(values, ndarray) and dtype is None:
        return values
    return _device(np.array(_host(values), dtype))


array = asarray
ascontiguousarray = _lifted(np.ascontiguousarray)


def asnumpy(values: ndarray) -> np.ndarray:
    """Return a copy on the host."""
    return values.get()


def get_default_memory_pool() -> Any:
    """Return the memory pool, which keeps nothing."""
    return _Pool()


class _Pool:
    def free_all_blocks(self) -> None:
        pass

    def free_bytes(self) -> int:
        return 0


class _Random:
    @staticmethod
    def random(count: int) -> ndarray:
        return _device(np.random.default_rng(count).random(count))


random = _Random()
