"""The exact forest of points that change, from the forest before the change.

Let the batch remove points, which raises core distances, and then insert points, which
lowers them. Every edge whose ends stay and whose weight is not raised, and which is not
in the old forest, still closes a cycle with old edges that it follows, unless one of
these is lost or raised. So two kinds of points need a search: new ones, whose edges
were never compared; and those near an edge that is lost or raised, where an edge that
was never needed may take its place.

- A component of present points that none of the lost edges leaves has its first edge
  among the old ones and those of new points. Most join as leaves of the old forest,
  which is rooted, in one pass (`strip_leaves`); `contract_certain` has the few others.
- Of a component that a lost edge leaves, each point has a lower bound: it was in a
  component that none left, whose first edge precedes all others out of it. In Borůvka
  rounds only the points within the component's bound search.
- Where trees search, one walk lists the edges of a new point that may be in the
  forest. The last edge of a cycle of three is not: so near neighbours exclude all
  points that lie behind them. Where products search, new points search in each round
  for edges to all components within the bounds of both.

Old points whose core distance falls have lighter edges to their nearest neighbours
alone, which are listed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...api.forest import Forest
from ...host.cores import core_count
from ...kernels.kruskal import component_labels
from ...kernels.threads import Threads
from ..coordinates import point_coordinates
from ..devices.point_products import NO_POSITION
from ..kernels.boruvka_steps import (
    LAST_KEY,
    PointEdges,
    edge_keys,
    find_first_edges,
    join,
    keep_leaving,
    name_components,
)
from ..kernels.changed_points import (
    EdgesByKey,
    EdgeSources,
    GroupedPoints,
    NearPoints,
    contract_certain,
    drop_closed_edges,
    find_group_vertices,
    link_trees,
    list_edges_at,
    list_uncertain_points,
    root_forest,
    spread_to_leaves,
    strip_leaves,
    write_next_forest,
)
from ..kernels.changed_products import PartVertices
from ..kernels.kd_tree import LEAF
from ..kernels.neighbour_lists import NeighbourLists, insert_listed, remove_listed
from ..kernels.norms import LARGEST
from ..metrics import METRICS, Norm, from_norm, prepared
from ..point_forest import PointForest
from ..scale import extremes, scale_for
from ..search.build_tree import build_tree
from ..search.equal_points import Coordinates
from ..search.point_search import TreeSearch
from ..search.remote_points import RemotePoints
from ..search.search_choice import choose_search, make_local, make_search
from ..search_reporter import SearchReporter
from .device_part import DevicePart, DeviceRefusalError
from .kept_lists import (
    NEAR_SAMPLE,
    listed_between,
    near_distance,
    rearranged_lists,
    write_lists,
)
from .point_parts import PointPart, TreePart
from .product_part import ProductPart

# Fewer points are searched anew in a few milliseconds.
LEAST_POINTS = 512
# After a batch of more than this fraction of the points (1 / 256) a fresh search takes
# less time on two cores; of points in products, after more than 1 / 32.
LARGEST_SHARE, LARGEST_SHARE_OF_PRODUCTS = 256, 32
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
COMMON, SAMPLED = 0.999, 1 << 13
# Nodes of a tree that a walk visits, on average, before a fresh search is faster.
MOST_NODES = 1 << 13
TOGETHER = 1 << 9  # points whose coordinates a thread copies at once


def pays(batch: int, points: int, search: str) -> bool:
    """Return whether to follow a batch takes less time than a fresh search.

    `search` is the `PointForest.search` of the points before the batch.
    """
    share = LARGEST_SHARE
    if search == "product":
        share = min(share, LARGEST_SHARE_OF_PRODUCTS)
    return points > LEAST_POINTS and share * batch <= points


class Reached(NamedTuple):
    """Pairs of a changed point, which is removed or new, and a position near to it."""

    point: np.ndarray  # its index among the changed points
    position: np.ndarray  # uint32
    distance: np.ndarray  # float64
    reach: np.ndarray  # float64, by position: all pairs up to this distance are here


@dataclass(frozen=True)
class FollowedForest:
    """The forest of the points of one version, and what their next change needs.

    Its points are in trees or, in many dimensions, in products; see `PointPart`. A
    position is an index in the order of the parts' positions, one part after the other.
    Distances are of the metric's norm.
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
    lists: NeighbourLists | None  # in products; a tree finds neighbours in less time
    # uint32, by position: the other end of its edge towards the root of the forest; its
    # own position for the root and for removed points
    up: np.ndarray
    up_weight: np.ndarray  # float64: the weight of that edge
    point_forest: PointForest  # by row, with the distances of the metric

    @property
    def on_device(self) -> bool:
        """Whether a device has the points."""
        return any(isinstance(part, DevicePart) for part in self.parts)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays beside the forest; versions may share some."""
        arrays = [self.row, self.position, self.radius, self.up, self.up_weight]
        arrays += self.lists or ()
        for part in self.parts:
            arrays += part.arrays
        return sum(array.nbytes for array in arrays)

    @property
    def neighbours(self) -> np.ndarray | None:
        """The `PointForest.neighbours` of the version."""
        if self.lists is None:
            return None
        listed = self.lists.position[self.position]
        is_missing = listed == NO_POSITION
        rows = self.row[np.where(is_missing, 0, listed)]
        rows[is_missing] = NO_POSITION
        return rows

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
        norm, lists = METRICS[metric].norm, None
        part: PointPart
        if choice.name in ("tree", "device-tree"):
            tree = build_tree(coordinates.all(), norm, team)
            part, radius = TreePart(tree, metric), point_forest.radius
            if radius is None:
                others = RemotePoints(len(points))
                radius = TreeSearch(tree, others, team).neighbours(order, order).cores
            else:
                radius = radius[part.point]
        elif choice.name == "product":
            part = ProductPart.first(points, metric, team)
            lists = part.lists(order, point_forest.neighbours, team)
            radius = lists.distance[:, order - 1].copy()
        else:
            try:
                part = DevicePart.first(coordinates, metric, listed + 1)
            except DeviceRefusalError:
                return None
            radius = point_forest.radius
            if radius is None:
                local = make_local(coordinates, norm, choice, team, SearchReporter())
                radius = make_search(local, team).neighbours(order, order).cores
            else:
                radius = radius[part.point]
        position = np.empty(len(points), np.uint32)
        position[part.point] = np.arange(len(points), dtype=np.uint32)
        forest = point_forest.forest
        weight = forest.weight
        if not METRICS[metric].is_norm:
            weight = _distances(coordinates.of, forest.src, forest.dst, norm, team)
            if min_samples:
                cores = radius[position]
                larger = np.maximum(cores[forest.src], cores[forest.dst])
                weight = np.maximum(weight, larger)
        up, up_weight = np.empty(len(points), np.uint32), np.empty(len(points))
        root_forest(position[forest.src], position[forest.dst], weight, up, up_weight)
        return cls(
            metric,
            min_samples,
            threads,
            (part,),
            part.point,
            position,
            radius,
            lists,
            up,
            up_weight,
            point_forest,
        )

    def changed(
        self, old: np.ndarray, removed: np.ndarray, points: np.ndarray, new: int
    ) -> "FollowedForest | None":
        """Return the forest after a batch; None if a fresh search is faster.

        `old` has the points before the batch and `removed` the rows to remove; `points`
        has those after it, of which the last `new` are new.
        """
        try:
            return self._changed(old, removed, points, new)
        except DeviceRefusalError:
            return None

    def _changed(
        self, old: np.ndarray, removed: np.ndarray, points: np.ndarray, new: int
    ) -> "FollowedForest | None":
        """See `changed`; raises DeviceRefusalError if a device cannot follow."""
        total = len(points)
        if total <= max(LEAST_POINTS, self.min_samples + 1):
            return None
        inserted = self._prepared(points[total - new :])
        if scale_for(METRICS[self.metric].norm, *extremes(inserted)).factor != 1:
            return None
        is_gone = np.zeros(len(self.radius), np.bool_)
        is_gone[self.position[removed]] = True
        is_affected, lists = np.zeros_like(is_gone), None
        if self.lists is None:
            changed = np.concatenate([self._prepared(old[removed]), inserted])
            reached = self._reached(changed, self.radius)
        else:
            lists = NeighbourLists(*(column.copy() for column in self.lists))
            remove_listed(lists, is_gone, self.radius, is_affected)
            reached = self._near_new(old, inserted, lists.complete)
        if reached is None:
            return None
        position = reached.position
        affects = reached.distance < self.radius[position]
        if lists is None:
            affects |= reached.point < len(removed)
        is_affected[position[affects]] = True
        is_affected[is_gone] = False
        change = _Change(self, removed, points, inserted, is_affected, lists, reached)
        return change.forest()

    def _near_new(
        self, old: np.ndarray, inserted: np.ndarray, complete: np.ndarray
    ) -> Reached | None:
        """Return the positions that list new points, and more that are near to these.

        None if there are many. `complete` is that of the lists.
        """
        near = np.flatnonzero(self.radius[:NEAR_SAMPLE] >= 0)
        if len(near) and len(inserted):
            sample = self._prepared(old[self.row[near]])
            further = near_distance(inserted, sample, len(self.position))
            reach = np.where(complete < 0, complete, np.maximum(complete, further))
            reached = self._reached(inserted, reach)
            if reached is not None:
                return reached
        return self._reached(inserted, complete.copy())

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

    def _reached(self, points: np.ndarray, reach: np.ndarray) -> Reached | None:
        """Return the pairs of points and positions within the reach of these.

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
        return Reached(query, position, distance, reach)

    def _nearest(
        self, queries: np.ndarray, starts: np.ndarray, k: int, step: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and positions of the k nearest points, ascending.

        Queries from each index in `starts` to the next are near to each other. With
        `step` -1 the last part, which has new points, is searched first, else 1.
        """
        team = Threads(self.threads or core_count())
        bound = np.full(len(queries), LARGEST)
        distances = positions = np.empty((len(queries), 0))
        for part, at in self._parts()[::step]:
            distance, position = part.nearest(queries, starts, bound, k, team)
            position += np.uint32(at.start)
            if not distances.size:
                distances, positions = distance, position
            else:
                nearer = np.flatnonzero(distance[:, 0] < bound)
                both = np.hstack([distances[nearer], distance[nearer]])
                chosen = np.argsort(both, axis=1, kind="stable")[:, :k]
                distances[nearer] = np.take_along_axis(both, chosen, axis=1)
                both = np.hstack([positions[nearer], position[nearer]])
                positions[nearer] = np.take_along_axis(both, chosen, axis=1)
            bound = distances[:, -1]
        return METRICS[self.metric].norm.distance(distances), positions


class _Change:
    """One batch on its way to the next forest."""

    def __init__(
        self,
        before: FollowedForest,
        removed: np.ndarray,
        points: np.ndarray,
        inserted: np.ndarray,
        is_affected: np.ndarray,
        lists: NeighbourLists | None,
        reached: Reached,
    ) -> None:
        self.before, self.points = before, points
        self.threads = Threads(before.threads or core_count())
        self.dimensions = inserted.shape[1]
        self.norm = METRICS[before.metric].norm
        self.stays = np.ones(len(before.position), np.bool_)
        self.stays[removed] = False
        # By old row: the row after the batch
        self.new_row = np.cumsum(self.stays, dtype=np.uint32)
        self.new_row -= np.uint32(1)
        self.is_gone = np.zeros(len(before.up), np.bool_)
        self.is_gone[before.position[removed]] = True
        lost, weighed = self._edges_at(is_affected)
        # By position, in whose order near queries search together
        affected = np.flatnonzero(is_affected)
        self.after, moved, rearranged = self._rearranged(inserted, lost)
        after = self.after
        first_new = len(points) - len(inserted)
        self.new = np.sort(after.position[first_new:])
        self.affected = moved(affected)
        # The positions whose neighbours change, with the new ones last
        self.targets = np.append(self.affected, self.new)
        order = max(before.min_samples, 1)
        sizes = np.concatenate([part.group_sizes for part in after.parts])
        self.group_begin = np.append(0, np.cumsum(sizes))
        self.old_radius = after.radius[self.targets]  # NaN for new points
        if lists is None:
            distance, position = self._nearest(min(order + 1 + FURTHER, len(points)))
            after.radius[self.targets] = distance[:, order]
            self.listed_distance, self.listed = distance, position
            # By position: a target lists all nearer points
            self.complete = np.zeros(len(after.row))
            self.complete[self.targets] = distance[:, -1]
        else:
            lists = rearranged_lists(lists, moved, rearranged)
            new = after.position[first_new + reached.point]
            near = moved(reached.position)
            insert_listed(lists, near, new, reached.distance)
            short = self.targets[lists.position[self.targets, order - 1] == NO_POSITION]
            k = lists.distance.shape[1] + 1
            alone = np.arange(len(short) + 1)
            nearest = after._nearest(self._coordinates(short), alone, k, 1)
            write_lists(lists, short, *nearest)
            after.radius[self.targets] = lists.distance[self.targets, order - 1]
            self.listed_distance = lists.distance[self.targets]
            self.listed = lists.position[self.targets]
            self.complete = lists.complete
            reach = rearranged(reached.reach, LARGEST)
            reach[self.new] = lists.complete[self.new]
            self.near = Reached(new, near, reached.distance, reach)
            after = self.after = replace(after, lists=lists)
        self.cores = after.radius if before.min_samples else np.zeros(len(after.radius))
        self.lost = PointEdges.concatenate([
            self._lost_edges(lost), self._weighed_again(weighed, moved(weighed))
        ])  # fmt: skip

    def _coordinates(self, positions: np.ndarray) -> np.ndarray:
        coordinates = np.empty((len(positions), self.dimensions))

        def fill(begin: int, end: int) -> None:
            coordinates[begin:end] = self._coordinates_of(positions[begin:end])

        self.threads.map(fill, _parts(len(positions)))
        return coordinates

    def _coordinates_of(self, positions: np.ndarray) -> np.ndarray:
        """Return the coordinates of few positions."""
        return self.before._prepared(self.points[self.after.row[positions]])

    def _nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and positions of the k points nearest to each target."""
        group = np.searchsorted(self.group_begin, self.affected, "right")
        alone = np.arange(len(self.new) + 1)
        found = [
            self.after._nearest(self._coordinates(positions), starts, k, step)
            for positions, starts, step in (
                (self.affected, _starts(group), 1),
                (self.new, alone, -1),
            )
        ]
        distance, position = map(np.concatenate, zip(*found, strict=True))
        return distance, position

    def _edges_at(self, is_affected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the old positions whose upward edges are lost, and may be raised."""
        before = self.before
        touched = self.is_gone | is_affected if before.min_samples else self.is_gone
        vertices = np.empty(len(touched) + 1, np.uint32)
        vertices = vertices[: list_edges_at(before.up, touched, vertices)].copy()
        gone = self.is_gone[vertices] | self.is_gone[before.up[vertices]]
        return vertices[gone], vertices[~gone]

    def _rearranged(
        self, inserted: np.ndarray, lost: np.ndarray
    ) -> tuple[
        FollowedForest,
        Callable[[np.ndarray], np.ndarray],
        Callable[[np.ndarray, np.ndarray | float], np.ndarray],
    ]:
        """Return parts of the points after the batch; the edges are those before it.

        The radius of a new point is NaN. `lost` are positions whose upward edges go.
        Second, a function from old positions to new ones; third, one from a column by
        old position, and its values of new points, to that by new position.
        """
        before = self.before
        radius, up = before.radius.copy(), before.up.copy()
        radius[self.is_gone] = -1
        up[lost] = lost
        gone = np.flatnonzero(self.is_gone)
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
        for part, at in parts[:first]:
            inside = gone[(gone >= at.start) & (gone < at.stop)] - at.start
            changed.append(part.moved(self.points, row[at], inside))
        begin = parts[first][1].start if first < len(parts) else len(radius)
        alive = begin + np.flatnonzero(radius[begin:] >= 0)
        # By old position from `begin` on: the new one
        later_position = np.zeros(len(radius) - begin, np.uint32)
        kept = len(self.points) - len(inserted)
        rows = np.append(row[alive], np.arange(kept, len(self.points), dtype=np.uint32))
        order = np.arange(len(rows))
        if len(rows):
            team = Threads(before.threads or core_count())
            last = before.parts[0].of(self.points, rows, team)
            changed.append(last)
            order = last.point
        positions = np.empty(len(rows), np.uint32)
        positions[order] = np.arange(begin, begin + len(rows), dtype=np.uint32)
        later_position[alive - begin] = positions[: len(alive)]

        def moved(old: np.ndarray) -> np.ndarray:
            """Return the new positions of old ones."""
            new = old.astype(np.uint32)
            late = np.flatnonzero(new >= begin)
            new[late] = later_position[new[late] - begin]
            return new

        def rearranged(column: np.ndarray, new: np.ndarray | float) -> np.ndarray:
            """Return a column by old position by new one."""
            later = np.empty((len(rows), *column.shape[1:]), column.dtype)
            later[: len(alive)], later[len(alive) :] = column[alive], new
            return np.concatenate([column[:begin], later[order]])

        after = replace(
            before,
            parts=tuple(changed),
            row=np.append(row[:begin], rows[order]),
            position=np.append(
                moved(before.position[self.stays]), positions[len(alive) :]
            ),
            radius=rearranged(radius, np.nan),
            up=rearranged(moved(up), positions[len(alive) :]),
            up_weight=rearranged(before.up_weight, 0.0),
        )
        return after, moved, rearranged

    def forest(self) -> FollowedForest | None:
        """Return the next forest; None if a fresh search is faster."""
        after, lost = self.after, self.lost
        incomplete = self._incomplete()
        # All edges of a searching point to a position are listed up to this weight
        reach = np.full(len(after.row), np.inf)
        if all(part.lists_open_edges for part in after.parts):
            searching = self.targets[:0]
            found = self._open_edges(incomplete)
            if found is None:
                return None
            listed = [found]
        else:
            searching = self.targets[incomplete]
            listed = [self._listed_edges()]
            near = self._near_edges(searching) if len(searching) else None
            if near is not None:
                listed.append(near[0])
                reach = near[1]
            elif len(searching):
                reach[:] = -np.inf
        further = PointEdges.concatenate(listed)
        in_forest = (after.up[further.a] == further.b) | (
            after.up[further.b] == further.a
        )
        further = further.take(~in_forest)
        flagged = np.zeros(len(after.row), np.bool_)
        flagged[lost.a] = flagged[lost.b] = flagged[searching] = True
        lower_bound = self.cores.copy()
        lower_bound[after.radius < 0] = np.inf
        core = _Core(after, flagged, reach, further)
        vertex, count = core.contract(flagged, lower_bound)
        # Edges that a target does not list are no shorter than its longest listed one.
        # Only now: `contract` passes lower bounds on to other points.
        np.maximum(lower_bound, self.complete, out=lower_bound)
        lower_bound[self.targets[incomplete]] = np.inf
        chosen = PointEdges.empty(0)
        if count > 1:
            ends = lost._replace(a=vertex[lost.a], b=vertex[lost.b])
            known = core.between_components(vertex)
            if after.lists is not None:
                further = self._edges(*listed_between(after.lists, vertex))
                further = further._replace(a=vertex[further.a], b=vertex[further.b])
                known = PointEdges.concatenate([known, further])
            rounds = _Rounds(self, vertex, lower_bound, count, searching, ends, reach)
            chosen = rounds.finish(known)
        dropped, new = core.replaced(chosen)
        return self._next(dropped, new)

    def _next(self, dropped: np.ndarray, new: PointEdges) -> FollowedForest:
        """Return the forest without some positions' upward edges, and with new ones.

        The ends of new edges are rows.
        """
        after, before = self.after, self.before
        gone = np.append(self.gone_key, self._old_keys(dropped))
        after.up[dropped] = dropped
        a, b = after.position[new.a], after.position[new.b]
        link_trees(after.up, after.up_weight, a, b, new.weight)
        new = new.take(np.argsort(new.key))
        new = new._replace(weight=from_norm(new.weight, after.metric))
        old = before.point_forest.forest
        edges = EdgesByKey(
            np.empty(len(self.points) - 1, np.int64),
            np.empty(len(self.points) - 1, np.int64),
            np.empty(len(self.points) - 1),
        )
        write_next_forest(
            EdgesByKey(old.src, old.dst, old.weight),
            self.new_row,
            np.sort(gone),
            self.changed_edges,
            new,
            edges,
        )
        forest = Forest(*edges, np.zeros(len(self.points), np.int64))
        point_forest = PointForest(
            forest, len(edges.weight), True, after.parts[0].search
        )
        return replace(after, point_forest=point_forest)

    def _old_keys(self, positions: np.ndarray) -> np.ndarray:
        """Return the keys of upward edges, with the rows before the batch."""
        after = self.after
        old_row = np.flatnonzero(self.stays).astype(np.uint32)
        ends = after.row[positions], after.row[after.up[positions]]
        return edge_keys(*(old_row[end] for end in ends))

    def _incomplete(self) -> np.ndarray:
        """Return the indices of targets whose lists lack edges that are new or lighter.

        These are new points, and others with more new neighbours than a list has.
        """
        new = np.arange(len(self.affected), len(self.targets))
        if not self.before.min_samples:
            return new
        old_radius = self.old_radius[: len(self.affected)]
        short = self.complete[self.affected] < old_radius
        return np.append(np.flatnonzero(short), new)

    def _open_edges(self, incomplete: np.ndarray) -> PointEdges | None:
        """Return the edges of the targets' lists that may be in the forest.

        Walks find the edges of incomplete lists; None if these visit too much.
        """
        after, team = self.after, Threads(self.after.threads or core_count())
        complete = np.ones(len(self.targets), np.bool_)
        complete[incomplete] = False
        rest = np.flatnonzero(complete)

        def listed(begin: int, end: int) -> PointEdges:
            near = self._near_points(rest[begin:end])
            is_open = np.empty(near.weight.shape, np.bool_)
            drop_closed_edges(int(self.norm), near, 0, end - begin, is_open)
            index, column = np.nonzero(is_open)
            target = rest[begin + index]
            return self._edges(
                self.targets[target],
                self.listed[target, column],
                self.listed_distance[target, column],
            )

        edges = team.map(listed, team.ranges(len(rest), LEAF))
        near = self._near_points(incomplete)
        for part, at in after._parts():
            found = part.list_open_edges(
                self.cores[at], after.row[at], near, MOST_NODES, team
            )
            if found is None:
                return None
            index, position, distance = found
            target = self.targets[incomplete[index]]
            edges.append(self._edges(target, position + np.uint32(at.start), distance))
        return PointEdges.concatenate(edges)

    def _near_points(self, index: np.ndarray) -> NearPoints:
        """Return some targets with their listed neighbours."""
        after, target, listed = self.after, self.targets[index], self.listed[index]
        points, near = self._coordinates(target), self._coordinates(listed.ravel())
        row, near_row = after.row[target], after.row[listed]
        core, near_core = self.cores[target], self.cores[listed]
        weight = np.maximum(self.listed_distance[index], near_core)
        np.maximum(weight, core[:, None], out=weight)
        weight[near_row == row[:, None]] = np.inf
        within = self.old_radius[index]
        return NearPoints(
            points,
            row,
            core,
            np.where(np.isnan(within), np.inf, within),  # a new point lists all edges
            near.reshape(*listed.shape, points.shape[1]),
            near_row,
            near_core,
            weight,
        )

    def _weighed_again(self, old: np.ndarray, positions: np.ndarray) -> PointEdges:
        """Weigh the upward edges of positions, and return those that are raised.

        These are between positions, with the old weight. `old` has the positions before
        the batch.
        """
        before, after = self.before, self.after
        key = edge_keys(before.row[old], before.row[before.up[old]])
        other, was = after.up[positions], after.up_weight[positions]
        distance = _distances(
            self._coordinates_of, positions, other, self.norm, self.threads
        )
        now = np.maximum(distance, np.maximum(self.cores[positions], self.cores[other]))
        after.up_weight[positions] = now
        order = np.argsort(key)
        weight = from_norm(now[order], after.metric)
        self.changed_edges = PointEdges(
            positions[order], other[order], weight, key[order]
        )
        raised = np.flatnonzero(now > was)
        a, b = positions[raised], other[raised]
        return PointEdges(a, b, was[raised], edge_keys(after.row[a], after.row[b]))

    def _lost_edges(self, lost: np.ndarray) -> PointEdges:
        """Return edges between the neighbours of removed points, by position.

        `lost` are old positions of which the upward edges go. Removed points that old
        edges join are lost together: edges between their neighbours stand for them,
        with the least weight of all.
        """
        before, weight = self.before, self.before.up_weight[lost]
        src, dst = before.row[lost], before.row[before.up[lost]]
        self.gone_key = edge_keys(src, dst)
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
        position = self.after.position
        return PointEdges(
            position[row],
            position[centre[group]],
            least[group],
            edge_keys(row, centre[group]),
        )

    def _edges(self, a: np.ndarray, b: np.ndarray, distance: np.ndarray) -> PointEdges:
        """Return the edges between different positions, of known distances."""
        differ = a != b
        a, b, distance = a[differ], b[differ], distance[differ]
        cores = np.maximum(self.cores[a], self.cores[b])
        key = edge_keys(self.after.row[a], self.after.row[b])
        return PointEdges(a, b, np.maximum(distance, cores), key)

    def _listed_edges(self) -> PointEdges:
        """Return the edges of the targets to their listed neighbours."""
        near = self.listed_distance < LARGEST
        target = np.repeat(self.targets, near.sum(axis=1))
        return self._edges(target, self.listed[near], self.listed_distance[near])

    def _near_edges(
        self, searching: np.ndarray
    ) -> tuple[PointEdges, np.ndarray] | None:
        """Return edges of searching positions, and from which weight each has others.

        None if there are many.
        """
        after = self.after
        if after.lists is not None:
            new, near, distance, reach = self.near
            others = searching[~np.isin(searching, self.new)]
            reached = after._reached(self._coordinates(others), reach)
            if reached is None:
                return None
            edges = PointEdges.concatenate([
                self._edges(new, near, distance),
                self._edges(others[reached.point], reached.position, reached.distance),
            ])  # fmt: skip
            return edges, reach
        # Few outliers would let walks visit far nodes
        sample = after.radius[:: max(1, len(after.radius) // SAMPLED)]
        last = int(COMMON * len(sample))
        most = np.partition(sample, last)[last]
        values = self._coordinates(searching)
        reach = np.minimum(after.radius, most) * LISTED_BALL ** (1 / values.shape[1])
        reached = after._reached(values, reach)
        if reached is None:
            return None
        point = searching[reached.point]
        return self._edges(point, reached.position, reached.distance), reach


class _Core:
    """The forest without leaves that join certainly, with further edges between it."""

    def __init__(
        self,
        after: FollowedForest,
        flagged: np.ndarray,
        reach: np.ndarray,
        further: PointEdges,
    ) -> None:
        """Strip the leaves; no edge up to the `reach` of a position is unlisted."""
        up, up_weight, size = after.up, after.up_weight, len(after.up)
        self.after, self.further = after, further
        stays, least = flagged.copy(), reach.copy()
        stays[further.a] = stays[further.b] = True
        inside, stripped = after.radius >= 0, np.empty(size, np.uint32)
        count = strip_leaves(up, up_weight, stays, inside, least, stripped)
        self.stripped, self.inside = stripped[:count], np.flatnonzero(inside)
        name = np.empty(size, np.uint32)
        name[self.inside] = np.arange(len(self.inside), dtype=np.uint32)
        self.least = least[self.inside]
        lower = self.inside[up[self.inside] != self.inside].astype(np.uint32)
        self.lower = lower
        upper = up[lower]
        tree = PointEdges(
            name[lower],
            name[upper],
            up_weight[lower],
            edge_keys(after.row[lower], after.row[upper]),
        )
        named = further._replace(a=name[further.a], b=name[further.b])
        self.edges = PointEdges.concatenate([tree, named])

    def contract(
        self, flagged: np.ndarray, lower_bound: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Return the component of each position, and the number of components.

        See `contract_certain`; lower bounds are raised.
        """
        after, inside = self.after, self.inside
        bound, component = lower_bound[inside], np.empty(len(inside), np.uint32)
        self.kept = np.zeros(len(self.edges.key), np.bool_)
        count = contract_certain(
            self.edges, flagged[inside], self.least, component, bound, self.kept
        )
        lower_bound[inside] = bound
        vertex = np.zeros(len(flagged), np.uint32)  # also that of removed points
        vertex[inside] = component
        spread_to_leaves(
            after.up, after.up_weight, self.stripped, flagged, vertex, lower_bound
        )
        return vertex, count

    def between_components(self, vertex: np.ndarray) -> PointEdges:
        """Return the edges between different components, whose ends are these."""
        component = vertex[self.inside]
        edges = self.edges.take(~self.kept)
        a, b = component[edges.a], component[edges.b]
        return edges._replace(a=a, b=b).take(a != b)

    def replaced(self, chosen: PointEdges) -> tuple[np.ndarray, PointEdges]:
        """Return the positions whose upward edges go, and the new edges, by row.

        `chosen` are edges of the forest beside those that `contract` kept.
        """
        after, old = self.after, len(self.lower)
        key, kept = self.edges.key[:old], self.kept[:old]
        rest = np.flatnonzero(~kept)
        rest = rest[np.argsort(key[rest])]
        index = np.searchsorted(key[rest], chosen.key)
        in_forest = np.append(key[rest], LAST_KEY)[index] == chosen.key
        kept[rest[index[in_forest]]] = True
        further = self.further.take(self.kept[old:])
        further = further._replace(a=after.row[further.a], b=after.row[further.b])
        new = chosen.take(~in_forest)
        new = new._replace(
            a=(new.key >> np.uint64(32)).astype(np.uint32),
            b=(new.key & np.uint64(0xFFFFFFFF)).astype(np.uint32),
        )
        return self.lower[~kept], PointEdges.concatenate([further, new])


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
        reach: np.ndarray,
    ) -> None:
        self.change, self.after, self.lost = change, change.after, lost
        groups = len(change.group_begin) - 1
        self.points = GroupedPoints(
            change.group_begin,
            vertex,
            np.empty(groups, np.uint32),
            lower_bound,
            np.empty(groups),
            np.full(count, -np.inf),
        )
        find_group_vertices(self.points)
        self.parent = np.arange(count, dtype=np.uint32)
        self.of_vertex = np.empty(count, np.uint32)
        positions = np.sort(searching)
        self.sources = self._sources(positions)
        # All edges of each position, and of each source, are known that are lighter
        self.reach, self.complete = reach, change.complete[positions]
        group = np.searchsorted(self.points.begin, positions, "right")
        self.starts = _starts(group)

    def _sources(self, positions: np.ndarray) -> EdgeSources:
        change = self.change
        return EdgeSources(
            change._coordinates(positions),
            self.after.row[positions],
            change.cores[positions],
            self.points.vertex[positions],
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
            if len(self.sources.point):
                self._improve(self.sources, self.complete, self.starts, first, True)
            bound = self._lower_bounds(count)
            queries, groups = self._uncertain(
                np.where(bound > first.weight, -np.inf, first.weight)
            )
            np.minimum(bound, first.weight, out=bound)
            of_vertex = self.points.of_vertex
            np.maximum(of_vertex, bound[self.of_vertex], out=of_vertex)
            component = self.of_vertex[self.points.vertex[queries]]
            searches = np.bincount(component, minlength=count)
            taking_part = _with_few_searches(searches, self.after.parts[0].cheap)
            search = taking_part[component]
            if search.any():
                queries, component = queries[search], component[search]
                sources, starts = self._sources(queries), _starts(groups[search])
                lower_bound = self.points.lower_bound
                self._improve(sources, lower_bound[queries], starts, first, False)
                searched = np.maximum(lower_bound[queries], first.weight[component])
                lower_bound[queries] = searched
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

    def _uncertain(self, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions that need a search within bounds, and their groups."""
        queries, groups = np.empty((2, len(self.points.vertex) + 1), np.uint32)
        count = list_uncertain_points(
            self.points, self.of_vertex, bound, queries, groups
        )
        return queries[:count], groups[:count]

    def _improve(
        self,
        sources: EdgeSources,
        complete: np.ndarray,
        starts: np.ndarray,
        first: PointEdges,
        both: bool,
    ) -> None:
        """Search first edges from sources, within the bounds of one or both ends."""
        component, end = self.of_vertex[sources.vertex], 0
        lower_bound, of_vertex = self.points.lower_bound, self.points.of_vertex
        if both:  # edges of new points have no other bounds
            lower_bound = self.change.cores
            if self.after.lists is not None:
                lower_bound = np.maximum(lower_bound, self.reach)
            of_vertex = np.full(len(of_vertex), -np.inf)
        team = Threads(self.after.threads or core_count())
        for part, at in self.after._parts():
            begin, end = end, end + len(part.group_sizes)
            vertices = PartVertices(
                self.after.row[at],
                self.points.vertex[at],
                self.points.of_group[begin:end],
                self.of_vertex,
                self.change.cores[at],
                lower_bound[at],
                of_vertex,
            )
            part.improve_first_edges(
                vertices, sources, complete, starts, component, first, both, team
            )


def _starts(group: np.ndarray) -> np.ndarray:
    """Return where sources of another group begin, and their number."""
    return np.append(
        np.flatnonzero(np.append(True, group[1:] != group[:-1])), len(group)
    )


def _with_few_searches(counts: np.ndarray, cheap: int) -> np.ndarray:
    """Return for each component whether it joins another one in this round.

    Those with the most of more than `cheap` searches wait: others may join them.
    """
    order = np.argsort(counts, kind="stable")
    few = np.cumsum(counts[order]) <= cheap
    few[0] = True
    taking_part = np.empty(len(counts), np.bool_)
    taking_part[order] = few
    return taking_part


def _distances(
    coordinates: Coordinates,
    a: np.ndarray,
    b: np.ndarray,
    norm: Norm,
    threads: Threads,
) -> np.ndarray:
    """Return the distances of pairs of points, with the bits of searches."""
    reduced = np.empty(len(a))

    def fill(begin: int, end: int) -> None:
        gaps = coordinates(a[begin:end]) - coordinates(b[begin:end])
        reduced[begin:end] = norm.total(np.abs(gaps, out=gaps))

    threads.map(fill, _parts(len(a)))
    return norm.distance(reduced)


def _parts(count: int) -> list[tuple[int, int]]:
    begins = range(0, count, TOGETHER)
    return [(begin, min(begin + TOGETHER, count)) for begin in begins]
