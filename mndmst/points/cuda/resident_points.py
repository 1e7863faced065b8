"""Points on one CUDA device of which some are removed, searched by few others."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from threading import Lock

import cupy
import numpy as np

from ...backends.cuda.kernels import order_of
from ...backends.cuda.modules import struct_of
from ..devices.point_products import PairColumns, PairRows, PairsWithin, PointArrays
from .device_products import (
    BLOCK,
    COLUMNS_OF_LAUNCH,
    GROUPED,
    MULTIPLIERS,
    THREADS,
    Columns,
    DevicePoints,
    DeviceProducts,
)

CAPACITY = 1 << 22  # fewest pairs of a list
TOGETHER = 1 << 29  # bytes of factors of the columns of a launch
TILE_ROWS = 128  # as in point_multiply.cu; a tile has BLOCK columns
WANTED = np.dtype([(n, np.uint64) for n in PairColumns._fields])
BOUNDS = ("plain", "reaching", "component", "least")
WITHIN = np.dtype(
    [(n, np.uint64) for n in BOUNDS]
    + [(n, np.uint64) for n in ("rows", "positions", "count", "capacity")]
)
KEYED = np.dtype([(n, np.uint64) for n in (*BOUNDS, "key")])


@dataclass
class OrderedColumns:
    """Columns by group, those of a group by the least bound of a wanted pair."""

    column: cupy.ndarray  # uint32: the column before
    position: cupy.ndarray  # uint32
    group: cupy.ndarray  # uint32, by GROUPED columns
    bounds: dict[str, cupy.ndarray]  # BOUNDS of pairs with them
    least: cupy.ndarray  # float32, by BLOCK columns: the least bound

    def launches(self, nbytes: int) -> Iterator[tuple[slice, slice, slice]]:
        """Yield the columns of each launch, and where their groups and tiles are.

        The factors of a column have `nbytes` bytes.
        """
        count, most = len(self.column), max(1, TOGETHER // nbytes // BLOCK) * BLOCK
        for begin in range(0, count, most):
            end = min(begin + most, count)
            yield (
                slice(begin, end),
                slice(begin // GROUPED, None),
                slice(begin // BLOCK, -(-end // BLOCK)),
            )


class CudaResidentPoints:
    """Points on one device; see `ResidentPoints`.

    A search may change the scale of all products, so searches take turns.
    """

    def __init__(self, points: PointArrays, listed: int) -> None:
        self._lock, self._listed = Lock(), listed
        self._products = DeviceProducts(points)
        with self._products.current():
            self._products.columns_for(listed)

    def upload(self, column: np.ndarray) -> cupy.ndarray:
        """See `ResidentPoints.upload`."""
        with self._lock, self._products.current():
            return self._products.upload(column)

    def empty_points(self, count: int) -> cupy.ndarray:
        """See `ResidentPoints.empty_points`."""
        with self._products.current():
            return cupy.empty((count, self._products.dimensions))

    def copy_points(
        self, positions: np.ndarray, rows: np.ndarray, points: cupy.ndarray
    ) -> None:
        """See `ResidentPoints.copy_points`."""
        if len(positions):
            with self._lock, self._products.current():
                self._products.copy_points(positions, rows, points)

    def squares(
        self, points: cupy.ndarray, rows: np.ndarray, positions: np.ndarray
    ) -> np.ndarray:
        """See `ResidentPoints.squares`."""
        products, none = self._products, np.zeros(len(points), np.uint32)
        with self._lock, products.current():
            queries = products.uploaded_queries(points, none)
            pairs = (products.upload(x.astype(np.uint32)) for x in (rows, positions))
            return products.download(self._squares(queries, *pairs))

    def nearest_to(
        self, points: np.ndarray, columns: PairColumns, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `ResidentPoints.nearest_to`."""
        products, rows = self._products, self._products.rows_at_once()
        distance = np.empty((len(points), k))
        positions = np.empty((len(points), k), np.uint32)
        with self._lock, products.current():
            for begin in range(0, len(points), rows):
                some = slice(begin, begin + rows)
                queries = self._queries(points[some])
                made = products.columns_for(self._listed)
                within = self._bounded(made, columns)
                arrays = {**made.arrays, "half": within["plain"]}
                struct = struct_of(COLUMNS_OF_LAUNCH, arrays)
                positions_of_rows = np.arange(len(points[some]), dtype=np.uint32)
                squares, nearest = products.nearest_of(
                    queries,
                    positions_of_rows,
                    k,
                    columns=replace(made, arrays=arrays, struct=struct),
                )
                distance[some] = products.download(squares)
                positions[some] = products.download(nearest)
        return distance, positions

    def _queries(self, points: np.ndarray) -> DevicePoints:
        return self._products.queries(points, np.zeros(len(points), np.uint32))

    def _bounded(
        self, columns: Columns, wanted: PairColumns
    ) -> dict[str, cupy.ndarray]:
        """Return the bounds of pairs with columns; see the kernel `reach_columns`."""
        products, count = self._products, len(columns.factors)
        uploaded = {name: products.upload(x) for name, x in wanted._asdict().items()}
        within = {
            "plain": cupy.empty(count, np.float32),
            "reaching": cupy.empty(count, np.float32),
            "component": cupy.empty(count, np.uint32),
            "least": cupy.empty(count),
            "key": cupy.empty(count, np.uint64),
        }
        products.run_factors(
            "reach_columns",
            count,
            columns.order,
            columns.arrays["half"],
            struct_of(WANTED, uploaded),
            np.float64(products.frame.factor**2),
            struct_of(KEYED, within),
        )
        return within

    def _ordered(self, columns: Columns, wanted: PairColumns) -> OrderedColumns:
        """Return the columns with the bounds of pairs with them."""
        products, count = self._products, len(columns.factors)
        within = self._bounded(columns, wanted)
        ordered = OrderedColumns(
            cupy.empty(count, np.uint32),
            cupy.empty(count, np.uint32),
            cupy.zeros(count // GROUPED + MULTIPLIERS // GROUPED + 1, np.uint32),
            {name: cupy.empty_like(within[name]) for name in BOUNDS},
            cupy.empty(-(-count // BLOCK), np.float32),
        )
        products.run_factors(
            "order_bounds",
            count,
            columns.order,
            struct_of(KEYED, within),
            order_of(within["key"]),
            struct_of(WITHIN, ordered.bounds),
            ordered.position,
            ordered.group,
            ordered.column,
            ordered.least,
        )
        return ordered

    def pairs_within(self, rows: PairRows, columns: PairColumns) -> PairsWithin | None:
        """See `ResidentPoints.pairs_within`.

        Rows are in the order of their bounds, and the columns of a group, too, so most
        tiles of which no pair is wanted are together, and are not multiplied.
        """
        products = self._products
        bound = np.where(rows.bound < 0, np.nan, rows.bound)
        order = np.argsort(-rows.bound).astype(np.uint32)
        with np.errstate(over="ignore"):
            limits = bound[order] ** 2 * (1 + 1e-15) + 1e-322
            bounds = np.maximum(rows.bound[order[::TILE_ROWS]], 0).astype(np.float32)
        with self._lock, products.current():
            queries = self._queries(rows.points)
            made = products.columns_for(self._listed)
            lists = products.lists_of(queries, order)
            products.limit(queries, lists, limits)
            component = products.upload(rows.component)
            lists.set(component=component, weights=products.upload(bound[order]))
            capacity = max(CAPACITY, products.count)
            pairs = {
                "rows": cupy.empty(capacity, np.uint32),
                "positions": cupy.empty(capacity, np.uint32),
                "count": cupy.zeros(1, np.uint32),
            }
            factors = products.factors_at(queries.factors, lists.positions)
            upper = products.upload(np.nextafter(bounds, np.float32(np.inf)))
            ordered = self._ordered(made, columns)
            for some, groups, tiles in ordered.launches(2 * made.factors.shape[1]):
                taken = products.factors_at(made.factors, ordered.column[some])
                sizes = np.int32(len(factors)), np.int32(len(taken))
                chosen = cupy.empty(len(upper) * len(ordered.least[tiles]), np.uint32)
                count = cupy.zeros(1, np.uint32)
                products.kernel("choose_within", queries.arrays)(
                    (-(-len(chosen) // MULTIPLIERS),),
                    (MULTIPLIERS,),
                    (upper, ordered.least[tiles], *sizes, chosen, count),
                )
                of_columns = {
                    "position": ordered.position[some],
                    "group": ordered.group[groups],
                }
                within = {name: x[some] for name, x in ordered.bounds.items()} | pairs
                products.kernel("list_within", queries.arrays)(
                    (products.processors,),
                    (MULTIPLIERS,),
                    (
                        factors,
                        taken,
                        *sizes,
                        np.int32(products.width),
                        struct_of(COLUMNS_OF_LAUNCH, of_columns),
                        lists.struct,
                        struct_of(WITHIN, within, capacity=capacity),
                        chosen,
                        count,
                    ),
                    shared_mem=products.shared_bytes,
                )
            listed = int(pairs["count"].get()[0])
            if listed > capacity:
                return None
            row, position = pairs["rows"][:listed], pairs["positions"][:listed]
            square = self._squares(queries.arrays, row, position)
            return PairsWithin(*map(products.download, (row, position, square)))

    def _squares(
        self, queries: PointArrays, rows: cupy.ndarray, positions: cupy.ndarray
    ) -> cupy.ndarray:
        """Return the squared distances of pairs of a query and a position."""
        products, count = self._products, len(rows)
        square = cupy.empty(count)
        if count:
            products.kernel("square_pairs", queries)(
                (-(-count // THREADS),),
                (THREADS,),
                (
                    products.struct_of_points(queries),
                    products.struct,
                    rows,
                    positions,
                    np.uint32(count),
                    square,
                ),
            )
        return square
