"""Minimum spanning forests of CSR rows on the CPU.

1. One pass over the rows takes the light edges: edges below a sampled quantile, about
   one per vertex [1, 2], or all edges of a sparse graph. In the same pass every
   vertex hooks to the far end of its lightest edge, a Borůvka round.
2. The edges that are left between components are joined (`contraction`).
3. Usually there is one giant component now. Every heavier edge of the forest has an
   end outside it, and only the rows there are read again: in their order until they
   lead to the giant component, where they are few and do so soon; else whole, for the
   lightest edge of each pair of components.

[1] Osipov, Sanders, Singler: The filter-Kruskal minimum spanning tree algorithm,
    ALENEX 2009. [2] Fallin, Gonzalez, Seo, Burtscher: A high-performance MST
    implementation for GPUs, SC 2023.
"""

from collections.abc import Sequence

import numpy as np

from ...graph.model import EdgeList, Rows
from ...kernels.columns import add_marked, joined, room_for
from ...kernels.contraction import Contraction, JoiningEdges
from ...kernels.edge_order import in_order
from ...kernels.heavier_arcs import GiantComponent, heavier_edges
from ...kernels.hooks import NUMBER, Hooks, outside_of
from ...kernels.team import Team
from ...kernels.threads import Threads
from ..base import LabelledForest
from .bands import all_chunks, band_chunks
from .cuts import Cut, Sample, first_cut, segments
from .lightest_pairs import Labels, lightest_pairs
from .tree_names import tree_names

# Walk the rows outside the giant component if they are so small a share of all, and
# that yields so few edges a row.
OUTSIDE_SHARE = 0.25
EDGES_PER_WALK = 2
WALKS = 512


class _Solver:
    """The state of a solve: components, and the edges of the forest found so far."""

    def __init__(self, rows: Rows, threads: Threads) -> None:
        self.rows, self.threads = rows, threads
        self.sample = Sample.of(rows)
        self.forest = room_for(rows, len(rows) + 1)
        self.count = 0
        self.components = Contraction(Team(threads), len(rows), (0, len(rows)))

    def solve(self) -> LabelledForest:
        components = self.components
        high = first_cut(self.rows, self.sample)
        self.join(self.first_band(high))
        if high is not None:
            self.join_heavier(high)
        edges = EdgeList(*(column[: self.count] for column in self.forest))
        label, _ = tree_names(components.component, components.parent, self.threads)
        return LabelledForest(edges, label)

    def first_band(self, high: Cut | None) -> list[JoiningEdges]:
        """Hook all vertices; return other edges of the first band that may join."""
        rows, threads = self.rows, self.threads
        hooks = Hooks(self.components.component, np.empty(len(rows), rows.keys.dtype))
        if high is None and rows.num_arcs:
            chunks = all_chunks(rows, threads, hooks)
        else:
            parts = segments(rows, high)
            chunks = band_chunks(rows, parts, self.sample, threads, hooks, True)
        self.count = self.components.link(hooks.best, self.forest)
        return self.components.joining([chunk[:3] for chunk in chunks])

    def join(self, parts: list[JoiningEdges]) -> None:
        """Add the forest of edges between components to the forest."""
        masks = self.components.join(parts)
        self.count = add_marked(parts, masks, self.forest, self.count, self.threads)

    def join_heavier(self, above: Cut) -> None:
        """Add the edges behind a cut: they lead out of the giant component."""
        rows, components = self.rows, self.components
        tails = components.component[self.sample.tails] & NUMBER
        sampled, counts = np.unique(components.parent[tails], return_counts=True)
        giant = sampled[counts.argmax()]
        components.settle()
        label = components.component
        known, ranges = (giant, label, rows.indptr), self.threads.ranges(len(rows))
        found = self.threads.map(outside_of, [(*known, *bounds) for bounds in ranges])
        outside = np.concatenate(found)
        tree = GiantComponent.of_rows(label, giant)
        walk = rows.csr, tree, rows.keys.dtype.type(above.key), above.vertex
        trial = np.ascontiguousarray(outside[:: max(1, len(outside) // WALKS)])
        walk_outside = len(outside) <= OUTSIDE_SHARE * len(rows)
        if walk_outside:
            key = rows.keys.dtype.type(above.key)
            found = heavier_edges(rows.csr, tree, key, above.vertex, trial)
            walk_outside = len(found[0]) <= EDGES_PER_WALK * len(trial)
        if walk_outside:
            ranges = self.threads.ranges(len(outside), grain=WALKS)
            walks = [(*walk, outside[begin:end]) for begin, end in ranges]
            self.join(self.joining(self.threads.map(heavier_edges, walks)))
        else:
            self.join_pairs(Labels(label, giant), outside)

    def join_pairs(self, labels: Labels, left: np.ndarray) -> None:
        """Add the lightest edges from some rows to other components."""
        forest: list[Sequence[np.ndarray]] = []
        while True:
            parts, left = lightest_pairs(self.rows, labels, left, self.threads)
            edges = self.joining([*forest, *parts])
            if not len(left):
                return self.join(edges)
            # What is in no forest of a part of the edges is in none of all
            (mask,) = self.components.cycle_filter(edges)
            forest = [[column[mask] for column in edges[0][:3]]]

    def joining(self, parts: Sequence[Sequence[np.ndarray]]) -> list[JoiningEdges]:
        """Return the edges of lists in any order, each once."""
        edges = in_order(EdgeList(*joined(parts, self.threads)), self.threads)
        return self.components.joining([edges.columns])


def msf(rows: Rows, threads: Threads) -> LabelledForest:
    """Return the forest of rows that are the whole graph, edges in no order.

    The label of a tree is its smallest vertex.
    """
    return _Solver(rows, threads).solve()
