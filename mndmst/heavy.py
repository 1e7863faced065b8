"""Light edges first: the bands of weights, and the heavy edges behind them.

The forest of the lightest edges, about as many as there are vertices, usually has
one giant component. Any heavier forest edge then has an end outside it, so only the
vertices outside look further into their rows, lightest arc first, until they reach
the giant component (see `backends.numba.finish` for why this is enough).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .backends.base import Band
from .backends.numba.cuts import SPARSE_ARCS_PER_VERTEX
from .backends.numba.finish import arcs_after
from .backends.numba.spanning import pair_order
from .boruvka import cycle_filter
from .contract import reduced_graph
from .graph import EdgeList, ReducedGraph
from .run import Run

SAMPLE = 8192
# The share of arcs in rows of one component that makes it the giant one.
GIANT_SHARE = 0.5
# After so many arcs of a row without the giant component, all are taken.
PROBES = 4


def bands(run: Run) -> Iterator[Band]:
    """Yield bands of growing size; the last is open above. Collective."""
    arcs, occupied = run.comm.sum(
        np.array([
            sum(worker.rows.num_arcs for worker in run.workers),
            sum(np.count_nonzero(np.diff(w.rows.indptr)) for w in run.workers),
        ])
    )  # fmt: skip
    low = run.done
    alone = run.comm.size == 1 and len(run.workers) == 1  # its kernel has its own bands
    if (
        run.config.light_edges
        and not alone
        and arcs > SPARSE_ARCS_PER_VERTEX * occupied
    ):
        sample = np.sort(_sample(run, arcs, run.workers[0].rows.keys.dtype, _keys))
        share = 2 * run.config.light_edges * occupied / arcs
        while share < 0.5 and len(sample):
            high = int(sample[int(share * len(sample))])
            if high == np.iinfo(sample.dtype).max:
                break  # nothing can be above
            if low is None or high > low:
                yield Band(low, high)
                low = high
            share *= 2
    yield Band(low, None)


def giant_component(run: Run) -> int | None:
    """Return the component most arcs leave from, if it has a majority. Collective.

    The directory must have been resolved.
    """
    arcs = run.comm.sum(sum(worker.rows.num_arcs for worker in run.workers))

    def labels(rows, positions):
        tails = np.searchsorted(rows.indptr, positions, side="right") - 1
        return run.directory.parent[rows.first + tails - run.directory.first]

    sample = _sample(run, arcs, run.directory.parent.dtype, labels)
    components, counts = np.unique(sample, return_counts=True)
    if len(sample) == 0 or counts.max() <= GIANT_SHARE * len(sample):
        return None
    return int(components[counts.argmax()])


def heavy_graph(run: Run, giant: int, above: int) -> ReducedGraph:
    """Return the edges above a key that may still join components. Collective.

    A component outside the giant one that has all its vertices on one rank is own
    there: its members know the lightest edge that leaves it.
    """
    directory = run.directory
    degrees = np.concatenate([np.diff(worker.rows.indptr) for worker in run.workers])
    outside = (directory.parent != giant) & (degrees > 0)
    vertices = directory.first + np.flatnonzero(outside)
    key = np.full(len(vertices), above, run.workers[0].rows.keys.dtype)
    end = np.full(len(vertices), directory.vtxdist[-1], np.int64)
    columns: list[tuple[np.ndarray, ...]] = []
    for _ in range(PROBES):
        found, key, end = _next_lightest(run, vertices, key, end)
        vertices, key, end = vertices[found], key[found], end[found]
        far = _keep_apart(run, columns, vertices, end, key)
        going = far != giant
        vertices, key, end = vertices[going], key[going], end[going]
    _keep_apart(run, columns, *_arcs_after(run, vertices, key, end))
    return _graph_of_arcs(run, columns, giant)


def _keep_apart(run: Run, columns: list, tail, head, key) -> np.ndarray:
    """Append the arcs that join two components; return all arcs' far components."""
    directory = run.directory
    near = directory.parent[tail - directory.first].astype(np.int64)
    far = directory.lookup_any(head)
    apart = near != far
    columns.append(tuple(column[apart] for column in (tail, head, key, near, far)))
    return far


