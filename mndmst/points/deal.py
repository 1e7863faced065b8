"""Points dealt to ranks by space: a k-d cut along medians of a sample.

Every rank reads some of the points. All know a sample, and cut space in the same way.
Equal points go to the same rank.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..comm.communicator import Comm
from .read import checked_points, read_points

# Points of the sample that each rank gives.
SAMPLE = 1 << 12


class Dealt(NamedTuple):
    """The points of a rank.

    Attributes
    ----------
    points : ndarray of float64, shape (points, dimensions)
    rows : ndarray of uint32
        Their numbers, ascending.
    """

    points: np.ndarray
    rows: np.ndarray


def deal(comm: Comm, points: np.ndarray, first: int) -> Dealt:
    """Return the points of this rank's part of space. Collective.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
        What this rank has read.
    first : int
        The number of the first of them.
    """
    dimensions = points.shape[1]
    some = points[:: max(1, len(points) // SAMPLE)].ravel()
    owner = np.zeros(len(points), np.int64)
    sample = comm.allgatherv(some).reshape(-1, dimensions)
    _cut(sample, points, np.arange(len(points)), owner, range(comm.size))
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=comm.size)
    rows = (order + first).astype(np.uint32)
    columns = [np.ascontiguousarray(column[order]) for column in points.T]
    _, (rows, *columns) = comm.alltoallv(counts, rows, *columns)
    return Dealt(np.stack(columns, axis=1), rows)


def _cut(
    sample: np.ndarray,
    points: np.ndarray,
    chosen: np.ndarray,
    owner: np.ndarray,
    ranks: range,
) -> None:
    """Note which of some ranks owns each of the chosen points."""
    if len(ranks) == 1 or len(sample) == 0:
        owner[chosen] = ranks[0]
        return
    half = len(ranks) // 2
    longest = int(np.argmax(np.ptp(sample, axis=0)))
    order = np.sort(sample[:, longest])
    value = order[len(order) * half // len(ranks)]
    if value == order[0]:  # nothing is below it
        value = order[min(np.searchsorted(order, value, "right"), len(order) - 1)]
    below, here = sample[:, longest] < value, points[chosen, longest] < value
    _cut(sample[below], points, chosen[here], owner, ranks[:half])
    _cut(sample[~below], points, chosen[~here], owner, ranks[half:])


def read_part(
    comm: Comm, points: np.ndarray | None, path: Path
) -> tuple[np.ndarray, int]:
    """Return this rank's share of the points, by number, and where it begins.

    Collective. Of an .npy file every rank reads its share; any other rank 0 has read.

    Parameters
    ----------
    points : ndarray, shape (points, dimensions), or None
        On rank 0 what `read.named_points` returns, mapped.

    Raises
    ------
    InputError
        On every rank, if a coordinate cannot be computed with.
    """
    shape = comm.bcast(None if points is None else points.shape)
    bounds = [shape[0] * rank // comm.size for rank in range(comm.size + 1)]
    first, last = bounds[comm.rank], bounds[comm.rank + 1]
    if path.suffix == ".npy":
        with comm.raise_on_all():
            part = np.array(read_points(path, mapped=True)[first:last])
    elif points is not None:
        for rank in range(1, comm.size):
            comm.send([points[bounds[rank] : bounds[rank + 1]].ravel()], rank)
        part = points[:last]
    else:
        part = comm.recv(0)[0].reshape(-1, shape[1])
    with comm.raise_on_all():
        if len(part):
            part = checked_points(part, f"{path}: ", first)
    # Ranks exchange points, so ranks without points have the type of all others.
    return np.ascontiguousarray(part, np.float64), first
