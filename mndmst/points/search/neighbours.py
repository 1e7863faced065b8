"""The nearest neighbours of points, as searches list them."""

from typing import NamedTuple

import numpy as np

from ...kernels.threads import Threads, each_range
from ..kernels.nearest_points import weigh
from .remote_points import RemotePoints


class Neighbours(NamedTuple):
    """The nearest neighbours of a rank's points, by position."""

    # float64, shape (points, k): plain or mutual reachability distances; neighbours are
    # in the order of plain distances
    weight: np.ndarray
    # uint32, shape (points, k); see `remote_points` for those on other ranks
    positions: np.ndarray
    # float64: distances to the `min_samples`-th neighbour; zeros for plain distances
    cores: np.ndarray
    # float64: lower bound of distances to unlisted points; infinity if all are listed
    lower_bound: np.ndarray
    duplicates: np.ndarray  # int64: positions of points at distance zero from another


def weigh_neighbours(
    distance: np.ndarray,
    positions: np.ndarray,
    cores: np.ndarray,
    remote: RemotePoints,
    threads: Threads,
) -> None:
    """Turn listed distances into mutual reachability distances. Collective."""
    count = len(cores)
    ranges = each_range(threads.bounds(count))
    threads.run(weigh, distance, positions, cores, *ranges)
    if count < remote.total:
        position, j = np.nonzero(positions >= count)
        far_cores = remote.gather_values(cores, positions[position, j])
        larger = np.maximum(cores[position], far_cores)
        distance[position, j] = np.maximum(distance[position, j], larger)
