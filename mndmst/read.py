"""Step 1: every rank reads its rows, straight from the shards.

The number of shards and of ranks are independent. The rows are cut so that every
rank gets about the same arcs, counting each vertex as `VERTEX_COST` arcs, and stay
contiguous, so that what locality a graph has survives.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .backends.numba.inspect import add_to_buckets, arcs_of_bucket, inspect_rows
from .backends.numba.threads import Threads
from .comm import Comm
from .errors import ConfigError, InputError
from .graph import Rows
from .io.arc_reader import ArcReader
from .io.shards import ShardedGraph
from .memory import Budget, resident_bytes
from .order import key_dtype, keys_to_weights, weights_to_keys

VERTEX_COST = 16
MIB = 1 << 20
BUCKETS = 4096


def balanced_vtxdist(comm: Comm, graph: ShardedGraph) -> np.ndarray:
    """Return the first vertex of every rank (int64, ranks + 1). Collective.

    Each rank reads the row pointers of an equal share of the vertices and finds
    the bounds that fall into it, so no rank holds all degrees.
    """
    if comm.size == 1:
        return np.array([0, graph.num_vertices])
    begin = graph.num_vertices * comm.rank // comm.size
    end = graph.num_vertices * (comm.rank + 1) // comm.size
    with comm.together():
        indptr = graph.read_indptr(begin, end)
    vertices = np.arange(begin, end + 1)
    load = indptr + VERTEX_COST * vertices  # the load of all vertices before each
    total = graph.num_arcs + VERTEX_COST * graph.num_vertices
    goals = np.array([total * r // comm.size for r in range(1, comm.size)], np.int64)
    here = (goals > load[0]) & (goals <= load[-1])
    bounds = begin + np.searchsorted(load, goals[here])
    inner = comm.concatenate(bounds)
    skipped = comm.size - 1 - len(inner)  # goals of 0: fewer loads than ranks
    vtxdist = np.zeros(comm.size + 1, np.int64)
    vtxdist[1 + skipped : comm.size] = inner
    vtxdist[-1] = graph.num_vertices
    return vtxdist


def read_rows(
    comm: Comm,
    graph: ShardedGraph,
    vtxdist: np.ndarray,
    budget: Budget,
    threads: int = 1,
    entry: dict[str, Any] | None = None,
    begun: Callable[[Rows], object] = lambda rows: None,
) -> tuple[Rows, int]:
    """Read this rank's rows and check them. Collective.

    Parameters
    ----------
    threads : int
        Read and check with as many threads.
    entry : dict, optional
        Gets the bytes held before, and the seconds taken for row pointers and arcs.
    begun : callable
        Given the rows when their arcs begin to come.

    Returns
    -------
    rows : Rows
    num_edges : int
        Distinct undirected edges of the whole graph, without loops.

    Raises
    ------
    ConfigError
        If the rows do not fit into the memory allowed.
    InputError
        If a part is damaged or the arcs are not symmetric.
    """
    begin, end = int(vtxdist[comm.rank]), int(vtxdist[comm.rank + 1])
    pool = Threads(threads)
    entry = {} if entry is None else entry
    entry["resident_bytes"] = resident_bytes()
    clock = Clock(entry)
    if budget.limit:
        _check_memory(comm, graph, begin, end, budget)
    with comm.together():
        arcs = ArcReader(graph, begin, end, graph.read_indptr(begin, end, pool))
        clock.note("indptr")
        keys = arcs.weights.view(key_dtype(graph.weight_dtype))
        columns = arcs.indptr, arcs.indices, keys
        rows = Rows(begin, graph.num_vertices, *columns, arcs.arrival)
        begun(rows)

        def look(row: int, bounds: np.ndarray) -> tuple[int, int]:
            weights_to_keys(arcs.weights[bounds[0] : bounds[-1]])
            return inspect_rows(
                bounds, arcs.indices, keys, begin + row, 0, len(bounds) - 1
            )

        found = arcs.read(pool, look)
        clock.note("arcs")
    edges = sum(count for count, _ in found) - _repeats(rows, arcs.seams)
    balance = np.array([part for _, part in found], np.uint64).sum()
    if comm.sum(np.array([balance], np.uint64))[0] != 0:
        error = _asymmetry(comm, graph, rows)
        with comm.together():
            raise error
    return rows, comm.sum(int(edges))


def _repeats(rows: Rows, seams: list[int]) -> int:
    """Count the arcs to larger vertices that repeat the arc before a seam."""
    arcs = np.array(seams, np.int64)
    heads = rows.indices[arcs].astype(np.int64)
    tails = rows.first + np.searchsorted(rows.indptr, arcs, "right") - 1
    return int(((heads == rows.indices[arcs - 1]) & (heads > tails)).sum())


class Clock:
    """Notes how long the steps of a stage take."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = entry
        self.last = time.perf_counter()

    def note(self, step: str) -> None:
        """Note the seconds since the last step."""
        now = time.perf_counter()
        self.entry[f"{step}_seconds"] = now - self.last
        self.last = now


