"""Equal points of which no list of nearest neighbours has all.

Texts often occur many times, and equal texts have equal embeddings. Each of m equal
points has all others within the distance 0 of its list, so products would compare all
m^2 pairs in float64, and a prediction would list m neighbours. Yet the first few of
these points stand for all.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

TOGETHER = 1 << 12  # points whose coordinates are copied at once
SEED = 42  # of the factors of hashes
Coordinates = Callable[[np.ndarray], np.ndarray]


class EqualGroups(NamedTuple):
    """Groups of equal points; the points of each group are together, ascending."""

    point: np.ndarray  # int64
    first: np.ndarray  # int64, by entry of `point`: the first entry of its group
    size: np.ndarray  # int64, by entry: the points of its group

    @classmethod
    def of(
        cls, coordinates: Coordinates, alike: np.ndarray, least: int
    ) -> "EqualGroups":
        """Return the groups of at least `least` points; see `surplus_equals`."""
        ordered, none = np.sort(alike), np.empty(0, np.int64)
        if not (ordered[least - 1 :] == ordered[: len(ordered) - least + 1]).any():
            return cls(none, none, none)
        order = np.argsort(alike, kind="stable")
        end = np.searchsorted(ordered, ordered, "right")
        same = end - np.searchsorted(ordered, ordered)
        points = order[(same >= least) & ~np.isnan(ordered)]
        if len(points) == 0:
            return cls(none, none, none)
        found = [_hashes(coordinates(some)) for some in _blocks(points)]
        hashes = np.concatenate(found)
        order = np.argsort(hashes, kind="stable")
        points, hashes = points[order], hashes[order]
        first = np.searchsorted(hashes, hashes)
        is_equal = np.concatenate([
            (coordinates(some) == coordinates(others)).all(axis=1)
            for some, others in zip(
                _blocks(points), _blocks(points[first]), strict=True
            )
        ])  # fmt: skip
        # Different points may have one hash: only those that equal the first one stay
        points, hashes = points[is_equal], hashes[is_equal]
        first = np.searchsorted(hashes, hashes)
        return cls(points, first, np.searchsorted(hashes, hashes, "right") - first)

    def surplus(
        self, k: int, precedence: np.ndarray, is_listed: np.ndarray
    ) -> np.ndarray:
        """Return the points that equal more than k preceding ones, ascending.

        `precedence` is as in `surplus_equals`, `is_listed` by point: others are in no
        list.
        """
        entries = np.flatnonzero(self.size > k + 1)
        entries = entries[is_listed[self.point[entries]]]
        group = self.first[entries]
        order = np.lexsort((precedence[self.point[entries]], group))
        group, points = group[order], self.point[entries[order]]
        preceding = np.arange(len(group)) - np.searchsorted(group, group)
        return np.sort(points[preceding > k])


def surplus_equals(
    coordinates: Coordinates, alike: np.ndarray, precedence: np.ndarray, k: int
) -> np.ndarray:
    """Return the points that equal more than k preceding ones, ascending.

    No list of the k nearest points has these, if preceding points come first in it.

    Parameters
    ----------
    coordinates
        Returns the coordinates of some points, shape (points, dimensions).
    alike : ndarray of float64, shape (points,)
        The same for equal points; NaN for points that are in no list.
    precedence : ndarray, shape (points,)
        Points with smaller values precede; of equal values, the first one.
    k : int
        Length of the lists.
    """
    groups = EqualGroups.of(coordinates, alike, k + 2)
    return groups.surplus(k, precedence, ~np.isnan(alike))


def _blocks(points: np.ndarray) -> list[np.ndarray]:
    return np.split(points, range(TOGETHER, len(points), TOGETHER))


def _hashes(coordinates: np.ndarray) -> np.ndarray:
    """Return a uint64 of each point, which is the same for equal ones."""
    bits = coordinates.astype(np.float64).view(np.uint64)
    bits ^= bits >> np.uint64(32)  # the last bits of most numbers are 0
    random = np.random.default_rng(SEED)
    return bits @ random.integers(0, 1 << 63, bits.shape[1], np.uint64)
