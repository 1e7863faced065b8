"""The exact minimum spanning forest of points, of one process or of many ranks.

Every point lists the edges to its nearest neighbours, and components join along them in
Borůvka rounds (`search_rounds`). A component's lightest listed outgoing edge is
certified if no unlisted outgoing edge is as light: by the cut property it is in the
forest. Where no component has a certified edge, points search again. This is the
single-tree Borůvka of Prokopenko, Sao and Lebrun-Grandié (ICPP 2022), after the
dual-tree one of March, Ram and Gray (KDD 2010). As in McInnes and Healy (ICDMW 2017),
the listed neighbours also give the core distances.

Several ranks distribute the points by space. Each finds the neighbours of its points
among the points of all ranks, and joins components along certified edges inside the
rank that also precede all edges to other ranks.

Edges are compared by (distance, smaller point, larger point), and all distances have
one formula, so the forest does not depend on ranks, threads or the number of listed
neighbours.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ..api.forest import Forest, labels_of, one_tree_labels
from ..backends import find_accelerator
from ..backends.base import DeviceMemoryError
from ..comm.communicator import Comm
from ..host.cores import core_count
from ..host.errors import InputError
from ..kernels.threads import ALONE, Threads
from ..native.precompile import compile_for
from .coordinates import PointCoordinates, point_coordinates, unscaled
from .devices import TreeEdges, TreePoints, searches_on
from .devices.point_products import PointsOnDevice
from .distribute import distribute
from .kernels.boruvka_steps import (
    PointEdges,
    edge_keys,
    name_components,
    sort_by_ends,
)
from .kernels.few_points import join_few_points
from .metrics import METRICS, Norm, from_norm, prepared
from .scale import LEAST_DISTANCE, Scale, extremes, scale_for
from .search.equal_points import Coordinates, join_equal
from .search.neighbours import Neighbours
from .search.point_search import PointSearch
from .search.product_search import ProductSearch
from .search.remote_points import MpiPoints
from .search.search_choice import (
    SAMPLES,
    SearchChoice,
    check_search,
    choose_search,
    make_local,
    make_search,
    suits_device,
)
from .search.search_rounds import BoruvkaRounds, join_certified
from .search.search_steps import run_interruptibly
from .search_reporter import SearchReporter

# A list has `min_samples` + BEYOND neighbours, at least LEAST, rounded up to a multiple
# of FULL, which costs no more (`kernels.nearest_points`). Longer lists take longer to
# find; shorter ones certify fewer edges.
BEYOND, LEAST, FULL = 2, 6, 4
# Least length of lists on a device, where neighbours cost less than later rounds.
LEAST_ON_DEVICE = 16
# With at most FEW_POINTS points and FEW_SAMPLES neighbours, one kernel over all pairs
# takes about as long as a tree; more neighbours make it slower.
FEW_POINTS, FEW_SAMPLES = 512, 64
PAIRS = "pairs"  # the name of the search by that kernel
# Most bytes of coordinates in a message between ranks.
BATCH_BYTES = 1 << 26
# Neighbours listed for the approximate forest.
APPROXIMATE = 16


@dataclass(frozen=True)
class Distribution:
    """How points are distributed to ranks and exchanged."""

    least: int = 64  # with fewer points per rank, rank 0 takes all
    batch: int = 1 << 16  # points per message
    sample: int = 1 << 12  # points of each rank in the sample that divides space


@dataclass(frozen=True)
class PointForest:
    """The forest of points."""

    forest: Forest  # its vertices are the points
    certain: int  # number of edges that the nearest neighbours alone certify
    exact: bool  # whether it is the minimum spanning forest of all distances
    # the name of a `SearchChoice`, or `PAIRS`; empty if all distances were computed
    search: str = ""
    # float64, by point: the norm's distance to the `min_samples`-th neighbour, at least
    # the first, where a search on the host has found it
    radius: np.ndarray | None = field(default=None, repr=False)
    # uint32, by point: the nearest points, where products have found them
    neighbours: np.ndarray | None = field(default=None, repr=False)


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

    Coordinates are finite and at most `point_files.LARGEST`. Searches by products make
    no float64 copy of the points. Points on a device stay there if a device searches.

    If `min_samples` is 0, weights are distances. Else they are mutual reachability
    distances: the largest of the distance and both core distances, which are the
    distances to the `min_samples`-th neighbour. A point is not its own neighbour, as in
    hdbscan. `min_samples` is lowered to the number of all other points.

    With `approximate`, the forest is that of the nearest neighbours' graph, which is
    fast in many dimensions and may have several trees. Otherwise `neighbours`, the
    length of neighbour lists (0: chosen here), and `search` (see `choose_search`)
    affect only the speed. 0 threads are all cores this process may use.

    Raises ConfigError for an unknown metric, InputError if there are too many points,
    or they do not suit the metric.
    """
    n = len(points)
    _check_count(n)
    check_search(search, metric)
    reporter = reporter or SearchReporter()
    team = Threads(threads or core_count())
    min_samples = min(min_samples, n - 1)
    asked = approximate or neighbours or search != "auto"
    few = n <= FEW_POINTS and min_samples <= FEW_SAMPLES and not asked
    compile_for("few-points" if few else "points")
    coordinates = point_coordinates(points, metric, team)
    if n == 1:
        none = forest_of_keys(np.empty(0), np.empty(0, np.uint64), 1)
        return PointForest(none, 0, True)
    if few:
        reporter.detail(f"search by pairs: there are at most {FEW_POINTS:,} points")
        norm = METRICS[metric].norm
        all_edges = _few_points_forest(coordinates.all(), norm, min_samples)
        return _forest_of_edges(all_edges, coordinates, metric, True, PAIRS, ALONE)
    default = APPROXIMATE if approximate else 0
    k = neighbours_to_list(neighbours or default, min_samples, n)
    device_tree = not approximate and suits_device(coordinates, min_samples)
    choice = choose_search(coordinates, metric, search, k, device_tree=device_tree)
    reporter.detail(f"search by {choice.name}: {choice.reason}")
    edges = radius = listed = None
    if choice.name == "device-tree":
        edges = _device_forest(coordinates, metric, min_samples, reporter)
    if edges is None:
        if choice.name == "device-tree":
            choice = replace(choice, name="tree")
        if choice.name == "device" and not neighbours and not approximate:
            k = neighbours_to_list(0, min_samples, n, LEAST_ON_DEVICE)
        norm = METRICS[metric].norm
        local = make_local(coordinates, norm, choice, team, reporter)
        made = make_search(local, team, reporter.rows)

        def coordinates_at(positions: np.ndarray) -> np.ndarray:
            return coordinates.of(made.point[positions])

        joined, certified, near, positions = _join(
            made, coordinates_at, k, min_samples, team, reporter, approximate
        )
        edges = TreeEdges(joined.weight, joined.key, certified)
        if coordinates.scale.factor == 1:
            radius = np.empty(n)
            radius[made.point] = near
            if positions is not None:
                listed = neighbours_by_point(made.point, positions)

    exact = not approximate or edges.certain == n - 1
    found = _forest_of_edges(edges, coordinates, metric, exact, choice.name, team)
    return replace(found, radius=radius, neighbours=listed)


