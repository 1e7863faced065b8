"""Exchanges of columns between ranks: every rank sends every other its slices.

A rank usually has data for few others, its partners. With many ranks, messages go to
partners only. A receiver does not know its senders, so ranks agree that all messages
have arrived by non-blocking consensus (Hoefler, Siebert, Lumsdaine, PPoPP 2010). A rank
sends synchronously, which completes once the receiver has the message. Then it enters a
non-blocking barrier, and receives until the barrier completes. With few ranks one
`MPI_Alltoall` of the sizes is as fast.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from . import mpi_library
from .messages import Backoff, Shared, receive_pieces, send_pieces

if TYPE_CHECKING:
    from .mpi_library import MpiComm, MpiRequest

# A partner's slices of at most this many bytes in total are sent with their sizes in
# one message; larger slices follow in separate messages.
EAGER_BYTES = 1 << 15
# Tags of messages with sizes. Two alternate between exchanges by consensus: a rank may
# leave one exchange, and send messages of the next, while its partner still receives.
_CONSENSUS_TAGS, _REPLY_TAG = (1, 2), 3


class Group(Protocol):
    """The part of `Comm` that an exchange needs."""

    rank: int
    size: int
    shared: Shared
    exchanges: int

    @property
    def mpi(self) -> "MpiComm":
        """The communicator of MPI."""

    @property
    def count(self) -> Callable[[int, int], None]:
        """Counts bytes and messages that are sent."""

    @property
    def all_ranks(self) -> Callable[..., None]:
        """Calls a collective of MPI."""

    @property
    def wait(self) -> Callable[[list["MpiRequest"]], None]:
        """Waits for requests of MPI."""


class Coded(NamedTuple):
    """A column of an exchange as bytes: `sizes` of them for each rank."""

    data: np.ndarray
    sizes: np.ndarray


Column = np.ndarray | Coded


def exchange(
    group: Group, counts: np.ndarray, columns: Sequence[Column]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Send each rank its slices; see `Comm.alltoallv`."""
    slices = _Slices.of(counts, columns)
    if group.size < group.shared.sparse_from:
        arriving = np.empty_like(slices.sizes)
        group.all_ranks("Alltoall", slices.sizes, arriving)
        group.count(slices.sizes.nbytes - slices.sizes[0].nbytes, group.size - 1)
        requests = [
            request
            for rank in slices.partners(group.rank)
            for part in slices.of_rank(rank)
            for request in send_pieces(group.mpi, part, rank, group.count)
        ]
        return _complete(group, slices, arriving, {}, requests)
    messages, requests = _send_large(group, slices)
    tag = _CONSENSUS_TAGS[group.exchanges % 2]
    group.exchanges += 1
    arrived = _consensus(group, messages, tag)
    return _complete(group, slices, _sizes(arrived, slices), arrived, requests)


