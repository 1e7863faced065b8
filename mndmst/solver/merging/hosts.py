"""Ranks of a host contract as one team if edges have no locality.

Nearly every edge leads to another rank. So the ranks of a host share arrays of all
vertices and contract as one team, as the threads of a rank do. The two devices of a
single rank do the same for any graph: they share the host's memory, so no border lies
between them. Hosts send each other the hooks of vertices, then the forests of their
edges, and every host computes the same merge [1]. The remaining edges of a band have no
ghosts, so no rank looks up a name.

[1] Dehne and Götz: Practical parallel algorithms for minimum spanning trees, SRDS
    1998: they replicate the vertices and divide the edges.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ...backends.base import Band
from ...comm.hosts import Hosts
from ...graph.model import EdgeColumns, EdgeList, ReducedGraph
from ...host.errors import ConfigError
from ...host.memory import free_bytes
from ...host.memory_costs import HOST_VERTEX_BYTES
from ...kernels.contraction import Contraction, CrossPieces
from ...kernels.edge_columns import EdgePieces, add_marked, concatenate_columns
from ...kernels.freed_memory import KEPT_SHARE
from ...kernels.heavier_arcs import GiantComponent, heavier_edges
from ...kernels.hooks import NUMBER, Hooks, vertices_outside, write_names
from ...kernels.kruskal import HALF, LOW
from ...kernels.threads import each_range
from ...native.call_columns import ArrayPieces, calls_of
from ..bands import bands, giant_component
from ..heavier import CrossEdges
from ..reduced_graphs import drop_unused
from ..run import Run
from ..write import owned_edges
from .messages import MergeByMessages, MergeStart
from .phases import BandSequence, HeavyEdges, Remainder, RowBand
from .strategy import Facts, HyPar, NotSuitableError, Strategy, StrategySetting


class HostComponents:
    """Numbered components of all vertices, shared by the ranks of a host. Collective.

    With `keep`, the run keeps the shared memory for its next solve. Raises ConfigError
    on every rank of a host without memory to share.
    """

    def __init__(self, run: Run, hosts: Hosts, keep: bool) -> None:
        self.run, self.hosts, directory = run, hosts, run.directory
        self._owned = directory.first, directory.last
        if not keep:
            run.shared.clear()
        self.team = hosts.team(run.threads, run.shared if keep else None)
        self._contraction = Contraction(
            self.team, run.num_vertices, self._owned, named=True
        )

    @property
    def owned(self) -> np.ndarray:
        """The components of the vertices that this rank owns."""
        return self._contraction.component[slice(*self._owned)]

    def hook_rows(self, band: Band) -> EdgePieces:
        """Contract along the lightest edge of every vertex, in the lightest band.

        Returns this rank's remaining edges of the band.
        """
        run, contraction = self.run, self._contraction
        # Memory for the keys of other ranks is never touched
        best = np.empty(run.num_vertices, run.workers[0].rows.key_dtype)
        hooks = Hooks(contraction.component, best)
        lists = run.at_once([
            partial(w.backend.row_hooks, w.uploaded, band, hooks)
            for w in run.workers
        ])  # fmt: skip
        vtxdist = run.directory.vtxdist.tolist()
        self.hosts.complete(self.team, contraction.component, vtxdist)
        best = best[slice(*self._owned)]
        out = EdgeColumns(*(np.empty(len(best), t) for t in ("u4", "u4", best.dtype)))
        count = contraction.link(best, out)
        run.state.forest_edges.append(EdgeList(*out.part(0, count)))
        return self._pieces(*lists)

    def _pieces(self, *lists: EdgeList) -> EdgePieces:
        """Divide lists of edges, each before the next one in order, among threads."""
        pieces = [
            EdgePieces.of(edges.columns, self.run.threads.bounds(len(edges)))
            for edges in lists
        ]
        return EdgePieces(*map(ArrayPieces.together, zip(*pieces, strict=True)))

    def edges_out_of(self, giant: int, above: int) -> EdgePieces:
        """Return the edges above a key that leave the giant component.

        Each edge is on the owner of its smaller end.
        """
        component, run = self._contraction.component, self.run
        giant = component.dtype.type(giant)
        components = GiantComponent.of_rows(component, giant)
        columns = []
        for worker in run.workers:
            rows = worker.rows.as_whole()
            first, length = worker.rows.first, len(worker.rows)
            ranges = each_range(first + run.threads.bounds(length))
            outside = run.threads.run(
                vertices_outside, giant, component, rows.indptr, *ranges
            )
            key = rows.keys.dtype.type(above)
            parts = run.threads.run(
                heavier_edges, rows.csr, components, key, rows.last, outside
            )
            columns += calls_of(parts, len(outside))
        lists = [EdgeList(*part) for part in columns]
        first, last = self._owned
        for edges in lists:
            elsewhere = (edges.u < first) | (edges.u >= last)
            run.report.ship(int(np.count_nonzero(elsewhere)))
        return self._pieces(owned_edges(run.directory, lists, run.threads))

    def merge(
        self, edges: EdgePieces, after: str, capacity: int
    ) -> ReducedGraph | None:
        """Contract along the forest of all ranks' edges after a step.

        `edges` has this rank's edges in (u, v) order, before the next rank's edges;
        they are overwritten. `after` names the step. If the forests of all hosts' edges
        together exceed `capacity` bytes, nothing is contracted: the directory gets the
        components, and each rank returns its edges in the forest of its host.
        """
        run, contraction = self.run, self._contraction
        parts = contraction.cross_edges(edges)
        count = int(parts.edges.key.lengths.sum())
        run.report.level(after, run.comm.sum(count))
        self._count_shared(count)
        if self.hosts.count == 1:
            self._add_to_forest(parts.edges, contraction.contract(parts))
        else:
            part, pairs = self._filtered(parts)
            counts = run.comm.allgather(len(pairs))
            if counts.sum() * run.config.tuning.merged_edge_bytes > capacity:
                self.publish()
                return self._graph(part, pairs)
            mask = self._contract_all(part.key, pairs, counts)
            whole = np.array([0, len(mask)])
            self._add_to_forest(EdgePieces.of(part, whole), ArrayPieces.of(mask, whole))
        contraction.update_components()
        return None

    def _add_to_forest(self, parts: EdgePieces, masks: ArrayPieces) -> None:
        """Add marked edges to the forest."""
        most = int(masks.lengths.sum())  # unused pages stay untouched
        edges = EdgeColumns(*(np.empty(most, column.dtype) for column in parts))
        count = add_marked(parts, masks, edges, 0, self.run.threads)
        self.run.state.forest_edges.append(EdgeList(*edges.part(0, count)))

    def _filtered(self, parts: CrossPieces) -> tuple[EdgeColumns, np.ndarray]:
        """Return this rank's edges in the forest of its host, and their components.

        Both components of an edge are in one word.
        """
        pairs = ArrayPieces.of(parts.pairs, *parts.ranges)
        masks = self._contraction.cycle_filter(parts)
        columns = *parts.edges, pairs
        filtered = [[c[i][masks[i]] for c in columns] for i in range(len(masks))]
        *edges, filtered_pairs = concatenate_columns(filtered, self.run.threads)
        return EdgeColumns(*edges), filtered_pairs

    def _contract_all(
        self, key: np.ndarray, pairs: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Contract along the forest of all hosts' edges; mark this rank's edges in it.

        `counts` has the number of edges of each rank.
        """
        bounds = np.cumsum([0, *counts]).tolist()
        begin, end = bounds[self.run.comm.rank], bounds[self.run.comm.rank + 1]
        every = self.team.arrays((bounds[-1], key.dtype), (bounds[-1], np.uint64))
        for column, mine in zip(every, (key, pairs), strict=True):
            column[begin:end] = mine
            self.hosts.complete(self.team, column, bounds)
        self.run.report.ship(end - begin)
        return self._contraction.contract_all(*every)[begin:end]

    def _graph(self, edges: EdgeColumns, pairs: np.ndarray) -> ReducedGraph:
        """Return the edges as a reduced graph without interior components."""
        names = self._contraction.names.astype(np.int64)
        a, b = (end.astype(np.uint32) for end in (pairs >> HALF, pairs & LOW))
        interior = np.zeros(len(names), np.bool_)
        return drop_unused(ReducedGraph(EdgeList(*edges), a, b, names, interior))

    def _count_shared(self, count: int) -> None:
        """Count the edges of this rank that other ranks process.

        The ranks of a host process equal shares of all its edges.
        """
        counts = self.team.counts(count).ravel()
        rank = self.team.rank
        first, last = int(counts[:rank].sum()), int(counts[: rank + 1].sum())
        begin, end = self.team.share(int(counts.sum()))
        self.run.report.ship(count - max(0, min(end, last) - max(begin, first)))

    def publish(self) -> None:
        """Write the components to the directory, each named by one of its vertices."""
        threads, parent = self.run.threads, self.run.directory.parent
        roots, names = self._contraction.parent, self._contraction.names
        ranges = each_range(threads.bounds(len(parent)))
        threads.run(write_names, self.owned, roots, names, *ranges, parent)


