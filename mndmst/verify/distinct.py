"""Distinct points: their nearest ones, and which of many equal points stand for them.

Equal points are as far from all others, so of those in one component only the smallest
number can have the first edge in the order. Where most points are equal, pairs of them
would be too many.
"""

from typing import Any

import numpy as np

from ..host.errors import optional

# SciPy's distances are those here up to a few roundings.
SLACK = 1e-11
MORE = 6  # neighbours in addition to those for core distances


class Distinct:
    """The distinct ones of some points, their core distances and nearest ones.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
        As `metric.prepared` returns them.
    norm : {1, 2}
        Manhattan or Euclidean distances.

    Attributes
    ----------
    of : ndarray of int64, shape (points,)
        Which distinct one each point is.
    first : ndarray of int64, shape (distinct,)
        The first point that is each.
    cores : ndarray of float64, shape (distinct,)
        Zeros for plain distances.
    near : ndarray of int64, shape (distinct, listed)
        The nearest ones, itself among them.
    reach : ndarray of float64, shape (distinct,)
        No other is nearer than that.
    """

    def __init__(self, points: np.ndarray, norm: int, min_samples: int) -> None:
        self.norm = norm
        self.places, self.first, of, self.sizes = np.unique(
            points, True, True, True, axis=0
        )
        self.of = of.reshape(-1)
        count = len(self.places)
        listed = min(count, min_samples + 1 + MORE)
        self._tree: Any = optional("scipy.spatial", "formats").cKDTree(self.places)
        each = [*range(1, listed + 1)]
        far, self.near = self._tree.query(self.places, each, p=norm, workers=-1)
        self.reach = np.full(count, np.inf)
        if listed < count:
            self.reach = far[:, -1] * (1 - SLACK)
        self.cores = np.zeros(count)
        if min_samples:
            self._find_cores(min_samples)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the distances of pairs, the dimensions added up in their order."""
        total = np.zeros(np.broadcast_shapes(a.shape, b.shape))
        for column in self.places.T:
            gap = column[a] - column[b]
            total += np.abs(gap) if self.norm == 1 else gap * gap
        return total if self.norm == 1 else np.sqrt(total)

    def _find_cores(self, min_samples: int) -> None:
        every = np.arange(len(self.places))[:, None]
        self.cores = self._kth(every, self.near, min_samples)
        # One that is not listed may be nearer by a rounding.
        for row in np.flatnonzero(self.cores >= self.reach):
            radius = self.cores[row] * (1 + SLACK)
            ball = self._tree.query_ball_point(self.places[row], radius, p=self.norm)
            self.cores[row] = self._kth(
                np.array([[row]]), np.array([ball]), min_samples
            )[0]

    def _kth(self, a: np.ndarray, b: np.ndarray, k: int) -> np.ndarray:
        """Return the distance from each `a` to the k-th of the points equal to `b`.

        The point itself is not counted; points equal to it are.
        """
        found, sizes = self.distance(a, b), self.sizes[b] - (a == b)
        order = np.argsort(found, axis=1)
        reached = np.cumsum(np.take_along_axis(sizes, order, axis=1), axis=1) >= k
        kth = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
        return np.take_along_axis(found, kth, axis=1)[:, 0]

    def smallest(self, rows: np.ndarray) -> np.ndarray:
        """Return of ascending numbers of points the first of each distinct one."""
        if len(self.places) == len(self.of):
            return rows
        return rows[np.unique(self.of[rows], return_index=True)[1]]

    def second(self, component: np.ndarray) -> np.ndarray:
        """Return of each distinct one the first point in another component.

        Another than that of the first of all; this itself where there is none.
        """
        others = np.flatnonzero(component != component[self.first][self.of])
        second, rest = self.first.copy(), self.smallest(others)
        second[self.of[rest]] = rest
        return second
