"""The distributed directory: the present component of every vertex.

The entry of a vertex is on its owner, the rank that has its row. A rank that contracts
components notifies the owners of renamed components; a rank that holds a ghost looks up
its present name at its owner. So components can move between ranks without a record of
their location (a distributed parent array, as in Sanders and Schimek, IPDPS 2023, in
place of the ghost lists of MND-MST).
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..graph.order import id_dtype
from ..kernels.numbering import distinct
from ..kernels.pointer_jumping import (
    entries_leading_away,
    jump_to_representatives,
    step_up,
)
from ..kernels.threads import Threads
from ..kernels.varint_ids import (
    decode_ascending,
    decode_near,
    encode_ascending,
    encode_near,
)
from ..native.call_columns import ArrayPieces
from .communicator import Comm
from .exchange import Coded

# Names in one batch of a lookup, which bounds the memory for requests.
BATCH = 1 << 22
# Entries of one call of pointer jumping.
STEP = 1 << 16
# A value that is the name of no component
NO_OWNER = -1


class Directory:
    """The present component of every vertex."""

    def __init__(self, comm: Comm, vtxdist: np.ndarray) -> None:
        self.comm = comm
        # int64, shape (ranks + 1,): rank r owns the vertices [vtxdist[r], vtxdist[r +
        # 1]).
        self.vtxdist = vtxdist
        self.first = int(vtxdist[comm.rank])
        self.last = int(vtxdist[comm.rank + 1])
        self.id_dtype = id_dtype(vtxdist[-1])
        self._noted: list[tuple[np.ndarray, np.ndarray]] = []
        self._names: Callable[[], np.ndarray] | None = None

    @cached_property
    def parent(self) -> np.ndarray:
        """For each vertex of this rank the representative of its last merge.

        An array of uint32 or int64; a representative points to itself. It is made when
        it is first used.
        """
        names, self._names = self._names, None
        if names is not None:
            return names().astype(self.id_dtype, copy=False)
        return np.arange(self.first, self.last, dtype=self.id_dtype)

    def replace(self, names: Callable[[], np.ndarray]) -> None:
        """Replace all parents of this rank by those of `names`, called at first use."""
        self.__dict__.pop("parent", None)
        self._names = names

    def count_by_owner(self, ids: np.ndarray) -> np.ndarray:
        """Return the number of ascending ids that each rank owns."""
        return np.diff(np.searchsorted(ids, self.vtxdist))

    def record_here(self, old: np.ndarray | range, new: np.ndarray) -> None:
        """Record new names of components, both owned by this rank.

        If `old` has all vertices of this rank, `new` becomes the array of parents.
        """
        every = range(self.first, self.last)
        if isinstance(old, range) and old == every and new.dtype == self.id_dtype:
            self.parent = new
        elif isinstance(old, range):
            self.parent[old.start - self.first : old.stop - self.first] = new
        else:
            self.parent[old - self.first] = new

    def note(self, old: np.ndarray, new: np.ndarray) -> None:
        """Keep new names of components until `publish` notifies their owners.

        `old` ascends; both are int64.
        """
        if len(old):
            self._noted.append((old, new))

    def publish(self) -> None:
        """Notify the owners of the new names of components. Collective."""
        none = np.empty(0, np.int64)
        old, new = self._noted[0] if self._noted else (none, none)
        if len(self._noted) > 1:
            old, new = (np.concatenate(c) for c in zip(*self._noted, strict=True))
            # A component may be unchanged in one contraction and merged in another.
            old, new = old[old != new], new[old != new]
            order = np.argsort(old)
            old, new = old[order], new[order]
            # Follow later merges, because a lookup of a ghost takes one step only.
            while ((newer := present_names(new, old, new)) != new).any():
                new = newer
        self._noted.clear()
        self.record(old, new)

    def lookup_here(self, ids: np.ndarray) -> np.ndarray:
        """Return the components of ids (int64), as far as this rank owns the path."""
        inside = (ids >= self.first) & (ids < self.last)
        positions = ids[inside] - self.first
        jump_to_representatives(self.parent, self.first, positions)
        names = ids.copy()
        names[inside] = self.parent[positions]
        return names

    def record(self, old: np.ndarray, new: np.ndarray) -> None:
        """Notify the owners of components of new names. Collective.

        `old` must be ascending.
        """
        counts, owned = self._split_by_owner(old)
        number = owned.stop - owned.start
        if number == self.last - self.first:
            self.parent[:] = new[owned]
        elif number:
            self.parent[old[owned] - self.first] = new[owned]
        if self.comm.size == 1:
            return
        old, new = without(old, owned), without(new, owned)
        names = Coded(*encode_near(new, old, counts))
        _, vertices, (data,) = self._send_ids(counts, old, names)
        self.parent[vertices - self.first] = decode_near(data, vertices)

    def lookup(self, ids: np.ndarray) -> np.ndarray:
        """Return the parents of some ascending ids (int64). Collective."""
        batches = self.comm.max(-(-len(ids) // BATCH))
        answers = [
            self._look_up(ids[batch * BATCH : (batch + 1) * BATCH])
            for batch in range(batches)
        ]
        return np.concatenate(answers) if answers else np.empty(0, np.int64)

    def _look_up(self, ids: np.ndarray) -> np.ndarray:
        counts, owned = self._split_by_owner(ids)
        owned_names = self.parent[ids[owned] - self.first]
        if self.comm.size == 1:
            return owned_names
        others = without(ids, owned)
        received, asked, _ = self._send_ids(counts, others)
        parents = self.parent[asked - self.first]
        names = Coded(*encode_near(parents, asked, received))
        _, (data,) = self.comm.reply(counts, received, names)
        answers = decode_near(data, others)
        before, after = answers[: owned.start], answers[owned.start :]
        return np.concatenate([before, owned_names, after])

    def _split_by_owner(self, ids: np.ndarray) -> tuple[np.ndarray, slice]:
        """Return the number of ids each other rank owns, and the slice of owned ids."""
        counts = self.count_by_owner(ids)
        before, owned = counts[: self.comm.rank].sum(), counts[self.comm.rank]
        counts[self.comm.rank] = 0
        return counts, slice(before, before + owned)

    def _send_ids(
        self, counts: np.ndarray, ids: np.ndarray, *columns: Coded
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Send ascending ids to their owners; return counts, ids and columns."""
        sent = Coded(*encode_ascending(ids, counts, self.vtxdist[:-1]))
        received, (data, *others) = self.comm.alltoallv(counts, sent, *columns)
        bases = np.full(self.comm.size, self.first)
        return received, decode_ascending(data, received, bases), others

    def lookup_any(self, ids: np.ndarray) -> np.ndarray:
        """Return the parents of ids in any order, with repeats. Collective."""
        asked, position = distinct(ids)
        return self.lookup(asked)[position]

    def jump(self, positions: np.ndarray) -> None:
        """Point some entries of this rank to their representatives. Collective.

        Pointer jumping: every round at least halves the paths. Steps inside the rank
        need no message. An entry that points to its representative is complete.
        """
        while self.comm.max(len(positions)):
            positions = jump_to_representatives(self.parent, self.first, positions)
            parents = self.parent[positions].astype(np.int64)
            ahead = self.lookup_any(parents)
            self.parent[positions] = ahead
            positions = positions[ahead != parents]

    def members_elsewhere(self, excluding: int) -> np.ndarray:
        """Mark the vertices of this rank that name components of other ranks' vertices.

        Collective. The component `excluding` is not marked. The directory must have
        been resolved.
        """
        foreign = self.parent[entries_leading_away(self.parent, self.first, excluding)]
        asked, _ = distinct(foreign.astype(np.int64))
        _, received, _ = self._send_ids(self.count_by_owner(asked), asked)
        shared = np.zeros(len(self.parent), np.bool_)
        shared[received - self.first] = True
        return shared

    def resolve(self) -> None:
        """Point every vertex to its representative. Collective.

        Paths leave the rank from few vertices, so only these need lookups.
        """
        self.jump(entries_leading_away(self.parent, self.first, NO_OWNER))
        self.shorten()

    def step_up(self, names: np.ndarray, threads: Threads) -> None:
        """Point every vertex of this rank at the parent of its name in `names`.

        The names are components of this rank that were roots.
        """
        bounds = threads.bounds(len(names))
        old, new = (ArrayPieces.of(column, bounds) for column in (names, self.parent))
        threads.run(step_up, old, self.first, self.parent, new)

    def shorten(self) -> None:
        """Point every vertex as far up its path as this rank owns entries."""
        for begin in range(0, len(self.parent), STEP):
            end = min(begin + STEP, len(self.parent))
            jump_to_representatives(self.parent, self.first, np.arange(begin, end))


def without(array: np.ndarray, part: slice) -> np.ndarray:
    """Return an array without a slice of it."""
    return np.concatenate([array[: part.start], array[part.stop :]])


def present_names(names: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return names with those in `old` (ascending) replaced by those in `new`."""
    if len(old) == 0:
        return names
    position = np.minimum(np.searchsorted(old, names), len(old) - 1)
    return np.where(old[position] == names, new[position], names)
