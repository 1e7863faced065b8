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

import numpy as np

from .backends.numba.hooks import HALF
from .backends.numba.kruskal import LOW
from .backends.numba.proposals import NOBODY, decide, find_places, propose
from .backends.numba.threads import Threads
from .comm import Comm
from .order import id_dtype
from .shared_memory import Shape, SharedMemory

# Edges that a worker proposes at once.
BATCH = 1 << 14
# Ends of edges that each rank looks at, and the share of all of these that one
# component must be to be left out.
SAMPLE, IDLE_SHARE = 64, 1 / 16
# Components are dealt to their owners in blocks, about so many to each.
BLOCKS = 64

Columns = list[np.ndarray]
Range = tuple[int, int]


class Proposals:
    """Room for the proposals of all workers; its calls are collective.

    Parameters
    ----------
    key_dtype : dtype
    edges : int
        Of all ranks together, at the most.
    """

    def __init__(
        self,
        comm: Comm,
        threads: Threads,
        memory: SharedMemory,
        key_dtype: np.dtype,
        edges: int,
    ) -> None:
        self.comm, self.threads = comm, threads
        self._threads_of_rank = comm.max(threads.count)
        workers = comm.size * self._threads_of_rank
        self._me = comm.rank * self._threads_of_rank
        room = 2 * BATCH * workers
        self._position_dtype = np.dtype(id_dtype(edges + 1))
        self._key_dtype = key_dtype
        columns: list[Shape] = [
            (room, np.uint32), (room, np.uint32), (room, key_dtype),
            (room, self._position_dtype), (workers * (workers + 2), np.int64),
        ]  # fmt: skip
        # One batch is written while the other is looked at.
        *arrays, self._chosen = memory.scratch(*columns, *columns, (edges, np.bool_))
        self._rooms = [
            (*half[:4], half[4].reshape(workers, workers + 2))
            for half in (arrays[:5], arrays[5:])
        ]

    def hook_lightest(
        self, key: np.ndarray, pairs: np.ndarray, components: int, hook: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Hook components along their lightest edges; mark those that are here.

        Parameters
        ----------
        key, pairs : ndarray
            The edges of this rank, and the components at both ends of each.
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
        sample = _sampled_ends(pairs)
        every = self.comm.every(np.array([len(key), longest, *sample]))
        first = int(every[: self.comm.rank, 0].sum())
        idle = _most_frequent(every[:, 2:])
        mine = self._chosen[first : first + len(key)]
        mine[:] = False
        shift, owner, owned = self._owners(components)
        owned = owned[self._me : self._me + self._threads_of_rank]
        none = np.iinfo(self._position_dtype).max
        best, least = (
            [np.full(e - b, np.iinfo(dtype).max, dtype) for b, e in owned]
            for dtype in (self._key_dtype, self._position_dtype)
        )

        for batch in range(-(-int(every[:, 1].max()) // BATCH)):
            *columns, places = self._rooms[batch % 2]
            places[self._me : self._me + self._threads_of_rank] = 0

            def write(worker, begin, end, columns=columns, places=places[self._me :]):
                place, part = 2 * BATCH * (self._me + worker), slice(begin, end)
                find_places(pairs[part], shift, owner, idle, place, places[worker])
                propose(
                    key[part], pairs[part], first + begin, shift, owner, idle,
                    places[worker], *columns,
                )  # fmt: skip

            def take(worker, begin, _, columns=columns, places=places):
                component, other, keys, position = columns
                decide(
                    component, other, keys, position, places, self._me + worker,
                    begin, best[worker], least[worker], hook,
                )  # fmt: skip

            self.threads.map(write, list(_batch_of(parts, batch)))
            self.comm.barrier()
            self.threads.map(take, [(i, *part) for i, part in enumerate(owned)])
        for positions in least:
            self._chosen[positions[positions != none]] = True
        self.comm.barrier()
        return mine.copy(), idle

    def _owners(self, components: int) -> tuple[int, np.ndarray, list[Range]]:
        """Return which workers own which components.

        Returns
        -------
        shift, owner
            Of a component c it is owner[c >> shift].
        ranges : list of (int, int)
            The components of each.
        """
        owners = self.comm.size * self._threads_of_rank
        shift = max(0, (components // (BLOCKS * owners)).bit_length() - 1)
        blocks = -(-components // (1 << shift))
        bounds = blocks * np.arange(owners + 1) // owners
        owner = np.repeat(np.arange(owners, dtype=np.uint32), np.diff(bounds))
        ends = np.minimum(bounds << shift, components).tolist()
        return shift, owner, list(pairwise(ends))


def _sampled_ends(pairs: np.ndarray) -> np.ndarray:
    """Return components at the ends of some edges, NOBODY where there are too few."""
    picked = pairs[:: 1 + len(pairs) // (SAMPLE // 2)][: SAMPLE // 2]
    sample = np.full(SAMPLE, NOBODY)
    sample[: 2 * len(picked)] = np.concatenate([picked >> HALF, picked & LOW])
    return sample


def _most_frequent(sample: np.ndarray) -> int:
    """Return the component that is to be idle: one with very many edges."""
    components, counts = np.unique(sample[sample != NOBODY], return_counts=True)
    if counts.max(initial=0) <= IDLE_SHARE * counts.sum():
        return NOBODY
    return int(components[counts.argmax()])


def _batch_of(parts: list[Range], batch: int) -> list[tuple[int, int, int]]:
    """Return the workers that have anything in a batch, each with its range."""
    batches = [
        (worker, begin + batch * BATCH, min(end, begin + (batch + 1) * BATCH))
        for worker, (begin, end) in enumerate(parts)
    ]
    return [part for part in batches if part[1] < part[2]]
