"""All points near others, found by float64 matrix products with an error bound.

In many dimensions a tree visits nearly all points for each query. A product of a block
of queries with all points gives all squared distances at once, up to an error:

    |x|^2 + |y|^2 - 2 x.y

takes 2 d + 3 roundings of 2^-53 on terms of at most (|x|^2 + |y|^2) together, and the
subtraction of a centre changes |x - y|^2 by less than 4.1 * 2^-53 (|x|^2 + |y|^2). So
the error is less than (d + 16) 2^-52 (|x|^2 + |y|^2). The index only proposes: every
point whose distance may be within a radius is returned, and some that are not.
"""

from collections.abc import Iterator

import numpy as np

BLOCK = 1 << 22  # squared distances that are held at a time
ROUNDING = 2.0**-52
TINY = 1e-300  # more than products lose that underflow


class ProductIndex:
    """An index of points by products of all pairs.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
        Their distances are Euclidean.
    """

    def __init__(self, points: np.ndarray) -> None:
        self.points = points - points.mean(axis=0)
        self.square = (self.points * self.points).sum(axis=1)
        self.error = (points.shape[1] + 16) * ROUNDING
        self.rows = max(1, BLOCK // len(points))

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return for every point itself and others, and a bound of all that are left.

        Returns
        -------
        near : ndarray of int64, shape (points, k)
        reach : ndarray of float64, shape (points,)
            No point that is not listed is nearer.
        """
        count = len(self.points)
        near = np.empty((count, k), np.int64)
        furthest = np.empty(count)
        for begin in range(0, count, self.rows):
            every = np.arange(begin, min(begin + self.rows, count))
            square = self._squares(every)
            square[every - begin, every] = -np.inf  # itself is always listed
            chosen = np.argpartition(square, k - 1, axis=1)[:, :k]
            near[every] = chosen
            furthest[every] = np.take_along_axis(square, chosen, axis=1).max(axis=1)
        lost = self.error * (self.square + self.square.max())
        return near, np.sqrt(np.maximum(furthest - lost - TINY, 0)) * (1 - ROUNDING)

    def within(
        self, queries: np.ndarray, radius: np.ndarray
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield which points may be as near to queries as their radius, by blocks.

        Parameters
        ----------
        queries : ndarray of int64
            Numbers of points.
        radius : ndarray of float64, shape (queries,)

        Yields
        ------
        block : slice
            Of the queries.
        may : ndarray of bool, shape (queries of the block, points)
        """
        for begin in range(0, len(queries), self.rows):
            block = slice(begin, begin + self.rows)
            asked = queries[block]
            limit = radius[block] ** 2 * (1 + 4 * ROUNDING) + TINY
            limit += self.error * self.square[asked]
            square = self._squares(asked)
            square -= self.error * (1 + ROUNDING) * self.square
            yield block, square <= limit[:, None] * (1 + 4 * ROUNDING)

    def _squares(self, queries: np.ndarray) -> np.ndarray:
        """Return the squared distances of some points to all, up to the error."""
        square = self.points[queries] @ self.points.T
        square *= -2
        square += self.square
        square += self.square[queries, None]
        return square
