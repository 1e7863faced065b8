"""A device that hands its work to the host if it has too little memory.

Another program may take free memory of a GPU at any time. The result does not depend on
the device, so the CPU takes over.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ..graph.model import EdgeList, ReducedGraph, Rows
from ..host.progress import notice
from ..kernels.arc_inspection import ArcFacts
from ..kernels.hooks import Hooks
from .base import (
    ArrayOnDevice,
    Backend,
    Band,
    ContractedComponents,
    ContractedRows,
    Device,
    DeviceMemoryError,
    LabelledForest,
    Memory,
    Peer,
    RowsOnDevice,
)

Result = TypeVar("Result")


class MovableRows:
    """Rows that are uploaded to one backend at a time."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._on_device: tuple[Device, RowsOnDevice] | None = None

    def on(self, backend: Device) -> RowsOnDevice:
        """Return the copy of the rows on a backend; upload them if need be."""
        if self._on_device is None or self._on_device[0] is not backend:
            self._on_device = None  # frees the copy on the other backend
            self._on_device = backend, backend.upload(self.rows)
        return self._on_device[1]


class Fallback(Backend[MovableRows, ArrayOnDevice]):
    """A device, and a host that replaces it from its first failure on."""

    def __init__(self, device: Device, host: Device) -> None:
        self.device, self.host = device, host
        self.name, self.inspects_arcs = device.name, device.inspects_arcs
        self.failed = False  # Whether the host has replaced the device

    def _do(self, step: Callable[[Device], Result]) -> Result:
        """Do a step on the device, or on the host if the device lacks memory."""
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
        """See `Backend.rows_nbytes`."""
        return self.device.rows_nbytes(rows)

    def upload(self, rows: Rows) -> MovableRows:
        """Upload rows to the device, or to the host if the device lacks memory."""
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
        self,
        num_vertices: int,
        src: ArrayOnDevice,
        dst: ArrayOnDevice,
        weight: ArrayOnDevice,
        maximum: bool,
    ) -> LabelledForest:
        """See `Backend.msf_of_edges`; the host cannot read a device's arrays."""
        return self.device.msf_of_edges(num_vertices, src, dst, weight, maximum)

    def band_forest(
        self, rows: MovableRows, band: Band, label: np.ndarray | None
    ) -> EdgeList:
        """See `Backend.band_forest`."""
        return self._do(
            lambda backend: backend.band_forest(rows.on(backend), band, label)
        )

    def contract_rows(self, rows: MovableRows, band: Band) -> ContractedRows | None:
        """See `Backend.contract_rows`."""
        return self._do(lambda backend: backend.contract_rows(rows.on(backend), band))

    def row_hooks(self, rows: MovableRows, band: Band, hooks: Hooks) -> EdgeList:
        """See `Backend.row_hooks`."""
        return self._do(
            lambda backend: backend.row_hooks(rows.on(backend), band, hooks)
        )

    def peer(self, rows: MovableRows, num_vertices: int) -> Peer | None:
        """See `Backend.peer`."""
        return self._do(lambda backend: backend.peer(rows.on(backend), num_vertices))

    def forest(self, graph: ReducedGraph) -> ContractedComponents:
        """See `Backend.forest`."""
        return self._do(lambda backend: backend.forest(graph))

    def contract(self, graph: ReducedGraph) -> ContractedComponents:
        """See `Backend.contract`."""
        return self._do(lambda backend: backend.contract(graph))
