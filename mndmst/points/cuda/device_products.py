"""Points on one CUDA device, searched by matrix products of half precision.

Tensor cores multiply numbers of 16 bits exactly and add products up in float32. A point
is rounded to float16; the length that rounding takes away is measured, so the bound of
`points.search.product_search` holds with it in place of the rounding to float32. Points
whose float16 numbers would be too coarse are sums of three bfloat16 numbers each, whose
six largest products together are as good as one of float32.

The bound of the sums
---------------------
No document says in which order tensor cores add, how many numbers at a time, or how
they round. The bound allows all of this: d products are added up by any tree of
additions of any number of terms; each term of an addition, and its result, loses less
than 2^-23 of the largest magnitude among its terms, rounded or cut off. Such a tree has
at most 2 d - 2 terms and d - 1 results below its root, so a sum is off by less than
3 d 2^-23 / (1 - 3 d 2^-23) times the sum of all magnitudes, and that is at most
|A| |B|. Fasi, Higham, Mikaitis and Pranesh (Numerical behavior of NVIDIA tensor cores,
PeerJ Computer Science 2021) find such trees, of at least this precision, on the V100,
T4 and A100.
A self-test on each device (`_check_sums`) adds up vectors that lose the most by fewer
bits, and refuses the device if one is beyond the bound.

A search runs only kernels of this package: CuPy compiles each of its own on first use.
"""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import cupy
import numpy as np
from cupy.cuda.memory import OutOfMemoryError

from ...backends.base import DeviceMemoryError
from ...backends.cuda.modules import struct_of
from ...backends.cuda.transfer import Transfer
from ...host.errors import ConfigError
from ...host.formatting import size_text
from ...host.memory_costs import DEVICE_LIBRARIES_RESERVE, DEVICE_SEARCH_POINT_BYTES
from ..devices.point_products import (
    MOST_NEIGHBOURS,
    NO_POSITION,
    ComponentArrays,
    PointArrays,
    query_arrays,
)
from .modules import SOURCES, Macros, multiply_macros, type_macros, type_name

CENTRE = 4096  # points whose mean is subtracted from all
# Coordinates of points are scaled to less than 2^HIGHEST, those of queries to less than
# 2^LIMIT.
HIGHEST, LIMIT = 12, 15
SUM_ROUNDING = 3 * 2.0**-23  # loss of each term of a sum, in sums of magnitudes
COARSE = 2.0**-9  # float16 is too coarse if a point loses more of its length
# As in point_products.cu and point_multiply.cu.
CAPACITY, KEPT, THREADS, MULTIPLIERS = 512, 256, 128, 256
# Threads of a block and of a warp, as in point_factors.cu; warps per multiprocessor.
BLOCK, WARP, WARPS = 256, 32, 64
PIECE_BYTES = 16  # of factors, copied by one thread
MULTIPLYING = "filter_near", "filter_leaving", "bound_pairs", "list_pairs"
FACTORING = (
    "find_centre", "find_extent", "round_points", "halve_squares", "fill_floats",
    "gather_factors", "order_terms",
)  # fmt: skip
SHARED_BYTES = cupy.cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
DEPTH, STAGE_BYTES, MOST_STAGES = 64, (128 + 256) * 64 * 2, 4
OLDEST = 80  # compute capability of tensor cores with the instructions of the kernels
# Most and fewest rows of a block, whose lists are in memory together; and the most
# multiplications of a block, after each of which signals are handled.
ROWS, FEWEST_ROWS, WORK = 1 << 16, 1 << 10, 3 << 45
# Columns of the first launch; each later one takes GROWTH times the columns of all
# before it, and at most COLUMNS. Rows with overflowed lists take at most CROWDED, of
# which a list can hold a cluster of an eighth of all points.
FIRST, GROWTH, COLUMNS, CROWDED = 256, 3.0, 1 << 17, 1 << 11
# Devices and numbers of parts whose sums this process has tested.
_TESTED: set[tuple[int, int]] = set()
GIVEN = np.dtype(
    [(n, np.uint64) for n in ("values", "largest", "length", "source")]
    + [(n, np.uint64) for n in ("count", "dimensions", "divided")]
)
SET = np.dtype(
    [(n, np.uint64) for n in ("values", "largest", "length", "source", "point")]
    + [(n, np.uint64) for n in ("square", "half")]
    + [("dimensions", np.int64)]
    + [(n, np.float64) for n in ("gamma", "absolute", "unit")]
)
COMPONENTS = np.dtype([(n, np.uint64) for n in ComponentArrays._fields])
ROWS_OF_LAUNCH = np.dtype(
    [(n, np.uint64) for n in ("positions", "component", "cores", "weights", "ends")]
    + [(n, np.uint64) for n in ("scores", "candidates", "counts", "thresholds")]
    + [("overflowed", np.uint64), ("columns_too", np.int32), ("unused", np.int32)]
)


