"""Metrics that compare all pairs: profiles with missing alleles, and a periodic box."""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np

from ..host.cores import core_count
from ..host.errors import ConfigError, InputError
from ..kernels.threads import Threads, each_range
from .kernels.allele_counts import ABSENT, count_alleles

# Rules for missing entries in the Hamming distance, with a note for tables of alleles.
MISSING_RULES = {
    "ignore": "loci that one of two samples lacks are left out",
    "equal": "a missing allele equals all others",
    "differ": "a missing allele differs from all others",
}
# Metrics of alleles, with a note. Alleles are 1 and above; 0 and below are missing.
ALLELE_METRICS = {
    "alleles": "number of loci that differ",
    "allele_shares": "share of loci that differ",
}
PERIODIC = "periodic"  # euclidean with a boxsize
UNSEEN = 1  # the code of a value that no training profile has


class DistanceRows(Protocol):
    """Distances from each point to all points."""

    def __len__(self) -> int: ...

    def row(self, point: int) -> np.ndarray:
        """Return a point's distances to all points, float64; 0 to itself."""


class SearchableRows(DistanceRows, Protocol):
    """Distances from each point, and from new points, to all points."""

    def from_points(self, points: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the distances from each of some new points to all points."""


class ProfileRows:
    """Hamming or Jaccard distances of categorical rows, such as cgMLST profiles.

    Hamming and "allele_shares" are the fraction of columns that differ, "alleles" is
    the number of these columns. Jaccard compares presence, which is an
    entry other than 0: of the columns in which at least one row is present, the
    fraction in which one is absent. `missing` marks missing entries. The rule "ignore"
    leaves out columns with a missing entry in either row; rows without common columns
    differ in all columns. By "equal" columns with a missing entry do not differ, by
    "differ" they do.
    """

    def __init__(
        self,
        points: np.ndarray,
        metric: str,
        missing: float | None = None,
        missing_rule: str = "ignore",
    ) -> None:
        if missing is not None and not np.isfinite(missing):
            raise ConfigError(
                f"missing {missing}: fill missing entries with a number that no other "
                "has, such as -1, and give that number"
            )
        if missing_rule not in MISSING_RULES:
            raise ConfigError(
                f"missing_rule {missing_rule!r}: give {', '.join(MISSING_RULES)}"
            )
        self.metric, self.missing, self.rule = metric, missing, missing_rule
        self.points = points
        self._values = [np.unique(column) for column in points.T]
        if metric == "jaccard":
            self._values = []
        most = max(map(len, self._values), default=1) + 2
        kinds = (np.uint8, np.uint16, np.uint32)
        self._type = next(kind for kind in kinds if most <= np.iinfo(kind).max)
        self.codes = self._coded(points)

    def __len__(self) -> int:
        return len(self.points)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes to pickle; threads belong to a process."""
        return {n: value for n, value in self.__dict__.items() if n != "threads"}

    @cached_property
    def threads(self) -> Threads:
        """The threads that compare rows."""
        return Threads(core_count())

    def row(self, point: int) -> np.ndarray:
        """Return a point's distances to all points; 0 to itself."""
        row = self._distances(self.codes[point])
        row[point] = 0
        return row

    def from_points(self, points: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the distances from each of some new points to all points."""
        return map(self._distances, self._coded(points))

    def _coded(self, points: np.ndarray) -> np.ndarray:
        """Return codes: 0 for a missing entry, and equal codes for equal entries."""
        if self.metric == "jaccard":
            codes = np.where(points != 0, ABSENT + 1, ABSENT).astype(self._type)
        else:
            codes = np.empty(points.shape, self._type)
            for j, values in enumerate(self._values):
                index = np.searchsorted(values, points[:, j])
                known = values[np.minimum(index, len(values) - 1)] == points[:, j]
                codes[:, j] = np.where(known, index + UNSEEN + 1, UNSEEN)
        if self.metric in ALLELE_METRICS:
            codes[points <= 0] = 0
        elif self.missing is not None:
            codes[points == self.missing] = 0
        return codes

    def _distances(self, row: np.ndarray) -> np.ndarray:
        count, width = self.codes.shape
        counts = np.zeros((3, count), np.uint32)
        ranges = each_range(self.threads.bounds(count))
        self.threads.run(count_alleles, self.codes, row, *ranges, *counts)
        differing, compared, absent = counts.astype(np.float64)
        if self.metric == "jaccard":
            divisor = compared - absent
        elif self.rule == "ignore":
            divisor = compared
        else:
            divisor = np.full(count, float(width))
            if self.rule == "differ":
                differing += width - compared
        distance = np.zeros(count)
        if self.rule == "ignore":
            distance[compared == 0] = 1  # no common column
        if self.metric == "alleles":
            return np.where(divisor > 0, differing, width * distance)
        return np.divide(differing, divisor, out=distance, where=divisor > 0)


class PeriodicRows:
    """Euclidean distances in a box whose opposite sides coincide.

    `boxsize` has the lengths of the sides: one number for all dimensions or one for
    each; 0 for a dimension that is not periodic.
    """

    def __init__(self, points: np.ndarray, boxsize: object) -> None:
        try:
            sides = np.asarray(boxsize, np.float64)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"boxsize {boxsize!r}: give numbers") from error
        dimensions = points.shape[1]
        if sides.ndim > 1 or (sides.ndim == 1 and len(sides) != dimensions):
            raise ConfigError(
                f"boxsize has {sides.size} numbers for {dimensions} dimensions; give "
                "one for all, or one for each"
            )
        if not (np.isfinite(sides) & (sides >= 0)).all():
            raise ConfigError(f"boxsize {boxsize!r}: give numbers of at least 0")
        self.sides = np.broadcast_to(sides, dimensions)
        self.points = self._inside(points)
        self.columns = np.ascontiguousarray(self.points.T)

    def __len__(self) -> int:
        return len(self.points)

    def row(self, point: int) -> np.ndarray:
        """Return a point's distances to all points."""
        return self._distances(self.points[point])

    def from_points(self, points: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the distances from each of some new points to all points."""
        return map(self._distances, self._inside(points))

    def _inside(self, points: np.ndarray) -> np.ndarray:
        periodic = self.sides > 0
        outside = ((points < 0) | (points > self.sides)) & periodic
        if outside.any():
            point = int(np.flatnonzero(outside.any(axis=1))[0])
            raise InputError(
                f"point {point} is outside the periodic box, which is from 0 to "
                f"{self.sides.tolist()}. Wrap coordinates with x % boxsize."
            )
        return points

    def _distances(self, point: np.ndarray) -> np.ndarray:
        total = np.zeros(len(self.points))
        for column, x, side in zip(self.columns, point, self.sides, strict=True):
            gap = np.abs(column - x)
            if side > 0:
                gap = np.minimum(gap, side - gap)
            total += gap * gap
        return np.sqrt(total)


class RowMetric(NamedTuple):
    """A metric of this file; `pairwise_certificate` has its own code for `verify`."""

    # Called with finite points, and with the parameters by name
    rows: Callable[..., SearchableRows]
    parameters: tuple[str, ...] = ()


ROW_METRICS = {
    "hamming": RowMetric(
        partial(ProfileRows, metric="hamming"), ("missing", "missing_rule")
    ),
    **{
        metric: RowMetric(partial(ProfileRows, metric=metric), ("missing_rule",))
        for metric in ALLELE_METRICS
    },
    "jaccard": RowMetric(partial(ProfileRows, metric="jaccard"), ("missing",)),
    PERIODIC: RowMetric(PeriodicRows, ("boxsize",)),
}


def row_metric(metric: str, parameters: dict[str, object]) -> str:
    """Return the name in `ROW_METRICS` of a metric with some parameters, or ""."""
    name = PERIODIC if metric == "euclidean" and "boxsize" in parameters else metric
    if name == PERIODIC and "boxsize" not in parameters:
        raise ConfigError("a periodic box needs its boxsize, with the metric euclidean")
    known = name in ROW_METRICS and set(ROW_METRICS[name].parameters) >= set(parameters)
    return name if known else ""
