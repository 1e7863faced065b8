"""The nearest neighbours of points, as searches list them."""

from typing import NamedTuple

import numpy as np


class Neighbours(NamedTuple):
    """The nearest neighbours of the points of a tree, by position."""

    # float64, shape (points, k): (mutual reachability) distances, in order of distances
    weight: np.ndarray
    # uint32, shape (points, k); see `remote_points` for those on other ranks
    positions: np.ndarray
    # float64: distances to the `min_samples`-th neighbour; zeros for plain distances
    cores: np.ndarray
    # float64: lower bound of distances to unlisted points; infinity if all are listed
    reach: np.ndarray
    doubled: np.ndarray  # int64: the positions of points at distance zero from another
