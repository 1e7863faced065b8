"""Step 1: every rank reads its rows directly from the shards.

The numbers of shards and of ranks are independent. Every rank gets consecutive rows
with about the same number of arcs, where each vertex counts as `VERTEX_COST` arcs; this
preserves the locality of a graph. Rows that exceed `--memory` stay in their file and
are read in pieces. `io/shards/row_reading.py` reads the files.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from ..backends.base import Device
from ..comm.communicator import Comm
from ..graph.model import Rows
from ..host.errors import InputError
from ..host.memory import Budget, free_bytes, held_bytes
from ..host.memory_costs import ARC_BYTES, PIECE_ROW_BYTES, STARTED_DEVICES_RESERVE
from ..io.names import shown_edge
from ..io.results.graph_names import names_of_graph
from ..io.shards.row_reading import ReadInProgress, StoredRows
from ..io.shards.sharded_graph import ShardedGraph
from ..kernels.arc_inspection import (
    ArcFacts,
    ArcInspection,
    add_to_buckets,
    arcs_of_bucket,
)
from ..kernels.freed_memory import KEPT_SHARE, keep_freed, keep_nothing
from ..kernels.threads import Threads

VERTEX_COST = 28
# Most rows whose pointers are read to end the bisection for a rank's first vertex.
BISECTED_ROWS = 1 << 16
BUCKETS = 4096


def balanced_vtxdist(
    comm: Comm, graph: ShardedGraph, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the first vertex of every rank (int64, ranks + 1). Collective.

    The load of ranks is in proportion to `weights` (float64, one per rank), by default
    equal. Each rank computes its first vertex, and reads only the row pointers that it
    needs for this.
    """
    if comm.size == 1:
        return np.array([0, graph.num_vertices])
    total = graph.num_arcs + VERTEX_COST * graph.num_vertices
    load = total * comm.rank // comm.size
    if weights is not None:
        load = int(total * (weights[: comm.rank].sum() / weights.sum()))
    with comm.raise_on_all():
        first = _first_with_load(graph, load)
    firsts = comm.allgatherv(np.array([first], np.int64))
    # With damaged row pointers first vertices may descend; reading detects the damage
    return np.append(np.maximum.accumulate(firsts), graph.num_vertices)


def _first_with_load(graph: ShardedGraph, load: int) -> int:
    """Find by bisection the first vertex such that those before it have the load."""
    before_parts = graph.arcdist + VERTEX_COST * graph.vtxdist
    part = int(np.searchsorted(before_parts, load)) - 1
    if part < 0:
        return 0
    low, high = graph.vtxdist[part : part + 2].tolist()
    while high - low > BISECTED_ROWS:
        middle = (low + high) // 2
        arcs = int(graph.read_indptr(middle, middle)[0])
        if arcs + VERTEX_COST * middle < load:
            low = middle
        else:
            high = middle
    before = graph.read_indptr(low, high) + VERTEX_COST * np.arange(low, high + 1)
    return min(low + int(np.searchsorted(before, load)), high)


class Clock:
    """Sums the seconds that each step of a stage takes, over all pieces."""

    def __init__(self, entry: dict[str, object]) -> None:
        self.entry, self._seconds = entry, defaultdict[str, float](float)
        self.last = time.perf_counter()

    def note(self, step: str) -> None:
        """Add the seconds since the last step."""
        now = time.perf_counter()
        self._seconds[step] += now - self.last
        self.entry[f"{step}_seconds"] = self._seconds[step]
        self.last = now


