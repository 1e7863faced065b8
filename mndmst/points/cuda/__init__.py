"""Searches of points on CUDA devices: by matrix products, and by a tree.

Importing this package is cheap: only its modules import CuPy.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.errors import optional

if TYPE_CHECKING:
    import cupy

    from ..devices import TreeEdges, TreePoints
    from ..devices.point_products import (
        PointArrays,
        PointProducts,
        PointsOnDevice,
        ResidentPoints,
    )


def compile_kernels(into: Path | None, jobs: int | None) -> tuple[Path, int]:
    """Compile the kernels of points; see `PointSearches.compile_kernels`."""
    optional("cupy", "cuda")
    from .modules import SOURCES

    return SOURCES.compile_all(into, jobs)


def make_point_products(
    points: "PointArrays", devices: Sequence[int]
) -> "PointProducts":
    """Return points on devices; see `PointSearches.make_point_products`."""
    from .point_products import CudaPointProducts

    return CudaPointProducts(points, devices)


def make_resident_points(points: "PointArrays", listed: int) -> "ResidentPoints":
    """Return points on a device; see `PointSearches.make_resident_points`."""
    from .resident_points import CudaResidentPoints

    return CudaResidentPoints(points, listed)


def point_forest(points: "TreePoints", report: Callable[[int], object]) -> "TreeEdges":
    """Return the forest of points by a tree; see `PointSearches.point_forest`."""
    from .point_tree import CudaPointTree

    return CudaPointTree(points).forest(report)


def points_on_device(array: "cupy.ndarray") -> "PointsOnDevice":
    """Return the points of an array; see `PointSearches.points_on_device`."""
    from .point_rows import CudaPoints

    array.device.synchronize()
    return CudaPoints(array)
