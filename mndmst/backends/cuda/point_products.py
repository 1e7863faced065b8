"""Points on a CUDA device, searched by matrix products of half precision.

Tensor cores multiply float16 numbers exactly and add products up in float32. A point is
rounded to float16 once; the length that rounding takes away is measured, so the bound
of `points.product_search` holds with it in place of the rounding to float32. Tensor
cores may cut sums off in place of rounding them, so each of d + 16 steps is taken to
lose at most 2^-22 of the sum of all magnitudes. Points whose float16 numbers would be
too coarse are multiplied in float32.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cupy
import numpy as np
from cupy.cuda.memory import OutOfMemoryError
from cupy_backends.cuda.libs import cublas

from ...host.errors import ConfigError
from ..base import DeviceMemoryError
from ..point_products import MOST_NEIGHBOURS, ComponentArrays, PointArrays, Report
from .kernels import kernel_source
from .transfer import Transfer

# Rows and columns of a tile, whose products are in the device's memory.
ROWS, COLUMNS = 1 << 14, 1 << 15
PARTS = 1 << 16  # points that are rounded at a time
CENTRE = 4096  # points whose mean is subtracted from all
# The largest coordinate is scaled to less than 2^HIGHEST.
HIGHEST = 12
ACCUMULATED = 2.0**-22  # of the sum of magnitudes, lost in one step of a sum
COARSE = 2.0**-9  # float16 is too coarse if a point loses more of its length
THREADS, KEPT = 128, 512  # as in point_products.cu
NONE = np.uint32(0xFFFFFFFF)
MULTIPLE = 16  # of which the number of columns of factors is one
POINTS = np.dtype(
    [(name, np.uint64) for name in ("values", "largest", "length", "number")]
    + [(name, np.uint64) for name in ("square", "half")]
    + [("dimensions", np.int64)]
    + [(name, np.float64) for name in ("gamma", "absolute", "unit")]
)
COMPONENTS = np.dtype(
    [(name, np.uint64) for name in ("of_place", "cores", "reach", "bound")]
)


class CudaPointProducts:
    """Points on one device; see `PointProducts`.

    Parameters
    ----------
    points : PointArrays
    device : int

    Raises
    ------
    DeviceMemoryError
        If the device has too little memory for the points.
    ConfigError
        If no scale of float32 suits all points.
    """

    def __init__(self, points: PointArrays, device: int = 0) -> None:
        self.device = cupy.cuda.Device(device)
        with self._current():
            self._transfer = Transfer()
            self._given = PointArrays(*map(self._upload, points))
            self.count, self.dimensions = points.values.shape
            self._load_kernels()
            self._round()

    @contextmanager
    def _current(self) -> Iterator[None]:
        try:
            with self.device:
                yield
        except OutOfMemoryError as error:
            cupy.get_default_memory_pool().free_all_blocks()
            raise DeviceMemoryError(
                f"CUDA device {self.device.id} has too little free memory for the "
                f"points ({error})"
            ) from error

    def _upload(self, column: np.ndarray) -> Any:
        if column.nbytes == 0:
            return cupy.empty(0)
        return self._transfer.to_device(column.reshape(-1)).reshape(column.shape)

    def _download(self, column: Any) -> np.ndarray:
        return self._transfer.to_host(column.reshape(-1)).reshape(column.shape)

    def _load_kernels(self) -> None:
        value = "float" if self._given.values.dtype == np.float32 else "double"
        divided = int(len(self._given.length) > 0)
        module = cupy.RawModule(
            code=kernel_source("point_products"),
            options=("-std=c++17", f"-DVALUE={value}", f"-DDIVIDED={divided}"),
        )
        self._filter_near = module.get_function("filter_near")
        self._finish_near = module.get_function("finish_near")
        self._filter_leaving = module.get_function("filter_leaving")

    def _plain(self, begin: int, end: int) -> Any:
        """Return the float64 coordinates of the places [begin, end)."""
        rows = self._given.number[begin:end]
        plain = self._given.values[rows].astype(np.float64)
        if len(self._given.length):
            plain /= self._given.largest[rows, None]
            plain /= self._given.length[rows, None]
        return plain

    def _round(self) -> None:
        """Make the factors of the products, and the bounds of their errors."""
        parts = [
            (begin, min(begin + PARTS, self.count))
            for begin in range(0, self.count, PARTS)
        ]
        centre = self._plain(0, CENTRE).mean(axis=0)
        largest = max(float(abs(self._plain(*part) - centre).max()) for part in parts)
        factor = 1.0
        if largest > 0:
            factor = math.ldexp(1.0, HIGHEST - math.frexp(largest)[1])
        for dtype in (np.float16, np.float32):
            lost = self._round_to(np.dtype(dtype), centre, factor, parts)
            if lost < COARSE:
                break
        else:
            raise ConfigError("coordinates span too many powers of ten for products")
        terms = (self.dimensions + MULTIPLE + 16) * ACCUMULATED
        gamma = terms / (1 - terms) + 4 * lost * (1 + lost) + 2.0**-20
        self._half = (self._square / 2 * (1 - gamma)).astype(np.float32)
        given = self._given
        facts = np.zeros(1, POINTS)
        for name in ("values", "largest", "length", "number"):
            facts[name] = getattr(given, name).data.ptr
        facts["square"], facts["half"] = self._square.data.ptr, self._half.data.ptr
        facts["dimensions"] = self.dimensions
        facts["gamma"], facts["unit"] = gamma, factor * factor
        facts["absolute"] = (self.dimensions + 16) * 2.0**-90
        self._points = cupy.asarray(facts.view(np.uint8))

    def _round_to(
        self,
        dtype: np.dtype,
        centre: Any,
        factor: float,
        parts: list[tuple[int, int]],
    ) -> float:
        """Round all points to a type; return the largest share of a length lost."""
        width = -(-self.dimensions // MULTIPLE) * MULTIPLE
        self._factors = cupy.zeros((self.count, width), dtype)
        self._square = cupy.empty(self.count)
        lost = 0.0
        for begin, end in parts:
            exact = (self._plain(begin, end) - centre) * factor
            rounded = exact.astype(dtype)
            self._factors[begin:end, : self.dimensions] = rounded
            rounded = rounded.astype(np.float64)
            square = (rounded * rounded).sum(axis=1)
            self._square[begin:end] = square
            exact -= rounded
            away = cupy.sqrt((exact * exact).sum(axis=1))
            share = cupy.where(away > 0, away / cupy.sqrt(square), 0)
            lost = max(lost, float(share.max()))
        return lost * (1 + 1e-9)

    def _product(self, rows: Any, columns: Any, out: Any) -> None:
        """Multiply some points with others: out[r, c] is the inner product."""
        one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
        kind = 2 if self._factors.dtype == np.float16 else 0  # CUDA_R_16F, CUDA_R_32F
        width = self._factors.shape[1]
        cublas.gemmEx(
            self.device.cublas_handle,
            cublas.CUBLAS_OP_T,
            cublas.CUBLAS_OP_N,
            len(columns),
            len(rows),
            width,
            one.ctypes.data,
            columns.data.ptr,
            kind,
            width,
            rows.data.ptr,
            kind,
            width,
            zero.ctypes.data,
            out.data.ptr,
            0,
            COLUMNS,
            cublas.CUBLAS_COMPUTE_32F,
            cublas.CUBLAS_GEMM_DEFAULT,
        )

    def _tiles(self, rows: Any) -> Iterator[tuple[Any, int, int]]:
        """Multiply some points with all; yield products, first columns, and widths."""
        out = cupy.empty((len(rows), COLUMNS), np.float32)
        for first in range(0, self.count, COLUMNS):
            columns = self._factors[first : first + COLUMNS]
            self._product(rows, columns, out)
            yield out, first, len(columns)

    def nearest(self, k: int, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest`."""
        if k > MOST_NEIGHBOURS:
            raise ConfigError(f"a device lists at most {MOST_NEIGHBOURS} neighbours")
        with self._current():
            distance = cupy.empty((self.count, k))
            places = cupy.empty((self.count, k), np.uint32)
            room = min(ROWS, self.count)
            scores = cupy.empty((room, KEPT), np.float32)
            near = cupy.empty((room, KEPT), np.uint32)
            counts = cupy.empty(room, np.int32)
            thresholds = cupy.empty(room, np.float32)
            lists = scores, near, counts, thresholds
            neighbours = np.int32(k)
            for first in range(0, self.count, ROWS):
                report(first, self.count)
                rows = self._factors[first : first + ROWS]
                counts.fill(0)
                thresholds.fill(-np.inf)
                begin = np.uint32(first)
                for product, column, width in self._tiles(rows):
                    tile = product, np.int32(width), np.int64(COLUMNS), begin
                    given = np.uint32(column), self._points, neighbours
                    self._filter_near((len(rows),), (THREADS,), (*tile, *given, *lists))
                given = begin, self._points, neighbours
                found = distance, places
                self._finish_near((len(rows),), (THREADS,), (*given, *lists, *found))
                cupy.cuda.get_current_stream().synchronize()
            report(self.count, self.count)
            return self._download(distance), self._download(places)

    def lightest(
        self, components: ComponentArrays, asked: np.ndarray, report: Report
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest`."""
        with self._current():
            known = ComponentArrays(*map(self._upload, components))
            facts = np.zeros(1, COMPONENTS)
            for name in COMPONENTS.names or ():
                facts[name] = getattr(known, name).data.ptr
            given = cupy.asarray(facts.view(np.uint8))
            places = cupy.asarray(asked)
            weights = known.bound[known.of_place[places]]
            others = cupy.full(len(asked), NONE)
            for first in range(0, len(asked), ROWS):
                report(first, len(asked))
                rows = self._factors[places[first : first + ROWS]]
                for product, column, width in self._tiles(rows):
                    tile = product, np.int32(width), np.int64(COLUMNS), np.int64(first)
                    more = places, np.uint32(column), self._points, given
                    found = weights, others
                    self._filter_leaving(
                        (len(rows),), (THREADS,), (*tile, *more, *found)
                    )
                cupy.cuda.get_current_stream().synchronize()
            report(len(asked), len(asked))
            components.bound[:] = cupy.asnumpy(known.bound)
            others = cupy.where(others == NONE, places, others)
            return cupy.asnumpy(others), cupy.asnumpy(weights)
