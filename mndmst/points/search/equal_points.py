"""Equal points: in searches, one represents all of them.

Equal points have the same distances to all others, so their numbers decide, and the
smallest of them has the first edges in the order. Each of the others has one edge in
the forest, its lightest: to the point of the smallest number among those as near as its
equals, most often one of these. Without this, searches would visit all points that are
equally near, which are many where many are equal.

Equal points are all on one rank.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..devices.point_products import ComponentArrays
from ..kernels.boruvka_steps import PointEdges
from ..ranks.remote_points import key_of
from .neighbours import Neighbours
from .point_search import PointSearch

# Returns the coordinates of the points at some positions.
Coordinates = Callable[[np.ndarray], np.ndarray]


class EqualPoints(NamedTuple):
    """The points that equal another of a smaller number (uint32)."""

    positions: np.ndarray
    smallest: np.ndarray  # the position of the smallest point that equals each
    target: np.ndarray  # the far end of the lightest edge of each, and of the smallest

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the forest edges of these points.

        If the target equals none of the points, the smallest has its edge to it, too.
        """
        outside = self.target != self.smallest
        smallest, one = np.unique(self.smallest[outside], return_index=True)
        targets = self.target, self.target[outside][one]
        return np.append(self.positions, smallest), np.concatenate(targets)


def join_equal(
    coordinates: Coordinates, search: PointSearch, found: Neighbours
) -> PointEdges:
    """Return the forest edges of points that equal another of a smaller number.

    Collective. The reach of these points becomes infinite: they have no other edge.
    """
    rows, remote = search.rows, search.remote
    equal = _find_equal(coordinates, search, found)
    if len(rows) < remote.total:
        smallest, group = np.unique(equal.smallest, return_inverse=True)
        elsewhere, row = remote.first_at_core_distance(found.cores, smallest)
        nearer = row[group] < rows[equal.target]
        equal = equal._replace(target=np.where(nearer, elsewhere[group], equal.target))
    a, b = equal.ends()
    key = key_of(rows[a], remote.gather_values(rows, b))
    return PointEdges(a, b, found.cores[a], key)


def _find_equal(
    coordinates: Coordinates, search: PointSearch, found: Neighbours
) -> EqualPoints:
    """Return the points that equal another, with targets on this rank."""
    positions = found.doubled.astype(np.uint32)
    if len(positions) == 0:
        return EqualPoints(positions, positions, positions)
    rows = search.rows[positions]
    smallest = equal_points(coordinates(positions), rows, positions)
    others = positions != smallest
    positions, smallest = positions[others], smallest[others]
    target = _nearest_of_smallest_row(search, found, positions, smallest)
    found.reach[positions] = np.inf
    return EqualPoints(positions, smallest, target)


def equal_points(
    points: np.ndarray, rows: np.ndarray, positions: np.ndarray
) -> np.ndarray:
    """Return for each point the position of the equal point with the smallest row."""
    order = np.lexsort((rows, *points.T))
    ordered = points[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    first = positions[order][new]
    smallest = np.empty_like(positions)
    smallest[order] = first[np.cumsum(new) - 1]
    return smallest


def _nearest_of_smallest_row(
    search: PointSearch, found: Neighbours, positions: np.ndarray, smallest: np.ndarray
) -> np.ndarray:
    """Return the far end, on this rank, of each point's first edge."""
    of_position = np.arange(len(search.rows), dtype=np.uint32)
    of_position[positions] = smallest
    queries = np.unique(smallest)
    cores = found.cores
    bounds = ComponentArrays(of_position, cores, cores, cores.copy())
    other, _ = search.lightest(bounds, queries, bounded=True)
    nearer = search.rows[other] < search.rows[queries]
    best = np.where(nearer, other, queries)
    return best[np.searchsorted(queries, smallest)]
