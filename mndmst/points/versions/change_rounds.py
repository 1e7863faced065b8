"""Borůvka rounds that end a change of points."""

from typing import NamedTuple

import numpy as np

from ...kernels.threads import each_range
from ...native.call_columns import ArrayPieces
from ..kernels.boruvka_steps import (
    PointEdges,
    begin_round,
    join,
)
from ..kernels.changed_points import (
    GroupedPoints,
    find_group_vertices,
    list_uncertain_points,
)
from ..kernels.changed_products import PartVertices
from ..kernels.neighbour_lists import NeighbourLists
from ..kernels.path_bounds import OldEdges, raise_bounds
from .point_parts import SourceSearch
from .positioned_points import PositionedPoints, crossing_edges, group_starts

GROUPS = 1 << 10  # least groups of points that a thread goes through


class SearchingPoints(NamedTuple):
    """Points that search in all rounds: new ones, where products search."""

    position: np.ndarray  # uint32, ascending
    complete: np.ndarray  # float64, by searching point: its lighter edges are listed
    # float64, by position: all lighter edges to searching points are listed
    reach: np.ndarray

    @classmethod
    def none(cls) -> "SearchingPoints":
        """Return no points; all edges of new points are listed."""
        return cls(np.empty(0, np.uint32), np.empty(0), np.empty(0))


