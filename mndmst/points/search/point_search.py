"""The interface of an exact search of points, and the search by a k-d tree."""

import math
from typing import Protocol

import numpy as np

from ...kernels.threads import Threads, each_range
from ..devices.point_products import ComponentArrays, PointArrays
from ..kernels.boruvka_steps import CHEAP_SHARE, PointEdges
from ..kernels.kd_tree import LEAF, PointTree, count_visited
from ..kernels.lightest_edges import (
    STARTS,
    TreeComponents,
    lightest,
    lower_bounds_by_walks,
    walk_starts,
)
from ..kernels.nearest_points import nearest, restore_distances
from ..kernels.norms import EUCLIDEAN, LARGEST
from ..kernels.short_rounds import MOST_WALKED, RoundState, join_few
from .build_tree import chunks, fill_tree
from .neighbours import Neighbours, weigh_neighbours
from .product_search import HostProducts, ProductSearch, few_pairs
from .remote_points import RemotePoints
from .search_steps import Report, no_report, run_in_steps

LEAST_SEARCHES = 32  # smallest number of searches in a chunk of work
# Time for a point that a walk of a tree visits, in times of an inner product; the fixed
# costs of a product, in dimensions. Measured with 5 to 32 dimensions, with AVX-512.
VISIT, FIXED = 6.0, 40.0
# In more dimensions the coordinates of two leaves exceed the cache during a visit.
WIDE = 256
# Gain of a pass over all pairs, which multiplies each pair once, over two searches. In
# fewer than PASS_DIMENSIONS, walks that visit most points take no longer.
PASS_GAIN, PASS_DIMENSIONS = 4, 4
# Coordinates that a thread certainly visits within a step of a search.
VISITED_IN_STEP = 1 << 28
# Limits of the rounds in one kernel call (`join_few`): steps in all; and, on several
# threads, searches of a round times the square of the dimensions: about 1 ms of work,
# which calls from Python cost, and more where few threads save little of it.
STEPS_OF_CALL, SEARCHES_OF_ROUND = 4, 1 << 16
# Most bytes by which an allocation is enlarged; glibc always unmaps larger arrays.
UNTOUCHED = 1 << 24
SAMPLED = 64  # searches whose visits are counted before a pass over all pairs


