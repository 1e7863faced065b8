"""The points of a version in parts, each with a search structure of its own.

A batch adds a part for its new points. Other parts stay as they are, but for removed
points, unless they are built anew with them; see `FollowedForest`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol, Self

import numpy as np

from ...kernels.threads import Threads, each_range
from ...native.kernel import packed
from ..coordinates import float_type
from ..kernels.boruvka_steps import PointEdges
from ..kernels.changed_points import (
    EdgeSources,
    Reach,
    TreeVertices,
    copy_coordinates,
    find_leaf_reach,
    find_node_components,
    find_node_reach,
    improve_first_edges,
    list_reached,
    nearest_to_groups,
    take_earlier_edges,
)
from ..kernels.changed_products import PartVertices
from ..kernels.kd_tree import LEAF, PointTree
from ..kernels.open_edges import NearPoints, list_open_edges
from ..metrics import METRICS, Norm, prepared
from ..search.build_tree import build_tree
from .next_points import NextPoints

# Least searches of a thread, from single points or groups of them.
SEARCHES = 64
COPIED = 1 << 12  # least points whose coordinates a thread copies
LEAVES = 1 << 10  # least leaves that a thread goes through
# Edges that walks list, per point and at least.
MOST_LISTED, LEAST_LISTED = 512, 1 << 16


class PointPairs(NamedTuple):
    """Pairs of a searching point and a point of a part."""

    query: np.ndarray  # uint32: the index of the searching point
    position: np.ndarray  # uint32, in the part
    distance: np.ndarray  # float64

    @classmethod
    def empty(cls, count: int) -> "PointPairs":
        """Return uninitialized pairs."""
        query, position = np.empty((2, count), np.uint32)
        return cls(query, position, np.empty(count))


class SourceSearch(NamedTuple):
    """A search of edges from sources, each within the bound of its component.

    With `both`, which a `TreePart` does not need, also within that of the other end's.
    Edges below the lower bound of their other end, or the weight `complete` of their
    source, may be left out.
    """

    sources: EdgeSources
    component: np.ndarray  # uint32, by source
    starts: np.ndarray  # where sources of another group begin, and their number
    complete: np.ndarray  # float64, by source
    both: bool


class RoundSearch(Protocol):
    """The search of a part's points in the Borůvka rounds of one change."""

    def improve_first_edges(
        self,
        vertices: PartVertices,
        search: SourceSearch,
        first: PointEdges,
        threads: Threads,
    ) -> None:
        """Replace first edges of components by earlier ones to points of the part.

        All searches with `both` have the same sources.
        """

    def raised(self, to_others: np.ndarray) -> Self:
        """Return the search with larger lower bounds; see `PointPart.for_rounds`."""


