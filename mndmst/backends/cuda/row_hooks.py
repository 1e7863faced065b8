"""Where all rows of a rank hook, ghost or not, and the edges of the lightest band."""

import cupy
import numpy as np

from ...graph.model import EdgeList
from ..base import Band
from .placed import PlacedRows
from .row_solver import RowSolver
from .solver import DeviceEdges
from .state import NONE
from .tools import Tools


def list_hooks(
    rows: PlacedRows, band: Band, tools: Tools
) -> tuple[np.ndarray, np.ndarray, EdgeList]:
    """See `Backend.row_hooks`; of parallel edges all are listed, side by side."""
    solver = RowSolver(tools.kernels, rows.vertices, rows, Band())
    best, edges = solver.lightest_arcs(band.high)
    far = cupy.arange(rows.own, dtype=np.uint32)
    far += np.uint32(rows.first)
    key = cupy.zeros(rows.own, rows.keys.dtype)
    some = best != NONE
    arc = best[some].astype(np.int64)
    far[some] = rows.ends[arc]
    key[some] = rows.keys[arc]
    others = edges.v != far[edges.u - np.uint32(rows.first)]
    edges = DeviceEdges(*(column[others] for column in edges))
    to_host = tools.transfer.to_host
    hook = to_host(rows.to_global(far).astype(np.uint32))
    return hook, to_host(key), tools.edge_list(rows, edges)
