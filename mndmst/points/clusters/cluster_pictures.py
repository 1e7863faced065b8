"""The clusters and trees of points as pictures, all in the same colours."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...host.errors import ConfigError
from .condensed import CondensedTree
from .plane_plots import cluster_colours, in_the_plane, plot_clusters
from .tree_plots import MANY, plot_condensed_tree, plot_dendrogram, plot_reachability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("clusters", "condensed", "dendrogram", "reachability")
# The data that a picture needs beside a dendrogram.
NEEDS = {"clusters": "points and their labels", "condensed": "a condensed tree"}


@dataclass(frozen=True)
class ClusterPictures:
    """Clusters and trees of points, to be drawn."""

    linkage: np.ndarray  # float64, shape (points - 1, 4)
    # int64, shape (points,), or None: None for a dendrogram alone.
    labels: np.ndarray | None = None
    points: np.ndarray | None = None  # numbers, shape (points, dimensions), or None
    names: Sequence[str] | None = None  # The names of the coordinates
    # The condensed tree and its selected clusters.
    tree: CondensedTree | None = None
    chosen: np.ndarray | None = None
    persistence: np.ndarray | None = None  # float64, shape (clusters,), or None
    source: str = "the points"  # Names the points in errors and titles
    facts: dict[str, object] = field(default_factory=dict)  # Lines of the page

    @property
    def kinds(self) -> tuple[str, ...]:
        """The pictures that the given parts suffice for, in the order of `KINDS`."""
        there = {
            "clusters": self.points is not None and self.labels is not None,
            "condensed": self.tree is not None,
            "dendrogram": True,
            "reachability": True,
        }
        return tuple(kind for kind in KINDS if there[kind])

    @cached_property
    def colours(self) -> np.ndarray | None:
        """A colour for each label, the same in all pictures."""
        if self.labels is None:
            return None
        points, places = self.points, None
        if points is not None and len(points) == len(self.labels):
            places = in_the_plane(points)[0]
        return cluster_colours(self.labels, places)

    def check(self, kind: str) -> None:
        """Raise ConfigError unless a picture is one of `kinds`."""
        if kind not in KINDS:
            raise ConfigError(f"no picture {kind!r}; give one of {', '.join(KINDS)}")
        if kind not in self.kinds:
            raise ConfigError(
                f"{self.source}: the picture {kind} needs {NEEDS[kind]}; give one of "
                f"{', '.join(self.kinds)}"
            )

    def draw(self, kind: str, axes: "Axes | None" = None) -> "Axes":
        """Draw one of `kinds`, and return the axes: the current ones by default."""
        self.check(kind)
        if kind == "clusters":
            assert self.points is not None and self.labels is not None
            return plot_clusters(
                self.points, self.labels, axes, self.names, self.colours, self.source
            )
        if kind == "condensed":
            assert self.tree is not None
            assert self.chosen is not None and self.labels is not None
            return plot_condensed_tree(
                self.tree,
                self.chosen,
                self.labels,
                label_clusters=True,
                axis=axes,
                log_size=int(self.chosen.sum()) > MANY,
                colours=self.colours,
            )
        if kind == "dendrogram":
            return plot_dendrogram(
                self.linkage, axes, labels=self.labels, colours=self.colours
            )
        return plot_reachability(self.linkage, self.labels, self.colours, axes)
