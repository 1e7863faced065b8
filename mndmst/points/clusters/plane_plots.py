"""Pictures of points in the plane: clusters, and the spanning tree, with Matplotlib.

Neighbouring clusters have different colours. Clusters are neighbours where they share a
pixel of a coarse image, or where pixels nearest to them touch.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...host.errors import ConfigError, optional
from ...host.formatting import counted
from ...tree.linkage import SpanningForest
from .density import points_by_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 200_000  # points; more make a picture slow, and no clearer
BLOCK = 1 << 14  # points of many dimensions that are projected together
GRID = 128  # pixels of the image that finds neighbouring clusters, along each side
CELLS = 24  # along each side: a label stands in the most crowded cell of its cluster
LEGEND = 12  # clusters that a legend lists
NUMBERS = 40  # clusters that have their labels written on them
COLOURS = (
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#17becf", "#e377c2",
    "#8c564b", "#bcbd22", "#1a2f7a", "#00e0a0", "#f2c500",
)  # fmt: skip
NOISE = "#c4c4c4"


def in_the_plane(
    points: np.ndarray, names: Sequence[str] | None = None
) -> tuple[np.ndarray, tuple[str, str]]:
    """Return points in two dimensions, and the names of the two axes.

    Points of more dimensions are projected on their first two principal components,
    whose names tell their shares of the variance; rows with coordinates that are not
    finite become NaN.
    """
    dimensions = points.shape[1]
    places = np.full((len(points), 2), np.nan)
    finite = np.isfinite(points).all(axis=1)
    if dimensions <= 2:
        places[finite, :dimensions] = points[finite]
        places[finite, dimensions:] = 0
        given = ("first coordinate", "second coordinate") if names is None else names
        return places, (str(given[0]), str(given[1]) if dimensions == 2 else "")
    blocks = [slice(at, at + BLOCK) for at in range(0, len(points), BLOCK)]
    mean = sum(points[b][finite[b]].sum(axis=0, dtype=np.float64) for b in blocks)
    mean = mean / max(int(finite.sum()), 1)
    spread = np.zeros((dimensions, dimensions))
    for block in blocks:
        centred = points[block][finite[block]] - mean
        spread += centred.T @ centred
    values, vectors = np.linalg.eigh(spread)
    along = vectors[:, :-3:-1]
    along = along * np.sign(along[np.abs(along).argmax(axis=0), [0, 1]])
    for block in blocks:
        places[block] = (points[block] - mean) @ along
    places[~finite] = np.nan
    shares = 100 * values[:-3:-1] / max(float(values.sum()), 1e-300)
    first, second = (
        f"{order} principal component ({share:.0f} % of variance)"
        for order, share in zip(("first", "second"), shares.tolist(), strict=True)
    )
    return places, (first, second)


def cluster_colours(labels: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    """Return a colour for each cluster that no neighbour of it has, where possible.

    With few clusters all colours differ. The largest cluster chooses first; a cluster
    with neighbours in all colours takes the one that the fewest of them have. The label
    -1 is noise. Without `places`, shape (points, 2), clusters are neighbours of those
    numbered before and after. The result is float64, shape (clusters, 4).
    """
    palette = optional("matplotlib.colors", "plot").to_rgba_array(COLOURS)
    count = int(labels.max(initial=-1)) + 1
    if count <= len(palette) or places is None:
        return palette[np.arange(count) % len(palette)]
    pairs = _neighbouring(labels, places)
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    begin = np.searchsorted(pairs[:, 0], np.arange(count + 1))
    colour, used = np.full(count, -1), np.zeros(len(palette), np.int64)
    sizes = np.bincount(labels[labels >= 0], minlength=count)
    for cluster in np.argsort(-sizes, kind="stable").tolist():
        beside = colour[pairs[begin[cluster] : begin[cluster + 1], 1]]
        taken = np.bincount(beside[beside >= 0], minlength=len(palette))
        colour[cluster] = np.lexsort((used, taken))[0]
        used[colour[cluster]] += 1
    return palette[colour]


def _neighbouring(labels: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return pairs of neighbouring clusters, int64, shape (pairs, 2)."""
    inside = (labels >= 0) & np.isfinite(places).all(axis=1)
    low = places[inside].min(axis=0, initial=np.inf)
    extent = np.maximum(places[inside].max(axis=0, initial=-np.inf) - low, 1e-300)
    cell = np.minimum((places[inside] - low) / extent * GRID, GRID - 1).astype(int)
    pixel = cell[:, 0] * GRID + cell[:, 1]
    both = np.unique(np.stack([pixel, labels[inside]], axis=1), axis=0)
    pairs = []
    for step in range(1, min(len(COLOURS), len(both))):  # clusters that share a pixel
        one, other = both[step:], both[:-step]
        same = one[:, 0] == other[:, 0]
        pairs.append(np.stack([one[same, 1], other[same, 1]], axis=1))
    image = np.full((GRID, GRID), -1)
    image.ravel()[both[:, 0]] = both[:, 1]
    while (image < 0).any():  # empty pixels take the cluster of a pixel beside them
        before = image.copy()
        for one, other in _touching(image):
            empty = (one < 0) & (other >= 0)
            one[empty] = other[empty]
            empty = (other < 0) & (one >= 0)
            other[empty] = one[empty]
        if np.array_equal(image, before):
            break
    for one, other in _touching(image):
        apart = one != other
        pairs.append(np.stack([one[apart], other[apart]], axis=1))
    return np.unique(np.concatenate(pairs), axis=0)


