"""Step 2: a rank's rows are dealt to its GPU and its CPU by measured speed.

MND-MST (4.3.1) times both devices on 5 to 10 random induced subgraphs of 5 % of the
vertices. We time them on random runs of consecutive rows, 5 % each, cut edges
included: that is the work a worker gets, whereas a random 5 % of the vertices
induces only 0.25 % of the edges, which says more about launch latency.
"""

import time

import numpy as np

from .backends.base import Backend, Band
from .graph import Rows


def share_of_first(
    backends: list[Backend], rows: Rows, samples: int, share: float
) -> float:
    """Return the share of the arcs that the first of two backends should get.

    Parameters
    ----------
    samples : int
        How many runs of rows to time.
    share : float
        The part of the rows in each.
    """
    length = min(len(rows), 1 + int(share * len(rows)))
    generator = np.random.default_rng(rows.first)
    starts = generator.integers(0, len(rows) - length + 1, samples)
    runs = [rows.cut(int(start), int(start) + length) for start in starts]
    ratios = []
    for backend in backends:
        _seconds(backend, runs[0])  # compilation is not speed
    for run in runs:
        first, second = (_seconds(backend, run) for backend in backends)
        ratios.append(second / (first + second))
    return float(np.mean(ratios))


def _seconds(backend: Backend, rows: Rows) -> float:
    begin = time.perf_counter()
    backend.band_forest(backend.place(rows), Band(), None)
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
