"""The exact minimum spanning forest of points, of one process or of many ranks.

Every point lists the edges to its nearest neighbours, and components join along them in
Borůvka rounds (`boruvka_rounds`). The lightest listed edge that leaves a component is
certified if no point of it may have an edge as light that is not listed: the cut
property holds for all edges then, not for the listed ones alone. Where no component has
such an edge, points search again. This is the single-tree Borůvka of Prokopenko, Sao
and Lebrun-Grandié (ICPP 2022), after the dual-tree one of March, Ram and Gray (KDD
2010); McInnes and Healy (ICDMW 2017) begin with the neighbours that core distances
need, too.

Several ranks distribute the points by space. Each finds the neighbours of its points
among the points of all ranks, and joins along certified edges inside the rank that also
precede all edges to other ranks.

Edges are compared by (distance, smaller point, larger point), and all distances have
one formula, so the forest does not depend on ranks or threads, nor on the number of
neighbours listed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..api.forest import Forest, labels_of
from ..backends import find_accelerator
from ..backends.base import DeviceMemoryError
from ..comm.communicator import Comm
from ..host.cores import core_count
from ..host.errors import ConfigError, InputError
from ..kernels.threads import Threads
from ..native.precompile import compile_for
from .coordinates import PointCoordinates, point_coordinates
from .devices import TreeEdges, TreePoints, searches_on
from .devices.point_products import PointArrays, PointsOnDevice
from .kernels.boruvka_steps import PointEdges, name_components, sort_by_ends
from .kernels.few_points import join_few_points
from .metrics import METRICS, Norm, from_norm, prepared
from .ranks.distribute import OwnedPoints, distribute
from .ranks.remote_points import MpiPoints, OwnPoints, OwnProducts, OwnTree, key_of
from .scale import LEAST_DISTANCE, Scale, extremes, scale_for
from .search.build_tree import build_tree
from .search.equal_points import Coordinates, join_equal
from .search.neighbours import Neighbours
from .search.point_search import PointSearch, TreeSearch
from .search.product_search import ProductSearch, random_order
from .search.search_choice import (
    SAMPLES,
    SearchChoice,
    check_search,
    choose_search,
    make_products,
    make_search,
    suits_device,
)
from .search.search_rounds import BoruvkaRounds, join_certified
from .search.search_steps import heard
from .search_reporter import SearchReporter

# Neighbours listed in addition to `min_samples`, and at least. More take longer to
# find; with fewer, fewer edges are certified. A list of a multiple of 4 costs no more
# than one of fewer (`kernels.nearest_points`).
BEYOND, LEAST, FULL = 2, 6, 4
# Neighbours listed on a device, at least: there they cost less than later rounds.
LEAST_ON_DEVICE = 16
# With at most FEW_POINTS points and FEW_SAMPLES neighbours, one kernel over all pairs
# takes about as long as a tree; more neighbours make it slower.
FEW_POINTS, FEW_SAMPLES = 512, 64
PAIRS = "pairs"  # the search by that kernel
# Bytes of the points of a message between ranks.
BATCH_BYTES = 1 << 26
# Neighbours listed for the approximate forest.
APPROXIMATE = 16


@dataclass(frozen=True)
class Distribution:
    """How points are distributed to ranks and exchanged."""

    least: int = 64  # with fewer points per rank, one rank has all
    batch: int = 1 << 16  # points per message
    sample: int = 1 << 12  # points of each rank from which space is divided


@dataclass(frozen=True)
class PointForest:
    """The forest of points."""

    forest: Forest  # its vertices are the points, by number
    certain: int  # number of edges that the nearest neighbours alone certify
    exact: bool  # whether the forest is that of all distances
    # the search that found it, of `search_choice`, or `PAIRS`; empty without any
    search: str = ""


def points_forest(
    points: np.ndarray | PointsOnDevice,
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

    Points are finite numbers, no larger than `point_files.LARGEST`. Searches by
    products make no float64 copy of them. Points on a device stay there if a device
    searches them.

    `min_samples` is 0 for distances; else weights are mutual reachability distances:
    the largest of the distance and of both core distances, those to the
    `min_samples`-th neighbour. A point is not its own neighbour, as in hdbscan. At most
    all other points count.

    With `approximate`, the forest is that of the nearest neighbours' graph, which is
    fast in many dimensions, and may have several trees. Otherwise `neighbours`, the
    number of neighbours to list (0 chooses), and `search` (see `choose_search`) affect
    only the speed. 0 threads are all cores this process may use.

    Raises ConfigError for an unknown metric or a negative number, InputError if the
    points do not suit the metric, or there are none.
    """
    n = len(points)
    if n == 0 or points.shape[1] == 0:
        raise InputError(f"the point array is empty: its shape is {points.shape}")
    _check_request(n, min_samples, neighbours)
    check_search(search, metric)
    reporter = reporter or SearchReporter()
    team = Threads(threads or core_count())
    min_samples = min(min_samples, n - 1)
    chosen = approximate or neighbours or search != "auto"
    few = n <= FEW_POINTS and min_samples <= FEW_SAMPLES and not chosen
    compile_for("few-points" if few else "points")
    computed = point_coordinates(points, metric, team)
    if n == 1:
        none = forest_of_keys(np.empty(0), np.empty(0, np.uint64), 1)
        return PointForest(none, 0, True)
    if few:
        reporter.detail(f"search by pairs: there are at most {FEW_POINTS:,} points")
        norm = METRICS[metric].norm
        every = _few_points_forest(computed.all(), norm, min_samples)
        return _shown_forest(every, computed, metric, True, PAIRS)
    usual = APPROXIMATE if approximate else 0
    k = neighbours_to_list(neighbours or usual, min_samples, n)
    device_tree = not approximate and suits_device(computed, min_samples)
    choice = choose_search(computed, metric, search, k, device_tree=device_tree)
    reporter.detail(f"search by {choice.name}: {choice.reason}")
    found = None
    if choice.name == "device-tree":
        found = _device_forest(computed, metric, min_samples, reporter)
    if found is None:
        choice = choice.on_host()
        if choice.name == "device" and not neighbours and not approximate:
            k = neighbours_to_list(max(k, LEAST_ON_DEVICE), min_samples, n)
        searched = make_search(computed, metric, choice, team, reporter)

        def coordinates(positions: np.ndarray) -> np.ndarray:
            return computed.of(searched.rows[positions])

        edges, certified = _join(
            searched, coordinates, k, min_samples, team, reporter, approximate
        )
        found = TreeEdges(edges.weight, edges.key, certified)

    exact = not approximate or found.certain == n - 1
    return _shown_forest(found, computed, metric, exact, choice.name)


