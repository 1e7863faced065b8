"""Sorts of the emulated device."""

import ctypes
from typing import Any

import numpy as np


def argsort(dtype: Any, order: int, keys: int, scratch: int, shape: Any) -> None:
    """Write the stable order of keys at an address; the keys become sorted."""
    (count,) = shape

    def at(address: int, kind: Any) -> np.ndarray:
        kind = np.dtype(kind)
        memory = (ctypes.c_char * (count * kind.itemsize)).from_address(address)
        return np.frombuffer(memory, kind) if count else np.empty(0, kind)

    sorted_keys = at(keys, dtype)
    at(order, np.int64)[:] = np.argsort(sorted_keys, kind="stable")
    sorted_keys.sort()