class PointPart(Protocol):
    """Some points of a version, at positions from 0 on; immutable.

    Points and distances are those of the metric's norm. No search finds a point that
    is removed.
    """

    search: str  # the name of the search, see `SearchChoice`
    cheap: int  # searches of old points in a round; one component may need more
    small: int  # a part of fewer points, other than the first one, is made anew
    reachable: int  # most positions that each point of a batch reaches, on average
    # Where neighbours are listed: positions whose distances to each new point the first
    # search lists, on average; 0 if a second search takes less time
    near: int

    @property
    def size(self) -> int:
        """The number of positions, those of removed points among them."""

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays that take memory."""

    @property
    def group_sizes(self) -> np.ndarray:
        """The sizes of groups of consecutive positions, whose points search together.

        A group has at most LEAF points.
        """

    @property
    def walked(self) -> "TreePart | None":
        """The part as a tree in which walks list the edges of new points.

        None if new points search in the rounds instead.
        """

    def of(
        self, points: NextPoints, rows: np.ndarray, threads: Threads
    ) -> tuple[Self, np.ndarray]:
        """Return a part of the same kind with some rows of the next version's points.

        The second array has the index in `rows` of each position (uint32). Points here
        are the user's, not prepared for the metric.
        """

    def moved(
        self,
        points: NextPoints,
        row: np.ndarray,
        removed: np.ndarray,
        threads: Threads,
    ) -> Self:
        """Return the part in the next version, without the positions `removed`.

        Others keep their positions; `row` has their rows in the version's `points`.
        """

    def empty_coordinates(self, count: int) -> np.ndarray:
        """Return uninitialized coordinates of points, on a device if it has the part.

        Searches take such arrays.
        """

    def copy_coordinates(
        self,
        start: int,
        positions: np.ndarray,
        coordinates: np.ndarray,
        threads: Threads,
    ) -> None:
        """Copy the coordinates of those positions that are in the part.

        The first position in the part is `start`; positions are uint32.
        """

    def copy_distances(
        self,
        start: int,
        positions: np.ndarray,
        coordinates: np.ndarray,
        distance: np.ndarray,
        threads: Threads,
    ) -> None:
        """Write the distances of points to those positions that are in the part.

        Each position has `coordinates` and a distance; see `copy_coordinates`.
        """

    def improve_nearest(
        self,
        queries: np.ndarray,
        starts: np.ndarray,
        distance: np.ndarray,
        position: np.ndarray,
        start: np.uint32,
        threads: Threads,
    ) -> None:
        """Replace listed neighbours of queries by nearer points of the part.

        The rows of `distance`, which is reduced, ascend. The part's positions begin at
        `start` in those of the version. Up to LEAF queries from each index in `starts`
        to the next are near to each other.
        """

    def reached(
        self, points: np.ndarray, reach: np.ndarray, most: int, threads: Threads
    ) -> PointPairs | None:
        """Return the pairs of a point and a position that reaches it.

        A position reaches points up to the distance `reach`, which is negative for
        removed ones. None if there are more than `most` pairs, or if the search of a
        next version could not take the points.
        """

    def for_rounds(
        self, vertex: np.ndarray, to_new: np.ndarray, to_others: np.ndarray
    ) -> RoundSearch:
        """Return the search of rounds in which points have these vertices and bounds.

        All three are by position; the last two bound edges to new points, and to
        others.
        """


def positions_inside(
    part: PointPart, start: int, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of those positions that are in a part, and these in the part.

    The first position in the part is `start`.
    """
    index = np.flatnonzero((positions >= start) & (positions < start + part.size))
    return index, positions[index] - np.uint32(start)


def sizes_of_groups(count: int) -> np.ndarray:
    """Return the sizes of groups of LEAF positions; the last may be smaller."""
    ends = np.append(np.arange(LEAF, count, LEAF), count)
    return np.diff(ends, prepend=0)


def leaf_type(dtype: np.dtype, metric: str) -> type[np.float32] | type[np.float64]:
    """Return the type of coordinates in leaves, which represents all of the user's."""
    return float_type(dtype) if METRICS[metric].is_norm else np.float64


