"""The certificate of a forest of points, proved from the points alone.

Components merge along the tree's own edges in Borůvka rounds. In each round, all
components but the largest claim that their lightest tree edge is the lightest of all
their outgoing edges (the cut property). A claim is tested from every point of the
component: against its nearest neighbours and, unless these include all points as near
as the claimed edge, against all points of other components within that distance. The
numbers of two components differ in a bit, so these points are found for each bit by two
trees: of the points whose component has the bit, and of the others. In many dimensions
products of all pairs find them (`ProductIndex`). Trees and products only propose pairs:
distances are computed here.

Equal points would make too many pairs. A location is a set of all equal points, and
each point is compared only with the smallest point of each location. This accepts no
wrong forest:

- Let a and b be points of one location q. Every third point is as near to a as to b,
  and no edge of a is lighter than (a, b), whose weight is the core distance of q (0
  without core distances). Let S be the points of q and all points at the minimum
  weight. S has all points of a location or none, so its smallest point m is the
  smallest of its location. The first edge of a point b of q is (m, b); that of m is
  (m, y), where y is the smallest other point of S.
- In the first round each point is a component, and point 0, the smallest of its
  location, is the largest and claims nothing. A point b that is not the smallest of its
  location is compared with m and passes only with the claim (m, b). The smallest point
  a of q is compared with m or, if a = m, with y, unless y is not the smallest of its
  location. Then y is in q, and its own claim (m, y) is an edge of the tree, so a claims
  no later edge.
- After this round all points of a location are in one component. The first edge from a
  component to another location leads to the smallest point there.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...certificate.candidate import Examination, examine, header_differences, in_words
from ...certificate.certificate import Verdict
from ...host.errors import InputError, optional
from ...host.formatting import counted
from ...io.results.forest_file import ForestFile, read_forest
from ..coordinates import unscaled
from ..metrics import METRICS, Norm, from_norm, prepared
from ..pairwise_forest import parameters_of, simplified
from ..point_files import uuid_of
from ..scale import extremes, scale_for
from ..search.search_choice import prefers_products
from .pairwise_certificate import (
    PairDistances,
    norm_distances,
    pairwise_problems,
    preceding,
    wrong_weights,
)

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

BLOCK = 1 << 22  # squared distances in memory at once
ROUNDING = 2.0**-52
TINY = 1e-300  # exceeds the loss of products that underflow


class ProductIndex:
    """Finds all points near others by float64 matrix products with an error bound.

    In many dimensions a tree visits nearly all points for each query. A product of a
    block of queries with all points gives all squared Euclidean distances at once, up
    to an error: |x|^2 + |y|^2 - 2 x.y takes 2 d + 3 roundings of 2^-53 on terms of at
    most (|x|^2 + |y|^2) together, and the subtraction of a centre changes |x - y|^2 by
    less than 4.1 * 2^-53 (|x|^2 + |y|^2). So the error is less than (d + 16) 2^-52
    (|x|^2 + |y|^2). The index only proposes: it returns every point whose distance may
    be within a radius, and some further points.
    """

    def __init__(self, points: np.ndarray) -> None:
        self.points = points - points.mean(axis=0)
        self.square = (self.points * self.points).sum(axis=1)
        self.error = (points.shape[1] + 16) * ROUNDING
        self.rows = max(1, BLOCK // len(points))

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return k points for every point, and a lower bound of the other distances.

        The point itself is among the k.
        """
        count = len(self.points)
        near = np.empty((count, k), np.int64)
        furthest = np.empty(count)
        for begin in range(0, count, self.rows):
            queries = np.arange(begin, min(begin + self.rows, count))
            square = self._squares(queries)
            square[queries - begin, queries] = -np.inf  # the point itself comes first
            chosen = np.argpartition(square, k - 1, axis=1)[:, :k]
            near[queries] = chosen
            furthest[queries] = np.take_along_axis(square, chosen, axis=1).max(axis=1)
        lost = self.error * (self.square + self.square.max())
        return near, np.sqrt(np.maximum(furthest - lost - TINY, 0)) * (1 - ROUNDING)

    def within(
        self, queries: np.ndarray, radius: np.ndarray
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of queries, and whether each point may be within their radius.

        Queries are indices of points. The booleans have the shape (queries of the
        slice, points).
        """
        for begin in range(0, len(queries), self.rows):
            block = slice(begin, begin + self.rows)
            limit = radius[block] ** 2 * (1 + 4 * ROUNDING) + TINY
            limit += self.error * self.square[queries[block]]
            square = self._squares(queries[block])
            square -= self.error * (1 + ROUNDING) * self.square
            yield block, square <= limit[:, None] * (1 + 4 * ROUNDING)

    def _squares(self, queries: np.ndarray) -> np.ndarray:
        """Return the squared distances of some points to all, up to the error."""
        square = self.points[queries] @ self.points.T
        square *= -2
        square += self.square
        square += self.square[queries, None]
        return square


FIRST_FOUND = 8  # points of other components that a search asks for at first
PAIRS = 1 << 21  # in memory at once
# SciPy's distances differ from those here by a few roundings.
SLACK = 1e-11
MORE = 6  # neighbours in addition to those for core distances


class PointSet(NamedTuple):
    """The facts of points that `candidate` compares with a forest file."""

    uuid: str
    num_vertices: int
    weight_dtype: np.dtype
    maximum: bool = False


def verify_points(points: np.ndarray, forest_path: str | Path) -> Verdict:
    """Decide whether a forest file is the minimum spanning forest of points.

    The file names the metric with its parameters, `alpha` and `min_samples`. Points
    that are not finite are trees of their own. Raises InputError if the file is
    damaged, or is not of points; MissingExtraError if SciPy is not installed.
    """
    begin = time.perf_counter()
    forest = read_forest(forest_path)
    n = len(points)
    point_set = PointSet(uuid_of(points), n, np.dtype(np.float64))
    strange = header_differences(point_set, forest)
    if strange:
        seconds = time.perf_counter() - begin
        return Verdict(n, forest.num_edges, strange, seconds)
    finite = np.flatnonzero(np.isfinite(points).all(axis=1))
    seen: Examination = examine(point_set, forest)
    problems = [*map(in_words, seen.faults), *seen.differences]
    edges = max(len(finite) - 1, 0)
    if forest.num_edges != edges:
        problems.append(
            f"{counted(len(finite), 'finite point' if len(finite) < n else 'point')} "
            f"take a tree of {counted(edges, 'edge')}; the forest has "
            f"{forest.num_edges:,}"
        )
    elif edges and not seen.faults:
        position = np.full(n, -1)
        position[finite] = np.arange(len(finite))
        u, v, weight = forest.read(0, forest.num_edges)
        u, v = position[u], position[v]
        if min(u.min(), v.min()) < 0:
            problems.append("an edge joins a point that is not finite")
        else:
            prefix = (
                "" if len(finite) == n else "of the finite points, numbered from 0: "
            )
            texts = _problems(points[finite], forest, u, v, weight)
            problems += [prefix + text for text in texts]
    return Verdict(
        n=n,
        edges=forest.num_edges,
        problems=problems,
        seconds=time.perf_counter() - begin,
        m=n * (n - 1) // 2,
        trees=None if problems else n - forest.num_edges,
        weight=seen.weight,
        digest=seen.digest,
    )


def _problems(
    points: np.ndarray,
    forest: ForestFile,
    u: np.ndarray,
    v: np.ndarray,
    weight: np.ndarray,
) -> list[str]:
    """Return why edges are not the minimum spanning tree by the metric of a file."""
    config = forest.header.config
    name, min_samples = str(config.get("metric")), config.get("min_samples")
    alpha = config.get("alpha", 1.0)
    try:
        if not isinstance(min_samples, int) or min_samples < 0:
            raise ValueError
        if not isinstance(alpha, int | float) or not alpha > 0:
            raise ValueError
        taken = config.keys() & parameters_of(name)
        metric, parameters = simplified(name, {key: config[key] for key in taken})
        min_samples, distances = min(min_samples, len(points) - 1), None
        if metric not in METRICS or alpha != 1:
            distances = PairDistances(points, str(metric), parameters)
            distances.between(0, np.array([1]))
    except InputError:  # the points do not suit the metric
        raise
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{forest.path}: does not say which distances of points it is of. Give "
            "what linkage or hdbscan has written with --forest."
        ) from error
    if distances is not None:
        return pairwise_problems(distances, min_samples, u, v, weight, alpha)
    claims = Claims(prepared(points, str(metric)), str(metric), min_samples)
    return claims.problems(u, v, weight)


class Claims:
    """The test of claims, on points as `metrics.prepared` returns them.

    With `by_products` matrix products search in place of trees; by default where a tree
    would visit most points. A search asks for `first_found` points of other components
    at first, and has at most `most_pairs` pairs in memory.
    """

    def __init__(
        self,
        points: np.ndarray,
        metric: str,
        min_samples: int,
        by_products: bool | None = None,
        first_found: int = FIRST_FOUND,
        most_pairs: int = PAIRS,
    ) -> None:
        self.first_found, self.most_pairs = first_found, most_pairs
        self.metric, self.norm = metric, METRICS[metric].norm
        self.scale = scale_for(self.norm, *extremes(points))
        self.points = points = self.scale.scaled(points)
        self.make_tree: type[cKDTree] = optional("scipy.spatial", "formats").cKDTree
        self.distinct = Distinct(points, self.norm, min_samples, by_products)

    def weight(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the mutual reachability distances of pairs."""
        distinct, cores = self.distinct, self.distinct.cores
        a, b = distinct.location[a], distinct.location[b]
        return np.maximum(distinct.distance(a, b), np.maximum(cores[a], cores[b]))

    def _shown(self, weight: np.ndarray) -> np.ndarray:
        """Return distances as the forest file has them."""
        return from_norm(self.scale.original(weight), self.metric)

    def problems(self, u: np.ndarray, v: np.ndarray, given: np.ndarray) -> list[str]:
        """Return why edges are not the minimum spanning tree; [] if they are."""
        weight = self.weight(u, v)
        if wrong := wrong_weights(u, v, given, self._shown(weight)):
            return wrong
        order = np.lexsort((v, u, weight))
        u, v, weight = u[order], v[order], weight[order]
        component, count = np.arange(len(self.points)), len(self.points)
        while count > 1:
            claimed = _lightest(component, count, u, v)
            largest = int(np.bincount(component).argmax())
            claimed[largest] = -1
            if (np.delete(claimed, largest) < 0).any():
                return ["the edges close a cycle, and do not join all points"]
            claim = claimed[component]
            testing = np.flatnonzero(claim >= 0)
            problems = self._lighter(testing, claim, component, (u, v, weight))
            if problems:
                return problems
            component, count = _merged(component, count, claimed[claimed >= 0], u, v)
        return []

    def _lighter(
        self,
        testing: np.ndarray,
        claim: np.ndarray,
        component: np.ndarray,
        edges: tuple[np.ndarray, ...],
    ) -> list[str]:
        """Return messages for edges that precede those claimed to be first."""
        distinct = self.distinct
        first, location = distinct.first, distinct.location[testing]
        near = first[distinct.near[location]]
        a = np.broadcast_to(testing[:, None], near.shape)
        outgoing = component[a] != component[near]
        texts = self._compare(a[outgoing], near[outgoing], claim, edges)
        bound = edges[2][claim[testing]]
        searching = distinct.lower_bound[location] <= bound
        searching &= distinct.cores[location] <= bound
        # One query for each location in each component
        pairs = location[searching] * len(component) + component[testing[searching]]
        queries = testing[searching][np.unique(pairs, return_index=True)[1]]
        if distinct.products is not None:
            return texts or self._search_products(
                distinct.products, queries, claim, component, edges
            )
        for bit in range(int(component.max()).bit_length()):
            of_side = (component >> bit & 1).astype(bool)
            for inside in (of_side, ~of_side):
                if texts:
                    return texts
                outside, others = queries[~inside[queries]], first[inside[first]]
                texts = self._search(outside, others, claim, edges)
        return texts

    def _search_products(
        self,
        products: ProductIndex,
        queries: np.ndarray,
        claim: np.ndarray,
        component: np.ndarray,
        edges: tuple[np.ndarray, ...],
    ) -> list[str]:
        """Compare points with all others as near as the claimed edges are long."""
        distinct = self.distinct
        first = distinct.first
        radius = edges[2][claim[queries]] * (1 + SLACK)
        for block, may in products.within(distinct.location[queries], radius):
            part_of_queries = queries[block]
            may &= component[part_of_queries][:, None] != component[first]
            query, location = np.nonzero(may)
            a, b = part_of_queries[query], first[location]
            for begin in range(0, len(a), self.most_pairs):
                part = slice(begin, begin + self.most_pairs)
                texts = self._compare(a[part], b[part], claim, edges)
                if texts:
                    return texts
        return []

    def _search(
        self,
        queries: np.ndarray,
        others: np.ndarray,
        claim: np.ndarray,
        edges: tuple[np.ndarray, ...],
    ) -> list[str]:
        """Compare points with all others as near as the claimed edges are long."""
        if len(queries) == 0 or len(others) == 0:
            return []
        tree, count = self.make_tree(self.points[others]), self.first_found
        while len(queries):
            count = min(count, len(others))
            further = []
            pieces = -(-len(queries) * count // self.most_pairs)
            pieces = min(len(queries), pieces)
            for piece in np.array_split(queries, pieces):
                radius = edges[2][claim[piece]] * (1 + SLACK) + 1e-300
                distance, index = tree.query(
                    self.points[piece],
                    [*range(1, count + 1)],
                    p=self.norm.p,
                    distance_upper_bound=np.nextafter(radius.max(), np.inf),
                    workers=-1,
                )
                within = distance <= radius[:, None]
                a = np.broadcast_to(piece[:, None], within.shape)[within]
                texts = self._compare(a, others[index[within]], claim, edges)
                if texts:
                    return texts
                further.append(piece[within[:, -1]])
            queries = np.concatenate(further)
            queries = queries if count < len(others) else queries[:0]
            count *= 4
        return []

    def _compare(
        self,
        a: np.ndarray,
        b: np.ndarray,
        claim: np.ndarray,
        edges: tuple[np.ndarray, ...],
    ) -> list[str]:
        """Return messages for pairs (a, b) that precede the claims of their ends a."""
        weight, claimed = self.weight(a, b), tuple(column[claim[a]] for column in edges)
        return preceding(a, b, weight, claimed, self._shown)


def _lightest(
    component: np.ndarray, count: int, u: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Return each component's first outgoing edge, or -1."""
    a, b = component[u], component[v]
    leaving = np.flatnonzero(a != b)
    first = np.full(count, len(u))
    for ends in (a, b):
        np.minimum.at(first, ends[leaving], leaving)
    return np.where(first < len(u), first, -1)


def _merged(
    component: np.ndarray, count: int, edges: np.ndarray, u: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return the components after merging along some edges, and their number."""
    sparse = optional("scipy.sparse", "formats")
    graph = optional("scipy.sparse.csgraph", "formats")
    ends = component[u[edges]], component[v[edges]]
    joins = sparse.coo_array((np.ones(len(edges)), ends), shape=(count, count))
    number, names = graph.connected_components(joins, directed=False)
    return names[component].astype(np.int64), int(number)


class Distinct:
    """The locations of points: core distances and nearest locations.

    The points are as `metrics.prepared` returns them.
    """

    def __init__(
        self,
        points: np.ndarray,
        norm: Norm,
        min_samples: int,
        by_products: bool | None = None,
    ) -> None:
        self.norm = norm
        # By location: coordinates, the smallest point, the number of points.
        self.locations, self.first, location, self.sizes = np.unique(
            points, True, True, True, axis=0
        )
        self.location = location.reshape(-1)  # of each point
        count = len(self.locations)
        listed = min(count, min_samples + 1 + MORE)
        self.products: ProductIndex | None = None
        if by_products is None and norm == Norm.EUCLIDEAN:
            by_products = prefers_products(unscaled(self.locations), listed)
        if by_products and norm == Norm.EUCLIDEAN:
            self.products = ProductIndex(self.locations)
            # Shape (locations, listed): the nearest locations, itself among them.
            self.near, lower_bound = self.products.nearest(listed)
        else:
            self._tree: cKDTree = optional("scipy.spatial", "formats").cKDTree(
                self.locations
            )
            ranks = [*range(1, listed + 1)]
            distance, self.near = self._tree.query(
                self.locations, ranks, p=norm.p, workers=-1
            )
            lower_bound = distance[:, -1]
        # By location: lower bound of the distances to unlisted locations.
        self.lower_bound = np.full(count, np.inf)
        if listed < count:
            self.lower_bound = lower_bound * (1 - SLACK)
        # By location: core distances; zeros for plain distances.
        self.cores = np.zeros(count)
        if min_samples:
            self._find_cores(min_samples)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the distances of pairs of locations."""
        return norm_distances(self.locations, self.norm, a, b)

    def _find_cores(self, min_samples: int) -> None:
        all_locations = np.arange(len(self.locations))[:, None]
        self.cores = self._kth(all_locations, self.near, min_samples)
        # Rounding may hide a nearer location that is not listed.
        for i in np.flatnonzero(self.cores >= self.lower_bound).tolist():
            ball = self._within(i, self.cores[i] * (1 + SLACK))
            (self.cores[i],) = self._kth(np.array([[i]]), ball[None, :], min_samples)

    def _within(self, i: int, radius: float) -> np.ndarray:
        """Return all locations that may be within a radius of location i."""
        if self.products is None:
            centre = self.locations[i]
            return np.array(self._tree.query_ball_point(centre, radius, p=self.norm.p))
        ((_, may),) = self.products.within(np.array([i]), np.array([radius]))
        return np.flatnonzero(may[0])

    def _kth(self, a: np.ndarray, b: np.ndarray, k: int) -> np.ndarray:
        """Return the distance from a point at `a` to its k-th neighbour, all at `b`.

        Points equal to it count as neighbours.
        """
        distance, sizes = self.distance(a, b), self.sizes[b] - (a == b)
        order = np.argsort(distance, axis=1)
        enough = np.cumsum(np.take_along_axis(sizes, order, axis=1), axis=1) >= k
        kth = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
        return np.take_along_axis(distance, kth, axis=1)[:, 0]
