"""Minimum spanning forests of CSR rows on the CPU.

1. One pass over the rows takes the light edges: those below a sampled quantile, about
   as many as there are vertices [1, 2]; of sparse graphs all. In the same pass every
   vertex hooks to the far end of its lightest edge, a Borůvka round.
2. Kruskal's algorithm on the edges that are left between components.
3. Usually there is one giant component now. Every heavier edge of the forest has an
   end outside it, and only the rows there are read again. Without a giant component
   the next band follows, as wide as has about an edge between components per vertex.

[1] Osipov, Sanders, Singler: The filter-Kruskal minimum spanning tree algorithm,
    ALENEX 2009. [2] Fallin, Gonzalez, Seo, Burtscher: A high-performance MST
    implementation for GPUs, SC 2023.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ...graph.model import EdgeColumns, EdgeList, Rows
from ...kernels.columns import joined, room_for
from ...kernels.edge_ops import copy_kept
from ...kernels.edge_order import in_order
from ...kernels.heavier_arcs import Components, heavier_arcs
from ...kernels.hooks import NUMBER, Hooks, keep_joining, outside_of, replace_by_parents
from ...kernels.spanning import spanning_pairs
from ...kernels.threads import Threads
from ..base import Forest
from .band_edges import JoiningEdges, joining_edges
from .bands import all_chunks, band_chunks, pieces
from .cuts import Cut, Sample, next_cut, segments
from .tree_names import tree_names

# Walk the rows outside the giant component if they are so small a share of all, and
# that yields so few edges a row.
OUTSIDE_SHARE = 0.25
EDGES_PER_WALK = 2
WALKS = 512

Parts = list[Sequence[np.ndarray]]


class _Solver:
    """The state of a solve.

    `component` has a number for each vertex, `parent` the links between numbers.
    """

    def __init__(self, rows: Rows, threads: Threads) -> None:
        self.rows, self.threads = rows, threads
        self.sample = Sample.of(rows)
        self.forest = room_for(rows, len(rows) + 1)
        self.count = 0
        self.component = self.parent = np.empty(0, np.uint32)

    def solve(self) -> Forest:
        sample = self.sample
        apart = np.ones(len(sample.keys), np.bool_)
        high = next_cut(self.rows, sample, apart)
        self.join(self.first_band(high))
        while high is not None and not self.join_heavy(high):
            apart = self.component[sample.tails] != self.component[sample.heads]
            low, high = high, next_cut(self.rows, sample, apart, high)
            self.join(self.band(low, high))
        edges = EdgeList(*(column[: self.count] for column in self.forest))
        label, _ = tree_names(self.component, self.parent, self.threads)
        return Forest(edges, label)

    def first_band(self, high: Cut | None) -> Parts:
        """Return the edges of the first band that may join two components."""
        if high is None and self.rows.num_arcs:
            return self.hooked(lambda hooks: all_chunks(self.rows, self.threads, hooks))
        parts = segments(self.rows, None, high)
        return self.hooked(
            lambda hooks: band_chunks(
                self.rows, parts, self.sample, self.threads, hooks, True
            )
        )

    def hooked(self, chunks_of: Callable[[Hooks], Parts]) -> Parts:
        """Do a Borůvka round; return the edges that `joining` keeps."""
        hooks, rows = Hooks.for_rows(self.rows), len(self.rows)
        chunks = chunks_of(hooks)
        self.component = np.empty(rows, np.uint32)
        found = hooks.link(self.component, self.threads, self.forest)
        self.count = rows - found
        self.parent = np.arange(found, dtype=np.uint32)
        return self.threads.map(self.joining, [chunk[:3] for chunk in chunks])

    def band(self, low: Cut, high: Cut | None) -> Parts:
        """Return the edges of a later band between components, which are few."""
        rows = self.rows

        def joining(part):
            room = int(rows.indptr[part.end] - rows.indptr[part.begin]) + 1
            out = JoiningEdges(*room_for(rows, room), np.empty(room, np.uint64))
            count = joining_edges(rows.csr, self.component, part, out)
            columns = (out.key, out.pairs, out.u, out.v)
            return [column[:count].copy() for column in columns]

        return self.threads.map(joining, pieces(rows, segments(rows, low, high)))

    def joining(self, u, v, key) -> tuple[np.ndarray, ...]:
        """Return those edges of a list in (u, v) order that join two components.

        As columns: key, both components in one word, u and v. Overwrites the list.
        """
        pairs = np.empty(len(key) + 1, np.uint64)
        count = keep_joining(u, v, key, self.component, pairs)
        return key[:count], pairs[:count], u[:count], v[:count]

    def join(self, parts: Parts) -> None:
        """Add what `joining` has kept to the forest, by Kruskal's algorithm.

        The parts follow each other in (u, v) order. What of them is joined in a copy
        is given up before the sort.
        """
        key, pairs = joined([part[:2] for part in parts], self.threads)
        bounds = np.cumsum([0, *(len(part[0]) for part in parts)]).tolist()
        ends = [part[2:] for part in parts]
        parts.clear()
        kept = spanning_pairs(key, pairs, self.parent, self.threads)
        shares = [slice(*share) for share in pairwise(bounds)]
        found = [np.count_nonzero(kept[share]) for share in shares]
        places = np.cumsum([self.count, *found]).tolist()

        def write(ends, share, places):
            edges = EdgeColumns(*ends, key[share])
            copy_kept(edges, kept[share], self.forest.part(*places))

        self.threads.map(write, list(zip(ends, shares, pairwise(places), strict=True)))
        self.count = places[-1]

    def join_heavy(self, above: Cut) -> bool:
        """Add the edges behind a cut, if most walks soon meet a giant component."""
        rows = self.rows
        sampled = self.parent[self.component[self.sample.tails] & NUMBER]
        components, counts = np.unique(sampled, return_counts=True)
        giant = components[counts.argmax()]

        def outsiders(begin, end):
            replace_by_parents(self.component, self.parent, begin, end)
            return outside_of(giant, self.component, rows.indptr, begin, end)

        ranges = self.threads.ranges(len(rows))
        outside = np.concatenate(self.threads.map(outsiders, ranges))
        key = rows.keys.dtype.type(above.key)

        components = Components.of_rows(self.component, giant)

        def walk(vertices):
            arcs = heavier_arcs(rows.csr, components, key, above.vertex, vertices)
            tail, head, weight, _ = arcs
            return np.minimum(tail, head), np.maximum(tail, head), weight

        trial = np.ascontiguousarray(outside[:: max(1, len(outside) // WALKS)])
        if len(outside) > OUTSIDE_SHARE * len(rows):
            return False
        if len(walk(trial)[0]) > EDGES_PER_WALK * len(trial):
            return False
        ranges = self.threads.ranges(len(outside), grain=WALKS)
        parts = self.threads.map(lambda begin, end: walk(outside[begin:end]), ranges)
        edges = in_order(EdgeList(*joined(parts, self.threads)), self.threads)
        self.join([self.joining(edges.u, edges.v, edges.key)])
        return True


def msf(rows: Rows, threads: Threads) -> Forest:
    """Return the forest of rows that are the whole graph, edges in no order.

    The label of a tree is its smallest vertex.
    """
    return _Solver(rows, threads).solve()
