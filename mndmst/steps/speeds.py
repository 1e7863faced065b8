"""The speeds of a rank's two devices, measured on samples.

MND-MST (4.3.1) times both devices on 5 to 10 random induced subgraphs of 5 % of the
vertices. Here they are timed on random runs of consecutive rows, cut edges included,
because a worker gets such rows. A random 5 % of the vertices induces only 0.25 % of the
edges, which says more about launch latency. The light band is timed, which both devices
solve at the same time in a run. Measuring takes about 0.2 s.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.base import Backend, Band
from ..graph.model import EdgeList, Rows
from .boruvka import ContractedPart, contract
from .contract import reduced_graph
from .parts import joined
from .split import Speeds, split

SAMPLE = 8192  # arcs that a quantile or a share is estimated from
RUN_ARCS = 1 << 19  # no run of rows has more, to keep measuring short
PAIR_ARCS = 1 << 18  # of the two parts that are contracted and merged


def measure(
    backends: list[Backend], rows: Rows, samples: int, share: float, light_edges: float
) -> Speeds:
    """Time two devices, and their host, on samples of some rows.

    Parameters
    ----------
    samples : int
        How many runs of rows.
    share : float
        The part of the rows in each, as far as `RUN_ARCS` allows.
    light_edges : float
        Edges a vertex in the light band; 0 takes all edges.
    """
    generator = np.random.default_rng(rows.first)
    length = min(len(rows), 1 + int(share * len(rows)))
    starts = generator.integers(0, len(rows) - length + 1, samples)
    runs = [_run(rows, int(start), length, RUN_ARCS) for start in starts]
    bands = [_light_band(run, light_edges, generator) for run in runs]
    seconds, kept = [], 0
    for backend in backends:
        _forest(backend, runs[0], bands[0])  # first touches are not speed
        begin = time.perf_counter()
        forests = [_forest(backend, *pair) for pair in zip(runs, bands, strict=True)]
        seconds.append(time.perf_counter() - begin)
        kept = sum(map(len, forests))
    arcs = sum(run.num_arcs for run in runs)
    pair = _run(rows, int(starts[0]), length, PAIR_ARCS)
    host = _time_host(backends[-1], split(pair, 0.5), bands[0])
    return Speeds(seconds[0] / arcs, seconds[1] / arcs, kept / arcs, *host)


def _time_host(backend: Backend, parts: list[Rows], band: Band) -> tuple[float, float]:
    """Return the seconds for each edge of contracting, and of merging, two parts."""
    forests = [_forest(backend, part, band) for part in parts]

    def contract_parts() -> list[ContractedPart]:
        return [
            contract(backend, _graph_of(edges, part))
            for edges, part in zip(forests, parts, strict=True)
        ]

    edges = max(1, sum(map(len, forests)))
    contractions, first = _timed(contract_parts)
    _, second = _timed(lambda: contract(backend, joined(contractions)))
    return first / edges, second / edges


def _graph_of(edges: EdgeList, rows: Rows):
    return reduced_graph(edges, (edges.u, edges.v), rows.first, rows.last, own=True)


def _run(rows: Rows, begin: int, length: int, arcs: int) -> Rows:
    """Return consecutive rows from `begin` on, with few more than some arcs."""
    most = int(np.searchsorted(rows.indptr, rows.indptr[begin] + arcs))
    return rows.cut(begin, min(begin + length, max(most, begin + 1)))


def _light_band(rows: Rows, light_edges: float, generator: np.random.Generator) -> Band:
    share = 2 * light_edges * len(rows) / max(1, rows.num_arcs)
    if not 0 < share < 0.5:
        return Band()
    places = generator.integers(0, rows.num_arcs, SAMPLE)
    return Band(None, int(np.sort(rows.keys[places])[int(share * SAMPLE)]))


def _forest(backend: Backend, rows: Rows, band: Band) -> EdgeList:
    return backend.band_forest(backend.place(rows), band, None)


def _timed(task: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    result = task()
    return result, time.perf_counter() - begin
