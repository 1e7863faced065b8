"""Minimum spanning forests of CSR rows on the CPU.

1. One pass over the rows selects the light edges: edges below a sampled quantile, about
   one per vertex [1, 2], or all edges of a sparse graph. In the same pass every vertex
   hooks to the other end of its lightest edge, a Borůvka round.
2. Components unite along the remaining edges between them (`contraction`).
3. Usually there is one giant component now. Every heavier edge of the forest has an end
   outside it, so only the rows outside are read again. If they are few and their
   lightest arcs soon lead to the giant component, each row is searched in ascending
   order up to such an arc. Otherwise whole rows are read for the lightest edge of each
   pair of components.

Only the lightest edge between two components can be in the forest. A hash table has the
lightest edge so far of each pair. The table is small, so a pair may evict another one
from its slot; then several edges of the evicted pair remain, which is harmless.

[1] Osipov, Sanders, Singler: The filter-Kruskal minimum spanning tree algorithm,
    ALENEX 2009. [2] Fallin, Gonzalez, Seo, Burtscher: A high-performance MST
    implementation for GPUs, SC 2023.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...graph.light_edges import largest_component
from ...graph.model import EdgeColumns, EdgeList, Rows
from ...kernels.contraction import Contraction, CrossPieces
from ...kernels.edge_columns import (
    EdgePieces,
    add_marked,
    allocate_edges,
    concatenate,
    concatenate_columns,
)
from ...kernels.edge_order import in_order
from ...kernels.heavier_arcs import GiantComponent, heavier_edges
from ...kernels.hooks import NUMBER, Hooks, update_and_list_outside
from ...kernels.intrinsics import prefetch
from ...kernels.kruskal import HALF
from ...kernels.team import Team
from ...kernels.threads import Threads, each_range
from ...native.call_columns import ArrayPieces
from ...native.kernel import kernel
from ..base import LabelledForest
from .bands import Cut, Sample, all_chunks, band_chunks, first_cut, segments
from .tree_names import tree_names

TABLE_BITS = np.uint64(16)
# Arcs from the one in use to the one the component of whose head is fetched.
HEADS_AHEAD = np.uint64(32)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_WORD = np.uint64(64)
_NO_PAIR = np.iinfo(np.uint64).max


class PairTable(NamedTuple):
    """A hash table of pairs of components with the lightest edge so far of each."""

    pair: np.ndarray | ArrayPieces  # uint64: by slot, both components in one word
    edge: np.ndarray | ArrayPieces  # uint64: the position of the pair's lightest edge
    key: np.ndarray | ArrayPieces  # the key of this edge


class Labels(NamedTuple):
    """The component of each vertex (ndarray of uint32), and the giant one."""

    label: np.ndarray
    giant: np.uint32


def lightest_pairs(
    rows: Rows, labels: Labels, chosen: np.ndarray, threads: Threads
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the lightest edges that lead from some rows to other components.

    `chosen` are the rows, ascending. Returns u, v and key of the lightest edge of each
    pair of components, and maybe other edges; and the rows that were not read, because
    a thread's buffer was full.
    """
    degrees = rows.indptr[chosen + np.uint32(1)] - rows.indptr[chosen]
    before = np.cumsum(degrees)
    cuts = threads.bounds(int(degrees.sum()))
    cuts[1:-1] = np.searchsorted(before, cuts[1:-1])
    cuts[-1] = len(chosen)
    count = len(cuts) - 1
    expected = int(threads.tuning.pairs_per_vertex * len(rows)) // count
    capacity = max(expected, int(degrees.max(initial=0))) + 1
    parts = np.arange(count + 1)
    out = EdgePieces.of(allocate_edges(rows, count * capacity), parts * capacity)
    slots = parts << int(TABLE_BITS)
    columns = (
        np.full(slots[-1], _NO_PAIR),
        np.empty(slots[-1], np.uint64),
        np.empty(slots[-1], rows.keys.dtype),
    )
    table = PairTable(*(ArrayPieces.of(column, slots) for column in columns))
    starts = ArrayPieces.of(chosen, cuts)
    used, done = threads.run(choose_lightest, rows.csr, labels, starts, table, out)
    unread = ArrayPieces.of(chosen, cuts[:-1] + done, cuts[1:])
    edges = concatenate([column.first(used) for column in out], threads)
    return edges, concatenate([unread], threads)[0]


@kernel
def choose_lightest(csr, labels, rows, table, out):
    """Write the lightest edges of some rows to other components.

    `table` has no pairs; `out` holds more edges than a row has. Returns the number of
    edges, and of rows read before `out` was full.
    """
    _, indptr, indices, keys = csr
    label, giant = labels
    used = np.uint64(0)
    for position in range(len(rows)):
        row = np.uint64(rows[position])
        component = label[row]
        begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        if used + (end - begin) >= np.uint64(len(out.key)):
            return np.int64(used), position
        lightest = end  # the row's lightest arc to the giant component, where most lead
        for arc in range(begin, end):
            if arc + HEADS_AHEAD < np.uint64(len(indices)):
                prefetch(label, np.intp(indices[arc + HEADS_AHEAD]))
            other = label[indices[arc]]
            if other == giant:
                if lightest == end or keys[arc] < keys[lightest]:
                    lightest = arc
            elif other != component and (
                lightest == end or keys[arc] <= keys[lightest]
            ):
                edge = row, np.uint64(indices[arc]), keys[arc]
                used = _note(_pair(component, other), edge, table, out, used)
        if lightest != end:
            edge = row, np.uint64(indices[lightest]), keys[lightest]
            used = _note(_pair(component, giant), edge, table, out, used)
    return np.int64(used), len(rows)


