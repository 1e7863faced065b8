"""Borůvka rounds over points, on one rank or many.

First components join along certified edges: edges listed among near neighbours that
precede all edges, listed or not, that may leave their component (`join_certified`). The
components that remain are the vertices of `BoruvkaRounds`. All ranks know which
component of all points each vertex is in, and the first edge that leaves each
component; points stay on their ranks.

A component may join others along the lightest edge that leaves it. It knows some edges;
a point of it that may have a lighter one searches the tree, within the weight of the
lightest known. A component with many such points waits: another that joins it needs no
search from them, and may make them needless. While many components need no search, only
these join.
"""

from collections.abc import Callable

import numpy as np

from ...kernels.edge_columns import concatenate
from ...kernels.threads import Threads, each_range
from ..devices.point_products import ComponentArrays
from ..kernels.boruvka_steps import (
    LAST_KEY,
    PointEdges,
    choose_components,
    edges_of,
    find_first_edges,
    join,
    keep_leaving,
    list_uncertain,
    name_components,
    raise_reach,
    relabel,
)
from ..kernels.certified_edges import (
    JoinState,
    join_block,
    join_listed,
    list_leaving,
)
from ..kernels.short_rounds import RoundState
from .neighbours import Neighbours
from .point_search import PointSearch

# Points whose lists stay in a processor's cache, and the fewest of a thread's own.
BLOCK, LEAST_BLOCK = 1 << 14, 1 << 12
# The first half of a list of more than twice LONG edges has most joining edges, if that
# half is longer than `min_samples`: edges up to there often have the same weight.
LONG = 8


