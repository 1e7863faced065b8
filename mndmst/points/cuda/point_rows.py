"""Points of a user that lie on a CUDA device."""

from functools import cached_property

import cupy
import numpy as np

from ..devices.point_products import PointMeasures
from .modules import SOURCES, type_name

THREADS = 128  # of a block, as in point_rows.cu


class CudaPoints:
    """Points on a CUDA device; see `PointsOnDevice`.

    The given array is of float16 (searched as float32), float32 or float64.
    """

    def __init__(self, array: cupy.ndarray) -> None:
        with array.device:
            if array.dtype == np.float16:
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
            taken = cupy.empty((len(rows), self.shape[1]), self.dtype)
            numbers = cupy.asarray(rows.astype(np.uint64))
            count, dimensions = map(np.uint64, taken.shape)
            arguments = self.array, numbers, count, dimensions, taken
            self._run("take_rows", taken.size, arguments)
            return taken.get()

    def __array__(
        self, dtype: np.dtype | None = None, copy: bool | None = None
    ) -> np.ndarray:
        """Return all points on the host."""
        with self.array.device:
            return self.array.get().astype(dtype or self.dtype, copy=False)

    def __reduce__(self) -> tuple[object, ...]:
        """Return a copy on the host: another process may have no device."""
        return np.asarray, (np.asarray(self),)

    @cached_property
    def measures(self) -> PointMeasures:
        """The magnitudes of all points."""
        count, dimensions = map(np.uint64, self.shape)
        with self.array.device:
            smallest, largest, square = (cupy.empty(len(self)) for _ in range(3))
            arguments = self.array, count, dimensions, smallest, largest, square
            self._run("measure_rows", len(self), arguments)
            length = np.sqrt(square.get())
            return PointMeasures(smallest.get(), largest.get(), length)

    def _run(self, kernel: str, threads: int, arguments: tuple[object, ...]) -> None:
        module = SOURCES.load_module("point_rows", {"VALUE": type_name(self.dtype)})
        blocks = -(-threads // THREADS)
        if blocks:
            module.get_function(kernel)((blocks,), (THREADS,), arguments)
