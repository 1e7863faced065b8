"""The exact forest of points that change, from the forest before the change.

Let the batch remove points, which raises core distances, and then insert points, which
lowers them. Every edge whose ends stay and whose weight is not raised, and which is not
in the old forest, still closes a cycle with old edges that it follows, unless one of
these is lost or raised. So two kinds of points need a search: new ones, whose edges
were never compared; and those near an edge that is lost or raised, where an edge that
was never needed may take its place.

- A component of present points that none of the lost edges leaves has its first edge
  among the old ones and those of new points (`contract_certain`).
- Of a component that a lost edge leaves, each point has a lower bound: it was in a
  component that none left, whose first edge precedes all others out of it. In Borůvka
  rounds only the points within the component's bound search.
- New points search in each round for edges to all components within the bounds of both.

Old points whose core distance falls have lighter edges to their nearest neighbours
alone, which are listed.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...api.forest import Forest
from ...host.cores import core_count
from ...kernels.kruskal import component_labels
from ...kernels.threads import Threads
from ..coordinates import point_coordinates
from ..devices.point_products import ComponentArrays
from ..kernels.boruvka_steps import (
    LAST_KEY,
    PointEdges,
    edge_keys,
    find_first_edges,
    join,
    keep_leaving,
    list_uncertain,
    name_components,
    relabel,
)
from ..kernels.changed_points import EdgeSources, contract_certain
from ..kernels.changed_products import PartVertices
from ..kernels.norms import LARGEST
from ..metrics import METRICS, Norm, from_norm, prepared
from ..point_forest import PointForest
from ..scale import extremes, scale_for
from ..search.build_tree import build_tree
from ..search.equal_points import Coordinates
from ..search.point_search import PointSearch, TreeSearch
from ..search.product_search import ProductSearch
from ..search.remote_points import RemotePoints
from ..search.search_choice import choose_search
from .point_parts import PointPart, TreePart
from .product_part import DIVIDED, ProductPart

# Fewer points are searched anew in a few milliseconds.
LEAST_POINTS = 512
# After a batch of more than this fraction of the points (1 / 256) a fresh search takes
# less time on two cores.
LARGEST_SHARE = 256
# A part has at least this many times the points of the next one.
PART_RATIO = 4
# Neighbours listed beyond those of the core distance.
FURTHER = 6
# Pairs of a changed point and one that it reaches, per changed point and at least.
MOST_REACHED, LEAST_REACHED = 512, 1 << 16
# Expected points, in times of the core distance's, of a ball in which a new point lists
# all its edges before the rounds.
LISTED_BALL = 16.0
# This fraction of the points lists all edges in the ball; measured on a sample.
COMMON, SAMPLED = 0.999, 1 << 16
# Searches of a round; one component may need more.
CHEAP = 1 << 12
PAIRS = 1 << 12  # of points whose distances are computed at once


def pays(batch: int, points: int) -> bool:
    """Return whether to follow a batch takes less time than a fresh search."""
    return points > LEAST_POINTS and LARGEST_SHARE * batch <= points


@dataclass(frozen=True)
class FollowedForest:
    """The forest of the points of one version, and what their next change needs.

    Its points are in trees or, in many dimensions, in products on the host; see
    `PointPart`. A position is an index in the order of the parts' positions, one part
    after the other. Distances are of the metric's norm.
    """

    metric: str
    min_samples: int
    threads: int
    parts: tuple[PointPart, ...]
    row: np.ndarray  # uint32, by position; 0 for removed points
    position: np.ndarray  # uint32, by row
    # float64, by position: the distance to the `min_samples`-th neighbour, at least the
    # first; -1 for removed points
    radius: np.ndarray
    weight: np.ndarray  # float64, by edge
    point_forest: PointForest  # by row, with the distances of the metric

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays beside the forest; versions may share some."""
        arrays = [self.row, self.position, self.radius, self.weight]
        for part in self.parts:
            arrays += part.arrays
        return sum(array.nbytes for array in arrays)

    @classmethod
    def of(
        cls,
        points: np.ndarray,
        metric: str,
        min_samples: int,
        point_forest: PointForest,
        threads: int = 0,
        search: str = "auto",
    ) -> "FollowedForest | None":
        """Return the forest of points, ready for a change; None if none can follow.

        `point_forest` is that of `points_forest`; for `search` see `choose_search`.
        """
        order = max(min_samples, 1)
        if len(points) <= max(LEAST_POINTS, order + 1):
            return None
        team = Threads(threads or core_count())
        coordinates = point_coordinates(points, metric, team)
        if coordinates.scale.factor != 1:
            return None
        listed = order + FURTHER
        choice = choose_search(coordinates, metric, search, listed, device_tree=True)
        norm, others = METRICS[metric].norm, RemotePoints(len(points))
        part: PointPart
        searched: PointSearch
        if choice.name in ("tree", "device-tree"):
            tree = build_tree(coordinates.all(), norm, team)
            part, searched = TreePart(tree, metric), TreeSearch(tree, others, team)
        elif choice.name == "product" and metric in DIVIDED:
            part = ProductPart.first(points, metric, team)
            searched = ProductSearch(part.products(team), part.point, others, team)
        else:
            return None
        if point_forest.radius is None:
            radius = searched.neighbours(order, order).cores
        else:
            radius = point_forest.radius[part.point]
        position = np.empty(len(points), np.uint32)
        position[part.point] = np.arange(len(points), dtype=np.uint32)
        forest = point_forest.forest
        weight = forest.weight
        if not METRICS[metric].is_norm:
            weight = _distances(coordinates.of, forest.src, forest.dst, norm)
            if min_samples:
                cores = radius[position]
                larger = np.maximum(cores[forest.src], cores[forest.dst])
                weight = np.maximum(weight, larger)
        return cls(
            metric,
            min_samples,
            threads,
            (part,),
            part.point,
            position,
            radius,
            weight,
            point_forest,
        )

    def changed(
        self, old: np.ndarray, removed: np.ndarray, points: np.ndarray, new: int
    ) -> "FollowedForest | None":
        """Return the forest after a batch; None if a fresh search is faster.

        `old` has the points before the batch and `removed` the rows to remove; `points`
        has those after it, of which the last `new` are new.
        """
        total = len(points)
        if total <= max(LEAST_POINTS, self.min_samples + 1):
            return None
        inserted = self._prepared(points[total - new :])
        if scale_for(METRICS[self.metric].norm, *extremes(inserted)).factor != 1:
            return None
        gone = self._prepared(old[removed])
        reached = self._reached(np.concatenate([gone, inserted]), self.radius)
        if reached is None:
            return None
        query, position, distance = reached
        affects = (distance < self.radius[position]) | (query < len(removed))
        is_affected = np.zeros(len(self.radius), np.bool_)
        is_affected[position[affects]] = True
        is_affected[self.position[removed]] = False
        # Queries that lie near to each other search together
        affected = self.row[np.flatnonzero(is_affected)].astype(np.int64)
        change = _Change(self, old, removed, points, new, inserted, affected)
        return change.forest()

    def _prepared(self, points: np.ndarray) -> np.ndarray:
        values = np.ascontiguousarray(points, np.float64)
        return np.ascontiguousarray(prepared(values, self.metric))

    def _parts(self) -> list[tuple[PointPart, slice]]:
        """Return the parts, and the positions of each."""
        ends = np.cumsum([len(part.point) for part in self.parts]).tolist()
        starts = [0, *ends[:-1]]
        return [
            (part, slice(begin, end))
            for part, begin, end in zip(self.parts, starts, ends, strict=True)
        ]

    def _reached(
        self, points: np.ndarray, reach: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return indices of points, positions that reach them, and distances.

        None if there are many.
        """
        most = max(LEAST_REACHED, MOST_REACHED * len(points))
        found, team = [], Threads(self.threads or core_count())
        for part, at in self._parts():
            reached = part.reached(points, reach[at], most, team)
            if reached is None:
                return None
            query, position, distance = reached
            found.append((query, position + np.uint32(at.start), distance))
        query, position, distance = map(np.concatenate, zip(*found, strict=True))
        return query, position, distance

    def _nearest(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and positions of the k nearest points, ascending."""
        found = []
        team = Threads(self.threads or core_count())
        for part, at in self._parts():
            distance, position = part.nearest(queries, k, team)
            found.append((distance, position + np.uint32(at.start)))
        distances, positions = (np.hstack(c) for c in zip(*found, strict=True))
        if len(found) > 1:
            chosen = np.argsort(distances, axis=1, kind="stable")[:, :k]
            distances = np.take_along_axis(distances, chosen, axis=1)
            positions = np.take_along_axis(positions, chosen, axis=1)
        return METRICS[self.metric].norm.distance(distances), positions


class _Change:
    """One batch on its way to the next forest."""

    def __init__(
        self,
        before: FollowedForest,
        old: np.ndarray,
        removed: np.ndarray,
        points: np.ndarray,
        new: int,
        inserted: np.ndarray,
        affected: np.ndarray,
    ) -> None:
        self.before, self.old, self.points = before, old, points
        self.norm = METRICS[before.metric].norm
        stays = np.ones(len(old), np.bool_)
        stays[removed] = False
        self.stays = stays
        # By old row: the row after the batch
        self.new_row = (np.cumsum(stays, dtype=np.uint32) - np.uint32(1)).astype(
            np.uint32
        )
        self.kept = len(points) - new
        self.new_rows = np.arange(self.kept, len(points))
        after = self._rearranged(removed, inserted)
        self.new_rows = self.new_rows[np.argsort(after.position[self.kept :])]
        # Rows whose neighbours change, with the new ones last
        self.targets = np.append(self.new_row[affected], self.new_rows)
        coordinates = before._prepared(points[self.targets])
        order = max(before.min_samples, 1)
        k = min(order + 1 + FURTHER, len(points))
        distance, position = after._nearest(coordinates, k)
        at = after.position[self.targets]
        self.old_radius = after.radius[at]  # NaN for new points
        after.radius[at] = distance[:, order]
        self.affected, self.after = affected, after
        self.coordinates = coordinates
        self.listed_distance, self.listed = distance, position
        self.cores = after.radius if before.min_samples else np.zeros(len(after.radius))

    def _rearranged(self, removed: np.ndarray, inserted: np.ndarray) -> FollowedForest:
        """Return parts of the points after the batch; the edges are those before it.

        The radius of a new point is NaN.
        """
        before = self.before
        radius = before.radius.copy()
        radius[before.position[removed]] = -1
        row = self.new_row[before.row]
        row[radius < 0] = 0
        changed, sizes = [], [len(part.point) for part in before.parts]
        parts, later = before._parts(), len(inserted)
        first = len(parts)  # the parts from this one on are built anew
        while first and len(inserted) and sizes[first - 1] < PART_RATIO * later:
            first -= 1
            later += sizes[first]
        for i, (_, at) in enumerate(parts):
            if 2 * np.count_nonzero(radius[at] < 0) > sizes[i]:
                first = min(first, i)
        gone = np.sort(before.position[removed])
        for part, at in parts[:first]:
            inside = gone[(gone >= at.start) & (gone < at.stop)] - at.start
            changed.append(part.moved(self.points, row[at], inside))
        begin = parts[first][1].start if first < len(parts) else len(radius)
        alive = begin + np.flatnonzero(radius[begin:] >= 0)
        rows = np.append(row[alive], self.new_rows.astype(np.uint32))
        later_radius = np.append(radius[alive], np.full(len(inserted), np.nan))
        if len(rows):
            team = Threads(before.threads or core_count())
            last = before.parts[0].of(self.points, rows, team)
            changed.append(last)
            rows, later_radius = rows[last.point], later_radius[last.point]
        row = np.append(row[:begin], rows)
        radius = np.append(radius[:begin], later_radius)
        position = np.empty(len(self.points), np.uint32)
        position[row] = np.arange(len(row), dtype=np.uint32)
        first_row = np.flatnonzero(row == 0)  # its own position, not a removed point's
        position[0] = first_row[~(radius[first_row] < 0)][0]
        return replace(
            before, parts=tuple(changed), row=row, position=position, radius=radius
        )

    def forest(self) -> FollowedForest:
        """Return the next forest."""
        after = self.after
        searching = self._searching_rows()
        edges, lost = self._old_edges()
        flagged = np.zeros(len(self.points), np.bool_)
        flagged[lost.a] = flagged[lost.b] = True
        known = [self._listed_edges()]
        least = np.full(len(self.points), np.inf)
        near = self._near_edges(searching)
        if near is None:
            least[:] = -np.inf
        elif len(searching):
            known.append(near[0])
            least = near[1]
        flagged[searching] = True
        edges = _merged(edges, PointEdges.concatenate(known))
        kept = np.zeros(len(edges.key), np.bool_)
        vertex = np.empty(len(self.points), np.uint32)
        lower_bound = self.cores[after.position]
        lower_bound[searching] = np.inf
        count = contract_certain(
            edges.a, edges.b, edges.weight, flagged, least, vertex, lower_bound, kept
        )
        chosen = PointEdges.empty(0)
        if count > 1:
            rest = np.flatnonzero(~kept)
            a, b = vertex[edges.a[rest]], vertex[edges.b[rest]]
            between = a != b
            rest = rest[between]
            known_edges = PointEdges(
                a[between], b[between], edges.weight[rest], edges.key[rest]
            )
            ends = lost._replace(a=vertex[lost.a], b=vertex[lost.b])
            rounds = _Rounds(self, vertex, lower_bound, count, searching, ends)
            chosen = rounds.finish(known_edges)
        index = np.searchsorted(edges.key, chosen.key)
        index = np.minimum(index, len(edges.key) - 1)
        listed = edges.key[index] == chosen.key
        kept[index[listed]] = True
        new = chosen.take(~listed)
        new = new.take(np.argsort(new.key))
        key = edges.key[kept]
        at = np.searchsorted(key, new.key)
        weight = np.insert(edges.weight[kept], at, new.weight)
        key = np.insert(key, at, new.key)
        forest = Forest(
            (key >> np.uint64(32)).view(np.int64),
            (key & np.uint64(0xFFFFFFFF)).view(np.int64),
            from_norm(weight, after.metric),
            np.zeros(len(self.points), np.int64),
        )
        point_forest = PointForest(forest, len(key), True, after.parts[0].search)
        return replace(after, weight=weight, point_forest=point_forest)

    def _searching_rows(self) -> np.ndarray:
        """Return the rows whose edges are not all old or listed."""
        if not self.before.min_samples:
            return self.new_rows
        old_radius = self.old_radius[: len(self.affected)]
        incomplete = self.listed_distance[: len(self.affected), -1] < old_radius
        return np.append(self.targets[: len(self.affected)][incomplete], self.new_rows)

    def _old_edges(self) -> tuple[PointEdges, PointEdges]:
        """Return old edges that stay, with their weights, and lost or raised ones.

        These are between rows that stay, with the old weight. Removed points that old
        edges join are lost together: edges between their neighbours stand for them,
        with the least weight of all.
        """
        before, stays = self.before, self.stays
        forest = before.point_forest.forest
        src, dst = forest.src.astype(np.uint32), forest.dst.astype(np.uint32)
        state = (~stays).view(np.uint8).copy()
        if before.min_samples:
            state[self.affected] |= 2
        touched_state = state[src] | state[dst]
        touched = np.flatnonzero(touched_state)
        goes = touched[(touched_state[touched] & 1) == 1]
        weighed = touched[touched_state[touched] == 2]
        a, b = self.new_row[src], self.new_row[dst]
        lost = [self._lost_edges(src[goes], dst[goes], before.weight[goes])]
        weight = before.weight
        if len(weighed):
            now = self._weights(a[weighed], b[weighed])
            raised = now > weight[weighed]
            heavier = weighed[raised]
            key = edge_keys(a[heavier], b[heavier])
            lost.append(PointEdges(a[heavier], b[heavier], weight[heavier], key))
            weight = weight.copy()
            weight[weighed] = now
        key = edge_keys(a, b)
        edges = PointEdges(a, b, weight, key)
        if len(goes):
            edges = PointEdges(*(np.delete(column, goes) for column in edges))
        return edges, PointEdges.concatenate(lost)

    def _lost_edges(
        self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray
    ) -> PointEdges:
        """Return edges between the neighbours of removed points; see `_old_edges`."""
        inside = ~self.stays[src] & ~self.stays[dst]
        ends, index = np.unique(np.append(src, dst), return_inverse=True)
        one, other = np.split(index.astype(np.int64), 2)
        together = component_labels(one[inside], other[inside], len(ends))
        leaving = np.flatnonzero(~inside)
        first = self.stays[src[leaving]]
        row = self.new_row[np.where(first, src[leaving], dst[leaving])]
        group = together[np.where(first, other[leaving], one[leaving])]
        least = np.full(len(ends), np.inf)
        np.minimum.at(least, group, weight[leaving])
        centre = np.empty(len(ends), np.uint32)
        centre[group] = row
        return PointEdges(
            row, centre[group], least[group], edge_keys(row, centre[group])
        )

    def _weights(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the weights of edges between rows."""
        distance = _distances(self._coordinates, a, b, self.norm)
        position = self.after.position
        cores = np.maximum(self.cores[position[a]], self.cores[position[b]])
        return np.maximum(distance, cores)

    def _coordinates(self, rows: np.ndarray) -> np.ndarray:
        return self.before._prepared(self.points[rows])

    def _edges(self, a: np.ndarray, b: np.ndarray, distance: np.ndarray) -> PointEdges:
        """Return the edges between different rows, of known distances."""
        differ = a != b
        a, b, distance = a[differ], b[differ], distance[differ]
        position = self.after.position
        cores = np.maximum(self.cores[position[a]], self.cores[position[b]])
        low, high = np.minimum(a, b), np.maximum(a, b)
        return PointEdges(low, high, np.maximum(distance, cores), edge_keys(a, b))

    def _listed_edges(self) -> PointEdges:
        """Return the edges of the targets to their listed neighbours."""
        near = self.listed_distance < LARGEST
        target = np.repeat(self.targets.astype(np.uint32), near.sum(axis=1))
        other = self.after.row[self.listed[near]]
        return self._edges(target, other, self.listed_distance[near])

    def _near_edges(
        self, searching: np.ndarray
    ) -> tuple[PointEdges, np.ndarray] | None:
        """Return edges of searching rows, and by row which weights have none beyond.

        None if there are many.
        """
        after = self.after
        # Few outliers would let walks visit far nodes
        sample = after.radius[:: max(1, len(after.radius) // SAMPLED)]
        most = np.quantile(sample, COMMON)
        values = self.before._prepared(self.points[searching])
        reach = np.minimum(after.radius, most) * LISTED_BALL ** (1 / values.shape[1])
        reached = after._reached(values, reach)
        if reached is None:
            return None
        query, position, distance = reached
        rows = searching[query].astype(np.uint32)
        edges = self._edges(rows, after.row[position], distance)
        return edges, reach[after.position]


class _Rounds:
    """Borůvka rounds over the components that `contract_certain` leaves."""

    def __init__(
        self,
        change: _Change,
        vertex: np.ndarray,
        lower_bound: np.ndarray,
        count: int,
        searching: np.ndarray,
        lost: PointEdges,
    ) -> None:
        self.change, self.after, self.lost = change, change.after, lost
        after = change.after
        self.vertex = vertex[after.row]
        self.lower_bound = lower_bound[after.row]
        self.lower_bound[after.radius < 0] = np.inf
        # The group of each position, numbered in the order of positions
        sizes = np.concatenate([part.group_sizes for part in after.parts])
        self.group = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
        self.parent = np.arange(count, dtype=np.uint32)
        self.of_vertex = np.empty(count, np.uint32)
        self.of_position = np.empty(len(after.row), np.uint32)
        self.sources = self._sources(np.sort(after.position[searching]))

    def _sources(self, positions: np.ndarray) -> EdgeSources:
        change, rows = self.change, self.after.row[positions]
        return EdgeSources(
            change.before._prepared(change.points[rows]),
            rows,
            change.cores[positions],
            self.vertex[positions],
        )

    def finish(self, known: PointEdges) -> PointEdges:
        """Return the edges that join all components; see `BoruvkaRounds.finish`."""
        chosen: list[PointEdges] = []
        while True:
            count = name_components(self.parent, self.of_vertex)
            if count == 1:
                return PointEdges.concatenate([PointEdges.empty(0), *chosen])
            known = known.take(slice(keep_leaving(known, self.of_vertex)))
            first = PointEdges.empty(count)
            find_first_edges(known, self.of_vertex, first)
            components, counts = self._components(first.weight, count)
            if len(self.sources.point):
                self._improve(self.sources, first, True)
                components, counts = self._components(first.weight, count)
            bound = self._lower_bounds(count)
            counts[bound > first.weight] = 0
            np.minimum(bound, first.weight, out=bound)
            np.maximum(self.lower_bound, bound[self.of_position], out=self.lower_bound)
            taking_part = _with_few_searches(counts)
            search = taking_part & (counts > 0)
            if search.any():
                queries = np.empty(counts[search].sum() + 1, np.uint32)
                list_uncertain(components, self.lower_bound, search, queries)
                queries = queries[:-1]
                self._improve(self._sources(queries), first, False)
                bound = first.weight[self.of_position[queries]]
                searched = np.maximum(self.lower_bound[queries], bound)
                self.lower_bound[queries] = searched
            taking_part &= first.weight < np.inf
            chosen.append(first.take(join(first.a, first.b, taking_part, self.parent)))

    def _lower_bounds(self, count: int) -> np.ndarray:
        """Return for each component the least weight of a lost edge that leaves it.

        Each edge between old points that is not known, and leaves the component, is no
        lighter than this or the component's first edge.
        """
        a, b = self.of_vertex[self.lost.a], self.of_vertex[self.lost.b]
        leaving = a != b
        bound = np.full(count, np.inf)
        for end in (a, b):
            np.minimum.at(bound, end[leaving], self.lost.weight[leaving])
        return bound

    def _components(
        self, bound: np.ndarray, count: int
    ) -> tuple[ComponentArrays, np.ndarray]:
        """Return the components of positions, and how many points of each search."""
        cores, lower_bound = self.change.cores, self.lower_bound
        components = ComponentArrays(self.of_position, cores, lower_bound, bound)
        counts = np.empty(count, np.int64)
        relabel(self.vertex, self.of_vertex, lower_bound, components, counts)
        return components, counts

    def _improve(self, sources: EdgeSources, first: PointEdges, both: bool) -> None:
        """Search first edges from sources, within the bounds of one or both ends."""
        component = self.of_vertex[sources.vertex]
        starts = self._starts(sources)
        team = Threads(self.after.threads or core_count())
        # Edges of new points, which search within both bounds, have none but the cores
        lower_bound = self.change.cores if both else self.lower_bound
        for part, at in self.after._parts():
            vertices = PartVertices(
                self.after.row[at],
                self.vertex[at],
                self.of_position[at],
                self.change.cores[at],
                lower_bound[at],
            )
            part.improve_first_edges(
                vertices, sources, starts, component, first, both, team
            )

    def _starts(self, sources: EdgeSources) -> np.ndarray:
        """Return where sources of another group begin, and their number."""
        group = self.group[self.after.position[sources.point]]
        return np.append(
            np.flatnonzero(np.append(True, group[1:] != group[:-1])), len(group)
        )


def _with_few_searches(counts: np.ndarray) -> np.ndarray:
    """Return for each component whether it joins another one in this round.

    Those with the most searches wait: others may join them.
    """
    order = np.argsort(counts, kind="stable")
    few = np.cumsum(counts[order]) <= CHEAP
    few[0] = True
    taking_part = np.empty(len(counts), np.bool_)
    taking_part[order] = few
    return taking_part


def _distances(
    coordinates: Coordinates, a: np.ndarray, b: np.ndarray, norm: Norm
) -> np.ndarray:
    """Return the distances of pairs of points, with the bits of searches."""
    total = np.zeros(len(a))
    for begin in range(0, len(a), PAIRS):
        pairs = slice(begin, begin + PAIRS)
        one, other = coordinates(a[pairs]), coordinates(b[pairs])
        for x, y in zip(one.T, other.T, strict=True):
            total[pairs] = norm.add(total[pairs], np.abs(x - y))
    return norm.distance(total)


def _merged(edges: PointEdges, further: PointEdges) -> PointEdges:
    """Return edges with others that they lack, each once, in the order of keys."""
    key, index = np.unique(further.key, return_index=True)
    at = np.searchsorted(edges.key, key)
    missing = np.append(edges.key, LAST_KEY)[at] != key
    new = further.take(index[missing])
    return PointEdges(
        *(np.insert(c, at[missing], n) for c, n in zip(edges, new, strict=True))
    )