def _check_memory(
    comm: Comm, graph: ShardedGraph, begin: int, end: int, budget: Budget
) -> None:
    """Refuse rows that would not fit, and say what would do. Collective."""
    with comm.together():
        indptr = graph.read_indptr(begin, end)
    arcs, wide = int(indptr[-1] - indptr[0]), graph.num_vertices > 1 << 32
    row_bytes = indptr.nbytes + arcs * (graph.weight_dtype.itemsize + 4 * (1 + wide))
    needed = budget.for_rows(end - begin, arcs, row_bytes, comm.size)
    needed += resident_bytes()
    smallest = comm.max(needed)
    with comm.together():
        if smallest > budget.limit:
            enough = smallest // MIB + 2  # what a program holds varies a little
            raise ConfigError(
                f"{graph.path}: --memory {budget.limit:,} is too little for the rows "
                f"of a rank. On {comm.size} ranks --memory {enough}MiB would do; more "
                "ranks need less each."
            )


def _asymmetry(comm: Comm, graph: ShardedGraph, rows: Rows) -> InputError:
    """Return an error that names an arc without its twin. Collective."""
    buckets = np.zeros(BUCKETS, np.uint64)
    arrays = (rows.indptr, rows.indices)
    add_to_buckets(*arrays, rows.keys, rows.first, buckets)
    bucket = int(np.flatnonzero(comm.sum(buckets))[0])
    tails, arcs = arcs_of_bucket(*arrays, rows.first, BUCKETS, bucket)
    counts = np.zeros(comm.size, np.int64)
    counts[0] = len(arcs)
    _, (tail, head, key) = comm.exchange(
        counts, tails, rows.indices[arcs].astype(np.int64), rows.keys[arcs]
    )
    return comm.share(_lonely(graph, tail, head, key) if comm.rank == 0 else None)


def _lonely(graph: ShardedGraph, tail, head, key) -> InputError:
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    order = np.lexsort((tail > head, key, high, low))
    edge = np.stack([low[order], high[order], key[order].view(f"i{key.itemsize}")])
    upward = (tail < head)[order]
    starts = np.flatnonzero(np.r_[True, (edge[:, 1:] != edge[:, :-1]).any(axis=0)])
    surplus = np.add.reduceat(np.where(upward, 1, -1), starts)
    first = starts[np.flatnonzero(surplus)[0]]
    u, v = (tail[order][first], head[order][first])
    weight = keys_to_weights(key[order][first : first + 1], graph.weight_dtype)[0]
    part = int(np.searchsorted(graph.vtxdist, u, side="right")) - 1
    return InputError(
        f"{graph.parts[part]}: the arc ({u}, {v}) of weight {weight} has no twin "
        f"({v}, {u}) of the same weight. Make the graph again from its edges with "
        '"mndmst partition", which stores every edge in both rows.'
    )
