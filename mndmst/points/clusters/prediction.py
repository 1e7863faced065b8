"""Labels, outlier scores and memberships of new points in clusters that are there.

A new point joins its nearest training point by mutual reachability distance, as if it
alone were added: its core distance is that to its `min_samples`-th training point. It
leaves at that distance, or with its neighbour if that leaves earlier. Training points,
their core distances and their clusters stay, so that a training point is predicted as
itself. hdbscan predicts in the same way, but searches the 2 * `min_samples` nearest
points alone, counts neighbours differently than in its fit, and does not let the
probability of a point end with its neighbour.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...host.cores import core_count
from ...kernels.threads import Threads
from ..coordinates import finite_rows
from ..devices.point_products import PointsOnDevice
from ..kernels.dendrogram import merge_scales, owners
from ..pairwise_forest import Metric, simplified
from ..search.surplus_equals import surplus_equals
from .condensed import CondensedTree, scale_of
from .density import Clustering, clusters_by_label
from .training_search import training_search

# New points that are handled at a time, and training points that are looked at first.
BLOCK, FIRST = 4096, 16


@dataclass(frozen=True)
class Connections:
    """The training points to which new points connect, and the distances.

    Of several neighbours at one distance, the one that leaves its cluster last is
    chosen, then the nearest.
    """

    # int64: nearest training point by mutual reachability; -1 for a row that is not
    # finite
    neighbour: np.ndarray
    # float64 at which the point leaves: the mutual reachability distance, or that at
    # which the neighbour leaves, if it is larger
    distance: np.ndarray


class TrainingPoints:
    """Training points that new points search.

    Rows that are not finite are left out; so are points of which more than
    `min_samples` equals leave their clusters at smaller distances, because new points
    join these. `leaving` is the distance at which each point leaves its cluster;
    `metric` and `parameters` are as in `metric_forest`; 0 threads are all cores;
    `fit_search` is the `PointForest.search` of the fit, if known. A core distance is
    computed when a new point first needs it, since a few new points need few of them.
    """

    def __init__(
        self,
        points: np.ndarray | PointsOnDevice,
        metric: Metric,
        parameters: Mapping[str, object],
        min_samples: int,
        alpha: float,
        leaving: np.ndarray,
        threads: int = 0,
        fit_search: str = "",
    ) -> None:
        simple, further = simplified(metric, dict(parameters))
        used = finite_rows(points)
        self.count = min(min_samples, int(used.sum()) - 1)
        if isinstance(points, np.ndarray) and self.count >= 0:
            alike = np.where(used, points[:, 0], np.nan)
            used[surplus_equals(points.__getitem__, alike, leaving, self.count)] = False
        self.number = np.flatnonzero(used)
        self.alpha, self.leaving = alpha, leaving[self.number]
        if len(self.number) == 0:
            return
        self.search = training_search(
            points
            if isinstance(points, np.ndarray) and used.all()
            else points[self.number],
            simple,
            further,
            self.count + 1,
            Threads(threads or core_count()),
            fit_search,
        )
        self._cores = np.full(len(self.number), np.nan if self.count else 0.0)

    def connect(self, points: np.ndarray) -> Connections:
        """Return the training point that each new point joins, and the distance."""
        neighbour = np.full(len(points), -1)
        distance = np.full(len(points), np.inf)
        finite = np.flatnonzero(np.isfinite(points).all(axis=1))
        if len(self.number) == 0:
            return Connections(neighbour, distance)
        for begin in range(0, len(finite), BLOCK):
            chosen = finite[begin : begin + BLOCK]
            index, found = self._nearest(points[chosen])
            neighbour[chosen] = self.number[index]
            distance[chosen] = np.maximum(found, self.leaving[index])
        return Connections(neighbour, distance)

    def _nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of each point's nearest training point, and its distance.

        More and more neighbours are searched, until no other can be as near.
        """
        nearest, least = np.zeros(len(points), np.int64), np.full(len(points), np.inf)
        total = len(self.number)
        todo, k = np.arange(len(points)), min(2 * self.count + FIRST, total)
        while len(todo):
            distance, index = self.search.nearest(points[todo], k)
            self._compute_cores(index[distance[:, 0] > 0])
            for row, point in enumerate(todo.tolist()):
                nearest[point], least[point] = self._best(distance[row], index[row])
            unsure = distance[:, -1] / self.alpha <= least[todo]
            todo = todo[unsure] if k < total else todo[:0]
            k = min(4 * k, total)
        return nearest, least

    def _best(self, distance: np.ndarray, index: np.ndarray) -> tuple[int, float]:
        """Return the nearest of some training points, and its distance.

        A new point that is equal to a training point stands for it.
        """
        equal = index[distance == 0]
        if len(equal):
            return int(equal[np.lexsort((equal, self.leaving[equal]))[0]]), 0.0
        core = self._core_of(distance)
        mutual = np.maximum(np.maximum(distance / self.alpha, core), self._cores[index])
        least = mutual.min()
        ties = np.flatnonzero(mutual == least)
        first = np.lexsort((index[ties], distance[ties], self.leaving[index[ties]]))[0]
        return int(index[ties[first]]), float(least)

    def _core_of(self, distance: np.ndarray) -> float:
        """Return the core distance of a new point from its ascending distances."""
        return float(distance[self.count - 1]) if self.count else 0.0

    def _compute_cores(self, index: np.ndarray) -> None:
        """Compute the core distances of some training points that are not known yet."""
        if self.count == 0:
            return
        unknown = np.unique(index[np.isnan(self._cores[index])])
        for begin in range(0, len(unknown), BLOCK):
            some = unknown[begin : begin + BLOCK]
            found, _ = self.search.nearest_to_own(some, self.count + 1)
            self._cores[some] = found[:, -1]


