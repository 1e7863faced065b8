"""Selects the flat clusters of a condensed tree.

By excess of mass a cluster is preferred to its descendants if its mass is at least
theirs. The masses are sums of many terms in float64, so a kernel decides all
comparisons except the few that rounding might decide. These are made in rational
numbers.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..kernels.dendrogram import choose_stable, owners, raised
from .condensed import CondensedTree


@dataclass(frozen=True)
class ClusterSelection:
    """The rule that selects flat clusters, under the names of hdbscan."""

    method: str = "eom"  # Clusters of most excess of mass, or the leaves of the tree
    # Clusters born at a smaller distance are replaced by their first ancestor that is
    # born at a larger one (Malzer and Baum, MFI 2020).
    epsilon: float = 0.0
    # Clusters born at a larger distance are not selected by excess of mass.
    epsilon_max: float = math.inf
    # Whether the root may be selected: all points except the first to leave it.
    allow_single_cluster: bool = False
    # Larger clusters are not selected by excess of mass; 0 for no limit.
    max_cluster_size: int = 0


def select_clusters(tree: CondensedTree, rule: ClusterSelection) -> np.ndarray:
    """Return a boolean per cluster, the root first: whether the rule selects it.

    No selected cluster is inside another.
    """
    parent = tree.cluster_parent
    if rule.method == "leaf":
        chosen = np.ones(len(parent), np.bool_)
        chosen[parent] = False  # among them the root, even if it is the only cluster
    else:
        chosen = _topmost(parent, most_stable(tree, _allowed(tree, rule)))
    if rule.epsilon > 0 and not chosen[0]:
        root = rule.allow_single_cluster
        chosen = raised(parent, tree.birth, chosen, float(rule.epsilon), root)
    return _topmost(parent, chosen)


def _allowed(tree: CondensedTree, rule: ClusterSelection) -> np.ndarray:
    """Mark the clusters that excess of mass may select."""
    size, birth = tree.cluster_size.copy(), tree.birth.copy()
    # The root is born where the first point leaves, and labels only its last points.
    birth[0] = tree.distance.max()
    size[0] = (tree.point_distance <= tree.root_end).sum()
    allowed = birth <= rule.epsilon_max
    if rule.max_cluster_size:
        allowed &= size <= rule.max_cluster_size
    allowed[0] &= rule.allow_single_cluster
    return allowed


def _topmost(parent: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return owners(parent, chosen) == np.arange(len(parent))


def most_stable(tree: CondensedTree, allowed: np.ndarray) -> np.ndarray:
    """Mark the clusters that are preferred to their descendants; the root is first.

    The topmost of them on each path are the clusters of the largest total mass. All
    of them are `allowed`.
    """
    parent, mass = tree.cluster_parent, tree.mass
    best, chosen = np.where(allowed, mass, 0.0), allowed.copy()
    exact = ExactMasses(tree)
    end = len(mass)
    while end := choose_stable(
        parent, tree.cluster_size, mass, allowed, best, chosen, end
    ):
        above = int(parent[end])
        chosen[above] = not exact.descendants_exceed(above, chosen)
        if chosen[above]:
            best[above] = mass[above]
    return chosen


class ExactMasses:
    """Compares excesses of mass in rational numbers."""

    def __init__(self, tree: CondensedTree) -> None:
        self.tree = tree
        self._rows: np.ndarray | None = None  # by parent, sorted at the first question

    def descendants_exceed(self, cluster: int, chosen: np.ndarray) -> bool:
        """Return whether the chosen clusters inside a cluster have more mass than it.

        `chosen` (bool, one per cluster) has been decided for all descendants.
        """
        terms = Counter({d: -count for d, count in self._terms(cluster).items()})
        todo = self._children(cluster)
        while todo:
            inside = todo.pop()
            if chosen[inside]:
                terms.update(self._terms(inside))
            else:
                todo += self._children(inside)
        return _sum(Fraction(count) / Fraction(d) for d, count in terms.items()) > 0

    def _terms(self, cluster: int) -> Counter[float]:
        """Return the mass of a cluster as multiples of 1 / distance."""
        if self.tree.birth[cluster] <= 0:  # it is born at an infinite lambda
            return Counter()
        rows = self._rows_of(cluster)
        terms: Counter[float] = Counter()
        distance, size = self.tree.distance[rows], self.tree.size[rows]
        heights, inverse = np.unique(distance, return_inverse=True)
        points = np.bincount(inverse, size).astype(np.int64)
        terms.update(dict(zip(heights.tolist(), points.tolist(), strict=True)))
        terms[float(self.tree.birth[cluster])] -= int(self.tree.cluster_size[cluster])
        del terms[np.inf]  # 1 / distance is 0
        return terms

    def _children(self, cluster: int) -> list[int]:
        child = self.tree.child[self._rows_of(cluster)] - self.tree.num_points
        return child[child >= 0].tolist()

    def _rows_of(self, cluster: int) -> np.ndarray:
        parent = self.tree.parent
        if self._rows is None:
            self._rows = np.argsort(parent, kind="stable")
        number = cluster + self.tree.num_points
        begin = np.searchsorted(parent, number, sorter=self._rows)
        end = np.searchsorted(parent, number, "right", sorter=self._rows)
        return self._rows[begin:end]


def _sum(numbers: Iterable[Fraction]) -> Fraction:
    """Add numbers in pairs, so that few of the sums have long denominators."""
    terms = [*numbers]
    while len(terms) > 1:
        odd = terms[-1:] if len(terms) % 2 else []
        pairs = zip(terms[::2], terms[1::2], strict=False)
        terms = [one + other for one, other in pairs] + odd
    return terms[0] if terms else Fraction(0)
