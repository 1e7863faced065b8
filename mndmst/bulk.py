"""Messages of any length, as requests that are under way.

They are cut into pieces: Open MPI 4 refuses counts of 2^31, and large messages need
as much memory in some transports.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

PIECE_BYTES = 64 << 20
# Seconds between two looks for a message, where ranks have to share cores.
SHORTEST_PAUSE, LONGEST_PAUSE = 20e-6, 200e-6

Count = Callable[[int, int], None]


@dataclass
class Shared:
    """What all communicators of a rank share: counts, and how to wait."""

    bytes_sent: int = 0
    messages_sent: int = 0
    seconds_waited: float = 0.0
    polite: bool = False


def send(mpi: Any, array: np.ndarray, dest: int, count: Count) -> list[Any]:
    """Begin to send a contiguous array; `count` is told bytes and messages."""
    requests = []
    for piece in _pieces(array):
        requests.append(mpi.Isend(piece, dest))
        count(piece.nbytes, 1)
    return requests


def receive(mpi: Any, array: np.ndarray, source: int) -> list[Any]:
    """Begin to receive what another rank sends, as long as `array`."""
    return [mpi.Irecv(piece, source) for piece in _pieces(array)]


def move(
    mpi: Any,
    column: np.ndarray,
    leaving: np.ndarray,
    arriving: np.ndarray,
    count: Count,
) -> tuple[np.ndarray, list[Any]]:
    """Begin to send every rank its slice of a column, and to receive as many.

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
            requests += receive(mpi, part, rank)
    for rank in np.flatnonzero(leaving).tolist():
        if rank != mpi.rank:
            part = column[starts[rank] : starts[rank + 1]]
            requests += send(mpi, part, rank, count)
    return result, requests


def wait(requests: list[Any], shared: Shared) -> None:
    """Wait for messages; politely, where others need this rank's core."""
    begin, pause = time.perf_counter(), SHORTEST_PAUSE
    for request in requests:
        while shared.polite and not request.Test():
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        request.Wait()
    shared.seconds_waited += time.perf_counter() - begin


def _pieces(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield consecutive pieces of an array."""
    length = max(1, PIECE_BYTES // array.itemsize)
    for low in range(0, len(array), length):
        yield array[low : low + length]
