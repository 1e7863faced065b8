"""Draw a forest to a file, for `mndmst.draw` and the command of that name."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..api.forest import Forest
from ..api.inputs import as_flag, as_path, as_points
from ..host.errors import ConfigError, ConfigTypeError, InputError, optional, shown
from ..host.formatting import counted
from ..io.atomic_output import AtomicOutput, check_outputs
from ..io.output_kinds import FOREST_PICTURE
from .forest_layout import LAYOUTS
from .forest_layout import layout as layout_of
from .forest_picture import (
    MOST_LABELS,
    PlacedForest,
    check_geographic,
    write_forest_geojson,
    write_forest_picture,
)


def draw(
    forest: Forest | str | Path,
    output: str | Path,
    *,
    points: object = None,
    layout: str = "radial",
    labels: bool = False,
    overwrite: bool = False,
) -> None:
    """Draw a forest to a file: edges in the colours of their weights.

    Parameters
    ----------
    forest : Forest, str or Path
        A forest, or a forest file of `solve`.
    output : str or Path
        A picture, .png, .svg or .pdf; or .geojson for longitudes and latitudes.
    points : array_like of numbers, shape (vertices, dimensions), optional
        Positions of the vertices, in the order of `Forest.nodes`; of more than two
        dimensions, the first two principal components.
    layout : {"radial", "tree", "spring"}
        Positions without points. "spring" is for at most 2,000 vertices.
    labels : bool
        Write the names of the vertices, at most 200.
    overwrite : bool
        Replace any file of this name. Without it only an earlier .geojson
        file is replaced.

    Raises
    ------
    InputError
        If the forest has no vertices, or the points do not fit its vertices.
    MissingExtraError
        If a picture needs Matplotlib (the extra `plot`).
    OutputError
        If the file cannot be written.
    """
    path = as_path(output, "output")
    is_map = path.suffix == ".geojson"
    if not isinstance(layout, str):
        raise ConfigTypeError(f"layout is {shown(layout)}; give {', '.join(LAYOUTS)}")
    labels = as_flag(labels, "labels")
    overwrite = as_flag(overwrite, "overwrite")
    if layout not in LAYOUTS:
        given = shown(layout)
        raise ConfigError(f"layout is {given}; give one of {', '.join(LAYOUTS)}")
    if is_map and points is None:
        raise ConfigError(f"{path}: GeoJSON needs points of longitude and latitude")
    source = None if isinstance(forest, Forest) else as_path(forest, "forest")
    check_outputs([source], [(path, FOREST_PICTURE)], overwrite=overwrite)
    if not isinstance(forest, Forest):
        forest = Forest.read(as_path(forest, "forest"))
    nodes, numbers = forest.nodes, forest.numbers
    positions = None
    if points is not None:
        positions = as_points(points, "points")
        if len(positions) != numbers.num_vertices:
            raise InputError(
                f"points has {counted(len(positions), 'row')}, and the forest has "
                f"{counted(numbers.num_vertices, 'vertex')}; give a row for each vertex"
            )
        if is_map:
            check_geographic(positions, "points")
    texts = None
    if labels:
        check_labels(numbers, "the forest")
        texts = [str(node) for node in nodes.tolist()]
    placed = placed_forest(numbers, positions, layout, source or "the forest")
    write_drawing(placed, path, texts, lambda v: nodes[v].tolist(), overwrite)


def check_labels(forest: Forest, source: object) -> None:
    """Raise ConfigError for the names of more vertices than a picture has room for."""
    if forest.num_vertices > MOST_LABELS:
        raise ConfigError(
            f"labels: a picture has at most {MOST_LABELS} names, and {source} has "
            f"{counted(forest.num_vertices, 'vertex')}. Leave them out."
        )


def placed_forest(
    forest: Forest,
    points: np.ndarray | None,
    layout: str,
    source: object,
    axis_names: Sequence[str] | None = None,
) -> PlacedForest:
    """Return a forest with vertices at points, or in a layout.

    Raises InputError if it has no vertices.
    """
    if forest.num_vertices == 0:
        raise InputError(f"{source}: has no vertices to draw.")
    if points is None:
        positions = layout_of(forest, layout)
        return PlacedForest(forest, positions, equal_scale=layout != "tree")
    from ..points.clusters.plane_plots import in_the_plane  # layouts do without

    return PlacedForest(forest, *in_the_plane(points, axis_names))


def write_drawing(
    placed: PlacedForest,
    path: Path,
    labels: Sequence[str] | None,
    names_of: Callable[[np.ndarray], Sequence[object]],
    overwrite: bool,
) -> None:
    """Write a placed forest as a picture or as GeoJSON, by the suffix of the file.

    `labels` are written beside the vertices of a picture. `names_of` returns the names
    of vertices for GeoJSON.
    """
    is_map = path.suffix == ".geojson"
    if not is_map:
        optional("matplotlib", "plot")
    with AtomicOutput(overwrite=overwrite) as files:
        if is_map:
            write_forest_geojson(placed.forest, placed.positions, path, files, names_of)
        else:
            write_forest_picture(placed, path, files, labels)