class TreePart:
    """Points in a k-d tree, whose removed points lie at infinity; see `PointPart`."""

    search, cheap, small, reachable, near = "tree", 1 << 12, 1 << 10, 1 << 9, 0

    def __init__(
        self, tree: PointTree, metric: str, leaf_at: np.ndarray | None = None
    ) -> None:
        """Take a tree; `leaf_at` (uint32) has the leaf of each LEAF-th position."""
        self.tree, self.metric = tree, metric
        self.packed = packed(tree)
        if leaf_at is None:
            every = np.arange(0, self.size, LEAF)
            leaf = np.searchsorted(tree.begin[tree.leaves], every, "right") - 1
            leaf_at = leaf.astype(np.uint32)
        self.leaf_at = leaf_at

    @classmethod
    def first(
        cls, coordinates: np.ndarray, metric: str, dtype: np.dtype, threads: Threads
    ) -> tuple["TreePart", np.ndarray]:
        """Return a part with points, and the index of each position's point (uint32).

        `coordinates` are float64, as the metric's norm compares them; the user's points
        have the type `dtype`.
        """
        tree = build_tree(
            coordinates, METRICS[metric].norm, threads, leaf_type(dtype, metric)
        )
        # No search of a part names points, so the part does not keep their numbers
        return cls(tree._replace(point=np.empty(0, np.uint32)), metric), tree.point

    @property
    def size(self) -> int:
        """See `PointPart`."""
        return int(self.tree.end[0])

    @property
    def arrays(self) -> list[np.ndarray]:
        """See `PointPart`."""
        arrays = [part for part in self.tree if isinstance(part, np.ndarray)]
        return [*arrays, self.leaf_at]

    @property
    def group_sizes(self) -> np.ndarray:
        """The sizes of the leaves; see `PointPart`."""
        tree = self.tree
        return tree.end[tree.leaves] - tree.begin[tree.leaves]

    def of(
        self, points: NextPoints, rows: np.ndarray, threads: Threads
    ) -> tuple["TreePart", np.ndarray]:
        """See `PointPart`."""
        own = points.at(rows)
        values = prepared(np.asarray(own, np.float64), self.metric)
        return TreePart.first(values, self.metric, own.dtype, threads)

    def moved(
        self,
        points: NextPoints,
        row: np.ndarray,
        removed: np.ndarray,
        threads: Threads,
    ) -> "TreePart":
        """See `PointPart`."""
        if len(removed) == 0:
            return self
        tree = self.tree
        blocks = np.empty_like(tree.blocks)
        ranges = threads.ranges(len(blocks))
        copies = [(blocks[begin:end], tree.blocks[begin:end]) for begin, end in ranges]
        threads.map(np.copyto, copies)
        starts = tree.begin[tree.leaves]
        leaf = np.searchsorted(starts, removed, "right") - 1
        dimensions = tree.low.shape[1]
        at = leaf * dimensions * LEAF + (removed - starts[leaf])
        blocks[at[:, None] + np.arange(dimensions) * LEAF] = np.inf
        return TreePart(tree._replace(blocks=blocks), self.metric, self.leaf_at)

    @property
    def walked(self) -> "TreePart":
        """See `PointPart`."""
        return self

    def empty_coordinates(self, count: int) -> np.ndarray:
        """See `PointPart`."""
        return np.empty((count, self.tree.low.shape[1]))

    def copy_coordinates(
        self,
        start: int,
        positions: np.ndarray,
        coordinates: np.ndarray,
        threads: Threads,
    ) -> None:
        """See `PointPart`."""
        copied = self.packed, self.leaf_at, start, positions, coordinates
        ranges = threads.ranges(len(positions), COPIED)
        threads.map(copy_coordinates, [(*copied, *at) for at in ranges])

    def copy_distances(
        self,
        start: int,
        positions: np.ndarray,
        coordinates: np.ndarray,
        distance: np.ndarray,
        threads: Threads,
    ) -> None:
        """See `PointPart`."""
        index, inside = positions_inside(self, start, positions)
        others, norm = self.empty_coordinates(len(inside)), Norm(self.tree.norm)
        self.copy_coordinates(0, inside, others, threads)
        gaps = np.abs(coordinates[index] - others)
        distance[index] = norm.distance(norm.total(gaps))

    def improve_nearest(
        self,
        queries: np.ndarray,
        starts: np.ndarray,
        distance: np.ndarray,
        position: np.ndarray,
        start: np.uint32,
        threads: Threads,
    ) -> None:
        """See `PointPart`."""
        ranges = each_range(threads.bounds(len(starts) - 1, LEAF))
        position -= start  # entries of other parts wrap around meanwhile
        threads.run(
            nearest_to_groups, self.packed, queries, starts, distance, position, *ranges
        )
        position += start

    def reached(
        self, points: np.ndarray, reach: np.ndarray, most: int, threads: Threads
    ) -> PointPairs | None:
        """See `PointPart`."""
        ranges = threads.ranges(len(points), SEARCHES)
        reaching = (self.packed, self._reach(reach, threads), points)
        pairs = [PointPairs.empty(most) for _ in ranges]
        calls = [
            (*reaching, *at, *found) for at, found in zip(ranges, pairs, strict=True)
        ]
        return _joined(pairs, threads.map(list_reached, calls), most)

    def list_open_edges(
        self,
        cores: np.ndarray,
        rows: np.ndarray,
        near: NearPoints,
        most_nodes: int,
        threads: Threads,
    ) -> PointPairs | None:
        """Return the pairs whose edges the kernel of this name lists.

        `cores` and `rows` are by position. None if the walks visit more than
        `most_nodes` nodes a point.
        """
        reach = self._reach(cores, threads)
        ranges = threads.ranges(len(near.row), SEARCHES)
        most = max(LEAST_LISTED, MOST_LISTED * len(near.row))
        pairs = [PointPairs.empty(most) for _ in ranges]
        calls = [
            (self.packed, reach, rows, near, *at, most_nodes * (at[1] - at[0]), *found)
            for at, found in zip(ranges, pairs, strict=True)
        ]
        return _joined(pairs, threads.map(list_open_edges, calls), most)

    def _reach(self, of_position: np.ndarray, threads: Threads) -> Reach:
        """Return the reach of positions, and of the nodes."""
        reach = Reach(of_position, np.empty(len(self.tree.left)))
        ranges = each_range(threads.bounds(len(self.tree.leaves), LEAVES))
        threads.run(find_leaf_reach, self.packed, of_position, reach.of_node, *ranges)
        find_node_reach(self.packed, reach.of_node)
        return reach

    def for_rounds(
        self, vertex: np.ndarray, to_new: np.ndarray, to_others: np.ndarray
    ) -> "TreePart":
        """See `PointPart`."""
        return self

    def raised(self, to_others: np.ndarray) -> "TreePart":
        """See `RoundSearch`."""
        return self

    def improve_first_edges(
        self,
        vertices: PartVertices,
        search: SourceSearch,
        first: PointEdges,
        threads: Threads,
    ) -> None:
        """See `RoundSearch`."""
        sources, component, starts, *_ = search
        of_tree = TreeVertices(
            vertices.row,
            vertices.vertex,
            vertices.of_vertex,
            np.empty(len(self.tree.left), np.uint32),
            vertices.cores,
        )
        find_node_components(self.packed, vertices.of_group, of_tree)
        ranges = threads.ranges(len(starts) - 1, SEARCHES)
        with first_edges_each(first, len(ranges)) as edges:
            calls = [
                (self.packed, of_tree, sources, starts[begin : end + 1], component, own)
                for (begin, end), own in zip(ranges, edges, strict=True)
            ]
            threads.map(improve_first_edges, calls)