@dataclass
class DevicePoints:
    """Points on a device: as they were given, and as factors of products."""

    arrays: PointArrays  # arrays on the device
    # uint16, shape (points, parts * width): bits of float16 or bfloat16, padded with
    # zeros
    factors: cupy.ndarray
    square: cupy.ndarray  # float64: squared lengths of the rounded points
    # float32: half of each square, less its part of the bound; for columns only
    half: cupy.ndarray
    lost: float  # largest fraction of its length that a point loses by rounding
    most: float  # largest squared length


@dataclass
class Frame:
    """The centre and the power of two by which points become factors.

    Each factor is a sum of `parts` numbers of lower precision.
    """

    centre: cupy.ndarray | None
    factor: float
    parts: int

    @property
    def pairs(self) -> int:
        """Number of products of parts that add up to one product of factors."""
        return 1 if self.parts == 1 else 6


class DeviceProducts:
    """Points on one device, and the launches that search them.

    Raises DeviceMemoryError if the device has too little memory for the points;
    ConfigError if the device is too old, or no scale suits all points.
    """

    def __init__(self, points: PointArrays, device: int = 0) -> None:
        self.device = cupy.cuda.Device(device)
        if int(self.device.compute_capability) < OLDEST:
            raise ConfigError(
                f"CUDA device {device} has compute capability "
                f"{self.device.compute_capability}; products need {OLDEST} or more"
            )
        self._functions: dict[tuple[int | str, ...], cupy.cuda.Function] = {}
        most = self.device.attributes["MaxSharedMemoryPerBlockOptin"]
        self._stages = min(MOST_STAGES, most // STAGE_BYTES)
        self.shared_bytes = self._stages * STAGE_BYTES
        self.processors = self.device.attributes["MultiProcessorCount"]
        self.absolute = (points.values.shape[1] + 16) * 2.0**-84
        self.count, self.dimensions = len(points.source), points.values.shape[1]
        self.width = -(-self.dimensions // DEPTH) * DEPTH
        with self.current():
            check_room(f"{self.count:,} points take", self.bytes_of(points))
            self._transfer = Transfer()
            self._on_device = self._uploaded(points)
            first = "filter_near", "narrow_near", "round_points"
            self.frame = Frame(None, 1.0, 1)
            SOURCES.load_modules(self._module_of(n, self._on_device) for n in first)
            self._make_frame(0.0)

    def current(self) -> AbstractContextManager[None]:
        """Make the device current; turn its lack of memory into DeviceMemoryError."""
        return current_device(self.device, "the points")

    def bytes_of(self, points: PointArrays) -> int:
        """Return about how many bytes the points and a search take."""
        rows = min(self.count, ROWS)
        lists = rows * (8 * CAPACITY + 16 * MOST_NEIGHBOURS)
        values = (
            0 if isinstance(points.values, cupy.ndarray) else points.values.itemsize
        )
        each = values * self.dimensions + 2 * self.width + DEVICE_SEARCH_POINT_BYTES
        lists += 4 * rows * self.width
        return self.count * each + lists + DEVICE_LIBRARIES_RESERVE

    def _uploaded(self, points: PointArrays) -> PointArrays:
        if len(points.source) < len(points.values):  # one part of several
            chosen, divided = points.source, len(points.length) > 0
            points = PointArrays(
                points.values[chosen],
                points.largest[chosen] if divided else points.largest,
                points.length[chosen] if divided else points.length,
                np.arange(len(chosen), dtype=np.uint32),
                points.point,
            )
        values, largest, length, source = map(self.upload, points[:4])
        same = points.source is points.point
        point = source if same else self.upload(points.point)
        return PointArrays(values, largest, length, source, point)

    def upload(self, column: np.ndarray | cupy.ndarray) -> cupy.ndarray:
        """Return a copy of an array on this device; the array itself if it is there."""
        if isinstance(column, cupy.ndarray):
            on_device = column.device.id == self.device.id
            return cupy.ascontiguousarray(column if on_device else column.copy())
        if column.nbytes == 0:
            return cupy.empty(0)
        return self._transfer.to_device(column.reshape(-1)).reshape(column.shape)

    def download(self, column: cupy.ndarray) -> np.ndarray:
        """Return a copy of an array of this device on the host."""
        return self._transfer.to_host(column.reshape(-1)).reshape(column.shape)

    # ------------------------------------------------------------ factors

    def _make_frame(self, largest: float) -> None:
        """Choose the frame, for coordinates up to `largest` from its centre."""
        centre = cupy.empty(self.dimensions)
        self._run_factors(
            "find_centre",
            BLOCK * -(-self.dimensions // WARP),
            _struct_of_first(self._on_device, min(CENTRE, self.count)),
            centre,
        )
        largest = max(largest, self._extent(self._on_device, centre))
        factor = 1.0
        if largest > 0:
            factor = math.ldexp(1.0, HIGHEST - math.frexp(largest)[1])
        for parts in (1, 3):
            self.frame = Frame(centre, factor, parts)
            self.points = self._rounded(self._on_device)
            if self.points.lost < COARSE:
                break
        else:
            raise ConfigError("coordinates span too many powers of ten for products")
        self._check_sums()
        self._set_bound()

    def _extent(self, points: PointArrays, centre: cupy.ndarray | None) -> float:
        """Return the largest difference of a coordinate from the centre's."""
        extent = cupy.zeros(1, np.uint64)
        self._run_on_points("find_extent", points, centre, extent)
        return float(cupy.asnumpy(extent).view(np.float64)[0])

    def _rounded(self, points: PointArrays) -> DevicePoints:
        """Return points as factors, by the current frame."""
        frame, count = self.frame, len(points.source)
        factors = cupy.empty((count, frame.parts * self.width), np.uint16)
        square, extremes = cupy.empty(count), cupy.zeros(2, np.uint64)
        self._run_on_points(
            "round_points",
            points,
            frame.centre,
            np.float64(frame.factor),
            np.int32(frame.parts),
            np.uint64(self.width),
            factors,
            square,
            extremes,
        )
        lost, most = map(float, cupy.asnumpy(extremes).view(np.float64))
        none = cupy.empty(0, np.float32)
        return DevicePoints(points, factors, square, none, lost * (1 + 1e-9), most)

    def _set_bound(self) -> None:
        """Compute the bound of sums, and the columns' part of it."""
        points = self.points
        terms = self._sum_bound(self.dimensions)
        gamma = terms / (1 - terms) + 4 * points.lost * (1 + points.lost) + 2.0**-20
        points.half = cupy.empty(self.count, np.float32)
        count, factor = np.uint64(self.count), np.float64(1 - gamma)
        self._run_factors(
            "halve_squares", self.count, points.square, count, factor, points.half
        )
        self.gamma = gamma
        self.struct = self.struct_of_points(points)

    def _sum_bound(self, dimensions: int) -> float:
        # The parts of a coordinate have slightly larger magnitudes than the coordinate.
        return 1.02 * self.frame.pairs * (dimensions + DEPTH) * SUM_ROUNDING

    def struct_of_points(self, points: DevicePoints) -> cupy.ndarray:
        """Return the struct of points for kernels."""
        columns = {**points.arrays._asdict(), "square": points.square}
        return struct_of(
            SET,
            {**columns, "half": points.half},
            dimensions=self.dimensions,
            gamma=self.gamma,
            absolute=self.absolute,
            unit=self.frame.factor**2,
        )

    def queries(self, values: np.ndarray, point: np.ndarray) -> DevicePoints:
        """Return points that are not columns; extend the bound to cover them."""
        uploaded = self._uploaded(query_arrays(values, point))
        extent = self._extent(uploaded, self.frame.centre)
        if extent * self.frame.factor >= 2.0**LIMIT:
            self._make_frame(extent)
        while True:
            queries = self._rounded(uploaded)
            if queries.lost <= self.points.lost:
                return queries
            if queries.lost < COARSE:
                self.points.lost = queries.lost
                self._set_bound()
                return queries
            if self.frame.parts == 3:
                raise ConfigError("coordinates span too many powers of ten")
            self.frame.parts = 3
            self.points = self._rounded(self._on_device)
            self._check_sums()
            self._set_bound()

    # ------------------------------------------------------------ launches

    def kernel(self, name: str, queries: PointArrays) -> "cupy.cuda.Function":
        """Return a kernel for the types of the columns and of the queries."""
        file, macros = self._module_of(name, queries)
        key = name, *macros.values()
        if key not in self._functions:
            function = SOURCES.load_module(file, macros).get_function(name)
            if name in MULTIPLYING:
                cupy.cuda.driver.funcSetAttribute(
                    function.ptr, SHARED_BYTES, self.shared_bytes
                )
            self._functions[key] = function
        return self._functions[key]

    def _module_of(self, name: str, queries: PointArrays) -> tuple[str, Macros]:
        """Return the file of a kernel, and its macros."""
        if name in MULTIPLYING:
            factor = "f16" if self.frame.parts == 1 else "bf16"
            macros = multiply_macros(factor, self.frame.parts, self._stages)
            return "point_multiply", macros
        both = self._on_device, queries
        value, query = (type_name(p.values.dtype) for p in both)
        if name in FACTORING:
            return "point_factors", {"VALUE": query}
        divided, query_divided = (int(len(p.length) > 0) for p in both)
        return "point_products", type_macros(value, divided, query, query_divided)

    def _run_factors(self, name: str, threads: int, *arguments: object) -> None:
        """Run a kernel of `point_factors` that reads no queries."""
        self._launch(name, threads, self._on_device, *arguments)

    def _run_on_points(
        self, name: str, points: PointArrays, *arguments: object
    ) -> None:
        """Run a kernel whose warps take points in turn."""
        count = len(points.source)
        threads = WARP * min(count, WARPS * self.processors)
        struct = _struct_of_first(points, count)
        self._launch(name, threads, points, struct, *arguments)

    def _launch(
        self, name: str, threads: int, points: PointArrays, *arguments: object
    ) -> None:
        self.kernel(name, points)((-(-threads // BLOCK),), (BLOCK,), arguments)

    def filled(self, shape: tuple[int, ...], number: float) -> cupy.ndarray:
        """Return an array filled with a float32 number."""
        array = cupy.empty(shape, np.float32)
        size = np.uint64(array.size)
        self._run_factors("fill_floats", array.size, array, size, np.float32(number))
        return array

    def factors_of(self, points: DevicePoints, positions: cupy.ndarray) -> cupy.ndarray:
        """Return the factors at some positions, in their order."""
        factors = cupy.empty((len(positions), points.factors.shape[1]), np.uint16)
        count, pieces = len(positions), factors.shape[1] * 2 // PIECE_BYTES
        self._run_factors(
            "gather_factors",
            count * pieces,
            points.factors,
            positions,
            np.uint64(count),
            np.uint64(pieces),
            factors,
        )
        return factors

    def terms_of(
        self,
        points: DevicePoints,
        positions: cupy.ndarray,
        cores: cupy.ndarray,
        *numbers: float,
    ) -> tuple[cupy.ndarray, cupy.ndarray]:
        """Return terms and squared core distances; see the kernel `order_terms`."""
        count = len(positions)
        term, core = (cupy.empty(count, np.float32) for _ in range(2))
        self._run_factors(
            "order_terms",
            count,
            positions,
            np.uint64(count),
            points.square,
            cores,
            *map(np.float64, numbers),
            term,
            core,
        )
        return term, core

    def rows_at_once(self) -> int:
        """Return the number of rows of a block, after which signals are handled."""
        each = max(self.count, 1) * self.width * self.frame.pairs
        return max(FEWEST_ROWS, min(ROWS, WORK // each // 128 * 128))

    def _attempts(self, k: int) -> Iterator[Iterator[tuple[int, int]]]:
        """Yield launches for all rows, then for rows whose lists have overflowed.

        A row in a dense cluster far from the centre has all of the cluster within its
        error bound. So such rows take fewer columns at a time, and the last of them no
        more than a list can hold.
        """
        for most in (COLUMNS, CROWDED):
            yield self._launches(k, most)
        size, count = CAPACITY - KEPT, self.count
        while True:
            yield ((b, min(b + size, count)) for b in range(0, count, size))

    def _launches(self, k: int, most: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of at most `most` columns, for lists that keep k candidates."""
        growth = min(GROWTH, max((0.7 * CAPACITY - k) / (1.2 * k), 0.25))
        begin, size = 0, FIRST if 2 * k < FIRST else CAPACITY
        while begin < self.count:
            end = min(begin + size, self.count)
            yield begin, end
            begin, size = end, min(int(growth * end), most)

    def _search(
        self,
        queries: DevicePoints,
        rows: "CandidateLists",
        kind: str,
        launches: Iterator[tuple[int, int]],
        *arguments: object,
    ) -> None:
        """Multiply rows with all columns, and narrow their lists.

        The kernels are those named `kind`; the second takes `arguments`, and so does
        the first if `kind` is "leaving".
        """
        multiply = self.kernel(f"filter_{kind}", queries.arrays)
        narrow = self.kernel(f"narrow_{kind}", queries.arrays)
        structs = self._structs(queries, rows)
        factors, width = self.points.factors, np.int32(self.width)
        row_factors = self._factors_of_rows(queries, rows)
        more = arguments if kind == "leaving" else ()
        for begin, end in launches:
            sizes = np.int32(len(row_factors)), np.int32(end - begin), width
            first, half = np.uint32(begin), self.points.half
            columns = factors[begin:end]
            given = row_factors, columns, *sizes, first, half, rows.struct, *more
            shared = self.shared_bytes
            multiply((self.processors,), (MULTIPLIERS,), given, shared_mem=shared)
            narrow((len(row_factors),), (THREADS,), (*structs, *arguments))

    def _structs(
        self, queries: DevicePoints, rows: "CandidateLists"
    ) -> tuple[cupy.ndarray, cupy.ndarray, cupy.ndarray]:
        """Return the structs of the columns, of the queries and of the rows."""
        same = queries is self.points
        of_queries = self.struct if same else self.struct_of_points(queries)
        return self.struct, of_queries, rows.struct

    def _factors_of_rows(
        self, queries: DevicePoints, rows: "CandidateLists"
    ) -> cupy.ndarray:
        """Return the factors of rows; no copy if the rows are consecutive."""
        first, last = int(rows.ascending[0]), int(rows.ascending[-1])
        if last - first + 1 == len(rows.ascending):
            return queries.factors[first : last + 1]
        return self.factors_of(queries, rows.positions)

    def _lists_of(
        self, queries: DevicePoints, positions: np.ndarray
    ) -> "CandidateLists":
        thresholds = self.filled((len(positions),), -np.inf)
        return CandidateLists(positions, thresholds, queries is self.points)

    def nearest_of(
        self,
        queries: DevicePoints,
        positions: np.ndarray,
        k: int,
        limits: np.ndarray | None = None,
    ) -> tuple[cupy.ndarray, cupy.ndarray]:
        """Return the k nearest points of a block of queries, on the device.

        `queries` are the columns themselves, or points that are not among them;
        `positions` (uint32) are among the queries, and ascend. Points beyond the
        squared distances `limits` need not be found.
        """
        distance = cupy.empty((len(positions), k))
        nearest = cupy.empty((len(positions), k), np.uint32)
        remaining = np.arange(len(positions), dtype=np.uint32)
        for launches in self._attempts(k):
            rows = self._lists_of(queries, positions[remaining])
            structs = self._structs(queries, rows)
            if limits is not None:
                within, count = (
                    cupy.asarray(limits[remaining]),
                    np.int32(len(remaining)),
                )
                self.kernel("limit_near", queries.arrays)(
                    (-(-len(remaining) // THREADS),),
                    (THREADS,),
                    (*structs, count, within),
                )
            self._search(queries, rows, "near", launches, np.int32(k))
            self.kernel("finish_near", queries.arrays)(
                (len(remaining),),
                (THREADS,),
                (*structs, np.int32(k), cupy.asarray(remaining), distance, nearest),
            )
            remaining = remaining[rows.overflowed.get() != 0]
            if len(remaining) == 0:
                break
        return distance, nearest

    def lightest_of(
        self,
        queries: DevicePoints,
        positions: np.ndarray,
        component: cupy.ndarray,
        cores: cupy.ndarray,
        of_columns: ComponentArrays,
        bound: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the far ends and weights of the lightest edges of a block of queries.

        `component` and `cores` are the queries', `of_columns` the columns'. `bound` is
        by row, in addition to the bounds of components.
        """
        components = struct_of(COMPONENTS, of_columns._asdict())
        weights, ends = bound.copy(), np.full(len(positions), NO_POSITION)
        remaining = np.arange(len(positions))
        for launches in self._attempts(1):
            rows = self._lists_of(queries, positions[remaining])
            row_weights = cupy.asarray(weights[remaining])
            row_ends = cupy.asarray(ends[remaining])
            rows.set(
                component=component, cores=cores, weights=row_weights, ends=row_ends
            )
            # Without candidates, the kernel lowers the weights to the components'
            # bounds, and sets thresholds.
            self.kernel("narrow_leaving", queries.arrays)(
                (len(remaining),),
                (THREADS,),
                (*self._structs(queries, rows), components),
            )
            self._search(queries, rows, "leaving", launches, components)
            weights[remaining], ends[remaining] = row_weights.get(), row_ends.get()
            remaining = remaining[rows.overflowed.get() != 0]
            if len(remaining) == 0:
                break
        return ends, weights

    def _check_sums(self) -> None:
        """Raise ConfigError if sums of products are further off than the bound.

        A process tests a device once for each number of parts.
        """
        tested = self.device.id, self.frame.parts
        if tested in _TESTED:
            return
        width = 4 * DEPTH
        vectors = _hard_sums(np.random.default_rng(1), width)
        # Rounded to the precision of factors, whose products are exact in float64.
        rounded = _half if self.frame.parts == 1 else _bfloat
        left, right = map(rounded, vectors)
        count = len(left[0])

        def factors_of(bits: np.ndarray) -> cupy.ndarray:
            factors = np.zeros((count, self.frame.parts, width), np.uint16)
            factors[:, 0] = bits
            return cupy.asarray(factors.reshape(count, -1))

        thresholds = self.filled((count,), -np.inf)
        lists = CandidateLists(np.arange(count, dtype=np.uint32), thresholds, False)
        half = cupy.zeros(count, np.float32)
        sizes = np.int32(count), np.int32(count), np.int32(width), np.uint32(0)
        factors = factors_of(left[0]), factors_of(right[0])
        self.kernel("filter_near", self._on_device)(
            (1,),
            (MULTIPLIERS,),
            (*factors, *sizes, half, lists.struct),
            shared_mem=self.shared_bytes,
        )
        sums = np.full((count, count), np.nan)
        candidates, scores = lists.candidates.get(), lists.scores.get()
        for row in range(count):
            sums[row, candidates[row, :count]] = scores[row, :count]
        exact = left[1] @ right[1].T
        magnitude = abs(left[1]) @ abs(right[1]).T
        terms = width * SUM_ROUNDING
        excess = abs(sums - exact) - terms / (1 - terms) * magnitude
        if not (excess <= 0).all():
            raise ConfigError(
                f"CUDA device {self.device.id} adds up products with fewer bits than "
                "float32 has"
            )
        _TESTED.add(tested)


class CandidateLists:
    """The rows of a block, and the lists of their candidates.

    `positions` are the rows' positions among the queries, ascending; `thresholds` are
    on the device. `columns_too` says whether the queries are the columns: then a row is
    not its own candidate.
    """

    def __init__(
        self, positions: np.ndarray, thresholds: cupy.ndarray, columns_too: bool
    ) -> None:
        rows = len(positions)
        self.ascending, self.positions = positions, cupy.asarray(positions)
        self.scores = cupy.empty((rows, CAPACITY), np.float32)
        self.candidates = cupy.empty((rows, CAPACITY), np.uint32)
        self.overflowed = cupy.zeros(rows, np.int32)
        self._columns: dict[str, cupy.ndarray] = {}
        self._columns_too = int(columns_too)
        self.set(
            positions=self.positions,
            scores=self.scores,
            candidates=self.candidates,
            counts=cupy.zeros(rows, np.int32),
            thresholds=thresholds,
            overflowed=self.overflowed,
        )

    def set(self, **columns: cupy.ndarray) -> None:
        """Set arrays of the struct that kernels read."""
        self._columns = {**self._columns, **columns}  # keeps the arrays alive
        self.struct = struct_of(
            ROWS_OF_LAUNCH, self._columns, columns_too=self._columns_too
        )


@contextmanager
def current_device(device: cupy.cuda.Device, what: str) -> Iterator[None]:
    """Make a device current; raise DeviceMemoryError if it lacks memory for `what`."""
    try:
        with device:
            yield
    except OutOfMemoryError as error:
        cupy.get_default_memory_pool().free_all_blocks()
        raise DeviceMemoryError(
            f"CUDA device {device.id} has too little free memory for {what} ({error})"
        ) from error


def check_room(purpose: str, needed: int) -> None:
    """Raise DeviceMemoryError if the current device has fewer free bytes than needed.

    The message says the `purpose`, such as "8 points take".
    """
    free = free_bytes()
    if needed > free:
        device = cupy.cuda.Device().id
        raise DeviceMemoryError(
            f"CUDA device {device} has {size_text(free)} free, and {purpose} "
            f"{size_text(needed)}"
        )


def free_bytes() -> int:
    """Return the free bytes of the current device."""
    pool = cupy.get_default_memory_pool()
    return int(cupy.cuda.runtime.memGetInfo()[0]) + pool.free_bytes()


def _struct_of_first(points: PointArrays, count: int) -> cupy.ndarray:
    """Return the struct of the first `count` points for kernels of `point_factors`."""
    columns = points._asdict()
    del columns["point"]
    return struct_of(
        GIVEN,
        columns,
        count=count,
        dimensions=points.values.shape[1],
        divided=len(points.length) > 0,
    )


def _half(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers rounded to float16: their bits, and themselves."""
    rounded = values.astype(np.float16)
    return rounded.view(np.uint16), rounded.astype(np.float64)


def _bfloat(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers rounded to bfloat16: their bits, and themselves."""
    whole = values.astype(np.float32).view(np.uint32)
    bits = (whole + np.uint32(0x7FFF) + (whole >> 16 & 1)) >> 16
    return bits.astype(np.uint16), (bits << 16).view(np.float32).astype(np.float64)


def _hard_sums(r: np.random.Generator, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of vectors whose products lose most if few bits are added up."""
    count = 64
    sign = r.choice([-1.0, 1.0], (2, count, width))
    a, b = (
        sign
        * 2.0 ** r.integers(-7, 4, (2, count, width))
        * r.uniform(1, 2, (2, count, width))
    )
    # One large product, and small ones that sums with few bits would lose.
    for row in range(count // 2):
        small = 2.0 ** -(6 + row % 8)
        a[row], b[row] = small, small
        a[row, row * 7 % width], b[row, row * 7 % width] = 8, 8
    # Large products that cancel, at any index.
    for row in range(0, count // 2, 3):
        one, other = r.choice(width, 2, replace=False)
        a[row, one], a[row, other], b[row, one], b[row, other] = 512, -512, 64, 64
    return a, b
