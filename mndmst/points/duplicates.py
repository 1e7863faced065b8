"""Equal points: one stands for all of them in searches.

Equal points have the same distances to all others, so only their numbers decide, and
the smallest of them has the first edges in the order. Each of the others has one edge
in the forest, its lightest: to the point of the smallest number among those as near
as its equals, most often one of these. Without this, searches would visit all points
that are equally near, which are many where many are equal.
"""

import numpy as np

from ..kernels.threads import Threads
from .kernels.edges import Edges, no_edges
from .kernels.lightest import Components, find_least_cores, lightest, name_nodes
from .kernels.tree import PointTree
from .neighbours import Neighbours
from .tree import leaf_ranges


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


def join_equal(
    points: np.ndarray, tree: PointTree, found: Neighbours, threads: Threads
) -> Edges:
    """Return the forest edges of points that equal another of a smaller number.

    Their reach becomes infinite: they need no other edge.
    """
    places = found.doubled
    if len(places) == 0:
        return no_edges()
    place_of = np.empty(len(points), np.uint32)
    place_of[tree.rows] = np.arange(len(points), dtype=np.uint32)
    smallest = place_of[equal_points(points, tree.rows[places])]
    others = places != smallest
    places, smallest = places[others].astype(np.uint32), smallest[others]
    target = _nearest_of_smallest_row(tree, found, places, smallest, threads)
    found.reach[places] = np.inf
    # Where the target is none of the equal points, the smallest needs its edge, too.
    outside = np.unique(smallest[target != smallest])
    targets = dict(zip(smallest.tolist(), target.tolist(), strict=True))
    a = np.append(places, outside)
    b = np.append(target, [targets[place] for place in outside.tolist()])
    return Edges(a, b.astype(np.uint32), found.cores[a])


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
    asked = np.zeros(n, np.bool_)
    asked[smallest] = True
    nodes = len(tree.left)
    least_core = np.empty(nodes)
    find_least_cores(tree, found.cores, least_core)
    of_node = np.empty(nodes, np.uint32)
    bound = found.cores.copy()
    components = Components(of_place, of_node, found.cores, least_core, bound)
    name_nodes(tree, components)
    parts = threads.map(
        lambda first, last: lightest(tree, components, asked, first, last),
        leaf_ranges(tree),
    )
    here, other, _ = map(np.concatenate, zip(*parts, strict=True))
    nearer = tree.rows[other] < tree.rows[here]
    best = np.arange(n, dtype=np.uint32)
    best[here[nearer]] = other[nearer]
    return best[smallest]
