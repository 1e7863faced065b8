"""Equal points of which no list of nearest neighbours has all.

Texts often occur many times, and equal texts have equal embeddings. Each of m equal
points has all others within the distance 0 of its list, so products would compare all
m^2 pairs in float64, and a prediction would list m neighbours. Yet the first few of
these points stand for all.
"""

from collections.abc import Callable

import numpy as np

TOGETHER = 1 << 12  # points whose coordinates are copied at once
SEED = 42  # of the factors of hashes


def surplus_equals(
    coordinates: Callable[[np.ndarray], np.ndarray],
    alike: np.ndarray,
    precedence: np.ndarray,
    k: int,
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
    ordered = np.sort(alike)
    if not (ordered[k + 1 :] == ordered[: -k - 1]).any():
        return np.empty(0, np.int64)
    order = np.argsort(alike, kind="stable")
    end = np.searchsorted(ordered, ordered, "right")
    same = end - np.searchsorted(ordered, ordered)
    points = order[(same > k + 1) & ~np.isnan(ordered)]
    if len(points) == 0:
        return points
    hashes = np.concatenate([_hashes(coordinates(some)) for some in _blocks(points)])
    order = np.lexsort((precedence[points], hashes))
    points, hashes = points[order], hashes[order]
    first = np.searchsorted(hashes, hashes)
    is_equal = np.concatenate([
        (coordinates(some) == coordinates(others)).all(axis=1)
        for some, others in zip(_blocks(points), _blocks(points[first]), strict=True)
    ])  # fmt: skip
    # Different points may have one hash: only those that equal the first one count
    preceding = np.cumsum(is_equal) - is_equal
    preceding -= preceding[first]
    return np.sort(points[is_equal & (preceding > k)])


def _blocks(points: np.ndarray) -> list[np.ndarray]:
    return np.split(points, range(TOGETHER, len(points), TOGETHER))


def _hashes(coordinates: np.ndarray) -> np.ndarray:
    """Return a uint64 of each point, which is the same for equal ones."""
    bits = coordinates.astype(np.float64).view(np.uint64)
    bits ^= bits >> np.uint64(32)  # the last bits of most numbers are 0
    random = np.random.default_rng(SEED)
    return bits @ random.integers(0, 1 << 63, bits.shape[1], np.uint64)
