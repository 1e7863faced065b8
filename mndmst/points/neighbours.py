"""The nearest neighbours of points, with exact distances; and the graph of them.

The tree is SciPy's. The search is not: SciPy's and pykdtree's take the distances of
a point one by one, a kernel those to all points of a leaf with vector instructions, and
its rounding is that of all other distances here.
"""

from typing import NamedTuple

import numpy as np

from ..host.cores import core_count
from ..host.errors import ConfigError
from ..host.formatting import counted
from ..io.edges import Edges, checked_edges
from ..kernels.threads import Threads
from .kernels.edges import list_edges, weigh
from .kernels.nearest import nearest
from .kernels.tree import PointTree
from .scale import extremes, scale_for
from .steps import Report, in_steps, no_report
from .tree import build_tree


class Neighbours(NamedTuple):
    """The nearest neighbours of the points of a tree, by place.

    Attributes
    ----------
    weight : ndarray of float64, shape (points, k)
        Distances, or mutual reachability distances, in the order of distances.
    places : ndarray of uint32, shape (points, k)
    cores : ndarray of float64, shape (points,)
        Distances to the `min_samples`-th neighbour; zeros for plain distances.
    reach : ndarray of float64, shape (points,)
        No point that is not listed is nearer; infinity where all are.
    doubled : ndarray of int64
        The places of points at distance zero from another.
    """

    weight: np.ndarray
    places: np.ndarray
    cores: np.ndarray
    reach: np.ndarray
    doubled: np.ndarray


def find_neighbours(
    tree: PointTree,
    k: int,
    min_samples: int,
    threads: Threads,
    report: Report = no_report,
) -> Neighbours:
    """Return the k nearest neighbours of every point.

    Parameters
    ----------
    k : int
        At least `min_samples` and 1; fewer than points.
    min_samples : int
        0 for plain distances; else mutual reachability: a point's core distance is that
        to its `min_samples`-th neighbour, itself not counted.
    """
    n = len(tree.rows)
    distance, places = np.empty((n, k)), np.empty((n, k), np.uint32)
    leaves = len(tree.leaves)
    in_steps(
        threads,
        nearest,
        (tree, distance, places),
        leaves,
        1,
        lambda done, _: report(n * done // leaves, n),
    )
    doubled = np.flatnonzero(distance[:, 0] == 0)
    ranges = threads.ranges(n)
    if not tree.manhattan:
        threads.map(lambda b, e: np.sqrt(distance[b:e], out=distance[b:e]), ranges)
    reach = distance[:, -1].copy() if k < n - 1 else np.full(n, np.inf)
    cores = np.zeros(n)
    if min_samples:
        cores = distance[:, min_samples - 1].copy()
        threads.map(weigh, [(distance, places, cores, *bounds) for bounds in ranges])
    return Neighbours(distance, places, cores, reach, doubled)


def listed(
    tree: PointTree, neighbours: Neighbours, threads: Threads
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges to the neighbours: both places (uint32) and the weight."""
    columns = neighbours.weight, neighbours.places, tree.rows
    ranges = threads.ranges(len(tree.rows))
    parts = threads.map(list_edges, [(*columns, *bounds) for bounds in ranges])
    a, b, weight = map(np.concatenate, zip(*parts, strict=True))
    return a, b, weight


def neighbour_graph(
    points: np.ndarray,
    neighbours: int,
    min_samples: int = 0,
    name: str = "the points",
) -> Edges:
    """Return the graph that joins every point with its nearest ones.

    Its forest is near that of all distances, not equal: see `points_forest`.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
    neighbours : int
        How many each point is joined with, at least; of two points one suffices.
    min_samples : int
        0 for distances as weights; else mutual reachability distances, the core
        distance of a point being that to its `min_samples`-th neighbour.
    name : str
        What the points are called in errors.

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
    scale = scale_for("euclidean", *extremes(points))
    tree = build_tree(scale.scaled(points), False, threads)
    found = find_neighbours(tree, neighbours, min_samples, threads)
    a, b, weight = listed(tree, found, threads)
    src, dst = tree.rows[a], tree.rows[b]
    scale.check(weight, lambda near: (points[src[near]] != points[dst[near]]).any(1))
    weight = scale.original(weight)
    return checked_edges(name, len(points), src, dst, weight, directed=True)
