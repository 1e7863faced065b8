"""Pictures of the trees of HDBSCAN*, with Matplotlib and hdbscan's options."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...host.errors import optional
from ..kernels.dendrogram import find_branches, order_leaves, owners, spread_labels
from .condensed import CondensedTree
from .density import clusters_by_label
from .plane_plots import axes_of, colours_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLUSTERS = 300  # of a condensed tree that are drawn, about
BRANCHES = 150  # of a dendrogram that are drawn, about
NAMED = 100  # branches that have their numbers written below
SHARE = 200  # a branch has at least a 200th of the points
MANY = 30  # clusters, of which a picture shows the logarithms of the sizes
GREY = (0.55, 0.55, 0.55, 1)
BARS = 2000  # of a reachability plot


class Icicles(NamedTuple):
    """The bars of a condensed tree, each as wide as a cluster is large."""

    cluster: np.ndarray  # int64, shape (bars,)
    # float64, shape (bars,): Lambda.
    bottom: np.ndarray
    top: np.ndarray
    # float64, shape (bars,): points in the cluster between these, or their logarithm.
    size: np.ndarray
    # float64, shape (clusters,): horizontal position of each cluster; NaN if it has no
    # bars.
    centre: np.ndarray


def icicles(
    tree: CondensedTree, shown: np.ndarray, separation: float, log_size: bool, most: int
) -> Icicles:
    """Return the bars of a condensed tree, at most `most` for a cluster.

    Infinite lambdas (of equal points) are drawn a tenth above the largest finite one.
    The parent of each cluster that is `shown` is shown, too. `separation` is between
    the centres of neighbouring leaves, in widths of the root.
    """
    finite = tree.scale[np.isfinite(tree.scale)].max(initial=1e-300)
    scale = np.minimum(tree.scale, 1.1 * finite)
    birth = np.zeros(tree.num_clusters)
    birth[1:] = scale[: tree.num_clusters - 1]
    parent = tree.parent - tree.num_points
    rows = np.flatnonzero(shown[parent])
    order = rows[np.lexsort((scale[rows], parent[rows]))]
    begins = np.searchsorted(parent[order], np.arange(tree.num_clusters + 1))
    bars: list[tuple[int, float, float, float]] = []
    for cluster in np.flatnonzero(shown).tolist():
        rows = order[begins[cluster] : begins[cluster + 1]]
        ends, first = np.unique(scale[rows], return_index=True)
        gone = np.add.reduceat(tree.size[rows], first).cumsum()
        remaining = tree.cluster_size[cluster] - np.concatenate([[0], gone[:-1]])
        steps = np.unique(np.linspace(0, len(ends), most + 1).astype(int))[:-1]
        bottoms = np.concatenate([[birth[cluster]], ends])[steps]
        tops = np.append(bottoms[1:], ends[-1])
        sizes = np.log(remaining[steps]) if log_size else remaining[steps].astype(float)
        bars += zip([cluster] * len(steps), bottoms, tops, sizes, strict=True)
    number, bottom, top, size = map(np.array, zip(*bars, strict=True))
    width = separation * max(float(size.max()), 1.0)
    return Icicles(number, bottom, top, size, _centres(tree, shown) * width)


def _centres(tree: CondensedTree, shown: np.ndarray) -> np.ndarray:
    """Return the positions of clusters: leaves in a row, others amid their children."""
    parent, drawn = tree.cluster_parent, np.flatnonzero(shown).tolist()
    children: dict[int, list[int]] = {cluster: [] for cluster in drawn}
    for cluster in drawn[1:]:
        children[int(parent[cluster])].append(cluster)
    centre, leaves, todo = np.full(len(parent), np.nan), 0, [0]
    while todo:
        cluster = todo.pop()
        if not children[cluster]:
            centre[cluster] = leaves
            leaves += 1
        todo += reversed(children[cluster])
    for cluster in reversed(drawn):
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
    selection_palette: Sequence[object] | None = None,
    axis: "Axes | None" = None,
    colorbar: bool = True,
    log_size: bool = False,
    max_rectangles_per_icicle: int = 20,
    colours: np.ndarray | None = None,
) -> "Axes":
    """Draw a condensed tree; the root is at the top, and lambda grows downwards.

    Of many clusters the largest, about `CLUSTERS`, are drawn; the axis tells their
    sizes. `cmap` is a colormap of the sizes, or "none" for black. `select_clusters`
    frames the selected clusters, in colours of `selection_palette` by label in turn,
    and `label_clusters` writes their labels. `colours`, float64 of shape (flat
    clusters, 4), paints selected clusters and all inside them, in place of `cmap`
    and the frames.
    """
    axes = axes_of(axis)
    sizes, count = tree.cluster_size, tree.num_clusters
    least = _least_size(sizes, CLUSTERS)
    smallest = int(sizes[chosen].min(initial=least))
    if np.count_nonzero(sizes >= smallest) <= 2 * CLUSTERS:
        least = smallest  # all selected clusters have room
    shown = sizes >= least
    most = max_rectangles_per_icicle
    bars = icicles(tree, shown, leaf_separation, log_size, most)
    clusters = clusters_by_label(tree, chosen, labels)
    if colours is None:
        name = "log(points)" if log_size else "points"
        paint = colours_of(axes, bars.size, cmap, colorbar, name)
    else:
        label_of = np.full(count + 1, -1)
        label_of[clusters] = np.arange(len(clusters))
        label = label_of[owners(tree.cluster_parent, chosen)[bars.cluster]]
        paint = np.tile(GREY, (len(label), 1))
        paint[label >= 0] = colours[label[label >= 0]]
    left = bars.centre[bars.cluster] - bars.size / 2
    _draw_boxes(axes, left, left + bars.size, bars.bottom, bars.top, paint)
    ends = np.zeros(count)
    np.maximum.at(ends, bars.cluster, bars.top)
    starts = np.full(count, np.inf)
    np.minimum.at(starts, bars.cluster, bars.bottom)
    child = np.flatnonzero(shown)[1:]
    parent = tree.cluster_parent[child]
    axes.hlines(starts[child], bars.centre[child], bars.centre[parent], "black", lw=1)
    if select_clusters or label_clusters:
        patches = optional("matplotlib.patches", "plot")
        palette = ("red",) if selection_palette is None else selection_palette
        width, total = np.zeros(count), float(ends.max())
        np.maximum.at(width, bars.cluster, bars.size)
        for label, cluster in enumerate(clusters.tolist()):
            if not shown[cluster]:
                continue
            x, height = bars.centre[cluster], ends[cluster] - starts[cluster]
            below = ends[cluster]
            if select_clusters:
                across, below = (
                    1.4 * width[cluster] + 0.04 * width[0],
                    below + height / 5,
                )
                centre, colour = (
                    (x, starts[cluster] + height / 2),
                    palette[label % len(palette)],
                )
                frame = patches.Ellipse(
                    centre, across, 1.4 * height, ec=colour, fc="none", lw=2
                )
                axes.add_patch(frame)
            if label_clusters:
                y = below + 0.01 * total
                axes.text(x, y, str(label), ha="center", va="top", fontsize=8)
    axes.autoscale_view()
    axes.set_xticks([])
    axes.yaxis.set_inverted(True)
    axes.set_ylabel("lambda = 1 / distance")
    if not shown.all():
        axes.set_xlabel(
            f"{int(shown.sum()):,} of {count:,} clusters, of {least:,} points and more"
        )
    return axes


def _least_size(sizes: np.ndarray, most: int) -> int:
    """Return a size that about `most` sizes reach, at most `2 * most`."""
    if len(sizes) <= most:
        return 1
    least = int(np.partition(sizes, -most)[-most])
    return least if np.count_nonzero(sizes >= least) <= 2 * most else least + 1


def _draw_boxes(
    axes: "Axes",
    left: np.ndarray,
    right: np.ndarray,
    bottom: np.ndarray,
    top: np.ndarray,
    colours: object,
) -> None:
    """Draw boxes; a narrow one is a line that can be seen."""
    corners = [(left, bottom), (left, top), (right, top), (right, bottom)]
    boxes = np.stack(
        [np.stack(np.broadcast_arrays(*xy), axis=1) for xy in corners], axis=1
    )
    collections = optional("matplotlib.collections", "plot")
    axes.add_collection(
        collections.PolyCollection(
            boxes, facecolors=colours, edgecolors=colours, linewidths=0.6
        )
    )


def plot_dendrogram(
    linkage: np.ndarray,
    axis: "Axes | None" = None,
    truncate_mode: str | None = None,
    p: int = 0,
    vary_line_width: bool = True,
    cmap: str = "viridis",
    colorbar: bool = True,
    labels: np.ndarray | None = None,
    colours: np.ndarray | None = None,
) -> "Axes":
    """Draw a dendrogram.

    Of many points only large branches are drawn: merges whose parts both have one point
    of `SHARE`, or more if the branches are too many. The axis tells their number, and
    each branch its points. As in SciPy, `truncate_mode` "lastp" draws the last p
    branches, "level" p levels from the top. The lines of larger clusters are thicker if
    `vary_line_width`. `cmap` is a colormap of the sizes, or "none" for black. Branches
    inside one of the clusters of `labels` have its colour of `colours`.
    """
    axes = axes_of(axis)
    linkage = _finite(linkage)
    count = len(linkage) + 1
    drawn, least = _drawn_merges(linkage, truncate_mode, p)
    merge, end = find_branches(linkage, drawn, least)
    size = np.concatenate([np.ones(count), linkage[:, 3]])
    lines: list[tuple[tuple[float, float], ...]] = []
    sizes: list[float] = []
    nodes: list[int] = []
    ticks: list[int] = []
    # A branch is finished when both its parts are: a stack in place of recursion.
    todo, places = [(2 * count - 2, False)], {}
    while todo:
        node, finished = todo.pop()
        row = int(merge[node])
        if row < 0:
            places[node] = float(len(ticks))
            ticks.append(node)
            continue
        parts = [int(child) for child in linkage[row, :2]]
        parts.sort(key=lambda part: -size[part])
        if not finished:
            todo += [(node, True), *((part, False) for part in reversed(parts))]
            continue
        x = [places[part] for part in parts]
        top = float(linkage[row, 2])
        for place, part in zip(x, parts, strict=True):
            inside = int(merge[part])
            bottom = float(end[part] if inside < 0 else linkage[inside, 2])
            lines.append(((place, bottom), (place, top)))
            lines.append(((min(x), top), (max(x), top)))
            nodes += [part, count + row]
            sizes += [size[part]] * 2
        places[node] = (x[0] + x[1]) / 2
    if not lines:  # one branch
        lines.append(
            ((0, float(end[-1])), (0, float(linkage[-1, 2]) if count > 1 else 0))
        )
        nodes, sizes = [2 * count - 2], [float(count)]
    log = np.log2(np.maximum(sizes, 2))
    paint = (
        colours_of(axes, log, cmap, colorbar, "log2(points)")
        if labels is None or colours is None
        else _branch_colours(linkage, nodes, labels, colours)
    )
    widths = 0.6 + 2.4 * log / log.max() if vary_line_width else np.ones(len(log))
    collections = optional("matplotlib.collections", "plot")
    axes.add_collection(
        collections.LineCollection(
            lines, colors=paint, linewidths=widths, capstyle="projecting"
        )
    )
    axes.autoscale()
    axes.set_ylim(bottom=0 if linkage[:, 2].min(initial=0) >= 0 else None)
    names = [str(node) if node < count else f"{int(size[node]):,}" for node in ticks]
    if len(ticks) <= NAMED:
        small = 8 if len(ticks) <= NAMED // 2 else 6
        axes.set_xticks(range(len(ticks)), names, rotation=90, fontsize=small)
    else:
        axes.set_xticks([])
    axes.set_xlabel(
        "points" if len(ticks) == count
        else f"points of {len(ticks)} branches"
        + f"; smaller ones than {least:,} points left out" * (least > 1)
    )  # fmt: skip
    axes.set_ylabel("distance")
    return axes


def _drawn_merges(
    linkage: np.ndarray, truncate_mode: str | None, p: int
) -> tuple[np.ndarray, int]:
    """Mark the merges that are drawn; also return the fewest points of a branch."""
    count = len(linkage)
    drawn = np.ones(count, np.bool_)
    if truncate_mode == "lastp":
        drawn[: max(count - p + 1, 0)] = False
        return drawn, 1
    if truncate_mode == "level":
        level = np.zeros(2 * count + 1, np.int64)
        for row in range(count - 1, -1, -1):
            drawn[row] = level[count + 1 + row] <= p
            level[linkage[row, :2].astype(np.int64)] = level[count + 1 + row] + 1
        return drawn, 1
    size = np.concatenate([np.ones(count + 1), linkage[:, 3]])
    smaller = size[linkage[:, :2].astype(np.int64)].min(axis=1)
    least = max(_least_size(smaller, BRANCHES), (count + 1) // SHARE, 1)
    return smaller >= least, least


def _branch_colours(
    linkage: np.ndarray, nodes: list[int], labels: np.ndarray, colours: np.ndarray
) -> np.ndarray:
    """Return the colour of the cluster that all labelled points of a branch are in."""
    count = len(linkage) + 1
    low = np.concatenate(
        [np.where(labels < 0, count, labels), np.zeros(count - 1, int)]
    )
    high = np.concatenate([labels, np.zeros(count - 1, int)])
    spread_labels(linkage, low, high)
    paint = np.tile([0.35, 0.35, 0.35, 1], (len(nodes), 1))
    one = (low[nodes] == high[nodes]) & (high[nodes] >= 0)
    paint[one] = colours[high[nodes][one]]
    paint[high[nodes] < 0] = (0.77, 0.77, 0.77, 1)
    return paint


def plot_reachability(
    linkage: np.ndarray,
    labels: np.ndarray | None = None,
    colours: np.ndarray | None = None,
    axis: "Axes | None" = None,
) -> "Axes":
    """Draw the reachability of points in the order of the dendrogram.

    Each point is at the distance at which it joins the points before it, as OPTICS
    shows it: valleys are clusters. Of many points each bar is the median of
    neighbouring ones; grey shows the largest. `colours` has one for each label.
    """
    axes = axes_of(axis)
    order, reach = order_leaves(_finite(linkage))
    if len(reach) > 1:
        reach[0] = reach[1]
    else:
        reach[0] = 0
    count = len(order)
    bars = min(count, BARS)
    begin = np.linspace(0, count, bars + 1).astype(np.int64)
    number = np.repeat(np.arange(bars), np.diff(begin))
    middle = begin[:-1] + np.diff(begin) // 2
    heights = reach[np.lexsort((reach, number))][middle]
    largest = np.maximum.reduceat(reach, begin[:-1])
    paint: object = "#1f77b4"
    if labels is not None and colours is not None:
        inside = labels[order]
        paint = np.tile([0.77, 0.77, 0.77, 1], (bars, 1))
        common = inside[np.lexsort((inside, number))][middle]
        paint[common >= 0] = colours[common[common >= 0]]
    at, zero = begin.astype(np.float64), np.zeros(bars)
    if bars < count:
        _draw_boxes(axes, at[:-1], at[1:], zero, largest, "#dcdcdc")
    _draw_boxes(axes, at[:-1], at[1:], zero, heights, paint)
    axes.set_xlim(0, count)
    axes.set_ylim(0, 1.05 * max(float(np.quantile(largest, 0.999)), 1e-300))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("points in the order of the dendrogram")
    axes.set_ylabel("reachability distance")
    return axes


def _finite(linkage: np.ndarray) -> np.ndarray:
    """Return a dendrogram with infinite distances a tenth above the largest other."""
    linkage = linkage.copy()
    largest = linkage[np.isfinite(linkage[:, 2]), 2].max(initial=1e-300)
    linkage[:, 2] = np.minimum(linkage[:, 2], 1.1 * largest)
    return linkage
