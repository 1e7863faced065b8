"""The exact forest of points that are dealt to ranks by space.

Each rank finds the neighbours of its points among those of all ranks, and makes the
forest of what lies inside. An edge of that is certain if it is lighter than all that
may leave its component, also to other ranks. Components and the edges left between them
are few; Borůvka rounds of all ranks join these (`dealt_rounds`). The order of edges is
that of `forest`, and so is the result, whatever the number of ranks.
"""

import numpy as np

from ..api.arrays import minimum_spanning_forest
from ..comm.communicator import Comm
from ..host.errors import ConfigError, InputError
from ..kernels.threads import Threads
from .deal import Dealt, deal
from .dealt_neighbours import DealtPoints, find_neighbours, join_equal
from .dealt_rounds import Crossing, DealtSearch
from .forest import (
    PointForest,
    certain_edges,
    forest_of_keys,
    key_of,
    neighbours_to_list,
    points_forest,
    taken,
)
from .kernels.edges import Edges
from .kernels.rounds import join, name_components
from .metric import prepared
from .neighbours import Neighbours, listed
from .others import Others
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
            raise InputError(f"{total:,} points; up to 2^32 - 1 are computed on")
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
    mine = deal(comm, computed, first)
    del computed
    some = comm.split(0 if len(mine.rows) else None)  # where most points are equal
    edges, certain = _no_edges(), 0
    if some is not None:
        manhattan, team = metric == "manhattan", Threads(threads)
        edges, certain = _join(some, mine, manhattan, (k, min_samples), team)
        some.free()
    certain = comm.sum(certain)
    gathered = _gather(comm, edges)
    if gathered is None:
        return None
    return PointForest(forest_of_keys(*gathered, total, metric), certain, True)


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
    inside, cut = _listed(dealt, found, equal)
    cores, reach = found.cores, found.reach
    del found, equal
    near = _near_forest(tree.rows, inside, threads)
    del inside
    within = reach.copy()
    np.minimum.at(within, cut.a, cut.weight)
    certain = certain_edges(near, within, threads)
    sure, known = taken(near, certain), taken(near, ~certain)
    first_of, count = _first_components(comm, sure, len(reach))
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


def _first_components(comm: Comm, sure: Edges, points: int) -> tuple[np.ndarray, int]:
    """Return the component that certain edges put each point in, and how many of all.

    They are numbered over all ranks.
    """
    parent = np.arange(points, dtype=np.uint32)
    every = np.arange(len(sure.a))
    join(sure, every, np.ones(len(every), np.bool_), parent)
    first_of = np.empty(points, np.uint32)
    here = int(name_components(parent, first_of))
    first_of += np.uint32(comm.exscan(here))
    return first_of, comm.sum(here)


def _listed(dealt: DealtPoints, found: Neighbours, equal: Edges) -> tuple[Edges, Edges]:
    """Return the listed edges inside this rank, and those to others.

    The second ends of the latter are global places.
    """
    n, first = len(found.cores), np.uint32(dealt.others.first)
    places = found.places - first  # of other ranks they are too large
    away = np.nonzero(places >= n)
    far = Edges(away[0].astype(np.uint32), found.places[away], found.weight[away])
    here = found._replace(places=places)
    near = Edges(*listed(dealt.tree, here, dealt.threads))
    del places, here
    outside = equal.b - first >= n
    within = taken(equal, ~outside)
    within = within._replace(b=within.b - first)
    return _both(near, within), _both(far, taken(equal, outside))


def _both(one: Edges, other: Edges) -> Edges:
    return Edges(*map(np.concatenate, zip(one, other, strict=True)))


def _near_forest(rows: np.ndarray, inside: Edges, threads: Threads) -> Edges:
    """Return the forest of edges between the points of this rank."""
    order = np.argsort(rows).astype(np.uint32)
    number = np.empty(len(rows), np.uint32)
    number[order] = np.arange(len(rows), dtype=np.uint32)
    ends = number[inside.a], number[inside.b]
    near = minimum_spanning_forest(
        *ends, inside.weight, len(rows), threads=threads.count
    )
    return Edges(order[near.src], order[near.dst], near.weight)


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
