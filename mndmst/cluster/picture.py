"""A picture of points in the colours of their clusters."""

from pathlib import Path

import numpy as np

from ..host.counted import counted
from ..host.errors import ConfigError
from ..host.extras import optional
from ..io.atomic_output import AtomicOutput
from ..io.endings import PICTURE, check_ending
from ..io.picture_file import write_picture_file

SHOWN = 200_000  # points; more make a picture slow, and no clearer
PIXELS_PER_INCH = 150


def check_drawable(points: np.ndarray, name: str) -> None:
    """Refuse points that cannot be drawn, before their clusters are known.

    Raises
    ------
    ConfigError
        If they have one dimension.
    MissingExtraError
        If Matplotlib is not installed.
    """
    optional("matplotlib", "plot")
    if points.shape[1] < 2:
        raise ConfigError(
            f"{name}: its points have {counted(points.shape[1], 'dimension')}, and a "
            "picture shows two. Leave out --plot."
        )


def draw(
    points: np.ndarray,
    labels: np.ndarray,
    path: Path,
    files: AtomicOutput,
    name: str = "the points",
) -> None:
    """Write a scatter plot of the first two coordinates as .png, .svg or .pdf.

    Noise is grey. Of many points a random part is shown; errors call them `name`.

    Raises
    ------
    ConfigError
        If there are not as many points as labels, they have one dimension, or the
        suffix is another.
    OutputError
        If the picture cannot be written.
    MissingExtraError
        If Matplotlib is not installed.
    """
    check_ending(path, PICTURE)
    check_drawable(points, name)
    if len(points) != len(labels):
        raise ConfigError(
            f"{name}: has {counted(len(points), 'point')}, and the forest has "
            f"{counted(len(labels), 'vertex')}. Give the points the graph was made of."
        )
    matplotlib = optional("matplotlib", "plot")
    figure = optional("matplotlib.figure", "plot").Figure(figsize=(7, 7))
    shown = np.arange(len(points))
    if len(shown) > SHOWN:
        shown = np.random.default_rng(1).choice(shown, SHOWN, replace=False)
    x, y, label = points[shown, 0], points[shown, 1], labels[shown]
    colours = matplotlib.colormaps["tab20"](label % 20)
    colours[label < 0] = (0.75, 0.75, 0.75, 1)
    size = min(8.0, 40_000 / len(shown))
    axes = figure.add_subplot()
    axes.scatter(x, y, size, colours, linewidths=0, rasterized=True)
    clusters = counted(len(np.unique(labels[labels >= 0])), "cluster")
    noise = np.count_nonzero(labels < 0)
    axes.set_title(f"{counted(len(points), 'point')}, {clusters}, {noise:,} noise")
    axes.set_aspect("equal")
    how = {"dpi": PIXELS_PER_INCH, "bbox_inches": "tight"}
    write_picture_file(figure, files, path, PICTURE, **how)
