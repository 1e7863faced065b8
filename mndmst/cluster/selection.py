"""Which clusters of a condensed tree are the flat ones."""

import math
from dataclasses import dataclass

import numpy as np

from ..host.errors import ConfigError
from .condensed import CondensedTree
from .kernels.dendrogram import owners, raised
from .stable import most_stable

METHODS = ("eom", "leaf")


@dataclass(frozen=True)
class ClusterSelection:
    """The rule that selects flat clusters, under the names of hdbscan.

    Attributes
    ----------
    method : {"eom", "leaf"}
        Clusters of most excess of mass, or the leaves of the tree.
    epsilon : float
        Clusters born at a smaller distance are replaced by their first ancestor that is
        born at a larger one (Malzer and Baum, MFI 2020).
    epsilon_max : float
        Clusters born at a larger distance are not selected by excess of mass.
    allow_single_cluster : bool
        Whether the root may be selected: all points but those that leave it first.
    max_cluster_size : int
        Larger clusters are not selected by excess of mass; 0 for no limit.
    """

    method: str = "eom"
    epsilon: float = 0.0
    epsilon_max: float = math.inf
    allow_single_cluster: bool = False
    max_cluster_size: int = 0

    def check(self) -> None:
        """Raise ConfigError if a value is out of range."""
        if self.method not in METHODS:
            raise ConfigError(
                f"no cluster_selection_method '{self.method}'; give eom or leaf"
            )
        if not self.epsilon >= 0:
            raise ConfigError(
                f"cluster_selection_epsilon {self.epsilon}: give 0 or more"
            )
        if not self.epsilon_max >= self.epsilon:
            raise ConfigError(
                f"cluster_selection_epsilon_max {self.epsilon_max}: give at least "
                f"cluster_selection_epsilon, {self.epsilon}"
            )
        if self.max_cluster_size < 0:
            raise ConfigError(
                f"max_cluster_size {self.max_cluster_size}: give 1 or more, or 0 for "
                "no limit"
            )


def select_clusters(tree: CondensedTree, rule: ClusterSelection) -> np.ndarray:
    """Return the selected clusters, none of which is inside another.

    Returns
    -------
    ndarray of bool, shape (clusters,)
        The root first.
    """
    parent = tree.cluster_parent
    if rule.method == "leaf":
        chosen = np.ones(len(parent), np.bool_)
        chosen[parent] = False  # among them the root, even if it is the only cluster
    else:
        chosen = _topmost(parent, most_stable(tree, _allowed(tree, rule)))
    if rule.epsilon > 0 and not chosen[0]:
        root = rule.allow_single_cluster
        chosen = raised(parent, tree.birth, chosen, float(rule.epsilon), root)
    return _topmost(parent, chosen)


def _allowed(tree: CondensedTree, rule: ClusterSelection) -> np.ndarray:
    """Return which clusters excess of mass may select."""
    size, birth = tree.cluster_size.copy(), tree.birth.copy()
    # The root is born where the first point leaves, and labels only its last points.
    birth[0] = tree.distance.max()
    size[0] = (tree.point_distance <= tree.root_end).sum()
    allowed = birth <= rule.epsilon_max
    if rule.max_cluster_size:
        allowed &= size <= rule.max_cluster_size
    allowed[0] &= rule.allow_single_cluster
    return allowed


def _topmost(parent: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return owners(parent, chosen) == np.arange(len(parent))
