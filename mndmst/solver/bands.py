"""Bands of weights for all ranks, by samples of all ranks' arcs.

The policy of `graph.light_edges` decides where a band ends and whether there is a giant
component.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ..backends.base import Band
from ..graph import light_edges as policy
from ..graph.light_edges import doubling_shares, first_share
from ..graph.model import Rows, sample_positions
from .run import Run

# Sampled arcs: for keys, for the giant component, for the share of cut arcs.
KEY_SAMPLE, GIANT_SAMPLE, CUT_SAMPLE = 8192, 1024, 8192


def bands(run: Run, light_edges: float) -> Iterator[Band]:
    """Yield bands, each twice as large; the last is open above. Collective.

    The first begins above the edges that the run has contracted, and has `light_edges`
    edges per vertex with edges; 0 makes one band.
    """
    low = run.state.done
    # A single worker gets one band, because its kernel makes bands itself.
    one_worker = run.comm.size == 1 and len(run.workers) == 1
    if light_edges and not one_worker:
        for high in _ends(run, light_edges):
            if low is None or high > low:
                yield Band(low, high)
                low = high
    yield Band(low, None)


def _ends(run: Run, light_edges: float) -> Iterator[int]:
    """Yield the last keys of all bands but the last. Collective.

    There are none for sparse graphs.
    """
    arcs, occupied = run.comm.sum(
        np.array([
            sum(worker.rows.num_arcs for worker in run.workers),
            sum(worker.rows.count_occupied() for worker in run.workers),
        ])
    )  # fmt: skip
    first = first_share(arcs / 2, occupied, light_edges, run.config.tuning)
    if first is None:
        return
    key_dtype = run.workers[0].rows.key_dtype
    sample = np.sort(_sample(run, KEY_SAMPLE, arcs, key_dtype, _keys))
    for share in doubling_shares(first):
        high = int(sample[int(share * len(sample))])
        if high == np.iinfo(sample.dtype).max:
            return  # no key is above
        yield high


def giant_component(run: Run, component: np.ndarray) -> int | None:
    """Return the component that most arcs leave, or None. Collective.

    `component` has the component of each vertex that this rank owns.
    """
    arcs = run.comm.sum(sum(worker.rows.num_arcs for worker in run.workers))

    def labels(rows: Rows, positions: np.ndarray) -> np.ndarray:
        tails = np.searchsorted(rows.indptr, positions, side="right") - 1
        return component[rows.first + tails - run.directory.first]

    sample = _sample(run, GIANT_SAMPLE, arcs, component.dtype, labels)
    return policy.giant_component(sample, run.config.tuning)


def _sample(
    run: Run,
    size: int,
    arcs: int,
    dtype: np.dtype,
    value: Callable[[Rows, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return `value(rows, positions)` of sampled arcs of all ranks. Collective."""
    picked = [np.empty(0, dtype)]
    for worker in run.workers:
        rows = worker.rows
        count = -(-size * rows.num_arcs // max(1, int(arcs)))
        if rows.num_arcs:
            picked.append(value(rows, sample_positions(rows.num_arcs, count)))
    return run.comm.allgatherv(np.concatenate(picked).astype(dtype))


def _keys(rows: Rows, positions: np.ndarray) -> np.ndarray:
    return rows.keys[positions]


def cut_share(run: Run) -> float:
    """Estimate the fraction of the arcs that lead to other ranks. Collective."""
    ends = np.zeros(2, np.int64)
    for worker in run.workers:
        sample = worker.rows.sample_indices(CUT_SAMPLE)
        here = (sample >= run.directory.first) & (sample < run.directory.last)
        ends += np.array([np.count_nonzero(~here), len(sample)])
    cut, all_ends = run.comm.sum(ends)
    return float(cut / max(1, all_ends))
