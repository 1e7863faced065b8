"""The lists of neighbours that a version hands to the next one.

In many dimensions a search of a point multiplies it with all others, and its neighbours
take a fraction of the memory of its coordinates. So a version lists the neighbours of
all its points: in a batch, new points and few others search.
"""

import numpy as np

from ..devices.point_products import NO_POSITION
from ..kernels.neighbour_lists import NeighbourLists
from ..kernels.norms import LARGEST
from .rearrangement import Rearrangement

# Pairs of a new point and a position, per new point, whose distances are listed; and
# positions of the sample that estimates how far these are.
NEAR, NEAR_SAMPLE = 128, 1 << 10


def rearranged_lists(
    lists: NeighbourLists, rearrangement: Rearrangement
) -> NeighbourLists:
    """Return the lists by new position; new points have none."""
    position = lists.position.copy()
    listed = position != NO_POSITION
    position[listed] = rearrangement.moved(position[listed])
    return NeighbourLists(
        rearrangement.column(lists.distance, LARGEST),
        rearrangement.column(position, np.asarray(NO_POSITION)),
        rearrangement.column(lists.complete, LARGEST),
    )


def write_lists(
    lists: NeighbourLists,
    points: np.ndarray,
    distance: np.ndarray,
    position: np.ndarray,
) -> None:
    """Write the lists of the positions `points`.

    `distance` and `position` have the nearest points, one more than a list, with the
    points themselves.
    """
    left_out = position == points[:, None]
    # Of many equal points, the list may lack the point itself
    left_out[~left_out.any(axis=1), -1] = True
    shape = len(points), lists.distance.shape[1]
    distance = np.minimum(distance, LARGEST)
    lists.complete[points] = distance[:, -1]
    lists.distance[points] = distance[~left_out].reshape(shape)
    lists.position[points] = position[~left_out].reshape(shape)


def listed_between(
    lists: NeighbourLists, vertex: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return listed pairs of positions with different vertices, and their distances."""
    # A missing neighbour has the index after the last position
    of = np.append(vertex, 0)[np.minimum(lists.position, len(vertex))]
    differs = (of != vertex[:, None]) & (lists.position != NO_POSITION)
    differs &= lists.complete[:, None] >= 0
    one, entry = np.nonzero(differs)
    other, distance = lists.position[one, entry], lists.distance[one, entry]
    return one.astype(np.uint32), other, distance


def near_distance(new: np.ndarray, sample: np.ndarray, count: int) -> float:
    """Return a Euclidean distance within which NEAR of `count` points are, on average.

    The distances are between `new` points and a `sample` of the others.
    """
    squares = -2 * (new @ sample.T)
    squares += np.einsum("ij,ij->i", sample, sample)
    squares += np.einsum("ij,ij->i", new, new)[:, None]
    last = min(squares.size * NEAR // count, squares.size - 1)
    return float(np.sqrt(max(np.partition(squares, last, axis=None)[last], 0.0)))
