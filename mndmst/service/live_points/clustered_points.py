"""One version of points with its clusters and their numbers, as an immutable value."""

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import NamedTuple

import numpy as np

from ...host.errors import ConfigError
from ...host.memory_costs import DIFFERENCE_BYTES, TRAINING_COPIES
from ...points.clusters.cluster_numbers import ClusterEvent
from ...points.clusters.density_clusters import DensityClusters
from ...points.clusters.prediction import TrainingPoints, predicted_labels
from ...points.point_files import uuid_of
from ...points.versions.cluster_version import ClusterVersion
from ...points.versions.point_batch import PointIds
from ...points.versions.point_version import ForestRule
from .point_records import PointsChange

EVENT_BYTES = 500  # an event, its numbers and sizes


class NearestIds(NamedTuple):
    """The present points nearest to others; both have the shape (points, k)."""

    ids: np.ndarray
    distances: np.ndarray  # ascending


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """The cluster of each point of one version."""

    version: int
    point_ids: PointIds
    clusters: np.ndarray  # int64: numbers of clusters; -1 is noise
    probabilities: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of the columns, and of the ids as runs."""
        ids = self.point_ids.by_row.nbytes
        return ids + self.clusters.nbytes + self.probabilities.nbytes


@dataclass(frozen=True, eq=False)
class VersionEvents:
    """What a batch has done to clusters."""

    events: tuple[ClusterEvent, ...]

    @property
    def nbytes(self) -> int:
        """Bytes that they take while they are kept, roughly."""
        return DIFFERENCE_BYTES + EVENT_BYTES * len(self.events)


class ClusteredPoints:
    """A version of points: their clusters, and a search that predictions make.

    The search is made under a lock when a request first needs it.
    """

    def __init__(self, version: ClusterVersion) -> None:
        self.points, self.rule, self.numbers = (
            version.version,
            version.rule,
            version.numbers,
        )
        self._version, self._lock = version, Lock()
        self._searched = False  # Whether `_made_training` is in memory
        self.table = ClusterTable(
            self.points.number,
            self.points.point_ids,
            version.labels,
            version.flat.probabilities,
        )

    def changed(self, change: PointsChange) -> "tuple[ClusteredPoints, VersionEvents]":
        """Return the next version, and what has become of the clusters.

        The batch was checked against `points`. Other core distances need a new search
        of all points. Raises ConfigError if too few points would stay.
        """
        batch, rule = change.batch, change.rule or self.rule
        count = len(self.points.points) - len(batch.removed) + len(batch.ids)
        if count == 0:
            raise ConfigError("the batch removes all points; at least one must stay")
        rule.check_points(count)
        version, events = self._version.changed(batch, rule)
        return ClusteredPoints(version), VersionEvents(tuple(events))

    @property
    def num_clusters(self) -> int:
        """How many clusters there are."""
        return len(self.numbers.numbers)

    @cached_property
    def noise(self) -> int:
        """How many points are noise."""
        return int((self.table.clusters < 0).sum())

    @cached_property
    def uuid(self) -> str:
        """The uuid of the coordinates, which a file of their forest has."""
        return uuid_of(self.points.points)

    @property
    def nbytes(self) -> int:
        """Bytes of points, forest, trees, labels, and of the search once it is made."""
        forest, clusters = self.points.forest, self._version.clusters
        columns = [forest.src, forest.dst, forest.weight, self.points.points]
        if clusters is not None:
            columns += clusters.tree.columns().values()
        nbytes = self.table.nbytes + sum(column.nbytes for column in columns)
        if self.points.followed is not None:
            nbytes += self.points.followed.nbytes
        if self._searched:
            nbytes += TRAINING_COPIES * self.points.points.nbytes
        return nbytes

    def predicted(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers of the clusters that points would join, and probabilities."""
        joined, clusters = self._training.connect(points), self._all_clusters
        labels, probabilities = predicted_labels(
            clusters.tree,
            clusters.chosen,
            clusters.flat.labels,
            self.rule.selection.epsilon,
            joined,
        )
        return self.numbers.of(labels), probabilities

    def neighbours(self, points: np.ndarray, count: int) -> NearestIds:
        """Return the present points nearest to each of some points."""
        present = len(self.points.points)
        if count > present:
            raise ConfigError(
                f"neighbours: count is {count}, but there are {present:,} points"
            )
        distances, rows = self._training.search.nearest(points, count)
        return NearestIds(self.points.point_ids.by_row.at(rows), distances)

    @property
    def _training(self) -> TrainingPoints:
        with self._lock:
            self._searched = True
            return self._made_training

    @cached_property
    def _all_clusters(self) -> DensityClusters:
        return self._version.all_clusters()

    @cached_property
    def _made_training(self) -> TrainingPoints:
        forest_rule: ForestRule = self.points.rule
        return TrainingPoints(
            self.points.points,
            forest_rule.metric,
            forest_rule.parameters,
            forest_rule.min_samples,
            forest_rule.alpha,
            self._all_clusters.tree.point_distance,
            forest_rule.threads,
            self.points.point_forest.search,
        )