def _forest_of_edges(
    edges: TreeEdges,
    coordinates: PointCoordinates,
    metric: str,
    exact: bool,
    search: str,
    threads: Threads,
) -> PointForest:
    """Return the forest of edges with the norm's distances between scaled points."""

    def differ(near: np.ndarray) -> np.ndarray:
        src, dst = _ends(edges.key[near])
        return (coordinates.of(src) != coordinates.of(dst)).any(axis=1)

    coordinates.scale.check(edges.weight, differ)
    weight = from_norm(coordinates.scale.original(edges.weight), metric)
    forest = forest_of_keys(weight, edges.key, len(coordinates.values), threads)
    return PointForest(forest, edges.certain, exact, search)


def _few_points_forest(points: np.ndarray, norm: Norm, min_samples: int) -> TreeEdges:
    """Return the forest's edges from all pairs of a few points, in order of keys.

    Every edge is certain: all distances are compared.
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
    tree_points = TreePoints(values, METRICS[metric].norm, min_samples)
    forest = partial(searches_on(kind).point_forest, tree_points, reporter.components)
    try:
        edges = run_interruptibly(forest)
    except DeviceMemoryError as error:
        reporter.detail(f"search by tree on the CPU: {error}")
        return None
    stages = (f"{stage} {spent:.3f} s" for stage, spent in edges.seconds.items())
    reporter.detail(f"tree on the device: {', '.join(stages)}")
    return edges


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

    `part` has this rank's points, which are numbered after those of smaller ranks; all
    ranks have one type, float32 or float64. For other arguments, and for errors, which
    all ranks raise, see `points_forest`.
    """
    distribution = distribution or Distribution()
    reporter = reporter or SearchReporter()
    first, total = comm.exscan(len(part)), comm.sum(len(part))
    with comm.raise_on_all():
        _check_count(total)
        check_search(search, metric)
        typed = part if metric == "euclidean" else part.astype(np.float64, copy=False)
        coordinates = prepared(typed, metric, first)
    if total < distribution.least * comm.size:
        dimensions = coordinates.shape[1]
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
    smallest, largest = extremes(coordinates)
    scale = scale_for(norm, comm.min(smallest), comm.max(largest))
    if scale.factor != 1:
        coordinates = scale.scaled(coordinates.astype(np.float64, copy=False))
    choice = _choose_together(comm, coordinates, metric, search, k, total)
    reporter.detail(f"search by {choice.name}: {choice.reason}")
    if choice.name == "device" and not neighbours:
        k = neighbours_to_list(0, min_samples, total, LEAST_ON_DEVICE)
    owned = distribute(comm, coordinates, first, distribution.sample)
    read = coordinates if scale.wide else coordinates[:0]
    del coordinates
    # If most points are equal, some ranks own none.
    owners = comm.split(0 if len(owned.point) else None)
    devices = _devices_of(comm) if choice.name == "device" else []
    edges, certified = PointEdges.empty(0), 0
    if owners is not None:
        team = Threads(threads)
        if devices:
            numbers = ", ".join(map(str, devices))
            reporter.detail(f"products of rank 0's points on device {numbers}")
        local_points = unscaled(owned.points)
        with owners.raise_on_all():
            local = make_local(
                local_points, norm, choice, team, reporter, owned.point, devices
            )
        most = max(1, min(distribution.batch, BATCH_BYTES // (8 * local.dimensions)))
        remote = MpiPoints(owners, local, most)
        made = make_search(local, team, reporter.rows, remote)
        edges, certified, *_ = _join(
            made, local.coordinates, k, min_samples, team, reporter
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
    part_of_sample = part[:: max(1, total // SAMPLES[-1])]
    sample = comm.allgatherv(part_of_sample.ravel()).reshape(-1, part.shape[1])
    choice = None
    with comm.raise_on_all():
        if comm.rank == 0:
            choice = choose_search(unscaled(sample), metric, search, k, total)
    return comm.bcast(choice)


def _devices_of(comm: Comm) -> list[int]:
    """Return the devices of this rank; the ranks of a host share its devices."""
    device, _ = find_accelerator("auto")
    count = len(device.device_names()) if device is not None else 0
    rank, ranks = comm.node().rank, comm.node().size
    return list(range(rank, count, ranks)) or ([rank % count] if count else [])


def _check_count(points: int) -> None:
    """Raise InputError if there are too many points."""
    if points >= 1 << 32:
        raise InputError(f"{points:,} points; at most 2^32 - 1 points are supported")


def _join(
    search: PointSearch,
    coordinates: Coordinates,
    k: int,
    min_samples: int,
    threads: Threads,
    reporter: SearchReporter,
    approximate: bool = False,
) -> tuple[PointEdges, int, np.ndarray, np.ndarray | None]:
    """Return a part of the forest's edges on each rank. Collective.

    Only their weights and keys are valid, not the ends. Also returns the number of
    edges that this rank has certified, its points' `PointForest.radius`, and the
    positions of their neighbours if products have found them.
    """
    point, remote = search.point, search.remote
    neighbours = search.neighbours(k, min_samples)
    equal = join_equal(coordinates, search, neighbours)
    cores, lower_bound = neighbours.cores, neighbours.lower_bound
    radius = cores if min_samples else neighbours.weight[:, 0].copy()
    inside, cut = equal, PointEdges.empty(0)
    bound_inside = lower_bound
    if len(point) < remote.total:
        inside, cut = _split_by_owner(search, equal, neighbours)
        bound_inside = lower_bound.copy()
        np.minimum.at(bound_inside, cut.a, cut.weight)
    joined, known, parent = join_certified(
        neighbours, point, bound_inside, inside, min_samples, threads
    )
    positions = None
    if isinstance(search, ProductSearch):
        positions = neighbours.positions
    del neighbours  # most of the memory
    certified = PointEdges.concatenate([inside, joined])
    if approximate:
        edges = PointEdges.concatenate([certified, known])
        return edges, len(certified.a), radius, positions
    vertex = np.empty_like(parent)
    local_count = name_components(parent, vertex)
    vertex += np.uint32(remote.ranks.exscan(local_count))
    known = PointEdges.concatenate([
        known._replace(a=vertex[known.a], b=vertex[known.b]),
        cut._replace(a=vertex[cut.a], b=remote.gather_values(vertex, cut.b)),
    ])  # fmt: skip
    count = remote.ranks.sum(local_count)
    report = reporter.components
    rounds = BoruvkaRounds(search, cores, lower_bound, vertex, count, report)
    edges = PointEdges.concatenate([certified, rounds.finish(known)])
    return edges, len(certified.a), radius, positions


def _split_by_owner(
    search: PointSearch, equal: PointEdges, neighbours: Neighbours
) -> tuple[PointEdges, PointEdges]:
    """Return the edges of equal points inside this rank, and all edges to others."""
    point, n = search.point, len(neighbours.cores)
    position, j = np.nonzero(neighbours.positions >= n)
    end = neighbours.positions[position, j]
    key = edge_keys(point[position], search.remote.gather_values(point, end))
    weight = neighbours.weight[position, j]
    listed = PointEdges(position.astype(np.uint32), end, weight, key)
    outside = equal.b >= n
    cut = PointEdges.concatenate([listed, equal.take(outside)])
    return equal.take(~outside), cut


def _check_scale(
    comm: Comm, scale: Scale, edges: PointEdges, read: np.ndarray, first: int
) -> None:
    """Raise an error on all ranks if squares of distances may have been zero.

    Rank 0 has all edges, the others none. `read` has the scaled points that this rank
    has read, of which `first` is the first.
    """
    near = edges.weight < LEAST_DISTANCE
    weight, key = comm.allgatherv(edges.weight[near]), comm.allgatherv(edges.key[near])
    differs = np.zeros(len(key), np.int64)
    for column in read.T:
        ends = []
        for end in _ends(key):
            index = end - first
            is_local = (index >= 0) & (index < len(column))
            values = np.zeros(len(key))
            values[is_local] = column[index[is_local]]
            ends.append(comm.sum(values))
        differs |= ends[0] != ends[1]
    with comm.raise_on_all():
        scale.check(weight, lambda edges: differs[edges] > 0)


def _gather(comm: Comm, edges: PointEdges) -> PointEdges:
    """Return the weights and keys of all ranks' edges on rank 0; none on the others."""
    weight, key = comm.gatherv(edges.weight, edges.key)
    none = np.empty(0, np.uint32)
    return PointEdges(none, none, weight, key)


def neighbours_to_list(
    neighbours: int, min_samples: int, points: int, least: int = LEAST
) -> int:
    """Return the length of neighbour lists; `neighbours` is 0 for the default.

    The default is at least `least`.
    """
    default = -(-max(min_samples + BEYOND, least) // FULL) * FULL
    return min(max(neighbours or default, min_samples, 1), points - 1)


def neighbours_by_point(point: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return `PointForest.neighbours` from the positions of neighbours, by position.

    `point` has the point at each position.
    """
    neighbours = np.empty_like(positions)
    neighbours[point] = point[positions]
    return neighbours


def _ends(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends of the edges with some keys."""
    src, dst = key >> np.uint64(32), key & np.uint64(0xFFFFFFFF)
    return src.astype(np.int64), dst.astype(np.int64)


def forest_of_keys(
    weight: np.ndarray, key: np.ndarray, points: int, threads: Threads = ALONE
) -> Forest:
    """Return the forest of edges from their weights and keys (see `PointEdges`)."""
    ranges = threads.ranges(len(key))

    def descends(begin: int, end: int) -> bool:
        begin = max(begin, 1)
        return bool((key[begin:end] < key[begin - 1 : end - 1]).any())

    if any(threads.map(descends, ranges)):
        src, dst, weight = sort_by_ends(weight, key, points)
    else:
        src, dst = np.empty(len(key), np.int64), np.empty(len(key), np.int64)

        def divide(begin: int, end: int) -> None:
            keys, ends = key[begin:end], slice(begin, end)
            np.right_shift(keys, 32, out=src[ends].view(np.uint64))
            np.bitwise_and(keys, 0xFFFFFFFF, out=dst[ends].view(np.uint64))

        threads.map(divide, ranges)
    labels = one_tree_labels(points)
    if len(key) + 1 < points:
        labels = labels_of(points, src, dst)
    return Forest(src, dst, weight, labels)
