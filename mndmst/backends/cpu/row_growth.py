"""Independent computation on rows that have ghosts, with one forest for all of it.

1. Rows hook to the far end of their lightest edge, unless that is a ghost: the first
   Borůvka round. The same pass over the rows takes the edges of the band. A row with
   no edge in the band takes part with its lightest one; so all get to know a heavier
   edge that is the only one of its kind to matter.
2. The components grow along the edges left between them (`growth`).
3. Of the edges that still lead from one to another, or to a ghost, the forest waits.
"""

from collections.abc import Sequence

import numpy as np

from ...graph.model import EdgeColumns, EdgeList, Rows
from ...kernels.blocks import edges_between
from ...kernels.columns import add_marked, joined, room_for, taken, without_repeats
from ...kernels.contraction import Contraction
from ...kernels.edge_order import in_order
from ...kernels.growth import grow
from ...kernels.hooks import HALF, Hooks
from ...kernels.kruskal import LOW
from ...kernels.minima import Edges
from ...kernels.numbering import distinct
from ...kernels.spanning import pair_order, spanning_pairs
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
    hooks = Hooks(components.hook, np.empty(len(rows), rows.keys.dtype))
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
    *columns, pairs = _leaving(chunks, heavier, rows, component, own, threads)
    final, parent = grow(Edges(columns[2], pairs), own, threads)
    ranges = threads.ranges(len(final))
    parts = [[column[b:e] for column in columns] for b, e in ranges]
    masks = [final[b:e] for b, e in ranges]
    count = add_marked(parts, masks, forest, count, threads)
    label, smallest = tree_names(component, parent[:own], threads)
    names = rows.first + smallest.astype(np.int64)
    waiting, ends, ghosts = _waiting(columns, pairs, parent, rows, threads)
    if len(heavier.key):
        order = pair_order(*(column[waiting] for column in columns), threads)
        waiting, ends = waiting[order], ends[order]
    left = EdgeList(*taken(columns, waiting, threads))
    names = np.concatenate([rows.first + smallest[:own].astype(np.int64), ghosts])
    name_a, name_b = names[ends >> HALF], names[ends & LOW]
    return RowGrowth(EdgeList(*forest.part(0, count)), label, left, (name_a, name_b))


def _leaving(
    chunks: list[tuple[np.ndarray, ...]],
    heavier: Sequence[np.ndarray],
    rows: Rows,
    component: np.ndarray,
    ghost: int,
    threads: Threads,
) -> list[np.ndarray]:
    """Return u, v, key of the edges that leave components, and both ends as numbers.

    Those of the band are in (u, v) order, and after them come heavier ones. The ends
    are in one word; all ghosts have one number.
    """

    def work(u, v, key):
        edges = without_repeats(u, v, key)
        pairs = np.empty(len(edges), np.uint64)
        count = leaving(*edges.columns, rows.first, component, ghost, pairs)
        return *edges.columns.part(0, count), pairs[:count]

    lower = joined(chunks_of(chunks, 3), threads)
    lower, heavier = (_in_order(columns, threads) for columns in (lower, heavier))
    lists = [lower, *(chunk[:3] for chunk in chunks), heavier]
    return joined(threads.map(work, lists), threads)


def _waiting(
    columns: Sequence[np.ndarray],
    pairs: np.ndarray,
    parent: np.ndarray,
    rows: Rows,
    threads: Threads,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the forest of the edges that lead from one grown component to another.

    Parameters
    ----------
    columns, pairs
        What `_leaving` returns.
    parent : ndarray of uint32
        What components are one with. The last one stands for all ghosts.

    Returns
    -------
    position : ndarray of uint64
        Of the forest's edges in the columns.
    ends : ndarray of uint64
        Their ends. From the last component on, numbers are places of ghosts.
    ghosts : ndarray of int64
        The ids of these.
    """
    ghost = len(parent) - 1
    edges, position = edges_between(Edges(columns[2], pairs), parent, threads)
    away = position[(edges.pairs >> HALF == ghost) | (edges.pairs & LOW == ghost)]
    u, v = (column[away].astype(np.int64) for column in columns[:2])
    ghosts, place = distinct(np.where((u < rows.first) | (u >= rows.last), u, v))
    number_ghosts(edges.pairs, ghost, place)
    root = np.arange(ghost + len(ghosts), dtype=np.uint32)
    kept = spanning_pairs(*edges, root, threads)
    return position[kept], edges.pairs[kept], ghosts


def _in_order(columns: Sequence[np.ndarray], threads: Threads) -> EdgeColumns:
    """Return the edges in (u, v) order."""
    return in_order(EdgeList(*columns), threads).columns
