"""Rows that stay in their file, and are read from it piece by piece."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ...graph.model import Rows
from ...kernels.arc_inspection import ArcFacts
from ...kernels.threads import ALONE, Threads
from .arc_reader import ArcReader
from .sharded_graph import ShardedGraph

# Who looks at arcs that are being read: returns what it has found, or None if it could
# not look, or if something is wrong with them.
Look = Callable[[], ArcFacts | None]


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
        arcs.read(self.threads)
        return rows

    def inspect(self, clock: Clock) -> Iterator[ArcFacts]:
        """Yield the facts of each piece."""
        for begin, end in pairwise(self.bounds):
            yield load_rows(self.graph, begin, end, self.threads, clock)[1]


def load_rows(
    graph: ShardedGraph,
    begin: int,
    end: int,
    threads: Threads,
    clock: Clock | None = None,
    begun: Callable[[Rows], Look | None] = lambda rows: None,
) -> tuple[Rows, ArcFacts]:
    """Read the rows of the vertices [begin, end), and look at their arcs.

    Parameters
    ----------
    clock : Clock
        Notes the steps.
    begun : callable
        Given the rows when their arcs begin to come; may return who looks at them.
    """
    clock = clock or Clock({})
    rows, arcs = _on_their_way(graph, begin, end, threads)
    clock.note("indptr")
    look = begun(rows)

    facts = arcs.read(threads, whole=look is None)
    if look is not None:
        facts = look() or arcs.look(threads)
    clock.note("arcs")
    return rows, facts


def _on_their_way(
    graph: ShardedGraph, begin: int, end: int, threads: Threads
) -> tuple[Rows, ArcReader]:
    """Return rows without their arcs, and what reads these into them."""
    arcs = ArcReader(graph, begin, end, graph.read_indptr(begin, end, threads))
    return Rows(
        begin, graph.num_vertices, arcs.indptr, arcs.indices, arcs.keys, arcs.progress
    ), arcs
