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
        if not len(ids):
            return self
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
class RowIds:
    """Distinct ids by row, as runs of consecutive ones.

    Runs are few while points get the next ids and leave in the order of their ids.
    """

    row: np.ndarray  # uint32: the first row of each run, ascending
    id: np.ndarray  # int64: the id of this row
    count: int  # rows

    @classmethod
    def of(cls, ids: np.ndarray) -> Self:
        """Return the ids of rows."""
        return cls(np.empty(0, np.uint32), np.empty(0, np.int64), 0).with_ids(ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the runs."""
        return self.row.nbytes + self.id.nbytes

    def all(self) -> np.ndarray:
        """Return the ids of all rows."""
        ids = np.repeat(self.id - self.row, self._sizes())
        ids += np.arange(self.count)
        return ids

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Return the ids of some rows."""
        run = np.searchsorted(self.row, rows.astype(np.uint32), "right") - 1
        return self.id[run] + rows - self.row[run]

    def find(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the row of each id, and whether it has one; else its row is wrong."""
        if self.count == 0:
            return np.zeros(ids.shape, np.int64), np.zeros(ids.shape, np.bool_)
        order = None
        if (self.id[1:] < self.id[:-1]).any():
            order = np.argsort(self.id)
        run = np.searchsorted(self.id, ids, "right", sorter=order) - 1
        run = np.maximum(run, 0)
        if order is not None:
            run = order[run]
        offset = ids - self.id[run]
        return offset + self.row[run], (offset >= 0) & (offset < self._sizes()[run])

    def without(self, rows: np.ndarray) -> Self:
        """Return the ids of the rows that stay; `rows` are distinct."""
        if not len(rows):
            return self
        gone = np.sort(rows).astype(np.uint32)
        # A run goes on after a row that goes, unless the next row starts one or goes
        after = gone + np.uint32(1)
        goes_on = ~self._starts_at(after)[1] & (after < self.count)
        goes_on[:-1] &= after[:-1] != gone[1:]
        after = after[goes_on]
        index = self._starts_at(after)[0]
        runs = type(self)(
            np.insert(self.row, index, after),
            np.insert(self.id, index, self.at(after)),
            self.count,
        )
        index, ends = runs._starts_at(gone)
        row, ids = (np.delete(column, index[ends]) for column in (runs.row, runs.id))
        earlier = np.bincount(np.searchsorted(row, gone), minlength=len(row))
        row -= np.cumsum(earlier[: len(row)], dtype=np.uint32)
        return type(self)(row, ids, self.count - len(gone))

    def _starts_at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first run from each row on, and whether it starts there."""
        index = np.searchsorted(self.row, rows)
        return index, self.row[np.minimum(index, len(self.row) - 1)] == rows

    def with_ids(self, ids: np.ndarray) -> Self:
        """Return the ids after further rows."""
        if not len(ids):
            return self
        starts = np.ones(len(ids), np.bool_)
        np.not_equal(ids[1:], ids[:-1] + 1, out=starts[1:])
        if self.count:
            last = self.id[-1] + self.count - 1 - self.row[-1]
            starts[0] = ids[0] != last + 1
        first = np.flatnonzero(starts)
        row = np.append(self.row, (first + self.count).astype(np.uint32))
        return type(self)(row, np.append(self.id, ids[first]), self.count + len(ids))

    def _sizes(self) -> np.ndarray:
        return np.diff(self.row, append=self.count)


@dataclass(frozen=True)
class PointIds:
    """The ids of the rows of a version, and those that rows had before.

    An id is given once and never again.
    """

    by_row: RowIds
    retired: IdSet  # of removed points
    next_id: int  # larger than all ids

    @classmethod
    def first(cls, count: int, ids: object = None) -> "PointIds":
        """Return the ids of the first points: 0, 1, ... unless they are given."""
        no_id = np.empty(0, np.int64)
        none = cls(RowIds.of(no_id), IdSet.of(no_id), 0)
        return none.changed(no_id, none.new_ids(count, ids))

    @property
    def ids(self) -> np.ndarray:
        """The id of each row (int64)."""
        return self.by_row.all()

    def rows_of(self, ids: object, source: str) -> np.ndarray:
        """Return the rows of present ids, which are different, in the order given.

        Raises InputError, which names `source`, for an id that is not present or given
        twice.
        """
        wanted = _as_ids(ids, source)
        if len(twice := repeated(wanted)):
            raise InputError(f"{source}: id {twice[0]} is given twice; name it once.")
        rows, present = self.by_row.find(wanted)
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
        used = self.by_row.find(given)[1] | self.retired.has(given)
        if used.any():
            raise InputError(
                f"ids: id {given[used][0]} was given before; an id is given once and "
                "never again."
            )
        return given

    def changed(self, removed: np.ndarray, new: np.ndarray) -> "PointIds":
        """Return the ids after rows are removed and new points follow the others."""
        retired = self.retired.with_ids(self.by_row.at(removed))
        next_id = max(self.next_id, int(new.max(initial=-1)) + 1)
        by_row = self.by_row.without(removed).with_ids(new)
        return PointIds(by_row, retired, next_id)


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