@dataclass(frozen=True)
class RankRead:
    """An ongoing read of this rank's rows: `finish` reads the arcs."""

    comm: Comm
    # The rows that stay in memory: all, or none if the rows stay in their file.
    whole: ReadInProgress
    # The rows that stay in their file: all, if the rows of some rank exceed the memory
    # limit, or none.
    stored: StoredRows
    clock: Clock
    budget: Budget  # `enough` is set: the bytes that suffice for the rows

    @property
    def rows(self) -> Rows:
        """The rows in memory, whose arcs `finish` reads."""
        return self.whole.rows

    def rows_for(self, backends: list[Device]) -> Rows:
        """Return the rows for devices: a single GPU gets files to read itself.

        Collective, because it opens the files for the GPU. The host always reads stored
        rows, because it checks each piece.
        """
        with self.comm.raise_on_all():
            if len(backends) == 1 and backends[0].inspects_arcs and not self.stored:
                return self.whole.rows_in_files()
        return self.rows

    def pieces(self) -> Iterable[Rows]:
        """Yield the rows in memory, then stored pieces, which are read again."""
        return chain([self.rows], self.stored)

    def finish(
        self, inspection: ArcInspection | None = None, on_device: bool = False
    ) -> int:
        """Read all arcs and check them; return the number of edges. Collective.

        An `inspection` of `rows` runs on a device meanwhile. With `on_device` the
        device reads the arcs, too; the host then reads them only to locate a fault. The
        edges of the whole graph are counted as distinct and undirected, without
        self-loops.
        """
        comm = self.comm
        with comm.raise_on_all():
            if on_device and inspection is not None:
                facts = [inspection.facts() or self.whole.load()]
                self.clock.note("arcs")
            else:
                facts = list(self._facts(inspection))
        balance = sum(each.balance for each in facts) % (1 << 64)
        if comm.sum(np.array([balance], np.uint64))[0] != 0:
            if on_device:
                self.whole.load()
            error = _asymmetry(comm, self.whole.graph, self.pieces)
            with comm.raise_on_all():
                raise error
        return comm.sum(sum(each.edges for each in facts))

    def _facts(self, inspection: ArcInspection | None) -> Iterator[ArcFacts]:
        """Read the arcs of each piece, and yield their facts."""
        yield self.whole.read(inspection=inspection)
        self.clock.note("arcs")
        for piece in self.stored.begin_pieces():
            self.clock.note("indptr")
            yield piece.read()
            self.clock.note("arcs")


def begin_read(
    comm: Comm,
    graph: ShardedGraph,
    vtxdist: np.ndarray,
    budget: Budget,
    threads: int = 1,
    entry: dict[str, object] | None = None,
) -> RankRead:
    """Read the row pointers of this rank's rows, and allocate memory for their arcs.

    Collective. `entry` gets the seconds for row pointers and arcs. Raises ConfigError
    if not even pieces of the rows fit the memory limit; InputError if a part is
    damaged.
    """
    begin, end = int(vtxdist[comm.rank]), int(vtxdist[comm.rank + 1])
    pool = Threads(threads)
    clock = Clock({} if entry is None else entry)
    bounds = [end]
    if budget.limit:
        bounds, budget = cut_rows(comm, graph, begin, end, budget)
    stored = StoredRows(graph, bounds, pool)
    with comm.raise_on_all():
        whole = ReadInProgress(graph, begin, bounds[0], pool)
    clock.note("indptr")
    return RankRead(comm, whole, stored, clock, budget)


