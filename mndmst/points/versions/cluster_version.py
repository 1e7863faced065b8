"""One version of points that change, with its clusters and their numbers: immutable."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..clusters.cluster_numbers import (
    ChangedLabels,
    ClusterEvent,
    ClusterNumbers,
    renumbered,
)
from ..clusters.density import Clustering
from ..clusters.density_clusters import DensityClusters, DensityRule, clusters_of
from .point_batch import PointBatch
from .point_version import PointVersion


@dataclass(frozen=True, eq=False)
class ClusterVersion:
    """Points and their clusters after some batches."""

    version: PointVersion
    rule: DensityRule
    clusters: DensityClusters | None  # None if the points are too few for any
    numbers: ClusterNumbers

    @classmethod
    def first(cls, version: PointVersion, rule: DensityRule) -> "ClusterVersion":
        """Return the clusters of version 0, numbered as their labels are."""
        none = cls(version, rule, _clusters(version, rule), ClusterNumbers.first(0))
        clusters = int(none.flat.labels.max(initial=-1)) + 1
        return cls(version, rule, none.clusters, ClusterNumbers.first(clusters))

    def changed(
        self, batch: PointBatch, rule: DensityRule | None = None
    ) -> tuple["ClusterVersion", list[ClusterEvent]]:
        """Return the next version, and what became of the clusters.

        The batch was checked against `version`; it may be empty. `rule` is as before
        unless given, and needs a new search only if its `samples` differ.
        """
        rule = rule or self.rule
        version = self.version.changed(batch, rule.samples)
        clusters = _clusters(version, rule)
        next_one = ClusterVersion(version, rule, clusters, self.numbers)
        removed = self.version.point_ids.by_row.find(batch.removed)[0]
        labels = ChangedLabels(
            self.flat.labels, removed, next_one.flat.labels, version.point_ids.by_row.at
        )
        numbers, events = renumbered(self.numbers, labels, version.number)
        return ClusterVersion(version, rule, clusters, numbers), events

    @cached_property
    def flat(self) -> Clustering:
        """The labels 0, 1, ... by smallest rows, -1 for noise, and probabilities."""
        if self.clusters is None:
            return Clustering.all_noise(len(self.version.points))
        return self.clusters.flat

    def all_clusters(self) -> DensityClusters:
        """Return the clusters with their trees, also of too few points for any."""
        threads = self.version.rule.threads
        return self.clusters or clusters_of(
            self.version.point_forest, self.rule, threads
        )

    @property
    def labels(self) -> np.ndarray:
        """The number of each row's cluster; -1 for noise."""
        return self.numbers.of(self.flat.labels)


def _clusters(version: PointVersion, rule: DensityRule) -> DensityClusters | None:
    if rule.finds_no_cluster(len(version.points)):
        return None
    return clusters_of(version.point_forest, rule, version.rule.threads)
