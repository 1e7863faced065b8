"""Equal points: in searches, one represents all of them.

Equal points have the same distances to all others, so their numbers decide, and the
smallest of them has the first edges in the order. Each of the others has one edge in
the forest, its lightest: to the point of the smallest number among those as near as its
equals, most often one of these. Without this, searches would visit all points that are
equally near, which are many where many are equal.

Equal points are all on one rank.
"""

from typing import NamedTuple

import numpy as np

from .boruvka_rounds import find_lightest, key_of
from .kernels.boruvka_steps import PointEdges
from .kernels.lightest_edges import (
    NO_POSITION,
    Components,
    RemoteQueries,
    lightest_of_queries,
    sum_up,
)
from .kernels.norms import LARGEST
from .neighbours import Neighbours, PointIndex


class EqualPoints(NamedTuple):
    """The points that equal another of a smaller number.

    Attributes
    ----------
    positions : ndarray of uint32
    smallest : ndarray of uint32
        The position of the smallest point that equals each.
    target : ndarray of uint32
        The far end of the lightest edge of each, and of the smallest.
    """

    positions: np.ndarray
    smallest: np.ndarray
    target: np.ndarray

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the forest edges of these points.

        If the target equals none of the points, the smallest has its edge to it, too.
        """
        outside = self.target != self.smallest
        smallest, one = np.unique(self.smallest[outside], return_index=True)
        targets = self.target, self.target[outside][one]
        return np.append(self.positions, smallest), np.concatenate(targets)


def join_equal(index: PointIndex, found: Neighbours) -> PointEdges:
    """Return the forest edges of points that equal another of a smaller number.

    Collective. The reach of these points becomes infinite: they have no other edge.
    """
    rows, remote = index.tree.rows, index.remote
    equal = _find_equal(index, found)
    if not index.alone:
        smallest, group = np.unique(equal.smallest, return_inverse=True)
        elsewhere, row = _first_on_other_ranks(index, found.cores, smallest)
        nearer = row[group] < rows[equal.target]
        equal = equal._replace(target=np.where(nearer, elsewhere[group], equal.target))
    a, b = equal.ends()
    return PointEdges(
        a, b, found.cores[a], key_of(rows[a], remote.gather_values(rows, b))
    )


def _find_equal(index: PointIndex, found: Neighbours) -> EqualPoints:
    """Return the points that equal another, with targets on this rank."""
    positions = found.doubled
    if len(positions) == 0:
        none = np.empty(0, np.uint32)
        return EqualPoints(none, none, none)
    position_of = np.empty(len(index.points), np.uint32)
    position_of[index.order] = np.arange(len(index.points), dtype=np.uint32)
    smallest = position_of[equal_points(index.points, index.order[positions])]
    others = positions != smallest
    positions, smallest = positions[others].astype(np.uint32), smallest[others]
    target = _nearest_of_smallest_row(index, found, positions, smallest)
    found.reach[positions] = np.inf
    return EqualPoints(positions, smallest, target)


def equal_points(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return for some rows the smallest of these rows that is the same point.

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


def _nearest_of_smallest_row(
    index: PointIndex,
    found: Neighbours,
    positions: np.ndarray,
    smallest: np.ndarray,
) -> np.ndarray:
    """Return the far end, on this rank, of each point's first edge."""
    tree = index.tree
    n, nodes = len(tree.rows), len(tree.left)
    of_position = np.arange(n, dtype=np.uint32)
    of_position[positions] = smallest
    queries = np.unique(smallest)
    components = Components(
        of_position=of_position,
        of_node=np.empty(nodes, np.uint32),
        cores=found.cores,
        reach=found.cores,
        least_reach=np.empty(nodes),
        bound=found.cores.copy(),
    )
    sum_up(tree, components)
    other, _ = find_lightest(tree, components, queries, index.threads)
    nearer = tree.rows[other] < tree.rows[queries]
    best = np.where(nearer, other, queries)
    return best[np.searchsorted(queries, smallest)]


def _first_on_other_ranks(
    index: PointIndex, cores: np.ndarray, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each point's first edge to another rank that weighs its core distance.

    Collective.

    Returns
    -------
    ends : ndarray of uint32
        Positions.
    rows : ndarray of uint32
        The users' numbers of the ends; the largest number if no end has a smaller
        number than the point.
    """
    tree, remote = index.tree, index.remote
    dimensions, nodes = index.points.shape[1], len(tree.left)
    alike = Components(
        of_position=np.zeros(len(index.points), np.uint32),
        of_node=np.empty(nodes, np.uint32),
        cores=cores,
        reach=cores,
        least_reach=np.empty(nodes),
        bound=cores,
    )
    sum_up(tree, alike)

    def answer(points: np.ndarray, core: np.ndarray, row: np.ndarray) -> list:
        # Each query is a component of its own, with a bound of its own.
        component = np.arange(1, len(row) + 1, dtype=np.uint32)
        points = points.reshape(-1, dimensions)
        queries = RemoteQueries(points, component, core, row, core.copy())
        components = alike._replace(bound=np.append(np.inf, core))
        ends = np.empty(len(row), np.uint32)
        lightest_of_queries(tree, components, queries, ends, 0, len(row))
        found = np.flatnonzero(ends != NO_POSITION)
        rows = np.full(len(row), NO_POSITION)
        rows[found] = tree.rows[ends[found]]
        ends += np.uint32(remote.first)
        rows[rows > row] = NO_POSITION
        return [ends, rows]

    ends, rows = (
        np.full(len(positions), NO_POSITION),
        np.full(len(positions), NO_POSITION),
    )
    points = index.coordinates(positions)
    reduced = index.norm.reduced(cores[positions]) * (1 + 1e-15)
    for step, rank in remote.ring():
        near = remote.distances_to_box(rank, points) <= reduced
        asking = np.flatnonzero(near & (cores[positions] < LARGEST))
        chosen = positions[asking]
        columns = points[asking], cores[chosen], tree.rows[chosen]
        for part, (end, row) in remote.query(step, columns, answer):
            smaller = row < rows[asking[part]]
            here = asking[part][smaller]
            ends[here] = end[smaller] - np.uint32(remote.first)
            rows[here] = row[smaller]
    return ends, rows
