"""Independent computation on rows that have ghosts.

1. Rows hook to the other end of their lightest edge unless that is a ghost: the first
   Borůvka round. The same pass over the rows selects the edges of the band. If a row
   has no edge in the band, its lightest edge is selected, too: so the lightest edge of
   every row is known.
2. The components are contracted along the remaining edges between them, except across
   the border to ghosts. The other edges of the forest remain.
"""

from collections.abc import Sequence

import numpy as np

from ...graph.model import EdgeColumns, EdgeList, Rows
from ...kernels.bordered_contraction import contract_except_borders
from ...kernels.borders import ACCEPTED, PENDING
from ...kernels.contraction import Contraction
from ...kernels.edge_columns import (
    EdgePieces,
    add_marked,
    allocate_edges,
    concatenate,
    ends_of,
    take_columns,
)
from ...kernels.edge_order import in_order, pair_order
from ...kernels.hooks import NUMBER, ROOT, Hooks
from ...kernels.kruskal import HALF, LOW, PairEdgeList
from ...kernels.numbering import distinct
from ...kernels.team import Team
from ...kernels.threads import Threads, each_range
from ...native.call_columns import ArrayPieces
from ...native.kernel import kernel
from ..base import Band, ContractedRows
from .bands import BandEdges, Sample, all_chunks, band_chunks, band_segments
from .select import chosen, lightest_elsewhere
from .tree_names import tree_names


@kernel
def heavier_to_ghosts(csr, high, hooks, begin, end):
    """Return the lightest edges of rows without an arc in the band, to ghosts.

    Rows are in [begin, end), `high` is the largest key of the band, and `hooks` is the
    result of `select` with `heavier`: the other rows without an arc in the band have
    hooked. The edges are in the order of the rows.
    """
    first, indptr, indices, keys = csr
    hook, best = hooks
    largest = ~keys.dtype.type(0)
    count = np.uint64(0)
    for row in range(np.uint64(begin), np.uint64(end)):
        count += np.uint64((hook[row] == row) & (not chosen(best[row], high, largest)))
    u, v = np.empty(count, indices.dtype), np.empty(count, indices.dtype)
    key = np.empty(count, keys.dtype)
    count = np.uint64(0)
    for row in range(np.uint64(begin), np.uint64(end)):
        low, top = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        if hook[row] != row or chosen(best[row], high, largest) or low == top:
            continue
        vertex = np.uint64(first) + row
        arc = lightest_elsewhere(indices, keys, low, top, vertex)
        if arc >= 0:
            head, weight = np.uint64(indices[np.uint64(arc)]), keys[np.uint64(arc)]
            u[count], v[count], key[count] = (
                min(head, vertex),
                max(head, vertex),
                weight,
            )
            count += np.uint64(1)
    return u[:count], v[:count], key[:count]


@kernel
def edges_between_components(u, v, key, first, component, pairs, ghosts):
    """Keep, in place, the edges that leave components of the rows.

    Of parallel edges, which are consecutive, the lightest is kept.

    `component` has the number of each row's component, and the bit ROOT. `pairs` gets
    the components at both ends of each edge. A ghost, which is at most at one end, is
    represented by the bit ROOT and a position in `ghosts`, where its id is appended.
    Returns the number of edges, and the number of ids in `ghosts`.
    """
    before, rows = np.uint64(first), np.uint64(len(component))
    count, ghost_count, one = np.uint64(0), np.uint64(0), np.uint64(1)
    for i in range(np.uint64(len(key))):
        x, y, weight = u[i], v[i], key[i]
        if count and u[count - one] == x and v[count - one] == y:
            key[count - one] = min(key[count - one], weight)
            continue
        row_x, row_y = np.uint64(x) - before, np.uint64(y) - before
        if row_x < rows and row_y < rows:
            a, b = component[row_x] & NUMBER, component[row_y] & NUMBER
        elif row_x < rows:
            a, b = component[row_x] & NUMBER, ROOT | np.uint32(ghost_count)
            ghosts[ghost_count] = y
            ghost_count += np.uint64(1)
        else:
            a, b = ROOT | np.uint32(ghost_count), component[row_y] & NUMBER
            ghosts[ghost_count] = x
            ghost_count += np.uint64(1)
        u[count], v[count], key[count] = x, y, weight
        pairs[count] = (np.uint64(a) << HALF) | np.uint64(b)
        count += np.uint64(a != b)
    return count, ghost_count


