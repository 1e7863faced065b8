"""Which component a vertex belongs to, known by a directory spread over the ranks.

The entry of a vertex lives on its home, the rank that was given its row. Whoever
contracts components tells the homes of those that lost their name; whoever holds a
ghost asks its home for its present name. So components can move between ranks
without anybody having to know where they are (a distributed parent array, as in
Sanders and Schimek, IPDPS 2023, in place of the ghost lists of MND-MST).
"""

import numpy as np

from .comm import Comm
from .order import id_dtype

# Names asked for in one phase, so that requests never need much memory.
PHASE = 1 << 22


class Directory:
    """The present component of every vertex.

    Attributes
    ----------
    vtxdist : ndarray of int64, shape (ranks + 1,)
        Rank r is the home of the vertices [vtxdist[r], vtxdist[r + 1]).
    parent : ndarray of uint32 or int64
        For each vertex at home here the representative that it was last merged
        into; a representative points to itself.
    """

    def __init__(self, comm: Comm, vtxdist: np.ndarray) -> None:
        self.comm = comm
        self.vtxdist = vtxdist
        self.first = int(vtxdist[comm.rank])
        self.last = int(vtxdist[comm.rank + 1])
        self.parent = np.arange(self.first, self.last).astype(id_dtype(vtxdist[-1]))

    def homes(self, ids: np.ndarray) -> np.ndarray:
        """Return how many of some ascending ids are at home on each rank."""
        return np.diff(np.searchsorted(ids, self.vtxdist))

    def record(self, old: np.ndarray, new: np.ndarray) -> None:
        """Tell the homes of components that they are now part of others.

        Collective. `old` must be ascending.
        """
        names = new.astype(self.parent.dtype)
        _, (vertices, parents) = self.comm.exchange(self.homes(old), old, names)
        self.parent[vertices - self.first] = parents

    def lookup(self, ids: np.ndarray) -> np.ndarray:
        """Return the parents of some ascending ids (int64). Collective."""
        phases = self.comm.max(-(-len(ids) // PHASE))
        answers = [
            self._ask(ids[phase * PHASE : (phase + 1) * PHASE])
            for phase in range(phases)
        ]
        return np.concatenate(answers) if answers else np.empty(0, np.int64)

    def _ask(self, ids: np.ndarray) -> np.ndarray:
        counts, (asked,) = self.comm.exchange(
            self.homes(ids), ids.astype(self.parent.dtype)
        )
        answers = self.parent[asked.astype(np.int64) - self.first]
        _, (result,) = self.comm.exchange(counts, answers)
        return result.astype(np.int64)

    def lookup_any(self, ids: np.ndarray) -> np.ndarray:
        """Return the parents of ids in any order, with repeats. Collective."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        return self.lookup(distinct)[inverse]

    def jump(self, positions: np.ndarray) -> None:
        """Point some entries at home here to their representatives. Collective.

        Pointer jumping: every round at least halves the paths. Steps that stay at
        home cost no message.
        """
        moving = True
        while self.comm.max(int(moving)):
            before = self.parent[positions]
            self._jump_at_home(positions)
            parents = self.parent[positions].astype(np.int64)
            away = np.flatnonzero((parents < self.first) | (parents >= self.last))
            self.parent[positions[away]] = self.lookup_any(parents[away])
            moving = bool((self.parent[positions] != before).any())

    def _jump_at_home(self, positions: np.ndarray) -> None:
        while True:
            parents = self.parent[positions].astype(np.int64)
            here = (parents >= self.first) & (parents < self.last)
            ahead = parents.copy()
            ahead[here] = self.parent[parents[here] - self.first]
            if (ahead == parents).all():
                return
            self.parent[positions] = ahead

    def resolve(self) -> None:
        """Point every vertex to its representative. Collective."""
        self.jump(np.arange(len(self.parent)))
