"""The lists of neighbours that a version hands to the next one.

In many dimensions a search of a point multiplies it with all others, and its neighbours
take a fraction of the memory of its coordinates. So a version lists the neighbours of
all its points: in a batch, new points and few others search.
"""

import numpy as np

from ...kernels.threads import Threads, each_range
from ..devices.point_products import NO_POSITION
from ..kernels.neighbour_lists import NeighbourLists, copy_present
from ..kernels.norms import LARGEST
from .rearrangement import Rearrangement

NEAR_SAMPLE = 1 << 10  # positions of the sample for `near_distance`


def listed_positions(neighbours: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the positions of neighbours by position.

    `neighbours` has those of each row, as rows; `rows` has the row at each position.
    """
    position = np.full(len(rows) + 1, NO_POSITION)
    position[rows] = np.arange(len(rows), dtype=np.uint32)
    # A missing neighbour has the index after the last row
    return position[np.minimum(neighbours[rows], len(rows))]


def present_lists(
    before: NeighbourLists,
    is_gone: np.ndarray,
    radius: np.ndarray,
    rearrangement: Rearrangement,
    is_affected: np.ndarray,
    team: Threads,
) -> NeighbourLists:
    """Return the lists of the next version, without removed and new points.

    Marks old positions that lose a neighbour within their radius.
    """
    shape = rearrangement.size, before.position.shape[1]
    after = NeighbourLists(
        np.empty(shape), np.empty(shape, np.uint32), np.empty(shape[0])
    )
    new = rearrangement.of_new
    after.distance[new], after.position[new] = LARGEST, NO_POSITION
    after.complete[new] = LARGEST
    team.run(
        copy_present,
        before,
        is_gone,
        radius,
        rearrangement.first,
        rearrangement.later,
        after,
        is_affected,
        *each_range(team.bounds(len(is_gone))),
    )
    return after


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


def near_distance(new: np.ndarray, sample: np.ndarray, count: int, near: int) -> float:
    """Return a Euclidean distance within which on average `near` of `count` points are.

    The distances are between `new` points and a `sample` of the others.
    """
    squares = -2 * (new @ sample.T)
    squares += np.einsum("ij,ij->i", sample, sample)
    squares += np.einsum("ij,ij->i", new, new)[:, None]
    last = min(squares.size * near // count, squares.size - 1)
    return float(np.sqrt(max(np.partition(squares, last, axis=None)[last], 0.0)))
