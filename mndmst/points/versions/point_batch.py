"""A batch of points that come and go, checked against the ids of one version."""

from dataclasses import dataclass
from operator import index

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
class PointIds:
    """The ids of the rows of a version, and those that rows had before.

    An id is given once and never again.
    """

    ids: np.ndarray  # int64, by row
    retired: np.ndarray  # int64, ascending: ids of removed points
    next_id: int  # larger than all ids

    @classmethod
    def first(cls, count: int, ids: object = None) -> "PointIds":
        """Return the ids of the first points: 0, 1, ... unless they are given."""
        none = cls(np.empty(0, np.int64), np.empty(0, np.int64), 0)
        return none.changed(np.empty(0, np.int64), none.new_ids(count, ids))

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
            was = ", it was removed" if np.isin(missing, self.retired) else ""
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
        used = self._find(given)[1] | np.isin(given, self.retired)
        if used.any():
            raise InputError(
                f"ids: id {given[used][0]} was given before; an id is given once and "
                "never again."
            )
        return given

    def changed(self, removed: np.ndarray, new: np.ndarray) -> "PointIds":
        """Return the ids after rows are removed and new points follow the others."""
        kept = np.delete(self.ids, removed)
        retired = np.sort(np.append(self.retired, self.ids[removed]), kind="stable")
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
