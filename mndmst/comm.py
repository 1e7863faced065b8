"""The few MPI patterns the program uses.

`mpi4py.MPI` is imported here and nowhere else, and only when a communicator is
made, so that commands without MPI never start it. Every pattern counts the bytes
it sends, cuts large messages into pieces (Open MPI 4 refuses counts of 2^31), and
keeps no array that grows with the square of the number of ranks.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .errors import ConfigError, MndmstError
from .launcher import launched_processes, prepare_environment

PIECE_BYTES = 64 << 20


def library_version() -> str:
    """Return the name and version of the MPI library, without starting MPI."""
    import mpi4py

    initialize, mpi4py.rc.initialize = mpi4py.rc.initialize, False
    try:
        from mpi4py import MPI
    finally:
        mpi4py.rc.initialize = initialize
    return str(MPI.Get_library_version()).splitlines()[0].strip("\0 \t:")


def world() -> "Comm":
    """Start MPI and return all ranks; refuse a launcher of another MPI.

    Raises
    ------
    ConfigError
        If the launcher started more processes than this MPI library sees.
    """
    prepare_environment()
    from mpi4py import MPI

    comm = Comm(MPI.COMM_WORLD.Dup())
    launched = launched_processes()
    if comm.size == 1 and launched > 1:
        raise ConfigError(
            f"the launcher started {launched} processes, but the MPI library sees "
            f"only one ({library_version()}). Use the "
            "mpirun or srun --mpi=... that belongs to this library, or point "
            "MPI4PY_LIBMPI at the library of your launcher."
        )
    return comm


class Comm:
    """A group of ranks.

    Attributes
    ----------
    rank, size : int
    bytes_sent, messages_sent : int
        What this rank has sent to others so far, through any communicator split
        from the same world.
    """

    def __init__(self, mpi: Any, counters: dict[str, int] | None = None) -> None:
        self.mpi = mpi
        self.rank: int = mpi.rank
        self.size: int = mpi.size
        self._counters = counters if counters is not None else {"bytes": 0, "count": 0}

    @property
    def bytes_sent(self) -> int:
        """Bytes sent to other ranks so far."""
        return self._counters["bytes"]

    @property
    def messages_sent(self) -> int:
        """Messages sent to other ranks so far."""
        return self._counters["count"]

    def _count(self, nbytes: int, messages: int) -> None:
        self._counters["bytes"] += int(nbytes)
        self._counters["count"] += int(messages)

    # Small values

    def sum(self, value: Any) -> Any:
        """Return the sum over all ranks of a number or a small array."""
        return self._reduce(value, "SUM")

    def max(self, value: Any) -> Any:
        """Return the largest value over all ranks of a number or a small array."""
        return self._reduce(value, "MAX")

    def min(self, value: Any) -> Any:
        """Return the smallest value over all ranks of a number or a small array."""
        return self._reduce(value, "MIN")

    def _reduce(self, value: Any, operation: str) -> Any:
        from mpi4py import MPI

        array = np.atleast_1d(np.asarray(value))
        result = np.empty_like(array)
        self.mpi.Allreduce(array, result, op=getattr(MPI, operation))
        self._count(array.nbytes if self.size > 1 else 0, self.size > 1)
        return result if np.ndim(value) else result[0].item()

    def prefix(self, value: int) -> int:
        """Return the sum of an integer over the ranks before this one."""
        before = self.mpi.exscan(value)
        return before if self.rank else 0

    def share(self, value: Any, root: int = 0) -> Any:
        """Return the root's small Python object on every rank."""
        return self.mpi.bcast(value, root=root)

    def collect(self, value: Any, root: int = 0) -> list[Any] | None:
        """Return the small Python objects of all ranks on the root, else None."""
        return self.mpi.gather(value, root=root)

    def concatenate(self, array: np.ndarray) -> np.ndarray:
        """Return the arrays of all ranks, one after the other, on every rank.

        For what is small on all ranks together: samples, a few numbers per rank.
        """
        counts = np.array(self.mpi.allgather(len(array)))
        result = np.empty(counts.sum(), array.dtype)
        self.mpi.Allgatherv(np.ascontiguousarray(array), (result, counts))
        self._count(array.nbytes * (self.size - 1), self.size - 1)
        return result

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.mpi.Barrier()

    def split(self, color: int | None) -> "Comm | None":
        """Return the ranks with the same colour, in rank order; None without one."""
        from mpi4py import MPI

        chosen = MPI.UNDEFINED if color is None else color
        part = self.mpi.Split(chosen, self.rank)
        return None if part == MPI.COMM_NULL else Comm(part, self._counters)

    def node(self) -> "Comm":
        """Return the ranks on this rank's machine."""
        from mpi4py import MPI

        part = self.mpi.Split_type(MPI.COMM_TYPE_SHARED, self.rank)
        return Comm(part, self._counters)

    def free(self) -> None:
        """Give the communicator back to MPI."""
        self.mpi.Free()

    # Arrays

    def exchange(
        self, counts: np.ndarray, *columns: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Send each rank its slice of some columns; return what all have sent.

        Parameters
        ----------
        counts : ndarray of int64, shape (size,)
            How many entries go to each rank; the columns are ordered by rank.
        *columns : ndarray
            Arrays of the same length, counts.sum().

        Returns
        -------
        received : ndarray of int64, shape (size,)
            How many entries came from each rank.
        columns : list of ndarray
            What came, ordered by rank.

        Notes
        -----
        The data moves in phases of at most `PIECE_BYTES` a rank, and between
        those pairs of ranks only that have something to send.
        """
        counts = np.ascontiguousarray(counts, np.int64)
        received = np.empty_like(counts)
        self.mpi.Alltoall(counts, received)
        self._count(8 * (self.size - 1), self.size - 1)
        return received, [self._move(counts, received, column) for column in columns]

    def _move(
        self, counts: np.ndarray, received: np.ndarray, column: np.ndarray
    ) -> np.ndarray:
        column = np.ascontiguousarray(column)
        result = np.empty(received.sum(), column.dtype)
        starts = np.concatenate(([0], np.cumsum(counts)))
        places = np.concatenate(([0], np.cumsum(received)))
        # The piece of each pair in a phase: both ends know it from the counts alone.
        piece = max(1, PIECE_BYTES // (column.itemsize * max(1, min(self.size, 8))))
        partners = np.union1d(np.flatnonzero(counts), np.flatnonzero(received))
        sends = {r: (starts[r], counts[r]) for r in partners if r != self.rank}
        recvs = {r: (places[r], received[r]) for r in partners if r != self.rank}
        own, place = starts[self.rank], places[self.rank]
        length = counts[self.rank]
        result[place : place + length] = column[own : own + length]
        requests = []
        for r, (begin, count) in recvs.items():
            for low, high in _pieces(begin, count, piece):
                requests.append(self.mpi.Irecv(result[low:high], int(r)))
        for r, (begin, count) in sends.items():
            for low, high in _pieces(begin, count, piece):
                requests.append(self.mpi.Isend(column[low:high], int(r)))
                self._count((high - low) * column.itemsize, 1)
        for request in requests:
            request.Wait()
        return result

    def send(self, array: np.ndarray, dest: int) -> None:
        """Send an array of any length to a rank that calls `receive`."""
        array = np.ascontiguousarray(array)
        self.mpi.send((array.dtype.str, len(array)), dest)
        for low, high in _pieces(0, len(array), max(1, PIECE_BYTES // array.itemsize)):
            self.mpi.Send(array[low:high], dest)
            self._count((high - low) * array.itemsize, 1)

    def receive(self, source: int) -> np.ndarray:
        """Return the array that a rank sends with `send`."""
        dtype, length = self.mpi.recv(source=source)
        array = np.empty(length, dtype)
        for low, high in _pieces(0, length, max(1, PIECE_BYTES // array.itemsize)):
            self.mpi.Recv(array[low:high], source)
        return array

    def send_all(self, arrays: Sequence[np.ndarray], dest: int) -> None:
        """Send several arrays to a rank that calls `receive_all`."""
        self.mpi.send(len(arrays), dest)
        for array in arrays:
            self.send(array, dest)

    def receive_all(self, source: int) -> list[np.ndarray]:
        """Return the arrays that a rank sends with `send_all`."""
        return [self.receive(source) for _ in range(self.mpi.recv(source=source))]

    def trade(
        self, arrays: Sequence[np.ndarray], dest: int, source: int
    ) -> list[np.ndarray]:
        """Send arrays to one rank while receiving as many from another."""
        result = []
        for array in map(np.ascontiguousarray, arrays):
            kind = (array.dtype.str, len(array))
            dtype, length = self.mpi.sendrecv(kind, dest, source=source)
            arrived = np.empty(length, dtype)
            piece = max(1, PIECE_BYTES // arrived.itemsize)
            requests = [
                self.mpi.Irecv(arrived[low:high], source)
                for low, high in _pieces(0, length, piece)
            ]
            for low, high in _pieces(0, len(array), piece):
                requests.append(self.mpi.Isend(array[low:high], dest))
                self._count((high - low) * array.itemsize, 1)
            for request in requests:
                request.Wait()
            result.append(arrived)
        return result

    # Errors

    @contextmanager
    def together(self) -> Iterator[None]:
        """Raise on every rank the error that the block raised on any of them.

        The block must not communicate. Only errors the user can mend are shared;
        any other ends the whole job through the abort hook of `__main__`.
        """
        error: MndmstError | None = None
        try:
            yield
        except MndmstError as raised:
            error = raised
        first = self.min(self.rank if error is not None else self.size)
        if first < self.size:
            shared: MndmstError = self.share(error, root=first)
            shared.ranks = self.size
            raise shared


def _pieces(begin: int, count: int, piece: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive pieces of [begin, begin + count)."""
    for low in range(int(begin), int(begin + count), piece):
        yield low, min(low + piece, int(begin + count))
