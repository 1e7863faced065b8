"""Where the rows and positions of a version are in the next one."""

import numpy as np

from ..kernels.rooted_forest import BLOCK, RowNumbers, write_new_rows


class RowShift:
    """The rows before and after a batch: those that stay keep their order."""

    def __init__(self, count: int, removed: np.ndarray) -> None:
        """Remove some of `count` rows."""
        gone = np.sort(removed)
        blocks = np.arange(0, count + 1, int(BLOCK))
        self.numbers = RowNumbers(
            np.append(gone, count).astype(np.uint64),
            np.searchsorted(gone, blocks).astype(np.uint32),
        )
        # By removed row: the new row of the first one after it
        self._after = gone - np.arange(len(gone))

    def new(self, rows: np.ndarray) -> np.ndarray:
        """Return the new rows (uint32) of old ones that stay."""
        new = np.empty(len(rows), np.uint32)
        write_new_rows(self.numbers, rows, new)
        return new

    def old(self, rows: np.ndarray) -> np.ndarray:
        """Return the old rows (uint32) of new ones, which are not of new points."""
        old = rows + np.searchsorted(self._after, rows, "right")
        return old.astype(np.uint32)


class Rearrangement:
    """The positions of a version in the next one.

    Those of parts that stay are the same; other parts are built anew as the last one.
    """

    def __init__(
        self, first: int, alive: np.ndarray, order: np.ndarray, count: int
    ) -> None:
        """Rearrange `count` positions from `first` on.

        `alive` are those of points that stay; `order` has, by new position from `first`
        on, an index of these and, after them, of new points.
        """
        self.first, self._alive, self._order = first, alive, order
        self.size = first + len(order)  # of the next version
        position = np.empty(len(order), np.uint32)
        position[order] = np.arange(first, first + len(order), dtype=np.uint32)
        # By old position from `first` on
        self.later = np.zeros(count - first, np.uint32)
        self.later[alive - first] = position[: len(alive)]
        self.of_new = position[len(alive) :]

    def moved(self, old: np.ndarray) -> np.ndarray:
        """Return the new positions (uint32) of old ones."""
        new = old.astype(np.uint32)
        late = np.flatnonzero(new >= self.first)
        new[late] = self.later[new[late] - self.first]
        return new

    def end_of(self, column: np.ndarray, new: np.ndarray | float) -> np.ndarray:
        """Return the values of a column by new position, from `first` on.

        `column` is by old position, and `new` has the values of new points.
        """
        return self._by_position(column[self._alive], new)

    def end_of_positions(self, column: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return `end_of` a column of old positions as new ones."""
        return self._by_position(self.moved(column[self._alive]), new)

    def column(self, column: np.ndarray, new: np.ndarray | float) -> np.ndarray:
        """Return a column by new position; see `end_of`."""
        return np.concatenate([column[: self.first], self.end_of(column, new)])

    def _by_position(self, alive: np.ndarray, new: np.ndarray | float) -> np.ndarray:
        values = np.empty((len(self._order), *alive.shape[1:]), alive.dtype)
        values[: len(alive)], values[len(alive) :] = alive, new
        return values[self._order]
