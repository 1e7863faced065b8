"""Points of a user that lie on a CUDA device."""

from functools import cached_property
from typing import Any

import cupy
import numpy as np

from ..devices.point_products import PointMeasures
from .modules import SOURCES

THREADS = 128  # of a block that measures points
PLAIN = (np.float32, np.float64)  # types that searches take


class CudaPoints:
    """Points on a CUDA device; see `PointsOnDevice`.

    They are of float16 (a search takes a float32 copy), float32 or float64.
    """

    def __init__(self, array: Any) -> None:
        with array.device:
            if array.dtype.type not in PLAIN:
                array = array.astype(np.float32)
            self.array = cupy.ascontiguousarray(array)
        self.shape, self.dtype = self.array.shape, self.array.dtype

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: np.ndarray | slice) -> np.ndarray:
        """Return some points on the host."""
        with self.array.device:
            if isinstance(rows, slice):
                return self.array[rows].get()
            if rows.dtype == np.bool_:
                rows = np.flatnonzero(rows)
            return self.array[cupy.asarray(rows)].get()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return all points on the host."""
        with self.array.device:
            return self.array.get().astype(dtype or self.dtype, copy=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a copy on the host: another process may have no device."""
        return np.asarray, (np.asarray(self),)

    @cached_property
    def measures(self) -> PointMeasures:
        """The sizes of all points."""
        count, dimensions = map(np.uint64, self.shape)
        with self.array.device:
            smallest, largest, square = (cupy.empty(len(self)) for _ in range(3))
            given = self.array, count, dimensions, smallest, largest, square
            blocks = -(-len(self) // THREADS)
            _measure_rows(self.dtype)((blocks,), (THREADS,), given)
            found = PointMeasures(smallest.get(), largest.get(), square.get())
        return found._replace(length=np.sqrt(found.length))


def _measure_rows(dtype: np.dtype) -> Any:
    value = "float" if dtype == np.float32 else "double"
    return SOURCES.load_module("point_rows", {"VALUE": value}).get_function(
        "measure_rows"
    )
