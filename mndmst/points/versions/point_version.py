"""One version of points that change: immutable, with the exact forest of its points.

Rows that stay keep their order, and new rows come last. So the order of edges, which is
that of their ends at equal weights, never changes between old edges.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...api.forest import Forest
from ...host.cores import core_count
from ...host.errors import InputError
from ...kernels.threads import Threads
from ..coordinates import finite_rows
from ..devices.point_products import PointsOnDevice
from ..metrics import METRICS, prepared
from ..pairwise_forest import Metric, metric_forest, simplified, with_variances
from ..point_forest import PointForest
from .followed_forest import FollowedForest
from .forest_change import next_forest, pays
from .next_points import NextPoints
from .point_batch import PointBatch, PointIds, checked_points


@dataclass(frozen=True)
class ForestRule:
    """Whose forest follows the points: metric and options of `metric_forest`."""

    metric: Metric = "euclidean"
    min_samples: int = 0
    alpha: float = 1.0
    parameters: Mapping[str, object] = field(default_factory=dict)
    approximate: bool = False
    search: str = "auto"
    threads: int = 0  # 0 for all cores this process may use

    def parameters_for(self, points: np.ndarray | PointsOnDevice) -> dict[str, object]:
        """Return the metric's parameters, with those that the points determine."""
        return with_variances(points, self.metric, self.parameters)

    def followed(
        self, points: np.ndarray, point_forest: PointForest
    ) -> FollowedForest | None:
        """Return the forest of points, ready for a change; None if that is no gain."""
        name, _ = simplified(self.metric, dict(self.parameters))
        if name not in METRICS or self.alpha != 1 or self.approximate:
            return None
        return FollowedForest.of(
            points,
            str(name),
            self.min_samples,
            point_forest,
            self.threads,
            self.search,
        )

    def forest_of(self, points: np.ndarray) -> PointForest:
        """Return the forest of points, found anew."""
        return metric_forest(
            points,
            self.metric,
            self.min_samples,
            alpha=self.alpha,
            parameters=self.parameters,
            approximate=self.approximate,
            threads=self.threads,
            search=self.search,
        )


@dataclass(frozen=True, eq=False)
class PointVersion:
    """Points and their forest after some batches.

    `forest` is bit for bit that which `metric_forest` finds for `points`.
    """

    rule: ForestRule
    number: int  # batches so far
    point_ids: PointIds
    points: np.ndarray  # by row; finite
    point_forest: PointForest
    # The forest as a change needs it; None before the first one, or if there is none
    followed: FollowedForest | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, object]:
        """Return the fields without points on a device: other processes may lack it."""
        state = dict(self.__dict__)
        if self.followed is not None and self.followed.on_device:
            state["followed"] = None
        return state

    @classmethod
    def first(
        cls,
        points: np.ndarray,
        rule: ForestRule,
        *,
        ids: object = None,
        point_forest: PointForest | None = None,
    ) -> "PointVersion":
        """Return version 0.

        `ids` are those of the points, by default 0, 1, ...; `point_forest` is their
        forest if it is known. Raises InputError if a point is not finite.
        """
        finite = finite_rows(points)
        if not finite.all():
            raise InputError(
                f"point {int(np.argmin(finite))} has a coordinate that is NaN or "
                "infinite, and points that change are finite; leave it out."
            )
        point_ids = PointIds.first(len(points), ids)
        if point_forest is None:
            point_forest = rule.forest_of(points)
        return cls(rule, 0, point_ids, points, point_forest)

    @property
    def ids(self) -> np.ndarray:
        """The id of each row (int64)."""
        return self.point_ids.ids

    @property
    def next_id(self) -> int:
        """The id that the next point gets unless another is given."""
        return self.point_ids.next_id

    @property
    def forest(self) -> Forest:
        """The forest; its vertices are rows."""
        return self.point_forest.forest

    def check(
        self, remove: object = None, insert: object = None, ids: object = None
    ) -> PointBatch:
        """Return a batch: ids to remove, and points to insert, with their ids.

        Raises InputError if the batch does not suit this version.
        """
        removed = np.empty(0, np.int64)
        if remove is not None:
            rows = self.point_ids.rows_of(remove, "remove")
            removed = self.point_ids.by_row.at(rows)
        points = self.points[:0]
        if insert is not None:
            points = checked_points(insert, self.points.shape[1])
        new_ids = self.point_ids.new_ids(len(points), ids)
        name, _ = simplified(self.rule.metric, dict(self.rule.parameters))
        if name in METRICS and len(points):
            try:
                prepared(points.astype(np.float64, copy=False), str(name))
            except InputError as error:
                error.source = "insert"
                raise
        return PointBatch(removed, new_ids, points)

    def changed(
        self, batch: PointBatch, min_samples: int | None = None
    ) -> "PointVersion":
        """Return the next version; `batch` was checked against this one.

        `min_samples` is as before unless given; another one needs a new search.
        """
        rule = self.rule
        if min_samples is not None:
            rule = replace(rule, min_samples=min_samples)
        same = rule.min_samples == self.rule.min_samples
        removed = self.point_ids.by_row.find(batch.removed)[0]
        if same and not len(removed) and not len(batch.ids):
            return replace(self, number=self.number + 1)
        threads = Threads(self.rule.threads or core_count())
        points = NextPoints(self.points, removed, batch.points, threads)
        followed = None
        size, search = len(removed) + len(batch.ids), self.point_forest.search
        if same and pays(size, len(points), search):
            before = self.followed or rule.followed(self.points, self.point_forest)
            if before is not None:
                followed = next_forest(before, points)
        return replace(
            self,
            rule=rule,
            number=self.number + 1,
            point_ids=self.point_ids.changed(removed, batch.ids),
            points=points.all(),
            point_forest=(
                followed.point_forest if followed else rule.forest_of(points.all())
            ),
            followed=followed,
        )
