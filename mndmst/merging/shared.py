"""The ranks of one host contract on arrays they share, as one team.

Without locality nearly every edge leads to another rank. While all ranks are on one
host, they need no messages: each reads and writes the same arrays, as threads would.
"""

import numpy as np

from ..backends.base import Band
from ..comm.host_team import HostTeam
from ..graph.model import EdgeColumns, EdgeList
from ..host.errors import ConfigError
from ..kernels.columns import joined
from ..kernels.contraction import Contraction
from ..kernels.heavier_arcs import Components, heavier_arcs
from ..kernels.hooks import outside_of
from ..kernels.names import name_components, name_vertices
from ..run.run import Run
from ..steps.write import owned_edges

# Bytes for each vertex of the graph that a rank may come to touch.
VERTEX_BYTES = 32


class SharedComponents:
    """The components of all vertices, shared by all ranks; its calls are collective.

    `publish` writes them to the directory.
    """

    def __init__(self, run: Run) -> None:
        self.run, directory = run, run.directory
        self._home = directory.first, directory.last
        self._team = HostTeam(run.comm, run.threads)
        self._contraction = Contraction(self._team, run.num_vertices, self._home)

    @classmethod
    def of(cls, run: Run) -> "SharedComponents | None":
        """Return the shared state; None on all ranks if one is short of memory."""
        nbytes = VERTEX_BYTES * run.num_vertices
        if not run.comm.min(int(run.budget.has(nbytes))):
            return None
        try:
            return cls(run)
        except ConfigError:  # on all ranks: there is no room for that much
            return None

    @property
    def owned(self) -> np.ndarray:
        """The components of the vertices that this rank owns."""
        return self._contraction.component[slice(*self._home)]

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
        run, contraction = self.run, self._contraction
        found = run.at_once([
            lambda worker=w: worker.backend.row_hooks(worker.placed, band)
            for w in run.workers
        ])  # fmt: skip
        hooks, bests, lists = zip(*found, strict=True)
        for worker, hook in zip(run.workers, hooks, strict=True):
            contraction.hook[worker.rows.first : worker.rows.last] = hook
        (best,) = joined([[best] for best in bests], run.threads)
        room = EdgeColumns(*(np.empty(len(best), t) for t in ("u4", "u4", best.dtype)))
        count = contraction.link(best, room)
        run.state.forest_edges.append(EdgeList(*room.part(0, count)))
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
        component, run = self._contraction.component, self.run
        giant = component.dtype.type(giant)
        columns = []
        for worker in run.workers:
            whole = worker.rows.as_whole()

            def walk(begin, end, rows=whole):
                outside = outside_of(giant, component, rows.indptr, begin, end)
                known = Components.of_rows(component, giant)
                key = rows.keys.dtype.type(above)
                arcs = heavier_arcs(rows.csr, known, key, rows.last, outside)
                tail, head, weight, _ = arcs
                return np.minimum(tail, head), np.maximum(tail, head), weight

            first, length = worker.rows.first, len(worker.rows)
            ranges = [(first + b, first + e) for b, e in run.threads.ranges(length)]
            columns += run.threads.map(walk, ranges)
        lists = [EdgeList(*part) for part in columns]
        first, last = self._home
        for edges in lists:
            away = (edges.u < first) | (edges.u >= last)
            run.report.ship(int(np.count_nonzero(away)))
        return owned_edges(run.directory, lists, run.threads)

    def join(self, edges: EdgeList, after: str) -> None:
        """Merge along the forest of the edges that a step has left on all ranks.

        Parameters
        ----------
        edges : EdgeList
            Of this rank, in (u, v) order; those of the next rank follow. Overwritten.
        """
        run, contraction = self.run, self._contraction
        parts = run.threads.map(
            lambda begin, end: contraction.joining(*edges.columns.part(begin, end)),
            run.threads.ranges(len(edges)),
        )
        left = self._team.counts(sum(len(part.key) for part in parts)).ravel()
        run.report.level(after, int(left.sum()))
        run.report.ship(self._given(left))
        for part, mask in zip(parts, contraction.join(parts), strict=True):
            run.state.forest_edges.append(EdgeList(*part[:3]).take(mask))
        contraction.settle()

    def _given(self, counts: np.ndarray) -> int:
        """Return how many of this rank's edges are in other ranks' equal shares."""
        rank = self.run.comm.rank
        first = int(counts[:rank].sum())
        begin, end = self._team.share(int(counts.sum()))
        last = first + int(counts[rank])
        return last - first - max(0, min(end, last) - max(begin, first))

    def publish(self) -> None:
        """Write the components to the directory, each called after one of its vertices.

        A vertex without any edge needs no name.
        """
        component, team = self._contraction.component, self._team
        (names,) = team.arrays((self._contraction.alive, np.uint32))
        names[slice(*team.share(len(names)))] = 0
        team.sync()
        self.run.threads.map(
            lambda b, e: name_components(component, b, e, names),
            team.ranges(len(component)),
        )
        team.sync()
        first, parent = self._home[0], self.run.directory.parent
        self.run.threads.map(
            lambda b, e: name_vertices(component, names, first + b, parent[b:e]),
            self.run.threads.ranges(len(parent)),
        )
