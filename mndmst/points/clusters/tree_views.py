"""The trees of HDBSCAN* as tables, graphs and pictures, with hdbscan's names."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from ...graph.order import check_threshold
from ...host.errors import ConfigTypeError, optional, shown
from ...kernels.kruskal import component_labels
from ...tree.linkage import SpanningForest
from .condensed import CondensedTree
from .density import number_clusters

if TYPE_CHECKING:
    import networkx
    import pandas
    from matplotlib.axes import Axes

# Rows of the table of a condensed tree.
ROW = np.dtype([
    ("parent", np.int64), ("child", np.int64),
    ("lambda_val", np.float64), ("child_size", np.int64),
])  # fmt: skip


@dataclass(frozen=True)
class CondensedTreeView:
    """The condensed tree of a fitted estimator."""

    tree: CondensedTree
    chosen: np.ndarray  # bool, by cluster: the selected ones, the root first
    labels: np.ndarray  # int64, by point

    def to_numpy(self) -> np.ndarray:
        """Return a structured array: parent, child, lambda_val and child_size."""
        tree, table = self.tree, np.empty(len(self.tree.child), ROW)
        columns = tree.parent, tree.child, tree.scale, tree.size
        for name, column in zip(ROW.names or (), columns, strict=True):
            table[name] = column
        return table

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a DataFrame: parent, child, lambda_val and child_size."""
        return optional("pandas", "tables").DataFrame(self.to_numpy())

    def to_networkx(self) -> "networkx.DiGraph":
        """Return a DiGraph from parents to children, with `weight` (lambda) and `size`.

        Edges have the attribute `weight`, nodes the attribute `size`.
        """
        networkx = optional("networkx", "networkx")
        graph, tree = networkx.DiGraph(), self.tree
        columns = (column.tolist() for column in (tree.parent, tree.child, tree.scale))
        graph.add_weighted_edges_from(zip(*columns, strict=True))
        sizes = {tree.num_points: tree.num_points}
        sizes |= dict(zip(tree.child.tolist(), tree.size.tolist(), strict=True))
        networkx.set_node_attributes(graph, sizes, "size")
        return graph

    def plot(self, **options: object) -> "Axes":
        """Draw the tree as icicles and return the axes; see `tree_plots`."""
        from .tree_plots import plot_condensed_tree

        return plot_condensed_tree(self.tree, self.chosen, self.labels, **options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class SingleLinkageTree:
    """A single-linkage dendrogram, as `scipy.cluster.hierarchy.linkage` returns it."""

    linkage: np.ndarray

    def to_numpy(self) -> np.ndarray:
        """Return the dendrogram as SciPy's, float64, shape (points - 1, 4)."""
        return self.linkage.copy()

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a DataFrame: parent, left_child, right_child, distance and size."""
        count = len(self.linkage)
        left, right, distance, size = self.linkage.T
        return optional("pandas", "tables").DataFrame({
            "parent": np.arange(count + 1, 2 * count + 1),
            "left_child": left.astype(np.int64),
            "right_child": right.astype(np.int64),
            "distance": distance,
            "size": size.astype(np.int64),
        })  # fmt: skip

    def to_networkx(self) -> "networkx.DiGraph":
        """Return a DiGraph from merged clusters to both parts.

        Edges have the attribute `weight` (distance), nodes the attribute `size`.
        """
        networkx = optional("networkx", "networkx")
        graph, count = networkx.DiGraph(), len(self.linkage)
        parent = np.repeat(np.arange(count + 1, 2 * count + 1), 2).tolist()
        child = self.linkage[:, :2].astype(np.int64).ravel().tolist()
        distance = np.repeat(self.linkage[:, 2], 2).tolist()
        graph.add_weighted_edges_from(zip(parent, child, distance, strict=True))
        sizes = dict.fromkeys(range(count + 1), 1)
        sizes |= dict(enumerate(self.linkage[:, 3].astype(int).tolist(), count + 1))
        networkx.set_node_attributes(graph, sizes, "size")
        return graph

    def get_clusters(
        self, cut_distance: float, min_cluster_size: int = 5
    ) -> np.ndarray:
        """Return the labels of a cut: points nearer than a distance are together.

        Parameters
        ----------
        cut_distance : float
            Merges at this distance and above are undone.
        min_cluster_size : int
            Points of smaller clusters are noise.

        Returns
        -------
        ndarray of int64, shape (points,)
            0, 1, ... by smallest points; -1 is noise.

        Raises
        ------
        ConfigError
            If the distance is not a number, or the size not an integer.
        """
        _check_cut(cut_distance, min_cluster_size)
        count = len(self.linkage) + 1
        kept = int(np.searchsorted(self.linkage[:, 2], cut_distance))
        parts = self.linkage[:kept, :2].astype(np.int64).ravel()
        merged = np.repeat(np.arange(count, count + kept), 2)
        cluster = component_labels(parts, merged, count + kept)[:count]
        sizes = np.bincount(cluster)
        return number_clusters(np.where(sizes[cluster] < min_cluster_size, -1, cluster))

    def plot(self, **options: object) -> "Axes":
        """Draw the dendrogram and return the axes; see `tree_plots`."""
        from .tree_plots import plot_dendrogram

        return plot_dendrogram(self.linkage, **options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class SpanningTree:
    """The minimum spanning forest of mutual reachability distances."""

    forest: SpanningForest
    points: np.ndarray | None  # None for precomputed distances, which have no picture

    def to_numpy(self) -> np.ndarray:
        """Return the edges in ascending order, float64: both points and distance."""
        forest = self.forest
        order = np.argsort(forest.weight, kind="stable")
        return np.stack([forest.src, forest.dst, forest.weight], axis=1)[order]

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a DataFrame of the edges in ascending order: from, to and distance."""
        order = np.argsort(self.forest.weight, kind="stable")
        return optional("pandas", "tables").DataFrame({
            "from": self.forest.src[order],
            "to": self.forest.dst[order],
            "distance": self.forest.weight[order],
        })  # fmt: skip

    def to_networkx(self) -> "networkx.Graph":
        """Return a Graph of all points, whose edges have the attribute `weight`."""
        networkx = optional("networkx", "networkx")
        graph, forest = networkx.Graph(), self.forest
        graph.add_nodes_from(range(forest.num_vertices))
        columns = forest.src, forest.dst, forest.weight
        edges = zip(*(column.tolist() for column in columns), strict=True)
        graph.add_weighted_edges_from(edges)
        return graph

    def plot(self, **options: object) -> "Axes":
        """Draw the tree in the plane and return the axes; see `tree_plots`."""
        from .plane_plots import plot_spanning_tree

        return plot_spanning_tree(self.forest, self.points, **options)  # type: ignore[arg-type]


def _check_cut(distance: float, size: int) -> None:
    """Refuse a cut that is not at a number, or a size that is not an integer."""
    if not isinstance(distance, Real) or isinstance(distance, bool):
        raise ConfigTypeError(f"cut_distance is {shown(distance)}; give a number")
    check_threshold(float(distance))
    if not isinstance(size, Integral) or isinstance(size, bool):
        raise ConfigTypeError(f"min_cluster_size is {shown(size)}; give an integer")
