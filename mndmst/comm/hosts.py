"""The hosts of a job: each host's ranks are a team, and one leader communicates."""

from collections.abc import Sequence

import numpy as np

from ..kernels.edge_columns import Shape
from ..kernels.team import Team, words_for
from ..kernels.threads import Threads
from .communicator import Comm
from .shared_memory import SharedMemory


class HostTeam(Team):
    """The threads of all ranks of a host, which share memory. Collective.

    `comm` has the ranks of the host. All contribute equally many threads: the smallest
    number that a rank has. `reused` passes the memory on to the next team; see
    `SharedMemory`. Raises ConfigError on every rank if the system gives them no
    memory to share.
    """

    def __init__(
        self, comm: Comm, threads: Threads, reused: list[np.ndarray] | None = None
    ) -> None:
        self._comm, self._memory = comm, SharedMemory(comm, threads, reused)
        self.threads, self.processes, self.rank = threads, comm.size, comm.rank
        # After this collective no rank uses the previous team any more
        self.most = comm.min(threads.count)
        size = comm.size * self.most
        (self._words,) = self._memory.arrays((words_for(size), np.int64))
        if comm.rank == 0:
            self._words[:] = 0
        self.sync()

    def arrays(self, *shapes: Shape) -> list[np.ndarray]:
        """See `Team.arrays`."""
        return self._memory.arrays(*shapes)

    def sync(self) -> None:
        """See `Team.sync`."""
        self._comm.barrier()

    def counts(self, *counts: int) -> np.ndarray:
        """See `Team.counts`."""
        return self._comm.allgather(np.array(counts, np.int64))


class Hosts:
    """The hosts of all ranks; with `each_rank`, each rank is a host. Collective."""

    def __init__(self, comm: Comm, each_rank: bool = False) -> None:
        single = comm.split(comm.rank) if each_rank else None
        self.here = single or comm.node()  # The ranks of this host, in their order
        self._leaders = comm.split(0 if self.here.rank == 0 else None)
        self._made = [part for part in (single, self._leaders) if part is not None]
        hosts = comm.allgather(self.here.bcast(comm.rank))  # each by its first rank
        first = np.flatnonzero(hosts == np.arange(comm.size))
        self._ranks = [np.flatnonzero(hosts == host).tolist() for host in first]
        self.count = len(self._ranks)

    def team(self, threads: Threads, reused: list[np.ndarray] | None = None) -> Team:
        """Return the threads of this host's ranks as a team. Collective.

        `reused` is as for `HostTeam`. Raises ConfigError on every rank of the host if
        they get no memory to share.
        """
        if self.here.size == 1:
            return Team(threads)
        return HostTeam(self.here, threads, reused)

    def complete(self, team: Team, array: np.ndarray, bounds: Sequence[int]) -> None:
        """Fill in the parts of other hosts' ranks in an array of the team. Collective.

        Rank r has the part from bounds[r] to bounds[r + 1]. The parts of this
        host's ranks have been written.
        """
        team.sync()
        if self._leaders is not None and self.count > 1:
            ranks_here = self._ranks[self._leaders.rank]
            parts = [array[bounds[rank] : bounds[rank + 1]] for rank in ranks_here]
            every, begin = self._leaders.allgatherv(np.concatenate(parts)), 0
            for rank in (rank for host in self._ranks for rank in host):
                part = array[bounds[rank] : bounds[rank + 1]]
                part[:] = every[begin : begin + len(part)]
                begin += len(part)
        team.sync()

    def free(self) -> None:
        """Free the communicators."""
        for part in self._made:
            part.free()
