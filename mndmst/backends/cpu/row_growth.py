"""Independent computation on rows that have ghosts.

1. Rows hook to the far end of their lightest edge, unless that is a ghost: the first
   Borůvka round. The same pass over the rows takes the edges of the band. A row with
   no edge in the band takes part with its lightest one; so all get to know a heavier
   edge that is the only one of its kind to matter.
2. The components grow along the edges left between them (`kernels/growth.py`), with
   ghosts across the border. Other edges of the forest wait there.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...graph.model import EdgeColumns, EdgeList, Rows
from ...kernels.borders import FINAL, WAITS
from ...kernels.columns import add_marked, joined, room_for, taken, without_repeats
from ...kernels.contraction import Contraction
from ...kernels.edge_order import in_order
from ...kernels.growth import grow
from ...kernels.hooks import HALF, Hooks
from ...kernels.kruskal import LOW
from ...kernels.minima import PairEdgeList
from ...kernels.numbering import distinct
from ...kernels.spanning import pair_order
from ...kernels.team import Team
from ...kernels.threads import Threads
from ..base import Band, RowGrowth
from .bands import all_chunks, band_chunks, chunks_of
from .cuts import Sample, band_segments
from .row_borders import heavier_to_ghosts, leaving, number_ghosts
from .tree_names import tree_names


def grow_rows(rows: Rows, band: Band, threads: Threads) -> RowGrowth:
    """See `Backend.grow_rows`."""
    components = Contraction(Team(threads), len(rows), (0, len(rows)))
    hooks = Hooks(components.component, np.empty(len(rows), rows.keys.dtype))
    heavier = room_for(rows, 0)
    if band == Band() and rows.num_arcs:
        chunks = all_chunks(rows, threads, hooks)
    else:
        parts = band_segments(rows, band)
        chunks = band_chunks(rows, parts, Sample.of(rows), threads, hooks, True)
        given = rows.csr, parts[-1].high, hooks
        ranges = threads.ranges(len(rows))
        found = threads.map(heavier_to_ghosts, [(*given, *r) for r in ranges])
        heavier = EdgeColumns(*joined(found, threads))
    forest = room_for(rows, len(rows) + 1)
    count = components.link(hooks.best, forest)
    for end in forest[:2]:
        end[:count] += end.dtype.type(rows.first)
    component, own = components.component, len(components.parent)
    columns, pairs, ghosts = _leaving(chunks, heavier, rows, component, own, threads)
    fate, parent = grow(
        PairEdgeList(columns[2], pairs), own, own + len(ghosts), threads
    )
    ranges = threads.ranges(len(fate))
    parts = [[column[b:e] for column in columns] for b, e in ranges]
    masks = [fate[b:e] == FINAL for b, e in ranges]
    count = add_marked(parts, masks, forest, count, threads)
    label, smallest = tree_names(component, parent[:own], threads)
    names = np.concatenate([rows.first + smallest.astype(np.int64), ghosts])
    waits = np.flatnonzero(fate == WAITS)
    if len(heavier.key):
        u, v, key = (column[waits] for column in columns)
        waits = waits[pair_order(u, v, key, threads)]
    left = EdgeList(*taken(columns, waits, threads))
    a, b = (parent[end] for end in (pairs[waits] >> HALF, pairs[waits] & LOW))
    final = EdgeList(*forest.part(0, count))
    return RowGrowth(final, label, left, (names[a], names[b]))


def _leaving(
    chunks: list[tuple[np.ndarray, ...]],
    heavier: Sequence[np.ndarray],
    rows: Rows,
    component: np.ndarray,
    own: int,
    threads: Threads,
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return u, v, key of the edges that leave components.

    Those of the band are in (u, v) order, and after them come heavier ones. Also both
    ends of each as numbers in one word, and the ids of the ghosts: these are numbered
    in ascending order, behind the own components.
    """

    def work(u, v, key):
        edges = without_repeats(u, v, key)
        pairs = np.empty(len(edges), np.uint64)
        ghosts = np.empty(len(edges), np.int64)
        count, away = leaving(*edges.columns, rows.first, component, pairs, ghosts)
        return *edges.columns.part(0, count), pairs[:count], ghosts[:away]

    lower = joined(chunks_of(chunks, 3), threads)
    lower, heavier = (_in_order(columns, threads) for columns in (lower, heavier))
    found = threads.map(work, [lower, *(chunk[:3] for chunk in chunks), heavier])
    ids, place = distinct(np.concatenate([part[4] for part in found]), threads)
    bounds = np.cumsum([0, *(len(part[4]) for part in found)]).tolist()
    threads.map(number_ghosts, [
        (part[3], place[begin:end], own)
        for part, (begin, end) in zip(found, pairwise(bounds), strict=True)
    ])  # fmt: skip
    *columns, pairs = joined([part[:4] for part in found], threads)
    return columns, pairs, ids


def _in_order(columns: Sequence[np.ndarray], threads: Threads) -> EdgeColumns:
    """Return the edges in (u, v) order."""
    return in_order(EdgeList(*columns), threads).columns