class ChangeRounds:
    """Borůvka rounds over the components that `contract_certain` leaves."""

    def __init__(
        self,
        at: PositionedPoints,
        vertex: np.ndarray,
        lower_bound: np.ndarray,
        count: int,
        searching: SearchingPoints,
        old: OldEdges,
    ) -> None:
        """Begin with `count` vertices, each a component.

        `vertex` and `lower_bound` are by position; `old` are edges between vertices.
        """
        self.at, self.after, self.old = at, at.forest, old
        group_begin = self.after.group_begin
        groups = len(group_begin) - 1
        self.points = GroupedPoints(
            group_begin,
            vertex,
            np.empty(groups, np.uint32),
            lower_bound,
            np.empty(groups),
            np.full(count, -np.inf),
        )
        self.bounds = self.after.team.bounds(groups, GROUPS)
        ranges = each_range(self.bounds)
        self.after.team.run(find_group_vertices, self.points, *ranges)
        # Of each range of groups; a list has one more entry than points
        self.begins = group_begin[self.bounds] + np.arange(len(self.bounds))
        self.lists = np.empty((2, self.begins[-1]), np.uint32)
        self.parent = np.arange(count, dtype=np.uint32)
        self.of_vertex = np.empty(count, np.uint32)
        # By position: lighter edges to points that search in all rounds are known
        self.to_new = at.cores
        if len(searching.position):
            self.to_new = np.maximum(at.cores, searching.reach)
        self.unread = self.after.lists  # until its edges are known
        self.searches = [
            part.for_rounds(vertex[inside], self.to_new[inside], lower_bound[inside])
            for part, inside in self.after.located_parts
        ]
        self.searching: SourceSearch | None = None
        if len(searching.position):
            sources = at.sources(searching.position, vertex)
            group = np.searchsorted(group_begin, searching.position, "right")
            self.searching = SourceSearch(
                sources, sources.vertex, group_starts(group), searching.complete, True
            )

    def finish(self, known: PointEdges) -> PointEdges:
        """Return the edges that join all components; see `BoruvkaRounds.finish`."""
        chosen, lower_bound = [PointEdges.empty(0)], self.points.lower_bound
        edges = PointEdges.empty(len(self.parent))
        cheap = self.after.parts[0].cheap
        while True:
            count, leaving = begin_round(known, self.parent, self.of_vertex, edges)
            if count == 1:
                return PointEdges.concatenate(chosen)
            known, first = known.take(slice(leaving)), edges.take(slice(count))
            if self.searching:
                component = self.of_vertex[self.searching.sources.vertex]
                self._improve(self.searching._replace(component=component), first)
            queries, groups = self._uncertain(first.weight)
            if self.unread is not None and len(queries) > cheap:
                known = PointEdges.concatenate([known, self._read(self.unread)])
                continue
            component = self.of_vertex[self.points.vertex[queries]]
            searches = np.bincount(component, minlength=count)
            taking_part = _with_few_searches(searches, cheap)
            searches_now = taking_part[component]
            if searches_now.any():
                queries, component = queries[searches_now], component[searches_now]
                sources = self.at.sources(queries, self.points.vertex)
                starts = group_starts(groups[searches_now])
                known_to = lower_bound[queries]
                search = SourceSearch(sources, component, starts, known_to, False)
                self._improve(search, first)
                searched = np.maximum(known_to, first.weight[component])
                lower_bound[queries] = searched
            taking_part &= first.weight < np.inf
            chosen.append(first.take(join(first.a, first.b, taking_part, self.parent)))

    def _uncertain(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions that need a search, and their groups.

        These may have unlisted edges up to the `weight` of their component's first one.
        """
        points, bound = self.points, np.empty(len(self.of_vertex))
        raise_bounds(self.old, self.of_vertex, weight, points.of_vertex, bound)
        counts = self.after.team.run(
            list_uncertain_points,
            points._replace(of_vertex=bound),
            self.of_vertex,
            weight,
            *each_range(self.bounds),
            *(ArrayPieces.of(own, self.begins) for own in self.lists),
        )
        found = [
            self.lists[:, begin : begin + count]
            for begin, count in zip(self.begins[:-1], counts, strict=True)
        ]
        queries, groups = np.concatenate(found, axis=1)
        return queries, groups

    def _read(self, lists: NeighbourLists) -> PointEdges:
        """Return the edges along lists between components, and bound all others."""
        self.unread = None
        points, vertex = self.points, self.of_vertex[self.points.vertex]
        np.maximum(points.lower_bound, lists.complete, out=points.lower_bound)
        self.searches = [
            search.raised(points.lower_bound[inside])
            for search, (_, inside) in zip(
                self.searches, self.after.located_parts, strict=True
            )
        ]
        every = np.arange(len(vertex), dtype=np.uint32)
        edges = crossing_edges(self.at, lists, every, vertex)
        first = np.empty(len(self.parent), np.uint32)  # a vertex of each component
        first[self.of_vertex] = np.arange(len(self.parent), dtype=np.uint32)
        return edges._replace(a=first[edges.a], b=first[edges.b])

    def _improve(self, search: SourceSearch, first: PointEdges) -> None:
        """Replace first edges by earlier ones from sources."""
        lower_bound, of_vertex = self.points.lower_bound, self.points.of_vertex
        if search.both:  # edges of new points have no other bounds
            lower_bound = self.to_new
            of_vertex = np.full(len(of_vertex), -np.inf)
        end = 0
        parts = self.after.located_parts
        for (part, at), of_part in zip(parts, self.searches, strict=True):
            begin, end = end, end + len(part.group_sizes)
            least = self.points.least[begin:end].min()
            if not search.both and least > first.weight[search.component].max():
                continue  # the part has no edge within a bound
            vertices = PartVertices(
                self.after.row[at],
                self.points.vertex[at],
                self.points.of_group[begin:end],
                self.of_vertex,
                self.at.cores[at],
                lower_bound[at],
                of_vertex,
            )
            of_part.improve_first_edges(vertices, search, first, self.after.team)


def old_edges(listed: PointEdges, lost: PointEdges) -> OldEdges:
    """Return listed and lost edges of an old forest, between vertices."""
    edges = PointEdges.concatenate([listed, lost])
    is_lost = np.arange(len(edges.weight)) >= len(listed.weight)
    order = np.argsort(edges.weight, kind="stable")
    return OldEdges(*edges.take(order)[:3], is_lost[order])


def _with_few_searches(counts: np.ndarray, cheap: int) -> np.ndarray:
    """Return for each component whether it joins another one in this round.

    Those with the most of more than `cheap` searches wait: others may join them.
    """
    if counts.sum() <= cheap:
        return np.ones(len(counts), np.bool_)
    order = np.argsort(counts, kind="stable")
    few = np.cumsum(counts[order]) <= cheap
    few[0] = True
    taking_part = np.empty(len(counts), np.bool_)
    taking_part[order] = few
    return taking_part
