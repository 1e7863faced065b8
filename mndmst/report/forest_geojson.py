"""The edges of a forest as GeoJSON (RFC 7946), for maps."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..api.forest import Forest
from ..host.errors import InputError
from ..host.formatting import to_json
from ..io.atomic_output import AtomicOutput
from ..io.output_kinds import FOREST_PICTURE, json_mark

EDGES_AT_ONCE = 1 << 16
LARGEST = np.array([180.0, 90.0])


def check_geographic(positions: np.ndarray, source: object) -> None:
    """Refuse points that are not longitudes and latitudes in degrees.

    Raises InputError, which names the first of them.
    """
    if positions.shape[1] != 2:
        raise InputError(
            f"{source}: has {positions.shape[1]} coordinates a point, and GeoJSON "
            "needs longitude and latitude. Choose two with --columns lon,lat."
        )
    outside = np.flatnonzero((np.abs(positions) > LARGEST).any(axis=1))
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
    names_of: Callable[[np.ndarray], list[Any]],
) -> None:
    """Write a feature for each edge: a line with `src`, `dst` and `weight`.

    Positions are longitudes and latitudes; see `check_geographic`. `names_of` returns
    the names of vertices, for `src` and `dst`. Raises OutputError if the file cannot be
    written.
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
    names_of: Callable[[np.ndarray], list[Any]],
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
