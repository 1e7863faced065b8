"""The points of a version by position: their coordinates, and edges between them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...kernels.edge_columns import ends_of
from ...kernels.threads import each_range
from ...native.call_columns import ArrayPieces
from ..kernels.boruvka_steps import PointEdges, edge_keys
from ..kernels.changed_points import EdgeSources
from ..kernels.neighbour_lists import NeighbourLists, list_crossing
from .followed_forest import FollowedForest
from .point_parts import PointPart

TOGETHER = 1 << 14  # pairs whose first points have copies of their coordinates at once


@dataclass(frozen=True)
class PositionedPoints:
    """The points of a version by position."""

    forest: FollowedForest
    cores: np.ndarray  # float64, by position; see `FollowedForest.cores`

    def coordinates(self, positions: np.ndarray) -> np.ndarray:
        """Return the coordinates of positions, on a device if it has the points."""
        coordinates = self.forest.parts[0].empty_coordinates(len(positions))
        listed, team = positions.astype(np.uint32, copy=False), self.forest.team
        for part, start in self._parts_with(positions):
            part.copy_coordinates(start, listed, coordinates, team)
        return coordinates

    def distances(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the distances of pairs of positions, with the bits of searches."""
        distance, team = np.empty(len(a)), self.forest.team
        for begin in range(0, len(a), TOGETHER):
            some = slice(begin, begin + TOGETHER)
            coordinates = self.coordinates(a[some])
            for part, start in self._parts_with(b[some]):
                part.copy_distances(start, b[some], coordinates, distance[some], team)
        return distance

    def _parts_with(self, positions: np.ndarray) -> Iterator[tuple[PointPart, int]]:
        """Yield the parts that have some of the positions, and where each starts."""
        for part, at in self.forest.located_parts:
            if ((positions >= at.start) & (positions < at.stop)).any():
                yield part, at.start

    def edges(self, a: np.ndarray, b: np.ndarray, distance: np.ndarray) -> PointEdges:
        """Return the edges between different positions, of known distances."""
        differ = a != b
        a, b, distance = a[differ], b[differ], distance[differ]
        cores = np.maximum(self.cores[a], self.cores[b])
        key = edge_keys(self.forest.row[a], self.forest.row[b])
        return PointEdges(a, b, np.maximum(distance, cores), key)

    def sources(self, positions: np.ndarray, vertex: np.ndarray) -> EdgeSources:
        """Return positions as sources of edges; `vertex` is by position."""
        return EdgeSources(
            self.coordinates(positions),
            self.forest.row[positions],
            self.cores[positions],
            vertex[positions],
        )


def crossing_edges(
    at: PositionedPoints,
    lists: NeighbourLists,
    positions: np.ndarray,
    vertex: np.ndarray,
) -> PointEdges:
    """Return the edges of positions to listed ones of other vertices, which are ends.

    `vertex` is by position.
    """
    forest = at.forest
    ranges = each_range(forest.team.bounds(len(positions)))
    write = partial(
        forest.team.run,
        list_crossing,
        lists,
        positions,
        vertex,
        forest.row,
        at.cores,
        *ranges,
    )
    begins = ends_of(write(*PointEdges.empty(0)))
    edges = PointEdges.empty(begins[-1])
    write(*(ArrayPieces.of(column, begins) for column in edges))
    return edges


def group_starts(group: np.ndarray) -> np.ndarray:
    """Return where sources of another group begin, and the number of sources.

    `group` has the group of each source, ascending.
    """
    return np.append(
        np.flatnonzero(np.append(True, group[1:] != group[:-1])), len(group)
    )
