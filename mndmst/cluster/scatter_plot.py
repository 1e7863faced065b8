"""A picture of points in the colours of their clusters."""

from pathlib import Path

import numpy as np

from ..host.errors import ConfigError, optional
from ..host.formatting import counted
from ..io.atomic_output import AtomicOutput, write_picture_file
from ..io.output_kinds import PICTURE, check_ending

SHOWN = 200_000  # points; more make a picture slow, and no clearer
PIXELS_PER_INCH = 150


def draw(
    points: np.ndarray,
    labels: np.ndarray,
    path: Path,
    files: AtomicOutput,
    name: str = "the points",
) -> None:
    """Write a scatter plot of the first two coordinates as .png, .svg or .pdf.

    Points of one dimension lie on a line. Noise is grey. Of many points a random part
    is shown; errors call them `name`.

    Raises
    ------
    ConfigError
        If points and labels differ in number, or the suffix is another.
    OutputError
        If the picture cannot be written.
    MissingExtraError
        If Matplotlib is not installed.
    """
    check_ending(path, PICTURE)
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
    x, label = points[shown, 0], labels[shown]
    plane = points.shape[1] > 1
    y = points[shown, 1] if plane else np.zeros(len(shown))
    colours = matplotlib.colormaps["tab20"](label % 20)
    colours[label < 0] = (0.75, 0.75, 0.75, 1)
    size = min(8.0, 40_000 / len(shown))
    axes = figure.add_subplot()
    axes.scatter(x, y, size, colours, linewidths=0, rasterized=True)
    clusters = counted(len(np.unique(labels[labels >= 0])), "cluster")
    noise = np.count_nonzero(labels < 0)
    axes.set_title(f"{counted(len(points), 'point')}, {clusters}, {noise:,} noise")
    if plane:
        axes.set_aspect("equal")
    else:
        axes.set_yticks([])
    how = {"dpi": PIXELS_PER_INCH, "bbox_inches": "tight"}
    write_picture_file(figure, files, path, PICTURE, **how)
