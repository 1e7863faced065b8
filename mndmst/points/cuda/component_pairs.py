"""Edges between pairs of components on one device.

See `points.devices.component_pairs`.
"""

import cupy
import numpy as np

from ...backends.cuda.modules import struct_of
from ..devices.component_pairs import BlockOrder, order_by_component
from ..devices.point_products import NO_POSITION, EdgesBetween, ReceivedPoints
from .device_products import DevicePoints, DeviceProducts

UNIT = 1 << 13  # rows that one launch multiplies with all columns
TILE = 128, 256  # rows and columns of a tile, as in point_multiply.cu
CAPACITY = 1 << 22  # most pairs of points that launches list before `take`
THREADS, MULTIPLIERS = 128, 256  # as in point_products.cu and point_multiply.cu
# Relative errors that rounding to float32 adds to the bound: of terms and of cores.
TERMS, CORES = 2.0**-20, 2.0**-22
ORDERED = np.dtype([(n, np.uint64) for n in ("factors", "component", "term", "core")])
SIDE = np.dtype([(n, np.uint64) for n in ("positions", "component", "cores")])
EDGES = np.dtype([(n, np.uint64) for n in EdgesBetween._fields])
BETWEEN = np.dtype(
    [(n, np.uint64) for n in ("least", "rows", "columns", "count")]
    + [(n, np.uint64) for n in ("tiles", "tile_count")]
    + [(n, np.int32) for n in ("components", "capacity", "width", "unused")]
)


class OrderedPoints:
    """Points in the order of their components; `cores` are by position."""

    def __init__(
        self,
        products: DeviceProducts,
        points: DevicePoints,
        order: BlockOrder,
        cores: np.ndarray,
    ) -> None:
        self._products, self.points, self.count = products, points, len(order.positions)
        self._positions = products.upload(order.positions)
        # Position 0 stands in for NO_POSITION; its terms become infinite.
        valid = np.where(order.positions == NO_POSITION, np.uint32(0), order.positions)
        self.side = {
            "positions": products.upload(valid),
            "component": products.upload(order.component),
            "cores": products.upload(cores),
        }
        self._factors = products.factors_at(points.factors, self.side["positions"])
        self._heaviest = float(cores.max()) * products.frame.factor

    def width(self) -> float:
        """Return the largest possible difference of an upper and a lower bound."""
        products = self._products
        of_products = 4.001 * (products.gamma + TERMS) * self.points.most
        of_products += 8 * products.absolute
        return of_products + 4.001 * CORES * self._heaviest * self._heaviest

    def struct(self, sign: int) -> cupy.ndarray:
        """Return the struct for upper bounds (`sign` 1) or for lower ones (-1)."""
        products = self._products
        gamma = sign * (products.gamma + TERMS)
        term, core = products.terms_of(
            self.points,
            self._positions,
            self.side["cores"],
            1 + gamma,
            2 * sign * products.absolute,
            products.frame.factor**2 * (1 + sign * CORES),
        )
        component = self.side["component"]
        columns = {"factors": self._factors, "component": component}
        # The struct has addresses of these arrays, so they are kept.
        self._columns = {**columns, "term": term, "core": core}
        return struct_of(ORDERED, self._columns)


