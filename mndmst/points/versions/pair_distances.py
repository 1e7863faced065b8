"""The distances of pairs of points, with the bits of searches."""

import numpy as np

from ...kernels.threads import Threads
from ..metrics import Norm
from ..search.equal_points import Coordinates

TOGETHER = 1 << 9  # points whose coordinates a thread copies at once


def pair_distances(
    one: Coordinates,
    a: np.ndarray,
    other: Coordinates,
    b: np.ndarray,
    norm: Norm,
    threads: Threads,
) -> np.ndarray:
    """Return the distances of pairs of a point of one set and one of another."""
    reduced = np.empty(len(a))

    def fill(begin: int, end: int) -> None:
        gaps = one(a[begin:end]) - other(b[begin:end])
        reduced[begin:end] = norm.total(np.abs(gaps, out=gaps))

    threads.map(fill, blocks(len(a)))
    return norm.distance(reduced)


def blocks(count: int) -> list[tuple[int, int]]:
    """Return the ranges of points whose coordinates a thread copies at once."""
    begins = range(0, count, TOGETHER)
    return [(begin, min(begin + TOGETHER, count)) for begin in begins]
