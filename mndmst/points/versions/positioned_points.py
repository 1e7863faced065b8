"""The points of a version by position: their coordinates, and edges between them."""

from dataclasses import dataclass

import numpy as np

from ..kernels.boruvka_steps import PointEdges, edge_keys
from ..kernels.changed_points import EdgeSources
from ..metrics import METRICS
from .device_part import points_on_device, squares_on_device
from .followed_forest import FollowedForest
from .pair_distances import blocks, pair_distances
from .point_parts import TreePart


@dataclass(frozen=True)
class PositionedPoints:
    """The points of a version by position; distances have the bits of searches."""

    forest: FollowedForest
    points: np.ndarray  # the user's, by row
    dimensions: int  # of points as the metric's norm compares them
    cores: np.ndarray  # float64, by position; see `FollowedForest.cores`

    def coordinates(self, positions: np.ndarray) -> np.ndarray:
        """Return the coordinates of positions, copied by all threads."""
        coordinates = np.empty((len(positions), self.dimensions))
        parts = self.forest.located_parts()
        trees = [(part, at.start) for part, at in parts if isinstance(part, TreePart)]
        if trees:
            listed = positions.astype(np.uint32, copy=False)
            for tree, start in trees:
                tree.copy_coordinates(start, listed, coordinates, self.forest.team)
            return coordinates

        def fill(begin: int, end: int) -> None:
            coordinates[begin:end] = self._coordinates_of(positions[begin:end])

        self.forest.team.map(fill, blocks(len(positions)))
        return coordinates

    def _coordinates_of(self, positions: np.ndarray) -> np.ndarray:
        return self.forest.prepared(self.points[self.forest.row[positions]])

    def searching(self, positions: np.ndarray) -> np.ndarray:
        """Return coordinates for searches: on a device if it has the points."""
        parts = self.forest.parts_on_device()
        if parts:
            return points_on_device(parts, positions)
        return self.coordinates(positions)

    def distances(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the distances of pairs of positions."""
        norm, parts = METRICS[self.forest.metric].norm, self.forest.parts_on_device()
        if parts:
            return norm.distance(squares_on_device(parts, a, b))
        if isinstance(self.forest.parts[0], TreePart):
            gaps = self.coordinates(a) - self.coordinates(b)
            return norm.distance(norm.total(np.abs(gaps, out=gaps)))
        return pair_distances(self._coordinates_of, a, b, norm, self.forest.team)

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
            self.searching(positions),
            self.forest.row[positions],
            self.cores[positions],
            vertex[positions],
        )


def group_starts(group: np.ndarray) -> np.ndarray:
    """Return where sources of another group begin, and the number of sources.

    `group` has the group of each source, ascending.
    """
    return np.append(
        np.flatnonzero(np.append(True, group[1:] != group[:-1])), len(group)
    )
