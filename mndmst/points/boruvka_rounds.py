"""Borůvka rounds over points, on one rank or many.

First components join along certified edges: edges listed among near neighbours that
precede all edges, listed or not, that may leave their component (`join_certified`). The
components that remain are the vertices of `BoruvkaRounds`. All ranks know which
component of all points each vertex is in, and the first edge that leaves each
component; points stay on their ranks.

A component may join others along the lightest edge that leaves it. It knows some edges;
a point of it that may have a lighter one searches the tree, within the weight of the
lightest known. A component with many such points waits: another that joins it needs no
search from them, and may make them needless.
"""

import numpy as np

from ..kernels.threads import Threads
from .build_tree import chunks
from .kernels.boruvka_steps import (
    NO_EDGE,
    PointEdges,
    count_uncertain,
    find_first,
    join,
    keep_leaving,
    list_uncertain,
    name_components,
)
from .kernels.certified_edges import first_listed, join_listed, list_leaving
from .kernels.kd_tree import PointTree
from .kernels.lightest_edges import (
    NO_POSITION,
    Components,
    RemoteQueries,
    approach,
    lightest,
    lightest_of_queries,
    sum_up,
)
from .neighbours import LEAST_QUERIES, Neighbours, PointIndex

# A component with at least MANY queries first lowers its bound by walks from GUIDES.
MANY, GUIDES = 256, 4
# Searches from one point in CHEAP_SHARE are cheap.
CHEAP_SHARE = 64
LEAST_SEARCHES = 32  # least searches of a chunk of work
LAST_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)


