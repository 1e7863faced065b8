"""Searches of training points by new points: a k-d tree, products, or whole rows."""

from typing import Protocol

import numpy as np

from ...kernels.threads import Threads
from ..coordinates import PointCoordinates, point_coordinates, unscaled
from ..devices.point_products import NO_POSITION, PointArrays
from ..kernels.nearest_points import nearest_to_queries
from ..kernels.norms import LARGEST
from ..metrics import METRICS, Norm, from_norm, prepared
from ..pairwise_forest import Metric, checked_distances, searchable_rows
from ..search.build_tree import build_tree
from ..search.product_search import HostProducts, random_order
from ..search.search_choice import prefers_products
from ..search.search_steps import no_report, run_in_steps

# Least queries of a tree that are worth a thread.
LEAST_QUERIES = 64
# Neighbours that a search by products lists at a time, of all queries together.
LISTED = 1 << 20


class TrainingSearch(Protocol):
    """Finds the training points nearest to others, of equally near ones any."""

    def nearest(self, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and indices of the k training points nearest to new ones.

        Both have the shape (points, k); distances ascend.
        """

    def nearest_to_own(
        self, indices: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return those nearest to training points, of which each is its own nearest."""


def training_search(
    points: np.ndarray,
    metric: Metric,
    further: dict[str, object],
    neighbours: int,
    threads: Threads,
    fit_search: str = "",
) -> TrainingSearch:
    """Return the search of at least one training point, all finite.

    `metric` and `further` are as from `pairwise_forest.simplified`. Products search
    where a walk of the tree for `neighbours` would visit most points, which the fit
    knows if its `PointForest.search`, `fit_search`, is "product".
    """
    if metric not in METRICS:
        return _RowSearch(points, metric, further)
    name = str(metric)
    computed = point_coordinates(points, name, threads)
    if computed.scale.factor != 1:  # no scale suits every new point
        computed = unscaled(computed.scale.original(computed.all()))
    if METRICS[name].norm == Norm.EUCLIDEAN and (
        fit_search == "product" or prefers_products(computed, neighbours)
    ):
        return _ProductSearch(computed, name, threads)
    return _TreeSearch(computed, name, threads)


class _TreeSearch:
    """Training points in a k-d tree."""

    def __init__(
        self, computed: PointCoordinates, metric: str, threads: Threads
    ) -> None:
        self._metric, self._threads = metric, threads
        self._points = computed.all()
        self._norm = METRICS[metric].norm
        self._tree = build_tree(self._points, self._norm, threads)

    def nearest(self, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """See `TrainingSearch.nearest`."""
        return self._nearest(prepared(points, self._metric), k)

    def nearest_to_own(
        self, indices: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `TrainingSearch.nearest_to_own`."""
        return self._nearest(self._points[indices], k)

    def _nearest(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        count = len(queries)
        queries = np.ascontiguousarray(queries, np.float64)
        distance = np.full((count, k), LARGEST)
        position = np.full((count, k), NO_POSITION)
        given = self._tree, queries, distance, position
        run_in_steps(
            self._threads, nearest_to_queries, given, count, LEAST_QUERIES, no_report
        )
        distance = self._norm.distance(distance)
        return from_norm(distance, self._metric), self._tree.point[position]


class _ProductSearch:
    """Training points in matrix products."""

    def __init__(
        self, computed: PointCoordinates, metric: str, threads: Threads
    ) -> None:
        assert isinstance(computed.values, np.ndarray)
        self._metric, self._computed = metric, computed
        self._rows = random_order(len(computed.values))
        arrays = PointArrays(
            computed.values, computed.largest, computed.length, self._rows, self._rows
        )
        self._products = HostProducts(arrays, threads)

    def nearest(self, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """See `TrainingSearch.nearest`."""
        return self._nearest(prepared(points, self._metric), k)

    def nearest_to_own(
        self, indices: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `TrainingSearch.nearest_to_own`."""
        return self._nearest(self._computed.of(indices), k)

    def _nearest(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        count, step = len(queries), max(1, LISTED // k)
        distance, index = np.empty((count, k)), np.empty((count, k), np.uint32)
        for begin in range(0, count, step):
            some = queries[begin : begin + step]
            limits = np.full(len(some), LARGEST)
            square, place = self._products.nearest_to(some, limits, k)
            distance[begin : begin + step] = np.sqrt(square)
            index[begin : begin + step] = self._rows[place]
        return from_norm(distance, self._metric), index


class _RowSearch:
    """Training points of a metric that compares each point with all."""

    def __init__(
        self, points: np.ndarray, metric: Metric, further: dict[str, object]
    ) -> None:
        coordinates = points.astype(np.float64, copy=False)
        self._rows = searchable_rows(coordinates, metric, further)

    def nearest(self, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """See `TrainingSearch.nearest`."""
        rows = self._rows.from_points(points)
        found = [_smallest(checked_distances(row, "a new point"), k) for row in rows]
        return _stacked(found, k)

    def nearest_to_own(
        self, indices: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `TrainingSearch.nearest_to_own`."""
        return _stacked([_smallest(self._rows.row(i), k) for i in indices.tolist()], k)


def _smallest(row: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k smallest distances of a row, ascending, and their indices."""
    chosen = np.argpartition(row, k - 1)[:k]
    chosen = chosen[np.argsort(row[chosen], kind="stable")]
    return row[chosen], chosen


def _stacked(
    found: list[tuple[np.ndarray, np.ndarray]], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of distances and indices as two matrices."""
    distance = np.array([row for row, _ in found], np.float64).reshape(-1, k)
    return distance, np.array([row for _, row in found], np.int64).reshape(-1, k)
