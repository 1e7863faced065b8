"""Where all rows of a rank hook, ghost or not, and the edges of the lightest band."""

import numpy as np

from ...graph.model import EdgeList, Rows
from ...kernels.columns import joined, keep_in_place, without_repeats
from ...kernels.hooks import Hooks, but_hooks
from ...kernels.threads import Threads
from ..base import Band
from .bands import band_chunks
from .cuts import Sample, band_segments


def row_hooks(
    rows: Rows, band: Band, threads: Threads
) -> tuple[np.ndarray, np.ndarray, EdgeList]:
    """See `Backend.row_hooks`."""
    whole = rows.as_whole()
    hooks = Hooks.for_rows(whole)
    parts = [
        part._replace(begin=rows.first, end=rows.last)
        for part in band_segments(whole, band)
    ]
    chunks = band_chunks(whole, parts, Sample.of(rows), threads, hooks, True)
    columns = keep_in_place(
        lambda u, v, key: but_hooks(u, v, key, hooks.hook),
        joined([chunk[:3] for chunk in chunks], threads),
        threads,
    )
    here = slice(rows.first, rows.last)
    return hooks.hook[here], hooks.best[here], without_repeats(*columns)
