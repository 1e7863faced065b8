"""A graph loaded on the ranks: the facts that no batch of changes alters.

A `LoadedGraph` never changes. Its methods take the rows of one version and compute from
them: the order of edges, the rows with other weights, the forest of chosen edges. Every
rank calls them from its main thread.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..backends.base import Device
from ..comm.communicator import Comm
from ..comm.directory import Directory
from ..graph.model import EdgeList, Rows
from ..graph.order import reversed_keys
from ..host.errors import InputError
from ..host.progress import Progress
from ..pipeline import contract
from ..solver.run import Run, State, Worker
from ..solver.run_report import Report
from ..solver.split import upload_rows
from .edge_order import EdgeOrder, tails_of
from .solved_forest import SolvedForest


def rows_of_rank(workers: Sequence[Worker]) -> Rows:
    """Return the rows of all devices of a rank as one piece."""
    if len(workers) == 1:
        return workers[0].rows
    parts = [worker.rows for worker in workers]
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    indices = np.concatenate([part.indices for part in parts])
    keys = np.concatenate([part.keys for part in parts])
    return Rows(parts[0].first, parts[0].num_vertices, indptr, indices, keys)


def with_keys(workers: Sequence[Worker], keys: np.ndarray) -> tuple[Worker, ...]:
    """Return the workers with other keys for their arcs, not on the devices yet."""
    return tuple(
        _worker_of(worker, worker.rows.indptr, worker.rows.indices, keys[arcs])
        for worker, arcs in _with_arcs_of_rank(workers)
    )


def with_arcs(workers: Sequence[Worker], keep: np.ndarray) -> tuple[Worker, ...]:
    """Return the workers with some of their arcs, not on the devices yet.

    `keep` is bool, one for each arc of the rank.
    """
    result = []
    for worker, arcs in _with_arcs_of_rank(workers):
        rows, chosen = worker.rows, keep[arcs]
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(chosen)])
        indices, keys = rows.indices[chosen], rows.keys[chosen]
        result.append(_worker_of(worker, before[rows.indptr], indices, keys))
    return tuple(result)


def _with_arcs_of_rank(workers: Sequence[Worker]) -> Iterator[tuple[Worker, slice]]:
    """Yield each worker, and the positions of its arcs among all arcs of the rank."""
    begin = 0
    for worker in workers:
        end = begin + worker.rows.num_arcs
        yield worker, slice(begin, end)
        begin = end


def _worker_of(
    worker: Worker, indptr: np.ndarray, indices: np.ndarray, keys: np.ndarray
) -> Worker:
    """Return a worker that has the same vertices, and other arcs."""
    first, num_vertices = worker.rows.first, worker.rows.num_vertices
    return Worker(worker.backend, Rows(first, num_vertices, indptr, indices, keys))


def count_edges(workers: Sequence[Worker]) -> int:
    """Return the distinct edges to larger vertices."""
    total = 0
    for worker in workers:
        heads, tails = worker.rows.indices, tails_of(worker.rows)
        new = np.ones(len(heads), np.bool_)
        new[1:] = (heads[1:] != heads[:-1]) | (tails[1:] != tails[:-1])
        total += int(np.count_nonzero(new & (heads > tails)))
    return total


def mark_edges(rows: Rows, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Mark the arcs that are one of the edges, in either direction (bool, arcs)."""
    marked = np.zeros(rows.num_arcs, np.bool_)
    for tail, head in ((src, dst), (dst, src)):
        here = (tail >= rows.first) & (tail < rows.last)
        row, head = tail[here] - rows.first, head[here]
        low = _lower(rows, row, head)
        high = _lower(rows, row, head + 1)
        while len(low):  # parallel edges stand side by side
            some = low < high
            low, high = low[some], high[some]
            marked[low] = True
            low = low + 1
    return marked


def mark_between(rows: Rows, vertices: np.ndarray) -> np.ndarray:
    """Mark the arcs that have both ends among some vertices (bool, arcs)."""
    chosen = np.zeros(rows.num_vertices, np.bool_)
    chosen[vertices] = True
    return chosen[rows.indices] & chosen[tails_of(rows)]