def reply(
    group: Group, asked: np.ndarray, counts: np.ndarray, columns: Sequence[Column]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Send slices to ranks that expect them; see `Comm.reply`."""
    slices = _Slices.of(counts, columns)
    messages, requests = _send_large(group, slices)
    for rank, message in messages.items():
        requests.append(group.mpi.Isend(message, rank, _REPLY_TAG))
        group.count(message.nbytes, 1)
    partners = [rank for rank in np.flatnonzero(asked).tolist() if rank != group.rank]
    arrived: dict[int, np.ndarray] = {}
    backoff = Backoff(group.shared)
    with group.shared.waiting():
        while partners:
            received = _receive_any(group.mpi, partners, _REPLY_TAG, arrived)
            partners = [rank for rank in partners if rank not in arrived]
            backoff.next(received)
    return _complete(group, slices, _sizes(arrived, slices), arrived, requests)


class _Slices(NamedTuple):
    """Columns that are divided into a slice for each rank."""

    data: list[np.ndarray]
    # int64, shape (ranks, 1 + columns): the number of entries for each rank, and the
    # length of its slice of each column.
    sizes: np.ndarray

    @classmethod
    def of(cls, counts: np.ndarray, columns: Sequence[Column]) -> "_Slices":
        """Divide columns by the counts, and coded ones by their sizes."""
        coded = [isinstance(column, Coded) for column in columns]
        sizes = [c.sizes if isinstance(c, Coded) else counts for c in columns]
        data = [
            np.ascontiguousarray(column.data if is_coded else column)
            for column, is_coded in zip(columns, coded, strict=True)
        ]
        return cls(data, np.stack([counts, *sizes], axis=1).astype(np.int64))

    def of_rank(self, rank: int) -> list[np.ndarray]:
        """Return the slices of a rank."""
        ends = self.sizes[: rank + 1, 1:].sum(axis=0)
        begins = ends - self.sizes[rank, 1:]
        return [
            array[begin:end]
            for array, begin, end in zip(self.data, begins, ends, strict=True)
        ]

    def partners(self, this_rank: int) -> list[int]:
        """Return the other ranks whose slices are not empty."""
        ranks = np.flatnonzero(self.sizes.any(axis=1)).tolist()
        return [rank for rank in ranks if rank != this_rank]

    def nbytes(self, sizes: np.ndarray) -> np.ndarray:
        """Return the bytes of the slices of each row of `sizes`."""
        itemsizes = np.array([array.itemsize for array in self.data], np.int64)
        return sizes[:, 1:] @ itemsizes


def _send_large(
    group: Group, slices: _Slices
) -> tuple[dict[int, np.ndarray], list["MpiRequest"]]:
    """Begin to send the large slices.

    Returns a message for each partner, with its sizes and its slices if these are
    small; and the requests of the large slices.
    """
    nbytes = slices.nbytes(slices.sizes)
    messages: dict[int, np.ndarray] = {}
    requests: list[MpiRequest] = []
    for rank in slices.partners(group.rank):
        row, parts = slices.sizes[rank], slices.of_rank(rank)
        if nbytes[rank] <= EAGER_BYTES:
            messages[rank] = np.concatenate([p.view(np.uint8) for p in (row, *parts)])
        else:
            messages[rank] = row.view(np.uint8)
            for part in parts:
                requests += send_pieces(group.mpi, part, rank, group.count)
    return messages, requests


def _consensus(
    group: Group, messages: dict[int, np.ndarray], tag: int
) -> dict[int, np.ndarray]:
    """Send a message to each partner; return all that arrive. Collective."""
    mpi, arrived = group.mpi, dict[int, np.ndarray]()
    sends = [mpi.Issend(message, rank, tag) for rank, message in messages.items()]
    for message in messages.values():
        group.count(message.nbytes, 1)
    library = mpi_library.load()
    barrier, complete = None, False
    backoff = Backoff(group.shared)
    with group.shared.waiting():
        while not complete:
            received = _receive_any(mpi, [library.ANY_SOURCE], tag, arrived)
            group.shared.steps += received
            if barrier is not None:
                complete = barrier.Test()
            elif library.Request.Testall(sends):
                barrier = mpi.Ibarrier()
            if not complete:
                backoff.next(received)
    return arrived


def _receive_any(
    mpi: "MpiComm", sources: Iterable[int], tag: int, arrived: dict[int, np.ndarray]
) -> int:
    """Receive the messages that have arrived from some sources; return their number."""
    status, received = mpi_library.load().Status(), 0
    for source in sources:
        if mpi.Iprobe(source, tag, status):
            message = np.empty(status.Get_count(), np.uint8)
            mpi.Recv(message, status.Get_source(), tag)
            arrived[status.Get_source()] = message
            received += 1
    return received


def _sizes(arrived: dict[int, np.ndarray], slices: _Slices) -> np.ndarray:
    """Return the sizes of all slices that arrive, from the heads of messages."""
    sizes = np.zeros_like(slices.sizes)
    head = sizes[0].nbytes
    for rank, message in arrived.items():
        sizes[rank] = message[:head].view(np.int64)
    return sizes


def _complete(
    group: Group,
    slices: _Slices,
    arriving: np.ndarray,
    arrived: dict[int, np.ndarray],
    requests: list["MpiRequest"],
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the counts and columns of all ranks, once they are complete.

    `arriving` (int64, shape (ranks, 1 + columns)) are the sizes of the slices from
    other ranks, and `arrived` the messages with these sizes and small slices. If
    `arrived` is empty, the sizes were exchanged by a collective, and all slices have
    separate messages. `requests` are unfinished sends of slices to other ranks.
    """
    arriving[group.rank] = slices.sizes[group.rank]
    ends = np.cumsum(arriving[:, 1:], axis=0)
    small = slices.nbytes(arriving) <= EAGER_BYTES
    results = [
        np.empty(total, array.dtype)
        for total, array in zip(ends[-1], slices.data, strict=True)
    ]
    for rank in np.flatnonzero(arriving.any(axis=1)).tolist():
        bounds = zip(ends[rank] - arriving[rank, 1:], ends[rank], strict=True)
        parts = [
            result[begin:end]
            for result, (begin, end) in zip(results, bounds, strict=True)
        ]
        if rank == group.rank:
            for part, local in zip(parts, slices.of_rank(rank), strict=True):
                part[:] = local
        elif rank in arrived and small[rank]:
            begin = arriving[rank].nbytes  # behind the sizes
            for part in parts:
                end = begin + part.nbytes
                part.view(np.uint8)[:] = arrived[rank][begin:end]
                begin = end
        else:
            for part in parts:
                requests += receive_pieces(group.mpi, part, rank)
    group.wait(requests)
    return arriving[:, 0].copy(), results
