"""Contraction along hooks, and along edges, by all ranks of a host at once.

Every rank works on a range of arrays they share, with its threads; between two steps
all wait for each other. Edges are in columns u, v, key, both ends in one word, numbers
of components, and the position of the edge in (u, v) order, which breaks ties. Each
edge is on one rank, where positions ascend.
"""

import numpy as np

from ..comm.communicator import Comm
from ..comm.shared_memory import SharedMemory
from ..graph.model import EdgeList
from ..kernels.columns import keep_in_place
from ..kernels.hooks import HALF, climb, link
from ..kernels.kruskal import LOW
from ..kernels.numbering import distinct
from ..kernels.proposals import NOBODY, left_apart
from ..kernels.shared import count_isolated, number_roots_apart, renumber
from ..kernels.spanning import spanning_edges, spanning_pairs
from ..kernels.threads import Threads
from .shared_proposals import Columns, Proposals, Range

# Rounds end when so few edges are left; then all ranks merge along all of them.
FEW_EDGES = 1 << 16
# With so many edges for each component that has any, a rank first drops those outside
# their forest: few components with many edges between them stay so round after round.
EDGES_PER_COMPONENT = 3


class SharedContraction:
    """Numbered components of vertices; its calls are collective.

    Parameters
    ----------
    hook : ndarray of uint32, shape (vertices,)
        Shared.

    Attributes
    ----------
    hook : ndarray of uint32, shape (vertices,)
        Shared: where each component hooks, itself if nowhere.
    step : ndarray of uint32, shape (components without isolated vertices,)
        Shared: what became of each component in a round.
    alive : int
        Components that may have edges; they have the numbers below.
    count, isolated : int
        All components, and the vertices without any edge, which have the numbers from
        count - isolated on.
    """

    def __init__(
        self,
        comm: Comm,
        threads: Threads,
        memory: SharedMemory,
        hook: np.ndarray,
    ) -> None:
        self.comm, self.threads, self.memory = comm, threads, memory
        self.hook = hook
        self.count = self.alive = len(hook)
        self.isolated = 0

    def link(self, part: Range, step: np.ndarray) -> list[int]:
        """Find the roots of the hooks in a range; return how many each thread has.

        All must have hooked. `step` is set as `hooks.link` does.
        """
        return self.threads.map(
            lambda b, e: link(self.hook, b, e, step), self.ranges(part)
        )

    def number(
        self, part: Range, step: np.ndarray, roots: list[int], idle: int = NOBODY
    ) -> None:
        """Number the roots of a range, and point the rest of it at theirs.

        Those that hook nowhere are taken for finished, but for an idle one.
        """
        ranges = self.ranges(part)
        isolated = self.threads.map(
            lambda b, e: count_isolated(self.hook, b, e, idle), ranges
        )
        counts = np.stack([np.subtract(roots, isolated), isolated])
        every = self.comm.allgather(
            counts.sum(axis=1)
        )  # now all have found their roots
        alive, finished = every.sum(axis=0).tolist()
        before = every[: self.comm.rank].sum(axis=0) + np.array([0, alive])
        starts = before + np.cumsum(counts, axis=1).T - counts.T
        self.threads.map(
            lambda part, start: number_roots_apart(
                step, self.hook, part[0], part[1], idle, start[0], start[1]
            ),
            list(zip(ranges, starts.tolist(), strict=True)),
        )
        self.count += alive + finished - self.alive
        self.alive = alive
        self.comm.barrier()
        self.threads.map(lambda b, e: climb(step, b, e), ranges)
        self.comm.barrier()

    def vertices_hooked(self) -> None:
        """Prepare for components that are no single vertices any more.

        They have two vertices at least, but for the isolated: so where the other
        vertices hooked there is room for `step`, and for more.
        """
        self.isolated = self.count - self.alive
        _, self.step, rest = np.split(self.hook, [self.alive, 2 * self.alive])
        self.memory.lend(rest)

    def join(
        self, columns: Columns, forest_edges: list[EdgeList]
    ) -> tuple[Range, np.ndarray, int]:
        """Merge along the forest of edges, whose ends are in different components.

        Parameters
        ----------
        columns : list of ndarray
            The edges of this rank; overwritten. Not in scratch memory.
        forest_edges : list of EdgeList
            Those of them that are in the forest are added to it.

        Returns
        -------
        part : (int, int)
            This rank's range of the numbers that components had, but isolated vertices.
        number : ndarray of uint32
            What these are now.
        shift : int
            Is to be added to the numbers of isolated vertices.
        """
        before = self.count
        self.alive = self.count - self.isolated
        first = part = self.share_of(self.alive)
        number = np.arange(*part, dtype=np.uint32)
        columns = self._without_cycles(columns)
        left = self.comm.sum(len(columns[0]))
        proposals: Proposals | None = None
        while left:
            self.hook[slice(*part)] = np.arange(*part, dtype=np.uint32)
            idle = NOBODY
            replicated = left <= FEW_EDGES
            if not replicated:
                key, pairs, position = columns[2:]
                proposals = proposals or Proposals(
                    self.comm, self.threads, self.memory, key.dtype, position
                )
                chosen, idle = proposals.hook_lightest(
                    key, pairs, position, self.alive, self.hook
                )
            else:
                chosen = self._hook_replicated(columns)
            forest_edges.append(EdgeList(*columns[:3]).take(chosen))
            alive, count = self.alive, self.count
            self.number(part, self.step, self.link(part, self.step), idle)
            part = self.share_of(self.alive)
            self.threads.map(
                lambda b, e, shift=count - self.count, alive=alive: renumber(
                    number[b:e], self.step, alive, shift
                ),
                self.threads.ranges(len(number)),
            )
            if replicated:  # nothing is left between components
                self.comm.barrier()  # all have looked at `step`
                break
            columns = self._without_cycles(self.left_apart(columns, self.step))
            left = self.comm.sum(len(columns[0]))
        return first, number, self.count - before

    def left_apart(self, columns: Columns, step: np.ndarray) -> Columns:
        """Give edges the components after a step; drop those inside one."""
        return keep_in_place(
            lambda u, v, key, pairs, at: left_apart(u, v, key, pairs, at, step),
            columns,
            self.threads,
        )

    def _without_cycles(self, columns: Columns) -> Columns:
        """Drop edges outside the forest of this rank's, if they are many."""
        if len(columns[0]) <= EDGES_PER_COMPONENT * self.alive:
            return columns
        key, pairs, _ = columns[2:]
        parent = np.arange(self.alive, dtype=np.uint32)
        kept = np.flatnonzero(spanning_pairs(key, pairs, parent, self.threads))
        return [column[kept] for column in columns]

    def _hook_replicated(self, columns: Columns) -> np.ndarray:
        """Hook components onto their trees in the forest; mark its edges here."""
        position = columns[-1]
        ends = position[[0, -1]].tolist() if len(position) else [0, 0]
        every = self.comm.allgather(np.array([len(position), *ends]))
        key, pairs = map(self.comm.allgatherv, columns[2:4])
        order: slice | np.ndarray = slice(None)
        if (np.diff(every[every[:, 0] > 0, 1:].ravel()) < 0).any():
            # Ascending runs, which NumPy's stable sort merges.
            order = np.argsort(self.comm.allgatherv(position), kind="stable")
            key, pairs = key[order], pairs[order]
        if self.alive <= len(key):
            parent = np.arange(self.alive, dtype=np.uint32)
            kept = spanning_pairs(key, pairs, parent, self.threads)
            mine = slice(*self.share_of(self.alive))
            self.hook[mine] = parent[mine]
        else:
            ends = np.concatenate([pairs >> HALF, pairs & LOW]).view(np.int64)
            labels, places = distinct(ends, self.threads)
            parent = np.arange(len(labels), dtype=np.uint32)
            a, b = np.split(places, 2)
            kept = spanning_edges(key, a, b, parent, self.threads)
            if self.comm.rank == 0:  # all have cleared theirs: their edges are here
                self.hook[labels] = labels[parent]
        self.comm.barrier()
        chosen = np.empty_like(kept)
        chosen[order] = kept
        before = every[: self.comm.rank, 0].sum()
        return chosen[before : before + len(position)]

    def share_of(self, count: int) -> Range:
        """Return this rank's range of so many things."""
        rank, size = self.comm.rank, self.comm.size
        return count * rank // size, count * (rank + 1) // size

    def ranges(self, part: Range) -> list[Range]:
        """Return a range of this rank's for each thread."""
        begin, end = part
        return [(begin + b, begin + e) for b, e in self.threads.ranges(end - begin)]
