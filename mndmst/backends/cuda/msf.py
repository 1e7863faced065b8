"""The forest of rows that are the whole graph."""

from ..base import Band, LabelledForest
from .placed import PlacedRows
from .row_solver import RowSolver
from .streamed import StreamedRows, StreamSolver
from .tools import Tools


def msf(rows: PlacedRows | StreamedRows, tools: Tools) -> LabelledForest:
    """See `Backend.msf`."""
    solver: RowSolver | StreamSolver
    if isinstance(rows, StreamedRows):
        solver = tools.stream_solver(rows)
        edges = solver.solve_rows(Band(), None)
    else:
        solver = RowSolver(tools.kernels, rows.vertices, rows, Band())
        edges = solver.solve_rows(labelled=False)
    label = rows.to_global(solver.labels())
    return LabelledForest(tools.edge_list(rows, edges), tools.transfer.to_host(label))
