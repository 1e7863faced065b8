"""Independent computation on rows that stay in their file.

They pass through memory in pieces. A piece is a part like that of another device. Its
border to the pieces before it disappears when it has passed, so both are contracted
again. Little waits at the borders if a graph has locality. If it has none, what waits
takes as much memory as the rows, and the limit is rejected.
"""

from ..backends.base import Band
from ..graph.model import ReducedGraph, Rows
from ..graph.ordered import Ordered
from ..io.stored_rows import StoredRows
from ..kernels.columns import room_for
from ..kernels.edge_order import in_order
from ..run.run import Run
from .boruvka import (
    ContractedPart,
    ExceptionCondition,
    contract,
    contract_rows,
    cycle_filter,
)
from .contract import merge, rename


def contract_stored(
    run: Run, stored: StoredRows, exception: ExceptionCondition
) -> ReducedGraph:
    """Contract rows piece by piece; return the remaining edges. Collective.

    Raises
    ------
    ConfigError
        If the remaining edges do not fit the memory limit.
    """
    passing = Passing(run, stored, exception)
    with run.comm.raise_on_all(), run.report.work(run.backend.name):
        pieces = map(passing.contract_piece, stored.pieces())
        left = passing.contract_again(next(pieces))
        for piece in pieces:
            left = passing.contract_again(passing.merged([left, piece]))
    run.state.forest_edges.append(passing.forest_edges.edges)
    run.directory.shorten()  # others ask for one step only
    return left


class Passing:
    """What rows that pass in pieces leave behind.

    The directory learns at once which component becomes part of which.

    Attributes
    ----------
    forest_edges : Ordered
    """

    def __init__(
        self, run: Run, stored: StoredRows, exception: ExceptionCondition
    ) -> None:
        self.run, self.exception = run, exception
        rows = stored.bounds[-1] - stored.bounds[0]  # each finds one edge at most
        self.forest_edges = Ordered(room_for(run.workers[0].rows, rows))

    def contract_piece(self, rows: Rows) -> ReducedGraph:
        """Contract a piece as if all else were on other ranks."""
        backend = self.run.backend
        placed = backend.place(rows)
        found = contract_rows(backend, rows, placed, Band(), self.exception)
        return self._record(found)

    def merged(self, graphs: list[ReducedGraph]) -> ReducedGraph:
        """Return what neighbouring parts have left as one graph."""
        run = self.run
        if not run.budget.fits(sum(graph.nbytes for graph in graphs)):
            what = "what the rows of a rank leave when they pass in pieces"
            raise run.budget.exceeded(run.graph.path, what, run.comm.size)
        names = [run.directory.lookup_here(graph.labels) for graph in graphs]
        renamed = [rename(*pair) for pair in zip(graphs, names, strict=True)]
        return cycle_filter(run.backend, merge(renamed, run.threads))

    def contract_again(self, graph: ReducedGraph) -> ReducedGraph:
        """Contract what waited at borders that have disappeared."""
        return self._record(contract(self.run.backend, graph, self.exception))

    def _record(self, found: ContractedPart) -> ReducedGraph:
        self.forest_edges.add(in_order(found.forest_edges, self.run.threads))
        self.run.directory.record_here(found.old, found.new)
        return found.graph
