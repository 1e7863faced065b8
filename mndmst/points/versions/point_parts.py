"""The points of a version in parts, each with a search structure of its own.

A batch adds a part for its new points. Other parts stay as they are, but for removed
points, unless they are built anew with them; see `FollowedForest`.
"""

from typing import NamedTuple, Protocol, Self

import numpy as np

from ...kernels.threads import Threads, each_range
from ..devices.point_products import NO_POSITION, ComponentArrays
from ..kernels.boruvka_steps import PointEdges
from ..kernels.changed_points import (
    EdgeSources,
    Reach,
    TreeVertices,
    improve_first_edges,
    list_reached,
)
from ..kernels.kd_tree import LEAF, PointTree
from ..kernels.nearest_points import nearest_to_queries
from ..kernels.norms import LARGEST
from ..metrics import Norm
from ..search.build_tree import build_tree, fill_tree


class PartVertices(NamedTuple):
    """The components of a part's points, by position."""

    row: np.ndarray  # uint32
    vertex: np.ndarray  # uint32
    of_position: np.ndarray  # uint32: the component
    cores: np.ndarray  # float64


class PointPart(Protocol):
    """Some points of a version, at positions from 0 on; immutable.

    Points and distances are those of the metric's norm. No search finds a point that
    is removed.
    """

    @property
    def point(self) -> np.ndarray:
        """The index of each position's point in the array of `of` (uint32)."""

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays that take memory."""

    @property
    def group_sizes(self) -> np.ndarray:
        """The sizes of groups of consecutive positions, whose points search together.

        A group has at most LEAF points.
        """

    def of(self, points: np.ndarray, threads: Threads) -> Self:
        """Return a part of the same kind with other points."""

    def without(self, positions: np.ndarray) -> Self:
        """Return the part without some points; the others keep their positions."""

    def nearest(
        self, queries: np.ndarray, k: int, threads: Threads
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the reduced distances and positions of the k nearest points.

        A missing one is at LARGEST, or further, and at NO_POSITION.
        """

    def reached(
        self, points: np.ndarray, reach: np.ndarray, most: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return indices of points, positions that reach them, and distances.

        A position reaches points up to the distance `reach`, which is negative for
        removed ones. None if there are more than `most` pairs.
        """

    def improve_first_edges(
        self,
        vertices: PartVertices,
        sources: EdgeSources,
        starts: np.ndarray,
        component: np.ndarray,
        first: PointEdges,
        both: bool,
    ) -> None:
        """Replace first edges of components by earlier ones from sources to the part.

        `component` has the component of each source. Edges are within the bound of the
        source's component, or, if `both`, of one of both. Sources from each index in
        `starts` to the next are of one group.
        """


class TreePart:
    """Points in a k-d tree, whose removed points lie at infinity; see `PointPart`."""

    def __init__(self, tree: PointTree) -> None:
        self.tree, self.point = tree, tree.point

    @property
    def arrays(self) -> list[np.ndarray]:
        """See `PointPart`."""
        return [part for part in self.tree if isinstance(part, np.ndarray)]

    @property
    def group_sizes(self) -> np.ndarray:
        """The sizes of the leaves; see `PointPart`."""
        tree = self.tree
        return tree.end[tree.leaves] - tree.begin[tree.leaves]

    def of(self, points: np.ndarray, threads: Threads) -> "TreePart":
        """See `PointPart`."""
        return TreePart(build_tree(points, Norm(self.tree.norm), threads))

    def without(self, positions: np.ndarray) -> "TreePart":
        """See `PointPart`."""
        if len(positions) == 0:
            return self
        tree = self.tree
        blocks = tree.blocks.copy()
        starts = tree.begin[tree.leaves]
        leaf = np.searchsorted(starts, positions, "right") - 1
        dimensions = tree.low.shape[1]
        at = leaf * dimensions * LEAF + (positions - starts[leaf])
        blocks[at[:, None] + np.arange(dimensions) * LEAF] = np.inf
        return TreePart(tree._replace(blocks=blocks))

    def nearest(
        self, queries: np.ndarray, k: int, threads: Threads
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointPart`."""
        distance = np.full((len(queries), k), LARGEST)
        position = np.full((len(queries), k), NO_POSITION)
        ranges = each_range(threads.bounds(len(queries), LEAF))
        threads.run(nearest_to_queries, self.tree, queries, distance, position, *ranges)
        return distance, position

    def reached(
        self, points: np.ndarray, reach: np.ndarray, most: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """See `PointPart`."""
        of_node = self._fill(self.point, -reach)[1]
        query, position = np.empty((2, most), np.uint32)
        distance = np.empty(most)
        count = list_reached(
            self.tree, Reach(reach, of_node), points, query, position, distance
        )
        if count > most:
            return None
        return query[:count], position[:count], distance[:count]

    def improve_first_edges(
        self,
        vertices: PartVertices,
        sources: EdgeSources,
        starts: np.ndarray,
        component: np.ndarray,
        first: PointEdges,
        both: bool,
    ) -> None:
        """See `PointPart`."""
        of_position = vertices.of_position
        negated = -first.weight[of_position] if both else np.zeros(len(of_position))
        of_node, node_bound = self._fill(of_position, negated)
        of_tree = TreeVertices(
            vertices.row,
            vertices.vertex,
            of_position,
            of_node,
            vertices.cores,
            node_bound,
        )
        improve_first_edges(self.tree, of_tree, sources, starts, component, first)

    def _fill(
        self, of_position: np.ndarray, least: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each node's component, or SEVERAL, and its points' least value."""
        nodes = len(self.tree.left)
        of_node, node_least = np.empty(nodes, np.uint32), np.empty(nodes)
        components = ComponentArrays(of_position, least, least, least)
        fill_tree(self.tree, components, of_node, node_least)
        return of_node, node_least
