"""Rows that stay in their file, and are read from it piece by piece."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..graph.model import Rows
from ..graph.order import key_dtype, weights_to_keys
from ..kernels.inspect import inspect_rows
from ..kernels.threads import ALONE, Threads
from .arc_reader import ArcReader
from .shards import ShardedGraph


class Clock:
    """Notes how long the steps of a stage take, all in all."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = entry
        self.last = time.perf_counter()

    def note(self, step: str) -> None:
        """Add the seconds since the last step."""
        now, name = time.perf_counter(), f"{step}_seconds"
        self.entry[name] = self.entry.get(name, 0.0) + now - self.last
        self.last = now


class Facts(NamedTuple):
    """What a look at all arcs of some rows tells.

    Attributes
    ----------
    edges : int
        Distinct edges to larger vertices.
    balance : uint64
        Over all rows of a symmetric graph the sum is zero, see `inspect_rows`.
    """

    edges: int
    balance: np.uint64


@dataclass(frozen=True)
class StoredRows:
    """The rows of a rank, in pieces of which only one need be in memory.

    Attributes
    ----------
    graph : ShardedGraph
    bounds : list of int
        The first vertex of each piece, and one past the last of all.
    threads : Threads
        Read with these.
    """

    graph: ShardedGraph
    bounds: list[int]
    threads: Threads = ALONE

    def pieces(self) -> Iterator[Rows]:
        """Yield the pieces in order; what is done with one should not keep it."""
        for begin, end in pairwise(self.bounds):
            yield self._piece(begin, end)

    def _piece(self, begin: int, end: int) -> Rows:
        """Read rows that have been looked at before."""
        rows, arcs = _on_their_way(self.graph, begin, end, self.threads)
        arcs.read(self.threads, lambda row, bounds: _to_keys(arcs, bounds))
        return rows

    def inspect(self, clock: Clock) -> Iterator[Facts]:
        """Yield the facts of each piece."""
        for begin, end in pairwise(self.bounds):
            yield load_rows(self.graph, begin, end, self.threads, clock)[1]


def load_rows(
    graph: ShardedGraph,
    begin: int,
    end: int,
    threads: Threads,
    clock: Clock | None = None,
    begun: Callable[[Rows], object] = lambda rows: None,
) -> tuple[Rows, Facts]:
    """Read the rows of the vertices [begin, end), and look at their arcs.

    Parameters
    ----------
    clock : Clock
        Notes the steps.
    begun : callable
        Given the rows when their arcs begin to come.
    """
    clock = clock or Clock({})
    rows, arcs = _on_their_way(graph, begin, end, threads)
    clock.note("indptr")
    begun(rows)

    def look(row: int, bounds: np.ndarray) -> tuple[int, np.uint64]:
        _to_keys(arcs, bounds)
        columns = bounds, rows.indices, rows.keys
        return inspect_rows(*columns, begin + row, 0, len(bounds) - 1)

    found = arcs.read(threads, look)
    clock.note("arcs")
    edges = sum(int(count) for count, _ in found) - _repeats(rows, arcs.seams)
    return rows, Facts(edges, np.array([part for _, part in found], np.uint64).sum())


def _on_their_way(
    graph: ShardedGraph, begin: int, end: int, threads: Threads
) -> tuple[Rows, ArcReader]:
    """Return rows without their arcs, and what reads these into them."""
    arcs = ArcReader(graph, begin, end, graph.read_indptr(begin, end, threads))
    keys = arcs.weights.view(key_dtype(graph.weight_dtype))
    columns = arcs.indptr, arcs.indices, keys
    return Rows(begin, graph.num_vertices, *columns, arcs.arrival), arcs


def _to_keys(arcs: ArcReader, bounds: np.ndarray) -> None:
    """Make keys, in place, of the weights of arcs that have come."""
    weights_to_keys(arcs.weights[bounds[0] : bounds[-1]])


def _repeats(rows: Rows, seams: list[int]) -> int:
    """Count the arcs to larger vertices that repeat the arc before a seam."""
    arcs = np.array(seams, np.int64)
    heads = rows.indices[arcs].astype(np.int64)
    tails = rows.first + np.searchsorted(rows.indptr, arcs, "right") - 1
    return int(((heads == rows.indices[arcs - 1]) & (heads > tails)).sum())
