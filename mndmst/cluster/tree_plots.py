"""Pictures of the trees of HDBSCAN*, with Matplotlib and hdbscan's options."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..host.errors import ConfigError, optional
from .condensed import CondensedTree
from .linkage import SpanningForest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Icicles(NamedTuple):
    """The bars of a condensed tree, each as wide as a cluster is large.

    Attributes
    ----------
    cluster : ndarray of int64, shape (bars,)
    bottom, top : ndarray of float64, shape (bars,)
        Lambda.
    size : ndarray of float64, shape (bars,)
        Points in the cluster between these, or their logarithm.
    centre : ndarray of float64, shape (clusters,)
        Horizontal position of each cluster.
    """

    cluster: np.ndarray
    bottom: np.ndarray
    top: np.ndarray
    size: np.ndarray
    centre: np.ndarray


def icicles(
    tree: CondensedTree, separation: float, log_size: bool, most: int
) -> Icicles:
    """Return the bars of a condensed tree.

    Infinite lambdas (of equal points) are drawn a tenth above the largest finite one.

    Parameters
    ----------
    separation : float
        Between the centres of neighbouring leaves, in widths of the root.
    most : int
        Bars of a cluster, at most.
    """
    finite = tree.scale[np.isfinite(tree.scale)].max(initial=1e-300)
    scale = np.minimum(tree.scale, 1.1 * finite)
    birth = np.zeros(tree.num_clusters)
    birth[1:] = scale[: tree.num_clusters - 1]
    parent = tree.parent - tree.num_points
    order = np.lexsort((scale, parent))
    begins = np.searchsorted(parent[order], np.arange(tree.num_clusters + 1))
    bars: list[tuple[int, float, float, float]] = []
    for cluster in range(tree.num_clusters):
        rows = order[begins[cluster] : begins[cluster + 1]]
        ends, first = np.unique(scale[rows], return_index=True)
        gone = np.add.reduceat(tree.size[rows], first).cumsum()
        left = tree.cluster_size[cluster] - np.concatenate([[0], gone[:-1]])
        steps = np.unique(np.linspace(0, len(ends), most + 1).astype(int))[:-1]
        bottoms = np.concatenate([[birth[cluster]], ends])[steps]
        tops = np.append(bottoms[1:], ends[-1])
        sizes = np.log(left[steps]) if log_size else left[steps].astype(float)
        bars += zip([cluster] * len(steps), bottoms, tops, sizes, strict=True)
    number, bottom, top, size = map(np.array, zip(*bars, strict=True))
    width = separation * max(float(size.max()), 1.0)
    return Icicles(number, bottom, top, size, _centres(tree) * width)


def _centres(tree: CondensedTree) -> np.ndarray:
    """Return the positions of clusters: leaves in a row, others amid their children."""
    parent, count = tree.cluster_parent.tolist(), tree.num_clusters
    children: list[list[int]] = [[] for _ in range(count)]
    for cluster in range(1, count):
        children[parent[cluster]].append(cluster)
    centre, leaves, todo = np.zeros(count), 0, [0]
    while todo:
        cluster = todo.pop()
        if not children[cluster]:
            centre[cluster] = leaves
            leaves += 1
        todo += reversed(children[cluster])
    for cluster in range(count - 1, -1, -1):
        if children[cluster]:
            centre[cluster] = centre[children[cluster]].mean()
    return centre


def plot_condensed_tree(
    tree: CondensedTree,
    chosen: np.ndarray,
    labels: np.ndarray,
    leaf_separation: float = 1.0,
    cmap: str = "viridis",
    select_clusters: bool = False,
    label_clusters: bool = False,
    selection_palette: Any = None,
    axis: "Axes | None" = None,
    colorbar: bool = True,
    log_size: bool = False,
    max_rectangles_per_icicle: int = 20,
) -> "Axes":
    """Draw a condensed tree; the root is at the top, and lambda grows downwards.

    Parameters
    ----------
    cmap : str
        A colormap of the sizes, or "none" for black.
    select_clusters, label_clusters : bool
        Frame the selected clusters, and write their labels.
    selection_palette : sequence of colours, optional
        Of the frames, in turn.
    """
    axes = _axes(axis)
    bars = icicles(tree, leaf_separation, log_size, max_rectangles_per_icicle)
    colours = _colours(axes, bars.size, cmap, colorbar, _size_name(log_size))
    axes.bar(
        bars.centre[bars.cluster], bars.top - bars.bottom, bars.size,
        bars.bottom, color=colours, linewidth=0,
    )  # fmt: skip
    ends = np.zeros(tree.num_clusters)
    np.maximum.at(ends, bars.cluster, bars.top)
    starts = np.full(tree.num_clusters, np.inf)
    np.minimum.at(starts, bars.cluster, bars.bottom)
    child, parent = np.arange(1, tree.num_clusters), tree.cluster_parent[1:]
    axes.hlines(starts[child], bars.centre[child], bars.centre[parent], "black", lw=1)
    if select_clusters:
        width = np.zeros(tree.num_clusters)
        np.maximum.at(width, bars.cluster, bars.size)
        patches = optional("matplotlib.patches", "plot")
        selected = np.flatnonzero(chosen)
        for number, cluster in enumerate(selected.tolist()):
            palette = selection_palette or ("red",)
            colour = palette[number % len(palette)]
            height = ends[cluster] - starts[cluster]
            centre = bars.centre[cluster], starts[cluster] + height / 2
            frame = patches.Ellipse(
                centre, 1.4 * width[cluster], 1.4 * height, ec=colour, fc="none", lw=2
            )
            axes.add_patch(frame)
            if label_clusters:
                label = str(_label_of(tree, cluster, labels))
                axes.text(centre[0], ends[cluster], label, ha="left", va="top")
    axes.set_xticks([])
    axes.invert_yaxis()
    axes.set_ylabel("lambda")
    return axes


def _label_of(tree: CondensedTree, cluster: int, labels: np.ndarray) -> int:
    """Return the label of the points of a selected cluster."""
    inside = tree.point_cluster
    above = tree.cluster_parent
    found = np.zeros(tree.num_clusters, np.bool_)
    found[cluster] = True
    for number in range(cluster + 1, len(found)):
        found[number] = found[above[number]]
    return int(labels[found[inside]].max())


def plot_dendrogram(
    linkage: np.ndarray,
    axis: "Axes | None" = None,
    truncate_mode: str | None = None,
    p: int = 0,
    vary_line_width: bool = True,
    cmap: str = "viridis",
    colorbar: bool = True,
) -> "Axes":
    """Draw a dendrogram.

    Parameters
    ----------
    truncate_mode, p : str, int
        As in `scipy.cluster.hierarchy.dendrogram`: "lastp" draws the last p merges. By
        default the last 200 of more.
    vary_line_width : bool
        Draw the lines of larger clusters thicker.
    cmap : str
        A colormap of the sizes, or "none" for black.
    """
    hierarchy = optional("scipy.cluster.hierarchy", "formats")
    axes = _axes(axis)
    linkage = linkage.copy()
    finite = linkage[np.isfinite(linkage[:, 2]), 2].max(initial=1e-300)
    linkage[:, 2] = np.minimum(linkage[:, 2], 1.1 * finite)
    if truncate_mode is None and len(linkage) > LAST:
        truncate_mode, p = "lastp", LAST
    shape = hierarchy.dendrogram(linkage, p, truncate_mode, no_plot=True)
    heights = np.array([corners[1] for corners in shape["dcoord"]])
    sizes = np.interp(heights, linkage[:, 2], np.maximum.accumulate(linkage[:, 3]))
    sizes = np.log2(np.maximum(sizes, 2))
    colours = _colours(axes, sizes, cmap, colorbar, "log2(points)")
    widths = sizes / sizes.max() * 4 if vary_line_width else np.ones(len(sizes))
    lines = optional("matplotlib.collections", "plot").LineCollection(
        np.stack([shape["icoord"], shape["dcoord"]], axis=2),
        colors=colours, linewidths=widths,
    )  # fmt: skip
    axes.add_collection(lines)
    axes.autoscale()
    axes.set_xticks([])
    axes.set_ylabel("distance")
    return axes


def plot_spanning_tree(
    forest: SpanningForest,
    points: np.ndarray | None,
    axis: "Axes | None" = None,
    node_size: float = 40,
    node_color: str = "k",
    node_alpha: float = 0.8,
    edge_alpha: float = 0.5,
    edge_cmap: str = "viridis_r",
    edge_linewidth: float = 2,
    vary_line_width: bool = True,
    colorbar: bool = True,
) -> "Axes":
    """Draw the spanning tree over points in the plane.

    Points of more than two dimensions are shown along their first two principal
    components, and the axes say so.

    Parameters
    ----------
    vary_line_width : bool
        Draw short edges thicker.
    """
    if points is None:
        raise ConfigError(
            "precomputed distances have no coordinates, so the tree has no picture; "
            "minimum_spanning_tree_.to_networkx() returns it as a graph"
        )
    axes = _axes(axis)
    places, names = in_the_plane(points)
    ends = np.stack([places[forest.src], places[forest.dst]], axis=1)
    colours = _colours(axes, forest.weight, edge_cmap, colorbar, "distance")
    width = np.full(len(forest), float(edge_linewidth))
    if vary_line_width and len(forest):
        width *= np.log(1 + forest.weight.max()) / np.maximum(
            np.log(1 + forest.weight), 1e-9 + 0.2 * np.log(1 + forest.weight.max())
        )
    lines = optional("matplotlib.collections", "plot").LineCollection(
        ends, colors=colours, linewidths=width, alpha=edge_alpha
    )
    axes.add_collection(lines)
    axes.scatter(
        places[:, 0], places[:, 1], s=node_size, c=node_color, alpha=node_alpha
    )
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    return axes


def in_the_plane(points: np.ndarray) -> tuple[np.ndarray, tuple[str, str]]:
    """Return points in two dimensions, and the names of these.

    Points of more dimensions are projected on their first two principal components;
    rows with coordinates that are not finite become NaN.
    """
    finite = np.isfinite(points).all(axis=1)
    if points.shape[1] <= 2:
        places = np.zeros((len(points), 2))
        places[:, : points.shape[1]] = points
        names = "first coordinate", "second coordinate"
    else:
        centred = points[finite] - points[finite].mean(axis=0)
        values, vectors = np.linalg.eigh(centred.T @ centred)
        along = vectors[:, np.argsort(values)[::-1][:2]]
        places = np.full((len(points), 2), np.nan)
        places[finite] = centred @ along
        names = "first principal component", "second principal component"
    places[~finite] = np.nan
    return places, names


# Merges that a picture of a dendrogram shows, unless more are asked for.
LAST = 200


def _axes(axis: "Axes | None") -> "Axes":
    return optional("matplotlib.pyplot", "plot").gca() if axis is None else axis


def _size_name(log_size: bool) -> str:
    return "log(points)" if log_size else "points"


def _colours(
    axes: "Axes", values: np.ndarray, cmap: str, colorbar: bool, name: str
) -> Any:
    """Return colours of values, with a bar beside the picture; black without a map."""
    if cmap == "none" or len(values) == 0:
        return "black"
    cm = optional("matplotlib.cm", "plot")
    normalize = optional("matplotlib.colors", "plot").Normalize(0, float(values.max()))
    mappable = cm.ScalarMappable(norm=normalize, cmap=cmap)
    mappable.set_array(values)
    if colorbar and axes.figure is not None:
        axes.figure.colorbar(mappable, ax=axes, label=name)
    return mappable.to_rgba(values)
