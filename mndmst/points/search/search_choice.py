"""The choice between the search by a tree and that by matrix products.

A walk of the tree visits few points if these have few dimensions, or lie near a surface
of few dimensions in a space of many; else it visits nearly all. A product visits all
points, but takes a fraction of the time for each. So a probe builds trees of two
samples, counts the points that a few queries must visit, and extends the power law
through both counts to the number of points.

If a tree is chosen, and starting a device pays, the tree is on the device.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...backends import Accelerator, accelerators, find_accelerator, holder_of
from ...backends.base import DeviceMemoryError
from ...host.errors import ConfigError
from ...kernels.threads import Threads
from ..coordinates import PointCoordinates
from ..devices import MOST_DIMENSIONS, MOST_SAMPLES, searches_on
from ..devices.point_products import MOST_NEIGHBOURS, PointArrays, PointProducts
from ..kernels.kd_tree import count_visited
from ..metrics import METRICS, Norm, check_metric
from ..search_reporter import SearchReporter
from .build_tree import build_tree
from .parted_products import PartedProducts
from .point_search import PointSearch, TreeSearch, break_even_share
from .product_search import HostProducts, ProductSearch, random_order
from .remote_points import LocalPoints, LocalProducts, LocalTree, RemotePoints
from .search_steps import Report, no_report

SEARCHES = ("auto", "tree", "product")
# Fewer points than this, or at most so many dimensions, take the tree without a probe.
FEW_POINTS, FEW_DIMENSIONS = 1 << 11, 4
# Points of the samples, and queries. Smaller samples overstate the visits of trees.
SAMPLES, QUERIES = (1 << 11, 1 << 13), 64
# Queries whose distances from a sample fit a core's cache together.
TOGETHER = 8
# `point_search.VISIT` and `FIXED` of a device.
DEVICE_VISIT, DEVICE_FIXED = 1000.0, 100.0
# Fewest points that a device searches, and fewest for which one is started.
DEVICE_POINTS, START_POINTS = 1 << 12, 1 << 14
# Time for a point that a walk visits on a device, in times of a multiplication of one
# coordinate. Measured on an H100 with 6, 10 and 16 dimensions.
DEVICE_TREE_VISIT = 1000.0
# Starting a device takes 0.5 s. It pays for this much work of products (`_device_work`)
# or this many coordinates of points in a tree.
START_WORK, START_TREE = 5e10, 1 << 20
# With less work, the tree of a device takes points in at most FEW_ON_DEVICE dimensions
# without a probe, and products take those in more dimensions than it has. Between, a
# probe of 8 ms decides: 80,000 x 16 take the tree 0.05 to 0.6 s, products 0.07 to 0.4.
# Measured on an H200.
PROBE_WORK, FEW_ON_DEVICE = 1e12, 10
# Work per device beyond the first: two devices take 0.1 s longer to start.
FURTHER_WORK = 2e13
SEED = 7
# Points that exceed a device's memory are divided into the first of these numbers of
# parts that fits.
PARTS = (2, 4, 8, 16, 32, 64, 128)


# Takes a sample of points, a number of neighbours and the number of all points. Returns
# how many points a query of their tree visits.
Probe = Callable[[PointCoordinates, int, int], float]
# Returns the accelerator that searches; if its start does not pay, only a started one.
FindDevice = Callable[[bool], Accelerator | None]


@dataclass(frozen=True)
class SearchChoice:
    """The chosen search and the reason for it."""

    name: str  # "tree", "product"; on a device "device-tree", "device"
    reason: str


def check_search(search: str, metric: str) -> None:
    """Raise ConfigError for an unknown search, or if it does not take the metric."""
    if search not in SEARCHES:
        raise ConfigError(f"no search '{search}'; give one of {', '.join(SEARCHES)}")
    check_metric(metric)
    if search == "product" and METRICS[metric].norm != Norm.EUCLIDEAN:
        euclidean = [name for name, m in METRICS.items() if m.norm == Norm.EUCLIDEAN]
        raise ConfigError(
            f"--search product takes the metrics {', '.join(euclidean)}; {metric} "
            "distances are not inner products. Leave --search out."
        )


def estimate_visits(
    points: PointCoordinates,
    neighbours: int,
    count: int,
    enough: float | None = None,
) -> float:
    """Estimate, by samples, the number of points that a query of the tree visits.

    The tree has `count` points, of which `points` may be a sample. The visits of the
    small sample suffice if they show whether a query visits more than `enough` points.
    """
    available = len(points.values)
    order = np.random.default_rng(SEED).permutation(available)
    small, large = (min(size, available) for size in SAMPLES)
    visited = _count_visits(points.of(order[:small]), neighbours)
    # Of more points a query visits more, but not a larger fraction
    most = visited * count / small
    if enough is not None and visited > enough:
        return visited
    if enough is not None and most < enough:
        return most
    visited_of_large = _count_visits(points.of(order[:large]), neighbours)
    if small == large or count == large:
        return visited_of_large
    power = math.log(visited_of_large / visited) / math.log(large / small)
    return float(visited_of_large * (count / large) ** min(max(power, 0.0), 1.0))


def _count_visits(sample: np.ndarray, neighbours: int) -> float:
    """Return a lower bound of the mean number of points that a query visits."""
    tree = build_tree(sample, Norm.EUCLIDEAN, Threads(1))
    k = min(neighbours, len(sample) - 1)
    square = np.einsum("ij,ij->i", sample, sample)
    radius = np.empty(QUERIES)
    for begin in range(0, QUERIES, TOGETHER):
        some = slice(begin, begin + TOGETHER)
        squares = -2 * (sample[some] @ sample.T)
        squares += square
        kth = [_smallest(row, k) for row in squares]
        radius[some] = np.maximum(kth + square[some], 0)
    # No node is in the component of a query.
    component = np.zeros(QUERIES, np.uint32)
    of_node = np.ones(len(tree.left), np.uint32)
    visited = count_visited(tree, sample[:QUERIES], radius, component, of_node)
    # Within a distance of zero there is no box, yet a query visits its own leaf.
    return max(visited / QUERIES, 1.0)


def _smallest(values: np.ndarray, k: int) -> float:
    """Return the k-th smallest of some values in any order; k begins at 0."""
    enough = np.partition(values[: 32 * (k + 1)], k)[k]
    return float(np.partition(values[values <= enough], k)[k])


def look_for_device(pays: bool) -> Accelerator | None:
    """Return the accelerator that searches; see `FindDevice`.

    To look for devices loads a library, in 0.3 s. The first device starts meanwhile.
    """
    kinds = list(accelerators())
    started = any(kind.started() for kind in kinds)
    if not pays and not started:
        return None
    if not started:
        for kind in kinds:
            kind.start_driver(0)
    return find_accelerator("auto")[0]


def choose_search(
    points: PointCoordinates,
    metric: str,
    search: str,
    neighbours: int,
    count: int = 0,
    device_tree: bool = False,
    probe: Probe | None = None,
    find_device: FindDevice = look_for_device,
) -> SearchChoice:
    """Return the faster search for the neighbours of points.

    `count` is the number of all points if `points` are a sample, else 0; `device_tree`
    is whether a tree may be on a device. The default `probe` estimates visits only as
    far as the choice needs them.
    """
    tree = "device-tree" if device_tree else "tree"
    check_search(search, metric)
    size, dimensions = points.values.shape
    count = count or size
    if search == "tree":
        return SearchChoice(tree, "asked for")
    if search == "product":
        device = _device_for(count, neighbours, True, find_device)
        return SearchChoice("product" if device is None else "device", "asked for")
    if METRICS[metric].norm != Norm.EUCLIDEAN:
        return SearchChoice(tree, f"{metric} distances are not inner products")
    if dimensions <= FEW_DIMENSIONS:
        return SearchChoice(tree, f"points have at most {FEW_DIMENSIONS} dimensions")
    if count < FEW_POINTS:
        return SearchChoice(tree, f"there are fewer than {FEW_POINTS:,} points")
    product, enough = "product", break_even_share(dimensions)
    work = _device_work(count, dimensions)
    if _device_for(count, neighbours, work >= START_WORK, find_device):
        if work < PROBE_WORK and device_tree and dimensions <= FEW_ON_DEVICE:
            return SearchChoice(tree, "the points are few, and so are dimensions")
        if work < PROBE_WORK and not device_tree:
            return SearchChoice("device", "it multiplies all pairs of few points")
        visit = DEVICE_TREE_VISIT / dimensions if device_tree else DEVICE_VISIT
        product, enough = "device", (1 + DEVICE_FIXED / dimensions) / visit
    if enough >= 1:
        text = f"in {dimensions} dimensions a product takes longer than any query"
        return SearchChoice(tree, text)
    probe = probe or partial(estimate_visits, enough=enough * count)
    share = probe(points, neighbours, count) / count
    name = product if share > enough else tree
    text = f"a query of the tree visits about {share:.2%} of the points, and a "
    text += f"product is worth it from {enough:.1%} on"
    return SearchChoice(name, text)


def _device_work(count: int, dimensions: int) -> float:
    """Return the work of multiplying all pairs of points, in coordinate products."""
    return count**2 * (dimensions + DEVICE_FIXED)


def _device_for(
    count: int, neighbours: int, pays: bool, find_device: FindDevice
) -> Accelerator | None:
    """Return the device that searches faster than the host, if there is one.

    `pays` is whether the search takes longer than the start of a device.
    """
    # `PartedProducts` lists one neighbour more.
    if count < DEVICE_POINTS or neighbours >= MOST_NEIGHBOURS:
        return None
    return find_device(pays and count >= START_POINTS)


def suits_device(
    points: PointCoordinates,
    min_samples: int,
    find_device: FindDevice = look_for_device,
) -> bool:
    """Return whether a device can hold the tree of points, and starting it pays."""
    count, dimensions = points.values.shape
    if dimensions > MOST_DIMENSIONS or min_samples > MOST_SAMPLES:
        return False
    pays = count * dimensions >= START_TREE
    return _device_for(count, min_samples, pays, find_device) is not None


def make_local(
    points: PointCoordinates,
    norm: Norm,
    choice: SearchChoice,
    threads: Threads,
    reporter: SearchReporter,
    number: np.ndarray | None = None,
    devices: Sequence[int] | None = None,
) -> LocalPoints:
    """Return points in a tree or as products, on the host if a device does not suit.

    `number` has each point's number (uint32) among the points of all ranks; the
    default is one rank. See `make_products` for `devices`.
    """
    if choice.name == "tree":
        coordinates = points.all()
        tree = build_tree(coordinates, norm, threads)
        source = tree.point
        point = source if number is None else number[source]
        arrays = PointArrays.undivided(coordinates, source, point)
        return LocalTree(arrays, norm, tree._replace(point=point), threads)
    source = random_order(len(points.values))
    point = source if number is None else number[source]
    values = points.values
    values = values if isinstance(values, np.ndarray) else values.array
    arrays = PointArrays(values, points.largest, points.length, source, point)
    products = make_products(arrays, choice, threads, reporter, devices)
    return LocalProducts(arrays, norm, products)


def make_search(
    local: LocalPoints,
    threads: Threads,
    report: Report = no_report,
    remote: RemotePoints | None = None,
) -> PointSearch:
    """Return the search of this rank's points; without `remote` there are no others."""
    point = local.arrays.point
    others = remote or RemotePoints(len(point))
    if isinstance(local, LocalTree):
        coordinates = None if remote else local.arrays.values
        return TreeSearch(local.tree, others, threads, report, coordinates)
    assert isinstance(local, LocalProducts)
    return ProductSearch(local.products, point, others, threads, report)


