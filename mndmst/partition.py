"""Step 2: a rank's rows are dealt to its GPU and its CPU by measured speed.

MND-MST (4.3.1) times both devices on 5 to 10 random induced subgraphs of 5 % of the
vertices. We time them on random runs of consecutive rows, 5 % each, cut edges
included: that is the work a worker gets, whereas a random 5 % of the vertices
induces only 0.25 % of the edges, which says more about launch latency. What is
timed is the light band, which both devices solve at once in a run.
"""

import time

import numpy as np

from .backends.base import Backend, Band
from .graph import Rows

SAMPLE = 8192
# Merging two parts costs more than a device gains that would have less than this.
LEAST_SHARE = 0.1


def share_of_first(
    backends: list[Backend],
    rows: Rows,
    samples: int,
    share: float,
    light_edges: float,
) -> float:
    """Return the share of the arcs that the first of two backends should get.

    It is 0 or 1 if the slower of the two would have too little to be worth it.

    Parameters
    ----------
    samples : int
        How many runs of rows to time.
    share : float
        The part of the rows in each.
    light_edges : float
        Edges a vertex in the light band; 0 takes all edges.
    """
    length = min(len(rows), 1 + int(share * len(rows)))
    generator = np.random.default_rng(rows.first)
    starts = generator.integers(0, len(rows) - length + 1, samples)
    runs = [rows.cut(int(start), int(start) + length) for start in starts]
    bands = [_light_band(run, light_edges, generator) for run in runs]
    ratios = []
    for backend in backends:
        _seconds(backend, runs[0], bands[0])  # compilation is not speed
    for run, band in zip(runs, bands, strict=True):
        first, second = (_seconds(backend, run, band) for backend in backends)
        ratios.append(second / (first + second))
    ratio = float(np.mean(ratios))
    return ratio if LEAST_SHARE <= ratio <= 1 - LEAST_SHARE else round(ratio)


def _light_band(rows: Rows, light_edges: float, generator: np.random.Generator) -> Band:
    share = 2 * light_edges * len(rows) / max(1, rows.num_arcs)
    if not 0 < share < 0.5:
        return Band()
    places = generator.integers(0, rows.num_arcs, SAMPLE)
    return Band(None, int(np.sort(rows.keys[places])[int(share * SAMPLE)]))


def _seconds(backend: Backend, rows: Rows, band: Band) -> float:
    begin = time.perf_counter()
    backend.band_forest(backend.place(rows), band, None)
    return time.perf_counter() - begin


def split(rows: Rows, ratio: float) -> list[Rows]:
    """Cut rows in two, the first with about a share of the arcs.

    A ratio of 0 or 1 leaves one part empty.
    """
    if ratio >= 1.0:
        return [rows, rows.cut(len(rows), len(rows))]
    place = int(np.searchsorted(rows.indptr, ratio * rows.num_arcs))
    return [rows.cut(0, place), rows.cut(place, len(rows))]


def bounded_ratio(backend: Backend, rows: Rows, ratio: float) -> float:
    """Return the ratio, lowered until the first backend's share fits its memory."""
    free = backend.memory().free
    needed = backend.rows_nbytes(rows)
    return min(ratio, 0.9 * free / needed) if needed else ratio
