"""The users' ids of points that change; versions count points 0, 1, ... by themselves.

A user's id is an integer or a text. It is given once and never again, so the ids of
removed points are kept, too.
"""

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from ...host.errors import InputError, shown
from .point_batch import repeated

OWN_ID = "Give each point an id of its own"


@dataclass(frozen=True)
class UserIds:
    """The ids of all points so far, by their numbers; without `given`, the numbers."""

    given: np.ndarray | None  # int64 or str
    name: str = "id"  # of the column that has them

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the ids of some points."""
        return numbers if self.given is None else self.given[numbers]

    def ranks_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return integers in the order of the ids of some points."""
        if self.given is None:
            return numbers
        ranks = np.empty(len(self.given), np.int64)
        ranks[np.argsort(self.given, kind="stable")] = np.arange(len(ranks))
        return ranks[numbers]

    def numbers_of(self, ids: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Return the numbers of points to remove.

        Raises InputError if an id is there twice, or none of the `present` points has
        it.
        """
        _refuse_twice(ids, "Name it once")
        known = present if self.given is None else self.given[present]
        known, ids = _alike(known, ids)
        missing = ~np.isin(ids, known)
        if missing.any():
            such = shown(known[0].item())
            why = f"is not that of a present point, such as {such}. Leave it out"
            _refuse(ids[missing][0], why)
        order = np.argsort(known, kind="stable")
        return present[order[np.searchsorted(known, ids, sorter=order)]]

    def with_new(self, ids: np.ndarray | None) -> "UserIds":
        """Return all ids after more points, which have `ids`.

        Raises InputError if ids are missing, or one was given before.
        """
        if self.given is None and ids is None:
            return self
        if ids is None:
            raise InputError(
                f"has no column of ids, and the points so far have {self.name}. Add "
                "this column."
            )
        if self.given is None:
            raise InputError(
                "has a column of ids, and the points so far have none: they are "
                "numbered. Leave the column out."
            )
        _check_new(ids)
        given, ids = _alike(self.given, ids)
        used = np.isin(ids, given)
        if used.any():
            _refuse(ids[used][0], f"was given before. {OWN_ID}")
        return UserIds(np.concatenate([given, ids]), self.name)

    def check(self) -> None:
        """Raise InputError if two points have one id, or one has none."""
        if self.given is not None:
            _check_new(self.given)


def _alike(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ids as texts if only some of them are integers."""
    if (one.dtype.kind == "U") == (other.dtype.kind == "U"):
        return one, other
    return one.astype(np.str_), other.astype(np.str_)


def _check_new(ids: np.ndarray) -> None:
    if ids.dtype.kind == "U" and (ids == "").any():
        point = int((ids == "").argmax())
        raise InputError(f"point {point} (from 0) has no id. {OWN_ID}.")
    _refuse_twice(ids, OWN_ID)


def _refuse_twice(ids: np.ndarray, remedy: str) -> None:
    if len(twice := repeated(ids)):
        _refuse(twice[0], f"is there twice. {remedy}")


def _refuse(id: object, why: str) -> NoReturn:
    raise InputError(f"the id {shown(id)} {why}.")
