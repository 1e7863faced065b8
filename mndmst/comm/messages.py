"""Point-to-point messages of any length, and polite waiting for them.

Messages are sent in pieces: Open MPI 4 refuses counts of 2^31, and some transports
buffer a whole large message.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .mpi_library import MpiComm, MpiRequest

PIECE_BYTES = 64 << 20
# Seconds between two polls of a polite rank. Pauses are proportional to the ranks per
# core, so that the polls of all ranks take the same fraction of a core. While no data
# can move, a pause may be a fraction of the time waited so far.
SHORTEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE_PER_RANK = 20e-6, 200e-6, 50e-6
IDLE_FRACTION, LONGEST_IDLE_PAUSE = 0.01, 20e-3
# MPI libraries gather at most this many bytes in log2(ranks) steps, more around a ring.
IN_STEPS_BYTES = 50_000
# Ranks from which an exchange sends messages to partners only (see `exchange`).
SPARSE_FROM = 16

# The type and length of an array
Kind = tuple[str, int]
Count = Callable[[int, int], None]


@dataclass
class Shared:
    """State shared by all communicators of a rank: counts, and the waiting mode."""

    bytes_sent: int = 0
    messages_sent: int = 0
    seconds_waited: float = 0.0
    polite: bool = False  # Whether to yield the core while waiting
    ranks_per_core: float = 1.0  # Of this machine; at least 1
    # Whether the launcher has started all processes on this machine.
    one_host: bool = False
    # Ranks of a group from which exchanges send messages to partners only.
    sparse_from: int = SPARSE_FROM
    depth: int = 0  # Open blocks of `waiting`: 0 while the rank computes
    # Number of begun and ended waits, and of messages that arrived in them. It stays
    # constant while a rank computes, and while it waits for a message that never comes.
    steps: int = 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the seconds of the block as waited."""
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
    """Return the types and lengths of arrays, which their receiver needs."""
    return [(array.dtype.str, len(array)) for array in arrays]


def send(
    mpi: "MpiComm", arrays: Sequence[np.ndarray], dest: int, count: Count
) -> list["MpiRequest"]:
    """Begin to send several arrays; `count` adds bytes and messages."""
    requests = []
    for array in arrays:
        requests += send_pieces(mpi, np.ascontiguousarray(array), dest, count)
    return requests


def recv(
    mpi: "MpiComm", arriving: Sequence[Kind], source: int
) -> tuple[list[np.ndarray], list["MpiRequest"]]:
    """Begin to receive arrays of given types and lengths; return them, and requests."""
    results = [np.empty(length, dtype) for dtype, length in arriving]
    return results, [r for array in results for r in receive_pieces(mpi, array, source)]


class Backoff:
    """Pauses between the polls of a polite rank: short at first, then longer.

    `idle` says that no data moves while this rank waits.
    """

    def __init__(self, shared: Shared, idle: bool = False) -> None:
        self._shared, self._idle = shared, idle
        self._shortest = SHORTEST_PAUSE * shared.ranks_per_core
        self._begin, self._pause = time.perf_counter(), self._shortest

    def next(self, progress: object = False) -> None:
        """Pause, unless the last poll made progress or this rank is not polite."""
        if progress or not self._shared.polite:
            self._pause = self._shortest
            return
        time.sleep(self._pause)
        per_rank = LONGEST_PAUSE_PER_RANK * self._shared.ranks_per_core
        longest = max(LONGEST_PAUSE, per_rank)
        if self._idle:
            waited = time.perf_counter() - self._begin
            longest = max(longest, min(IDLE_FRACTION * waited, LONGEST_IDLE_PAUSE))
        self._pause = min(2 * self._pause, longest)


def wait(requests: list["MpiRequest"], shared: Shared, idle: bool = False) -> None:
    """Wait for messages, politely if others need this rank's core; see `Backoff`."""
    backoff = Backoff(shared, idle)
    with shared.waiting():
        for request in requests:
            while shared.polite and not request.Test():
                backoff.next()
            request.Wait()
            shared.steps += 1


def send_pieces(
    mpi: "MpiComm", array: np.ndarray, dest: int, count: Count
) -> list["MpiRequest"]:
    """Begin to send a contiguous array; return its requests."""
    requests = []
    for piece in _pieces(array):
        requests.append(mpi.Isend(piece, dest))
        count(piece.nbytes, 1)
    return requests


def receive_pieces(
    mpi: "MpiComm", array: np.ndarray, source: int
) -> list["MpiRequest"]:
    """Begin to receive into a contiguous array; return its requests."""
    return [mpi.Irecv(piece, source) for piece in _pieces(array)]


def piece_length(array: np.ndarray) -> int:
    """Return the largest number of entries of an array in one message."""
    return max(1, PIECE_BYTES // array.itemsize)


def _pieces(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield consecutive pieces of an array."""
    length = piece_length(array)
    for low in range(0, len(array), length):
        yield array[low : low + length]
