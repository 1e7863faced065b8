"""Points on one CUDA device of which some are removed, searched by few others."""

from dataclasses import replace
from threading import Lock

import cupy
import numpy as np

from ...backends.cuda.modules import struct_of
from ..devices.point_products import PairColumns, PairRows, PairsWithin, PointArrays
from .device_products import (
    COLUMNS_OF_LAUNCH,
    MULTIPLIERS,
    THREADS,
    Columns,
    DevicePoints,
    DeviceProducts,
)

CAPACITY = 1 << 22  # fewest pairs of a list
WANTED = np.dtype([(n, np.uint64) for n in PairColumns._fields])
WITHIN = np.dtype(
    [(n, np.uint64) for n in ("plain", "reaching", "component", "least")]
    + [(n, np.uint64) for n in ("rows", "positions", "count", "capacity")]
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
        }
        products.run_factors(
            "reach_columns",
            count,
            columns.order,
            columns.arrays["half"],
            struct_of(WANTED, uploaded),
            np.float64(products.frame.factor**2),
            struct_of(WITHIN, within),
        )
        return within

    def pairs_within(self, rows: PairRows, columns: PairColumns) -> PairsWithin | None:
        """See `ResidentPoints.pairs_within`."""
        products, count = self._products, len(rows.points)
        bound = np.where(rows.bound < 0, np.nan, rows.bound)
        with np.errstate(over="ignore"):
            limits = bound * bound * (1 + 1e-15) + 1e-322
        with self._lock, products.current():
            queries = self._queries(rows.points)
            made = products.columns_for(self._listed)
            lists = products.lists_of(queries, np.arange(count, dtype=np.uint32))
            products.limit(queries, lists, limits)
            component, weights = map(products.upload, (rows.component, bound))
            lists.set(component=component, weights=weights)
            capacity = max(CAPACITY, products.count)
            within = self._bounded(made, columns) | {
                "rows": cupy.empty(capacity, np.uint32),
                "positions": cupy.empty(capacity, np.uint32),
                "count": cupy.zeros(1, np.uint32),
            }
            products.kernel("list_within", queries.arrays)(
                (products.processors,),
                (MULTIPLIERS,),
                (
                    queries.factors,
                    made.factors,
                    np.int32(count),
                    np.int32(len(made.factors)),
                    np.int32(products.width),
                    made.struct,
                    lists.struct,
                    struct_of(WITHIN, within, capacity=capacity),
                ),
                shared_mem=products.shared_bytes,
            )
            listed = int(within["count"].get()[0])
            if listed > capacity:
                return None
            row, position = within["rows"][:listed], within["positions"][:listed]
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
