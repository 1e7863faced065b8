"""Where all rows of a rank hook, ghost or not, and the edges of the lightest band."""

import numpy as np

from ...graph import EdgeList, Rows
from ..base import Band
from .bands import band_chunks
from .columns import joined, keep_in_place, without_repeats
from .cuts import Sample, band_segments
from .hooks import ROOT, Hooks, but_hooks, hooked_edges
from .threads import Threads


def row_hooks(
    rows: Rows, band: Band, threads: Threads
) -> tuple[np.ndarray, np.ndarray, EdgeList]:
    """See `Backend.row_hooks`."""
    whole = as_whole(rows)
    hooks = Hooks(whole)
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


def as_whole(rows: Rows) -> Rows:
    """Return rows as those of the whole graph, of which only these may be looked at.

    The memory of the others is never touched, so the system never gives it.
    """
    indptr = np.empty(rows.num_vertices + 1, np.int64)
    indptr[rows.first : rows.last + 1] = rows.indptr
    return Rows(0, rows.num_vertices, indptr, rows.indices, rows.keys)


def edges_of_hooks(
    hook: np.ndarray,
    best: np.ndarray,
    component: np.ndarray,
    first: int,
    last: int,
) -> EdgeList:
    """Return the edges along which the vertices in [first, last) hook.

    Parameters
    ----------
    hook : ndarray of uint32, shape (vertices,)
        See `Hooks`.
    best : ndarray, shape (last - first,)
        The keys along which they hook.
    component : ndarray of uint32, shape (vertices,)
        What `hooks.link` has made of the hooks.
    """
    count = np.count_nonzero(component[first:last] & ROOT == 0)
    u, v, key = (np.empty(count, dtype) for dtype in (hook.dtype,) * 2 + (best.dtype,))
    hooked_edges(hook, best, component, first, first, last, 0, count, u, v, key)
    return EdgeList(u, v, key)