@kernel
def number_ghosts(pairs, position, interior):
    """Replace positions of ghosts by their numbers, which begin at `interior`."""
    for i in range(np.uint64(len(pairs))):
        a, b = np.uint32(pairs[i] >> HALF), np.uint32(pairs[i] & LOW)
        if (a | b) & ROOT:
            if a & ROOT:
                a = np.uint32(interior + position[np.uint64(a & NUMBER)])
            else:
                b = np.uint32(interior + position[np.uint64(b & NUMBER)])
            pairs[i] = (np.uint64(a) << HALF) | np.uint64(b)


def contract_rows(rows: Rows, band: Band, threads: Threads) -> ContractedRows:
    """See `Backend.contract_rows`."""
    components = Contraction(Team(threads), len(rows), (0, len(rows)))
    hooks = Hooks(components.component, np.empty(len(rows), rows.keys.dtype))
    heavier = allocate_edges(rows, 0)
    if band == Band() and rows.num_arcs:
        chunks = all_chunks(rows, threads, hooks)
    else:
        parts = band_segments(rows, band)
        sample = Sample.of(rows, threads)
        chunks = band_chunks(rows, parts, sample, threads, hooks, True)
        ranges = each_range(threads.bounds(len(rows)))
        heavier_columns = threads.run(
            heavier_to_ghosts, rows.csr, parts[-1].high, hooks, *ranges
        )
        heavier = EdgeColumns(*concatenate(heavier_columns, threads))
    forest = allocate_edges(rows, len(rows) + 1)
    count = components.link(hooks.best, forest)
    for end in forest[:2]:
        end[:count] += end.dtype.type(rows.first)
    component, interior = components.component, len(components.parent)
    columns, pairs, ghosts = _edges_between_components(
        chunks, heavier, rows, component, interior, threads
    )
    fate, parent = contract_except_borders(
        PairEdgeList(columns[2], pairs), interior, interior + len(ghosts), threads
    )
    bounds = threads.bounds(len(fate))
    edges = EdgePieces.of(EdgeColumns(*columns), bounds)
    masks = ArrayPieces.of(fate == ACCEPTED, bounds)
    count = add_marked(edges, masks, forest, count, threads)
    label, smallest = tree_names(component, parent[:interior], threads)
    names = np.concatenate([rows.first + smallest.astype(np.int64), ghosts])
    pending = np.flatnonzero(fate == PENDING)
    if len(heavier.key):
        u, v, key = (column[pending] for column in columns)
        pending = pending[pair_order(u, v, key, threads)]
    remaining = EdgeList(*take_columns(columns, pending, threads))
    a, b = (parent[end] for end in (pairs[pending] >> HALF, pairs[pending] & LOW))
    forest_edges = EdgeList(*forest.part(0, count))
    return ContractedRows(forest_edges, label, remaining, (names[a], names[b]))


def _edges_between_components(
    chunks: BandEdges,
    heavier: Sequence[np.ndarray],
    rows: Rows,
    component: np.ndarray,
    interior: int,
    threads: Threads,
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return u, v, key of the edges that leave components of the rows.

    The band's edges are in (u, v) order, before the heavier ones. The second result has
    both components of each edge in one word, the third the ids of the ghosts. These
    are numbered in ascending order after the interior components.
    """
    lower, heavier = (
        in_order(EdgeList(*columns), threads).columns
        for columns in (concatenate(chunks.lower, threads), heavier)
    )
    first, last = (
        EdgePieces.of(edges, threads.bounds(len(edges.key)))
        for edges in (lower, heavier)
    )
    parts = zip(first, chunks.upper, last, strict=True)
    edges = EdgePieces(*map(ArrayPieces.together, parts))
    bounds = ends_of(edges.key.lengths)
    pair_buffer, ghosts = (
        ArrayPieces.of(np.empty(bounds[-1], kind), bounds)
        for kind in (np.uint64, np.int64)
    )
    counts, ghost_counts = threads.run(
        edges_between_components, *edges, rows.first, component, pair_buffer, ghosts
    )
    (ghost_ids,) = concatenate([ghosts.first(ghost_counts)], threads)
    ids, positions = distinct(ghost_ids, threads)
    threads.run(
        number_ghosts,
        pair_buffer.first(counts),
        ArrayPieces.of(positions, ends_of(ghost_counts)),
        interior,
    )
    filtered = [column.first(counts) for column in (*edges, pair_buffer)]
    *columns, pairs = concatenate(filtered, threads)
    return columns, pairs, ids
