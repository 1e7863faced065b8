"""The forest of points by a tree on a device; see `backends.point_tree`."""

import numpy as np

from ..backends import find_accelerator
from ..backends.base import DeviceMemoryError
from ..backends.point_tree import TreeEdges, TreePoints
from .coordinates import PointCoordinates
from .metrics import METRICS
from .search_reporter import SearchReporter
from .search_steps import heard


def device_forest(
    points: PointCoordinates, metric: str, min_samples: int, reporter: SearchReporter
) -> TreeEdges | None:
    """Return the forest by a tree on a device; None if the device cannot build one.

    Its weights are distances of the norm between scaled points.
    """
    kind = find_accelerator("auto")[0]
    if kind is None:
        return None
    values = points.all() if len(points.length) else points.values
    if not isinstance(values, np.ndarray):
        values = values.array
    given = TreePoints(values, METRICS[metric].norm, min_samples)
    found: list[TreeEdges] = []
    try:
        heard(lambda: found.append(kind.point_forest(given, reporter.components)))
    except DeviceMemoryError as error:
        reporter.detail(f"search by tree on the CPU: {error}")
        return None
    stages = (f"{stage} {spent:.3f} s" for stage, spent in found[0].seconds.items())
    reporter.detail(f"tree on the device: {', '.join(stages)}")
    return found[0]
