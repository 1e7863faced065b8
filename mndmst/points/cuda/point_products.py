"""Points on CUDA devices, searched by matrix products of half precision.

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
PeerJ Computer Science 2021) find such trees on the V100, T4 and A100, with no bit less.
A self-test on each device (`_check_sums`) adds up vectors that lose the most by fewer
bits, and refuses the device if one is beyond the bound.

A search runs kernels of this package only: CuPy compiles each of its own on first use.
"""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import Any

import cupy
import numpy as np
from cupy.cuda.memory import OutOfMemoryError

from ...backends.base import DeviceMemoryError
from ...backends.cuda.modules import struct_of
from ...backends.cuda.transfer import Transfer
from ...host.errors import ConfigError
from ...host.formatting import size_text
from ...host.memory_costs import DEVICE_LIBRARIES_RESERVE, DEVICE_SEARCH_POINT_BYTES
from ..devices.component_pairs import (
    FILLED,
    MOST,
    listed_pairs,
    order_by_component,
    possible_pairs,
)
from ..devices.point_products import (
    MOST_NEIGHBOURS,
    NO_POSITION,
    ComponentArrays,
    EdgesBetween,
    PointArrays,
    PointExchange,
    RemoteQueries,
    Report,
    query_arrays,
)
from .component_pairs import ComponentPairs
from .modules import (
    SOURCES,
    Macros,
    multiply_macros,
    type_macros,
)

CENTRE = 4096  # points whose mean is subtracted from all
# The largest coordinate is scaled to less than 2^HIGHEST, those of queries to less than
# 2^LIMIT.
HIGHEST, LIMIT = 12, 15
SUM_ROUNDING = 3 * 2.0**-23  # of the sum of magnitudes, lost by each term of a sum
COARSE = 2.0**-9  # float16 is too coarse if a point loses more of its length
# As in point_products.cu and point_multiply.cu.
CAPACITY, KEPT, THREADS, MULTIPLIERS = 512, 256, 128, 256
# Threads of a block and of a warp, as in point_factors.cu; warps of a multiprocessor
# that take points in turn.
BLOCK, WARP, WARPS = 256, 32, 64
PIECE_BYTES = 16  # of factors that a thread copies
MULTIPLYING = "filter_near", "filter_leaving", "bound_pairs", "list_pairs"
FACTORING = (
    "find_centre", "find_extent", "round_points", "halve_squares", "fill_floats",
    "gather_factors", "order_terms",
)  # fmt: skip
SHARED_BYTES = cupy.cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
DEPTH, STAGE_BYTES, MOST_STAGES = 64, (128 + 256) * 64 * 2, 4
OLDEST = 80  # compute capability of tensor cores with the instructions of the kernels
# Rows whose lists are in memory at once, at most; and multiplications of one block of
# rows, between which Ctrl-C is heard.
ROWS, FEWEST_ROWS, WORK = 1 << 16, 1 << 10, 3 << 45
# Columns of the first launch; then each sees GROWTH times the columns of all before it.
# Rows whose lists overflow see one of SHARES of all columns at a time.
FIRST, GROWTH, COLUMNS, SHARES = 256, 3.0, 1 << 17, 16
POLL = 0.1  # seconds between two looks for Ctrl-C
# Devices, and numbers of parts, of which this process has tested the sums.
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
    [(n, np.uint64) for n in ("positions", "component", "cores", "weights", "others")]
    + [(n, np.uint64) for n in ("scores", "candidates", "counts", "thresholds")]
    + [("overflowed", np.uint64), ("columns_too", np.int32), ("unused", np.int32)]
)


@dataclass
class DevicePoints:
    """Points on a device: as given, and as factors of products."""

    arrays: PointArrays
    # uint16, shape (points, parts * width): bits of float16 or bfloat16, padded with
    # zeros
    factors: Any
    square: Any  # float64: squared lengths of the rounded points
    half: Any  # float32: half of each, less its part of the bound; of columns alone
    lost: float  # the largest fraction of its length that a point loses by rounding
    most: float  # the largest squared length


