"""Every rank sends every other its slices of some columns.

Data moves between those pairs of ranks only that have something to send.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from . import bulk


class Group(Protocol):
    """What an exchange needs of a group of ranks; `Comm` is one."""

    size: int

    @property
    def mpi(self) -> Any:
        """The communicator of MPI."""

    @property
    def count(self) -> Callable[[int, int], None]:
        """Counts bytes and messages that are sent."""

    @property
    def all_ranks(self) -> Callable[..., None]:
        """Does a collective of MPI."""

    @property
    def wait(self) -> Callable[[list[Any]], None]:
        """Waits for requests of MPI."""


class Coded(NamedTuple):
    """A column of an exchange as bytes: `sizes` of them for each rank."""

    data: np.ndarray
    sizes: np.ndarray


def exchange(
    group: Group, counts: np.ndarray, columns: Sequence[np.ndarray | Coded]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Send each rank its slices; see `Comm.alltoallv`."""
    sizes = [c.sizes if isinstance(c, Coded) else counts for c in columns]
    arrays = [
        c.data if isinstance(c, Coded) else np.ascontiguousarray(c) for c in columns
    ]
    leaving = np.stack([counts, *sizes], axis=1).astype(np.int64)
    arriving = np.empty_like(leaving)
    group.all_ranks("Alltoall", leaving, arriving)
    group.count(leaving.nbytes - leaving[0].nbytes, group.size - 1)
    results, requests = [], []
    for data, out, into in zip(arrays, leaving.T[1:], arriving.T[1:], strict=True):
        result, moving = bulk.move(group.mpi, data, out, into, group.count)
        results.append(result)
        requests += moving
    group.wait(requests)
    return arriving[:, 0].copy(), results
