"""Steps of the CPU on a band: the forest with ghosts as vertices, and the hooks."""

import numpy as np

from ...graph.model import EdgeList, Rows, component_of
from ...kernels.contraction import Contraction
from ...kernels.edge_columns import EdgePieces, concatenate
from ...kernels.edge_order import drop_parallel_edges
from ...kernels.hooks import Hooks, drop_hooks, hooks_and_components
from ...kernels.numbering import compact
from ...kernels.spanning_forest import spanning_edges
from ...kernels.team import Team
from ...kernels.threads import Threads
from ...native.call_columns import ArrayPieces
from ..base import Band
from .bands import Sample, band_chunks, band_edges, band_segments


def band_forest(
    rows: Rows, band: Band, label: np.ndarray | None, threads: Threads
) -> EdgeList:
    """See `Backend.band_forest`.

    In the lightest band rows first hook along their lightest edge unless it leads to a
    ghost. These edges are in the forest, and the hooks contract most of the graph
    before the sort.
    """
    hooks_rows = label is None and band.low is None
    hooked = rows if hooks_rows else rows.cut(0, 0)
    components = Contraction(Team(threads), len(hooked), (0, len(hooked)))
    hooks = Hooks.for_rows(hooked)
    edges_of_band = band_edges(rows, band_segments(rows, band), threads, hooks)
    mask = np.zeros(len(edges_of_band), np.bool_)
    if hooks_rows:
        components.component[:] = hooks.hook
        components.link()
        ends = [np.empty(len(edges_of_band), np.int64) for _ in range(2)]

        bounds = threads.bounds(len(edges_of_band))
        edges = EdgePieces.of(edges_of_band.columns, bounds)
        out = (ArrayPieces.of(column, bounds) for column in (mask, *ends))
        threads.run(
            hooks_and_components,
            edges,
            rows.first,
            hooks.hook,
            components.component,
            *out,
        )
    else:
        ends = [end.astype(np.int64) for end in (edges_of_band.u, edges_of_band.v)]
    if label is not None:
        ends = [component_of(end, rows, label) for end in ends]
    crossing = np.flatnonzero(ends[0] != ends[1])
    labels, a, b = compact(*(end[crossing] for end in ends))
    parent = np.arange(len(labels), dtype=np.uint32)
    mask[crossing] = spanning_edges(edges_of_band.key[crossing], a, b, parent, threads)
    return edges_of_band.take(mask)


def row_hooks(rows: Rows, band: Band, hooks: Hooks, threads: Threads) -> EdgeList:
    """See `Backend.row_hooks`."""
    whole = rows.as_whole()
    parts = [
        part._replace(begin=rows.first, end=rows.last)
        for part in band_segments(whole, band)
    ]
    sample = Sample.of(rows, threads)
    chunks = band_chunks(whole, parts, sample, threads, hooks, True)
    counts = threads.run(drop_hooks, *chunks.upper, hooks.hook)
    columns = concatenate([column.first(counts) for column in chunks.upper], threads)
    return drop_parallel_edges(*columns)
