"""A batch of points that come and go, checked against the ids of one version."""

from dataclasses import dataclass
from operator import index
from typing import Self

import numpy as np

from ...api.inputs import as_points
from ...host.errors import InputError, shown
from ...host.formatting import counted
from ..point_files import LARGEST

# Ids are 0 or more, and the next one is an int64, too.
LARGEST_ID = (1 << 63) - 2


@dataclass(frozen=True)
class PointBatch:
    """A checked batch: deletions first, then insertions."""

    removed: np.ndarray  # int64: ids of present points, each once
    ids: np.ndarray  # int64, by new point
    points: np.ndarray  # shape (new points, dimensions)


@dataclass(frozen=True)
class IdSet:
    """Distinct ids, as ranges of consecutive ones, which are few if ids count on."""

    first: np.ndarray  # int64, ascending
    end: np.ndarray  # int64: larger by 1 than the last id of each range

    @classmethod
    def of(cls, ids: np.ndarray) -> Self:
        """Return the set of distinct ids."""
        none = np.empty(0, np.int64)
        return cls(none, none).with_ids(ids)

    def with_ids(self, ids: np.ndarray) -> Self:
        """Return the set with further ids."""
        ids = np.sort(ids)
        at = np.searchsorted(self.first, ids)
        first, end = np.insert(self.first, at, ids), np.insert(self.end, at, ids + 1)
        apart = np.ones(len(first) + 1, np.bool_)  # before each range, and at the end
        apart[1:-1] = first[1:] > end[:-1]
        if not apart.all():
            first, end = first[apart[:-1]], end[apart[1:]]
        return type(self)(first, end)

    def has(self, ids: np.ndarray) -> np.ndarray:
        """Return for each id whether it is in the set."""
        at = np.searchsorted(self.first, ids, "right") - 1
        return ids < np.append(self.end, 0)[at]  # before the first range it is 0

    def all(self) -> np.ndarray:
        """Return the ids, ascending."""
        sizes = self.end - self.first
        before = np.cumsum(sizes) - sizes
        return np.arange(sizes.sum()) + np.repeat(self.first - before, sizes)


@dataclass(frozen=True)
class PointIds:
    """The ids of the rows of a version, and those that rows had before.

    An id is given once and never again.
    """

    ids: np.ndarray  # int64, by row
    retired: IdSet  # of removed points
    next_id: int  # larger than all ids

    @classmethod
    def first(cls, count: int, ids: object = None) -> "PointIds":
        """Return the ids of the first points: 0, 1, ... unless they are given."""
        no_id = np.empty(0, np.int64)
        none = cls(no_id, IdSet.of(no_id), 0)
        return none.changed(no_id, none.new_ids(count, ids))

    def rows_of(self, ids: object, source: str) -> np.ndarray:
        """Return the rows of present ids, which are different, in the order given.

        Raises InputError, which names `source`, for an id that is not present or given
        twice.
        """
        wanted = _as_ids(ids, source)
        if len(twice := repeated(wanted)):
            raise InputError(f"{source}: id {twice[0]} is given twice; name it once.")
        rows, present = self._find(wanted)
        if not present.all():
            missing = wanted[~present][0]
            was = ", it was removed" if self.retired.has(missing) else ""
            raise InputError(
                f"{source}: id {missing} is not one of the present points{was}; "
                "give ids of these."
            )
        return rows

    def new_ids(self, count: int, ids: object = None) -> np.ndarray:
        """Return the ids of `count` new points: the next ones unless `ids` has them.

        Raises InputError if there are not as many, or an id was given before.
        """
        if ids is None:
            return np.arange(self.next_id, self.next_id + count, dtype=np.int64)
        given = _as_ids(ids, "ids")
        if len(given) != count:
            raise InputError(
                f"ids: {counted(len(given), 'id')} for {counted(count, 'point')}; give "
                "each new point one."
            )
        if len(twice := repeated(given)):
            raise InputError(f"ids: id {twice[0]} is given twice; ids are unique.")
        used = self._find(given)[1] | self.retired.has(given)
        if used.any():
            raise InputError(
                f"ids: id {given[used][0]} was given before; an id is given once and "
                "never again."
            )
        return given

    def changed(self, removed: np.ndarray, new: np.ndarray) -> "PointIds":
        """Return the ids after rows are removed and new points follow the others."""
        kept = np.delete(self.ids, removed)
        retired = self.retired.with_ids(self.ids[removed])
        next_id = max(self.next_id, int(new.max(initial=-1)) + 1)
        return PointIds(np.append(kept, new), retired, next_id)

    def _find(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows, and whether each wanted id is there; else its row is wrong."""
        if len(self.ids) == 0:
            return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
        order = None
        if (self.ids[1:] < self.ids[:-1]).any():
            order = np.argsort(self.ids, kind="stable")
        rows = np.searchsorted(self.ids, wanted, sorter=order)
        rows = np.minimum(rows, len(self.ids) - 1)
        if order is not None:
            rows = order[rows]
        return rows, self.ids[rows] == wanted


def checked_points(values: object, dimensions: int) -> np.ndarray:
    """Return new points, finite, and of as many dimensions as the present ones.

    Raises InputError otherwise.
    """
    points = as_points(values, "insert", typed=True)
    if points.shape[1] != dimensions:
        raise InputError(
            f"insert: has {counted(points.shape[1], 'dimension')}, and the present "
            f"points {dimensions}."
        )
    bad = ~(np.abs(points, dtype=np.float64) <= LARGEST).all(axis=1)
    if bad.any():
        point = int(bad.argmax())
        why = (
            f"beyond {LARGEST:g}, whose distances float64 cannot hold. Scale it."
            if np.isfinite(points[point]).all()
            else "that is NaN or infinite. Leave it out."
        )
        raise InputError(f"insert: point {point} has a coordinate {why}")
    return points


def _as_ids(values: object, source: str) -> np.ndarray:
    """Return ids as int64; InputError if one is not an integer from 0 on."""
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise InputError(f"{source}: {shown(values)} are not ids; give integers.")
    wrong = (array < 0) | (array > LARGEST_ID)
    if wrong.any():
        raise InputError(
            f"{source}: id {index(array[wrong][0])}; ids are integers from 0 to "
            f"{LARGEST_ID:,}."
        )
    return array.astype(np.int64)


def repeated(ids: np.ndarray) -> np.ndarray:
    """Return the ids that occur more than once."""
    ordered = np.sort(ids)
    return ordered[1:][ordered[1:] == ordered[:-1]]