def _shown_forest(
    found: TreeEdges,
    computed: PointCoordinates,
    metric: str,
    exact: bool,
    search: str,
) -> PointForest:
    """Return the forest of edges between scaled points, with the metric's distances."""

    def differ(near: np.ndarray) -> np.ndarray:
        src, dst = _ends(found.key[near])
        return (computed.of(src) != computed.of(dst)).any(axis=1)

    computed.scale.check(found.weight, differ)
    weight = from_norm(computed.scale.original(found.weight), metric)
    forest = forest_of_keys(weight, found.key, len(computed.values))
    return PointForest(forest, found.certain, exact, search)


def _few_points_forest(points: np.ndarray, norm: Norm, min_samples: int) -> TreeEdges:
    """Return the forest of a few points of a norm, by all pairs, in order of keys.

    Each point knows all its neighbours, so every edge is certain.
    """
    columns = np.ascontiguousarray(points.T)
    weight, key = np.empty(len(points) - 1), np.empty(len(points) - 1, np.uint64)
    cores = np.empty(len(points))
    join_few_points(columns, int(norm), min_samples, cores, weight, key)
    order = np.argsort(key)
    return TreeEdges(weight[order], key[order], len(key))


def _device_forest(
    points: PointCoordinates, metric: str, min_samples: int, reporter: SearchReporter
) -> TreeEdges | None:
    """Return the forest by a tree on a device; None if the device cannot build one.

    Its weights are distances of the norm between scaled points.
    """
    kind = find_accelerator("auto")[0]
    if kind is None:
        return None
    values = points.all() if len(points.length) else points.values
    if not isinstance(values, np.ndarray):
        values = values.array
    given = TreePoints(values, METRICS[metric].norm, min_samples)
    found: list[TreeEdges] = []
    try:
        forest = searches_on(kind).point_forest
        heard(lambda: found.append(forest(given, reporter.components)))
    except DeviceMemoryError as error:
        reporter.detail(f"search by tree on the CPU: {error}")
        return None
    stages = (f"{stage} {spent:.3f} s" for stage, spent in found[0].seconds.items())
    reporter.detail(f"tree on the device: {', '.join(stages)}")
    return found[0]