def _touching(image: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return two views of an image for each direction: pixels, and their neighbours."""
    return [
        (image[1:], image[:-1]), (image[:, 1:], image[:, :-1]),
        (image[1:, 1:], image[:-1, :-1]), (image[1:, :-1], image[:-1, 1:]),
    ]  # fmt: skip


def plot_clusters(
    points: np.ndarray,
    labels: np.ndarray,
    axis: "Axes | None" = None,
    names: Sequence[str] | None = None,
    colours: np.ndarray | None = None,
    source: str = "the points",
) -> "Axes":
    """Draw points in the colours of their clusters; noise is grey.

    Of many points a random part is shown. Points of more than two dimensions are shown
    along their first two principal components, and the axes say so. `source` names the
    points in errors; `cluster_colours` gives the default of `colours`.
    """
    if len(points) != len(labels):
        raise ConfigError(
            f"{source}: has {counted(len(points), 'point')}, and the forest has "
            f"{counted(len(labels), 'vertex')}. Give the points the graph was made of."
        )
    axes = axes_of(axis)
    places, axis_names = in_the_plane(points, names)
    if colours is None:
        colours = cluster_colours(labels, places)
    shown = np.arange(len(points))
    if len(shown) > SHOWN:
        shown = np.sort(np.random.default_rng(1).choice(shown, SHOWN, replace=False))
    size = float(np.clip(40_000 / max(len(shown), 1), 0.3, 14))
    for noise in (True, False):
        these = shown[(labels[shown] < 0) == noise]
        paint = NOISE if noise else colours[labels[these]]
        dots = size * (0.5 if noise else 1)
        x, y = places[these].T
        axes.scatter(x, y, dots, paint, linewidths=0, rasterized=True)
    _write_labels(axes, places, labels, colours)
    away = int(np.count_nonzero(labels < 0))
    title = f"{counted(len(points), 'point')}, {counted(len(colours), 'cluster')}, "
    title += f"{away:,} noise"
    if len(shown) < len(points):
        title += f"; {len(shown):,} points shown"
    axes.set_title(title)
    axes.set_xlabel(axis_names[0])
    axes.set_ylabel(axis_names[1])
    extent = (
        np.ptp(places[np.isfinite(places).all(axis=1)], axis=0) if len(points) else 0
    )
    if points.shape[1] == 1:
        axes.set_yticks([])
    elif np.min(extent) > 0.2 * np.max(extent):
        axes.set_aspect("equal", adjustable="datalim")
    return axes


def _write_labels(
    axes: "Axes", places: np.ndarray, labels: np.ndarray, colours: np.ndarray
) -> None:
    """Write the labels of a few clusters at points of theirs, and a legend of fewer."""
    if not 0 < len(colours) <= NUMBERS:
        return
    effects = optional("matplotlib.patheffects", "plot")
    outline = [effects.withStroke(linewidth=2.5, foreground="white")]
    handles = []
    finite = np.isfinite(places).all(axis=1)
    low, high = places[finite].min(axis=0), places[finite].max(axis=0)
    cells = (places - low) / np.maximum(high - low, 1e-300) * (CELLS - 1)
    for cluster, members in enumerate(points_by_label(labels)):
        inside, colour = places[members], colours[cluster]
        cell = np.rint(cells[members]) @ [CELLS, 1]
        crowded = np.bincount(cell.astype(np.int64)).argmax()
        axes.annotate(
            str(cluster), tuple(np.median(inside[cell == crowded], axis=0)),
            color=colour * [0.6, 0.6, 0.6, 1], weight="bold", ha="center", va="center",
            path_effects=outline,
        )  # fmt: skip
        handles.append(
            axes.scatter(
                [], [], 40, [colour], label=f"{cluster}: {len(inside):,} points"
            )
        )
    away = int(np.count_nonzero(labels < 0))
    if len(colours) <= LEGEND:
        if away:
            handles.append(axes.scatter([], [], 40, NOISE, label=f"noise: {away:,}"))
        axes.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False,
            borderaxespad=0,
        )  # fmt: skip


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
    components, and the axes say so. `vary_line_width` draws short edges thicker.
    """
    if points is None:
        raise ConfigError(
            "precomputed distances have no coordinates, so the tree has no picture; "
            "minimum_spanning_tree_.to_networkx() returns it as a graph"
        )
    axes = axes_of(axis)
    places, names = in_the_plane(points)
    ends = np.stack([places[forest.src], places[forest.dst]], axis=1)
    colours = colours_of(axes, forest.weight, edge_cmap, colorbar, "distance")
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


def axes_of(axis: "Axes | None") -> "Axes":
    """Return the given axes, or pyplot's current ones, in a new figure if in use.

    Two pictures in the same axes would share limits that suit neither.
    """
    if axis is not None:
        return axis
    pyplot = optional("matplotlib.pyplot", "plot")
    return pyplot.figure().gca() if pyplot.gca().has_data() else pyplot.gca()


def colours_of(
    axes: "Axes", values: np.ndarray, cmap: str, colorbar: bool, name: str
) -> str | np.ndarray:
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
