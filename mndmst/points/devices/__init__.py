"""Searches of points on devices, all behind one interface (`PointSearches`).

`backends` finds the accelerators and names their kinds. Each package in `PACKAGES` has
the searches for one kind, and is imported on first use.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol, cast

import numpy as np

from ...backends import Accelerator
from ...backends.base import ArrayOnDevice
from .point_products import PointArrays, PointProducts, PointsOnDevice, ResidentPoints

# The packages of searches, by the `NAME` of the accelerator.
PACKAGES = {"cuda": "mndmst.points.cuda"}

# Limits of the tree on a device: dimensions of points, and `min_samples`.
MOST_DIMENSIONS, MOST_SAMPLES = 16, 64


class TreePoints(NamedTuple):
    """Points for the forest on a device."""

    values: np.ndarray  # on the host or on a device
    norm: int  # a code of `points.kernels.norms`
    min_samples: int  # 0 for plain distances; see `points.point_forest`


class TreeEdges(NamedTuple):
    """The edges of the forest of points; from a device, in order of their keys."""

    weight: np.ndarray  # float64
    key: np.ndarray  # uint64: the two points, the smaller in the upper half
    certain: int  # number of edges found in the first round
    seconds: Mapping[str, float] = MappingProxyType({})  # of each stage on a device


class PointSearches(Protocol):
    """The contents of a package in `PACKAGES`; its import loads no driver."""

    def compile_kernels(self, into: Path | None, jobs: int | None) -> tuple[Path, int]:
        """Compile the kernels of points; see `Accelerator.compile_kernels`."""

    def make_point_products(
        self, points: PointArrays, devices: Sequence[int]
    ) -> PointProducts:
        """Return points for searches by matrix products on some visible devices.

        Each device has all points. Raises DeviceMemoryError if a device has too little
        memory, ConfigError if the points do not suit it.
        """

    def make_resident_points(self, points: PointArrays, listed: int) -> ResidentPoints:
        """Return points on a device, of which searches list up to `listed` neighbours.

        Raises the errors of `make_point_products`.
        """

    def point_forest(
        self, points: TreePoints, report: Callable[[int], object]
    ) -> TreeEdges:
        """Return the forest of points in few dimensions, by a tree on one device.

        There are at least two points, and at most `MOST_DIMENSIONS` and `MOST_SAMPLES`.
        `report` takes the number of remaining components. Raises DeviceMemoryError if
        the device has too little memory.
        """

    def points_on_device(self, array: ArrayOnDevice) -> PointsOnDevice:
        """Return the points of an array on a device, once pending writes are done."""


def searches_on(kind: Accelerator) -> PointSearches:
    """Return the searches of points on a kind of accelerator."""
    return cast(PointSearches, import_module(PACKAGES[kind.NAME]))