def distributed_forest(
    comm: Comm,
    part: np.ndarray,
    metric: str,
    min_samples: int = 0,
    *,
    neighbours: int = 0,
    threads: int = 1,
    search: str = "auto",
    reporter: SearchReporter | None = None,
    distribution: Distribution | None = None,
) -> PointForest | None:
    """Return on rank 0 the exact forest of the points of all ranks. Collective.

    `part` has the points of this rank, numbered after the points of the ranks before
    it; of float32 or float64, alike on all ranks. For other arguments, and for errors,
    which all ranks raise, see `points_forest`.
    """
    how = distribution or Distribution()
    reporter = reporter or SearchReporter()
    first, total = comm.exscan(len(part)), comm.sum(len(part))
    with comm.raise_on_all():
        _check_request(total, min_samples, neighbours)
        check_search(search, metric)
        typed = part if metric == "euclidean" else part.astype(np.float64, copy=False)
        computed = prepared(typed, metric, first)
    if total < how.least * comm.size:
        dimensions = computed.shape[1]
        points = comm.allgatherv(part.ravel()).reshape(total, -1)
        if comm.rank or dimensions == 0:
            return None
        return points_forest(
            points,
            metric,
            min_samples,
            neighbours=neighbours,
            threads=threads,
            search=search,
            reporter=reporter,
        )
    min_samples = min(min_samples, total - 1)
    k = neighbours_to_list(neighbours, min_samples, total)
    norm = METRICS[metric].norm
    smallest, largest = extremes(computed)
    scale = scale_for(norm, comm.min(smallest), comm.max(largest))
    if scale.factor != 1:
        computed = scale.scaled(computed.astype(np.float64, copy=False))
    choice = _choose_together(comm, computed, metric, search, k, total)
    reporter.detail(f"search by {choice.name}: {choice.reason}")
    if choice.name == "device" and not neighbours:
        k = neighbours_to_list(max(k, LEAST_ON_DEVICE), min_samples, total)
    mine = distribute(comm, computed, first, how.sample)
    read = computed if scale.wide else computed[:0]
    del computed
    # If most points are equal, some ranks own none.
    owners = comm.split(0 if len(mine.rows) else None)
    devices = _devices_of(comm) if choice.name == "device" else []
    edges, certified = PointEdges.empty(0), 0
    if owners is not None:
        team = Threads(threads)
        with owners.raise_on_all():
            own, make = _own_points(mine, norm, choice, team, reporter, devices)
        batch = max(1, min(how.batch, BATCH_BYTES // (8 * mine.points.shape[1])))
        searched = make(MpiPoints(owners, own, batch))
        edges, certified = _join(
            searched, own.coordinates, k, min_samples, team, reporter
        )
        owners.free()
    certified = comm.sum(certified)
    gathered = _gather(comm, edges)
    if scale.wide:
        _check_scale(comm, scale, gathered, read, first)
    if comm.rank:
        return None
    weight = from_norm(scale.original(gathered.weight), metric)
    forest = forest_of_keys(weight, gathered.key, total)
    return PointForest(forest, certified, True, choice.name)


def _choose_together(
    comm: Comm, part: np.ndarray, metric: str, search: str, k: int, total: int
) -> SearchChoice:
    """Return the search that rank 0 chooses by a sample of all ranks' points."""
    some = part[:: max(1, total // SAMPLES[-1])]
    sample = comm.allgatherv(some.ravel()).reshape(-1, part.shape[1])
    choice = None
    with comm.raise_on_all():
        if comm.rank == 0:
            none = np.empty(0)
            points = PointCoordinates(sample, none, none, Scale())
            choice = choose_search(points, metric, search, k, total)
    return comm.bcast(choice)


def _devices_of(comm: Comm) -> list[int]:
    """Return the devices of this rank; the ranks of a host share its devices."""
    device, _ = find_accelerator("auto")
    count = len(device.device_names()) if device is not None else 0
    rank, ranks = comm.node().rank, comm.node().size
    return list(range(rank, count, ranks)) or ([rank % count] if count else [])


def _own_points(
    mine: OwnedPoints,
    norm: Norm,
    choice: SearchChoice,
    team: Threads,
    reporter: SearchReporter,
    devices: list[int],
) -> tuple[OwnPoints, Callable[[MpiPoints], PointSearch]]:
    """Return this rank's points for queries of other ranks, and their search."""
    report = reporter.rows
    if choice.name == "tree":
        points = np.ascontiguousarray(mine.points, np.float64)
        tree = build_tree(points, norm, team)
        order = tree.rows
        tree = tree._replace(rows=mine.rows[order])
        own = OwnTree(tree, points, order, norm, team)
        return own, lambda remote: TreeSearch(tree, remote, team, report)
    order, none = random_order(len(mine.rows)), np.empty(0)
    rows = mine.rows[order]
    arrays = PointArrays(mine.points, none, none, order, rows)
    if devices:
        numbers = ", ".join(map(str, devices))
        reporter.detail(f"products of rank 0's points on device {numbers}")
    products = make_products(arrays, choice, team, reporter, devices)
    return OwnProducts(products, arrays), lambda remote: ProductSearch(
        products, rows, remote, team, report
    )


def _check_request(points: int, min_samples: int, neighbours: int) -> None:
    """Raise an error if there are too many points, or a number is negative."""
    if points >= 1 << 32:
        raise InputError(f"{points:,} points; at most 2^32 - 1 points are supported")
    if min_samples < 0 or neighbours < 0:
        raise ConfigError("min_samples and neighbours are 0 or more")


def _join(
    search: PointSearch,
    coordinates: Coordinates,
    k: int,
    min_samples: int,
    threads: Threads,
    reporter: SearchReporter,
    approximate: bool = False,
) -> tuple[PointEdges, int]:
    """Return this rank's share of the forest's edges. Collective.

    Their ends are arbitrary; weight and key count. Also returns the number of edges
    that this rank has certified.
    """
    rows, remote = search.rows, search.remote
    found = search.neighbours(k, min_samples)
    equal = join_equal(coordinates, search, found)
    cores, reach = found.cores, found.reach
    inside, cut = equal, PointEdges.empty(0)
    within = reach
    if len(rows) < remote.total:
        inside, cut = _split_by_owner(search, equal, found)
        within = reach.copy()
        np.minimum.at(within, cut.a, cut.weight)
    joined, known, parent = join_certified(
        found, rows, within, inside, min_samples, threads
    )
    del found  # most of the memory
    certified = PointEdges.concatenate([inside, joined])
    if approximate:
        return PointEdges.concatenate([certified, known]), len(certified.a)
    vertex = np.empty_like(parent)
    here = name_components(parent, vertex)
    vertex += np.uint32(remote.ranks.exscan(here))
    known = PointEdges.concatenate([
        known._replace(a=vertex[known.a], b=vertex[known.b]),
        cut._replace(a=vertex[cut.a], b=remote.gather_values(vertex, cut.b)),
    ])  # fmt: skip
    count = remote.ranks.sum(here)
    report = reporter.components
    rounds = BoruvkaRounds(search, cores, reach, vertex, count, report)
    edges = PointEdges.concatenate([certified, rounds.finish(known)])
    return edges, len(certified.a)


def _split_by_owner(
    search: PointSearch, equal: PointEdges, found: Neighbours
) -> tuple[PointEdges, PointEdges]:
    """Return the edges of equal points inside this rank, and all edges to others."""
    rows, n = search.rows, len(found.cores)
    position, j = np.nonzero(found.positions >= n)
    far = found.positions[position, j]
    key = key_of(rows[position], search.remote.gather_values(rows, far))
    near, weight = position.astype(np.uint32), found.weight[position, j]
    listed = PointEdges(near, far, weight, key)
    outside = equal.b >= n
    cut = PointEdges.concatenate([listed, equal.take(outside)])
    return equal.take(~outside), cut


def _check_scale(
    comm: Comm, scale: Scale, edges: PointEdges, read: np.ndarray, first: int
) -> None:
    """Raise an error on all ranks if squares of distances may have been zero.

    Rank 0 has all edges, the others none; `read` has the scaled points that this rank
    has read, numbered from `first` on.
    """
    near = edges.weight < LEAST_DISTANCE
    weight, key = comm.allgatherv(edges.weight[near]), comm.allgatherv(edges.key[near])
    differs = np.zeros(len(key), np.int64)
    for column in read.T:
        ends = []
        for end in _ends(key):
            index = end - first
            mine = (index >= 0) & (index < len(column))
            values = np.zeros(len(key))
            values[mine] = column[index[mine]]
            ends.append(comm.sum(values))
        differs |= ends[0] != ends[1]
    with comm.raise_on_all():
        scale.check(weight, lambda positions: differs[positions] > 0)


def _gather(comm: Comm, edges: PointEdges) -> PointEdges:
    """Return the weights and keys of all ranks' edges on rank 0; none on the others."""
    weight, key = comm.gatherv(edges.weight, edges.key)
    none = np.empty(0, np.uint32)
    return PointEdges(none, none, weight, key)


def neighbours_to_list(neighbours: int, min_samples: int, points: int) -> int:
    """Return the number of neighbours to list for each point; by default a few."""
    usual = -(-max(min_samples + BEYOND, LEAST) // FULL) * FULL
    return min(max(neighbours or usual, min_samples, 1), points - 1)


def _ends(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the points that edges with some keys join."""
    src, dst = key >> np.uint64(32), key & np.uint64(0xFFFFFFFF)
    return src.astype(np.int64), dst.astype(np.int64)


def forest_of_keys(weight: np.ndarray, key: np.ndarray, points: int) -> Forest:
    """Return the forest of the edges with some weights and keys."""
    if (key[1:] < key[:-1]).any():
        src, dst, weight = sort_by_ends(weight, key, points)
    else:
        src, dst = _ends(key)
    labels = np.zeros(points, np.int64)
    if len(key) + 1 < points:
        labels = labels_of(points, src, dst)
    return Forest(src, dst, weight, labels)
