"""The exact forest of points that are dealt to ranks by space.

Each rank finds the neighbours of its points among those of all ranks, and joins points
along edges that are certain: they lie inside, and are lighter than all that may leave
their component, also to other ranks. Components and the edges left between them are
few; Borůvka rounds of all ranks join these (`dealt_rounds`). The order of edges is that
of `forest`, and so is the result, whatever the number of ranks.
"""

import numpy as np

from ..comm.communicator import Comm
from ..host.errors import ConfigError, InputError
from ..kernels.threads import Threads
from .certain import join_listed
from .deal import Dealt, deal
from .dealt_neighbours import DealtPoints, find_neighbours, join_equal
from .dealt_rounds import Crossing, DealtSearch
from .forest import (
    PointForest,
    forest_of_keys,
    key_of,
    linked,
    neighbours_to_list,
    points_forest,
)
from .kernels.edges import Edges, all_of
from .kernels.rounds import name_components
from .metric import prepared
from .neighbours import Neighbours
from .others import Others
from .scale import LEAST_DISTANCE, Scale, extremes, scale_for
from .tree import build_tree

# Fewer points a rank are not worth dealing.
FEW = 64


def dealt_forest(
    comm: Comm,
    part: np.ndarray,
    metric: str,
    min_samples: int = 0,
    *,
    neighbours: int = 0,
    threads: int = 1,
) -> PointForest | None:
    """Return on rank 0 the exact forest of the points of all ranks. Collective.

    Parameters
    ----------
    part : ndarray of float64, shape (points, dimensions)
        Those of this rank, which are numbered after those of the ranks before it.
    metric, min_samples, neighbours
        See `points_forest`.
    threads : int
        Of this rank.

    Raises
    ------
    ConfigError, InputError, MissingExtraError
        On all ranks; see `points_forest`.
    """
    first, total = comm.exscan(len(part)), comm.sum(len(part))
    with comm.raise_on_all():
        if total >= 1 << 32:
            raise InputError(f"{total:,} points; at most 2^32 - 1 points are supported")
        if min_samples < 0 or neighbours < 0:
            raise ConfigError("min_samples and neighbours are 0 or more")
        computed = prepared(part, metric, first)
    if total < FEW * comm.size:
        dimensions = computed.shape[1]
        points = comm.allgatherv(part.ravel()).reshape(total, -1)
        if comm.rank or dimensions == 0:
            return None
        return points_forest(
            points, metric, min_samples, neighbours=neighbours, threads=threads
        )
    min_samples = min(min_samples, total - 1)
    k = neighbours_to_list(neighbours, min_samples, total)
    smallest, largest = extremes(computed)
    scale = scale_for(metric, comm.min(smallest), comm.max(largest))
    computed = scale.scaled(computed)
    mine = deal(comm, computed, first)
    read = computed if scale.wide else computed[:0]
    del computed
    some = comm.split(0 if len(mine.rows) else None)  # where most points are equal
    edges, certain = _no_edges(), 0
    if some is not None:
        manhattan, team = metric == "manhattan", Threads(threads)
        edges, certain = _join(some, mine, manhattan, (k, min_samples), team)
        some.free()
    certain = comm.sum(certain)
    gathered = _gather(comm, edges)
    if scale.wide:
        _check(comm, scale, gathered, read, first)
    if gathered is None:
        return None
    weight, key = gathered
    found = forest_of_keys(scale.original(weight), key, total, metric)
    return PointForest(found, certain, True)


def _check(
    comm: Comm,
    scale: Scale,
    edges: tuple[np.ndarray, np.ndarray] | None,
    read: np.ndarray,
    first: int,
) -> None:
    """Refuse a forest, on all ranks, if squares of distances may have been zero.

    Parameters
    ----------
    edges : tuple of ndarray, or None
        On rank 0 the weights and keys of all edges.
    read : ndarray of float64, shape (points, dimensions)
        The scaled points that this rank has read, numbered from `first` on.
    """
    weight, key = _no_edges() if edges is None else edges
    near = weight < LEAST_DISTANCE
    weight, key = comm.allgatherv(weight[near]), comm.allgatherv(key[near])
    differs = np.zeros(len(key), np.int64)
    for column in read.T:
        ends = []
        for end in (key >> np.uint64(32), key & np.uint64(0xFFFFFFFF)):
            place = end.astype(np.int64) - first
            mine = (place >= 0) & (place < len(column))
            values = np.zeros(len(key))
            values[mine] = column[place[mine]]
            ends.append(comm.sum(values))
        differs |= ends[0] != ends[1]
    with comm.raise_on_all():
        scale.check(weight, lambda positions: differs[positions] > 0)