def keep_to_host(
    comm: Comm,
    graph: ShardedGraph,
    budget: Budget,
    start_devices: Callable[[], object],
    most: float | None = None,
) -> Budget:
    """Return a budget limited to the rank's share of its host, if the rows need more.

    Collective. If the rows fit easily, the budget is returned unchanged, and the
    allocator may keep much of the freed memory for the next step. If little memory
    would remain, the function first calls `start_devices`, whose memory the rows cannot
    use. `most` is the largest share of the rows on a rank; by default all shares are
    equal.
    """
    share_of_rows = 1 / comm.size if most is None else most
    rows = math.ceil(graph.num_vertices * share_of_rows)
    arcs = math.ceil(graph.num_arcs * share_of_rows)
    row_bytes = bytes_of_rows(graph.num_vertices, graph.weight_dtype, rows, arcs)
    work = budget.for_rows(rows, arcs, row_bytes, comm.size) - row_bytes
    # `work` is for the worst case, which few graphs need
    needed = row_bytes + work // 2
    share = share_of_host(comm)
    if needed + STARTED_DEVICES_RESERVE > share:
        start_devices()
        share = share_of_host(comm)
    if needed > share:
        return replace(budget, limit=comm.min(held_bytes()) + share, shared=True)
    keep_freed((share - row_bytes) // KEPT_SHARE)
    return budget


def share_of_host(comm: Comm) -> int:
    """Return a rank's share of its host's free memory, in bytes. Collective.

    It is the minimum over all hosts.
    """
    return comm.min(free_bytes() // comm.node().size)


def cut_rows(
    comm: Comm, graph: ShardedGraph, begin: int, end: int, budget: Budget
) -> tuple[list[int], Budget]:
    """Return the bounds of pieces that fit the budget; only `end` if all rows fit.

    Collective. Also returns the budget with `enough`, the bytes that suffice for all
    rows. Raises ConfigError, which states a sufficient limit, if no piece fits.
    """
    held = held_bytes()
    with comm.raise_on_all():
        indptr = graph.read_indptr(begin, end)
    indptr -= indptr[0]
    rows, arcs = end - begin, int(indptr[-1])
    row_bytes = bytes_of_rows(graph.num_vertices, graph.weight_dtype, rows, arcs)
    needed = budget.for_rows(rows, arcs, row_bytes, comm.size)
    budget = replace(budget, enough=comm.max(held + needed))
    if budget.enough <= budget.limit:
        return [end], budget
    keep_nothing()
    cost = indptr  # becomes the bytes of all rows before each row
    cost *= ARC_BYTES + _arc_bytes(graph.num_vertices, graph.weight_dtype)
    cost += PIECE_ROW_BYTES * np.arange(len(cost))
    # A piece ends with the row in which its cost reaches `size`, so it may exceed
    # `size` by the largest row, which is subtracted before.
    size = budget.for_piece(budget.limit - held, rows, comm.size)
    size -= int(np.diff(cost).max(initial=0))
    with comm.raise_on_all():
        if size < budget.LEAST_PIECE:
            raise budget.exceeded(graph.path, "the rows of a rank", comm.size)
    cuts = np.searchsorted(cost, np.arange(size, cost[-1], size))
    bounds = [begin, *(begin + np.unique(cuts[cuts < rows])).tolist(), end]
    return bounds, budget


def bytes_of_rows(
    num_vertices: int, weight_dtype: np.dtype, rows: int, arcs: int
) -> int:
    """Return the bytes of some rows in memory, of a graph of `num_vertices`."""
    return 8 * (rows + 1) + arcs * _arc_bytes(num_vertices, weight_dtype)


def _arc_bytes(num_vertices: int, weight_dtype: np.dtype) -> int:
    return weight_dtype.itemsize + (8 if num_vertices > 1 << 32 else 4)


def _asymmetry(
    comm: Comm, graph: ShardedGraph, pieces: Callable[[], Iterable[Rows]]
) -> InputError:
    """Return an error that names an arc without its reverse. Collective."""
    buckets = np.zeros(BUCKETS, np.uint64)
    for rows in pieces():
        add_to_buckets(rows.indptr, rows.indices, rows.keys, rows.first, buckets)
    bucket = int(np.flatnonzero(comm.sum(buckets))[0])
    suspects = []
    for rows in pieces():
        tails, arcs = arcs_of_bucket(
            rows.indptr, rows.indices, rows.first, BUCKETS, bucket
        )
        suspects.append((tails, rows.indices[arcs].astype(np.int64), rows.keys[arcs]))
    columns = [np.concatenate(column) for column in zip(*suspects, strict=True)]
    tail, head, key = comm.gatherv(*columns)
    return comm.bcast(_no_reverse(graph, tail, head, key) if comm.rank == 0 else None)


def _no_reverse(
    graph: ShardedGraph, tail: np.ndarray, head: np.ndarray, key: np.ndarray
) -> InputError:
    """Return the error for the first arc without a reverse."""
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    order = np.lexsort((key, high, low))
    edge = np.stack([low[order], high[order], key[order].view(f"i{key.itemsize}")])
    upward = (tail < head)[order]
    starts = np.flatnonzero(np.r_[True, (edge[:, 1:] != edge[:, :-1]).any(axis=0)])
    surplus = np.add.reduceat(np.where(upward, 1, -1), starts)
    odd = np.flatnonzero(surplus)[0]
    first = order[starts[odd]]
    u, v = (low[first], high[first])[:: int(np.sign(surplus[odd]))]
    weight = graph.weights(key[first : first + 1])[0]
    part = int(np.searchsorted(graph.vtxdist, u, side="right")) - 1
    names = names_of_graph(graph)
    return InputError(
        f"{graph.parts[part]}: the arc {shown_edge(u, v, names)} of weight {weight} "
        f"has no reverse {shown_edge(v, u, names)} of the same weight. Make the graph "
        'again from its edges with "mndmst partition", which stores every edge in both '
        "rows."
    )