def key_of(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the order of edges of one weight: the smaller number, then the larger."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    return low.astype(np.uint64) << np.uint64(32) | high


def join_certified(
    found: Neighbours, rows: np.ndarray, within: np.ndarray, parent: np.ndarray
) -> tuple[PointEdges, PointEdges]:
    """Join points along certified edges, in Borůvka rounds.

    A component waits while a point of it may have an edge that is not listed and
    is as light as its lightest listed one.

    Parameters
    ----------
    found : Neighbours
        Neighbours on other ranks are skipped.
    rows : ndarray of uint32, shape (points,)
        The users' numbers of the points.
    within : ndarray of float64, shape (points,)
        Lower bound of the weights of each point's edges that are not listed.
    parent : ndarray of uint32, shape (points,)
        Union-find links of the components.

    Returns
    -------
    certified : PointEdges
        The edges that join.
    rest : PointEdges
        The forest of all listed edges between the components that remain.
    """
    of_position = np.empty(len(parent), np.uint32)
    active = np.arange(len(parent), dtype=np.uint32)
    certified, joining = [no_edges()], True
    while joining:
        first = np.empty(name_components(parent, of_position), np.int64)
        active = active[: first_listed(found, rows, of_position, active, first)]
        joined = join_listed(found, within, of_position, first, parent)
        certified.append(_with_keys(joined, rows))
        joining = len(certified[-1].a) > 0
    leaving = _with_keys(list_leaving(found, of_position, active), rows)
    return PointEdges.concatenate(certified), _forest(leaving, parent.copy())


def no_edges() -> PointEdges:
    """Return no edges."""
    ends = np.empty(0, np.uint32)
    return PointEdges(ends, ends, np.empty(0), np.empty(0, np.uint64))


def _with_keys(
    edges: tuple[np.ndarray, np.ndarray, np.ndarray], rows: np.ndarray
) -> PointEdges:
    a, b, weight = edges
    return PointEdges(a, b, weight, key_of(rows[a], rows[b]))


def _forest(edges: PointEdges, parent: np.ndarray) -> PointEdges:
    """Return the forest of edges between components."""
    of_position = np.empty(len(parent), np.uint32)
    forest, joining = [no_edges()], True
    while joining:
        first = np.empty(name_components(parent, of_position), np.int64)
        edges = edges.take(slice(keep_leaving(edges, of_position)))
        find_first(edges, of_position, first)
        chosen = edges.take(first[first != NO_EDGE])
        every = np.ones(len(chosen.a), np.bool_)
        forest.append(chosen.take(join(chosen.a, chosen.b, every, parent)))
        joining = len(forest[-1].a) > 0
    return PointEdges.concatenate(forest)


class BoruvkaRounds:
    """Joins the components of all ranks' points.

    Parameters
    ----------
    index : PointIndex
    cores : ndarray of float64, shape (points,)
        Core distances by position; zeros for plain distances.
    reach : ndarray of float64, shape (points,)
        Lower bound of the weights of each point's unknown edges. Infinity for a point
        that need not search. Raised.
    vertex : ndarray of uint32, shape (points,)
        The vertex of each point of this rank: its component before the first round.
    count : int
        Number of vertices of all ranks.
    """

    def __init__(
        self,
        index: PointIndex,
        cores: np.ndarray,
        reach: np.ndarray,
        vertex: np.ndarray,
        count: int,
    ) -> None:
        self.index, self.cores, self.reach = index, cores, reach
        self.ranks, self.vertex = index.remote.ranks, vertex
        self.parent = np.arange(count, dtype=np.uint32)
        self.present = np.empty(count, np.uint32)  # component of each vertex
        nodes = len(index.tree.left)
        self.of_node, self.least_reach = np.empty(nodes, np.uint32), np.empty(nodes)

    def finish(self, known: PointEdges) -> PointEdges:
        """Join all components; return the edges that do. Collective.

        Parameters
        ----------
        known : PointEdges
            Edges between vertices; the lightest listed edge that leaves a component is
            among them. Overwritten.

        Returns
        -------
        PointEdges
            On rank 0; no edges on the others.
        """
        forest = [no_edges()]
        while (count := name_components(self.parent, self.present)) > 1:
            known = known.take(slice(keep_leaving(known, self.present)))
            components = self._components(self._first_edges(known, count).weight)
            counts = np.empty(count, np.int64)
            count_uncertain(components, self.reach, counts)
            taking_part = choose(self.ranks.sum(counts), self.index.remote.total)
            queries = np.empty(counts[taking_part].sum(), np.uint32)
            list_uncertain(components, self.reach, taking_part, queries)
            if self.ranks.max(len(queries)):
                found = self._search(components, queries)
                known = PointEdges.concatenate([known, found])
            first = self._first_edges(known, count)
            taking_part &= first.weight < np.inf
            joined = join(first.a, first.b, taking_part, self.parent)
            if self.ranks.rank == 0:
                forest.append(first.take(joined))
        return PointEdges.concatenate(forest)

    def _components(self, bound: np.ndarray) -> Components:
        return Components(
            of_position=self.present[self.vertex],
            of_node=self.of_node,
            cores=self.cores,
            reach=self.reach,
            least_reach=self.least_reach,
            bound=bound.copy(),
        )

    def _first_edges(self, known: PointEdges, count: int) -> PointEdges:
        """Return the first known edge of all ranks that leaves each component.

        Collective. Its ends are a vertex of the component and one of another. A missing
        edge has an infinite weight.
        """
        best = np.empty(count, np.int64)
        find_first(known, self.present, best)
        has = best != NO_EDGE
        mine = known.take(best[has])
        a = np.empty(count, np.uint32)
        a[self.present] = np.arange(len(self.present), dtype=np.uint32)
        weight, key = np.full(count, np.inf), np.full(count, LAST_KEY)
        weight[has], key[has] = mine.weight, mine.key
        least = self.ranks.min(weight)
        key[weight != least] = LAST_KEY
        first = self.ranks.min(key)
        own = self.present[mine.a] == np.flatnonzero(has)
        b = np.zeros(count, np.int64)
        b[has] = np.where(own, mine.b, mine.a)
        b[(weight != least) | (key != first)] = 0
        return PointEdges(a, self.ranks.max(b).astype(np.uint32), least, first)

    def _search(self, components: Components, queries: np.ndarray) -> PointEdges:
        """Return the first edge, within the bound, of each query. Collective.

        Bounds are lowered, and the reach of the queries is raised.
        """
        tree, threads = self.index.tree, self.index.threads
        vertex, bound = self.vertex, components.bound
        of_position = components.of_position
        sum_up(tree, components)
        lower_bounds(tree, components, queries, threads)
        bound[:] = self.ranks.min(bound)
        ends, low = find_lightest(tree, components, queries, threads)
        has = ends != queries
        found = PointEdges(
            vertex[queries],
            vertex[ends],
            np.where(has, low, np.inf),
            np.where(has, key_of(tree.rows[queries], tree.rows[ends]), LAST_KEY),
        )
        # No edge of a query that is not found weighs less than its `low`.
        for step, rank in self.index.remote.ring():
            bound[:] = self.ranks.min(bound)
            np.minimum(low, bound[of_position[queries]], out=low)
            self._query_rank(step, rank, components, queries, low, found)
        exact = found.weight <= low
        self.reach[queries] = np.where(exact, low, np.nextafter(low, np.inf))
        return found.take(found.weight < np.inf)

    def _query_rank(
        self,
        step: int,
        rank: int,
        components: Components,
        queries: np.ndarray,
        low: np.ndarray,
        found: PointEdges,
    ) -> None:
        """Search another rank's points; replace edges by earlier ones. Collective."""
        tree, remote = self.index.tree, self.index.remote
        gap = remote.distances_to_box(rank, self.index.coordinates(queries))
        with np.errstate(over="ignore"):
            limit = self.index.norm.reduced(low)
            limit = np.minimum(limit * (1 + 1e-15) + 1e-322, np.finfo(np.float64).max)
        asking = np.flatnonzero(gap < limit)
        chosen = queries[asking]
        columns = (
            self.index.coordinates(chosen),
            components.of_position[chosen],
            self.cores[chosen],
            tree.rows[chosen],
            low[asking],
        )

        def answer(
            points: np.ndarray,
            component: np.ndarray,
            core: np.ndarray,
            row: np.ndarray,
            bound: np.ndarray,
        ) -> list[np.ndarray]:
            points = points.reshape(-1, tree.low.shape[1])
            received = RemoteQueries(points, component, core, row, bound)
            return self._answer(components, received)

        for part, (weight, end, row) in remote.query(step, columns, answer):
            here = asking[part]
            low[here] = np.minimum(low[here], weight)
            key = key_of(tree.rows[queries[here]], row)
            earlier = (weight < found.weight[here]) | (
                (weight == found.weight[here]) & (key < found.key[here])
            )
            earlier &= end != NO_POSITION
            here = here[earlier]
            found.b[here], found.key[here] = end[earlier], key[earlier]
            found.weight[here] = weight[earlier]
            own = components.of_position[queries[here]]
            np.minimum.at(components.bound, own, weight[earlier])

    def _answer(
        self, components: Components, queries: RemoteQueries
    ) -> list[np.ndarray]:
        """Return weights, vertices and numbers of the first edges of remote queries."""
        tree, threads, count = self.index.tree, self.index.threads, len(queries.row)
        ends = np.empty(count, np.uint32)
        ranges = threads.ranges(count, LEAST_QUERIES)
        threads.map(
            lightest_of_queries, [(tree, components, queries, ends, *r) for r in ranges]
        )
        has = ends != NO_POSITION
        vertex, rows = np.full(count, NO_POSITION), np.full(count, NO_POSITION)
        vertex[has], rows[has] = self.vertex[ends[has]], tree.rows[ends[has]]
        return [queries.bound, vertex, rows]


def choose(counts: np.ndarray, points: int) -> np.ndarray:
    """Return which components take part in a round: the half with the fewest queries.

    More than half if their queries are cheap.

    Parameters
    ----------
    counts : ndarray of int64
        Queries of each component.
    points : int
        Number of points.
    """
    order = np.argsort(counts, kind="stable")
    few = points // CHEAP_SHARE
    cheap = int(np.searchsorted(np.cumsum(counts[order]), few, "right"))
    taking_part = np.zeros(len(counts), np.bool_)
    taking_part[order[: max((len(order) + 1) // 2, cheap)]] = True
    return taking_part


def find_lightest(
    tree: PointTree, components: Components, queries: np.ndarray, threads: Threads
) -> tuple[np.ndarray, np.ndarray]:
    """Return the far ends and weights of the lightest edges; see `lightest`.

    Parameters
    ----------
    components : Components
        Summed up; their bounds are lowered.
    queries : ndarray of uint32
        The positions to search from, ascending.
    """
    ends, weight = np.empty_like(queries), np.empty(len(queries))
    work = chunks(len(queries), threads, LEAST_SEARCHES)
    threads.map(lightest, [(tree, components, queries, ends, weight, *c) for c in work])
    return ends, weight


def lower_bounds(
    tree: PointTree, components: Components, queries: np.ndarray, threads: Threads
) -> None:
    """Lower the bounds of components with many queries, by walks from a few."""
    positions = guides(queries, components.of_position[queries], len(components.bound))
    work = chunks(len(positions), threads, GUIDES)
    threads.map(approach, [(tree, components, positions, *chunk) for chunk in work])


def guides(queries: np.ndarray, component: np.ndarray, count: int) -> np.ndarray:
    """Return a few of the queries of each component that has many."""
    sizes = np.bincount(component, minlength=count)
    many = sizes >= MANY
    chosen = many[component]
    positions = queries[chosen][np.argsort(component[chosen], kind="stable")]
    ends = np.cumsum(sizes[many])
    few = [ends - 1 - sizes[many] * i // GUIDES for i in range(GUIDES)]
    return positions[np.concatenate(few)]