@contextmanager
def first_edges_each(first: PointEdges, count: int) -> Iterator[list[PointEdges]]:
    """Yield first edges for each of `count` threads, and take the earliest of all.

    They are `first` and copies of it.
    """
    edges = [first]
    edges += [PointEdges(*(column.copy() for column in first)) for _ in range(1, count)]
    yield edges
    for own in edges[1:]:
        take_earlier_edges(first, own)


def merge_nearer(
    distance: np.ndarray, position: np.ndarray, found: np.ndarray, at: np.ndarray
) -> None:
    """Replace listed neighbours of queries by nearer ones, which are `found`.

    Rows ascend. `at` has the positions of the found points.
    """
    precede = found[:, -1] < distance[:, 0]
    nearer = np.flatnonzero((found[:, 0] < distance[:, -1]) & ~precede)
    distance[precede], position[precede] = found[precede], at[precede]
    both = np.hstack([distance[nearer], found[nearer]])
    chosen = np.argsort(both, axis=1, kind="stable")[:, : distance.shape[1]]
    distance[nearer] = np.take_along_axis(both, chosen, axis=1)
    both = np.hstack([position[nearer], at[nearer]])
    position[nearer] = np.take_along_axis(both, chosen, axis=1)


def _joined(pairs: list[PointPairs], counts: list[int], most: int) -> PointPairs | None:
    """Join the pairs that calls have found; None if they are more than `most`."""
    if sum(counts) > most:
        return None
    found = [
        [column[:n] for column in columns]
        for columns, n in zip(pairs, counts, strict=True)
    ]
    return PointPairs(*map(np.concatenate, zip(*found, strict=True)))