class PointSearch(Protocol):
    """An exact search of a rank's points; all searches return the same bits.

    `point` has the point at each position. `neighbours` also searches the points of
    other ranks (`remote`). Up to `cheap` searches, of all ranks, take little time.
    """

    point: np.ndarray
    remote: RemotePoints
    cheap: int

    def neighbours(self, k: int, min_samples: int) -> Neighbours:
        """Return the k nearest neighbours of every point, by position. Collective.

        `k` is at least `min_samples` and 1, and smaller than the number of points.
        `min_samples` is 0 for plain distances; else mutual reachability: a point's core
        distance is that to its `min_samples`-th neighbour, itself not counted.
        """

    def lightest(
        self, components: ComponentArrays, queries: np.ndarray, bounded: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the far ends and weights of the queries' lightest edges on this rank.

        Lowers the bounds of components to the edges found. Edges above the bounds may
        be left out, and must be if `bounded`. `queries` are positions, ascending. A
        query without an edge within its bound is its own end, and its weight is the
        bound, which all its edges exceed.
        """

    def join_few(
        self, state: RoundState, known: PointEdges
    ) -> tuple[PointEdges, PointEdges]:
        """Do the rounds that take few searches, if this rank has all points.

        Returns the edges that join, and the known edges between the remaining
        components. A search without such rounds returns no edges, and all known ones.
        """

    def between(
        self, components: ComponentArrays, known: PointEdges, uncertain: np.ndarray
    ) -> PointEdges | None:
        """Return the lightest edge between each two components, unless it is known.

        Collective; each edge is on one rank. `known` edges and the result are between
        components. `uncertain` counts each component's uncertain points, of all ranks.
        Heavier edges between components may be in the result. None on all ranks if the
        search does not offer the edges, or searches from the uncertain points take less
        time.
        """


class TreeSearch:
    """Search by walks of a k-d tree; see `PointSearch`.

    `points` are the coordinates for a pass over all pairs; None on many ranks.
    """

    def __init__(
        self,
        tree: PointTree,
        remote: RemotePoints,
        threads: Threads,
        report: Report = no_report,
        points: np.ndarray | None = None,
    ) -> None:
        self.tree, self.point, self.remote = tree, tree.point, remote
        self.cheap = remote.total // CHEAP_SHARE
        self.threads, self.report, self.points = threads, report, points
        nodes, n, dimensions = len(tree.left), len(tree.point), tree.low.shape[1]
        # Queries that take no longer than a step even if each visits all points.
        self._first_step = VISITED_IN_STEP // (n * dimensions)
        self._of_node = np.empty(nodes, np.uint32)
        self._node_lower_bound = np.empty(nodes)
        # A walk visits at most all points, so a pass takes longer than fewer walks.
        self._pass_threshold = math.ceil(break_even_share(dimensions) / PASS_GAIN * n)
        if points is None or tree.norm != EUCLIDEAN or dimensions < PASS_DIMENSIONS:
            self._pass_threshold = n + 1  # never

    def neighbours(self, k: int, min_samples: int) -> Neighbours:
        """Return the k nearest neighbours; see `PointSearch.neighbours`."""
        tree, threads, remote = self.tree, self.threads, self.remote
        n, leaves = len(tree.point), len(tree.leaves)
        distance, positions = _allocate_lists(n, k)
        run_in_steps(
            threads,
            nearest,
            (tree, distance, positions),
            leaves,
            1,
            lambda done, _: self.report(n * done // leaves, n),
            self._first_step // LEAF,
        )
        remote.improve_neighbours(distance, positions)
        duplicates = np.flatnonzero(distance[:, 0] == 0)
        ranges = each_range(threads.bounds(n))
        cores, lower_bound = np.empty(n), np.empty(n)
        threads.run(
            restore_distances,
            tree.norm,
            distance,
            min_samples,
            cores,
            lower_bound,
            *ranges,
        )
        if k == remote.total - 1:
            lower_bound[:] = np.inf
        if min_samples:
            weigh_neighbours(distance, positions, cores, remote, threads)
        return Neighbours(distance, positions, cores, lower_bound, duplicates)

    def lightest(
        self, components: ComponentArrays, queries: np.ndarray, bounded: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the queries' lightest edges; see `PointSearch.lightest`."""
        of_tree = self._of_tree(components)
        if self.tree.low.shape[1] <= MOST_WALKED:
            starts = walk_starts(queries, components.of_position, len(components.bound))
            work = chunks(len(starts), self.threads, STARTS)
            self.threads.run(lower_bounds_by_walks, self.tree, of_tree, starts, *work)
        return self._walk(of_tree, queries, self.report)

    def _walk(
        self, of_tree: TreeComponents, queries: np.ndarray, report: Report
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the queries' lightest edges; lower the bounds of their components."""
        ends, weight = np.empty_like(queries), np.empty(len(queries))
        given, count = (self.tree, of_tree, queries, ends, weight), len(queries)
        run_in_steps(
            self.threads,
            lightest,
            given,
            count,
            LEAST_SEARCHES,
            report,
            self._first_step,
        )
        return ends, weight

    def join_few(
        self, state: RoundState, known: PointEdges
    ) -> tuple[PointEdges, PointEdges]:
        """Do rounds of few searches on one thread; see `PointSearch.join_few`."""
        if len(self.point) < self.remote.total:
            return PointEdges.empty(0), known
        most = most_of_round = STEPS_OF_CALL * self._first_step
        threads, dimensions = self.threads.count, self.tree.low.shape[1]
        if threads > 1:
            searches = SEARCHES_OF_ROUND * threads // (threads - 1) // dimensions**2
            most_of_round = min(most, searches)
        columns = join_few(
            self.tree,
            state,
            known,
            self._of_node,
            self._node_lower_bound,
            most,
            most_of_round,
            self._pass_threshold,
        )
        return PointEdges(*columns[:4]), PointEdges(*columns[4:])

    def _of_tree(self, components: ComponentArrays) -> TreeComponents:
        """Return the components of points and nodes."""
        return fill_tree(self.tree, components, self._of_node, self._node_lower_bound)

    def between(
        self, components: ComponentArrays, known: PointEdges, uncertain: np.ndarray
    ) -> PointEdges | None:
        """See `PointSearch.between`: by products, if walks would visit many points."""
        n = len(self.point)
        # The component with the most uncertain points need not search if the others do.
        if (
            self.points is None
            or uncertain.sum() - uncertain.max() < self._pass_threshold
            or not few_pairs(len(components.bound), n)
        ):
            return None
        # The caller needs the bounds by which it has counted uncertain points.
        components = components._replace(bound=components.bound.copy())
        lower_bound, of_position = components.lower_bound, components.of_position
        bounds = components.bound[of_position]
        uncertain_points = (lower_bound <= bounds) & (lower_bound < np.inf)
        queries = np.flatnonzero(uncertain_points).astype(np.uint32)
        of_tree = self._of_tree(components)
        sample = queries[:: -(-len(queries) // SAMPLED)].copy()  # contiguous
        self._walk(of_tree, sample, no_report)  # lowers the bounds as a search would
        component = of_position[sample]
        visited = count_visited(
            self.tree,
            self.points[self.point[sample]],
            np.minimum(components.bound[component] ** 2, LARGEST),
            component,
            of_tree.of_node,
        )
        share = visited / len(sample) / n
        if share * len(queries) < self._pass_threshold:
            return None
        arrays = PointArrays.undivided(self.points, self.point, self.point)
        products = HostProducts(arrays, self.threads)
        search = ProductSearch(
            products, self.point, self.remote, self.threads, self.report
        )
        return search.pass_all(components, known)


def _allocate_lists(points: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and positions, shape (points, k), uninitialized.

    They share one allocation that is larger than needed: glibc keeps up to twice the
    size of the largest freed array mapped, so the next search finds its pages mapped.
    The pages of the unused part are never touched, and take no memory.
    """
    count = points * k
    needed = 12 * count  # bytes: float64 and uint32
    memory = np.empty(needed + min(needed, UNTOUCHED), np.uint8)
    distance = memory[: 8 * count].view(np.float64)
    positions = memory[8 * count : needed].view(np.uint32)
    return distance.reshape(points, k), positions.reshape(points, k)


def break_even_share(dimensions: int) -> float:
    """Return the fraction of points visited by a walk from which host products win.

    In at most 8 dimensions it is 1 or more: products never win.
    """
    return (1 + FIXED / dimensions) / VISIT * min(1, WIDE / dimensions)
