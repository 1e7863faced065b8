"""The threads of all ranks of a host as one team."""

import numpy as np

from ..kernels.team import Shape, Team, words_for
from ..kernels.threads import Threads
from .communicator import Comm
from .shared_memory import SharedMemory


class HostTeam(Team):
    """The threads of all ranks of a host, which share memory. Collective.

    Parameters
    ----------
    comm : Comm
        The ranks of the host.
    threads : Threads
        Of this rank. Of all ranks as many take part as the rank with the fewest has.

    Raises
    ------
    ConfigError
        On every rank, if the system gives them no memory to share.
    """

    def __init__(self, comm: Comm, threads: Threads) -> None:
        self._comm, self._memory = comm, SharedMemory(comm)
        self.threads, self.processes, self.rank = threads, comm.size, comm.rank
        self.most = comm.min(threads.count)
        (self._words,) = self._memory.arrays(
            (words_for(comm.size * self.most), np.int64)
        )

    def arrays(self, *shapes: Shape) -> list[np.ndarray]:
        """See `Team.arrays`."""
        return self._memory.arrays(*shapes)

    def sync(self) -> None:
        """See `Team.sync`."""
        self._comm.barrier()

    def counts(self, *counts: int) -> np.ndarray:
        """See `Team.counts`."""
        return self._comm.allgather(np.array(counts, np.int64))
