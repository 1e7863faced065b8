"""The nearest neighbours of points among those of all ranks; and the graph of them.

A kernel computes the distances to all points of a leaf with vector instructions, and
rounds them like all other distances here; SciPy's and pykdtree's searches do not. With
several ranks, a point searches its own rank first, and then the ranks whose boxes are
nearer than the furthest neighbour found.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..host.cores import core_count
from ..host.counted import counted
from ..host.errors import ConfigError
from ..io.edges import Edges, checked_edges
from ..kernels.threads import Threads
from .build_tree import build_tree, chunks
from .kernels.kd_tree import PointTree
from .kernels.lightest_edges import NO_POSITION
from .kernels.nearest_points import list_edges, nearest, nearest_to_queries, weigh
from .metrics import Norm
from .remote_points import NoRemotePoints, RemotePoints
from .scale import extremes, scale_for

LEAST_QUERIES = 64  # least queries of another rank for a thread


@dataclass(frozen=True)
class PointIndex:
    """A rank's points, their tree, and access to the points of other ranks.

    Attributes
    ----------
    tree : PointTree
        Its rows are the users' numbers of the points.
    points : ndarray of float64, shape (points, dimensions)
        By user's number, ascending.
    order : ndarray of uint32, shape (points,)
        The index in `points` of the point at each position.
    norm : Norm
    remote : RemotePoints
    threads : Threads
    """

    tree: PointTree
    points: np.ndarray
    order: np.ndarray
    norm: Norm
    remote: RemotePoints
    threads: Threads

    @property
    def alone(self) -> bool:
        """Whether this rank owns all points."""
        return len(self.points) == self.remote.total

    def coordinates(self, positions: np.ndarray) -> np.ndarray:
        """Return the points at some positions."""
        return self.points[self.order[positions]]


class Neighbours(NamedTuple):
    """The nearest neighbours of the points of a tree, by position.

    Attributes
    ----------
    weight : ndarray of float64, shape (points, k)
        Distances, or mutual reachability distances, in the order of distances.
    positions : ndarray of uint32, shape (points, k)
        See `remote_points` for those of other ranks.
    cores : ndarray of float64, shape (points,)
        Distances to the `min_samples`-th neighbour; zeros for plain distances.
    reach : ndarray of float64, shape (points,)
        Lower bound of the distances to points that are not listed; infinity if all are.
    doubled : ndarray of int64
        The positions of points at distance zero from another.
    """

    weight: np.ndarray
    positions: np.ndarray
    cores: np.ndarray
    reach: np.ndarray
    doubled: np.ndarray


def find_neighbours(index: PointIndex, k: int, min_samples: int) -> Neighbours:
    """Return the k nearest neighbours of every point of this rank. Collective.

    Parameters
    ----------
    k : int
        At least `min_samples` and 1; fewer than points.
    min_samples : int
        0 for plain distances; else mutual reachability: a point's core distance is that
        to its `min_samples`-th neighbour, itself not counted.
    """
    tree, threads, remote = index.tree, index.threads, index.remote
    n = len(tree.rows)
    distance = np.empty((n, k))
    positions = np.zeros((n, k), np.uint32)  # a rank may have fewer points than k
    leaves = chunks(len(tree.leaves), threads)
    threads.map(nearest, [(tree, distance, positions, *chunk) for chunk in leaves])
    _query_ranks(index, distance, positions)
    doubled = np.flatnonzero(distance[:, 0] == 0)
    ranges = threads.ranges(n)
    if index.norm == Norm.EUCLIDEAN:
        threads.map(lambda b, e: np.sqrt(distance[b:e], out=distance[b:e]), ranges)
    reach = distance[:, -1].copy()
    if k == remote.total - 1:
        reach[:] = np.inf
    cores = np.zeros(n)
    if min_samples:
        cores = distance[:, min_samples - 1].copy()
        threads.map(weigh, [(distance, positions, cores, *bounds) for bounds in ranges])
        if not index.alone:
            row, j = np.nonzero(positions >= n)
            far = remote.gather_values(cores, positions[row, j])
            both = np.maximum(cores[row], far)
            distance[row, j] = np.maximum(distance[row, j], both)
    return Neighbours(distance, positions, cores, reach, doubled)


def _query_ranks(
    index: PointIndex, distance: np.ndarray, positions: np.ndarray
) -> None:
    """Replace neighbours by nearer ones of other ranks. Collective."""
    tree, remote, threads = index.tree, index.remote, index.threads
    k, dimensions = distance.shape[1], index.points.shape[1]
    first = np.uint32(remote.first)

    def answer(queries: np.ndarray, limits: np.ndarray) -> list[np.ndarray]:
        queries = queries.reshape(-1, dimensions)
        far = np.repeat(limits, k).reshape(-1, k)
        near = np.full(far.shape, NO_POSITION)
        ranges = threads.ranges(len(queries), LEAST_QUERIES)
        threads.map(
            nearest_to_queries, [(tree, queries, far, near, *b) for b in ranges]
        )
        near += first
        return [far.ravel(), near.ravel()]

    for step, rank in remote.ring():
        points = index.coordinates(np.arange(len(tree.rows)))
        asking = np.flatnonzero(remote.distances_to_box(rank, points) < distance[:, -1])
        columns = points[asking], distance[asking, -1]
        for part, (far, near) in remote.query(step, columns, answer):
            here = asking[part]
            # A missing neighbour has the distance of the last one listed, which the
            # stable sort prefers.
            both = np.append(distance[here], far.reshape(-1, k), axis=1)
            every = np.append(positions[here], near.reshape(-1, k) - first, axis=1)
            chosen = np.argsort(both, axis=1, kind="stable")[:, :k]
            distance[here] = np.take_along_axis(both, chosen, axis=1)
            positions[here] = np.take_along_axis(every, chosen, axis=1)


def neighbour_graph(
    points: np.ndarray,
    neighbours: int,
    min_samples: int = 0,
    name: str = "the points",
) -> Edges:
    """Return the graph that joins every point with its nearest neighbours.

    Its forest approximates that of all distances: see `points_forest`.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
    neighbours : int
        Least number of neighbours of a point; of two points one suffices.
    min_samples : int
        0 for distances as weights; else mutual reachability distances, the core
        distance of a point being that to its `min_samples`-th neighbour.
    name : str
        The points' name in errors.

    Returns
    -------
    Edges
        With weights of float64.

    Raises
    ------
    ConfigError
        If there are too few points.
    MissingExtraError
        If SciPy is not installed.
    """
    if not 0 <= min_samples <= neighbours < len(points) or neighbours < 1:
        raise ConfigError(
            f"{name}: {counted(neighbours, 'neighbour')} and core {min_samples} do "
            f"not suit {counted(len(points), 'point')}: core <= neighbours < points."
        )
    threads = Threads(core_count())
    scale = scale_for(Norm.EUCLIDEAN, *extremes(points))
    index = index_alone(scale.scaled(points), Norm.EUCLIDEAN, threads)
    found = find_neighbours(index, neighbours, min_samples)
    rows = index.tree.rows
    ranges = threads.ranges(len(rows))
    parts = threads.map(
        list_edges, [(found.weight, found.positions, rows, *b) for b in ranges]
    )
    a, b, weight = map(np.concatenate, zip(*parts, strict=True))
    src, dst = rows[a], rows[b]
    scale.check(weight, lambda near: (points[src[near]] != points[dst[near]]).any(1))
    weight = scale.original(weight)
    return checked_edges(name, len(points), src, dst, weight, directed=True)


def index_alone(points: np.ndarray, norm: Norm, threads: Threads) -> PointIndex:
    """Return the index of points that this process owns alone."""
    tree = build_tree(points, norm, threads)
    remote = NoRemotePoints(len(points))
    return PointIndex(tree, points, tree.rows, norm, remote, threads)
