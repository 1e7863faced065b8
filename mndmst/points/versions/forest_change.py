"""The exact forest of points that change, from the forest before the change.

Let the batch remove points, which raises core distances, and then insert points, which
lowers them. Every edge whose ends stay and whose weight is not raised, and which is not
in the old forest, still closes a cycle with old edges that it follows, unless one of
these is lost or raised. So two kinds of points need a search: new ones, whose edges
were never compared; and those near an edge that is lost or raised, where an edge that
was never needed may take its place.

- If no lost edge leaves a component of present points, its first edge is an old edge or
  an edge of a new point. Most such components are leaves of the old forest, which is
  rooted: `strip_leaves` joins them in one pass, and `contract_certain` the few others.
- If a lost edge leaves a component, each of its points has two lower bounds. Earlier,
  the point was in a component that no lost edge left, and whose first edge precedes all
  its other outgoing edges. And an edge out of the present component follows the old
  path to a lost edge that leaves the component, too (`bound_unlisted_edges`). In
  Borůvka rounds a point searches only if both bounds are within the first edge of its
  component. Where many would, and lists of neighbours are kept, edges along the lists
  are known first: no other edge is shorter than the lists of its ends reach.
- Where trees search, one walk lists the edges of a new point that may be in the
  forest. The last edge of a cycle of three is not: so near neighbours exclude all
  points that lie behind them. Where products search, new points search in each round
  for edges to all components within the bounds of both.

Old points whose core distance falls have lighter edges to their nearest neighbours
alone, which are listed.
"""

from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...api.forest import Forest, one_tree_labels
from ...kernels.kruskal import component_labels
from ...kernels.threads import each_range
from ..devices.point_products import NO_POSITION
from ..kernels.boruvka_steps import LAST_KEY, PointEdges, edge_keys
from ..kernels.kd_tree import LEAF
from ..kernels.neighbour_lists import NeighbourLists, insert_listed
from ..kernels.norms import LARGEST
from ..kernels.open_edges import NearPoints, drop_closed_edges, weigh_listed
from ..kernels.rooted_forest import (
    EdgesByKey,
    PositionColumns,
    copy_positions,
    link_trees,
    list_edges_at,
    write_next_forest,
)
from ..metrics import METRICS, from_norm
from ..point_forest import PointForest
from ..scale import extremes, scale_for
from .change_rounds import ChangeRounds, SearchingPoints, old_edges
from .device_part import DeviceRefusalError
from .followed_forest import LEAST_POINTS, FollowedForest, Reached
from .forest_core import ForestCore
from .kept_lists import (
    NEAR_SAMPLE,
    near_distance,
    present_lists,
    write_lists,
)
from .next_points import NextPoints
from .point_parts import TreePart
from .positioned_points import PositionedPoints, crossing_edges, group_starts
from .rearrangement import Rearrangement

# After a batch of more than this fraction of the points (1 / 256) a fresh search takes
# less time on two cores; of points in products, after more than 1 / 32, and of points
# on a device, after more than 1 / 64.
LARGEST_SHARE = 256
LARGEST_SHARES = {"product": 32, "device": 64}
# A part has at least this many times the points of the next one.
PART_RATIO = 4
# Expected points, in times of the core distance's, of a ball in which a new point lists
# all its edges before the rounds.
LISTED_BALL = 16.0
# This fraction of the points lists all edges in the ball; measured on a sample.
COMMON, SAMPLED = 0.999, 1 << 13
# Neighbours that trees list beyond those of the core distance. A walk lists the edges
# of a point that has more new neighbours.
FURTHER = 2
LOOKED_AT = 16  # edges among which one of several that follow each other stays
# Nodes of a tree that a walk visits, on average, before a fresh search is faster.
MOST_NODES = 1 << 13


def pays(batch: int, points: int, search: str) -> bool:
    """Return whether to follow a batch takes less time than a fresh search.

    `search` is the `PointForest.search` of the points before the batch.
    """
    share = min(LARGEST_SHARE, LARGEST_SHARES.get(search, LARGEST_SHARE))
    return points > LEAST_POINTS and share * batch <= points


def next_forest(before: FollowedForest, points: NextPoints) -> FollowedForest | None:
    """Return the forest after a batch; None if a fresh search is faster."""
    try:
        return _followed(before, points)
    except DeviceRefusalError:
        return None


