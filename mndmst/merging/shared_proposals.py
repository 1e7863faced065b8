"""The lightest edge of every component, found by all workers of a host.

Workers are the threads of all ranks. Each proposes its edges to the owners of their
components, a batch at a time, in memory that all ranks share; the owners look at a
batch while the next is written. So that memory is small, however many edges there are:
pages of memory that processes share are slow at first touch, and slower where many
touch them at once, and what is small stays in cache.

A component that is at the end of many edges is left out of a round: its owner would
keep all others waiting, and as every edge has another end, which chooses too, no edge
stays for ever.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..comm.communicator import Comm
from ..comm.shared_memory import Shape, SharedMemory
from ..graph.giant import most_frequent
from ..kernels.columns import taken
from ..kernels.hooks import HALF
from ..kernels.kruskal import LOW
from ..kernels.proposals import (
    NOBODY,
    Proposable,
    Room,
    decide,
    find_places,
    mark,
    propose,
)
from ..kernels.threads import Threads

# Edges that a worker proposes at once.
BATCH = 1 << 13
# Ends of edges that each rank looks at, and the share of all of these that one
# component must be to be left out.
SAMPLE, IDLE_SHARE = 64, 1 / 16
# Components are dealt to their owners in blocks, about so many to each.
BLOCKS = 64

Columns = list[np.ndarray]
Range = tuple[int, int]


class _Batch(NamedTuple):
    """The proposals of all workers for a batch, and where those to each owner are."""

    proposals: Room
    places: np.ndarray


class Proposals:
    """Room for the proposals of all workers; its calls are collective.

    Parameters
    ----------
    key_dtype : dtype
    position : ndarray of uint32 or int64
        Ascending: the positions that this rank has.
    """

    def __init__(
        self,
        comm: Comm,
        threads: Threads,
        memory: SharedMemory,
        key_dtype: np.dtype,
        position: np.ndarray,
    ) -> None:
        self.comm, self.threads = comm, threads
        self._threads_of_rank = comm.max(threads.count)
        workers = comm.size * self._threads_of_rank
        self._me = comm.rank * self._threads_of_rank
        room = 2 * BATCH * workers
        self._types = key_dtype, position.dtype
        total = self.comm.max(int(position[-1]) + 1 if len(position) else 0)
        columns: list[Shape] = [
            (room, np.uint32), (room, np.uint32), (room, key_dtype),
            (room, position.dtype), (workers * (workers + 2), np.int64),
        ]  # fmt: skip
        # One batch is written while the other is looked at.
        *arrays, self._chosen = memory.scratch(*columns, *columns, (total, np.bool_))
        shape = workers, workers + 2
        self._rooms = [
            _Batch(Room(*half[:-1]), half[-1].reshape(shape))
            for half in (arrays[: len(columns)], arrays[len(columns) :])
        ]

    def hook_lightest(
        self,
        key: np.ndarray,
        pairs: np.ndarray,
        position: np.ndarray,
        components: int,
        hook: np.ndarray,
    ) -> tuple[np.ndarray, int]:
        """Hook components along their lightest edges; mark those that are here.

        Parameters
        ----------
        key, pairs, position : ndarray
            The edges of this rank, the components at both ends of each, and where
            it is in (u, v) order.
        components : int
        hook : ndarray of uint32
            Shared, and set: what is at the other end.

        Returns
        -------
        chosen : ndarray of bool
        idle : int
            A component that has not hooked, or NOBODY.
        """
        parts = self.threads.ranges(len(key))
        longest = max(end - begin for begin, end in parts)
        every = self.comm.allgather(np.array([longest, *_sampled_ends(pairs)]))
        total, rank, size = len(self._chosen), self.comm.rank, self.comm.size
        self._chosen[total * rank // size : total * (rank + 1) // size] = False
        idle = _idle(every[:, 1:])
        owners = Owners.of(components, self.comm.size * self._threads_of_rank)
        owned = owners.ranges[self._me : self._me + self._threads_of_rank]
        lightest = [
            tuple(np.full(e - b, _last(t), t) for t in self._types) for b, e in owned
        ]
        work = _Round(key, pairs, position, idle, owners, self._me, lightest, hook)

        for batch in range(-(-int(every[:, 0].max()) // BATCH)):
            room = self._rooms[batch % 2]
            room.places[self._me : self._me + self._threads_of_rank] = 0
            shares = [(room, *share) for share in _batch_of(parts, batch)]
            self.threads.map(work.propose, shares)
            self.comm.barrier()
            self.threads.map(work.decide, [(room, i) for i in range(len(owned))])
        self.threads.map(lambda _, least: mark(least, self._chosen), lightest)
        self.comm.barrier()
        (chosen,) = taken([self._chosen], position, self.threads)
        return chosen, idle


class Owners(NamedTuple):
    """Which workers own which components: owner[c >> shift] has component c.

    Attributes
    ----------
    ranges : list of (int, int)
        The components of each worker.
    """

    shift: int
    owner: np.ndarray
    ranges: list[Range]

    @classmethod
    def of(cls, components: int, workers: int) -> "Owners":
        """Deal components to workers, blocks of them at a time."""
        shift = max(0, (components // (BLOCKS * workers)).bit_length() - 1)
        blocks = -(-components // (1 << shift))
        bounds = blocks * np.arange(workers + 1) // workers
        owner = np.repeat(np.arange(workers, dtype=np.uint32), np.diff(bounds))
        ends = np.minimum(bounds << shift, components).tolist()
        return cls(shift, owner, list(pairwise(ends)))


class _Round(NamedTuple):
    """What the workers of a rank do in a round.

    Attributes
    ----------
    me : int
        The first worker of this rank.
    lightest : list of (ndarray, ndarray)
        For each worker the keys and positions of the lightest edges proposed so far.
    """

    key: np.ndarray
    pairs: np.ndarray
    position: np.ndarray
    idle: int
    owners: Owners
    me: int
    lightest: list[tuple[np.ndarray, ...]]
    hook: np.ndarray

    def propose(self, room: _Batch, worker: int, begin: int, end: int) -> None:
        """Propose a worker's edges of a batch to their owners."""
        shift, owner, _ = self.owners
        pairs, places = self.pairs[begin:end], room.places[self.me + worker]
        place = 2 * BATCH * (self.me + worker)
        find_places(pairs, shift, owner, self.idle, place, places)
        edges = Proposable(self.key[begin:end], pairs, self.position[begin:end])
        propose(edges, shift, owner, self.idle, places, room.proposals)

    def decide(self, room: _Batch, worker: int) -> None:
        """Take the lightest of the edges of a batch proposed to a worker."""
        me, (best, least) = self.me + worker, self.lightest[worker]
        begin = self.owners.ranges[me][0]
        decide(room.proposals, room.places, me, begin, best, least, self.hook)


def _last(dtype: np.dtype) -> int:
    return int(np.iinfo(dtype).max)


def _idle(sample: np.ndarray) -> int:
    """Return the component of a sample that is to be idle, or NOBODY."""
    idle = most_frequent(sample[sample != NOBODY], IDLE_SHARE)
    return NOBODY if idle is None else idle


def _sampled_ends(pairs: np.ndarray) -> np.ndarray:
    """Return components at the ends of some edges, NOBODY where there are too few."""
    picked = pairs[:: 1 + len(pairs) // (SAMPLE // 2)][: SAMPLE // 2]
    sample = np.full(SAMPLE, NOBODY)
    sample[: 2 * len(picked)] = np.concatenate([picked >> HALF, picked & LOW])
    return sample


def _batch_of(parts: list[Range], batch: int) -> list[tuple[int, int, int]]:
    """Return the workers that have anything in a batch, each with its range."""
    batches = [
        (worker, begin + batch * BATCH, min(end, begin + (batch + 1) * BATCH))
        for worker, (begin, end) in enumerate(parts)
    ]
    return [part for part in batches if part[1] < part[2]]
