"""Points on one CUDA device, searched by matrix products of half precision.

Tensor cores multiply numbers of 16 bits exactly and add products up in float32. A point
is rounded to float16; the length that rounding takes away is measured. Points whose
float16 numbers would be too coarse are sums of three bfloat16 numbers each, whose six
largest products together are as good as one of float32. Columns are in groups that lie
near a centre of their own (`points.devices.column_groups`), rows have one centre.

The bound of a score
--------------------
Let a be a row and b a column, both less the centre of all points; c the centre of the
column's group; a' = a - c, b' = b - c; A and B the roundings of a and b'. A score is
minus half of the squared distance D:

    -D / 2 = a.b' - (c.b' + |b'|^2 / 2) - |a'|^2 / 2.

The second term is by column, the third by row and group; both are computed in float64.
The product of factors differs from a.b' by at most gamma |A| |B|, in which gamma is the
bound of the sums and the fractions of their lengths that a and b' lose. For any s > 0,
|A| |B| is at most s |A|^2 / 2 + |B|^2 / (2 s); s is the typical |B| / |A| in the group.
So the bound has a part by row and group, and one by column. Further parts cover the
roundings of the terms to float32 and of float64 distances: 2^-20 of |A| |B|, |a'|^2,
|b'|^2 and |c| |b'|, of which all roundings together reach less than a half.

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
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise

import cupy
import numpy as np
from cupy.cuda.memory import OutOfMemoryError

from ...backends.base import DeviceMemoryError
from ...backends.cuda.modules import struct_of
from ...backends.cuda.transfer import Transfer
from ...host.errors import ConfigError
from ...host.formatting import size_text
from ...host.memory_costs import DEVICE_LIBRARIES_RESERVE, DEVICE_SEARCH_POINT_BYTES
from ..devices.column_groups import (
    SAMPLE,
    ColumnGroups,
    ColumnOrder,
    find_groups,
    one_group,
    order_columns,
)
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
GROUPED = 64  # columns of one group
# Threads of a block and of a warp, as in point_factors.cu; warps per multiprocessor.
BLOCK, WARP, WARPS = 256, 32, 64
PIECE_BYTES = 16  # of factors, copied by one thread
MULTIPLYING = (
    "filter_near", "filter_leaving", "bound_pairs", "choose_tiles", "list_pairs",
    "choose_within", "list_within",
)  # fmt: skip
FACTORING = (
    "find_centre", "find_extent", "round_points", "round_columns", "bound_columns",
    "offset_rows", "nearest_centres", "fill_floats", "gather_factors", "order_terms",
    "reach_columns", "order_bounds", "copy_points",
)  # fmt: skip
SHARED_BYTES = cupy.cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
DEPTH, STAGE_BYTES, MOST_STAGES = 64, (128 + 256) * 64 * 2, 4
OLDEST = 80  # compute capability of tensor cores with the instructions of the kernels
# Most and fewest rows of a block, whose lists are in memory together; and the most
# multiplications of a block, after each of which signals are handled.
ROWS, FEWEST_ROWS, WORK = 1 << 16, 1 << 10, 3 << 45
# Columns of the first launch; each later one takes GROWTH times the columns of all
# before it, and at most COLUMNS. Rows with overflowed lists take at most CROWDED.
FIRST, GROWTH, COLUMNS, CROWDED = 256, 3.0, 1 << 17, 1 << 11
FEWEST_GROUPED = 1 << 16  # fewer points take little time without groups
# Devices and numbers of parts whose sums this process has tested.
_TESTED: set[tuple[int, int]] = set()
GIVEN = np.dtype(
    [(n, np.uint64) for n in ("values", "largest", "length", "source")]
    + [(n, np.uint64) for n in ("count", "dimensions", "divided")]
)
SET = np.dtype(
    [(n, np.uint64) for n in ("values", "largest", "length", "source", "point")]
    + [("dimensions", np.int64), ("unit", np.float64)]
)
GROUPS = np.dtype(
    [(n, np.uint64) for n in ("centres", "spread", "distance", "least", "count")]
)
ORDERED_COLUMNS = np.dtype([(n, np.uint64) for n in ("position", "group", "count")])
COLUMNS_OF_LAUNCH = np.dtype(
    [(n, np.uint64) for n in ("half", "position", "group", "slack", "group_of")]
)
COMPONENTS = np.dtype([(n, np.uint64) for n in ComponentArrays._fields])
ROWS_OF_LAUNCH = np.dtype(
    [(n, np.uint64) for n in ("positions", "component", "cores", "weights", "ends")]
    + [(n, np.uint64) for n in ("scores", "candidates", "counts", "thresholds")]
    + [(n, np.uint64) for n in ("overflowed", "offsets", "slack")]
    + [("columns_too", np.int32), ("count", np.int32)]
)


@dataclass
class DevicePoints:
    """Points on a device: as they were given, and as factors of products."""

    arrays: PointArrays  # arrays on the device
    # uint16, shape (points, parts * width): bits of float16 or bfloat16, padded with
    # zeros
    factors: cupy.ndarray
    square: cupy.ndarray  # float64: squared lengths of the rounded points
    half: cupy.ndarray  # float64: halves of the squared lengths of the exact points
    lost: float  # largest fraction of its length that a point loses by rounding
    most: float  # largest squared length


@dataclass
class Groups:
    """The groups of columns on a device."""

    struct: cupy.ndarray
    arrays: dict[str, cupy.ndarray]
    count: int
    of_position: np.ndarray | None  # uint32, on the host; None for one group


@dataclass
class Columns:
    """Columns of launches as factors, in the order of `ColumnOrder`."""

    positions: list[int]  # bounds of the launches, in positions
    bounds: list[int]  # and in columns
    factors: cupy.ndarray  # as of `DevicePoints`
    square: cupy.ndarray  # float64: squared lengths of the rounded columns
    half: cupy.ndarray  # float64: the term of a column in scores
    lost: float  # largest fraction of its length that a column loses by rounding
    order: cupy.ndarray  # the struct of `ORDERED_COLUMNS`
    arrays: dict[str, cupy.ndarray]  # of `COLUMNS_OF_LAUNCH`
    struct: cupy.ndarray


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
        self.run_factors(
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
            self._round_all(Frame(centre, factor, parts))
            if self.points.lost < COARSE:
                break
        else:
            raise ConfigError("coordinates span too many powers of ten for products")

    def _round_all(self, frame: Frame) -> None:
        """Round all points in a frame, test the sums, and choose groups of columns."""
        self.frame = frame
        self.points = self._rounded(self._on_device)
        self._check_sums()
        self._columns: Columns | None = None
        self._groups = self._find_groups()
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
        square, half = cupy.empty(count), cupy.empty(count)
        extremes = cupy.zeros(2, np.uint64)
        self._run_on_points(
            "round_points",
            points,
            frame.centre,
            np.float64(frame.factor),
            np.int32(frame.parts),
            np.uint64(self.width),
            factors,
            square,
            half,
            extremes,
        )
        lost, most = map(float, cupy.asnumpy(extremes).view(np.float64))
        return DevicePoints(points, factors, square, half, lost * (1 + 1e-9), most)

    def _find_groups(self) -> Groups:
        """Return groups of columns; one if the points are few or in no clusters."""
        centre, groups = cupy.asnumpy(self.frame.centre), None
        if self.count >= FEWEST_GROUPED and self._has_room_for_groups():
            sample = self.points.factors[:SAMPLE].get()[:, : self.dimensions]
            floats = _floats_of(np.ascontiguousarray(sample), self.frame.parts)
            groups = find_groups(floats, centre, self.frame.factor, self.count)
        if groups is None:
            return self._groups_of(one_group(centre), None)
        centres = cupy.asarray(groups.centres)
        of_position = cupy.empty(self.count, np.uint32)
        count = np.uint64(len(groups.centres))
        self._run_on_points(
            "nearest_centres", self._on_device, centres, count, of_position
        )
        return self._groups_of(groups, self.download(of_position))

    def _has_room_for_groups(self) -> bool:
        """Return whether there is room for the factors of rows beside the columns'."""
        return free_bytes() > 2 * self.points.factors.nbytes + DEVICE_LIBRARIES_RESERVE

    def _groups_of(
        self, groups: ColumnGroups, of_position: np.ndarray | None
    ) -> Groups:
        arrays = {name: cupy.asarray(x) for name, x in groups._asdict().items()}
        count = len(groups.centres)
        struct = struct_of(GROUPS, arrays, count=count)
        return Groups(struct, arrays, count, of_position)

    def columns_for(self, k: int) -> Columns:
        """Return the columns for lists that keep at most k candidates."""
        positions = [0, *(end for _, end in self._launches(k))]
        if self._columns is None or self._columns.positions != positions:
            self._columns = self._made_columns(positions)
            self._bound_columns(self._columns)
        return self._columns

    def _made_columns(self, positions: list[int]) -> Columns:
        points, of_position = self.points, self._groups.of_position
        if of_position is None:
            blocks = np.zeros(self.count // GROUPED, np.uint32)
            order = ColumnOrder(
                np.arange(self.count, dtype=np.uint32), blocks, positions
            )
            return self._columns_of(
                order, positions, points.factors, points.square, points.half
            )
        order = order_columns(of_position, positions)
        count, extreme = len(order.position), cupy.zeros(1, np.uint64)
        factors = cupy.empty((count, points.factors.shape[1]), np.uint16)
        square, half = cupy.empty(count), cupy.empty(count)
        columns = self._columns_of(order, positions, factors, square, half)
        self._run_on_points(
            "round_columns",
            self._on_device,
            columns.order,
            self._groups.struct,
            self.frame.centre,
            np.float64(self.frame.factor),
            np.int32(self.frame.parts),
            np.uint64(self.width),
            factors,
            square,
            half,
            extreme,
        )
        columns.lost = float(cupy.asnumpy(extreme).view(np.float64)[0]) * (1 + 1e-9)
        if columns.lost < COARSE:
            return columns
        self._groups = self._groups_of(one_group(cupy.asnumpy(self.frame.centre)), None)
        return self._made_columns(positions)

    def _columns_of(
        self,
        order: ColumnOrder,
        positions: list[int],
        factors: cupy.ndarray,
        square: cupy.ndarray,
        half: cupy.ndarray,
    ) -> Columns:
        """Return columns with uninitialized parts of bounds."""
        count, of_position = len(order.position), self._groups.of_position
        if of_position is None:
            of_position = np.zeros(self.count, np.uint32)
        # Threads beyond the last column of a tile read a group, too.
        group = np.pad(order.group, (0, MULTIPLIERS // GROUPED + 1))
        arrays = {
            "half": cupy.empty(count, np.float32),
            "position": self.upload(order.position),
            "group": self.upload(group),
            "slack": cupy.empty(self.count, np.float32),
            "group_of": self.upload(of_position),
        }
        ordered = {name: arrays[name] for name in ("position", "group")}
        return Columns(
            positions,
            order.bounds,
            factors,
            square,
            half,
            self.points.lost,
            struct_of(ORDERED_COLUMNS, ordered, count=count),
            arrays,
            struct_of(COLUMNS_OF_LAUNCH, arrays),
        )

    def _bound_columns(self, columns: Columns) -> None:
        """Compute the bound of scores, and the columns' part of it."""
        terms, lost = self._sum_bound(self.dimensions), self.points.lost
        lost = lost + columns.lost * (1 + lost)
        self._score_gamma = 1.001 * (terms / (1 - terms) + lost + 2.0**-20)
        self.run_factors(
            "bound_columns",
            len(columns.factors),
            columns.order,
            self._groups.struct,
            np.float64(self._score_gamma),
            np.float64(self.absolute),
            columns.square,
            columns.half,
            columns.arrays["half"],
            columns.arrays["slack"],
        )

    def _set_bound(self) -> None:
        """Compute the bounds of products and of scores."""
        terms, lost = self._sum_bound(self.dimensions), self.points.lost
        # Of the squares of differences of two rounded points
        self.gamma = terms / (1 - terms) + 4 * lost * (1 + lost) + 2.0**-20
        self.struct = self.struct_of_points(self.points.arrays)
        if self._columns is not None:
            self._bound_columns(self._columns)

    def _sum_bound(self, dimensions: int) -> float:
        # The parts of a coordinate have slightly larger magnitudes than the coordinate.
        return 1.02 * self.frame.pairs * (dimensions + DEPTH) * SUM_ROUNDING

    def struct_of_points(self, points: PointArrays) -> cupy.ndarray:
        """Return the struct of points for kernels."""
        return struct_of(
            SET,
            points._asdict(),
            dimensions=self.dimensions,
            unit=self.frame.factor**2,
        )

    def uploaded_queries(self, values: np.ndarray, point: np.ndarray) -> PointArrays:
        """Return points that are not columns as arrays on the device."""
        return self._uploaded(query_arrays(values, point))

    def copy_points(
        self, positions: np.ndarray, rows: np.ndarray, points: cupy.ndarray
    ) -> None:
        """Copy the coordinates at some positions to rows of an array (float64)."""
        self.run_factors(
            "copy_points",
            len(positions) * self.dimensions,
            _struct_of_first(self._on_device, self.count),
            self.upload(positions.astype(np.uint32)),
            self.upload(rows.astype(np.uint32)),
            np.uint64(len(positions)),
            points,
        )

    def queries(self, values: np.ndarray, point: np.ndarray) -> DevicePoints:
        """Return points that are not columns; extend the bound to cover them."""
        uploaded = self.uploaded_queries(values, point)
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
            self._round_all(Frame(self.frame.centre, self.frame.factor, 3))

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

    def run_factors(self, name: str, threads: int, *arguments: object) -> None:
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
        self.run_factors("fill_floats", array.size, array, size, np.float32(number))
        return array

    def factors_at(self, factors: cupy.ndarray, rows: cupy.ndarray) -> cupy.ndarray:
        """Return some rows of factors, in their order."""
        chosen = cupy.empty((len(rows), factors.shape[1]), np.uint16)
        count, pieces = len(rows), factors.shape[1] * 2 // PIECE_BYTES
        self.run_factors(
            "gather_factors",
            count * pieces,
            factors,
            rows,
            np.uint64(count),
            np.uint64(pieces),
            chosen,
        )
        return chosen

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
        self.run_factors(
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

    def _attempts(self, columns: Columns) -> Iterator[Iterator[tuple[int, int]]]:
        """Yield launches for all rows, then for rows whose lists have overflowed.

        These take fewer columns at a time, and the last of them no more than a list can
        hold.
        """
        yield pairwise(columns.bounds)
        for most in (CROWDED, CAPACITY - KEPT):
            yield _divided(columns.bounds, most)

    def _launches(self, k: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of positions, for lists that keep k candidates."""
        growth = min(GROWTH, max((0.7 * CAPACITY - k) / (1.2 * k), 0.25))
        begin, size = 0, FIRST if 2 * k < FIRST else CAPACITY
        while begin < self.count:
            end = min(begin + size, self.count)
            yield begin, end
            begin, size = end, min(int(growth * end), COLUMNS)

    def _search(
        self,
        queries: DevicePoints,
        rows: "CandidateLists",
        columns: Columns,
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
        structs = self._structs(queries, rows, columns)
        row_factors = self._factors_of_rows(queries, rows)
        more = arguments if kind == "leaving" else ()
        for begin, end in launches:
            sizes = map(np.int32, (len(row_factors), end - begin, self.width))
            factors = row_factors, columns.factors[begin:end]
            given = *factors, *sizes, np.uint32(begin), *structs[2:], *more
            shared = self.shared_bytes
            multiply((self.processors,), (MULTIPLIERS,), given, shared_mem=shared)
            narrow((len(row_factors),), (THREADS,), (*structs, *arguments))

    def _structs(
        self, queries: DevicePoints, rows: "CandidateLists", columns: Columns
    ) -> tuple[cupy.ndarray, cupy.ndarray, cupy.ndarray, cupy.ndarray]:
        """Return the structs of the points, of the queries, columns and rows."""
        same = queries is self.points
        of_queries = self.struct if same else self.struct_of_points(queries.arrays)
        return self.struct, of_queries, columns.struct, rows.struct

    def _factors_of_rows(
        self, queries: DevicePoints, rows: "CandidateLists"
    ) -> cupy.ndarray:
        """Return the factors of rows; no copy if the rows are consecutive."""
        first, last = int(rows.ascending[0]), int(rows.ascending[-1])
        if last - first + 1 == len(rows.ascending):
            return queries.factors[first : last + 1]
        return self.factors_at(queries.factors, rows.positions)

    def lists_of(
        self, queries: DevicePoints, positions: np.ndarray
    ) -> "CandidateLists":
        """Return empty lists of some rows, without thresholds."""
        thresholds = self.filled((len(positions),), -np.inf)
        lists = CandidateLists(
            positions, thresholds, self._groups.count, queries is self.points
        )
        given = _struct_of_first(queries.arrays, len(queries.arrays.source))
        threads = WARP * min(len(positions), WARPS * self.processors)
        self._launch(
            "offset_rows",
            threads,
            queries.arrays,
            given,
            lists.positions,
            np.uint64(len(positions)),
            self._groups.struct,
            np.float64(self.frame.factor),
            np.float64(self._score_gamma),
            queries.square,
            lists.offsets,
            lists.slack,
        )
        return lists

    def nearest_of(
        self,
        queries: DevicePoints,
        positions: np.ndarray,
        k: int,
        limits: np.ndarray | None = None,
        columns: Columns | None = None,
    ) -> tuple[cupy.ndarray, cupy.ndarray]:
        """Return the k nearest points of a block of queries, on the device.

        `queries` are the columns themselves, or points that are not among them;
        `positions` (uint32) are among the queries, and ascend. Points beyond the
        squared distances `limits` need not be found. `columns` are by default those
        for k.
        """
        distance = cupy.empty((len(positions), k))
        nearest = cupy.empty((len(positions), k), np.uint32)
        remaining = np.arange(len(positions), dtype=np.uint32)
        columns = columns or self.columns_for(k)
        for launches in self._attempts(columns):
            rows = self.lists_of(queries, positions[remaining])
            structs = self._structs(queries, rows, columns)
            if limits is not None:
                self.limit(queries, rows, limits[remaining])
            self._search(queries, rows, columns, "near", launches, np.int32(k))
            self.kernel("finish_near", queries.arrays)(
                (len(remaining),),
                (THREADS,),
                (*structs, np.int32(k), cupy.asarray(remaining), distance, nearest),
            )
            remaining = remaining[rows.overflowed.get() != 0]
            if len(remaining) == 0:
                break
        return distance, nearest

    def limit(
        self, queries: DevicePoints, rows: "CandidateLists", limits: np.ndarray
    ) -> None:
        """Set the thresholds of rows that search within squared distances."""
        self.kernel("limit_near", queries.arrays)(
            (-(-len(limits) // THREADS),),
            (THREADS,),
            (self.struct, rows.struct, self.upload(limits)),
        )

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
        remaining, columns = np.arange(len(positions)), self.columns_for(1)
        for launches in self._attempts(columns):
            rows = self.lists_of(queries, positions[remaining])
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
                (*self._structs(queries, rows, columns), components),
            )
            self._search(queries, rows, columns, "leaving", launches, components)
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
        position = np.arange(count, dtype=np.uint32)
        lists = CandidateLists(position, thresholds, 1, False)
        lists.offsets.set(np.zeros((1, count), np.float32))
        columns = {
            "half": cupy.zeros(count, np.float32),
            "position": lists.positions,
            "group": cupy.zeros(1 + MULTIPLIERS // GROUPED, np.uint32),
        }
        of_columns = struct_of(COLUMNS_OF_LAUNCH, columns)
        sizes = np.int32(count), np.int32(count), np.int32(width), np.uint32(0)
        factors = factors_of(left[0]), factors_of(right[0])
        self.kernel("filter_near", self._on_device)(
            (1,),
            (MULTIPLIERS,),
            (*factors, *sizes, of_columns, lists.struct),
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
    on the device. `offsets` and `slack` have a number for each of `groups` of columns.
    `columns_too` says whether the queries are the columns: then a row is not its own
    candidate.
    """

    def __init__(
        self,
        positions: np.ndarray,
        thresholds: cupy.ndarray,
        groups: int,
        columns_too: bool,
    ) -> None:
        rows = len(positions)
        self.offsets = cupy.empty((groups, rows), np.float32)
        self.slack = cupy.empty((groups, rows), np.float32)
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
            offsets=self.offsets,
            slack=self.slack,
        )

    def set(self, **columns: cupy.ndarray) -> None:
        """Set arrays of the struct that kernels read."""
        self._columns = {**self._columns, **columns}  # keeps the arrays alive
        self.struct = struct_of(
            ROWS_OF_LAUNCH,
            self._columns,
            columns_too=self._columns_too,
            count=len(self.ascending),
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


def _divided(bounds: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges between bounds in parts of at most `most` columns."""
    for begin, end in pairwise(bounds):
        for first in range(begin, end, most):
            yield first, min(first + most, end)


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


def _floats_of(factors: np.ndarray, parts: int) -> np.ndarray:
    """Return factors of one part as float32."""
    if parts == 1:
        return factors.view(np.float16).astype(np.float32)
    return (factors.astype(np.uint32) << 16).view(np.float32)


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
