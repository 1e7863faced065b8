"""HDBSCAN* and single linkage of points."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import TypedDict, cast

import numpy as np

from ...host.cores import core_count
from ...host.errors import ConfigError, shown
from ...host.formatting import counted
from ...kernels.threads import Threads
from ...tree.linkage import single_linkage
from ..point_forest import PointForest
from .condensed import CondensedTree, condensed_forest, without_brief_clusters
from .density import (
    Clustering,
    cluster_persistence,
    label_points,
    outlier_scores,
)
from .parameters import PARAMETERS
from .selection import ClusterSelection, select_clusters


@dataclass(frozen=True)
class DensityRule:
    """The rule that makes clusters, under the names of hdbscan; see `HDBSCAN`.

    Leaves of the condensed tree that last less than `persistence` are merged, see
    `without_brief_clusters`.
    """

    min_cluster_size: int = 5
    min_samples: int | None = None
    selection: ClusterSelection = field(default_factory=ClusterSelection)
    persistence: float = 0.0

    @property
    def samples(self) -> int:
        """`min_samples`, or its default."""
        given = self.min_samples
        return self.min_cluster_size if given is None else given

    @property
    def parameters(self) -> "RuleValues":
        """The parameters from which `density_rule` makes this rule."""
        selection = self.selection
        return RuleValues(
            min_cluster_size=self.min_cluster_size,
            min_samples=self.min_samples,
            cluster_selection_method=selection.method,
            cluster_selection_epsilon=selection.epsilon,
            cluster_selection_epsilon_max=selection.epsilon_max,
            cluster_selection_persistence=self.persistence,
            allow_single_cluster=selection.allow_single_cluster,
            max_cluster_size=selection.max_cluster_size,
        )

    @property
    def differing(self) -> dict[str, object]:
        """Those of `parameters` that are not the defaults."""
        return {
            name: value
            for name, value in self.parameters.items()
            if value != PARAMETERS[name].default
        }

    def changed(self, given: Mapping[str, object]) -> "DensityRule":
        """Return the rule with other values of some of `parameters`.

        Raises ConfigError if there is no such parameter, or a value is out of range.
        """
        values = {name: parameter.default for name, parameter in PARAMETERS.items()}
        for name in given:
            if name not in self.parameters:
                raise ConfigError(
                    f"{shown(name)} is not a parameter of clusters; there are "
                    f"{', '.join(self.parameters)}"
                )
        return density_rule(SimpleNamespace(**{**values, **self.parameters, **given}))

    def check_points(self, count: int) -> None:
        """Raise ConfigError if `min_samples` is given and exceeds the points."""
        if self.min_samples is not None and self.min_samples > count - 1:
            raise ConfigError(
                f"min_samples ({self.min_samples}) must be at most the number of other "
                f"points, {count - 1} (n_samples={count}); give a smaller one"
            )

    def too_few(self, count: int) -> str:
        """Return a sentence if no cluster can have enough points; "" otherwise."""
        if self.min_cluster_size <= count:
            return ""
        return (
            f"min_cluster_size ({self.min_cluster_size}) is larger than the data "
            f"({counted(count, 'point')}), so all points are noise"
        )

    def finds_no_cluster(self, count: int) -> bool:
        """Return whether all of `count` points are noise, wherever they are.

        A cluster splits off beside another one, unless it is the root.
        """
        root = self.selection.allow_single_cluster and self.selection.method == "eom"
        return count < self.min_cluster_size * (1 if root else 2)


class RuleValues(TypedDict):
    """The values of `PARAMETERS`, checked."""

    min_cluster_size: int
    min_samples: int | None
    cluster_selection_method: str
    cluster_selection_epsilon: float
    cluster_selection_epsilon_max: float
    cluster_selection_persistence: float
    allow_single_cluster: bool
    max_cluster_size: int | None


def density_rule(given: object) -> DensityRule:
    """Return the rule that options of the command or parameters of `HDBSCAN` make.

    They are attributes of `given`, under the names of `PARAMETERS`. Raises ConfigError
    if one of the table is out of range.
    """
    checked = {
        name: parameter.checked(getattr(given, name))
        for name, parameter in PARAMETERS.items()
    }
    value = cast(RuleValues, checked)
    epsilon, most = (
        value["cluster_selection_epsilon"],
        value["cluster_selection_epsilon_max"],
    )
    if most < epsilon:
        raise ConfigError(
            f"cluster_selection_epsilon_max {most}: give at least "
            f"cluster_selection_epsilon, {epsilon}"
        )
    selection = ClusterSelection(
        value["cluster_selection_method"],
        epsilon,
        most,
        value["allow_single_cluster"],
        value["max_cluster_size"] or 0,
    )
    size, samples = value["min_cluster_size"], value["min_samples"]
    return DensityRule(size, samples, selection, value["cluster_selection_persistence"])


@dataclass(frozen=True)
class DensityClusters:
    """Clusters of points, the trees that led to them, and measures on demand."""

    point_forest: PointForest  # of mutual reachability distances
    tree: CondensedTree
    chosen: np.ndarray  # bool, by cluster of the tree
    flat: Clustering

    @cached_property
    def linkage(self) -> np.ndarray:
        """The single-linkage dendrogram, as SciPy has it."""
        return single_linkage(self.point_forest.forest)

    @cached_property
    def persistence(self) -> np.ndarray:
        """The persistence of each flat cluster; see `cluster_persistence`."""
        return cluster_persistence(self.tree, self.chosen, self.flat.labels)

    @cached_property
    def outlier_scores(self) -> np.ndarray:
        """GLOSH, by point."""
        return outlier_scores(self.tree)


def clusters_of(
    point_forest: PointForest, rule: DensityRule, threads: int = 0
) -> DensityClusters:
    """Return the clusters that a forest of mutual reachability distances has.

    0 threads are all cores this process may use.
    """
    team = Threads(threads or core_count())
    tree = condensed_forest(point_forest.forest, rule.min_cluster_size, team)
    if rule.persistence > 0:
        tree = without_brief_clusters(tree, rule.persistence)
    chosen = select_clusters(tree, rule.selection)
    if rule.finds_no_cluster(tree.num_points):
        chosen[:] = False  # the root, too, has fewer points than a cluster
    flat = label_points(tree, chosen, rule.selection.epsilon, team)
    return DensityClusters(point_forest, tree, chosen, flat)
