"""A graph that stays on the ranks: its rows, on their devices, for one solve after
another, with other weights and without some edges.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..comm.communicator import Comm
from ..comm.directory import Directory
from ..graph.model import EdgeList, Rows
from ..graph.order import keys_to_weights
from ..host.errors import ConfigError, InputError
from ..host.progress import Progress
from ..pipeline import contract
from ..run.config import Config
from ..run.report import Report
from ..run.run import Run, State, Worker
from ..steps.part_graph import part_graph
from ..steps.workers import place
from .edge_order import EdgeOrder
from .filters import (
    count_edges,
    joined_rows,
    mark_between,
    mark_edges,
    with_arcs,
    with_keys,
)
from .found import Found


@dataclass(frozen=True)
class Choice:
    """Of which graph a forest is computed: that of the rows, changed.

    Attributes
    ----------
    maximum : bool
    below : int, float or None
        Only edges of a smaller weight.
    without : pair of ndarray of int64, or None
        Edges to leave out, by their ends; the same on all ranks.
    vertices : ndarray of int64, or None
        Only edges between these; the same on all ranks.
    digest : bool
        Whether to compute the digest.
    """

    maximum: bool = False
    below: int | float | None = None
    without: tuple[np.ndarray, np.ndarray] | None = None
    vertices: np.ndarray | None = None
    digest: bool = False


class Weighed(NamedTuple):
    """The rows of a rank with some weights, on their devices."""

    workers: tuple[Worker, ...]
    dtype: np.dtype


class Resident:
    """A graph whose rows are on the ranks.

    Parameters
    ----------
    run : Run
        As `part_graph` returns it.

    Attributes
    ----------
    weighed : Weighed
        The rows with the graph's own weights.
    outdated : bool
        Whether the graph has changed since the rows were written.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.weighed = Weighed(run.workers, run.graph.weight_dtype)
        self.outdated = False
        self._order: EdgeOrder | None = None

    @classmethod
    def load(
        cls, comm: Comm, path: str | Path, config: Config, progress: Progress
    ) -> "Resident":
        """Read a graph. Collective; raises as `part_graph`."""
        return cls(part_graph(comm, path, config, Report(comm, progress)))

    @property
    def rows(self) -> Rows:
        """The rows of this rank."""
        return joined_rows(self.weighed.workers)

    @property
    def no_edges(self) -> EdgeList:
        """A list of no edges."""
        rows = self.weighed.workers[0].rows
        return EdgeList.empty(rows.indices.dtype, rows.keys.dtype)

    def replace_rows(self, rows: Rows) -> None:
        """Take other rows of the same vertices in place of those there are."""
        workers = []
        for worker in self.run.workers:
            begin = worker.rows.first - rows.first
            part = rows.cut(begin, begin + len(worker.rows))
            workers.append(Worker(worker.backend, part))
        placed = place(tuple(workers), self.run.report)
        self.run = replace(self.run, workers=placed)
        self.weighed = Weighed(placed, self.weighed.dtype)
        self.outdated, self._order = False, None

    @property
    def order(self) -> EdgeOrder:
        """The order of edges; the first time collective."""
        if self._order is None:
            self.check_held()
            self._order = EdgeOrder(
                self.run.comm, self.rows, self.run.directory.vtxdist, self.run.threads
            )
        return self._order

    def own_weights(self, weighed: Weighed) -> np.ndarray:
        """Return the weights of the edges that begin here, in the order of edges."""
        keys = self.order.of_edges(joined_rows(weighed.workers).keys)
        return keys_to_weights(keys, weighed.dtype)

    def weigh(self, weights: np.ndarray) -> Weighed:
        """Give the edges that begin here other weights. Collective.

        Parameters
        ----------
        weights : ndarray, one of `WEIGHT_DTYPES`, the same type on all ranks
            In the order of edges.

        Raises
        ------
        InputError
            On every rank, if a weight is NaN or some are missing.
        """
        order, comm = self.order, self.run.comm
        with comm.raise_on_all():
            if len(weights) != order.count:
                raise InputError(
                    f"rank {comm.rank} has {order.count:,} edges, and got "
                    f"{len(weights):,} weights. Send one for each, in the order of "
                    "the table 'edges'."
                )
        workers = with_keys(self.weighed.workers, order.spread(weights))
        return Weighed(place(workers, self.run.report), weights.dtype)

    def solve(
        self,
        weighed: Weighed,
        choice: Choice,
        progress: Progress,
        proceed: Callable[[], None],
    ) -> Found:
        """Compute the forest of the edges chosen. Collective.

        Parameters
        ----------
        progress : Progress
            Told about every stage.
        proceed : callable
            See `pipeline.contract`.
        """
        run = replace(
            self.run,
            graph=replace(self.run.graph, weight_dtype=weighed.dtype),
            state=State(Directory(self.run.comm, self.run.directory.vtxdist)),
            report=Report(self.run.comm, progress),
            workers=weighed.workers,
        )
        run = self._chosen(run, choice)
        begin = run.report.seconds
        contract(run, proceed)
        seconds = run.comm.max(run.report.seconds - begin)
        parts = run.state.forest_edges
        if choice.maximum:
            parts = [EdgeList(edges.u, edges.v, ~edges.key) for edges in parts]
        elif choice.below is not None:
            weights = [keys_to_weights(edges.key, weighed.dtype) for edges in parts]
            light = [lighter(each, choice.below) for each in weights]
            parts = [e.take(few) for e, few in zip(parts, light, strict=True)]
        found = Found.of(run, parts, weighed.dtype)
        found.totals["seconds"] = seconds
        return found.add_digest(run) if choice.digest else found

    def _chosen(self, run: Run, choice: Choice) -> Run:
        """Return a run over the edges that are chosen, as far as that must be before.

        What is not below a weight may go afterwards: the forest of lighter edges is
        part of the forest of all.
        """
        dtype = run.graph.weight_dtype
        cut = choice.without is not None or choice.vertices is not None
        if not (cut or choice.maximum):
            return run
        self.check_held()
        workers, num_edges = run.workers, run.num_edges
        rows = joined_rows(workers)
        keep = np.ones(rows.num_arcs, np.bool_)
        if choice.without is not None:
            keep &= ~mark_edges(rows, *choice.without)
        if choice.vertices is not None:
            keep &= mark_between(rows, choice.vertices)
        if choice.maximum and choice.below is not None:
            keep &= lighter(keys_to_weights(rows.keys, dtype), choice.below)
        if not keep.all():
            workers = with_arcs(workers, keep)
        num_edges = run.comm.sum(count_edges(workers))
        if choice.maximum:
            workers = with_keys(workers, ~joined_rows(workers).keys)
        workers = tuple(replace(worker, placed=None) for worker in workers)
        return replace(run, workers=place(workers, run.report), num_edges=num_edges)

    def check_held(self) -> None:
        """Refuse what needs the rows in memory; the same on all ranks."""
        run = self.run
        if run.comm.max(int(run.stored is not None)):
            error = run.budget.exceeded(
                run.graph.path, "the rows of a rank, which it needs", run.comm.size
            )
            error.ranks = run.comm.size
            raise error


def lighter(weights: np.ndarray, bound: int | float) -> np.ndarray:
    """Return which weights are smaller than a bound, compared exactly."""
    if weights.dtype.kind == "f":
        if isinstance(bound, int) and abs(bound) > 1 << 53:
            raise ConfigError(f"{bound} is no float; give a bound of at most 2^53")
        return weights < np.float64(bound)
    if math.isinf(bound):
        return np.full(len(weights), bound > 0)
    return weights < math.ceil(bound)