def make_products(
    arrays: PointArrays,
    choice: SearchChoice,
    threads: Threads,
    reporter: SearchReporter,
    devices: Sequence[int] | None = None,
) -> PointProducts:
    """Return the products of a choice, on the host if a device does not suit.

    `devices` search; by default as many visible ones as the work pays for.
    """
    device = find_accelerator("auto")[0] if choice.name == "device" else None
    lacks_memory = False
    if device is not None:
        most = 1 + int(_device_work(*arrays.values.shape) / FURTHER_WORK)
        if most > 1:
            most = min(most, len(device.device_names()))
        make = partial(
            searches_on(device).make_point_products, devices=devices or range(most)
        )
        try:
            return make(arrays)
        except DeviceMemoryError as error:
            reporter.detail(f"the points pass the device in parts: {error}")
            lacks_memory = True
        except ConfigError as error:
            reporter.detail(f"search by product on the CPU: {error}")
    holder = holder_of(arrays.values)
    if holder is not None:
        arrays = arrays._replace(values=holder.to_host(arrays.values))
    if device is not None and lacks_memory:
        for parts in PARTS:
            with suppress(DeviceMemoryError):
                return PartedProducts(arrays, make, parts)
        reporter.detail("search by product on the CPU: the device lacks memory")
    return HostProducts(arrays, threads)


def prefers_products(
    points: PointCoordinates, neighbours: int, probe: Probe | None = None
) -> bool:
    """Return whether products on the host find Euclidean neighbours before a tree."""
    count, dimensions = points.values.shape
    enough = break_even_share(dimensions)
    if count < FEW_POINTS or enough >= 1:
        return False
    probe = probe or partial(estimate_visits, enough=enough * count)
    return probe(points, neighbours, count) / count > enough