def _followed(before: FollowedForest, points: NextPoints) -> FollowedForest | None:
    """See `next_forest`; raises DeviceRefusalError if a device cannot follow."""
    if len(points) <= max(LEAST_POINTS, before.min_samples + 1):
        return None
    inserted = before.prepared(points.inserted)
    if scale_for(METRICS[before.metric].norm, *extremes(inserted)).factor != 1:
        return None
    old, removed = points.old, points.removed
    is_gone = np.zeros(len(before.radius), np.bool_)
    is_gone[before.positions_of(removed, len(old))] = True
    if before.lists is None:
        changed = np.concatenate([before.prepared(old[removed]), inserted])
        reached = before.reached(changed, before.radius)
    else:
        complete = np.where(is_gone, -1.0, before.lists.complete)
        reached = _near_new(before, old, inserted, complete)
    if reached is None:
        return None
    return _ForestChange(before, is_gone, points, inserted, reached).forest()


def _near_new(
    before: FollowedForest,
    old: np.ndarray,
    inserted: np.ndarray,
    complete: np.ndarray,
) -> Reached | None:
    """Return the positions that list new points, and more that are near to these.

    None if there are many. `complete` is that of the lists.
    """
    near = np.flatnonzero(before.radius >= 0)
    near = near[:: max(1, len(near) // NEAR_SAMPLE)]
    pairs = before.parts[0].near
    if pairs and len(near) and len(inserted):
        sample = before.prepared(old[before.row[near]])
        further = near_distance(inserted, sample, len(old), pairs)
        reach = np.where(complete < 0, complete, np.maximum(complete, further))
        reached = before.reached(inserted, reach)
        if reached is not None:
            return reached
    return before.reached(inserted, complete.copy())


class _ForestChange:
    """One batch on its way to the next forest."""

    def __init__(
        self,
        before: FollowedForest,
        is_gone: np.ndarray,
        points: NextPoints,
        inserted: np.ndarray,
        reached: Reached,
    ) -> None:
        """Take a batch; `is_gone` is by position `before`.

        `reached` has pairs with new points and, without lists, with removed ones, which
        come first.
        """
        self.before, self.points, self.is_gone = before, points, is_gone
        self.rows = points.rows
        after, rearrangement = self._rearranged(inserted)
        self.rearrangement, moved = rearrangement, rearrangement.moved
        falls, rises = np.zeros_like(is_gone), np.zeros_like(is_gone)
        nearer = reached.distance < before.radius[reached.position]
        falls[reached.position[nearer]] = True
        lists = before.lists
        if lists is None:
            rises[reached.position[reached.point < len(points.removed)]] = True
        else:
            lists = present_lists(
                lists, is_gone, before.radius, rearrangement, rises, before.team
            )
            after = replace(after, lists=lists)
        self.after = after
        is_affected = (falls | rises) & ~is_gone
        lost, weighed = self._edges_at(is_affected)
        roots = lost[~is_gone[lost] | (lost < rearrangement.first)]
        after.up[moved(roots)] = moved(roots)
        # By position, in whose order near queries search together
        affected = np.flatnonzero(is_affected)
        self.at = PositionedPoints(after, after.cores)
        self.new = np.sort(rearrangement.of_new)
        self.affected = moved(affected)
        # The positions whose neighbours change, with the new ones last
        self.targets = np.append(self.affected, self.new)
        order = max(before.min_samples, 1)
        self.old_radius = after.radius[self.targets]  # NaN for new points
        if lists is None:
            k = order + 1 + FURTHER
            # Core distances fall where no removed point is within the old one
            within = np.full(len(self.targets), np.inf)
            only_falls = np.flatnonzero(~rises[affected])
            within[only_falls] = self.old_radius[only_falls]
            distance, position = self._nearest(within, min(k, len(points)))
            after.radius[self.targets] = distance[:, order]
            self.listed_distance, self.listed = distance, position
            # By target, which lists all nearer points
            self.complete = distance[:, -1].copy()
        else:
            new = rearrangement.of_new[reached.point]
            near = moved(reached.position)
            insert_listed(lists, near, new, reached.distance)
            known = reached.reach[reached.reach >= 0].min(initial=LARGEST)
            pairs = after.parts[0].near
            if pairs and self._list_among_new(lists, inserted, known):
                insert_listed(lists, new, near, reached.distance)
            self._list_again(lists, order)
            after.radius[self.targets] = lists.distance[self.targets, order - 1]
            self.listed_distance = lists.distance[self.targets]
            self.listed = lists.position[self.targets]
            self.complete = lists.complete[self.targets]
            reach = rearrangement.column(reached.reach, LARGEST)
            reach[self.new] = lists.complete[self.new]
            self.near = Reached(new, near, reached.distance, reach)
        self.lost = PointEdges.concatenate([
            self._lost_edges(lost), self._weighed_again(weighed, moved(weighed))
        ])  # fmt: skip

    @cached_property
    def coordinates(self) -> np.ndarray:
        """The coordinates of the targets."""
        return self.at.coordinates(self.targets)

    def _list_among_new(
        self, lists: NeighbourLists, inserted: np.ndarray, known: float
    ) -> bool:
        """List new points among each other's neighbours, up to the distance `known`.

        Their lists are complete up to it, once they have the old points, too. Returns
        False, and leaves them empty, if there are too many pairs.
        """
        part, at = self.after.located_parts[-1]
        reach = np.full(part.size, -1.0)
        reach[self.new - at.start] = known
        most = part.reachable * len(inserted)
        pairs = part.reached(inserted, reach, most, self.after.team)
        if pairs is None:
            return False
        lists.complete[self.new] = known
        of = self.rearrangement.of_new[pairs.query]
        other = pairs.position + np.uint32(at.start)
        differ = of != other
        insert_listed(lists, of[differ], other[differ], pairs.distance[differ])
        return True

    def _list_again(self, lists: NeighbourLists, order: int) -> None:
        """Search the neighbours of new points, and of others with fewer than `order`.

        Full lists need no search.
        """
        needed = np.repeat(
            [order, lists.distance.shape[1]], [len(self.affected), len(self.new)]
        )
        is_missing = lists.position[self.targets, needed - 1] == NO_POSITION
        short = self.targets[is_missing]
        if len(short) == 0:
            return
        alone = np.arange(len(short) + 1)
        k = lists.distance.shape[1] + 1
        within = np.full(len(short), np.inf)
        points = self.at.coordinates(short)
        write_lists(lists, short, *self.after.nearest(points, alone, within, k))

    def _nearest(self, within: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and positions of the k points nearest to each target.

        Points beyond the distance `within` of the target may be missing.
        """
        group = np.searchsorted(self.after.group_begin, self.affected, "right")
        alone = -np.arange(len(self.new))
        starts = group_starts(np.append(group, alone))
        return self.after.nearest(self.coordinates, starts, within, k)

    def _edges_at(self, is_affected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the old positions whose upward edges are lost, and may be raised."""
        before = self.before
        touched = self.is_gone | is_affected if before.min_samples else self.is_gone
        vertices = before.listed(list_edges_at, before.up, touched)
        gone = self.is_gone[vertices] | self.is_gone[before.up[vertices]]
        return vertices[gone], vertices[~gone]

    def _rearranged(self, inserted: np.ndarray) -> tuple[FollowedForest, Rearrangement]:
        """Return parts of the points after the batch, with the edges before it.

        The radius of a new point is NaN, and upward edges to removed points are
        undefined.
        """
        before, team = self.before, self.before.team
        gone = np.flatnonzero(self.is_gone)
        is_out = self.is_gone | (before.radius < 0)
        parts, later = before.located_parts, len(inserted)
        built = len(parts)  # the parts from this one on are built anew
        small = before.parts[0].small
        while built and len(inserted):
            least = max(PART_RATIO * later, small if built > 1 else 0)
            if before.parts[built - 1].size >= least:
                break
            built -= 1
            later += before.parts[built].size
        for i, (part, at) in enumerate(parts):
            if 2 * np.count_nonzero(is_out[at]) > part.size:
                built = min(built, i)
        first = parts[built][1].start if built < len(parts) else len(is_out)
        alive = first + np.flatnonzero(~is_out[first:])
        if before.lists is not None:  # see `ProductPart.first`
            alive = alive[np.argsort(before.radius[alive], kind="stable")]
        size = first + len(alive) + len(inserted)
        after = PositionColumns(
            np.empty(size, np.uint32),
            np.empty(size),
            np.empty(size, np.uint32),
            np.empty(size),
        )
        columns = PositionColumns(
            before.row, before.radius, before.up, before.up_weight
        )
        gone = gone[: np.searchsorted(gone, first)]
        kept = len(self.points) - len(inserted)
        new_rows = np.arange(kept, len(self.points), dtype=np.uint32)
        rows = np.append(self.rows.new(before.row[alive]), new_rows)
        order = np.arange(len(rows))
        if len(rows):
            last, order = before.parts[0].of(self.points, rows, team)
        rearrangement = Rearrangement(first, alive, order, len(is_out))
        team.run(
            copy_positions,
            columns,
            self.rows.numbers,
            rearrangement.later,
            first,
            after,
            *each_range(team.bounds(first)),
        )
        after.row[gone], after.radius[gone] = 0, -1
        after.row[first:] = rows[order]
        after.radius[first:] = rearrangement.end_of(before.radius, np.nan)
        new = rearrangement.of_new
        after.up[first:] = rearrangement.end_of_positions(before.up, new)
        after.up_weight[first:] = rearrangement.end_of(before.up_weight, 0.0)
        changed = []
        for part, at in parts[:built]:
            inside = gone[(gone >= at.start) & (gone < at.stop)] - at.start
            changed.append(part.moved(self.points, after.row[at], inside, team))
        if len(rows):
            changed.append(last)
        return replace(before, parts=tuple(changed), **after._asdict()), rearrangement

    def forest(self) -> FollowedForest | None:
        """Return the next forest; None if a fresh search is faster."""
        after, lost = self.after, self.lost
        incomplete = self._incomplete()
        parts = after.located_parts
        trees = [(part.walked, at) for part, at in parts if part.walked]
        if trees:
            found = self._open_edges(incomplete, trees)
            if found is None:
                return None
            searching, further = SearchingPoints.none(), found
        else:
            searching, near = self._searching(incomplete)
            near = PointEdges.concatenate([self._listed_edges(), near])
            further = self._outside_forest(near)
        flagged = np.concatenate([lost.a, lost.b, searching.position])
        lower_bound = np.where(after.radius < 0, np.inf, self.at.cores)
        core = ForestCore(after, flagged, further, None if trees else searching.reach)
        vertex, count = core.contract(lower_bound)
        # Edges that a target does not list are no shorter than its longest listed one.
        # Only now: `contract` passes lower bounds on to other points.
        bound = np.maximum(lower_bound[self.targets], self.complete)
        lower_bound[self.targets] = bound
        lower_bound[searching.position] = np.inf
        chosen = PointEdges.empty(0)
        if count > 1:
            ends = lost._replace(a=vertex[lost.a], b=vertex[lost.b])
            known, old = core.between_components(vertex)
            paths = old_edges(known.take(slice(old)), ends)
            if after.lists is not None:
                listed = crossing_edges(self.at, after.lists, self.targets, vertex)
                known = PointEdges.concatenate([known, listed])
            rounds = ChangeRounds(self.at, vertex, lower_bound, count, searching, paths)
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
        ends = after.positions_of(np.concatenate([new.a, new.b]), len(self.points))
        link_trees(after.up, after.up_weight, *np.split(ends, 2), new.weight)
        new = new.take(np.argsort(new.key))
        new = new._replace(weight=from_norm(new.weight, after.metric))
        old = before.point_forest.forest
        edges = EdgesByKey(
            np.empty(len(self.points) - 1, np.int64),
            np.empty(len(self.points) - 1, np.int64),
            np.empty(len(self.points) - 1),
        )
        self._write_edges(
            EdgesByKey(old.src, old.dst, old.weight), np.sort(gone), new, edges
        )
        forest = Forest(*edges, one_tree_labels(len(self.points)))
        point_forest = PointForest(
            forest, len(edges.weight), True, after.parts[0].search
        )
        return replace(after, point_forest=point_forest)

    def _write_edges(
        self, before: EdgesByKey, gone: np.ndarray, new: PointEdges, after: EdgesByKey
    ) -> None:
        """Write the edges after the batch; threads do ranges of keys.

        `gone` are the keys of edges that go, ascending, and so are the `new` edges.
        """
        shift, changed, team = self.rows.numbers, self.changed_edges, self.before.team
        # Rows that stay keep their order, and new ones follow the old ones
        low, high = new.key >> np.uint64(32), new.key & np.uint64(0xFFFFFFFF)
        new_after = edge_keys(
            self.rows.old(low.astype(np.uint32)), self.rows.old(high.astype(np.uint32))
        )
        starts = [(0, 0, 0, 0)]
        for begin in team.bounds(len(before.src))[1:-1].tolist():
            # The first edge of a range stays, so new edges precede it or follow it
            for most in (LOOKED_AT, len(gone) + 1):
                ends = slice(begin, begin + most)
                src, dst = (e[ends].astype(np.uint32) for e in (before.src, before.dst))
                key = edge_keys(src, dst)
                goes = np.append(gone, LAST_KEY)[np.searchsorted(gone, key)] == key
                index = np.flatnonzero(~goes)[:1]
                if len(index):
                    break
            if len(index):
                listed = gone, changed.key, new_after
                at = [np.searchsorted(keys, key[index]) for keys in listed]
                starts.append(tuple(np.concatenate([begin + index, *at]).tolist()))
        starts.append((len(before.src), len(gone), len(changed.key), len(new.key)))
        calls = []
        for start, end in pairwise(starts):
            edges, some_gone, some_changed, some_new = map(slice, start, end)
            out = slice(*(at[0] - at[1] + at[3] for at in (start, end)))
            calls.append((
                EdgesByKey(*(column[edges] for column in before)),
                shift,
                gone[some_gone],
                changed.take(some_changed),
                new.take(some_new),
                new_after[some_new],
                EdgesByKey(*(column[out] for column in after)),
            ))  # fmt: skip
        team.map(write_next_forest, calls)

    def _old_keys(self, positions: np.ndarray) -> np.ndarray:
        """Return the keys of upward edges, with the rows before the batch."""
        after = self.after
        ends = after.row[positions], after.row[after.up[positions]]
        return edge_keys(*map(self.rows.old, ends))

    def _incomplete(self) -> np.ndarray:
        """Return the indices of targets whose lists lack edges that are new or lighter.

        These are new points, and others with more new neighbours than a list has.
        """
        new = np.arange(len(self.affected), len(self.targets))
        if not self.before.min_samples:
            return new
        old_radius = self.old_radius[: len(self.affected)]
        short = self.complete[: len(self.affected)] < old_radius
        return np.append(np.flatnonzero(short), new)

    def _open_edges(
        self, incomplete: np.ndarray, trees: list[tuple[TreePart, slice]]
    ) -> PointEdges | None:
        """Return the edges of the targets' lists that may be in the forest.

        Walks find the edges of incomplete lists; None if these visit too much.
        """
        after, team, at = self.after, self.after.team, self.at
        near = self._near_points()
        self.complete = np.minimum(self.complete, near.within)
        self.complete[incomplete] = near.within[incomplete]
        is_open = np.empty((len(self.affected), self.listed.shape[1]), np.bool_)
        ranges = each_range(team.bounds(len(self.affected), LEAF))
        norm = int(METRICS[after.metric].norm)
        team.run(
            drop_closed_edges,
            norm,
            near,
            self.targets,
            self.listed,
            after.up,
            is_open,
            *ranges,
        )
        is_open[incomplete[incomplete < len(self.affected)]] = False
        listed = np.nonzero(is_open)
        target, near_one = self.targets[listed[0]], self.listed[listed]
        edges = [at.edges(target, near_one, self.listed_distance[listed])]
        near = NearPoints(*(column[incomplete] for column in near))
        for tree, inside in trees:
            found = tree.list_open_edges(
                at.cores[inside], after.row[inside], near, MOST_NODES, team
            )
            if found is None:
                return None
            index, position, distance = found
            target = self.targets[incomplete[index]]
            position += np.uint32(inside.start)
            edges.append(self._outside_forest(at.edges(target, position, distance)))
        return PointEdges.concatenate(edges)

    def _outside_forest(self, edges: PointEdges) -> PointEdges:
        """Return the edges that are not in the old forest."""
        up = self.after.up
        return edges.take((up[edges.a] != edges.b) & (up[edges.b] != edges.a))

    def _near_points(self) -> NearPoints:
        """Return the targets with their listed neighbours.

        Of targets with smaller core distances only lighter edges are listed.
        """
        after, team = self.after, self.after.team
        target, listed = self.targets, self.listed
        core, coordinates = self.at.cores[target], self.at.coordinates(listed.ravel())
        falls = after.radius[target] < self.old_radius  # False for new points
        near = NearPoints(
            self.coordinates,
            after.row[target],
            core,
            np.where(falls, self.old_radius, np.inf),
            coordinates.reshape(*listed.shape, coordinates.shape[1]),
            np.empty(listed.shape, np.uint32),
            np.empty(listed.shape),
            self.listed_distance.copy(),
        )
        ranges = each_range(team.bounds(len(target), LEAF))
        team.run(weigh_listed, near, listed, after.row, self.at.cores, *ranges)
        return near

    def _weighed_again(self, old: np.ndarray, positions: np.ndarray) -> PointEdges:
        """Weigh the upward edges of positions, and return the raised edges.

        These are between positions, with the old weight. `old` has the positions before
        the batch.
        """
        before, after = self.before, self.after
        key = edge_keys(before.row[old], before.row[before.up[old]])
        other, was = after.up[positions], after.up_weight[positions]
        now = np.maximum(self.at.cores[positions], self.at.cores[other])
        # Of other edges, the old weight shows whether the distance is larger
        falls = np.flatnonzero(now < was)
        distance = self.at.distances(positions[falls], other[falls])
        now[falls] = np.maximum(distance, now[falls])
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
        before, after, up = self.before, self.after, self.before.up[lost]
        self.gone_key = edge_keys(before.row[lost], before.row[up])
        if not len(lost):
            return PointEdges.empty(0)
        inside = self.is_gone[lost] & self.is_gone[up]
        ends, index = np.unique(np.append(lost, up), return_inverse=True)
        one, other = np.split(index.astype(np.int64), 2)
        together = component_labels(one[inside], other[inside], len(ends))
        leaving = np.flatnonzero(~inside)
        stays = self.is_gone[up[leaving]]  # whether the lower end does
        a = self.rearrangement.moved(np.where(stays, lost[leaving], up[leaving]))
        group = together[np.where(stays, other[leaving], one[leaving])]
        least = np.full(len(ends), np.inf)
        np.minimum.at(least, group, before.up_weight[lost[leaving]])
        centre = np.empty(len(ends), np.uint32)
        centre[group] = a
        b = centre[group]
        return PointEdges(a, b, least[group], edge_keys(after.row[a], after.row[b]))

    def _listed_edges(self) -> PointEdges:
        """Return the edges of targets' lists that are new, or lighter than before.

        An edge may be lighter than before if the core distance of its target falls.
        """
        old, cores = len(self.affected), self.at.cores
        falls = self.after.radius[self.affected] < self.old_radius[:old]
        index = np.append(np.flatnonzero(falls), np.arange(old, len(self.targets)))
        target, listed = self.targets[index], self.listed[index]
        distance, before = self.listed_distance[index], self.old_radius[index]
        before[np.isnan(before)] = np.inf
        is_listed = listed != NO_POSITION
        other = np.where(is_listed, listed, 0)
        larger = np.maximum(distance, np.maximum(cores[other], cores[target, None]))
        row, entry = np.nonzero(is_listed & (larger < before[:, None]))
        return self.at.edges(target[row], listed[row, entry], distance[row, entry])

    def _searching(self, index: np.ndarray) -> tuple[SearchingPoints, PointEdges]:
        """Return some targets as points that search, and their edges to near points.

        Edges are not listed if there are many.
        """
        index = index[np.argsort(self.targets[index])]
        positions = self.targets[index]
        near = PointEdges.empty(0), np.full(len(self.after.row), np.inf)
        if len(positions):
            near = self._near_edges(positions) or (near[0], -near[1])
        return SearchingPoints(positions, self.complete[index], near[1]), near[0]

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
            reached = after.reached(self.at.coordinates(others), reach)
            if reached is None:
                return None
            edges = PointEdges.concatenate([
                self.at.edges(new, near, distance),
                self.at.edges(
                    others[reached.point], reached.position, reached.distance
                ),
            ])  # fmt: skip
            return edges, reach
        # The balls of few outliers have many points
        sample = after.radius[:: max(1, len(after.radius) // SAMPLED)]
        last = int(COMMON * len(sample))
        most = np.partition(sample, last)[last]
        values = self.at.coordinates(searching)
        reach = np.minimum(after.radius, most) * LISTED_BALL ** (1 / values.shape[1])
        reached = after.reached(values, reach)
        if reached is None:
            return None
        point = searching[reached.point]
        return self.at.edges(point, reached.position, reached.distance), reach
