"""Edges between pairs of components on one device; see `backends.component_pairs`."""

from typing import Any

import cupy
import numpy as np

from ..component_pairs import BlockOrder
from ..point_products import NO_POSITION

UNIT = 1 << 13  # places that one launch multiplies with all behind them
CAPACITY = 1 << 22  # pairs of points that are listed
THREADS, MULTIPLIERS = 128, 256  # as in point_products.cu
# Beside the bound of products: what rounding to float32 adds, to terms and to cores.
TERMS, CORES = 2.0**-20, 2.0**-22
ORDERED = np.dtype(
    [(n, np.uint64) for n in ("factors", "component", "term", "core", "least")]
    + [(n, np.uint64) for n in ("rows", "columns", "found")]
    + [(n, np.int32) for n in ("components", "capacity", "width", "unused")]
)


class ComponentPairs:
    """The points of a device in the order of their components."""

    def __init__(
        self, products: Any, order: BlockOrder, cores: np.ndarray, components: int
    ) -> None:
        self._products, self.count = products, len(order.places)
        self.units = -(-self.count // UNIT)
        places = products.upload(order.places)
        self._there = places != NO_POSITION
        self._places = cupy.where(self._there, places, 0).astype(np.uint32)
        self._cores = products.upload(cores)
        self._columns: dict[str, Any] = {
            "factors": products.points.factors[self._places],
            "component": products.upload(order.component),
            "least": cupy.full((components, components), np.inf, np.float32),
            "rows": cupy.empty(CAPACITY, np.uint32),
            "columns": cupy.empty(CAPACITY, np.uint32),
            "found": cupy.zeros(1, np.uint32),
        }
        self._set_terms(1)
        most = float(products.points.square.max())
        heaviest = float(self._cores.max()) * products.frame.factor
        self.width = 4.001 * (products.gamma + TERMS) * most + 8 * products.absolute
        self.width += 4.001 * CORES * heaviest * heaviest

    def _set_terms(self, sign: int) -> None:
        """Set terms of bounds: upper ones with the sign 1, lower ones with -1."""
        products = self._products
        gamma = sign * (products.gamma + TERMS)
        square = products.points.square * (1 + gamma) + 2 * sign * products.absolute
        core = self._cores**2 * (products.frame.factor**2 * (1 + sign * CORES))
        self._columns["term"] = cupy.where(
            self._there, square[self._places], np.inf
        ).astype(np.float32)
        self._columns["core"] = core[self._places].astype(np.float32)
        facts = np.zeros(1, ORDERED)
        for name, column in self._columns.items():
            facts[name] = column.data.ptr
        facts["components"] = len(self._columns["least"])
        facts["capacity"], facts["width"] = CAPACITY, products.width
        self._facts = cupy.asarray(facts.view(np.uint8))

    def least(self) -> np.ndarray:
        """Return the upper bounds of pairs of components that `bound` has found."""
        return cupy.asnumpy(self._columns["least"])

    def bound(self, unit: int) -> None:
        """Lower the bounds by the pairs of a unit of points with those behind it."""
        self._launch("bound_pairs", unit)

    def set_limits(self, limits: np.ndarray) -> None:
        """Set the bounds within which `list_within` lists pairs."""
        self._columns["least"] = cupy.asarray(limits)
        self._set_terms(-1)

    def list_within(self, unit: int) -> None:
        """List pairs of points within the bounds, of a unit with those behind it."""
        self._launch("list_pairs", unit)

    def _launch(self, name: str, unit: int) -> None:
        products, begin = self._products, unit * UNIT
        rows = np.int32(min(UNIT, self.count - begin))
        first, columns = np.uint32(begin), np.int32(self.count - begin)
        kernel = products.kernel(name, products.points.arrays)
        kernel(
            (products.processors,),
            (MULTIPLIERS,),
            (self._facts, first, rows, first, columns),
            shared_mem=products.shared_bytes,
        )

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the places and weights of the pairs listed; None if too many are."""
        products = self._products
        count = int(self._columns["found"][0])
        if count > CAPACITY:
            return None
        rows, columns = (
            self._places[self._columns[name][:count]] for name in ("rows", "columns")
        )
        weights = cupy.empty(count)
        if count:
            number, facts = np.uint32(count), products.facts
            kernel = products.kernel("weigh_pairs", products.points.arrays)
            kernel(
                (-(-count // THREADS),),
                (THREADS,),
                (facts, rows, columns, number, self._cores, weights),
            )
        return cupy.asnumpy(rows), cupy.asnumpy(columns), cupy.asnumpy(weights)