HOOK_BYTES = 4  # per vertex, sent between hosts

HostPhase = RowBand | HeavyEdges


@dataclass(frozen=True)
class HostEdges:
    """This rank's remaining edges of a phase."""

    edges: EdgePieces
    phase: HostPhase

    @property
    def step(self) -> str:
        """The last step of the phase, as named in the report."""
        return "hook" if isinstance(self.phase, RowBand) else "heavier"

    @property
    def last(self) -> bool:
        """Whether the phase is the last one."""
        phase = self.phase
        return isinstance(phase, HeavyEdges) or phase.band.high is None


class MergeOnHosts(HyPar[HostPhase, HostEdges, HostEdges]):
    """Every host keeps the component of every vertex, and its ranks are one team.

    If the lightest band makes no giant component, or hosts would have to exchange too
    many edges, `MergeByMessages` continues.
    """

    name = "hosts"
    each_rank: ClassVar[bool] = False  # Whether every rank counts as a separate host

    def __init__(self, setting: StrategySetting) -> None:
        super().__init__(setting)
        run = self.run
        hosts = Hosts(run.comm, each_rank=self.each_rank)
        rows = run.comm.sum(sum(worker.rows.nbytes for worker in run.workers))
        self._capacity = int(run.config.tuning.sent_share * rows / hosts.count)
        sent = HOOK_BYTES * run.num_vertices if hosts.count > 1 else 0
        needed, shared = HOST_VERTEX_BYTES * run.num_vertices, sum(map(len, run.shared))
        free = run.comm.min(min(run.budget.room(), free_bytes()) + shared)
        if sent > self._capacity or needed > free:
            hosts.free()
            raise NotSuitableError(
                "a list of all vertices is too large to be sent, or for a rank"
            )
        components = None
        with suppress(ConfigError):  # on all ranks of the host
            components = HostComponents(run, hosts, KEPT_SHARE * needed <= free)
        if not run.comm.min(int(components is not None)) or components is None:
            hosts.free()
            raise NotSuitableError("a host has no room for shared arrays")
        self._components = components
        self._setting = setting
        self._sequence = BandSequence(bands(run, run.config.light_edges))

    @staticmethod
    def refuses(facts: Facts) -> str | None:
        """See `Strategy.refuses`."""
        if facts.ranks == 1 and facts.workers == 1:
            return "there is one rank, with one device"
        if facts.pieces > facts.workers:
            return "rows stay in their file"
        if facts.ranks > 1 and facts.has_locality:
            return f"only {facts.cut_share:.0%} of the edges lead to other ranks"
        if facts.num_vertices > int(NUMBER):
            return f"there are more than {int(NUMBER):,} vertices"
        if facts.resumed or facts.custom_exception:
            return "the run resumes, or has an exception condition of its own"
        return None

    def first_phase(self) -> HostPhase:
        """See `HyPar.first_phase`."""
        return RowBand(self._sequence.bands[0])

    def next_phase(
        self, phase: HostPhase, remaining: HostEdges
    ) -> HostPhase | Strategy | None:
        """Return the edges that leave the giant component, if there is one."""
        if isinstance(phase, HeavyEdges) or remaining.last:
            return None
        with self.run.report.stage("resolve"):
            giant = giant_component(self.run, self._components.owned)
        if giant is not None:
            return HeavyEdges(giant, phase.band)
        self._publish()
        start = MergeStart(self._sequence, self._sequence.after(phase))
        return MergeByMessages(self._setting, start)

    def ind_comp(self, phase: HostPhase) -> HostEdges:
        """Hook every vertex, or search the rows outside the giant component."""
        if isinstance(phase, HeavyEdges):
            with self.run.report.stage("heavier"):
                edges = self._components.edges_out_of(phase.giant, phase.above)
        else:
            with self.run.report.stage("hook"):
                edges = self._components.hook_rows(phase.band)
        return HostEdges(edges, phase)

    def merge_parts(self, remaining: HostEdges) -> HostEdges | Strategy:
        """Merge along the edges: inside each host, then between hosts."""
        edges, step = remaining.edges, remaining.step
        with self.run.report.stage("hosts"):
            unmerged = self._components.merge(edges, step, self._capacity)
        if unmerged is None:
            return remaining
        remainder = Remainder(CrossEdges(unmerged, with_owners=False), remaining.phase)
        return MergeByMessages(self._setting, MergeStart(self._sequence, remainder))

    def post_process(self, merged: HostEdges) -> None:
        """Write the components to the directory if they are final or may be saved."""
        if merged.last or self.run.save is not None:
            self._publish()

    def free(self) -> None:
        """Free the communicators of the hosts."""
        self._components.hosts.free()

    def _publish(self) -> None:
        with self.run.report.stage("publish"):
            self._components.publish()
        self.run.safe_point()


class ReplicateComponents(MergeOnHosts):
    """Every rank keeps the component of every vertex; no memory is shared."""

    name = "replicated"
    each_rank = True
