"""Minimum spanning forests of CSR rows on the CPU.

1. One pass over the rows takes the light edges: edges below a sampled quantile, about
   one per vertex [1, 2], or all edges of a sparse graph. In the same pass every
   vertex hooks to the far end of its lightest edge, a Borůvka round.
2. Components unite along the edges left between them (`contraction`).
3. Usually there is one giant component now. Every heavier edge of the forest has an
   end outside it, and only the rows there are read again: in their order until they
   lead to the giant component, where they are few and do so soon; else whole, for the
   lightest edge of each pair of components.

Of the edges between two components only the lightest can be in the forest. A table
remembers it so far. The table is small, and a pair may evict another one that has the
same slot: then several edges of the pair remain, which does no harm.

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
from ...kernels.hooks import NUMBER, Hooks, settle_and_list
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
    """Pairs of components, and the lightest known edge of each."""

    # uint64: the pair at each place, both components in one word
    pair: np.ndarray | ArrayPieces
    edge: np.ndarray | ArrayPieces  # uint64: the position of its lightest edge
    key: np.ndarray | ArrayPieces  # the key of that


class Labels(NamedTuple):
    """The component of each vertex (ndarray of uint32), and the giant one."""

    label: np.ndarray
    giant: np.uint32


def lightest_pairs(
    rows: Rows, labels: Labels, chosen: np.ndarray, threads: Threads
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the lightest edges that lead from some rows to other components.

    `chosen` are the rows to look at, ascending. Returns u, v and key of the lightest
    edge of each pair of components, and maybe others; and the rows that there was no
    room for.
    """
    degrees = rows.indptr[chosen + np.uint32(1)] - rows.indptr[chosen]
    before = np.cumsum(degrees)
    cuts = threads.bounds(int(degrees.sum()))
    cuts[1:-1] = np.searchsorted(before, cuts[1:-1])
    cuts[-1] = len(chosen)
    count = len(cuts) - 1
    share = int(threads.tuning.pairs_per_vertex * len(rows)) // count
    room = max(share, int(degrees.max(initial=0))) + 1
    each = np.arange(count + 1)
    out = EdgePieces.of(allocate_edges(rows, count * room), each * room)
    slots = each << int(TABLE_BITS)
    columns = (
        np.full(slots[-1], _NO_PAIR),
        np.empty(slots[-1], np.uint64),
        np.empty(slots[-1], rows.keys.dtype),
    )
    table = PairTable(*(ArrayPieces.of(column, slots) for column in columns))
    starts = ArrayPieces.of(chosen, cuts)
    used, done = threads.run(choose_lightest, rows.csr, labels, starts, table, out)
    left = ArrayPieces.of(chosen, cuts[:-1] + done, cuts[1:])
    edges = concatenate([column.first(used) for column in out], threads)
    return edges, concatenate([left], threads)[0]


@kernel
def choose_lightest(csr, labels, rows, table, out):
    """Write the lightest edges of some rows to other components.

    `table` is without pairs; `out` has room for more edges than a row has. Returns the
    number of edges, and of rows: all, or the first ones if `out` is full.
    """
    _, indptr, indices, keys = csr
    label, giant = labels
    used = np.uint64(0)
    for position in range(len(rows)):
        row = np.uint64(rows[position])
        here = label[row]
        begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
        if used + (end - begin) >= np.uint64(len(out.key)):
            return np.int64(used), position
        lightest = end  # arc to the giant component, most are: one of a row will do
        for arc in range(begin, end):
            if arc + HEADS_AHEAD < np.uint64(len(indices)):
                prefetch(label, np.intp(indices[arc + HEADS_AHEAD]))
            there = label[indices[arc]]
            if there == giant:
                if lightest == end or keys[arc] < keys[lightest]:
                    lightest = arc
            elif there != here and (lightest == end or keys[arc] <= keys[lightest]):
                edge = row, np.uint64(indices[arc]), keys[arc]
                used = _note(_pair(here, there), edge, table, out, used)
        if lightest != end:
            edge = row, np.uint64(indices[lightest]), keys[lightest]
            used = _note(_pair(here, giant), edge, table, out, used)
    return np.int64(used), len(rows)


@kernel
def _pair(one, other):
    low, high = np.uint64(min(one, other)), np.uint64(max(one, other))
    return low << HALF | high


