"""Borůvka rounds over points, on one rank or many.

First components join along certified edges (`join_certified`): listed edges that
precede all other outgoing edges of the component, listed or not. The remaining
components are the vertices of `BoruvkaRounds`. All ranks know the component of each
vertex, and the first known edge of each component; points stay on their ranks.

In a round, components join along their lightest outgoing edges. The lightest known edge
of a component is a bound: each point whose lower bound does not exceed it is uncertain,
and searches for a lighter edge within the bound. A component with many uncertain points
waits for a later round: another component may join it meanwhile, so that fewer points
search. While many components have no uncertain points, only these join.
"""

from collections.abc import Callable

import numpy as np

from ...kernels.edge_columns import concatenate
from ...kernels.threads import MANY, Threads, each_range
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
    raise_lower_bounds,
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

# Points of a block, whose lists stay in a processor's cache, and the fewest of a block.
BLOCK, LEAST_BLOCK = 1 << 14, 1 << 12
# The first half of a list has most of the joining edges, if it has more than LONG edges
# and more than `min_samples`, of which the first often have the same weight.
LONG = 8


def join_certified(
    neighbours: Neighbours,
    point: np.ndarray,
    lower_bound: np.ndarray,
    equal: PointEdges,
    min_samples: int,
    threads: Threads,
) -> tuple[PointEdges, PointEdges, np.ndarray]:
    """Join points along certified edges; see `kernels.certified_edges`.

    Neighbours on other ranks are skipped. By position, `point` has the points'
    numbers, and `lower_bound` a bound of the weights of their unlisted edges.
    Components join along the edges `equal` first.

    Returns the edges that join, the minimum spanning forest of the listed edges between
    the remaining components, and the smallest position of each point's component.
    """
    n = len(lower_bound)
    parent = np.arange(n, dtype=np.uint32)
    # Several blocks take a further pass over all points, which only many threads repay.
    # These get equally many blocks of nearly equal size, but no tiny ones.
    parts = 1
    if threads.count >= MANY and n >= 2 * BLOCK:
        parts = max(1, round(n / (BLOCK * threads.count))) * threads.count
        parts = min(parts, n // LEAST_BLOCK)
    bounds = n * np.arange(parts + 1) // parts
    # The bound -inf excludes components from the joins inside blocks if an edge of
    # `equal` joins them to another block: that edge comes first.
    one, other = (np.searchsorted(bounds, end, "right") for end in (equal.a, equal.b))
    across = one != other
    _join_all(equal.take(~across), parent)
    bound_in_block = lower_bound.copy()
    for ends in (equal.a[across], equal.b[across]):
        bound_in_block[ends] = -np.inf
    state = JoinState(parent, bound_in_block, np.empty(n), np.ones(n, np.bool_))
    blocks, k = each_range(bounds), neighbours.weight.shape[1]
    edges = threads.run(join_block, neighbours, point, state, k, *blocks)
    certified = PointEdges(*concatenate(edges, threads))
    _join_all(equal.take(across), parent)
    if len(bounds) > 2:
        state = state._replace(lower_bound=lower_bound)
        few = k // 2 if k // 2 > max(min_samples, LONG) else k
        more = PointEdges(*join_block(neighbours, point, state, few, 0, n))
        certified = PointEdges.concatenate([certified, more])
    edges = threads.run(list_leaving, neighbours, point, state, *blocks)
    leaving = PointEdges(*concatenate(edges, threads))
    known = PointEdges(*join_listed(leaving, parent.copy()))
    return certified, known, parent


def _join_all(edges: PointEdges, parent: np.ndarray) -> None:
    join(edges.a, edges.b, np.ones(len(edges.a), np.bool_), parent)


class BoruvkaRounds:
    """Joins the components of all ranks' points.

    `cores`, `lower_bound` and `vertex` are as in `RoundState`. All ranks together have
    `count` vertices. `report` takes the number of remaining components.
    """

    def __init__(
        self,
        search: PointSearch,
        cores: np.ndarray,
        lower_bound: np.ndarray,
        vertex: np.ndarray,
        count: int,
        report: Callable[[int], object],
    ) -> None:
        self.search, self.ranks, self.report = search, search.remote.ranks, report
        self.state = RoundState(
            cores=cores,
            lower_bound=lower_bound,
            vertex=vertex,
            parent=np.arange(count, dtype=np.uint32),
            of_vertex=np.empty(count, np.uint32),
            of_position=np.empty(len(vertex), np.uint32),
        )

    def finish(self, known: PointEdges) -> PointEdges:
        """Join all components; return the joining edges on rank 0. Collective.

        `known` edges are between vertices, and are overwritten; each component's
        lightest listed edge is among them.
        """
        state = self.state
        forest = []
        while True:
            joined, known = self.search.join_few(state, known)
            forest.append(joined)
            count = name_components(state.parent, state.of_vertex)
            if count == 1:
                break
            self.report(count)
            known = known.take(slice(keep_leaving(known, state.of_vertex)))
            first = self._first_edges(known, count)
            bound = first.weight.copy()
            components = ComponentArrays(
                state.of_position, state.cores, state.lower_bound, bound
            )
            counts = np.empty(count, np.int64)
            relabel(
                state.vertex, state.of_vertex, state.lower_bound, components, counts
            )
            uncertain = self.ranks.sum(counts)
            taking_part = choose_components(uncertain, bound, self.search.cheap)
            if uncertain[taking_part].any():
                between = self._between(components, known, uncertain)
                if between is not None:
                    known = PointEdges.concatenate([known, between])
                    continue
                queries = np.empty(counts[taking_part].sum() + 1, np.uint32)
                list_uncertain(components, state.lower_bound, taking_part, queries)
                edges = self._search(components, queries[:-1])
                known = PointEdges.concatenate([known, edges])
                first = self._first_edges(known, count)
            taking_part &= first.weight < np.inf
            chosen = join(first.a, first.b, taking_part, state.parent)
            if self.ranks.rank == 0:
                forest.append(first.take(chosen))
        return PointEdges.concatenate(forest)

    def _between(
        self, components: ComponentArrays, known: PointEdges, uncertain: np.ndarray
    ) -> PointEdges | None:
        """Return the lightest edge between each two components, or None.

        With these edges, no point needs to search again.
        """
        of_vertex = self.state.of_vertex
        known = known._replace(a=of_vertex[known.a], b=of_vertex[known.b])
        edges = self.search.between(components, known, uncertain)
        if edges is None:
            return None
        self.state.lower_bound[:] = np.inf
        vertex = np.empty(len(components.bound), np.uint32)  # one of each component
        vertex[of_vertex] = np.arange(len(of_vertex), dtype=np.uint32)
        return edges._replace(a=vertex[edges.a], b=vertex[edges.b])

    def _first_edges(self, known: PointEdges, count: int) -> PointEdges:
        """Return each component's first known edge on all ranks. Collective.

        `a` is a vertex of the component, `b` one of another. A missing edge has an
        infinite weight.
        """
        first = PointEdges.empty(count)
        find_first_edges(known, self.state.of_vertex, first)
        least = self.ranks.min(first.weight)
        first.key[first.weight != least] = LAST_KEY
        key = self.ranks.min(first.key)
        b = first.b.astype(np.int64)
        b[first.key != key] = 0
        b = self.ranks.max(b).astype(np.uint32)
        return PointEdges(first.a, b, least, key)

    def _search(self, components: ComponentArrays, queries: np.ndarray) -> PointEdges:
        """Return the queries' first edges within their bounds. Collective.

        Lowers the bounds, and raises the lower bounds of the queries.
        """
        point, vertex = self.search.point, self.state.vertex
        # No edge of a query weighs less than `searched`.
        ends, searched = self.search.lightest(components, queries)
        edges = PointEdges.empty(len(queries))
        edges_of(queries, ends, searched, point, vertex, edges)
        remote = self.search.remote
        remote.improve_edges(components, vertex, queries, searched, edges)
        bits, lower_bound = (
            weights.view(np.uint64) for weights in (searched, self.state.lower_bound)
        )
        count = raise_lower_bounds(components, queries, bits, lower_bound, edges)
        return edges.take(slice(count))
