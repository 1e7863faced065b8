"""Messages of any length, as requests that are under way.

They are cut into pieces: Open MPI 4 refuses counts of 2^31, and large messages need
as much memory in some transports.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

PIECE_BYTES = 64 << 20
# Seconds between two looks for a message, where ranks have to share cores. Where no
# data could move meanwhile, they may be a share of the seconds waited.
SHORTEST_PAUSE, LONGEST_PAUSE = 20e-6, 200e-6
IDLE_SHARE, LONGEST_IDLE_PAUSE = 0.01, 20e-3

# The type and length of an array
Kind = tuple[str, int]
Count = Callable[[int, int], None]


@dataclass
class Shared:
    """What all communicators of a rank share: counts, and how to wait.

    Attributes
    ----------
    depth : int
        Blocks of `waiting` that are open: 0 while the rank computes.
    steps : int
        Waits that have begun or ended, and messages that have arrived meanwhile. It
        stands still while a rank computes, and while it waits in vain.
    """

    bytes_sent: int = 0
    messages_sent: int = 0
    seconds_waited: float = 0.0
    polite: bool = False
    depth: int = 0
    steps: int = 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the seconds that the block takes as waited."""
        begin = time.perf_counter()
        self.depth += 1
        self.steps += 1
        try:
            yield
        finally:
            self.depth -= 1
            self.steps += 1
            if self.depth == 0:
                self.seconds_waited += time.perf_counter() - begin


def kinds(arrays: Sequence[np.ndarray]) -> list[Kind]:
    """Return what a rank must know to receive some arrays."""
    return [(array.dtype.str, len(array)) for array in arrays]


def send(mpi: Any, arrays: Sequence[np.ndarray], dest: int, count: Count) -> list[Any]:
    """Begin to send several arrays; `count` is told bytes and messages."""
    requests = []
    for array in arrays:
        requests += _send(mpi, np.ascontiguousarray(array), dest, count)
    return requests


def recv(
    mpi: Any, arriving: Sequence[Kind], source: int
) -> tuple[list[np.ndarray], list[Any]]:
    """Begin to receive arrays of some types and lengths; return them, and requests."""
    results = [np.empty(length, dtype) for dtype, length in arriving]
    return results, [r for array in results for r in _receive(mpi, array, source)]


def move(
    mpi: Any,
    column: np.ndarray,
    leaving: np.ndarray,
    arriving: np.ndarray,
    count: Count,
) -> tuple[np.ndarray, list[Any]]:
    """Begin an exchange: every rank gets its slice of the other ranks' columns.

    Parameters
    ----------
    leaving, arriving : ndarray of int64, shape (ranks,)
        The lengths of the slices, ordered by rank.

    Returns
    -------
    result : ndarray
        The slices that arrive, once the requests are complete.
    requests : list
    """
    column = np.ascontiguousarray(column)
    result = np.empty(arriving.sum(), column.dtype)
    starts = np.concatenate(([0], np.cumsum(leaving)))
    places = np.concatenate(([0], np.cumsum(arriving)))
    requests = []
    for rank in np.flatnonzero(arriving).tolist():
        part = result[places[rank] : places[rank + 1]]
        if rank == mpi.rank:
            part[:] = column[starts[rank] : starts[rank + 1]]
        else:
            requests += _receive(mpi, part, rank)
    for rank in np.flatnonzero(leaving).tolist():
        if rank != mpi.rank:
            part = column[starts[rank] : starts[rank + 1]]
            requests += _send(mpi, part, rank, count)
    return result, requests


def wait(requests: list[Any], shared: Shared, idle: bool = False) -> None:
    """Wait for messages; politely, where others need this rank's core.

    Parameters
    ----------
    idle : bool
        Whether no data moves while this rank waits.
    """
    begin, pause, longest = time.perf_counter(), SHORTEST_PAUSE, LONGEST_PAUSE
    with shared.waiting():
        for request in requests:
            while shared.polite and not request.Test():
                time.sleep(pause)
                if idle:
                    share = IDLE_SHARE * (time.perf_counter() - begin)
                    longest = max(LONGEST_PAUSE, min(share, LONGEST_IDLE_PAUSE))
                pause = min(2 * pause, longest)
            request.Wait()
            shared.steps += 1


def _send(mpi: Any, array: np.ndarray, dest: int, count: Count) -> list[Any]:
    """Begin to send a contiguous array."""
    requests = []
    for piece in _pieces(array):
        requests.append(mpi.Isend(piece, dest))
        count(piece.nbytes, 1)
    return requests


def _receive(mpi: Any, array: np.ndarray, source: int) -> list[Any]:
    """Begin to receive what another rank sends, as long as `array`."""
    return [mpi.Irecv(piece, source) for piece in _pieces(array)]


def piece_length(array: np.ndarray) -> int:
    """Return how many entries of an array a message may have."""
    return max(1, PIECE_BYTES // array.itemsize)


def _pieces(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield consecutive pieces of an array."""
    length = piece_length(array)
    for low in range(0, len(array), length):
        yield array[low : low + length]


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
        result, moving = move(group.mpi, data, out, into, group.count)
        results.append(result)
        requests += moving
    group.wait(requests)
    return arriving[:, 0].copy(), results
