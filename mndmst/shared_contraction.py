"""Contraction along hooks, and along edges, by all ranks of a host at once.

Every rank works on a range of arrays they share, with its threads; between two steps
all wait for each other. Edges are in columns u, v, key and both ends in one word,
numbers of components; each is on one rank, and ranks one after the other have them in
(u, v) order, so that positions over all ranks break ties.
"""

from itertools import pairwise

import numpy as np

from .backends.numba.columns import keep_in_place
from .backends.numba.hooks import HALF, NUMBER, climb, link
from .backends.numba.kruskal import LOW
from .backends.numba.proposals import decide, find_places, left_apart, propose
from .backends.numba.shared import count_lone, number_roots_apart
from .backends.numba.spanning import spanning_edges, spanning_pairs
from .backends.numba.threads import Threads
from .comm import Comm
from .graph import EdgeList
from .order import id_dtype
from .shared_memory import SharedMemory, map_pages

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
    """Numbered components of vertices; its calls are collective.

    Attributes
    ----------
    hook : ndarray of uint32, shape (vertices,)
        Shared: where each component hooks, itself if nowhere.
    step : ndarray of uint32, shape (components without lone vertices,)
        Shared: what became of each component in a round.
    alive : int
        Components that may have edges; they have the numbers below.
    count, lone : int
        All components, and the vertices without any edge, which have the numbers from
        count - lone on.
    """

    def __init__(
        self, comm: Comm, threads: Threads, memory: SharedMemory, vertices: int
    ) -> None:
        self.comm, self.threads, self.memory = comm, threads, memory
        self._most_threads = comm.max(threads.count)
        workers = comm.size * self._most_threads
        self.hook, places = memory.arrays(
            (vertices, np.uint32), (workers * (workers + 1), np.int64)
        )
        self._places = places.reshape(workers, workers + 1)
        self.count = self.alive = vertices
        self.lone = 0

    def link(self, part: Range, step: np.ndarray) -> list[int]:
        """Find the roots of the hooks in a range; return how many each thread has.

        All must have hooked. `step` is set as `hooks.link` does.
        """
        return self.threads.map(
            lambda b, e: link(self.hook, b, e, step), self.ranges(part)
        )

    def number(self, part: Range, step: np.ndarray, roots: list[int]) -> None:
        """Number the roots of a range, and point the rest of it at theirs."""
        ranges = self.ranges(part)
        lone = self.threads.map(lambda b, e: count_lone(self.hook, b, e), ranges)
        counts = np.stack([np.subtract(roots, lone), lone])
        mine = counts.sum(axis=1)
        alive, finished = self.comm.sum(mine).tolist()
        before = self.comm.prefix(mine) + np.array([0, alive])
        starts = before + np.cumsum(counts, axis=1).T - counts.T
        self.threads.map(
            lambda part, start: number_roots_apart(step, self.hook, *part, *start),
            list(zip(ranges, starts.tolist(), strict=True)),
        )
        self.count += alive + finished - self.alive
        self.alive = alive
        self.comm.barrier()
        self.threads.map(lambda b, e: climb(step, b, e), ranges)
        self.comm.barrier()

    def vertices_hooked(self) -> None:
        """Take note that components are no vertices any more."""
        self.lone = self.count - self.alive
        (self.step,) = self.memory.arrays((self.alive, np.uint32))

    def join(
        self, columns: Columns, fixed: list[EdgeList]
    ) -> tuple[Range, np.ndarray, int]:
        """Merge along the forest of edges, whose ends are in different components.

        Parameters
        ----------
        columns : list of ndarray
            The edges of this rank; overwritten. Not in scratch memory.
        fixed : list of EdgeList
            Those of them that are in the forest are added to it.

        Returns
        -------
        part : (int, int)
            This rank's range of the numbers that components had, but lone vertices.
        number : ndarray of uint32
            What these are now.
        shift : int
            Is to be added to the numbers of lone vertices.
        """
        before = self.count
        self.alive = self.count - self.lone
        first = part = self.share_of(self.alive)
        number = np.arange(*part, dtype=np.uint32)
        columns = self._without_cycles(columns)
        left = self.comm.sum(len(columns[0]))
        proposals = self.memory.scratch(
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
            alive, count = self.alive, self.count
            self.number(part, self.step, self.link(part, self.step))
            shift = np.uint32(count - self.count)
            part = self.share_of(self.alive)
            finished = number >= alive
            number[finished] -= shift
            number[~finished] = self.step[number[~finished]] & NUMBER
            columns = keep_in_place(
                lambda u, v, key, pairs: left_apart(u, v, key, pairs, self.step),
                columns,
                self.threads,
            )
            columns = self._without_cycles(columns)
            left = self.comm.sum(len(columns[0]))
        return first, number, self.count - before

    def _without_cycles(self, columns: Columns) -> Columns:
        """Drop edges outside the forest of this rank's, if they are many."""
        if len(columns[0]) <= EDGES_PER_COMPONENT * self.alive:
            return columns
        key, pairs = columns[2:]
        parent = np.arange(self.alive, dtype=np.uint32)
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
        proposed = slice(2 * mine.start, 2 * mine.stop)
        map_pages(*(c[proposed] for c in (component, other, keys, position)))
        shift, owner, owned = self._owners()
        me = self.comm.rank * self._most_threads
        self._places[me : me + self._most_threads] = 0

        def write(worker: int, begin: int, end: int) -> None:
            places, part = self._places[worker], pairs[begin:end]
            find_places(part, shift, owner, 2 * (first + begin), places)
            propose(
                key[begin:end], part, first + begin, shift, owner, places,
                component, other, keys, position,
            )  # fmt: skip

        def take(worker: int, begin: int, end: int) -> None:
            decide(
                component, other, keys, position, self._places, worker, begin, end,
                self.hook, chosen,
            )  # fmt: skip

        ranges = self.threads.ranges(len(key))
        self.threads.map(write, [(me + i, *part) for i, part in enumerate(ranges)])
        self.comm.barrier()
        ranges = owned[me : me + self._most_threads]
        self.threads.map(take, [(me + i, *part) for i, part in enumerate(ranges)])
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
        shift = max(0, (self.alive // (BLOCKS * owners)).bit_length() - 1)
        blocks = -(-self.alive // (1 << shift))
        bounds = blocks * np.arange(owners + 1) // owners
        owner = np.repeat(np.arange(owners, dtype=np.uint32), np.diff(bounds))
        ends = np.minimum(bounds << shift, self.alive).tolist()
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

    def share_of(self, count: int) -> Range:
        """Return this rank's range of so many things."""
        rank, size = self.comm.rank, self.comm.size
        return count * rank // size, count * (rank + 1) // size

    def ranges(self, part: Range) -> list[Range]:
        """Return a range of this rank's for each thread."""
        begin, end = part
        return [(begin + b, begin + e) for b, e in self.threads.ranges(end - begin)]
