"""The user's points after a batch, while threads copy those that stay."""

import numpy as np

from ...kernels.edge_columns import copy_ranges
from ...kernels.threads import ALONE, Threads
from .rearrangement import RowShift

COPYING = 4  # most threads that copy: memory bounds them, and the search goes on
AT_ONCE = 1 << 22  # bytes of points that are copied before the thread goes on


class NextPoints:
    """The points before and after a batch, which removes and then inserts some.

    Rows that stay keep their order, and new rows come last. Threads copy the points
    that stay while a search goes on.
    """

    def __init__(
        self,
        old: np.ndarray,
        removed: np.ndarray,
        inserted: np.ndarray,
        threads: Threads,
    ) -> None:
        """Begin to copy the `old` points, but for the rows `removed`."""
        self.removed, self.rows = removed, RowShift(len(old), removed)
        kept = len(old) - len(removed)
        kind = np.result_type(old, inserted) if len(inserted) else old.dtype
        self.old = np.ascontiguousarray(old, kind)
        self._points = np.empty((kept + len(inserted), old.shape[1]), kind)
        self._points[kept:] = inserted
        self.inserted = self._points[kept:]
        count = min(threads.count, COPYING)
        start = threads.start if self._points.nbytes > AT_ONCE else ALONE.start
        self._copied = start(Threads(count).map, copy_ranges, self._copies(count))

    def __len__(self) -> int:
        """Return the number of points after the batch."""
        return len(self._points)

    def all(self) -> np.ndarray:
        """Return the points after the batch, once all are copied."""
        self._copied.result()
        return self._points

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Return the points at some rows after the batch, at once."""
        points = np.empty((len(rows), self.old.shape[1]), self.old.dtype)
        kept = len(self) - len(self.inserted)
        stays = rows < kept
        points[stays] = self.old[self.rows.old(rows[stays])]
        points[~stays] = self.inserted[rows[~stays] - kept]
        return points

    def _copies(self, threads: int) -> list[tuple[np.ndarray, ...]]:
        """Return calls of `copy_ranges`, one for each of some threads."""
        cuts = len(self.old) * np.arange(1, threads) // threads
        begin = np.sort(np.concatenate([[0], cuts, self.removed + 1]))
        end = np.sort(np.concatenate([cuts, self.removed, [len(self.old)]]))
        to = np.append(0, np.cumsum(end - begin))[:-1]
        old, new = (
            points.reshape(-1).view(np.uint8) for points in (self.old, self._points)
        )
        each = self.old.itemsize * self.old.shape[1]
        first = np.searchsorted(begin, np.append(0, cuts))
        bounds = zip(first, np.append(first[1:], len(begin)), strict=True)
        return [
            (old, each * begin[a:b], each * end[a:b], new, each * to[a:b])
            for a, b in bounds
        ]
