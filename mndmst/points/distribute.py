"""Distribution of points to ranks by space: a k-d split at the medians of a sample.

Every rank reads some of the points. All ranks get the same sample, so they divide space
in the same way. Equal points go to the same rank.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..comm.communicator import Comm
from .coordinates import float_type
from .point_files import checked_points, read_point_table


class OwnedPoints(NamedTuple):
    """The points that a rank owns: those in its part of space."""

    points: np.ndarray  # coordinates
    point: np.ndarray  # uint32, ascending


def distribute(
    comm: Comm, points: np.ndarray, first: int, sample_size: int
) -> OwnedPoints:
    """Return the points of this rank's part of space. Collective.

    This rank has read `points`, of which `first` is the first; all ranks have one type.
    `sample_size` points of each rank are the sample.
    """
    dimensions = points.shape[1]
    part_of_sample = points[:: max(1, len(points) // sample_size)].ravel()
    owner = np.zeros(len(points), np.int64)
    sample = comm.allgatherv(part_of_sample).reshape(-1, dimensions)
    _divide(sample, points, np.arange(len(points)), owner, range(comm.size))
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=comm.size)
    _, (point,) = comm.alltoallv(counts, (order + first).astype(np.uint32))
    _, (coordinates,) = comm.alltoallv(counts * dimensions, points[order].ravel())
    return OwnedPoints(coordinates.reshape(-1, dimensions), point)


def _divide(
    sample: np.ndarray,
    points: np.ndarray,
    chosen: np.ndarray,
    owner: np.ndarray,
    ranks: range,
) -> None:
    """Set the owners of the chosen points, whose part of space `ranks` share."""
    if len(ranks) == 1 or len(sample) == 0:
        owner[chosen] = ranks[0]
        return
    half = len(ranks) // 2
    longest = int(np.argmax(np.ptp(sample, axis=0)))
    order = np.sort(sample[:, longest])
    value = order[len(order) * half // len(ranks)]
    if value == order[0]:  # no point of the sample is below it
        value = order[min(np.searchsorted(order, value, "right"), len(order) - 1)]
    sample_below, below = sample[:, longest] < value, points[chosen, longest] < value
    _divide(sample[sample_below], points, chosen[below], owner, ranks[:half])
    _divide(sample[~sample_below], points, chosen[~below], owner, ranks[half:])


def _bounds(comm: Comm, count: int) -> list[int]:
    """Return where the consecutive points of each rank begin, and where they end."""
    return [count * rank // comm.size for rank in range(comm.size + 1)]


def deal(comm: Comm, points: np.ndarray | None) -> np.ndarray:
    """Return this rank's consecutive points of those that rank 0 has. Collective."""
    header = None if points is None else (points.shape, float_type(points.dtype))
    shape, dtype = comm.bcast(header)
    bounds = _bounds(comm, shape[0])
    if points is None:
        return comm.recv(0)[0].reshape(-1, shape[1])
    for rank in range(1, comm.size):
        sent = points[bounds[rank] : bounds[rank + 1]]
        comm.send([sent.astype(dtype, copy=False).ravel()], rank)
    return points[: bounds[1]].astype(dtype, copy=False)


def read_part(
    comm: Comm, points: np.ndarray | None, path: Path
) -> tuple[np.ndarray, int]:
    """Return this rank's consecutive points, and the first of them. Collective.

    Each rank reads its part of an .npy file. Any other file rank 0 has read as `points`
    (`point_files.named_points`, mapped), and sends the parts. Raises InputError on
    every rank if a coordinate is not finite or too large.
    """
    header = None if points is None else (points.shape, float_type(points.dtype))
    shape, dtype = comm.bcast(header)
    bounds = _bounds(comm, shape[0])
    first, last = bounds[comm.rank], bounds[comm.rank + 1]
    if path.suffix == ".npy":
        with comm.raise_on_all():
            part = np.array(read_point_table(path, mapped=True).points[first:last])
    else:
        part = deal(comm, points)
    with comm.raise_on_all():
        if len(part):
            part = checked_points(part, f"{path}: ", first, typed=True)
    # Ranks exchange points, so a rank without points needs the type of all others.
    return np.ascontiguousarray(part, dtype), first
