"""The nearest neighbours of points, as searches list them."""

from typing import NamedTuple

import numpy as np


class Neighbours(NamedTuple):
    """The nearest neighbours of the points of a tree, by position.

    Attributes
    ----------
    weight : ndarray of float64, shape (points, k)
        Distances, or mutual reachability distances, in the order of distances.
    positions : ndarray of uint32, shape (points, k)
        See `remote_points` for positions on other ranks.
    cores : ndarray of float64, shape (points,)
        Distances to the `min_samples`-th neighbour; zeros for plain distances.
    reach : ndarray of float64, shape (points,)
        Lower bound of the distances to points that are not listed; infinity if all are.
    doubled : ndarray of int64
        The positions of points at distance zero from another.
    """

    weight: np.ndarray
    positions: np.ndarray
    cores: np.ndarray
    reach: np.ndarray
    doubled: np.ndarray
