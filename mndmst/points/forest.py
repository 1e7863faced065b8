"""The exact minimum spanning forest of points.

Every point lists the edges to its nearest neighbours, and components join along them
in Borůvka rounds (`certain`). The lightest listed edge that leaves a component is
certain if no point of it may have an edge as light that is not listed: the cut property
holds for all edges then, not for the listed ones alone. Where no component has such an
edge, points search again (`rounds`). This is the single-tree Borůvka of Prokopenko, Sao
and Lebrun-Grandié (ICPP 2022), after the dual-tree one of March, Ram and Gray (KDD
2010); McInnes and Healy (ICDMW 2017) begin with the neighbours that core distances
need, too.

Edges are compared by (distance, smaller point, larger point), and all distances have
one formula, so the forest does not depend on threads, nor on how many neighbours are
listed.
"""

from dataclasses import dataclass

import numpy as np

from ..api.forest import Forest
from ..host.cores import core_count
from ..host.errors import ConfigError, InputError
from ..kernels.threads import Threads
from ..native.precompile import compile_for
from .certain import join_listed
from .coordinates import point_coordinates
from .duplicates import join_equal
from .kernels.edges import Edges, all_of
from .kernels.rounds import join
from .metric import shown
from .rounds import Search
from .search_choice import check_search, choose_search, make_search
from .search_reporter import SearchReporter

# Neighbours that are listed beyond those of core distances, and at least. More take
# longer to find; with fewer more edges are not certain.
BEYOND, LEAST = 4, 6
# Those of the approximate forest.
APPROXIMATE = 16


@dataclass(frozen=True)
class PointForest:
    """The forest of points, and how it was found.

    Attributes
    ----------
    forest : Forest
        Vertices are the points, by number.
    certain : int
        Edges of the forest of nearest neighbours that are in the exact one for certain.
    exact : bool
        Whether the forest is that of all distances.
    search : str
        The search that found it; see `search_choice`. Empty where there was none.
    """

    forest: Forest
    certain: int
    exact: bool
    search: str = ""


def points_forest(
    points: np.ndarray,
    metric: str = "euclidean",
    min_samples: int = 0,
    *,
    approximate: bool = False,
    neighbours: int = 0,
    threads: int = 0,
    search: str = "auto",
    reporter: SearchReporter | None = None,
) -> PointForest:
    """Return the minimum spanning forest of the distances between all points.

    Parameters
    ----------
    points : ndarray of numbers, shape (points, dimensions)
        Finite, and no larger than `read.LARGEST`. Searches by products make no float64
        copy of them.
    metric : {"euclidean", "manhattan", "cosine", "haversine"}
    min_samples : int
        0 for distances; else mutual reachability distances: the largest of the distance
        and of both core distances, those to the `min_samples`-th neighbour. A point is
        no neighbour of itself, as in hdbscan. At most all other points count.
    approximate : bool
        Return the forest of the nearest neighbours' graph, which is fast in many
        dimensions. It may have several trees.
    neighbours : int
        How many are listed; 0 chooses. Without `approximate` a matter of speed alone.
    threads : int
        0 for all cores this process may use.
    search : {"auto", "tree", "product"}
        See `choose_search`; a matter of speed alone.
    reporter : SearchReporter, optional

    Returns
    -------
    PointForest

    Raises
    ------
    ConfigError
        If there is no such metric, or a number is negative.
    InputError
        If the points do not suit the metric, or there are none.
    MissingExtraError
        If SciPy is not installed.
    """
    n = len(points)
    if n == 0 or points.shape[1] == 0:
        raise InputError(f"the point array is empty: its shape is {points.shape}")
    if n >= 1 << 32:
        raise InputError(f"{n:,} points; at most 2^32 - 1 points are supported")
    if min_samples < 0 or neighbours < 0:
        raise ConfigError("min_samples and neighbours are 0 or more")
    check_search(search, metric)
    reporter = reporter or SearchReporter()
    team = Threads(threads or core_count())
    computed = point_coordinates(points, metric)
    if n == 1:
        key = np.empty(0, np.uint64)
        return PointForest(forest_of_keys(np.empty(0), key, 1, metric), 0, True)
    compile_for("points")
    min_samples = min(min_samples, n - 1)
    usual = APPROXIMATE if approximate else 0
    k = neighbours_to_list(neighbours or usual, min_samples, n)
    choice = choose_search(computed, metric, search, k)
    reporter.detail(f"search by {choice.name}: {choice.reason}")
    searched = make_search(computed, metric, choice, team, reporter)
    found = searched.neighbours(k, min_samples)
    equal = join_equal(computed.of, searched, found)
    parent = linked(equal, n)
    sure, rest = join_listed(found, searched.rows, found.reach, parent)
    certain = len(equal.a) + len(sure.a)
    cores, reach = found.cores, found.reach
    del found  # most of the memory
    if not approximate:
        rest = Search(searched, cores, reach, reporter.components).finish(parent, rest)
    edges = all_of([equal, sure, rest])
    exact = not approximate or certain == n - 1
    a, b = searched.rows[edges.a], searched.rows[edges.b]
    scale = computed.scale
    scale.check(
        edges.weight,
        lambda near: (computed.of(a[near]) != computed.of(b[near])).any(axis=1),
    )
    weight = scale.original(edges.weight)
    forest = forest_of_keys(weight, key_of(a, b), n, metric)
    return PointForest(forest, certain, exact, choice.name)


def neighbours_to_list(neighbours: int, min_samples: int, points: int) -> int:
    """Return how many neighbours of each point are listed; 0 of them chooses."""
    usual = max(min_samples + BEYOND, LEAST)
    return min(max(neighbours or usual, min_samples, 1), points - 1)


def linked(edges: Edges, points: int) -> np.ndarray:
    """Return the union-find links of points that the edges of a forest join."""
    parent = np.arange(points, dtype=np.uint32)
    every = np.arange(len(edges.a))
    join(edges, every, np.ones(len(every), np.bool_), parent)
    return parent


def key_of(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return what orders edges of one weight: the smaller number, then the larger."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    return low.astype(np.uint64) << np.uint64(32) | high


def forest_of_keys(
    weight: np.ndarray, key: np.ndarray, points: int, metric: str
) -> Forest:
    """Return a forest of points whose edges have these weights and keys."""
    order = np.argsort(key)
    key = key[order]
    src, dst = key >> np.uint64(32), key & np.uint64(0xFFFFFFFF)
    columns = src.astype(np.int64), dst.astype(np.int64)
    labels = np.zeros(points, np.int64)
    if len(order) + 1 < points:
        from ..kernels.kruskal import component_labels

        labels = component_labels(*columns, np.ones(len(order), np.bool_), points)
    return Forest(*columns, shown(weight[order], metric), labels)