def _no_edges() -> tuple[np.ndarray, np.ndarray]:
    return np.empty(0), np.empty(0, np.uint64)


def _join(
    comm: Comm,
    mine: Dealt,
    manhattan: bool,
    counts: tuple[int, int],
    threads: Threads,
) -> tuple[tuple[np.ndarray, np.ndarray], int]:
    """Return weights and keys of a share of the forest's edges, and how many are sure.

    Parameters
    ----------
    counts : (int, int)
        Neighbours to list, and `min_samples`.
    """
    with comm.raise_on_all():
        tree = build_tree(mine.points, manhattan, threads)
    order = tree.rows
    tree = tree._replace(rows=mine.rows[order])
    others = Others(comm, tree)
    dealt = DealtPoints(tree, mine.points[order], others, threads)
    found = find_neighbours(dealt, *counts)
    equal = join_equal(dealt, found, mine.points)
    found = found._replace(places=found.places - np.uint32(others.first))
    equal, cut = _cut(equal, others.first, found)
    cores, reach = found.cores, found.reach
    within = reach.copy()
    np.minimum.at(within, cut.a, cut.weight)
    parent = linked(equal, len(reach))
    joined, known = join_listed(found, tree.rows, within, parent)
    del found
    sure = all_of([equal, joined])
    first_of, count = _first_components(comm, parent)
    crossing = Crossing(
        np.append(first_of[known.a], first_of[cut.a]),
        np.append(first_of[known.b], others.fetch(first_of, cut.b)),
        np.append(known.weight, cut.weight),
        np.append(
            key_of(tree.rows[known.a], tree.rows[known.b]),
            key_of(tree.rows[cut.a], others.fetch(tree.rows, cut.b)),
        ),
    )
    rounds = DealtSearch(dealt, cores, reach, first_of, count).finish(crossing)
    keys = key_of(tree.rows[sure.a], tree.rows[sure.b])
    columns = zip((sure.weight, keys), *rounds, strict=True)
    weight, key = map(np.concatenate, columns)
    return (weight, key), len(keys)


def _first_components(comm: Comm, parent: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the component that each point is linked to, and how many of all.

    They are numbered over all ranks.
    """
    first_of = np.empty_like(parent)
    here = int(name_components(parent, first_of))
    first_of += np.uint32(comm.exscan(here))
    return first_of, comm.sum(here)


def _cut(equal: Edges, first: int, found: Neighbours) -> tuple[Edges, Edges]:
    """Return the edges of equal points inside this rank, and all edges to others.

    The second ends of the latter are global places.

    Parameters
    ----------
    equal : Edges
        The second ends are global places.
    first : int
        The first of these of this rank.
    found : Neighbours
        Places are counted from `first`, so that those of other ranks are too large.
    """
    n, offset = len(found.cores), np.uint32(first)
    place, j = np.nonzero(found.places >= n)
    far = found.places[place, j] + offset
    listed = Edges(place.astype(np.uint32), far, found.weight[place, j])
    outside = equal.b - offset >= n
    inside = equal.take(~outside)
    within = inside._replace(b=inside.b - offset)
    return within, all_of([listed, equal.take(outside)])


def _gather(
    comm: Comm, edges: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return on rank 0 the weights and keys of all ranks."""
    if comm.rank:
        comm.send(edges, 0)
        return None
    parts = [edges, *(comm.recv(rank) for rank in range(1, comm.size))]
    weight, key = map(np.concatenate, zip(*parts, strict=True))
    return weight, key
