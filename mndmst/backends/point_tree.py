"""Points in few dimensions on a device: the inputs and results of their forest."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

# Limits of the tree on a device: dimensions of points, and `min_samples`.
MOST_DIMENSIONS, MOST_SAMPLES = 16, 64


class TreePoints(NamedTuple):
    """Points for the forest on a device.

    Attributes
    ----------
    values : ndarray of float32 or float64, shape (points, dimensions)
        On the host or on a device.
    norm : int
        See `points.kernels.norms`.
    min_samples : int
        0 for plain distances; see `points.point_forest.points_forest`.
    """

    values: np.ndarray
    norm: int
    min_samples: int


class TreeEdges(NamedTuple):
    """The edges of the forest of points; a device returns them in order of their keys.

    Attributes
    ----------
    weight : ndarray of float64
    key : ndarray of uint64
        The numbers of the two points, the smaller in the upper half.
    certain : int
        Number of edges found in the first round.
    seconds : dict of str to float
        Of each stage on a device.
    """

    weight: np.ndarray
    key: np.ndarray
    certain: int
    seconds: Mapping[str, float] = MappingProxyType({})
