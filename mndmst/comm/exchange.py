"""Every rank sends every other its slices of some columns.

Data moves between those pairs of ranks only that have something to send; if there are
many ranks, and little for each, by way of ranks between (`grid.py`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import bulk
from .grid import width_of

if TYPE_CHECKING:
    from .communicator import Comm

# So many ranks, in a grid of so many columns, exchange by way of ranks between them, if
# that is no more than so many bytes for each pair.
GRID_RANKS, GRID_WIDTH, GRID_BYTES = 64, 4, 256


class Coded(NamedTuple):
    """A column of an exchange as bytes: `sizes` of them for each rank."""

    data: np.ndarray
    sizes: np.ndarray


def exchange(
    comm: "Comm", counts: np.ndarray, columns: Sequence[np.ndarray | Coded]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """See `Comm.exchange`."""
    sizes = [c.sizes if isinstance(c, Coded) else counts for c in columns]
    arrays = [
        c.data if isinstance(c, Coded) else np.ascontiguousarray(c) for c in columns
    ]
    leaving = np.stack([counts, *sizes], axis=1).astype(np.int64)
    if not _many_short(comm, arrays):
        arriving, results = _direct(comm, leaving, arrays)
        return arriving[:, 0].copy(), results
    widths = np.array([array.itemsize for array in arrays], np.int64)
    received, data = comm.grid().exchange(
        lambda part, lengths, columns: _direct(part, lengths, columns)[1],
        leaving[:, 0],
        leaving[:, 1:] * widths,
        [array.view(np.uint8) for array in arrays],
    )
    return received, [d.view(a.dtype) for d, a in zip(data, arrays, strict=True)]


def _many_short(comm: "Comm", arrays: Sequence[np.ndarray]) -> bool:
    """Return whether an exchange is one of many short messages. Collective."""
    if comm.size < GRID_RANKS or width_of(comm.size) < GRID_WIDTH:
        return False
    nbytes = comm.sum(sum(array.nbytes for array in arrays))
    return bool(nbytes <= GRID_BYTES * comm.size**2)


def _direct(
    comm: "Comm", leaving: np.ndarray, arrays: Sequence[np.ndarray]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Send each rank its slices of arrays; return what has come, and its sizes.

    Parameters
    ----------
    leaving : ndarray of int64, shape (size, numbers)
        What each rank is told; the last ones are the lengths of its slices.
    """
    arriving = np.empty_like(leaving)
    comm.all_ranks("Alltoall", leaving, arriving)
    comm.count(leaving.nbytes - leaving[0].nbytes, comm.size - 1)
    results, requests = [], []
    told = leaving.shape[1] - len(arrays)
    for data, out, into in zip(
        arrays, leaving.T[told:], arriving.T[told:], strict=True
    ):
        result, moving = bulk.move(comm.mpi, data, out, into, comm.count)
        results.append(result)
        requests += moving
    comm.wait(requests)
    return arriving, results