def join_certified(
    found: Neighbours,
    rows: np.ndarray,
    within: np.ndarray,
    equal: PointEdges,
    min_samples: int,
    threads: Threads,
) -> tuple[PointEdges, PointEdges, np.ndarray]:
    """Join points along certified edges; see `kernels.certified_edges`.

    Neighbours on other ranks are skipped. `rows` are the users' numbers, `within` lower
    bounds of the weights of each point's edges that are not listed, `equal` edges of
    the forest along which components join first.

    Returns the edges that join, the forest of all listed edges between the components
    that remain, and the smallest position of each point's component.
    """
    n = len(within)
    parent = np.arange(n, dtype=np.uint32)
    # All threads join equally many blocks of nearly equal size, but no tiny ones.
    parts = max(1, round(n / (BLOCK * threads.count))) * threads.count
    parts = max(1, min(parts, n // LEAST_BLOCK))
    bounds = n * np.arange(parts + 1) // parts
    # A component that equal points would join to one of another block waits.
    one, other = (np.searchsorted(bounds, end, "right") for end in (equal.a, equal.b))
    across = one != other
    _join_all(equal.take(~across), parent)
    inside = within.copy()
    for ends in (equal.a[across], equal.b[across]):
        inside[ends] = -np.inf
    state = JoinState(parent, inside, np.empty(n), np.ones(n, np.bool_))
    blocks, k = each_range(bounds), found.weight.shape[1]
    edges = threads.run(join_block, found, rows, state, k, *blocks)
    certified = PointEdges(*concatenate(edges, threads))
    _join_all(equal.take(across), parent)
    if len(bounds) > 2:
        state = state._replace(within=within)
        few = k // 2 if k // 2 > max(min_samples, LONG) else k
        more = PointEdges(*join_block(found, rows, state, few, 0, n))
        certified = PointEdges.concatenate([certified, more])
    edges = threads.run(list_leaving, found, rows, state, *blocks)
    leaving = PointEdges(*concatenate(edges, threads))
    known = PointEdges(*join_listed(leaving, parent.copy()))
    return certified, known, parent


def _join_all(edges: PointEdges, parent: np.ndarray) -> None:
    join(edges.a, edges.b, np.ones(len(edges.a), np.bool_), parent)


class BoruvkaRounds:
    """Joins the components of all ranks' points.

    `cores` has core distances by position, zeros for plain distances. `reach` has lower
    bounds of the weights of each point's unknown edges, infinity for a point that need
    not search; raised. `vertex` is each point's vertex: its component before the first
    round; all ranks have `count` vertices. `report` takes the number of components
    left.
    """

    def __init__(
        self,
        search: PointSearch,
        cores: np.ndarray,
        reach: np.ndarray,
        vertex: np.ndarray,
        count: int,
        report: Callable[[int], object],
    ) -> None:
        self.search, self.cores, self.reach = search, cores, reach
        self.ranks, self.vertex, self.report = search.remote.ranks, vertex, report
        self.parent = np.arange(count, dtype=np.uint32)
        self.present = np.empty(count, np.uint32)  # component of each vertex
        self.of_position = np.empty(len(vertex), np.uint32)  # and of each point

    def finish(self, known: PointEdges) -> PointEdges:
        """Join all components; return on rank 0 the edges that do. Collective.

        `known` edges are between vertices and have the lightest listed edge that leaves
        each component; they are overwritten.
        """
        state = RoundState(
            self.cores,
            self.reach,
            self.vertex,
            self.parent,
            self.present,
            self.of_position,
        )
        forest = []
        while True:
            joined, known = self.search.join_few(state, known)
            forest.append(joined)
            count = name_components(self.parent, self.present)
            if count == 1:
                break
            self.report(count)
            known = known.take(slice(keep_leaving(known, self.present)))
            first = self._first_edges(known, count)
            bound = first.weight.copy()
            components = ComponentArrays(
                self.of_position, self.cores, self.reach, bound
            )
            counts = np.empty(count, np.int64)
            relabel(self.vertex, self.present, self.reach, components, counts)
            uncertain = self.ranks.sum(counts)
            taking_part = choose_components(uncertain, bound, self.search.cheap)
            if uncertain[taking_part].any():
                known, found_all = self._add_between(components, known, uncertain)
                if found_all:
                    continue
                queries = np.empty(counts[taking_part].sum() + 1, np.uint32)
                list_uncertain(components, self.reach, taking_part, queries)
                found = self._search(components, queries[:-1])
                known = PointEdges.concatenate([known, found])
                first = self._first_edges(known, count)
            taking_part &= first.weight < np.inf
            joined = join(first.a, first.b, taking_part, self.parent)
            if self.ranks.rank == 0:
                forest.append(first.take(joined))
        return PointEdges.concatenate(forest)

    def _add_between(
        self, components: ComponentArrays, known: PointEdges, uncertain: np.ndarray
    ) -> tuple[PointEdges, bool]:
        """Add the lightest edges between each two components, if they are found.

        No point has unknown edges then that may be in the forest.
        """
        a, b = self.present[known.a], self.present[known.b]
        listed = known._replace(a=a, b=b)
        found = self.search.between(components, listed, uncertain)
        if found is None:
            return known, False
        self.reach[:] = np.inf
        vertex = self._vertices(len(components.bound))
        found = found._replace(a=vertex[found.a], b=vertex[found.b])
        return PointEdges.concatenate([known, found]), True

    def _vertices(self, count: int) -> np.ndarray:
        """Return a vertex of each component."""
        vertex = np.empty(count, np.uint32)
        vertex[self.present] = np.arange(len(self.present), dtype=np.uint32)
        return vertex

    def _first_edges(self, known: PointEdges, count: int) -> PointEdges:
        """Return the first known edge of all ranks that leaves each component.

        Collective. Its ends are a vertex of the component and one of another. A missing
        edge has an infinite weight.
        """
        first = PointEdges.empty(count)
        find_first_edges(known, self.present, first)
        least = self.ranks.min(first.weight)
        first.key[first.weight != least] = LAST_KEY
        key = self.ranks.min(first.key)
        b = first.b.astype(np.int64)
        b[first.key != key] = 0
        b = self.ranks.max(b).astype(np.uint32)
        return PointEdges(first.a, b, least, key)

    def _search(self, components: ComponentArrays, queries: np.ndarray) -> PointEdges:
        """Return the first edge, within the bound, of each query. Collective.

        Bounds are lowered, and the reach of the queries is raised.
        """
        rows, vertex = self.search.rows, self.vertex
        ends, low = self.search.lightest(components, queries)
        found = PointEdges.empty(len(queries))
        edges_of(queries, ends, low, rows, vertex, found)
        # No edge of a query that is not found weighs less than its `low`.
        self.search.remote.improve_edges(components, vertex, queries, low, found)
        bits, reach = low.view(np.uint64), self.reach.view(np.uint64)
        kept = raise_reach(components, queries, bits, reach, found)
        return found.take(slice(kept))