class ComponentPairs:
    """Pairs of components: bounds of their edges, and their listed edges, on a device.

    The columns of launches are the device's points; the rows are the same points or
    received ones.

    Attributes
    ----------
    width : float
        The largest difference of an upper and a lower bound.
    failed : bool
        Whether too many pairs are listed, or received points changed the frame.
    units : int
        The number of launches that the current rows take.
    """

    def __init__(
        self,
        products: DeviceProducts,
        order: BlockOrder,
        cores: np.ndarray,
        components: int,
    ) -> None:
        self._products, self._components = products, components
        self._local = OrderedPoints(products, products.points, order, cores)
        self._unit = products.frame.factor**2
        self._columns: dict[str, cupy.ndarray] = {
            "least": products.filled((components, components), np.inf),
            "rows": cupy.empty(CAPACITY, np.uint32),
            "columns": cupy.empty(CAPACITY, np.uint32),
            "count": cupy.zeros(1, np.uint32),
            "tiles": cupy.empty(_tiles(UNIT, self._local.count), np.uint32),
            "tile_count": cupy.zeros(1, np.uint32),
        }
        self._sign, self.width, self.failed = 1, 0.0, False

    def receive(self, received: ReceivedPoints | None, compared: int = 0) -> None:
        """Set the rows: received points, to compare with the first `compared` columns.

        Without received points, the local points are compared with each other.
        """
        products, local = self._products, self._local
        rows, self._compared = local, local.count
        if received is not None:
            order = order_by_component(received.component, self._components)
            points = products.queries(received.points, received.point)
            self.failed |= products.points is not local.points
            rows = OrderedPoints(products, points, order, received.core)
            self._compared = compared
        self._rows, self.units = rows, 0 if self.failed else -(-rows.count // UNIT)
        self.width = max(
            self.width, local.width() / self._unit, rows.width() / self._unit
        )
        between = struct_of(
            BETWEEN,
            self._columns,
            components=self._components,
            capacity=CAPACITY,
            width=products.width,
        )
        of_columns = local.struct(self._sign)
        of_rows = of_columns if rows is local else rows.struct(self._sign)
        self._structs = of_rows, of_columns, between

    def least(self) -> np.ndarray:
        """Return the upper bounds of squared distances, by two components."""
        return cupy.asnumpy(self._columns["least"]) / self._unit

    def set_limits(self, limits: np.ndarray) -> None:
        """Set the squared distances within which pairs are listed."""
        exact = limits * self._unit
        rounded = exact.astype(np.float32)
        above = np.nextafter(rounded, np.float32(np.inf))
        self._columns["least"] = cupy.asarray(np.where(rounded < exact, above, rounded))
        self._sign = -1

    def launch(self, name: str, unit: int) -> None:
        """Launch a kernel for a unit of rows and their columns."""
        products, begin = self._products, unit * UNIT
        rows = np.int32(min(UNIT, self._rows.count - begin))
        first = begin if self._rows is self._local else 0
        columns = np.uint32(first), np.int32(self._compared - first)
        given = *self._structs, np.uint32(begin), rows, *columns
        if name == "list_pairs":
            self._columns["tile_count"].fill(0)
            tiles = _tiles(int(rows), self._compared - first)
            products.kernel("choose_tiles", self._rows.points.arrays)(
                (-(-tiles // MULTIPLIERS),), (MULTIPLIERS,), given
            )
        products.kernel(name, self._rows.points.arrays)(
            (products.processors,),
            (MULTIPLIERS,),
            given,
            shared_mem=products.shared_bytes,
        )

    def take(self) -> EdgesBetween:
        """Return the pairs listed since the last call, as edges of components."""
        products, local, rows = self._products, self._local, self._rows
        listed = self._columns["count"]
        count = int(listed.get()[0])
        self.failed |= count > CAPACITY
        count = 0 if self.failed else count
        listed.fill(0)
        kinds = np.uint32, np.uint32, np.float64, np.uint64
        edges = EdgesBetween(*(cupy.empty(count, kind) for kind in kinds))
        if count:
            products.kernel("weigh_pairs", rows.points.arrays)(
                (-(-count // THREADS),),
                (THREADS,),
                (
                    products.struct_of_points(rows.points.arrays),
                    products.struct,
                    struct_of(SIDE, rows.side),
                    struct_of(SIDE, local.side),
                    self._columns["rows"],
                    self._columns["columns"],
                    np.uint32(count),
                    struct_of(EDGES, edges._asdict()),
                ),
            )
        return EdgesBetween(*map(cupy.asnumpy, edges))


def _tiles(rows: int, columns: int) -> int:
    """Return the number of tiles of some rows and columns."""
    return -(-rows // TILE[0]) * -(-columns // TILE[1])
