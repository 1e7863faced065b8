"""The forest of a band of rows, with ghosts as ordinary vertices."""

import cupy
import numpy as np

from ...graph.model import EdgeList
from ..base import Band
from .placed import PlacedRows
from .row_solver import RowSolver
from .streamed import StreamedRows
from .tools import Tools


def band_forest(
    rows: PlacedRows | StreamedRows,
    band: Band,
    label: np.ndarray | None,
    tools: Tools,
) -> EdgeList:
    """See `Backend.band_forest`."""
    if isinstance(rows, StreamedRows):
        streamed = tools.stream_solver(rows)
        return tools.edge_list(rows, streamed.solve_rows(band, label))
    if label is None:
        solver = RowSolver(tools.kernels, rows.vertices, rows, band)
    else:
        component, count = _components(rows, label, tools)
        solver = RowSolver(tools.kernels, count, rows, band)
        solver.start_from(component)
    return tools.edge_list(rows, solver.solve_rows(label is not None))


def _components(
    rows: PlacedRows, label: np.ndarray, tools: Tools
) -> tuple[cupy.ndarray, int]:
    """Return a component for each local vertex, and how many numbers it takes.

    A label that is a vertex here gets that vertex's number, so that it meets the ghost
    of the same id; other labels are numbered after the vertices.
    """
    ids = tools.transfer.to_device(np.asarray(label, np.int64))
    local = rows.to_local(ids)
    known = rows.to_global(cupy.minimum(local, rows.vertices - 1)) == ids
    others = cupy.unique(ids[~known])
    number = rows.vertices + cupy.searchsorted(others, ids)
    count = rows.vertices + len(others)
    component = cupy.arange(count, dtype=np.uint32)
    component[rows.first : rows.first + rows.own] = cupy.where(known, local, number)
    return component, count
