"""The interface of an exact search of points, and the search by a k-d tree."""

import math
from typing import Protocol

import numpy as np

from ...kernels.threads import Threads, each_range
from ..devices.point_products import ComponentArrays, PointArrays
from ..kernels.boruvka_steps import CHEAP_SHARE, PointEdges
from ..kernels.kd_tree import LEAF, PointTree, count_visited
from ..kernels.lightest_edges import (
    GUIDES,
    TreeComponents,
    approach,
    guides,
    lightest,
    sum_up,
)
from ..kernels.nearest_points import nearest, restore_distances, weigh
from ..kernels.norms import EUCLIDEAN, LARGEST
from ..kernels.short_rounds import GUIDED, RoundState, join_few
from ..metrics import Norm
from ..ranks.remote_points import NoRemotePoints, RemotePoints
from .build_tree import build_tree, chunks
from .neighbours import Neighbours
from .product_search import HostProducts, ProductSearch, few_pairs
from .search_steps import Report, in_steps, no_report

LEAST_SEARCHES = 32  # smallest number of searches in a chunk of work
# How much longer a visit of a tree takes than an inner product. Measured with 5 to 32
# dimensions on a processor with AVX-512; a product has fixed costs in few dimensions.
VISIT, FIXED = 6.0, 40.0
# In more dimensions the points of two leaves leave the cache during a visit.
WIDE = 256
# A pass over all pairs multiplies each once, in place of two searches from each point.
PASS_GAIN = 4
# Coordinates that a thread surely visits within a step of a search.
VISITED_IN_STEP = 1 << 28
# Steps that rounds without Python may take at most; and searches of such a round, times
# the square of the dimensions, if other threads could do a part of them.
STEPS_ALONE, SEARCHED_ALONE = 4, 3 << 14
# Bytes of an allocation that nothing touches, at most. glibc returns larger arrays to
# the system in any case.
UNTOUCHED = 1 << 24
SAMPLED = 64  # searches whose visits are counted before such a pass


class PointSearch(Protocol):
    """An exact search of a rank's points; all searches return the same bits.

    `rows` has the user's number of the point at each position. `neighbours` searches
    the points of other ranks (`remote`), too. So few searches as `cheap`, of all ranks,
    take little time.
    """

    rows: np.ndarray
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
        """Return the queries' lightest edges to this rank's points: ends and weights.

        Bounds of components are lowered by the edges found; edges above the bounds may
        be left out, and must be if `bounded`. `queries` are positions, ascending.
        Without an edge within the bound, the end is the position itself, and the weight
        the bound, which all edges exceed.
        """

    def join_few(
        self, state: RoundState, known: PointEdges
    ) -> tuple[PointEdges, PointEdges]:
        """Do rounds that take few searches, if this rank has all points.

        Returns edges that join, and the known edges that are left. A search that does
        no rounds by itself returns no edges.
        """

    def between(
        self, components: ComponentArrays, known: PointEdges, uncertain: np.ndarray
    ) -> PointEdges | None:
        """Return the lightest edges between each two components that are not known.

        Collective; each edge is on one rank. All edges are between components.
        `uncertain` counts each component's uncertain points, of all ranks. None on all
        ranks if the search does not offer the edges, or searches from the uncertain
        points take less time. Heavier edges may be among them, but none within one
        component.
        """