@kernel
def _note(pair, edge, table, out, used):
    """Write an edge, unless a lighter one of its pair is known; return the count."""
    row, head, key = edge
    low, high = min(row, head), max(row, head)
    place = (pair * _SPREAD) >> (_WORD - TABLE_BITS)
    at = table.edge[place]
    if table.pair[place] != pair:
        table.pair[place], table.edge[place] = pair, used
        at = used
        used += np.uint64(1)
    elif table.key[place] < key or (
        table.key[place] == key and (out.u[at], out.v[at]) <= (low, high)
    ):
        return used
    table.key[place] = key
    out.u[at], out.v[at], out.key[at] = low, high, key
    return used


# The largest component is found from every fourth sampled arc.
GIANT_STRIDE = 4
# Walk the rows outside the giant component if a trial yields no more edges for each.
EDGES_PER_WALK = 2
WALKS = 512


class _Solver:
    """The state of a solve: components, and the edges of the forest found so far."""

    def __init__(self, rows: Rows, threads: Threads) -> None:
        self.rows, self.threads = rows, threads
        self.sample = Sample.of(rows, threads)
        self.forest = allocate_edges(rows, len(rows) + 1)
        self.count = 0
        self.components = Contraction(Team(threads), len(rows), (0, len(rows)))

    def solve(self) -> LabelledForest:
        components = self.components
        high = first_cut(self.rows, self.sample, self.threads.tuning)
        self.contract(self.first_band(high))
        if high is not None:
            self.contract_heavier(high)
        edges = EdgeList(*(column[: self.count] for column in self.forest))
        label, _ = tree_names(components.component, components.parent, self.threads)
        return LabelledForest(edges, label)

    def first_band(self, high: Cut | None) -> CrossPieces:
        """Hook all vertices; return other edges of the first band that may join."""
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
        """Add the forest of edges between components to the forest."""
        masks = self.components.contract(parts)
        self.count = add_marked(
            parts.edges, masks, self.forest, self.count, self.threads
        )

    def contract_heavier(self, above: Cut) -> None:
        """Add the edges behind a cut: they lead out of the giant component."""
        rows, components = self.rows, self.components
        tails = components.component[self.sample.tails[::GIANT_STRIDE]] & NUMBER
        giant = np.uint32(largest_component(components.parent[tails]))
        label, parent = components.component, components.parent
        ranges = each_range(self.threads.bounds(len(rows)))
        found = self.threads.run(
            settle_and_list, giant, label, parent, rows.indptr, *ranges
        )
        (outside,) = concatenate([found], self.threads)
        tree = GiantComponent.of_rows(label, int(giant))
        csr, key = rows.csr, rows.keys.dtype.type(above.key)
        trial = np.ascontiguousarray(outside[:: max(1, len(outside) // WALKS)])
        walk_outside = len(outside) <= self.threads.tuning.outside_share * len(rows)
        if walk_outside:
            found = heavier_edges(csr, tree, key, above.vertex, trial)
            walk_outside = len(found[0]) <= EDGES_PER_WALK * len(trial)
        if walk_outside:
            bounds = self.threads.bounds(len(outside), grain=WALKS)
            starts = ArrayPieces.of(outside, bounds)
            parts = self.threads.run(
                heavier_edges, csr, tree, key, above.vertex, starts
            )
            self.contract(self.cross_edges(concatenate(parts, self.threads)))
        else:
            self.contract_pairs(Labels(label, giant), outside)

    def contract_pairs(self, labels: Labels, left: np.ndarray) -> None:
        """Add the lightest edges from some rows to other components."""
        forest: list[EdgeColumns] = []
        while True:
            more, left = lightest_pairs(self.rows, labels, left, self.threads)
            columns = concatenate_columns([*forest, more], self.threads)
            edges = self.cross_edges(columns)
            if not len(left):
                return self.contract(edges)
            # An edge outside the forest of a part of the edges is in no forest of all.
            mask = self.components.cycle_filter(edges)
            room = allocate_edges(self.rows, int(mask.lengths.sum()))
            used = add_marked(edges.edges, mask, room, 0, self.threads)
            forest = [room.part(0, used)]

    def cross_edges(self, columns: Sequence[np.ndarray]) -> CrossPieces:
        """Return edges in any order, each once."""
        edges = in_order(EdgeList(*columns), self.threads)
        bounds = self.threads.bounds(len(edges))
        return self.components.cross_edges(EdgePieces.of(edges.columns, bounds))


def msf(rows: Rows, threads: Threads) -> LabelledForest:
    """Return the forest of rows that are the whole graph, edges in no order.

    The label of a tree is its smallest vertex.
    """
    return _Solver(rows, threads).solve()
