"""Communicators: the few MPI patterns of this program.

Every pattern counts the bytes it sends. No array has a size quadratic in the number of
ranks.
"""

import os
import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, TypeVar, overload

import numpy as np

from ..host.cores import usable_cores
from ..host.errors import MndmstError
from ..host.launcher import launched_local_size, launched_processes
from ..host.progress import notice
from . import messages, mpi_library
from .exchange import EAGER_BYTES, Coded, exchange, reply

if TYPE_CHECKING:
    from .mpi_library import MpiComm, MpiRequest

# A number, or a small array
SmallT = TypeVar("SmallT", int, float, np.ndarray)
ValueT = TypeVar("ValueT")
ResultT = TypeVar("ResultT")

# Set in tests of programs with several threads: a call of MPI from a thread other than
# the main thread ends the process.
GUARDED = os.environ.get("MNDMST_GUARD_MPI", "0") not in ("", "0")
GUARD_STATUS = 70
# Bytes of a broadcast that arrive with its length.
BCAST_BYTES = 1 << 10


class Comm:
    """A group of ranks.

    `bytes_sent` and `messages_sent` count what this rank has sent to others so far,
    through any communicator split from the same world. A collective on small values
    counts as log2(size) messages.
    """

    def __init__(self, mpi: "MpiComm", shared: messages.Shared | None = None) -> None:
        self._mpi = mpi
        self.rank: int = mpi.rank
        self.size: int = mpi.size
        # Counts and waiting mode, common to all communicators split from one world
        self.shared = shared or messages.Shared()
        self.exchanges = 0  # Exchanges by consensus so far; see `exchange`
        self._node: Comm | None = None
        self._steps_of_collective = (self.size - 1).bit_length()

    @classmethod
    def dup(cls, mpi: "MpiComm", polite: bool = False) -> "Comm":
        """Return the ranks of a communicator with separate messages. Collective."""
        comm, launched = cls(mpi.Dup()), launched_processes()
        comm.shared.one_host = 1 < comm.size <= launched == launched_local_size()
        comm.shared.ranks_per_core = max(1.0, comm.ranks_per_core())
        comm.shared.polite = comm.shared.ranks_per_core > 1 or polite
        return comm

    @property
    def mpi(self) -> "MpiComm":
        """The communicator of MPI, for the main thread alone."""
        if GUARDED and current_thread() is not main_thread():
            _end_unguarded()
        return self._mpi

    @property
    def is_waiting(self) -> bool:
        """Whether this rank waits for others now; any thread may read it."""
        return self.shared.depth > 0

    @property
    def steps(self) -> int:
        """A count that every wait and message increments; any thread may read it."""
        return self.shared.steps

    @property
    def bytes_sent(self) -> int:
        """Bytes sent to other ranks so far."""
        return self.shared.bytes_sent

    @property
    def messages_sent(self) -> int:
        """Messages sent to other ranks so far."""
        return self.shared.messages_sent

    @property
    def seconds_waited(self) -> float:
        """Seconds in which messages were sent or waited for so far."""
        return self.shared.seconds_waited

    def count(self, nbytes: int, messages: int) -> None:
        """Count the bytes and messages sent to other ranks."""
        self.shared.bytes_sent += int(nbytes)
        self.shared.messages_sent += int(messages)

    # Small values

    def sum(self, value: SmallT) -> SmallT:
        """Return the sum over all ranks of a number or a small array."""
        return self._reduce(value, "SUM")

    def max(self, value: SmallT) -> SmallT:
        """Return the largest value over all ranks of a number or a small array."""
        return self._reduce(value, "MAX")

    def min(self, value: SmallT) -> SmallT:
        """Return the smallest value over all ranks of a number or a small array."""
        return self._reduce(value, "MIN")

    def _reduce(self, value: SmallT, operation: str) -> SmallT:
        array = np.atleast_1d(np.asarray(value))
        result = np.empty_like(array)
        self.all_ranks(
            "Allreduce", array, result, op=getattr(mpi_library.load(), operation)
        )
        self.count(array.nbytes if self.size > 1 else 0, self._steps_of_collective)
        return result if isinstance(value, np.ndarray) else result[0].item()

    def allgather(self, value: int | float | np.ndarray) -> np.ndarray:
        """Return a number, or a small array, of every rank, in their order."""
        mine = np.ascontiguousarray(value)
        result = np.empty((self.size, *np.shape(value)), mine.dtype)
        self.all_ranks("Allgather", mine, result)
        self.count(mine.nbytes * (self.size - 1), self._steps_of_collective)
        return result

    def exscan(self, value: SmallT) -> SmallT:
        """Return the sum of a number or small array over the ranks before this one."""
        array = np.atleast_1d(np.asarray(value))
        before = np.zeros_like(array)  # MPI does not write rank 0's
        self.all_ranks("Exscan", array, before)
        self.count(array.nbytes if self.size > 1 else 0, self._steps_of_collective)
        return before if isinstance(value, np.ndarray) else before[0].item()

    def bcast(self, value: ValueT | None, root: int = 0) -> ValueT:
        """Return the root's small Python object on every rank; others may give None."""
        text = pickle.dumps(value) if self.rank == root else b""
        first = np.zeros(BCAST_BYTES, np.uint8)
        first[:8] = np.frombuffer(len(text).to_bytes(8, "little"), np.uint8)
        content = np.frombuffer(text, np.uint8)
        first[8 : 8 + len(text)] = content[: BCAST_BYTES - 8]
        self.all_ranks("Bcast", first, root=root, idle=True)
        length = int.from_bytes(first[:8].tobytes(), "little")
        if length <= BCAST_BYTES - 8:
            return pickle.loads(first[8 : 8 + length].tobytes())
        if self.rank != root:
            content = np.empty(length, np.uint8)
        self.all_ranks("Bcast", content, root=root)
        return pickle.loads(content.tobytes())

    def gather(self, value: ValueT, root: int = 0) -> list[ValueT] | None:
        """Return the small Python objects of all ranks on the root, else None."""
        with self.shared.waiting():
            return self.mpi.gather(value, root=root)

    def combine(
        self, value: ValueT, combined: Callable[[list[ValueT]], ResultT]
    ) -> ResultT:
        """Return on every rank a combination of all ranks' small Python objects.

        Rank 0 makes it, so that no other rank receives the objects of all.
        """
        self.barrier()  # yields the core while waiting, unlike `gather`
        gathered = self.gather(value)
        return self.bcast(None if gathered is None else combined(gathered))

    def allgatherv(self, array: np.ndarray) -> np.ndarray:
        """Return the concatenated arrays of all ranks on every rank.

        Every rank must have memory for the whole result. Arrays are sent in pieces of
        at most `messages.PIECE_BYTES`.
        """
        array, counts = np.ascontiguousarray(array), self.allgather(len(array))
        ends = np.cumsum(counts)
        result = np.empty(ends[-1], array.dtype)
        length = messages.piece_length(array)
        for low in range(0, counts.max(), length):
            piece, sizes = array[low : low + length], np.clip(counts - low, 0, length)
            begins = np.minimum(ends - counts + low, ends)
            self.all_ranks("Allgatherv", piece, (result, (sizes, begins)))
            few = sizes.sum() * array.itemsize <= messages.IN_STEPS_BYTES
            steps = self._steps_of_collective if few else self.size - 1
            self.count(piece.nbytes * (self.size - 1), steps)
        return result

    def barrier(self, politely: bool = False) -> None:
        """Wait for all ranks; with `politely`, other processes can use the core."""
        before = self.shared.polite
        self.shared.polite |= politely
        self.all_ranks("Barrier", idle=True)
        self.shared.polite = before

    @overload
    def split(self, color: int) -> "Comm": ...
    @overload
    def split(self, color: int | None) -> "Comm | None": ...
    def split(self, color: int | None) -> "Comm | None":
        """Return the ranks with the same colour, in rank order; None without one."""
        given = mpi_library.load().UNDEFINED if color is None else color
        with self.shared.waiting():
            part = self.mpi.Split(given, self.rank)
        return None if color is None else Comm(part, self.shared)

    def node(self) -> "Comm":
        """Return the ranks on this rank's machine. Collective in the first call."""
        if self._node is None and self.shared.one_host:
            self._node = self
        elif self._node is None:
            kind = mpi_library.load().COMM_TYPE_SHARED
            with self.shared.waiting():
                part = self.mpi.Split_type(kind, self.rank)
            self._node = Comm(part, self.shared)
        return self._node

    def cores(self) -> set[int]:
        """Return the cores that any of these ranks, on one machine, may use."""
        with self.shared.waiting():
            return set().union(*self.mpi.allgather(usable_cores()))

    def hosts(self) -> np.ndarray:
        """Return the host of every rank, named by its first rank. Collective."""
        return self.allgather(self.node().bcast(self.rank))

    def is_one_host(self) -> bool:
        """Return whether all ranks are on one host. Collective."""
        return not self.hosts().any()

    def ranks_per_core(self) -> float:
        """Return the number of this machine's ranks per core. Collective."""
        return self.node().size / len(self.node().cores())

    def free(self) -> None:
        """Free the communicator."""
        if self._node not in (None, self):
            self._node.free()
        self.mpi.Free()

    # Arrays

    def alltoallv(
        self, counts: np.ndarray, *columns: np.ndarray | Coded
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Send each rank its slice of some columns; return the received columns.

        `counts` (int64, one per rank) are the numbers of entries for each rank; the
        columns are ordered by rank, and their length is the sum of the counts. Returns
        the number of entries from each rank, and the received columns, ordered by rank;
        for a `Coded` its bytes. Data moves only between pairs of ranks with entries, in
        messages of at most `messages.PIECE_BYTES`.
        """
        return exchange(self, counts, columns)

    def gatherv(self, *columns: np.ndarray) -> list[np.ndarray]:
        """Return columns of all ranks on rank 0, in rank order; elsewhere empty ones.

        See `alltoallv`.
        """
        counts = np.zeros(self.size, np.int64)
        counts[0] = len(columns[0])
        return self.alltoallv(counts, *columns)[1]

    def reply(
        self, asked: np.ndarray, counts: np.ndarray, *columns: np.ndarray | Coded
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Send slices to the ranks that sent requests; return the replies to this one.

        It works as `alltoallv` without synchronizing all ranks. The ranks with a
        nonzero entry in `asked` (int64) reply to this one. An entry of `counts` is 0 if
        and only if that rank expects no reply.
        """
        return reply(self, asked, counts, columns)

    def send(self, arrays: Sequence[np.ndarray], dest: int) -> None:
        """Send arrays of any length to a rank that calls `recv`."""
        with self.shared.waiting():
            self.mpi.send(messages.kinds(arrays), dest)
        self.wait(messages.send(self.mpi, arrays, dest, self.count))

    def recv(self, source: int) -> list[np.ndarray]:
        """Return the arrays that a rank sends with `send`."""
        with self.shared.waiting():
            arriving = self.mpi.recv(source=source)
        results, requests = messages.recv(self.mpi, arriving, source)
        self.wait(requests)
        return results

    def gather_arrays(self, arrays: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """Return the arrays of ranks 1 to the last on rank 0; elsewhere nothing.

        Small arrays are sent together with their kinds. An MPI library accepts few
        messages to a rank at a time, and a sender needs a core again for each further
        one: 8 arrays of each of 128 ranks on 2 cores took 2.5 s one by one, and 0.2 s
        together.
        """
        nbytes = sum(array.nbytes for array in arrays)
        small = nbytes <= EAGER_BYTES
        arriving = self.gather(list(arrays) if small else messages.kinds(arrays))
        if arriving is None:
            if small:
                self.count(nbytes, 1)
            else:
                self.wait(messages.send(self.mpi, arrays, 0, self.count))
            return []
        requests: list[MpiRequest] = []
        for source, gathered in enumerate(arriving[1:], 1):
            if gathered and not isinstance(gathered[0], np.ndarray):
                arriving[source], begun = messages.recv(self.mpi, gathered, source)
                requests += begun
        self.wait(requests)
        return arriving[1:]  # type: ignore[return-value]  # the kinds are replaced

    def sendrecv(
        self, arrays: Sequence[np.ndarray], dest: int, source: int
    ) -> list[np.ndarray]:
        """Send arrays to one rank while receiving the same number from another."""
        return self.isendrecv(arrays, dest, source)()

    def isendrecv(
        self, arrays: Sequence[np.ndarray], dest: int, source: int
    ) -> Callable[[], list[np.ndarray]]:
        """Begin to exchange arrays, which must not change until the exchange is over.

        The callable waits for the end of the exchange, and returns the received arrays.
        """
        with self.shared.waiting():
            arriving = self.mpi.sendrecv(messages.kinds(arrays), dest, source=source)
        results, requests = messages.recv(self.mpi, arriving, source)
        requests += messages.send(self.mpi, arrays, dest, self.count)

        def finish() -> list[np.ndarray]:
            self.wait(requests)
            return results

        return finish

    def wait(self, requests: list["MpiRequest"]) -> None:
        """Wait for requests of MPI, politely where ranks share cores."""
        messages.wait(requests, self.shared)

    def progress(self) -> None:
        """Let MPI deliver messages while this rank waits outside MPI."""
        self.mpi.Iprobe()

    def all_ranks(
        self, name: str, *arguments: object, idle: bool = False, **more: object
    ) -> None:
        """Do a collective of MPI; a nonblocking one where ranks share cores."""
        if self.shared.polite:
            request = getattr(self.mpi, f"I{name.lower()}")(*arguments, **more)
            messages.wait([request], self.shared, idle)
        else:
            with self.shared.waiting():
                getattr(self.mpi, name)(*arguments, **more)

    # Errors

    @contextmanager
    def raise_on_all(self) -> Iterator[None]:
        """Raise on every rank the error that the block raised on any of them.

        The block must not communicate. Only MndmstErrors are shared; any other error
        ends the whole job through the abort hook of `__main__`.
        """
        error: MndmstError | None = None
        try:
            yield
        except MndmstError as raised:
            error = raised
        first = self.min(self.rank if error is not None else self.size)
        if first < self.size:
            shared: MndmstError = self.bcast(error, root=first)
            shared.ranks = self.size
            raise shared


def _end_unguarded() -> None:
    """End this process: a thread other than the main one has called MPI."""
    notice(f"the thread {current_thread().name} calls MPI; only the main may", "error")
    traceback.print_stack()
    os._exit(GUARD_STATUS)