def band_graph(run: Run, band: Band) -> ReducedGraph:
    """Return the edges of a later band between components. Collective."""
    label, first = run.directory.parent, run.directory.first

    def forest(worker):
        rows = worker.rows
        part = label[rows.first - first : rows.last - first].astype(np.int64)
        return worker.backend.band_forest(worker.placed, band, part)

    lists = run.at_once([lambda worker=w: forest(worker) for w in run.workers])
    u, v, key = (
        np.concatenate([getattr(edges, name) for edges in lists])
        for name in ("u", "v", "key")
    )
    ends = np.concatenate([u, v]).astype(np.int64)
    near, far = np.split(run.directory.lookup_any(ends), 2)
    return _graph_of_arcs(run, [(u, v, key, near, far)], None)


def _graph_of_arcs(
    run: Run, columns: list[tuple[np.ndarray, ...]], giant: int | None
) -> ReducedGraph:
    """Return the reduced graph of arcs (tail, head, key, component, component).

    Collective. Components with all their vertices here are own, but the giant one.
    """
    ids, keys = run.directory.parent.dtype, run.workers[0].rows.keys.dtype
    wide = np.dtype(np.int64)
    kinds = (ids, ids, keys, wide, wide)
    tail, head, key, near, far = (
        np.concatenate([*(c[i] for c in columns), np.empty(0, kind)]).astype(kind)
        for i, kind in enumerate(kinds)
    )
    u, v = np.minimum(tail, head), np.maximum(tail, head)
    upward = tail < head
    order = pair_order(u, v, key, run.threads)
    ends = (np.where(upward, near, far)[order], np.where(upward, far, near)[order])
    apart = ends[0] != ends[1]
    edges = EdgeList(u, v, key).take(order[apart])
    ends = (ends[0][apart], ends[1][apart])
    run.giant, first, last = giant, run.directory.first, run.directory.last
    graph = reduced_graph(edges, ends, first, last, own=True)
    shared = run.directory.members_elsewhere(-1 if giant is None else giant)
    own = graph.own & (graph.labels != giant)
    own[own] = ~shared[graph.labels[own] - first]
    return cycle_filter(run.backend, replace(graph, own=own))


def _next_lightest(run: Run, vertices, key, end):
    """Let each worker look into its own rows."""
    bounds = [worker.rows.first for worker in run.workers[1:]]
    parts = np.split(np.arange(len(vertices)), np.searchsorted(vertices, bounds))
    results = run.at_once([
        lambda w=worker, p=part: w.backend.next_lightest(
            w.placed, vertices[p], key[p], end[p]
        )
        for worker, part in zip(run.workers, parts, strict=True)
    ])  # fmt: skip
    return [np.concatenate(column) for column in zip(*results, strict=True)]


def _arcs_after(run: Run, vertices, key, end) -> list[np.ndarray]:
    """Return all arcs of some rows that come after given ones: tail, head, key."""
    bounds = [worker.rows.first for worker in run.workers[1:]]
    parts = np.split(np.arange(len(vertices)), np.searchsorted(vertices, bounds))
    lists = [
        arcs_after(
            worker.rows.indptr, worker.rows.indices, worker.rows.keys,
            worker.rows.first, vertices[part], key[part], end[part],
        )
        for worker, part in zip(run.workers, parts, strict=True)
    ]  # fmt: skip
    return [np.concatenate(column) for column in zip(*lists, strict=True)]


def _sample(run: Run, arcs: int, dtype: np.dtype, value) -> np.ndarray:
    """Return value(rows, positions) of a few random arcs of the graph. Collective."""
    generator = np.random.default_rng(run.comm.rank)
    picked = [np.empty(0, dtype)]
    for worker in run.workers:
        rows = worker.rows
        count = -(-SAMPLE * rows.num_arcs // max(1, int(arcs)))
        if rows.num_arcs:
            picked.append(value(rows, generator.integers(0, rows.num_arcs, count)))
    return run.comm.concatenate(np.concatenate(picked).astype(dtype))


def _keys(rows, positions):
    return rows.keys[positions]
