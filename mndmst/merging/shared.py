"""All ranks of one host merge at once, on arrays they share.

Without locality nearly every edge leads to another rank. While all ranks are on one
host, they need no messages: each reads and writes a range of the same arrays, as
threads would. Every vertex hooks; then the edges of the band that are left are divided
in equal parts, and Borůvka rounds follow, in which ranks send only counts
(`shared_contraction.py`).
"""

import numpy as np

from ..backends.base import Band
from ..comm.shared_memory import SharedMemory
from ..graph.model import EdgeList
from ..host.errors import ConfigError
from ..kernels.columns import joined
from ..kernels.heavier_arcs import Components, heavier_arcs
from ..kernels.hooks import edges_of_hooks, outside_of
from ..kernels.shared import name_components, name_vertices, replace_numbers
from ..kernels.spanning import packed
from ..run.run import Run
from ..steps.write import owned_edges
from .shared_contraction import SharedContraction

# Bytes for each vertex of the graph that a rank may come to touch.
VERTEX_BYTES = 32


class Together:
    """What the ranks of a host share while they merge; its calls are collective.

    `publish` writes the components to the directory.

    Attributes
    ----------
    component : ndarray of uint32, shape (vertices,)
        Shared: the number of each vertex's component.
    """

    def __init__(self, run: Run, memory: SharedMemory) -> None:
        self.run, self.comm, self.memory = run, run.comm, memory
        n = run.num_vertices
        self.component, hook = memory.arrays((n, np.uint32), (n, np.uint32))
        self.contraction = SharedContraction(run.comm, run.threads, memory, hook)

    @classmethod
    def of(cls, run: Run) -> "Together | None":
        """Return the shared state; None on all ranks if one is short of memory."""
        nbytes = VERTEX_BYTES * run.num_vertices
        if not run.comm.min(int(run.budget.has(nbytes))):
            return None
        try:
            return cls(run, SharedMemory(run.comm))
        except ConfigError:  # on all ranks: there is no room for that much
            return None

    @property
    def owned_components(self) -> np.ndarray:
        """The components of the vertices that this rank owns."""
        return self.component[self.run.directory.first : self.run.directory.last]

    def hook_rows(self, band: Band) -> EdgeList:
        """Contract along the lightest edge of every vertex.

        Parameters
        ----------
        band : Band
            The lightest one.

        Returns
        -------
        EdgeList
            This rank's other edges of the band.
        """
        run, shared = self.run, self.contraction
        home = run.directory.first, run.directory.last
        found = run.at_once([
            lambda worker=w: worker.backend.row_hooks(worker.placed, band)
            for w in run.workers
        ])  # fmt: skip
        hooks, bests, lists = zip(*found, strict=True)
        for worker, hook in zip(run.workers, hooks, strict=True):
            shared.hook[worker.rows.first : worker.rows.last] = hook
        self.comm.barrier()
        part = shared.share_of(run.num_vertices)
        roots = shared.link(part, self.component)
        self.comm.barrier()
        (best,) = joined([[best] for best in bests], run.threads)
        run.state.forest_edges.append(
            edges_of_hooks(shared.hook, best, self.component, *home)
        )
        shared.number(part, self.component, roots)
        shared.vertices_hooked()
        edges = [[edges.u, edges.v, edges.key] for edges in lists]
        return EdgeList(*joined(edges, run.threads))

    def leaving(self, giant: int, above: int) -> EdgeList:
        """Return the edges above a key that leave the giant component.

        Each is on the rank that owns its smaller end.

        Parameters
        ----------
        giant : int
            The number of the giant component.
        """
        giant = self.component.dtype.type(giant)
        columns = []
        for worker in self.run.workers:
            whole = worker.rows.as_whole()

            def walk(begin, end, rows=whole):
                outside = outside_of(giant, self.component, rows.indptr, begin, end)
                components = Components.of_rows(self.component, giant)
                key = rows.keys.dtype.type(above)
                arcs = heavier_arcs(rows.csr, components, key, rows.last, outside)
                tail, head, weight, _ = arcs
                return np.minimum(tail, head), np.maximum(tail, head), weight

            home = worker.rows.first, worker.rows.last
            columns += self.run.threads.map(walk, self.contraction.ranges(home))
        lists = [EdgeList(*part) for part in columns]
        directory = self.run.directory
        for edges in lists:
            away = (edges.u < directory.first) | (edges.u >= directory.last)
            self.run.report.ship(int(np.count_nonzero(away)))
        return owned_edges(directory, lists, self.run.threads)

    def join(self, columns: list[np.ndarray], after: str) -> None:
        """Merge along the forest of edges that a step has left.

        Parameters
        ----------
        columns : list of ndarray
            See `dealing.numbered`.
        """
        run, shared = self.run, self.contraction
        u, v, key, position = columns
        columns = [u, v, key, packed(u, v, run.threads), position]
        columns = shared.left_apart(columns, self.component)
        left = self.comm.sum(len(columns[0]))
        run.report.level(after, left)
        self._renumber(*shared.join(columns, run.state.forest_edges))

    def _renumber(self, part: tuple[int, int], number: np.ndarray, shift: int) -> None:
        """Give all vertices their present components."""
        shared = self.contraction
        before = shared.count - shared.isolated - shift  # that `number` tells of
        present = shared.hook[:before]
        present[slice(*part)] = number
        self.comm.barrier()
        self.run.threads.map(
            lambda b, e: replace_numbers(self.component, present, shift, b, e),
            shared.ranges(shared.share_of(self.run.num_vertices)),
        )
        self.comm.barrier()

    def publish(self) -> None:
        """Write the components to the directory, each called after one of its vertices.

        A vertex without any edge needs no name.
        """
        directory, shared = self.run.directory, self.contraction
        names = shared.step[: shared.count - shared.isolated]
        names[slice(*shared.share_of(len(names)))] = 0
        self.comm.barrier()
        self.run.threads.map(
            lambda b, e: name_components(self.component, b, e, names),
            shared.ranges(shared.share_of(self.run.num_vertices)),
        )
        self.comm.barrier()

        def name(begin: int, end: int) -> None:
            here = slice(begin - directory.first, end - directory.first)
            name_vertices(self.component, names, begin, directory.parent[here])

        home = directory.first, directory.last
        self.run.threads.map(name, shared.ranges(home))
