"""The nearest neighbours of the points of every rank, among those of all ranks.

A point first looks among those of its rank; then it asks the ranks whose boxes are
nearer than the furthest of what it has.
"""

from typing import NamedTuple

import numpy as np

from ..kernels.threads import Threads
from .duplicates import find_equal
from .kernels.edges import Edges
from .kernels.nearest import nearest
from .kernels.search import NOBODY, Components, sum_up
from .kernels.strangers import Strangers, lightest_to, nearest_to
from .kernels.tree import LARGEST, PointTree
from .neighbours import Neighbours
from .others import Others
from .point_search import TreeSearch
from .steps import no_report
from .tree import pieces


class DealtPoints(NamedTuple):
    """The points of a rank, in the order of its tree; rows are numbers among all.

    Attributes
    ----------
    tree : PointTree
    points : ndarray of float64, shape (points, dimensions)
    others : Others
    threads : Threads
    """

    tree: PointTree
    points: np.ndarray
    others: Others
    threads: Threads


def find_neighbours(dealt: DealtPoints, k: int, min_samples: int) -> Neighbours:
    """Return the k nearest neighbours of a rank's points. Collective.

    See `neighbours.find_neighbours`; places are global ones.
    """
    tree, points, others, threads = dealt
    n = len(points)
    distance = np.empty((n, k))
    places = np.zeros((n, k), np.uint32)  # a rank may have fewer points than k
    leaves = pieces(len(tree.leaves), threads)
    threads.map(nearest, [(tree, distance, places, *piece) for piece in leaves])
    places += np.uint32(others.first)
    _ask_others(dealt, distance, places)
    doubled = np.flatnonzero(distance[:, 0] == 0)
    if not tree.manhattan:
        np.sqrt(distance, out=distance)
    reach = distance[:, -1].copy()
    if k == others.count - 1:
        reach[:] = np.inf
    cores = np.zeros(n)
    if min_samples:
        cores = distance[:, min_samples - 1].copy()
        here = places - np.uint32(others.first)  # of another rank it is too large
        away = here >= n
        far = cores[np.where(away, 0, here)]
        far[away] = others.fetch(cores, places[away])
        np.maximum(distance, np.maximum(far, cores[:, None]), out=distance)
    return Neighbours(distance, places, cores, reach, doubled)


def _ask_others(dealt: DealtPoints, distance: np.ndarray, places: np.ndarray) -> None:
    """Replace neighbours by nearer ones of other ranks."""
    tree, points, others, threads = dealt
    k, dimensions = distance.shape[1], points.shape[1]

    def answer(asking: np.ndarray, limits: np.ndarray) -> list[np.ndarray]:
        asking = asking.reshape(-1, dimensions)
        far = np.repeat(limits, k).reshape(-1, k)
        near = np.full(far.shape, NOBODY)
        what = tree, asking, far, near
        ranges = threads.ranges(len(asking), 64)
        threads.map(nearest_to, [(*what, *bounds) for bounds in ranges])
        near[near != NOBODY] += np.uint32(others.first)
        return [far.ravel(), near.ravel()]

    for step, rank in others.steps():
        asking = np.flatnonzero(others.gaps(rank, points) < distance[:, -1])
        columns = points[asking], distance[asking, -1]
        for part, (far, near) in others.ask(step, columns, answer):
            here = asking[part]
            both = np.append(distance[here], far.reshape(-1, k), axis=1)
            every = np.append(places[here], near.reshape(-1, k), axis=1)
            chosen = np.argsort(both, axis=1, kind="stable")[:, :k]
            distance[here] = np.take_along_axis(both, chosen, axis=1)
            places[here] = np.take_along_axis(every, chosen, axis=1)


def join_equal(dealt: DealtPoints, found: Neighbours, unsorted: np.ndarray) -> Edges:
    """Return the forest edges of points that equal another of a smaller number.

    Collective. See `duplicates.join_equal`; the second ends are global places.

    Parameters
    ----------
    unsorted : ndarray of float64, shape (points, dimensions)
        The points of this rank in the order of their numbers.
    """
    tree, others = dealt.tree, dealt.others
    here = np.argsort(np.argsort(tree.rows)).astype(np.uint32)
    search = TreeSearch(tree._replace(rows=here), dealt.threads, no_report)
    equal = find_equal(unsorted.__getitem__, search, found)
    target = equal.target + np.uint32(others.first)
    smallest, group = np.unique(equal.smallest, return_inverse=True)
    elsewhere, row = _first_elsewhere(dealt, found.cores, smallest)
    nearer = row[group] < tree.rows[equal.target]
    target[nearer] = elsewhere[group][nearer]
    local = equal.smallest + np.uint32(others.first)
    a, b = equal._replace(smallest=local, target=target).ends()
    a[len(equal.places) :] -= np.uint32(others.first)
    return Edges(a, b, found.cores[a])


def _first_elsewhere(
    dealt: DealtPoints, cores: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of the edges to other ranks that weigh a core distance.

    Returns
    -------
    ends : ndarray of uint32
        Global places.
    rows : ndarray of uint32
        Their numbers; the largest where there is none that is smaller than the own.
    """
    tree, points, others, _ = dealt
    dimensions, nodes = points.shape[1], len(tree.left)
    of = np.zeros(len(points), np.uint32), np.empty(nodes, np.uint32)
    alike = Components(*of, cores, cores, np.empty(nodes), cores)
    sum_up(tree, alike)

    def answer(asking: np.ndarray, core: np.ndarray, row: np.ndarray) -> list:
        # Each is a component of its own, and has a bound of its own.
        component = np.arange(1, len(row) + 1, dtype=np.uint32)
        asking = asking.reshape(-1, dimensions)
        strangers = Strangers(asking, component, core, row, core.copy())
        components = alike._replace(bound=np.append(np.inf, core))
        ends = np.empty(len(row), np.uint32)
        lightest_to(tree, components, strangers, ends, 0, len(row))
        found = np.flatnonzero(ends != NOBODY)
        rows = np.full(len(row), NOBODY)
        rows[found] = tree.rows[ends[found]]
        ends[found] += np.uint32(others.first)
        rows[rows > row] = NOBODY
        return [ends, rows]

    ends, rows = np.full(len(places), NOBODY), np.full(len(places), NOBODY)
    for step, rank in others.steps():
        reduced = cores[places] if tree.manhattan else cores[places] ** 2
        near = others.gaps(rank, points[places]) <= reduced * (1 + 1e-15)
        asking = np.flatnonzero(near & (cores[places] < LARGEST))
        chosen = places[asking]
        columns = points[chosen], cores[chosen], tree.rows[chosen]
        for part, (end, row) in others.ask(step, columns, answer):
            here = asking[part][row < rows[asking[part]]]
            ends[here] = end[row < rows[asking[part]]]
            rows[here] = row[row < rows[asking[part]]]
    return ends, rows