def nearest_distances(
    points: np.ndarray,
    others: np.ndarray,
    metric: Metric,
    parameters: Mapping[str, object],
) -> np.ndarray:
    """Return the distance of each point to the nearest of others (float64)."""
    leaving = np.zeros(len(others))
    plain = TrainingPoints(others, metric, parameters, 0, 1.0, leaving)
    return plain.connect(points).distance


def predicted_labels(
    tree: CondensedTree,
    chosen: np.ndarray,
    labels: np.ndarray,
    epsilon: float,
    joined: Connections,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and probabilities of new points.

    `chosen` marks the selected clusters, `labels` are those of the training points; the
    `epsilon` of the selection limits a selected root.
    """
    owner = owners(tree.cluster_parent, chosen)
    label_of = np.full(tree.num_clusters + 1, -1)
    inside = labels >= 0
    label_of[owner[tree.point_cluster[inside]]] = labels[inside]
    known = joined.neighbour >= 0
    found = np.full(len(known), -1)
    cluster = _clusters_at(tree, joined.neighbour[known], joined.distance[known])
    selected = owner[cluster]
    if chosen[0]:
        limit = epsilon or tree.root_end
        selected[joined.distance[known] > limit] = -1
    found[known] = np.where(selected >= 0, label_of[selected], -1)
    probability = np.zeros(len(known))
    top, scale = scale_of(tree.death[selected]), scale_of(joined.distance[known])
    share = np.ones(len(top))
    usual = (top > 0) & np.isfinite(scale)
    share[usual] = np.minimum(scale[usual] / top[usual], 1)
    probability[known] = np.where(selected >= 0, share, 0)
    return found, probability


def predicted_scores(tree: CondensedTree, joined: Connections) -> np.ndarray:
    """Return the GLOSH outlier scores of new points; 1 for rows that are not finite."""
    known = joined.neighbour >= 0
    distance = joined.distance[known]
    cluster = tree.point_cluster[joined.neighbour[known]]
    last = np.maximum(tree.last_distance[cluster], 0)
    score = np.ones(len(known))
    with np.errstate(invalid="ignore", divide="ignore"):
        later = (distance - last) / distance
    score[known] = np.where(distance > last, later, 0)
    return score


def membership(
    tree: CondensedTree,
    chosen: np.ndarray,
    nearness: np.ndarray,
    cluster: np.ndarray,
    scale: np.ndarray,
) -> np.ndarray:
    """Return the membership of points in each selected cluster, as hdbscan defines it.

    `chosen` are the selected clusters by label, `nearness` (points, clusters) distances
    to the nearest exemplars, `cluster` the last cluster of each point, `scale` the
    lambda at which it leaves. Rows add up to the probability of being in any cluster.
    """
    if len(chosen) == 0:
        return np.zeros((len(cluster), 0))
    birth = scale_of(tree.birth)
    merged = merge_scales(tree.cluster_parent, birth, chosen)[cluster]
    height = np.where(np.isnan(merged), scale[:, None], merged)
    largest = scale_of(tree.death)
    deep = _ratio(largest[cluster][:, None], height)
    apart = np.exp(np.exp(-deep))
    near = np.zeros_like(nearness)
    np.divide(1, nearness, out=near, where=nearness > 0)
    touching = (nearness == 0).any(axis=1)
    near[touching] = nearness[touching] == 0
    result = near / near.sum(axis=1, keepdims=True) * apart
    result /= result.sum(axis=1, keepdims=True)
    best = height.argmax(axis=1)
    top = height[np.arange(len(best)), best]
    inside = 1 / _ratio(np.maximum(largest[chosen[best]], scale), top)
    return result * inside[:, None]


@dataclass(frozen=True)
class FlatMembership:
    """Flat clusters of points, whose membership other points have.

    Attributes
    ----------
    chosen : ndarray of bool
        The selected clusters of the tree.
    labels : ndarray of int64
        Of the points of the tree; -1 is noise.
    exemplars : list of ndarray, shape (exemplars, dimensions)
        By label; see `exemplars_of`.
    """

    tree: CondensedTree
    chosen: np.ndarray
    labels: np.ndarray
    exemplars: Sequence[np.ndarray]
    metric: Metric
    parameters: Mapping[str, object]

    def memberships(self, points: np.ndarray, joined: Connections) -> np.ndarray:
        """Return the membership of points in each cluster; 0 for rows not finite."""
        result = np.zeros((len(points), len(self.exemplars)))
        known = finite_rows(points)
        if self.exemplars:
            result[known] = self._members(joined, known, self._near(points[known]))
        return result

    def without_noise(
        self, flat: Clustering, points: np.ndarray, joined: Connections
    ) -> Clustering:
        """Return labels and probabilities of points, each in a cluster.

        A noise point gets the cluster of its largest membership, or of the nearest
        exemplar if it has none, and the membership for a probability. Rows that are not
        finite stay noise, and all points where there is no cluster.
        """
        noise = (flat.labels < 0) & finite_rows(points)
        if not self.exemplars or not noise.any():
            return flat
        nearness = self._near(points[noise])
        found = self._members(joined, noise, nearness)
        usual = found.sum(axis=1) > 0  # False of NaN, too
        best = np.where(usual, found.argmax(axis=1), nearness.argmin(axis=1))
        labels, probabilities = flat.labels.copy(), flat.probabilities.copy()
        labels[noise] = best
        probabilities[noise] = np.where(usual, found[np.arange(len(best)), best], 0)
        return Clustering(labels, probabilities)

    def _near(self, points: np.ndarray) -> np.ndarray:
        """Return the distances of points to the nearest exemplars, by cluster."""
        columns = [
            nearest_distances(points, exemplars, self.metric, self.parameters)
            for exemplars in self.exemplars
        ]
        return np.stack(columns, axis=1)

    def _members(
        self,
        joined: Connections,
        rows: np.ndarray,
        nearness: np.ndarray,
    ) -> np.ndarray:
        """Return the memberships of some rows of the points, given as a mask."""
        tree = self.tree
        return membership(
            tree,
            clusters_by_label(tree, self.chosen, self.labels),
            nearness,
            tree.point_cluster[joined.neighbour[rows]],
            scale_of(joined.distance[rows]),
        )


def _ratio(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return quotients, of which infinity / infinity and 0 / 0 are 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient = one / other
    return np.where(np.isnan(quotient), 1, quotient)


def _clusters_at(
    tree: CondensedTree, point: np.ndarray, distance: np.ndarray
) -> np.ndarray:
    """Return the clusters of points at a distance: the last born above it."""
    cluster = tree.point_cluster[point].copy()
    climbing = tree.point_distance[point] < distance
    while True:
        climbing &= (tree.birth[cluster] <= distance) & (cluster > 0)
        if not climbing.any():
            return cluster
        cluster[climbing] = tree.cluster_parent[cluster[climbing]]
