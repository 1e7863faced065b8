"""Contraction along hooks, and along edges, by all ranks of a host at once.

Every rank works on a range of arrays they share, with its threads; between two steps
all wait for each other. Edges are in columns u, v, key and both ends in one word,
numbers of components; each is on one rank, and ranks one after the other have them in
(u, v) order, so that positions over all ranks break ties.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from .backends.numba.columns import joined
from .backends.numba.hooks import HALF, NUMBER, climb, link, number_roots
from .backends.numba.kruskal import LOW
from .backends.numba.proposals import (
    count_proposals,
    decide,
    left_apart,
    propose,
)
from .backends.numba.spanning import spanning_edges, spanning_pairs
from .backends.numba.threads import Threads
from .comm import Comm
from .graph import EdgeList
from .order import id_dtype
from .shared_memory import SharedMemory

# Rounds end when so few edges are left; then all ranks merge along them alike.
FEW_EDGES = 1 << 16
# With so many edges for each component that has any, a rank first drops those outside
# their forest: few components with many edges between them stay so round after round.
EDGES_PER_COMPONENT = 3
# Components are dealt to their owners in blocks, about so many to each.
BLOCKS = 64

Columns = list[np.ndarray]
Range = tuple[int, int]


class SharedContraction:
    """Numbered components; its calls are collective.

    Attributes
    ----------
    hook : ndarray of uint32, shape (vertices,)
        Shared: where each component hooks, itself if nowhere.
    count : int
        How many components there are.
    alive : int
        How many of them may have edges.
    """

    def __init__(
        self, comm: Comm, threads: Threads, memory: SharedMemory, length: int
    ) -> None:
        self.comm, self.threads, self._memory = comm, threads, memory
        shape = (length, np.uint32)
        self.hook, self._step = memory.arrays(shape, shape)
        self.count = self.alive = length
        self._most_threads = comm.max(threads.count)

    def link(self, part: Range, step: np.ndarray) -> list[int]:
        """Find the roots of the hooks in a range; return how many each thread has.

        All must have hooked. `step` is set as `hooks.link` does.
        """
        return self.threads.map(
            lambda b, e: link(self.hook, b, e, step), self.ranges(part)
        )

    def number(self, part: Range, step: np.ndarray, roots: list[int]) -> None:
        """Number the roots of a range, and point the rest of it at theirs."""
        begin, end = part
        lone = np.count_nonzero(self.hook[begin:end] == np.arange(begin, end))
        before = self.comm.prefix(sum(roots))
        self.count, finished = self.comm.sum(np.array([sum(roots), lone])).tolist()
        self.alive = self.count - finished
        places = np.cumsum([before, *roots]).tolist()
        for bounds, place in zip(self.ranges(part), places, strict=False):
            number_roots(step, *bounds, place)
        self.comm.barrier()
        self.threads.map(lambda b, e: climb(step, b, e), self.ranges(part))
        self.comm.barrier()

    def join(self, columns: Columns, fixed: list[EdgeList]) -> tuple[Range, np.ndarray]:
        """Merge along the forest of edges, whose ends are in different components.

        Parameters
        ----------
        columns : list of ndarray
            The edges of this rank; overwritten.
        fixed : list of EdgeList
            Those of them that are in the forest are added to it.

        Returns
        -------
        part : (int, int)
            This rank's range of the numbers that components had.
        number : ndarray of uint32
            What these are now.
        """
        first = part = self.share_of(self.count)
        number = np.arange(*part, dtype=np.uint32)
        columns = self._without_cycles(columns)
        left = self.comm.sum(len(columns[0]))
        proposals = self._memory.arrays(
            (2 * left, np.uint32), (2 * left, np.uint32), (2 * left, columns[2].dtype),
            (2 * left, id_dtype(left + 1)), (left, np.bool_),
        )  # fmt: skip
        while left:
            self.hook[slice(*part)] = np.arange(*part, dtype=np.uint32)
            if left > FEW_EDGES:
                chosen = self._hook_lightest(columns, *proposals)
            else:
                chosen = self._hook_few(columns)
            fixed.append(EdgeList(*columns[:3]).take(chosen))
            self.comm.barrier()
            self.number(part, self._step, self.link(part, self._step))
            part = self.share_of(self.count)
            number = self._step[number] & NUMBER
            columns = self.kept(
                lambda u, v, key, pairs: left_apart(u, v, key, pairs, self._step),
                columns,
            )
            columns = self._without_cycles(columns)
            left = self.comm.sum(len(columns[0]))
        return first, number

    def _without_cycles(self, columns: Columns) -> Columns:
        """Drop edges outside the forest of this rank's, if they are many."""
        if len(columns[0]) <= EDGES_PER_COMPONENT * self.alive:
            return columns
        key, pairs = columns[2:]
        parent = np.arange(self.count, dtype=np.uint32)
        kept = np.flatnonzero(spanning_pairs(key, pairs, parent, self.threads))
        return [column[kept] for column in columns]

    def _hook_lightest(
        self,
        columns: Columns,
        component: np.ndarray,
        other: np.ndarray,
        keys: np.ndarray,
        position: np.ndarray,
        chosen: np.ndarray,
    ) -> np.ndarray:
        """Hook every component along its lightest edge; mark those that are here.

        Parameters
        ----------
        component, other, keys, position, chosen : ndarray
            Shared: room for the proposals of all ranks, and for a mark for each edge.
        """
        _, _, key, pairs = columns
        first = self.comm.prefix(len(key))
        mine = slice(first, first + len(key))
        chosen[mine] = False
        ranges = self.threads.ranges(len(key))
        shift, owner, bounds = self._owners()
        counts = np.zeros((len(ranges), len(bounds)), np.int64)

        def count(i: int, begin: int, end: int) -> None:
            count_proposals(pairs[begin:end], shift, owner, counts[i])

        def write(i: int, begin: int, end: int) -> None:
            propose(
                key[begin:end], pairs[begin:end], first + begin, shift, owner,
                places[i], component, other, keys, position,
            )  # fmt: skip

        numbered = [(i, *part) for i, part in enumerate(ranges)]
        self.threads.map(count, numbered)
        sums = counts.sum(axis=0)
        starts = np.concatenate([[0], np.cumsum(self.comm.sum(sums))])
        places = starts[:-1] + self.comm.prefix(sums) + np.cumsum(counts, axis=0)
        places -= counts
        self.threads.map(write, numbered)
        self.comm.barrier()

        def take(number: int) -> None:
            part, (begin, end) = slice(*starts[number : number + 2]), bounds[number]
            decide(
                component[part], other[part], keys[part], position[part], begin, end,
                self.hook, chosen,
            )  # fmt: skip

        workers = self._most_threads
        owned = range(self.comm.rank * workers, (self.comm.rank + 1) * workers)
        self.threads.map(take, [(number,) for number in owned])
        self.comm.barrier()
        return chosen[mine].copy()

    def _owners(self) -> tuple[int, np.ndarray, list[Range]]:
        """Return which threads of all ranks own which components.

        Returns
        -------
        shift, owner
            Of a component c it is owner[c >> shift].
        ranges : list of (int, int)
            The components of each.
        """
        owners = self.comm.size * self._most_threads
        shift = max(0, (self.count // (BLOCKS * owners)).bit_length() - 1)
        blocks = -(-self.count // (1 << shift))
        bounds = blocks * np.arange(owners + 1) // owners
        owner = np.repeat(np.arange(owners, dtype=np.uint32), np.diff(bounds))
        ends = np.minimum(bounds << shift, self.count).tolist()
        return shift, owner, list(pairwise(ends))

    def _hook_few(self, columns: Columns) -> np.ndarray:
        """Hook components onto their trees in the forest; mark its edges here."""
        _, _, key, pairs = columns
        before = self.comm.prefix(len(key))
        keys, pairs = self.comm.concatenate(key), self.comm.concatenate(pairs)
        ends = np.concatenate([pairs >> HALF, pairs & LOW])
        labels, places = np.unique(ends, return_inverse=True)
        parent = np.arange(len(labels), dtype=np.uint32)
        a, b = np.split(places, 2)
        kept = spanning_edges(keys, a, b, parent, self.threads)
        if self.comm.rank == 0:  # all have cleared their hooks: their edges are here
            self.hook[labels] = labels[parent]
        return kept[before : before + len(key)]

    def kept(self, keep: Callable[..., int], columns: Columns) -> Columns:
        """Return what a function keeps, in place, of the edges in each range."""

        def work(begin: int, end: int) -> Columns:
            part = [column[begin:end] for column in columns]
            left = int(keep(*part))
            return [column[:left] for column in part]

        ranges = self.threads.ranges(len(columns[0]))
        return joined(self.threads.map(work, ranges), self.threads)

    def share_of(self, count: int) -> Range:
        """Return this rank's range of so many things."""
        rank, size = self.comm.rank, self.comm.size
        return count * rank // size, count * (rank + 1) // size

    def ranges(self, part: Range) -> list[Range]:
        """Return a range of this rank's for each thread."""
        begin, end = part
        return [(begin + b, begin + e) for b, e in self.threads.ranges(end - begin)]
