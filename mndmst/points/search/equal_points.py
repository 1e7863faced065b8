"""Equal points: the smallest of them represents all in searches.

Equal points have the same distances to all others, so the smallest one has the first
edges in the order. Each of the others has one edge in the forest, its lightest: to the
smallest of all points at its core distance, most often one of its equals. Without this,
each search would visit all equally near points, of which there are many if many points
are equal.

Equal points are all on one rank.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..devices.point_products import ComponentArrays
from ..kernels.boruvka_steps import PointEdges, edge_keys
from .neighbours import Neighbours
from .point_search import PointSearch

# Returns the coordinates at some positions.
Coordinates = Callable[[np.ndarray], np.ndarray]


class EqualPoints(NamedTuple):
    """The points that equal a smaller point, by position (uint32)."""

    positions: np.ndarray
    smallest: np.ndarray  # the smallest point that equals each
    target: np.ndarray  # the far end of the lightest edge of both

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the forest edges of these points.

        The smallest one also has an edge to the target, unless it is the target.
        """
        outside = self.target != self.smallest
        smallest, index = np.unique(self.smallest[outside], return_index=True)
        targets = self.target, self.target[outside][index]
        return np.append(self.positions, smallest), np.concatenate(targets)


def join_equal(
    coordinates: Coordinates, search: PointSearch, neighbours: Neighbours
) -> PointEdges:
    """Return the forest edges of points that equal a smaller point. Collective.

    The lower bounds of these points become infinite: they have no other edge.
    """
    point, remote = search.point, search.remote
    equal = _find_equal(coordinates, search, neighbours)
    if len(point) < remote.total:
        smallest, group = np.unique(equal.smallest, return_inverse=True)
        end, end_point = remote.first_at_core_distance(neighbours.cores, smallest)
        earlier = end_point[group] < point[equal.target]
        equal = equal._replace(target=np.where(earlier, end[group], equal.target))
    a, b = equal.ends()
    key = edge_keys(point[a], remote.gather_values(point, b))
    return PointEdges(a, b, neighbours.cores[a], key)


def _find_equal(
    coordinates: Coordinates, search: PointSearch, neighbours: Neighbours
) -> EqualPoints:
    """Return the points that equal a smaller one, with targets on this rank."""
    positions = neighbours.duplicates.astype(np.uint32)
    if len(positions) == 0:
        return EqualPoints(positions, positions, positions)
    point = search.point[positions]
    smallest = smallest_equals(coordinates(positions), point, positions)
    others = positions != smallest
    positions, smallest = positions[others], smallest[others]
    target = _local_targets(search, neighbours.cores, positions, smallest)
    neighbours.lower_bound[positions] = np.inf
    return EqualPoints(positions, smallest, target)


def smallest_equals(
    coordinates: np.ndarray, point: np.ndarray, positions: np.ndarray
) -> np.ndarray:
    """Return the position of the smallest point that equals each point."""
    order = np.lexsort((point, *coordinates.T))
    ordered = coordinates[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    first = positions[order][new]
    smallest = np.empty_like(positions)
    smallest[order] = first[np.cumsum(new) - 1]
    return smallest


def _local_targets(
    search: PointSearch, cores: np.ndarray, positions: np.ndarray, smallest: np.ndarray
) -> np.ndarray:
    """Return the far end, on this rank, of each point's lightest edge."""
    # Every group of equal points is a component, named by its smallest point.
    of_position = np.arange(len(search.point), dtype=np.uint32)
    of_position[positions] = smallest
    queries = np.unique(smallest)
    components = ComponentArrays(of_position, cores, cores, cores.copy())
    end, _ = search.lightest(components, queries, bounded=True)
    earlier = search.point[end] < search.point[queries]
    target = np.where(earlier, end, queries)
    return target[np.searchsorted(queries, smallest)]
