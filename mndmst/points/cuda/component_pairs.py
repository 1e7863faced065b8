"""Edges between pairs of components on one device.

See `points.devices.component_pairs`.
"""

from typing import Any

import cupy
import numpy as np

from ...backends.cuda.modules import struct_of
from ..devices.component_pairs import BlockOrder, order_by_component
from ..devices.point_products import NO_POSITION, EdgesBetween, ReceivedPoints

UNIT = 1 << 13  # positions that one launch multiplies with all they meet
CAPACITY = 1 << 22  # pairs of points that are listed before they are taken
THREADS, MULTIPLIERS = 128, 256  # as in point_products.cu and point_multiply.cu
# Beside the bound of products: what rounding to float32 adds, to terms and to cores.
TERMS, CORES = 2.0**-20, 2.0**-22
ORDERED = np.dtype([(n, np.uint64) for n in ("factors", "component", "term", "core")])
SIDE = np.dtype([(n, np.uint64) for n in ("positions", "component", "cores")])
EDGES = np.dtype([(n, np.uint64) for n in EdgesBetween._fields])
BETWEEN = np.dtype(
    [(n, np.uint64) for n in ("least", "rows", "columns", "found")]
    + [(n, np.int32) for n in ("components", "capacity", "width", "unused")]
)


class OrderedPoints:
    """Points in the order of their components.

    Parameters
    ----------
    products : point_products.DeviceProducts
    points : point_products.DevicePoints
    order : BlockOrder
    cores : ndarray of float64, shape (points,)
    """

    def __init__(
        self, products: Any, points: Any, order: BlockOrder, cores: np.ndarray
    ) -> None:
        self._products, self.points, self.count = products, points, len(order.positions)
        self._positions = products.upload(order.positions)
        there = np.where(order.positions == NO_POSITION, np.uint32(0), order.positions)
        self.side = {
            "positions": products.upload(there),
            "component": products.upload(order.component),
            "cores": products.upload(cores),
        }
        self._factors = products.factors_of(points, self.side["positions"])
        self._heaviest = float(cores.max()) * products.frame.factor

    def width(self) -> float:
        """Return the largest possible difference of an upper and a lower bound."""
        products = self._products
        plain = 4.001 * (products.gamma + TERMS) * self.points.most
        plain += 8 * products.absolute
        return plain + 4.001 * CORES * self._heaviest * self._heaviest

    def facts(self, sign: int) -> Any:
        """Return the struct of a kernel that finds upper bounds (1) or lower ones."""
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
        self._columns = {**columns, "term": term, "core": core}  # kept alive
        return struct_of(ORDERED, self._columns)


class ComponentPairs:
    """The pairs of a device's points with each other, and with those of other ranks.

    Attributes
    ----------
    width : float
        How far upper bounds are above lower ones, at most.
    failed : bool
        Whether too many pairs are listed, or points of other ranks change the frame.
    units : int
        Launches that the present rows take.
    """

    def __init__(
        self, products: Any, order: BlockOrder, cores: np.ndarray, components: int
    ) -> None:
        self._products, self._components = products, components
        self._own = OrderedPoints(products, products.points, order, cores)
        self._unit = products.frame.factor**2
        self._columns: dict[str, Any] = {
            "least": products.filled((components, components), np.inf),
            "rows": cupy.empty(CAPACITY, np.uint32),
            "columns": cupy.empty(CAPACITY, np.uint32),
            "found": cupy.zeros(1, np.uint32),
        }
        self._sign, self.width, self.failed = 1, 0.0, False

    def receive(self, received: ReceivedPoints | None, met: int = 0) -> None:
        """Compare received points with the first local points; by default all local."""
        products, own = self._products, self._own
        rows, self._met = own, own.count
        if received is not None:
            order = order_by_component(received.component, self._components)
            points = products.queries(received.points, received.point)
            self.failed |= products.points is not own.points
            rows, self._met = OrderedPoints(products, points, order, received.core), met
        self._rows, self.units = rows, 0 if self.failed else -(-rows.count // UNIT)
        self.width = max(
            self.width, own.width() / self._unit, rows.width() / self._unit
        )
        between = struct_of(
            BETWEEN,
            self._columns,
            components=self._components,
            capacity=CAPACITY,
            width=products.width,
        )
        own_facts = own.facts(self._sign)
        row_facts = own_facts if rows is own else rows.facts(self._sign)
        self._facts = row_facts, own_facts, between

    def least(self) -> np.ndarray:
        """Return the upper bounds of squared distances that have been found."""
        return cupy.asnumpy(self._columns["least"]) / self._unit

    def set_limits(self, limits: np.ndarray) -> None:
        """Set the squared distances within which pairs are listed."""
        exact = limits * self._unit
        rounded = exact.astype(np.float32)
        above = np.nextafter(rounded, np.float32(np.inf))
        self._columns["least"] = cupy.asarray(np.where(rounded < exact, above, rounded))
        self._sign = -1

    def launch(self, name: str, unit: int) -> None:
        """Launch a kernel for a unit of rows, with the positions that these meet."""
        products, begin = self._products, unit * UNIT
        rows = np.int32(min(UNIT, self._rows.count - begin))
        first = begin if self._rows is self._own else 0
        columns = np.uint32(first), np.int32(self._met - first)
        products.kernel(name, self._rows.points.arrays)(
            (products.processors,),
            (MULTIPLIERS,),
            (*self._facts, np.uint32(begin), rows, *columns),
            shared_mem=products.shared_bytes,
        )

    def take(self) -> EdgesBetween:
        """Return the pairs listed since the last call, as edges of components."""
        products, own, rows = self._products, self._own, self._rows
        found = self._columns["found"]
        count = int(found.get()[0])
        self.failed |= count > CAPACITY
        count = 0 if self.failed else count
        found.fill(0)
        kinds = np.uint32, np.uint32, np.float64, np.uint64
        edges = EdgesBetween(*(cupy.empty(count, kind) for kind in kinds))
        if count:
            products.kernel("weigh_pairs", rows.points.arrays)(
                (-(-count // THREADS),),
                (THREADS,),
                (
                    products.set_of(rows.points),
                    products.facts,
                    struct_of(SIDE, rows.side),
                    struct_of(SIDE, own.side),
                    self._columns["rows"],
                    self._columns["columns"],
                    np.uint32(count),
                    struct_of(EDGES, edges._asdict()),
                ),
            )
        return EdgesBetween(*map(cupy.asnumpy, edges))
