"""The clusters of most excess of mass.

A cluster is preferred to its descendants if its mass is at least theirs. The masses are
sums of many terms in float64, so a kernel decides all comparisons but those that
rounding might decide. These few are made in rational numbers.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from .condensed import CondensedTree
from .kernels.dendrogram import choose_stable


def most_stable(tree: CondensedTree, allowed: np.ndarray) -> np.ndarray:
    """Return which clusters are preferred to their descendants.

    The topmost of them on each path are the clusters of the largest total mass.

    Parameters
    ----------
    allowed : ndarray of bool, shape (clusters,)
        False for clusters that must not be chosen.

    Returns
    -------
    ndarray of bool, shape (clusters,)
        The root first.
    """
    parent, mass = tree.cluster_parent, tree.mass
    best, chosen = np.where(allowed, mass, 0.0), allowed.copy()
    facts = parent, tree.cluster_size, mass, allowed
    exact = ExactMasses(tree)
    end = len(mass)
    while end := choose_stable(*facts, best, chosen, end):
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

        Parameters
        ----------
        chosen : ndarray of bool, shape (clusters,)
            Decided for all descendants.
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
