"""Searches of points on devices, all behind one interface (`PointSearches`).

`backends` finds the accelerators and names their kinds; a package in `PACKAGES` has the
searches for one kind. It is imported when it is used.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from ...backends import Accelerator
from .point_products import PointArrays, PointsOnDevice, QueriedProducts
from .point_tree import TreeEdges, TreePoints

# The packages of searches by the names of accelerators.
PACKAGES = {"cuda": "mndmst.points.cuda"}


class PointSearches(Protocol):
    """The contents of a package in `PACKAGES`; its import loads no driver."""

    def compile_kernels(self, into: Path | None, jobs: int | None) -> tuple[Path, int]:
        """Compile the kernels of points; see `Accelerator.compile_kernels`."""

    def make_point_products(
        self, points: PointArrays, devices: Sequence[int]
    ) -> QueriedProducts:
        """Return points on some visible devices for searches by matrix products.

        Each of the devices has all points. Raises ConfigError if a device has too
        little memory, or the points do not suit it.
        """

    def point_forest(
        self, points: TreePoints, report: Callable[[int], object]
    ) -> TreeEdges:
        """Return the forest of points in few dimensions, by a tree on one device.

        There are at least two points, within `point_tree.MOST_DIMENSIONS` and
        `MOST_SAMPLES`. `report` takes the number of components left. Raises
        DeviceMemoryError if the device has too little memory.
        """

    def points_on_device(self, array: Any) -> PointsOnDevice:
        """Return the points of an array that lies on a device, once it is filled."""


def searches_on(kind: Accelerator) -> PointSearches:
    """Return the searches of points on a kind of accelerator."""
    return cast(PointSearches, import_module(PACKAGES[kind.NAME]))
