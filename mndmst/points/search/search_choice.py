"""The choice between the search by a tree and that by matrix products.

A walk of the tree visits few points where these have few dimensions, or lie near a
surface of few dimensions in a space of many; else it visits nearly all. A product
visits all points, at a fraction of the time for each. So a probe builds trees of
samples of two sizes, counts the points that a few queries must visit, and extends the
power law through both counts to the number of points.

Where a tree is chosen, and a device is worth starting, the device has the tree.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from ...backends import Accelerator, find_accelerator, holder_of
from ...backends.base import DeviceMemoryError
from ...host.errors import ConfigError
from ...kernels.threads import Threads
from ..coordinates import PointCoordinates
from ..devices import MOST_DIMENSIONS, MOST_SAMPLES, searches_on
from ..devices.point_products import MOST_NEIGHBOURS, PointArrays, QueriedProducts
from ..kernels.kd_tree import count_visited
from ..metrics import METRICS, Norm, check_metric
from ..ranks.remote_points import NoRemotePoints
from ..search_reporter import SearchReporter
from .build_tree import build_tree
from .parted_products import PartedProducts
from .point_search import PointSearch, tree_search, worth
from .product_search import HostProducts, ProductSearch, random_order

SEARCHES = ("auto", "tree", "product")
# Fewer coordinates than this in all, or dimensions, take the tree without a probe.
FEW_POINTS, FEW_DIMENSIONS = 1 << 11, 4
# Points of the samples, and queries. Smaller samples overstate what trees visit.
SAMPLES, QUERIES = (1 << 11, 1 << 13), 64
# `point_search.VISIT` and `FIXED` of a device, and the fewest points that it searches.
DEVICE_VISIT, DEVICE_FIXED, DEVICE_POINTS = 1000.0, 100.0, 1 << 14
# The same for a visit of a tree on a device, of all dimensions together; of an H100
# with 6, 10 and 16 dimensions.
DEVICE_TREE_VISIT = 1000.0
# The least work of products (`_device_work`), and the fewest coordinates of points in a
# tree, that are worth the start of a device. The start takes 0.5 s.
START_WORK, START_TREE = 5e10, 1 << 20
# A device multiplies all pairs before a probe ends, if the pairs times (dimensions +
# DEVICE_FIXED) are fewer; of an H100, beside which a probe takes 0.1 s. In at most
# FEW_ON_DEVICE dimensions its tree takes 0.01 s longer then at most, and often less.
PROBE_WORK, FEW_ON_DEVICE = 1e12, 10
# The same product for each device beyond the first: two take 0.1 s longer to start.
FURTHER_WORK = 2e13
SEED = 7
# Into how many parts points are divided that are larger than a device.
PARTS = (2, 4, 8, 16, 32, 64, 128)


# Estimates how many of a number of points a query of their tree visits.
Probe = Callable[[PointCoordinates, int, int], float]
# Returns the accelerator of a kind, or None and why there is none.
FindDevice = Callable[[str], tuple[Accelerator | None, str | None]]


@dataclass(frozen=True)
class SearchChoice:
    """Which search is taken, and why.

    Products on a device are "device", a tree there is "device-tree".
    """

    name: str
    reason: str

    def on_host(self) -> "SearchChoice":
        """Return the choice of the host's tree in place of that on a device."""
        name = "tree" if self.name == "device-tree" else self.name
        return SearchChoice(name, self.reason)


def check_search(search: str, metric: str) -> None:
    """Raise ConfigError if there is no such search, or it has no such metric."""
    if search not in SEARCHES:
        raise ConfigError(f"no search '{search}'; give one of {', '.join(SEARCHES)}")
    check_metric(metric)
    if search == "product" and METRICS[metric].norm != Norm.EUCLIDEAN:
        served = [name for name, of in METRICS.items() if of.norm == Norm.EUCLIDEAN]
        raise ConfigError(
            f"--search product takes the metrics {', '.join(served)}; {metric} "
            "distances are not inner products. Leave --search out."
        )


def visits(points: PointCoordinates, neighbours: int, count: int) -> float:
    """Estimate, by samples, the number of points that a query of the tree visits.

    The tree has `count` points; those given may be a sample of them.
    """
    given = len(points.values)
    order = np.random.default_rng(SEED).permutation(given)
    sizes = [min(size, given) for size in SAMPLES]
    found = [_visits_of(points.of(order[:size]), neighbours) for size in sizes]
    if sizes[0] == sizes[1] or count == sizes[1]:
        return found[1]
    steps = [math.log(larger / smaller) for smaller, larger in pairwise(sizes)]
    power = math.log(found[1] / found[0]) / steps[0]
    return float(found[1] * (count / sizes[1]) ** min(max(power, 0.0), 1.0))


def _visits_of(sample: np.ndarray, neighbours: int) -> float:
    """Return a lower bound of the mean number of points that a query visits."""
    tree = build_tree(sample, Norm.EUCLIDEAN, Threads(1))
    queries = sample[:QUERIES]
    square = (sample * sample).sum(axis=1)
    apart = square - 2 * (queries @ sample.T) + square[:QUERIES, None]
    k = min(neighbours, len(sample) - 1)
    radius = np.partition(apart, k, axis=1)[:, k]
    own, of_node = np.zeros(QUERIES, np.uint32), np.ones(len(tree.left), np.uint32)
    radius = np.maximum(radius, 0)
    return count_visited(tree, queries, radius, own, of_node) / len(queries)


