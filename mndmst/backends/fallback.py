"""A device that hands its work to the host when its memory does not suffice.

Memory that is free on a GPU when the program asks may be taken by another program a
moment later. The result does not depend on the device, so the CPU takes over.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..graph.model import EdgeList, ReducedGraph, Rows
from ..host.progress import notice
from ..kernels.arc_inspection import ArcFacts
from .base import (
    Backend,
    Band,
    DeviceMemoryError,
    DevicePeer,
    Growth,
    LabelledForest,
    Memory,
    RowGrowth,
)

Result = TypeVar("Result")


class MovableRows:
    """Rows, placed on one backend at a time."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._placed: tuple[Backend, Any] | None = None

    def on(self, backend: Backend) -> Any:
        """Return the rows as placed on a backend; place them if need be."""
        if self._placed is None or self._placed[0] is not backend:
            self._placed = None  # lets the other one go
            self._placed = backend, backend.place(self.rows)
        return self._placed[1]


class Fallback(Backend):
    """A device, and a host that stands in for it from its first failure on."""

    def __init__(self, device: Backend, host: Backend) -> None:
        self.device, self.host = device, host
        self.name, self.inspects_arcs = device.name, device.inspects_arcs
        self.failed = False  # Whether the host stands in

    def _do(self, step: Callable[[Backend], Result]) -> Result:
        """Do a step on the device or, where that has too little memory, the host."""
        if not self.failed:
            try:
                return step(self.device)
            except DeviceMemoryError as error:
                self.failed = True
                notice(f"going on with the CPU alone: {error}")
        return step(self.host)

    def describe(self) -> str:
        """Return the device's name for reports."""
        return self.device.describe()

    def start(self, keys: np.dtype) -> None:
        """See `Backend.start`."""
        self._do(lambda backend: backend.start(keys))

    def memory(self) -> Memory:
        """Return the memory of the device."""
        return self.device.memory()

    def rows_nbytes(self, rows: Rows) -> int:
        """Return the bytes of the device that `place` and the steps will need."""
        return self.device.rows_nbytes(rows)

    def place(self, rows: Rows) -> MovableRows:
        """Bring rows to the device, or keep them for the host."""
        movable = MovableRows(rows)
        self._do(movable.on)
        return movable

    def inspect_arcs(self, rows: MovableRows, num_vertices: int) -> ArcFacts | None:
        """See `Backend.inspect_arcs`."""
        return self._do(lambda b: b.inspect_arcs(rows.on(b), num_vertices))

    def msf(self, rows: MovableRows) -> LabelledForest:
        """See `Backend.msf`."""
        return self._do(lambda backend: backend.msf(rows.on(backend)))

    def msf_of_edges(
        self, num_vertices: int, src: Any, dst: Any, weight: Any, maximum: bool
    ) -> LabelledForest:
        """See `Backend.msf_of_edges`; no host can take over a device's arrays."""
        return self.device.msf_of_edges(num_vertices, src, dst, weight, maximum)

    def band_forest(
        self, rows: MovableRows, band: Band, label: np.ndarray | None
    ) -> EdgeList:
        """See `Backend.band_forest`."""
        return self._do(
            lambda backend: backend.band_forest(rows.on(backend), band, label)
        )

    def grow_rows(self, rows: MovableRows, band: Band) -> RowGrowth | None:
        """See `Backend.grow_rows`."""
        return self._do(lambda backend: backend.grow_rows(rows.on(backend), band))

    def row_hooks(
        self, rows: MovableRows, band: Band
    ) -> tuple[np.ndarray, np.ndarray, EdgeList]:
        """See `Backend.row_hooks`."""
        return self._do(lambda backend: backend.row_hooks(rows.on(backend), band))

    def peer(self, rows: MovableRows, num_vertices: int) -> DevicePeer[Any, Any] | None:
        """See `Backend.peer`."""
        return self._do(lambda backend: backend.peer(rows.on(backend), num_vertices))

    def forest(self, graph: ReducedGraph) -> Growth:
        """See `Backend.forest`."""
        return self._do(lambda backend: backend.forest(graph))

    def grow(self, graph: ReducedGraph) -> Growth:
        """See `Backend.grow`."""
        return self._do(lambda backend: backend.grow(graph))
