"""The forest of points of one version, in the form that a change needs."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...host.cores import core_count
from ...kernels.threads import Threads, each_range
from ...native.call_columns import ArrayPieces
from ...native.kernel import Kernel
from ...native.precompile import compile_for
from ..coordinates import point_coordinates
from ..devices.point_products import NO_POSITION
from ..kernels.neighbour_lists import NeighbourLists
from ..kernels.rooted_forest import find_positions, list_positions, root_forest
from ..metrics import METRICS, prepared
from ..point_forest import PointForest
from .device_part import DeviceRefusalError
from .first_part import first_part
from .pair_distances import pair_distances
from .point_parts import PointPart, leaf_type

# Fewer points are searched anew in a few milliseconds.
LEAST_POINTS = 512
# Positions that a batch reaches, at least; see `PointPart.reachable`.
LEAST_REACHED = 1 << 16


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
    # float64, by position: the distance to the `min_samples`-th neighbour, at least the
    # first; -1 for removed points
    radius: np.ndarray
    lists: NeighbourLists | None  # a tree has none: it finds neighbours in less time
    # uint32, by position: the other end of its edge towards the root of the forest; its
    # own position for the root and for removed points
    up: np.ndarray
    up_weight: np.ndarray  # float64: the weight of that edge
    point_forest: PointForest  # by row, with the distances of the metric

    @property
    def team(self) -> Threads:
        """The threads that search."""
        return Threads(self.threads or core_count())

    @cached_property
    def group_begin(self) -> np.ndarray:
        """The first position of each group of the parts, and the end of the last."""
        sizes = np.concatenate([part.group_sizes for part in self.parts])
        return np.append(0, np.cumsum(sizes))

    @property
    def cores(self) -> np.ndarray:
        """The core distance of each position; 0 without `min_samples`."""
        return self.radius if self.min_samples else np.zeros(len(self.radius))

    def positions(self) -> np.ndarray:
        """Return the position of each row (uint32)."""
        positions = np.empty(self.point_forest.forest.num_vertices, np.uint32)
        ranges = each_range(self.team.bounds(len(self.row)))
        self.team.run(find_positions, self.row, self.radius, positions, *ranges)
        return positions

    def positions_of(self, rows: np.ndarray, count: int) -> np.ndarray:
        """Return the positions (uint32) of some of `count` rows."""
        wanted = np.zeros(count, np.bool_)
        wanted[rows] = True
        positions = self.listed(list_positions, self.row, self.radius, wanted)
        by_row = np.empty(count, np.uint32)  # written and read at these rows alone
        by_row[self.row[positions]] = positions
        return by_row[rows]

    def listed(self, kernel: Kernel, *columns: np.ndarray) -> np.ndarray:
        """Return the positions (uint32, ascending) that calls of a kernel list.

        A call takes the columns, which are by position, and a range of positions. It
        writes its list to an array that has one more entry, and returns the length.
        """
        bounds = self.team.bounds(len(self.row))
        begins = bounds + np.arange(len(bounds))
        lists = np.empty(begins[-1], np.uint32)
        pieces = ArrayPieces.of(lists, begins)
        counts = self.team.run(kernel, *columns, *each_range(bounds), pieces)
        ends = zip(begins[:-1], begins[:-1] + counts, strict=True)
        return np.concatenate([lists[begin:end] for begin, end in ends])

    @property
    def on_device(self) -> bool:
        """Whether a device has the points."""
        return self.parts[0].search == "device"

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays beside the forest; versions may share some."""
        arrays = [self.row, self.radius, self.up, self.up_weight]
        arrays += self.lists or ()
        for part in self.parts:
            arrays += part.arrays
        return sum(array.nbytes for array in arrays)

    @property
    def neighbours(self) -> np.ndarray | None:
        """The `PointForest.neighbours` of the version."""
        if self.lists is None:
            return None
        listed = self.lists.position[self.positions()]
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
        compile_for("versions", np.dtype(leaf_type(points.dtype, metric)))
        try:
            first = first_part(
                points, coordinates, metric, order, point_forest, search, team
            )
        except DeviceRefusalError:
            return None
        position = np.empty(len(points), np.uint32)
        position[first.row] = np.arange(len(points), dtype=np.uint32)
        forest = point_forest.forest
        weight = forest.weight
        if not METRICS[metric].is_norm:
            of, norm = coordinates.of, METRICS[metric].norm
            weight = pair_distances(of, forest.src, of, forest.dst, norm, team)
            if min_samples:
                cores = first.radius[position]
                larger = np.maximum(cores[forest.src], cores[forest.dst])
                weight = np.maximum(weight, larger)
        up, up_weight = np.empty(len(points), np.uint32), np.empty(len(points))
        root_forest(position[forest.src], position[forest.dst], weight, up, up_weight)
        return cls(
            metric,
            min_samples,
            threads,
            (first.part,),
            first.row,
            first.radius,
            first.lists,
            up,
            up_weight,
            point_forest,
        )

    def prepared(self, points: np.ndarray) -> np.ndarray:
        """Return points in float64 as the metric's norm compares them."""
        values = np.ascontiguousarray(points, np.float64)
        return np.ascontiguousarray(prepared(values, self.metric))

    @cached_property
    def located_parts(self) -> list[tuple[PointPart, slice]]:
        """The parts, and the positions of each."""
        ends = np.cumsum([part.size for part in self.parts]).tolist()
        starts = [0, *ends[:-1]]
        return [
            (part, slice(begin, end))
            for part, begin, end in zip(self.parts, starts, ends, strict=True)
        ]

    def reached(self, points: np.ndarray, reach: np.ndarray) -> Reached | None:
        """Return the pairs of points and positions within the reach of these.

        None if there are many.
        """
        most = max(LEAST_REACHED, self.parts[0].reachable * len(points))
        found, team = [], self.team
        for part, at in self.located_parts:
            reached = part.reached(points, reach[at], most, team)
            if reached is None:
                return None
            query, position, distance = reached
            found.append((query, position + np.uint32(at.start), distance))
        query, position, distance = map(np.concatenate, zip(*found, strict=True))
        return Reached(query, position, distance, reach)

    def nearest(
        self,
        queries: np.ndarray,
        starts: np.ndarray,
        within: np.ndarray,
        k: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and positions of the k nearest points, ascending.

        Queries from each index in `starts` to the next are near to each other. Points
        beyond the distance `within` of a query may be missing: the distance of a
        missing one is at least this, and its position NO_POSITION.
        """
        norm = METRICS[self.metric].norm
        distance = np.repeat(norm.limit(within)[:, None], k, axis=1)
        position = np.full(distance.shape, NO_POSITION)
        for part, at in self.located_parts:
            start = np.uint32(at.start)
            part.improve_nearest(queries, starts, distance, position, start, self.team)
        return norm.distance(distance), position