def choose_search(
    points: PointCoordinates,
    metric: str,
    search: str,
    neighbours: int,
    count: int = 0,
    device_tree: bool = False,
    probe: Probe = visits,
    find_device: FindDevice = find_accelerator,
) -> SearchChoice:
    """Return which search finds the neighbours of points sooner.

    `count` is the number of points where those given are a sample of them;
    `device_tree` is whether a device may have the tree.
    """
    tree = "device-tree" if device_tree else "tree"
    check_search(search, metric)
    given, dimensions = points.values.shape
    count = count or given
    if search == "tree":
        return SearchChoice(tree, "asked for")
    if search == "product":
        device = _device_for(count, neighbours, find_device)
        return SearchChoice("product" if device is None else "device", "asked for")
    if METRICS[metric].norm != Norm.EUCLIDEAN:
        return SearchChoice(tree, f"{metric} distances are not inner products")
    if dimensions <= FEW_DIMENSIONS:
        return SearchChoice(tree, f"points have at most {FEW_DIMENSIONS} dimensions")
    if count < FEW_POINTS:
        return SearchChoice(tree, f"there are fewer than {FEW_POINTS:,} points")
    product, enough = "product", worth(dimensions)
    work = _device_work(count, dimensions)
    device = _device_for(count, neighbours, find_device)
    if _worth_start(device, work, START_WORK):
        if work < PROBE_WORK:
            if device_tree and dimensions <= FEW_ON_DEVICE:
                return SearchChoice(tree, "the points are few, and so are dimensions")
            return SearchChoice("device", "it multiplies all pairs before a probe ends")
        visit = DEVICE_TREE_VISIT / dimensions if device_tree else DEVICE_VISIT
        product, enough = "device", (1 + DEVICE_FIXED / dimensions) / visit
    if enough >= 1:
        text = f"in {dimensions} dimensions a product takes longer than any query"
        return SearchChoice(tree, text)
    share = probe(points, neighbours, count) / count
    name = product if share > enough else tree
    text = f"a query of the tree visits {share:.2%} of the points, and a product is "
    text += f"worth it from {enough:.1%} on"
    return SearchChoice(name, text)


def _device_work(count: int, dimensions: int) -> float:
    """Return the work of a device that multiplies all pairs of points."""
    return count**2 * (dimensions + DEVICE_FIXED)


def _device_for(
    count: int, neighbours: int, find_device: FindDevice
) -> Accelerator | None:
    """Return a kind of device that searches faster than the host, if there is one."""
    # Parts of points list one neighbour more.
    if count < DEVICE_POINTS or neighbours >= MOST_NEIGHBOURS:
        return None
    return find_device("auto")[0]


def _worth_start(device: Accelerator | None, work: float, least: float) -> bool:
    """Return whether a search is so much work that it pays to start the device.

    A device that this process has used has started.
    """
    return device is not None and (work >= least or device.started())


def suits_device(
    points: PointCoordinates,
    min_samples: int,
    find_device: FindDevice = find_accelerator,
) -> bool:
    """Return whether a device may have the tree of points, and is worth starting."""
    count, dimensions = points.values.shape
    if dimensions > MOST_DIMENSIONS or min_samples > MOST_SAMPLES:
        return False
    device = _device_for(count, min_samples, find_device)
    return _worth_start(device, count * dimensions, START_TREE)


def make_search(
    points: PointCoordinates,
    metric: str,
    choice: SearchChoice,
    threads: Threads,
    reporter: SearchReporter,
) -> PointSearch:
    """Return the search of a choice; of the host where a device does not suit."""
    report = reporter.rows
    if choice.name == "tree":
        return tree_search(points.all(), METRICS[metric].norm, threads, report)
    rows = random_order(len(points.values))
    values = points.values
    given = values if isinstance(values, np.ndarray) else values.array
    arrays = PointArrays(given, points.largest, points.length, rows, rows)
    products = make_products(arrays, choice, threads, reporter)
    remote = NoRemotePoints(len(rows))
    return ProductSearch(products, rows, remote, threads, report)


def make_products(
    arrays: PointArrays,
    choice: SearchChoice,
    threads: Threads,
    reporter: SearchReporter,
    devices: Sequence[int] | None = None,
) -> QueriedProducts:
    """Return the products of a choice; of the host where a device does not suit.

    The visible devices search that are worth their start, or those given.
    """
    device = find_accelerator("auto")[0] if choice.name == "device" else None
    lacking = False
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
            lacking = True
        except ConfigError as error:
            reporter.detail(f"search by product on the CPU: {error}")
    holder = holder_of(arrays.values)
    if holder is not None:
        arrays = arrays._replace(values=holder.to_host(arrays.values))
    if device is not None and lacking:
        for parts in PARTS:
            with suppress(DeviceMemoryError):
                return PartedProducts(arrays, make, parts)
        reporter.detail("search by product on the CPU: the device lacks memory")
    return HostProducts(arrays, threads)


def visits_most(
    points: PointCoordinates, neighbours: int, probe: Probe = visits
) -> bool:
    """Return whether products of the host find neighbours sooner than a tree.

    Distances are Euclidean.
    """
    count, dimensions = points.values.shape
    if count < FEW_POINTS or worth(dimensions) >= 1:
        return False
    return probe(points, neighbours, count) / count > worth(dimensions)
