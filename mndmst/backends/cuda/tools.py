"""Tools that the steps on a device share."""

from collections.abc import Callable
from typing import NamedTuple

from ...graph.model import EdgeList
from .kernels import Kernels
from .placed import PlacedRows
from .solver import DeviceEdges
from .streamed import StreamedRows, StreamSolver
from .transfer import Transfer

FILLED = 0.9  # of the free memory is taken where it is short; pools leave holes


class Tools(NamedTuple):
    """Of one device, for keys of one type.

    Attributes
    ----------
    kernels : Kernels
    transfer : Transfer
        Copies to the device and back.
    free_nbytes : callable
        Returns the bytes that may still be taken.
    """

    kernels: Kernels
    transfer: Transfer
    free_nbytes: Callable[[], int]

    def stream_solver(self, rows: StreamedRows) -> StreamSolver:
        """Return what solves rows that pass through the device in pieces."""
        nbytes = int(FILLED * self.free_nbytes())
        return StreamSolver(self.kernels, rows, self.transfer, nbytes)

    def edge_list(
        self, rows: PlacedRows | StreamedRows, edges: DeviceEdges
    ) -> EdgeList:
        """Bring edges to the host, sorted by their ends."""
        u, v, key = edges.in_order()
        to_host = self.transfer.to_host
        return EdgeList(
            to_host(rows.to_global(u)), to_host(rows.to_global(v)), to_host(key)
        )