@kernel
def _pair(one, other):
    low, high = np.uint64(min(one, other)), np.uint64(max(one, other))
    return low << HALF | high


@kernel
def _note(pair, edge, table, out, used):
    """Write an edge unless the table has a lighter one; return the count."""
    row, head, key = edge
    low, high = min(row, head), max(row, head)
    slot = (pair * _SPREAD) >> (_WORD - TABLE_BITS)
    position = table.edge[slot]
    if table.pair[slot] != pair:
        table.pair[slot], table.edge[slot] = pair, used
        position = used
        used += np.uint64(1)
    elif table.key[slot] < key or (
        table.key[slot] == key and (out.u[position], out.v[position]) <= (low, high)
    ):
        return used
    table.key[slot] = key
    out.u[position], out.v[position], out.key[position] = low, high, key
    return used


# The largest component is estimated from every fourth sampled arc.
GIANT_STRIDE = 4
# The rows outside the giant component are searched in ascending order if a trial on
# TRIAL_ROWS of them yields at most this many edges per row.
EDGES_PER_ROW = 2
TRIAL_ROWS = 512


class _Solver:
    """The state of a solve: the components, and the forest edges so far."""

    def __init__(self, rows: Rows, threads: Threads) -> None:
        self.rows, self.threads = rows, threads
        self.sample = Sample.of(rows, threads)
        self.forest = allocate_edges(rows, len(rows) + 1)
        self.count = 0
        self.components = Contraction(Team(threads), len(rows), (0, len(rows)))

    def solve(self) -> LabelledForest:
        components, threads = self.components, self.threads
        high = first_cut(self.rows, self.sample, threads.tuning)
        self.contract(self.first_band(high))
        if high is not None:
            self.contract_heavier(high)
        edges = EdgeList(*(column[: self.count] for column in self.forest))
        component, parent = components.component, components.parent
        return LabelledForest(edges, lambda: tree_names(component, parent, threads)[0])

    def first_band(self, high: Cut | None) -> CrossPieces:
        """Hook all vertices; return the first band's edges between components."""
        rows, threads = self.rows, self.threads
        hooks = Hooks(self.components.component, np.empty(len(rows), rows.keys.dtype))
        if high is None and rows.num_arcs:
            chunks = all_chunks(rows, threads, hooks)
        else:
            parts = segments(rows, high)
            chunks = band_chunks(rows, parts, self.sample, threads, hooks, True)
        self.count = self.components.link(hooks.best, self.forest)
        return self.components.cross_edges(chunks.upper)

    def contract(self, parts: CrossPieces) -> None:
        """Contract along the forest of edges, and add it to the result."""
        masks = self.components.contract(parts)
        self.count = add_marked(
            parts.edges, masks, self.forest, self.count, self.threads
        )

    def contract_heavier(self, above: Cut) -> None:
        """Contract along the edges behind a cut, which leave the giant component."""
        rows, components = self.rows, self.components
        tails = components.component[self.sample.tails[::GIANT_STRIDE]] & NUMBER
        giant = np.uint32(largest_component(components.parent[tails]))
        label, parent = components.component, components.parent
        ranges = each_range(self.threads.bounds(len(rows)))
        columns = self.threads.run(
            update_and_list_outside, giant, label, parent, rows.indptr, *ranges
        )
        (outside,) = concatenate([columns], self.threads)
        components_of_rows = GiantComponent.of_rows(label, int(giant))
        csr, key = rows.csr, rows.keys.dtype.type(above.key)
        trial = np.ascontiguousarray(outside[:: max(1, len(outside) // TRIAL_ROWS)])
        search_outside = len(outside) <= self.threads.tuning.outside_share * len(rows)
        if search_outside:
            columns = heavier_edges(csr, components_of_rows, key, above.vertex, trial)
            search_outside = len(columns[0]) <= EDGES_PER_ROW * len(trial)
        if search_outside:
            bounds = self.threads.bounds(len(outside), grain=TRIAL_ROWS)
            starts = ArrayPieces.of(outside, bounds)
            parts = self.threads.run(
                heavier_edges, csr, components_of_rows, key, above.vertex, starts
            )
            self.contract(self.cross_edges(concatenate(parts, self.threads)))
        else:
            self.contract_pairs(Labels(label, giant), outside)

    def contract_pairs(self, labels: Labels, unread: np.ndarray) -> None:
        """Contract along the lightest edges from some rows to other components."""
        forest: list[EdgeColumns] = []
        while True:
            more, unread = lightest_pairs(self.rows, labels, unread, self.threads)
            columns = concatenate_columns([*forest, more], self.threads)
            edges = self.cross_edges(columns)
            if not len(unread):
                return self.contract(edges)
            # By the cycle property the forest of all edges needs only the forest of
            # these edges.
            mask = self.components.cycle_filter(edges)
            forest_part = allocate_edges(self.rows, int(mask.lengths.sum()))
            used = add_marked(edges.edges, mask, forest_part, 0, self.threads)
            forest = [forest_part.part(0, used)]

    def cross_edges(self, columns: Sequence[np.ndarray]) -> CrossPieces:
        """Return edges between components, given in any order; drop parallel edges."""
        edges = in_order(EdgeList(*columns), self.threads)
        bounds = self.threads.bounds(len(edges))
        return self.components.cross_edges(EdgePieces.of(edges.columns, bounds))


def msf(rows: Rows, threads: Threads) -> LabelledForest:
    """Return the forest of rows that are the whole graph, edges in no order.

    The label of a vertex is the smallest vertex of its tree.
    """
    return _Solver(rows, threads).solve()
