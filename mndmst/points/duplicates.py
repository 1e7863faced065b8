"""Equal points: one stands for all of them in searches.

Equal points have the same distances to all others, so only their numbers decide, and
the smallest of them has the first edges in the order. Each of the others has one edge
in the forest, its lightest: to the point of the smallest number among those as near
as its equals, most often one of these. Without this, searches would visit all points
that are equally near, which are many where many are equal.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..backends.point_products import ComponentArrays
from .kernels.edges import Edges
from .neighbours import Neighbours
from .point_search import PointSearch

Coordinates = Callable[[np.ndarray], np.ndarray]


def equal_points(chosen: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return for some rows the smallest row that is the same point.

    Parameters
    ----------
    chosen : ndarray of float64, shape (rows, dimensions)
        The points of these rows.
    rows : ndarray of an integer type
    """
    if len(rows) == 0:
        return rows.astype(np.int64)
    order = np.lexsort((rows, *chosen.T))
    ordered = chosen[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    first = rows[order][new].astype(np.int64)
    smallest = np.empty(len(rows), np.int64)
    smallest[order] = first[np.cumsum(new) - 1]
    return smallest


class Equal(NamedTuple):
    """Points that equal another of a smaller number.

    Attributes
    ----------
    places, smallest : ndarray of uint32
        Where they are, and where the smallest is that equals each of them.
    target : ndarray of integers
        Where the lightest edge of each of them, and of the smallest, leads to.
    """

    places: np.ndarray
    smallest: np.ndarray
    target: np.ndarray

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the edges that these points need.

        Where the target is none of the equal points, the smallest needs its edge, too.
        """
        outside = self.target != self.smallest
        smallest, one = np.unique(self.smallest[outside], return_index=True)
        targets = self.target, self.target[outside][one]
        return np.append(self.places, smallest), np.concatenate(targets)


def find_equal(
    coordinates: Coordinates, search: PointSearch, found: Neighbours
) -> Equal:
    """Return the points that equal another of a smaller number.

    Their reach becomes infinite: they need no other edge.

    Parameters
    ----------
    coordinates : callable
        Returns the coordinates of the points of some numbers.
    """
    places = found.doubled
    if len(places) == 0:
        none = np.empty(0, np.uint32)
        return Equal(none, none, none)
    place_of = np.empty(len(search.rows), np.uint32)
    place_of[search.rows] = np.arange(len(place_of), dtype=np.uint32)
    rows = search.rows[places]
    smallest = place_of[equal_points(coordinates(rows), rows)]
    others = places != smallest
    places, smallest = places[others].astype(np.uint32), smallest[others]
    target = _nearest_of_smallest_row(search, found, places, smallest)
    found.reach[places] = np.inf
    return Equal(places, smallest, target)


def join_equal(
    coordinates: Coordinates, search: PointSearch, found: Neighbours
) -> Edges:
    """Return the forest edges of points that equal another of a smaller number.

    Their reach becomes infinite: they need no other edge.
    """
    a, b = find_equal(coordinates, search, found).ends()
    return Edges(a, b, found.cores[a])


def _nearest_of_smallest_row(
    search: PointSearch, found: Neighbours, places: np.ndarray, smallest: np.ndarray
) -> np.ndarray:
    """Return the place that each of some points has its first edge to."""
    of_place = np.arange(len(search.rows), dtype=np.uint32)
    of_place[places] = smallest
    asked = np.unique(smallest)
    cores = found.cores
    components = ComponentArrays(of_place, cores, cores, cores.copy())
    other, _ = search.lightest(components, asked)
    nearer = search.rows[other] < search.rows[asked]
    best = np.where(nearer, other, asked)
    return best[np.searchsorted(asked, smallest)]