class TreeSearch:
    """Points in the order of a k-d tree, which every query walks; see `PointSearch`.

    `points`, by the user's number, are for a pass over all pairs; none on many ranks.
    """

    def __init__(
        self,
        tree: PointTree,
        remote: RemotePoints,
        threads: Threads,
        report: Report = no_report,
        points: np.ndarray | None = None,
    ) -> None:
        self.tree, self.rows, self.remote = tree, tree.rows, remote
        self.cheap = remote.total // CHEAP_SHARE
        self.threads, self.report, self.points = threads, report, points
        nodes, n, dimensions = len(tree.left), len(tree.rows), tree.low.shape[1]
        # Even if each visits all points.
        self._sure = VISITED_IN_STEP // (n * dimensions)
        self._of_node, self._least_reach = np.empty(nodes, np.uint32), np.empty(nodes)
        # A walk visits at most all points, so a pass takes longer than fewer walks.
        self._for_pass = math.ceil(worth(dimensions) / PASS_GAIN * n)
        if points is None or tree.norm != EUCLIDEAN:
            self._for_pass = n + 1  # never

    def neighbours(self, k: int, min_samples: int) -> Neighbours:
        """Return the k nearest neighbours; see `PointSearch.neighbours`."""
        tree, threads, remote = self.tree, self.threads, self.remote
        n, leaves = len(tree.rows), len(tree.leaves)
        distance, positions = _allocate_lists(n, k)
        in_steps(
            threads,
            nearest,
            (tree, distance, positions),
            leaves,
            1,
            lambda done, _: self.report(n * done // leaves, n),
            self._sure // LEAF,
        )
        remote.improve_neighbours(distance, positions)
        doubled = np.flatnonzero(distance[:, 0] == 0)
        ranges = each_range(threads.bounds(n))
        cores, reach = np.empty(n), np.empty(n)
        threads.run(
            restore_distances, tree.norm, distance, min_samples, cores, reach, *ranges
        )
        if k == remote.total - 1:
            reach[:] = np.inf
        if min_samples:
            threads.run(weigh, distance, positions, cores, *ranges)
            if n < remote.total:
                row, j = np.nonzero(positions >= n)
                far = remote.gather_values(cores, positions[row, j])
                both = np.maximum(cores[row], far)
                distance[row, j] = np.maximum(distance[row, j], both)
        return Neighbours(distance, positions, cores, reach, doubled)

    def lightest(
        self, components: ComponentArrays, queries: np.ndarray, bounded: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the queries' lightest edges; see `PointSearch.lightest`."""
        summed = self._of_nodes(components)
        if self.tree.low.shape[1] <= GUIDED:
            positions = guides(queries, components.of_position, len(components.bound))
            work = chunks(len(positions), self.threads, GUIDES)
            self.threads.run(approach, self.tree, summed, positions, *work)
        return self._walk(summed, queries, self.report)

    def _walk(
        self, summed: TreeComponents, queries: np.ndarray, report: Report
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the queries' lightest edges; lower the bounds of their components."""
        ends, weight = np.empty_like(queries), np.empty(len(queries))
        given, count = (self.tree, summed, queries, ends, weight), len(queries)
        in_steps(
            self.threads, lightest, given, count, LEAST_SEARCHES, report, self._sure
        )
        return ends, weight

    def join_few(
        self, state: RoundState, known: PointEdges
    ) -> tuple[PointEdges, PointEdges]:
        """Do rounds of few searches on one thread; see `PointSearch.join_few`."""
        if len(self.rows) < self.remote.total:
            return PointEdges.empty(0), known
        most = STEPS_ALONE * self._sure
        alone = most
        if self.threads.count > 1:
            alone = min(most, SEARCHED_ALONE // self.tree.low.shape[1] ** 2)
        found = join_few(
            self.tree,
            state,
            known,
            self._of_node,
            self._least_reach,
            most,
            alone,
            self._for_pass,
        )
        joined, unjoined = PointEdges(*found[:4]), PointEdges(*found[4:])
        return joined, unjoined

    def _of_nodes(self, components: ComponentArrays) -> TreeComponents:
        """Return the components of the nodes."""
        summed = TreeComponents(
            of_position=components.of_position,
            of_node=self._of_node,
            cores=components.cores,
            reach=components.reach,
            least_reach=self._least_reach,
            bound=components.bound,
        )
        sum_up(self.tree, summed)
        return summed

    def between(
        self, components: ComponentArrays, known: PointEdges, uncertain: np.ndarray
    ) -> PointEdges | None:
        """See `PointSearch.between`: by products, if walks would visit many points."""
        n = len(self.rows)
        # The component with the most uncertain points need not search if the others do.
        if (
            self.points is None
            or uncertain.sum() - uncertain.max() < self._for_pass
            or not few_pairs(len(components.bound), n)
        ):
            return None
        # A round counts uncertain points by the bounds given, which must stay.
        components = components._replace(bound=components.bound.copy())
        reach, of_position = components.reach, components.of_position
        searching = (reach <= components.bound[of_position]) & (reach < np.inf)
        queries = np.flatnonzero(searching).astype(np.uint32)
        summed = self._of_nodes(components)
        some = queries[:: -(-len(queries) // SAMPLED)].copy()  # contiguous for kernels
        self._walk(summed, some, no_report)  # so their components have fair bounds
        own = of_position[some]
        visited = count_visited(
            self.tree,
            self.points[self.rows[some]],
            np.minimum(components.bound[own] ** 2, LARGEST),
            own,
            summed.of_node,
        )
        share = visited / len(some) / n
        if share * len(queries) < self._for_pass:
            return None
        none = np.empty(0)
        arrays = PointArrays(self.points, none, none, self.rows, self.rows)
        products = HostProducts(arrays, self.threads)
        search = ProductSearch(
            products, self.rows, self.remote, self.threads, self.report
        )
        return search.pass_all(components, known)


def _allocate_lists(points: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return memory for distances and positions of neighbours: one allocation.

    glibc keeps free memory of up to twice the largest array that has been freed. Memory
    of a search fits in that, so the next search finds its pages mapped. The rest of the
    allocation only makes it larger: pages that nothing touches take no memory.
    """
    length = points * k * 8, points * k * 4
    memory = np.empty(sum(length) + min(sum(length), UNTOUCHED), np.uint8)
    distance, positions = memory[: length[0]], memory[length[0] : sum(length)]
    shape = points, k
    return (
        distance.view(np.float64).reshape(shape),
        positions.view(np.uint32).reshape(shape),
    )


def tree_search(
    points: np.ndarray, norm: Norm, threads: Threads, report: Report = no_report
) -> TreeSearch:
    """Return the search of points that this process owns alone."""
    tree = build_tree(points, norm, threads)
    return TreeSearch(tree, NoRemotePoints(len(points)), threads, report, points)


def worth(dimensions: int) -> float:
    """Return the share of points visited by a tree from which host products win.

    In at most 8 dimensions it is 1 or more.
    """
    return (1 + FIXED / dimensions) / VISIT * min(1, WIDE / dimensions)