@dataclass
class Frame:
    """The centre and the power of two by which points become factors.

    Each factor is a sum of `parts` numbers of lower precision.
    """

    centre: Any
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
        self._functions: dict[tuple[int | str, ...], Any] = {}
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
            self._given = self._uploaded(points)
            usual = "filter_near", "narrow_near", "round_points"
            self.frame = Frame(None, 1.0, 1)
            SOURCES.load_modules(self._module_of(name, self._given) for name in usual)
            self._make_frame(0.0)

    def current(self) -> AbstractContextManager[None]:
        """Make the device current; turn its lack of memory into DeviceMemoryError."""
        return current_device(self.device, "the points")

    def bytes_of(self, points: PointArrays) -> int:
        """Return about how much memory the points and a search take."""
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
        numbers = source if same else self.upload(points.point)
        return PointArrays(values, largest, length, source, numbers)

    def upload(self, column: Any) -> Any:
        """Return an array on this device; itself if it is there."""
        if isinstance(column, cupy.ndarray):
            here = column.device.id == self.device.id
            return cupy.ascontiguousarray(column if here else column.copy())
        if column.nbytes == 0:
            return cupy.empty(0)
        return self._transfer.to_device(column.reshape(-1)).reshape(column.shape)

    def download(self, column: Any) -> np.ndarray:
        """Return an array of this device on the host."""
        return self._transfer.to_host(column.reshape(-1)).reshape(column.shape)

    # ------------------------------------------------------------ factors

    def _make_frame(self, largest: float) -> None:
        """Round all points, by a frame for coordinates up to a size from the centre."""
        given = self._given
        centre = cupy.empty(self.dimensions)
        self._run_factors(
            "find_centre",
            BLOCK * -(-self.dimensions // WARP),
            _given(given, min(CENTRE, self.count)),
            centre,
        )
        largest = max(largest, self._extent(given, centre))
        factor = 1.0
        if largest > 0:
            factor = math.ldexp(1.0, HIGHEST - math.frexp(largest)[1])
        for parts in (1, 3):
            self.frame = Frame(centre, factor, parts)
            self.points = self._rounded(given)
            if self.points.lost < COARSE:
                break
        else:
            raise ConfigError("coordinates span too many powers of ten for products")
        self._check_sums()
        self._set_bound()

    def _extent(self, given: PointArrays, centre: Any) -> float:
        """Return the largest distance of a coordinate from the centre's."""
        extent = cupy.zeros(1, np.uint64)
        self._run_on_points("find_extent", given, centre, extent)
        return float(cupy.asnumpy(extent).view(np.float64)[0])

    def _rounded(self, given: PointArrays) -> DevicePoints:
        """Return points as factors, by the present frame."""
        frame, count = self.frame, len(given.source)
        factors = cupy.empty((count, frame.parts * self.width), np.uint16)
        square, extremes = cupy.empty(count), cupy.zeros(2, np.uint64)
        self._run_on_points(
            "round_points",
            given,
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
        return DevicePoints(given, factors, square, none, lost * (1 + 1e-9), most)

    def _set_bound(self) -> None:
        """Compute the columns' part of the bound."""
        points = self.points
        terms = self._sum_bound(self.dimensions)
        gamma = terms / (1 - terms) + 4 * points.lost * (1 + points.lost) + 2.0**-20
        points.half = cupy.empty(self.count, np.float32)
        count, factor = np.uint64(self.count), np.float64(1 - gamma)
        self._run_factors(
            "halve_squares", self.count, points.square, count, factor, points.half
        )
        self.gamma = gamma
        self.facts = self.set_of(points)

    def _sum_bound(self, dimensions: int) -> float:
        # The parts of a coordinate have a little more magnitude than itself.
        return 1.02 * self.frame.pairs * (dimensions + DEPTH) * SUM_ROUNDING

    def set_of(self, points: DevicePoints) -> Any:
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

    def queries(self, points: np.ndarray, numbers: np.ndarray) -> DevicePoints:
        """Return points that are not among the columns; the bound covers them, too."""
        given = self._uploaded(query_arrays(points, numbers))
        size = self._extent(given, self.frame.centre)
        if size * self.frame.factor >= 2.0**LIMIT:
            self._make_frame(size)
        while True:
            queries = self._rounded(given)
            if queries.lost <= self.points.lost:
                return queries
            if queries.lost < COARSE:
                self.points.lost = queries.lost
                self._set_bound()
                return queries
            if self.frame.parts == 3:
                raise ConfigError("coordinates span too many powers of ten")
            self.frame.parts = 3
            self.points = self._rounded(self._given)
            self._check_sums()
            self._set_bound()

    # ------------------------------------------------------------ launches

    def kernel(self, name: str, queries: PointArrays) -> Any:
        """Return a kernel for the columns and for queries of some type."""
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
        given = self._given, queries
        value, query = (
            "float" if p.values.dtype == np.float32 else "double" for p in given
        )
        if name in FACTORING:
            return "point_factors", {"VALUE": query}
        divided, query_divided = (int(len(p.length) > 0) for p in given)
        return "point_products", type_macros(value, divided, query, query_divided)

    def _run_factors(self, name: str, threads: int, *arguments: Any) -> None:
        """Run a kernel of `point_factors` that reads no points of queries."""
        self._launch(name, threads, self._given, *arguments)

    def _run_on_points(self, name: str, given: PointArrays, *arguments: Any) -> None:
        """Run a kernel whose warps take points in turn."""
        count = len(given.source)
        threads = WARP * min(count, WARPS * self.processors)
        self._launch(name, threads, given, _given(given, count), *arguments)

    def _launch(
        self, name: str, threads: int, given: PointArrays, *arguments: Any
    ) -> None:
        self.kernel(name, given)((-(-threads // BLOCK),), (BLOCK,), arguments)

    def filled(self, shape: tuple[int, ...], number: float) -> Any:
        """Return an array of one float32 number."""
        array = cupy.empty(shape, np.float32)
        size = np.uint64(array.size)
        self._run_factors("fill_floats", array.size, array, size, np.float32(number))
        return array

    def factors_of(self, points: DevicePoints, positions: Any) -> Any:
        """Return the factors of some positions, in their order."""
        rows = cupy.empty((len(positions), points.factors.shape[1]), np.uint16)
        count, pieces = len(positions), rows.shape[1] * 2 // PIECE_BYTES
        self._run_factors(
            "gather_factors",
            count * pieces,
            points.factors,
            positions,
            np.uint64(count),
            np.uint64(pieces),
            rows,
        )
        return rows

    def terms_of(
        self, points: DevicePoints, positions: Any, cores: Any, *numbers: float
    ) -> tuple[Any, Any]:
        """Return terms and cores of some positions, in order; see `order_terms`."""
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
        """Return the number of rows that are searched between two checks for Ctrl-C."""
        each = max(self.count, 1) * self.width * self.frame.pairs
        return max(FEWEST_ROWS, min(ROWS, WORK // each // 128 * 128))

    def _attempts(self, k: int) -> Iterator[Iterator[tuple[int, int]]]:
        """Yield launches for all rows, then for rows whose lists have overflowed.

        Such rows see fewer columns at a time: first a share of all, which suits rows
        with several thousand columns within the error bound of their neighbours, and
        then no more columns than a list has room for.
        """
        yield self._launches(k, COLUMNS)
        yield self._launches(k, max(self.count // SHARES, FIRST))
        while True:
            yield _steps(self.count, CAPACITY - KEPT)

    def _launches(self, k: int, most: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of at most `most` columns, to be listed beside k candidates."""
        growth = min(GROWTH, max((0.7 * CAPACITY - k) / (1.2 * k), 0.25))
        begin, size = 0, FIRST if 2 * k < FIRST else CAPACITY
        while begin < self.count:
            end = min(begin + size, self.count)
            yield begin, end
            begin, size = end, min(int(growth * end), most)

    def _search(
        self,
        search: "BlockSearch",
        launches: Iterator[tuple[int, int]],
        more: Sequence[Any] = (),
    ) -> None:
        """Multiply the rows of a search with all columns, and narrow their lists."""
        factors, width = self.points.factors, np.int32(self.width)
        multiply, narrow = search.kernels
        shared = self.shared_bytes
        rows = self._rows_of(search)
        for begin, end in launches:
            columns = factors[begin:end]
            sizes = np.int32(len(rows)), np.int32(end - begin), width
            first = np.uint32(begin)
            half = self.points.half
            given = (rows, columns, *sizes, first, half, search.facts, *more)
            multiply((self.processors,), (MULTIPLIERS,), given, shared_mem=shared)
            narrow(
                (len(rows),),
                (THREADS,),
                (self.facts, search.query_facts, search.facts, *search.arguments),
            )

    def _rows_of(self, search: "BlockSearch") -> Any:
        """Return the factors of a search's rows; no copy if these lie side by side."""
        first, last = int(search.ascending[0]), int(search.ascending[-1])
        if last - first + 1 == len(search.ascending):
            return search.queries.factors[first : last + 1]
        return self.factors_of(search.queries, search.positions)

    def nearest_of(
        self,
        queries: DevicePoints,
        positions: np.ndarray,
        k: int,
        limits: np.ndarray | None = None,
    ) -> tuple[Any, Any]:
        """Return the k nearest points of a block of queries, on the device.

        `queries` are the columns themselves, or points that are not among them;
        `positions` (uint32) are among the queries, and ascend. No point is looked for
        beyond the squared distances `limits`.
        """
        distance = cupy.empty((len(positions), k))
        found = cupy.empty((len(positions), k), np.uint32)
        slots = np.arange(len(positions), dtype=np.uint32)
        for launches in self._attempts(k):
            search = self._block(queries, positions[slots], "near", np.int32(k))
            given = self.facts, search.query_facts, search.facts
            if limits is not None:
                within, rows = cupy.asarray(limits[slots]), np.int32(len(slots))
                self.kernel("limit_near", queries.arrays)(
                    (-(-len(slots) // THREADS),), (THREADS,), (*given, rows, within)
                )
            self._search(search, launches)
            self.kernel("finish_near", queries.arrays)(
                (len(slots),),
                (THREADS,),
                (*given, np.int32(k), cupy.asarray(slots), distance, found),
            )
            slots = slots[search.overflowed.get() != 0]
            if len(slots) == 0:
                break
        return distance, found

    def lightest_of(
        self,
        queries: DevicePoints,
        positions: np.ndarray,
        component: Any,
        cores: Any,
        known: ComponentArrays,
        bound: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the lightest edges of a block of queries: far ends and weights.

        `known` are the columns' components; `bound` is by row, beside the bounds of
        components.
        """
        given = struct_of(COMPONENTS, known._asdict())
        weights, others = bound.copy(), np.full(len(positions), NO_POSITION)
        slots = np.arange(len(positions))
        for launches in self._attempts(1):
            search = self._block(queries, positions[slots], "leaving", given)
            light, ends = cupy.asarray(weights[slots]), cupy.asarray(others[slots])
            search.set(component=component, cores=cores, weights=light, others=ends)
            narrow = search.kernels[1]
            begun = self.facts, search.query_facts, search.facts, given
            # Without candidates: takes bounds of components, and sets thresholds.
            narrow((len(slots),), (THREADS,), begun)
            self._search(search, launches, (given,))
            weights[slots], others[slots] = light.get(), ends.get()
            slots = slots[search.overflowed.get() != 0]
            if len(slots) == 0:
                break
        return others, weights

    def _block(
        self, queries: DevicePoints, positions: np.ndarray, kind: str, *arguments: Any
    ) -> "BlockSearch":
        kernels = (
            self.kernel(f"filter_{kind}", queries.arrays),
            self.kernel(f"narrow_{kind}", queries.arrays),
        )
        facts = self.facts if queries is self.points else self.set_of(queries)
        thresholds, same = (
            self.filled((len(positions),), -np.inf),
            queries is self.points,
        )
        return BlockSearch(
            queries, facts, positions, thresholds, kernels, arguments, same
        )

    def _check_sums(self) -> None:
        """Raise ConfigError if sums of products are further off than the bound.

        A process tests a device once for each number of parts.
        """
        tested = self.device.id, self.frame.parts
        if tested in _TESTED:
            return
        r = np.random.default_rng(1)
        width = 4 * DEPTH
        a, b = _hard_sums(r, width)
        # Rounded to the present factors, whose products are exact in float64.
        half = self.frame.parts == 1
        left, right = (_half(x) if half else _bfloat(x) for x in (a, b))
        products = copy(self)
        products.count, products.dimensions, products.width = len(b), width, width
        products.gamma = 0.0
        none, index = cupy.empty(0), np.arange(len(b), dtype=np.uint32)

        def of(bits: np.ndarray) -> DevicePoints:
            factors = np.zeros((len(b), self.frame.parts, width), np.uint16)
            factors[:, 0] = bits
            values, positions = self._given.values[:0], cupy.asarray(index)
            arrays = PointArrays(values, none, none, positions, positions)
            zero, half = cupy.zeros(len(b)), cupy.zeros(len(b), np.float32)
            flat = cupy.asarray(factors.reshape(len(b), -1))
            return DevicePoints(arrays, flat, zero, half, 0.0, 0.0)

        products.points = of(right[0])
        products.facts = products.set_of(products.points)
        search = products._block(of(left[0]), index, "near", np.int32(1))
        multiply = search.kernels[0]
        sizes = np.int32(len(b)), np.int32(len(b)), np.int32(width), np.uint32(0)
        multiply(
            (1,),
            (MULTIPLIERS,),
            (
                search.queries.factors,
                products.points.factors,
                *sizes,
                products.points.half,
                search.facts,
            ),
            shared_mem=self.shared_bytes,
        )
        found = np.full((len(b), len(b)), np.nan)
        candidates, scores = search.candidates.get(), search.scores.get()
        for row in range(len(b)):
            found[row, candidates[row, : len(b)]] = scores[row, : len(b)]
        exact = left[1] @ right[1].T
        magnitude = abs(left[1]) @ abs(right[1]).T
        terms = width * SUM_ROUNDING
        off = abs(found - exact) - terms / (1 - terms) * magnitude
        if not (off <= 0).all():
            raise ConfigError(
                f"CUDA device {self.device.id} adds up products with fewer bits than "
                "float32 has"
            )
        _TESTED.add(tested)


class BlockSearch:
    """A block of rows in search: their positions, lists and kernels."""

    def __init__(
        self,
        queries: DevicePoints,
        query_facts: Any,
        positions: np.ndarray,
        thresholds: Any,
        kernels: tuple[Any, Any],
        arguments: tuple[Any, ...],
        columns_too: bool,
    ) -> None:
        self.queries, self.query_facts, self.kernels = queries, query_facts, kernels
        self.arguments = arguments
        rows = len(positions)
        self.ascending, self.positions = positions, cupy.asarray(positions)
        self.scores = cupy.empty((rows, CAPACITY), np.float32)
        self.candidates = cupy.empty((rows, CAPACITY), np.uint32)
        self.counts = cupy.zeros(rows, np.int32)
        self.thresholds = thresholds
        self.overflowed = cupy.zeros(rows, np.int32)
        self._columns: dict[str, Any] = {}
        self._columns_too = int(columns_too)
        self.set(
            positions=self.positions,
            scores=self.scores,
            candidates=self.candidates,
            counts=self.counts,
            thresholds=self.thresholds,
            overflowed=self.overflowed,
        )

    def set(self, **columns: Any) -> None:
        """Set arrays that the kernels see."""
        self._columns = {**self._columns, **columns}  # kept alive
        self.facts = struct_of(
            ROWS_OF_LAUNCH, self._columns, columns_too=self._columns_too
        )


class CudaPointProducts:
    """Points on some devices, which take blocks of rows in turn; see `PointProducts`.

    Each device has all points.
    """

    def __init__(self, points: PointArrays, devices: Sequence[int] = (0,)) -> None:
        self.count = len(points.source)
        self.most_components, self.passes = MOST, 2
        self._pool = ThreadPoolExecutor(len(devices), "mndmst-products")
        made = [self._pool.submit(DeviceProducts, points, i) for i in devices]
        self._devices = [future.result() for future in made]

    def nearest(self, k: int, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest`."""
        _check_length(k)
        distance = np.empty((self.count, k))
        positions = np.empty((self.count, k), np.uint32)

        def search(device: DeviceProducts, begin: int, end: int) -> None:
            rows = np.arange(begin, end, dtype=np.uint32)
            found = device.nearest_of(device.points, rows, k)
            distance[begin:end] = device.download(found[0])
            positions[begin:end] = device.download(found[1])

        self._deal(self.count, search, report)
        return distance, positions

    def nearest_to(
        self, points: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `QueriedProducts.nearest_to`."""
        _check_length(k)
        distance = np.empty((len(points), k))
        positions = np.empty((len(points), k), np.uint32)

        def search(device: DeviceProducts, begin: int, end: int) -> None:
            number = np.zeros(end - begin, np.uint32)
            queries = device.queries(points[begin:end], number)
            rows = np.arange(end - begin, dtype=np.uint32)
            found = device.nearest_of(queries, rows, k, limits[begin:end])
            distance[begin:end] = device.download(found[0])
            positions[begin:end] = device.download(found[1])

        self._deal(len(points), search)
        return distance, positions

    def lightest(
        self,
        components: ComponentArrays,
        asked: np.ndarray,
        bounded: bool,
        report: Report,
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest`; always within the bounds of components."""
        others = np.empty(len(asked), np.uint32)
        weights = np.empty(len(asked))
        known = self._known(components)

        def search(device: DeviceProducts, begin: int, end: int) -> None:
            here, positions = known[device], asked[begin:end]
            bound = np.full(len(positions), np.inf)
            others[begin:end], weights[begin:end] = device.lightest_of(
                device.points, positions, here.of_position, here.cores, here, bound
            )

        self._deal(len(asked), search, report)
        self._lower(components, known)
        return others, weights

    def lightest_to(
        self, components: ComponentArrays, queries: RemoteQueries
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `QueriedProducts.lightest_to`."""
        others = np.empty(len(queries.point), np.uint32)
        weights = np.empty(len(queries.point))
        known = self._known(components)

        def search(device: DeviceProducts, begin: int, end: int) -> None:
            here, part = known[device], slice(begin, end)
            others[part], weights[part] = device.lightest_of(
                device.queries(queries.points[part], queries.point[part]),
                np.arange(end - begin, dtype=np.uint32),
                cupy.asarray(queries.component[part]),
                cupy.asarray(queries.core[part]),
                here,
                queries.bound[part],
            )

        self._deal(len(others), search)
        self._lower(components, known)
        return others, weights

    def between(
        self,
        components: ComponentArrays,
        least: np.ndarray,
        exchange: PointExchange,
        report: Report,
    ) -> EdgesBetween | None:
        """See `PointProducts.between`: of the pairs that the forest may join."""
        edges = self._between(components, least, exchange, report)
        if edges is None:  # nor will it be found in later rounds
            self.most_components = 0
        return edges

    def _between(
        self,
        components: ComponentArrays,
        least: np.ndarray,
        exchange: PointExchange,
        report: Report,
    ) -> EdgesBetween | None:
        """Return the edges; None if memory lacks, or a device lists too many or few."""
        ranks, count = exchange.ranks, len(components.bound)
        order = order_by_component(components.of_position, count)
        if ranks.sum(self.count) < FILLED * ranks.sum(len(order.positions)):
            return None
        made: dict[DeviceProducts, ComponentPairs] = {}
        with suppress(DeviceMemoryError):
            for device in self._devices:
                with device.current():
                    cores = components.cores
                    made[device] = ComponentPairs(device, order, cores, count)
        if ranks.max(len(self._devices) - len(made)):
            return None
        every = list(made.values())

        def tell(done: int, total: int) -> None:
            report(self.count * done // max(total, 1), self.count)

        def launch(kernel: str) -> Iterator[None]:
            """Launch a kernel for own points, and for those of each visit."""
            visits = exchange.received(order.positions, components)
            for received, met in chain([(None, 0)], visits):
                for device, pairs in made.items():
                    with device.current():
                        pairs.receive(received, met)
                units = min(pairs.units for pairs in every)
                self._deal(
                    units, lambda device, i, _: made[device].launch(kernel, i), tell, 1
                )
                yield

        for _ in launch("bound_pairs"):
            pass
        most = ranks.min(np.minimum.reduce([pairs.least() for pairs in every]))
        width = ranks.max(max(pairs.width for pairs in every))
        # A device that fails here cannot be trusted with the rest.
        if (np.triu(np.minimum(most, most.T) - width, 1) > least * least).any():
            return None
        limits = possible_pairs(most, width)
        for device, pairs in made.items():
            with device.current():
                pairs.set_limits(limits)
        found = []
        for _ in launch("list_pairs"):
            for device, pairs in made.items():
                with device.current():
                    found.append(pairs.take())
        edges = EdgesBetween(*map(np.concatenate, zip(*found, strict=True)))
        failed = ranks.max(int(any(pairs.failed for pairs in every)))
        listed = ranks.max(listed_pairs(edges, count))
        return None if failed or not listed[limits >= 0].all() else edges

    def _known(
        self, components: ComponentArrays
    ) -> dict[DeviceProducts, ComponentArrays]:
        """Return the components on each device."""
        known = {}
        for device in self._devices:
            with device.current():
                known[device] = ComponentArrays(*map(device.upload, components))
        return known

    def _lower(
        self, components: ComponentArrays, known: dict[DeviceProducts, ComponentArrays]
    ) -> None:
        """Lower bounds of components by the edges that the devices have found."""
        for device in self._devices:
            with device.current():
                lowered = cupy.asnumpy(known[device].bound)
            np.minimum(components.bound, lowered, out=components.bound)

    def _deal(
        self,
        count: int,
        search: Callable[[DeviceProducts, int, int], None],
        report: Report = lambda done, total: None,
        most: int = 0,
    ) -> None:
        """Let the devices take blocks of rows in turn, each by a thread of its own.

        Blocks have at most `most` rows, or as many as a device searches at once.
        """
        lock, stop = threading.Lock(), threading.Event()
        taken = 0

        def run(device: DeviceProducts) -> None:
            nonlocal taken
            with device.current():
                while not stop.is_set():
                    with lock:
                        begin = taken
                        share = -(-(count - begin) // len(self._devices))
                        size = min(most or device.rows_at_once(), share)
                        end = min(begin + size, count)
                        taken = end
                    if begin == end:
                        return
                    search(device, begin, end)
                    cupy.cuda.get_current_stream().synchronize()

        running = [self._pool.submit(run, device) for device in self._devices]
        try:
            while wait(running, POLL).not_done:
                report(taken, count)
        finally:
            stop.set()
            wait(running)
        for future in running:
            future.result()
        report(count, count)


@contextmanager
def current_device(device: cupy.cuda.Device, what: str) -> Iterator[None]:
    """Make a device current; turn its lack of memory for `what` into our error."""
    try:
        with device:
            yield
    except OutOfMemoryError as error:
        cupy.get_default_memory_pool().free_all_blocks()
        raise DeviceMemoryError(
            f"CUDA device {device.id} has too little free memory for {what} ({error})"
        ) from error


def check_room(takers: str, needed: int) -> None:
    """Raise DeviceMemoryError if the current device has fewer free bytes than needed.

    `takers` says what takes them, such as "8 points take".
    """
    free = free_bytes()
    if needed > free:
        device = cupy.cuda.Device().id
        raise DeviceMemoryError(
            f"CUDA device {device} has {size_text(free)} free, and {takers} "
            f"{size_text(needed)}"
        )


def free_bytes() -> int:
    """Return the free bytes of the current device."""
    pool = cupy.get_default_memory_pool()
    return int(cupy.cuda.runtime.memGetInfo()[0]) + pool.free_bytes()


def _given(points: PointArrays, count: int) -> Any:
    """Return the struct of the first points, as they were given."""
    columns = points._asdict()
    del columns["point"]
    return struct_of(
        GIVEN,
        columns,
        count=count,
        dimensions=points.values.shape[1],
        divided=len(points.length) > 0,
    )


def _check_length(k: int) -> None:
    if k > MOST_NEIGHBOURS:
        raise ConfigError(f"a device lists at most {MOST_NEIGHBOURS} neighbours")


def _steps(count: int, size: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, count, size):
        yield begin, min(begin + size, count)


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
    """Return pairs of vectors whose products are hard to add up with few bits."""
    count = 64
    sign = r.choice([-1.0, 1.0], (2, count, width))
    a, b = (
        sign
        * 2.0 ** r.integers(-7, 4, (2, count, width))
        * r.uniform(1, 2, (2, count, width))
    )
    # One large product, beside small ones that few bits would lose.
    for row in range(count // 2):
        small = 2.0 ** -(6 + row % 8)
        a[row], b[row] = small, small
        a[row, row * 7 % width], b[row, row * 7 % width] = 8, 8
    # Large ones that cancel, in any place.
    for row in range(0, count // 2, 3):
        one, other = r.choice(width, 2, replace=False)
        a[row, one], a[row, other], b[row, one], b[row, other] = 512, -512, 64, 64
    return a, b
