"""Equal points: one stands for all of them in searches.

Equal points have the same distances to all others, so only their numbers decide, and
the smallest of them has the first edges in the order. Each of the others has one edge
in the forest, its lightest: to the point of the smallest number among those as near
as its equals, most often one of these. Without this, searches would visit all points
that are equally near, which are many where many are equal.
"""

from typing import NamedTuple

import numpy as np

from ..kernels.threads import Threads
from .kernels.edges import Edges
from .kernels.search import Components, sum_up
from .kernels.tree import PointTree
from .neighbours import Neighbours
from .tree import find_lightest


def equal_points(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return for some rows the smallest row that is the same point.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
    rows : ndarray of an integer type
    """
    if len(rows) == 0:
        return rows.astype(np.int64)
    chosen = points[rows]
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
    points: np.ndarray, tree: PointTree, found: Neighbours, threads: Threads
) -> Equal:
    """Return the points that equal another of a smaller number.

    Their reach becomes infinite: they need no other edge.
    """
    places = found.doubled
    if len(places) == 0:
        none = np.empty(0, np.uint32)
        return Equal(none, none, none)
    place_of = np.empty(len(points), np.uint32)
    place_of[tree.rows] = np.arange(len(points), dtype=np.uint32)
    smallest = place_of[equal_points(points, tree.rows[places])]
    others = places != smallest
    places, smallest = places[others].astype(np.uint32), smallest[others]
    target = _nearest_of_smallest_row(tree, found, places, smallest, threads)
    found.reach[places] = np.inf
    return Equal(places, smallest, target)


def join_equal(
    points: np.ndarray, tree: PointTree, found: Neighbours, threads: Threads
) -> Edges:
    """Return the forest edges of points that equal another of a smaller number.

    Their reach becomes infinite: they need no other edge.
    """
    a, b = find_equal(points, tree, found, threads).ends()
    return Edges(a, b, found.cores[a])


def _nearest_of_smallest_row(
    tree: PointTree,
    found: Neighbours,
    places: np.ndarray,
    smallest: np.ndarray,
    threads: Threads,
) -> np.ndarray:
    """Return the place that each of some points has its first edge to."""
    n = len(tree.rows)
    of_place = np.arange(n, dtype=np.uint32)
    of_place[places] = smallest
    asked = np.unique(smallest)
    nodes = len(tree.left)
    of = of_place, np.empty(nodes, np.uint32)
    cores, bound = found.cores, found.cores.copy()
    components = Components(*of, cores, cores, np.empty(nodes), bound)
    sum_up(tree, components)
    other, _ = find_lightest(tree, components, asked, threads)
    nearer = tree.rows[other] < tree.rows[asked]
    best = np.where(nearer, other, asked)
    return best[np.searchsorted(asked, smallest)]
