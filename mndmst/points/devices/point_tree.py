"""Points in few dimensions on a device: the inputs and results of their forest."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

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
    # uint64: the numbers of the two points, the smaller in the upper half
    key: np.ndarray
    certain: int  # number of edges found in the first round
    seconds: Mapping[str, float] = MappingProxyType({})  # of each stage on a device
