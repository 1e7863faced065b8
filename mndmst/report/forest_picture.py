"""A picture of a forest with edges in the colours of their weights, or its GeoJSON."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..api.forest import Forest
from ..host.errors import InputError, optional
from ..host.formatting import counted, printable, to_json
from ..io.atomic_output import AtomicOutput, write_picture_file
from ..io.output_kinds import FOREST_PICTURE, json_mark

MOST_LINES = 1_000_000  # edges or vertices; more are added up pixel by pixel
MOST_VECTORS = 20_000  # edges or vertices; more become pixels of .svg and .pdf, too
MOST_LABELS = 200  # names that a picture has room for
INCHES = 9
PIXELS_PER_INCH = 150
GRID = 1_350  # pixels of an accumulated image, along its longer side
MOST_SAMPLES = 100_000_000  # pixels of edges that an image adds up
SAMPLES_AT_ONCE = 1 << 22
COLOURS = "viridis"
EDGES_AT_ONCE = 1 << 16  # edges that are converted to GeoJSON and written at a time
LARGEST_ANGLES = np.array([180.0, 90.0])


@dataclass(frozen=True)
class PlacedForest:
    """A forest whose vertices have positions."""

    forest: Forest
    positions: np.ndarray  # float64, shape (vertices, 2)
    # The names of the two coordinates; None if they have no meaning.
    axis_names: tuple[str, str] | None = None
    # Whether a unit across is a unit up, in every picture that stays readable.
    equal_scale: bool = True

    @property
    def is_large(self) -> bool:
        """Whether the picture is an image that is accumulated."""
        most = max(len(self.forest), self.forest.num_vertices)
        return most > MOST_LINES

    @property
    def is_square(self) -> bool:
        """Whether the picture has one scale for both axes."""
        extent = self.positions.max(axis=0) - self.positions.min(axis=0)
        return self.equal_scale and bool(extent.min() > 0.2 * extent.max())


def write_forest_picture(
    placed: PlacedForest,
    path: Path,
    files: AtomicOutput,
    names: Sequence[str] | None = None,
) -> None:
    """Write a picture of a forest as .png, .svg or .pdf.

    `names` has a name for each vertex, to write beside it. Raises OutputError if the
    picture cannot be written; MissingExtraError if Matplotlib is not installed.
    """
    figure = optional("matplotlib.figure", "plot").Figure(figsize=(INCHES, INCHES))
    axes = figure.add_subplot()
    forest = placed.forest
    colours = _colours(forest.weight)
    draw = _draw_image if placed.is_large else _draw_lines
    draw(axes, placed, colours)
    if len(forest):
        figure.colorbar(colours, ax=axes, label="weight", shrink=0.7)
    for name, (x, y) in zip(names or (), placed.positions.tolist(), strict=False):
        # A dollar sign would begin a formula.
        axes.annotate(
            printable(name).replace("$", r"\$"),
            (x, y),
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=7,
        )
    if placed.axis_names is None:
        axes.set_axis_off()
    else:
        across, up = map(printable, placed.axis_names)
        axes.set_xlabel(across.replace("$", r"\$"))
        axes.set_ylabel(up.replace("$", r"\$"))
    axes.set_title(
        f"{counted(forest.num_vertices, 'vertex')}, {counted(len(forest), 'edge')}, "
        f"{counted(forest.num_trees, 'tree')}"
    )
    how = {"dpi": PIXELS_PER_INCH, "bbox_inches": "tight"}
    write_picture_file(figure, files, path, FOREST_PICTURE, **how)


def _colours(weight: np.ndarray) -> Any:
    """Return the map from weights to colours."""
    finite = weight[np.isfinite(weight)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0, 1)
    normalize = optional("matplotlib.colors", "plot").Normalize(low, high)
    return optional("matplotlib.cm", "plot").ScalarMappable(normalize, COLOURS)


def _draw_lines(axes: Any, placed: PlacedForest, colours: Any) -> None:
    """Draw each edge as a line and each vertex as a dot."""
    forest, positions = placed.forest, placed.positions
    count = max(len(forest), len(positions))
    raster = count > MOST_VECTORS
    width = float(np.clip(40 / np.sqrt(count + 1), 0.2, 1.5))
    lines = optional("matplotlib.collections", "plot").LineCollection(
        np.stack([positions[forest.src], positions[forest.dst]], axis=1),
        colors=colours.to_rgba(forest.weight.astype(np.float64)),
        linewidths=width,
        rasterized=raster,
    )
    axes.add_collection(lines, autolim=False)
    axes.scatter(
        *positions.T, (2 * width) ** 2, "0.3", linewidths=0, zorder=2, rasterized=raster
    )
    if placed.is_square:
        axes.set_aspect("equal")


def _draw_image(axes: Any, placed: PlacedForest, colours: Any) -> None:
    """Draw an image whose pixels show the mean weight of the edges through them.

    The more edges cross a pixel, the more opaque it is. Isolated vertices are grey.
    """
    low, high = placed.positions.min(axis=0), placed.positions.max(axis=0)
    extent = np.maximum(high - low, 1e-12 * max(float(np.abs(high).max()), 1e-300))
    square = placed.is_square
    scale = (GRID - 1) / (extent.max() if square else extent)
    shape = np.floor(extent * scale).astype(np.int64) + 1
    pixels = (placed.positions - low) * scale
    total, crossings = accumulated(placed.forest, pixels, shape)
    image = np.zeros((*shape[::-1], 4))
    crossed = crossings > 0
    mean = np.zeros(len(total))
    np.divide(total, crossings, out=mean, where=crossed)
    flat = image.reshape(-1, 4)
    flat[crossed] = colours.to_rgba(mean[crossed])
    most = np.log1p(crossings.max(initial=0)) or 1.0
    flat[crossed, 3] = 0.3 + 0.7 * np.log1p(crossings[crossed]) / most
    alone = np.ones(len(pixels), np.bool_)
    alone[placed.forest.src] = alone[placed.forest.dst] = False
    isolated = _pixel_numbers(pixels[alone], shape)
    flat[isolated[~crossed[isolated]]] = (0.6, 0.6, 0.6, 1)
    top = low + extent
    axes.imshow(
        image,
        origin="lower",
        extent=(low[0], top[0], low[1], top[1]),
        aspect="equal" if square else "auto",
        interpolation="antialiased",
    )


def accumulated(
    forest: Forest, pixels: np.ndarray, shape: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of weights and the number of edge samples of each pixel.

    An edge has a sample for every pixel along it, or fewer at random if all edges
    together would have more than `MOST_SAMPLES`. `shape` has the pixels across and up;
    `pixels`, shape (vertices, 2), has positions from 0 to `shape` - 1. Both results
    have up * across entries.
    """
    total, crossings = (np.zeros(int(shape.prod())) for _ in range(2))
    samples = np.empty(len(forest), np.int64)
    for low in range(0, len(forest), SAMPLES_AT_ONCE):
        part = slice(low, low + SAMPLES_AT_ONCE)
        along = pixels[forest.dst[part]] - pixels[forest.src[part]]
        samples[part] = np.abs(along).max(axis=1).astype(np.int64) + 1
    if (every := samples.sum()) > MOST_SAMPLES:
        samples = np.maximum(samples * MOST_SAMPLES // every, 1)
    random = np.random.default_rng(1)
    bounds = np.cumsum(samples)
    begin = 0
    while begin < len(forest):
        before = bounds[begin] - samples[begin]
        end = max(
            int(np.searchsorted(bounds, before + SAMPLES_AT_ONCE, "right")), begin + 1
        )
        count = samples[begin:end]
        edge = np.repeat(np.arange(begin, end), count)
        step = np.arange(len(edge)) - np.repeat(
            bounds[begin:end] - count - before, count
        )
        fraction = ((step + random.random(len(edge))) / samples[edge])[:, None]
        from_, to = pixels[forest.src[edge]], pixels[forest.dst[edge]]
        number = _pixel_numbers(from_ + fraction * (to - from_), shape)
        weight = forest.weight[edge].astype(np.float64)
        total += np.bincount(number, np.nan_to_num(weight), len(total))
        crossings += np.bincount(number, minlength=len(total))
        begin = end
    return total, crossings


def _pixel_numbers(positions: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Return the numbers of the pixels nearest to some positions, row by row."""
    column, row = np.rint(positions).astype(np.int64).T
    return row * shape[0] + column


def check_geographic(positions: np.ndarray, source: object) -> None:
    """Refuse points that are not longitudes and latitudes in degrees.

    Raises InputError, which names the first of them.
    """
    if positions.shape[1] != 2:
        raise InputError(
            f"{source}: has {positions.shape[1]} coordinates a point, and GeoJSON "
            "needs longitude and latitude. Choose two with --columns lon,lat."
        )
    outside = np.flatnonzero((np.abs(positions) > LARGEST_ANGLES).any(axis=1))
    if len(outside):
        x, y = positions[outside[0]].tolist()
        raise InputError(
            f"{source}: point {outside[0]} (from 0) is ({x}, {y}), and GeoJSON needs "
            "longitudes within 180 and latitudes within 90 degrees, in this order. "
            "Convert them, or choose --columns lon,lat."
        )


def write_forest_geojson(
    forest: Forest,
    positions: np.ndarray,
    path: Path,
    files: AtomicOutput,
    names_of: Callable[[np.ndarray], Sequence[object]],
) -> None:
    """Write a forest as GeoJSON (RFC 7946), a line for each edge.

    A line has the properties `src`, `dst` and `weight`. Positions are longitudes and
    latitudes; see `check_geographic`. `names_of` returns the names of vertices, for
    `src` and `dst`. Raises OutputError if the file cannot be written.
    """
    head = to_json(json_mark(FOREST_PICTURE) | {"type": "FeatureCollection"})
    with (
        files.file(path, FOREST_PICTURE) as temporary,
        temporary.open("w", encoding="utf-8") as out,
    ):
        out.write(f'{head[:-1]}, "features": [')
        for low in range(0, len(forest), EDGES_AT_ONCE):
            part = slice(low, low + EDGES_AT_ONCE)
            features = _features(forest, positions, part, names_of)
            out.write(",\n" * (low > 0) + to_json(features)[1:-1])
        out.write("]}\n")


def _features(
    forest: Forest,
    positions: np.ndarray,
    part: slice,
    names_of: Callable[[np.ndarray], Sequence[object]],
) -> list[dict[str, Any]]:
    src, dst = forest.src[part], forest.dst[part]
    ends = [names_of(vertices) for vertices in (src, dst)]
    return [
        {
            "type": "Feature",
            "geometry": _geometry(begin, end),
            "properties": {"src": u, "dst": v, "weight": weight},
        }
        for u, v, weight, begin, end in zip(
            *ends,
            forest.weight[part].tolist(),
            positions[src].tolist(),
            positions[dst].tolist(),
            strict=True,
        )
    ]


def _geometry(begin: list[float], end: list[float]) -> dict[str, Any]:
    """Return the shorter line between two points, in two parts at 180 degrees."""
    (x, y), (to_x, to_y) = begin, end
    if abs(to_x - x) <= 180:
        return {"type": "LineString", "coordinates": [begin, end]}
    side = 180.0 if x > 0 else -180.0
    whole = 360 - abs(to_x - x)
    fraction = abs(side - x) / whole if whole else 0.0
    cut = y + fraction * (to_y - y)
    parts = [[begin, [side, cut]], [[-side, cut], end]]
    return {"type": "MultiLineString", "coordinates": parts}