def _lower(rows: Rows, row: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Return the first arc of each row whose head is not smaller than one given."""
    low, high = rows.indptr[row], rows.indptr[row + 1]
    while (apart := low < high).any():
        middle = (low + high) // 2
        less = apart.copy()
        less[apart] = rows.indices[middle[apart]].astype(np.int64) < head[apart]
        low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
    return low


@dataclass(frozen=True)
class EdgeChoice:
    """The edges that a solve uses, and the forest that it computes of them."""

    maximum: bool  # Whether to compute the maximum spanning forest
    # Use only edges that come before it in the order: edges of a smaller weight, for a
    # maximum forest of a larger one.
    threshold: int | float | None = None
    # Edges to leave out, by their ends; the same on all ranks.
    without: tuple[np.ndarray, np.ndarray] | None = None
    # int64, or None: use edges between these only; the same on all ranks.
    vertices: np.ndarray | None = None
    digest: bool = False  # Whether to compute the digest


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """The rows of a rank with some weights, on their devices.

    In a graph for maximum forests the keys descend with the weights, whatever column
    these are.
    """

    workers: tuple[Worker, ...]
    dtype: np.dtype  # Type of the weights

    @property
    def rows(self) -> Rows:
        """The rows of this rank as one piece."""
        return rows_of_rank(self.workers)

    @property
    def num_arcs(self) -> int:
        """Arcs in the rows of this rank."""
        return sum(worker.rows.num_arcs for worker in self.workers)


class _DeviceRange(NamedTuple):
    """A device of this rank and the vertices [first, last) of its rows."""

    backend: Device
    first: int
    last: int


class LoadedGraph:
    """A graph on the ranks, without the rows of any version.

    `run` is as `part_graph` returns it.
    """

    def __init__(self, run: Run) -> None:
        self.run = replace(run, workers=())  # Without workers: those belong to versions
        self.weight_dtype = run.graph.weight_dtype
        rows = run.workers[0].rows
        # Types of the neighbours and of the sort keys of arcs.
        self.id_dtype, self.key_dtype = rows.indices.dtype, rows.keys.dtype
        self._devices = [
            _DeviceRange(w.backend, w.rows.first, w.rows.last) for w in run.workers
        ]

    @property
    def comm(self) -> Comm:
        """All ranks."""
        return self.run.comm

    @property
    def num_vertices(self) -> int:
        """Vertices of the graph."""
        return self.run.num_vertices

    @property
    def maximum(self) -> bool:
        """Whether it is a graph for maximum forests, whose keys descend."""
        return self.run.graph.maximum

    @property
    def backends(self) -> list[Device]:
        """The devices of this rank."""
        return [device.backend for device in self._devices]

    @property
    def no_edges(self) -> EdgeList:
        """A list of no edges."""
        return EdgeList.empty(self.id_dtype, self.key_dtype)

    def on_devices(self, rows: Rows) -> WeightedRows:
        """Return rows of the same vertices with the graph's own weights."""
        workers = [
            Worker(backend, rows.cut(first - rows.first, last - rows.first))
            for backend, first, last in self._devices
        ]
        return WeightedRows(
            upload_rows(tuple(workers), self.run.report), self.weight_dtype
        )

    def order_of(self, weighed: WeightedRows) -> EdgeOrder:
        """Return the order of edges of some rows. Collective.

        Raises ConfigError on every rank if the rows are not in memory.
        """
        self.check_in_memory()
        vtxdist, threads = self.run.directory.vtxdist, self.run.threads
        return EdgeOrder(self.comm, weighed.rows, vtxdist, threads)

    def weigh(
        self, rows: WeightedRows, order: EdgeOrder, weights: np.ndarray
    ) -> WeightedRows:
        """Give the edges that begin here other weights. Collective.

        `rows` are those of the version and `order` is their order of edges, which is
        also that of `weights`. All ranks give the same one of `WEIGHT_DTYPES`. Raises
        InputError on every rank if a weight is NaN or some are missing.
        """
        with self.comm.raise_on_all():
            if len(weights) != order.count:
                raise InputError(
                    f"rank {self.comm.rank} has {order.count:,} edges, and got "
                    f"{len(weights):,} weights. Send one for each, in the order of "
                    "the table 'edges'."
                )
        return self.with_arc_keys(
            rows, order.spread(weights, self.maximum), weights.dtype
        )

    def with_arc_keys(
        self, rows: WeightedRows, keys: np.ndarray, dtype: np.dtype
    ) -> WeightedRows:
        """Return rows with other sort keys of all arcs."""
        workers = with_keys(rows.workers, keys)
        return WeightedRows(upload_rows(workers, self.run.report), dtype)

    def run_over(self, num_edges: int) -> Run:
        """Return the facts of a run over a version that has some number of edges."""
        return replace(self.run, num_edges=num_edges)

    def solve(
        self,
        version: int,
        num_edges: int,
        weighed: WeightedRows,
        choice: EdgeChoice,
        progress: Progress,
        proceed: Callable[[], None],
    ) -> SolvedForest:
        """Compute the forest of the chosen edges of one version. Collective.

        `num_edges` and `weighed` are the edges and rows of the version. `proceed` is
        that of `pipeline.contract`.
        """
        graph = replace(
            self.run.graph, weight_dtype=weighed.dtype, maximum=choice.maximum
        )
        run = replace(
            self.run_over(num_edges),
            graph=graph,
            state=State(Directory(self.comm, self.run.directory.vtxdist)),
            report=Report(self.comm, progress),
            workers=weighed.workers,
        )
        run = self._chosen(run, choice)
        begin = run.report.seconds
        contract(run, proceed)
        seconds = run.comm.max(run.report.seconds - begin)
        parts = run.state.forest_edges
        if choice.threshold is not None:
            # The forest of the edges before it is part of the forest of all
            come_before = heavier if choice.maximum else lighter
            parts = [
                edges.take(come_before(graph.weights(edges.key), choice.threshold))
                for edges in parts
            ]
        forest = SolvedForest.of(run, version, parts)
        forest = forest.with_facts(seconds=seconds)
        return forest.with_digest(run) if choice.digest else forest

    def _chosen(self, run: Run, choice: EdgeChoice) -> Run:
        """Return a run over the chosen edges, whose keys are in the order chosen."""
        turned = choice.maximum != self.maximum
        if choice.without is None and choice.vertices is None and not turned:
            return run
        self.check_in_memory()
        workers, num_edges = run.workers, run.num_edges
        rows = rows_of_rank(workers)
        keep = np.ones(rows.num_arcs, np.bool_)
        if choice.without is not None:
            keep &= ~mark_edges(rows, *choice.without)
        if choice.vertices is not None:
            keep &= mark_between(rows, choice.vertices)
        if not keep.all():
            workers = with_arcs(workers, keep)
        num_edges = run.comm.sum(count_edges(workers))
        if turned:
            workers = with_keys(workers, reversed_keys(rows_of_rank(workers).keys))
        workers = tuple(replace(worker, on_device=None) for worker in workers)
        return replace(
            run, workers=upload_rows(workers, run.report), num_edges=num_edges
        )

    def check_in_memory(self) -> None:
        """Refuse a request that needs the rows in memory; the same on all ranks."""
        run = self.run
        if run.stored:
            error = run.budget.exceeded(
                run.graph.path, "the rows of a rank, which it needs", run.comm.size
            )
            error.ranks = run.comm.size
            raise error


def lighter(weights: np.ndarray, bound: int | float) -> np.ndarray:
    """Return the mask of weights that are smaller than a bound, compared exactly."""
    if weights.dtype.kind == "f":
        return weights < _least_float(bound)
    if isinstance(bound, float) and math.isinf(bound):
        return np.full(len(weights), bound > 0)
    return weights < math.ceil(bound)


def heavier(weights: np.ndarray, bound: int | float) -> np.ndarray:
    """Return the mask of weights that are larger than a bound, compared exactly."""
    if weights.dtype.kind == "f":
        return weights > -_least_float(-bound)
    if isinstance(bound, float) and math.isinf(bound):
        return np.full(len(weights), bound < 0)
    return weights > math.floor(bound)


def _least_float(bound: int | float) -> np.float64:
    """Return the least float64 that is not below a number of any size."""
    try:
        nearest = float(bound)
    except OverflowError:
        return np.float64(np.inf if bound > 0 else -np.finfo(np.float64).max)
    return np.float64(
        nearest if nearest >= bound else math.nextafter(nearest, math.inf)
    )
