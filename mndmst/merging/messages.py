"""Ranks merge by messages: rounds, rings and leaders, as in MND-MST.

The lightest edges, about as many as there are vertices, usually make a giant
component; of the others only those matter that leave a vertex outside it. For spanning
forests this is filter-Kruskal [1]; for connected components, where a light edge is as
good as any, it is the sampling of Afforest [2].

[1] Osipov, Sanders, Singler: The filter-Kruskal minimum spanning tree algorithm,
    ALENEX 2009. [2] Sutton, Ben-Nun, Barak: Optimizing parallel graph connectivity
    computation via subgraph sampling, IPDPS 2018.
"""

from collections.abc import Iterator
from typing import Any

from ..backends.base import Band
from ..graph.model import ReducedGraph
from ..steps.bands import bands, giant_component
from ..steps.heavier import Between, band_edges, heavier_edges
from ..steps.local import contract_heavier
from ..steps.parts import contract_graph, contract_workers, learn_names
from ..steps.streamed import contract_stored
from .leaders import finish, merge_ranks
from .strategy import Facts, Setting, Strategy

# The width of the first band where most of its edges travel to other ranks: there an
# edge in the band costs more than a vertex left outside.
TRAVELLING = 0.75
# Up to this share of cut arcs a rank goes through all its edges by itself. It may have
# to keep an edge for each of them.
NEAR_SHARE = 0.02


class Messages(Strategy):
    """Parts merge by messages between ranks; serves every run."""

    name = "messages"
    width = 1.0

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        run, facts, self.exception, _ = setting
        by_cost = run.config.merge not in ("ring", "boruvka")
        if not facts.has_locality and by_cost:
            self.width = TRAVELLING
        alone = facts.workers == 1 and not facts.stored and not facts.resumed
        self._contracts_heavier = alone and facts.cut_share <= NEAR_SHARE
        self._done = False  # whether ranks have gone through all edges by themselves

    @staticmethod
    def refuses(merge: str, facts: Facts) -> str | None:
        """See `Strategy.refuses`."""
        return None

    def portions(self) -> Iterator[Band | Between]:
        """Yield the edges, lightest first.

        Yields
        ------
        Band or Between
            First a band of the rows as they are read; then edges between the
            components found so far, which may reach over several ranks.
        """
        run = self.run
        for number, band in enumerate(bands(run, self.width * run.config.light_edges)):
            run.state.done = band.low
            run.report.portion = f"band {number}"
            if number == 0 and not run.resumed:
                yield band
            else:
                with run.report.stage("band", band=number):
                    edges = band_edges(run, band)
                yield edges
            if band.high is None or self._done:
                return
            giant = self._giant(number)
            if giant is not None:
                run.report.portion = "heavier"
                yield self._heavier(number, giant, band.high)
                return

    def _giant(self, number: int) -> int | None:
        """Return the giant component after a band, if there is one. Collective."""
        with self.run.report.stage("resolve", band=number):
            self.run.directory.resolve()
            return giant_component(self.run, self.run.directory.parent)

    def _heavier(self, number: int, giant: int, above: int) -> Any:
        """Return the edges above a band that leave the giant component. Collective."""
        with self.run.report.stage("heavier"):
            return heavier_edges(self.run, giant, above)

    def ind_comp(self, edges: Band | Between) -> Between:
        """Contract what each rank holds by itself; see `Strategy.ind_comp`."""
        # 3. Parts contract up to their borders
        with self.run.report.stage("indComp"):
            if isinstance(edges, Band):
                return Between(self._contract_rows(edges), renamed=True)
            # No rank alone may contract components that reach over several ranks.
            if not edges.graph.own.any():
                return edges
            graph = contract_graph(self.run, edges.graph, self.exception)
            return edges._replace(graph=graph, renamed=True)

    def _contract_rows(self, band: Band) -> ReducedGraph:
        run = self.run
        if run.stored is not None:
            return contract_stored(run, run.stored, self.exception)
        left = contract_workers(run, band, self.exception)
        if self._contracts_heavier and band.high is not None:
            remaining = contract_heavier(run, left, band.high, self.exception)
            if remaining is not None:
                self._done = True
                return remaining
        return left

    def merge_parts(self, left: Between) -> ReducedGraph:
        """Merge what the ranks have left until one of them has it all.

        Ghosts get their present names, self edges and multi-edges go, and ranks merge
        (`leaders.py`).

        Returns
        -------
        ReducedGraph
            On the last leader what is left of the whole graph, elsewhere nothing.
        """
        run, graph = self.run, left.graph
        # 4. Ghosts get their present names; self edges and multi-edges go
        with run.report.stage("mergeParts"):
            if run.comm.max(int(left.renamed)):
                graph = learn_names(run, graph)
            edges = run.comm.sum(len(graph))
        run.report.level("indComp", edges)
        run.safe_point()
        # Rounds, 5. rings and 6. leaders
        return merge_ranks(run, left._replace(graph=graph), self.exception)

    def post_process(self, left: ReducedGraph) -> None:
        """Contract the rest on the last leader; see `Strategy.post_process`."""
        # 7. No component is a ghost any more
        with self.run.report.stage("finish"):
            finish(self.run, left, self.exception)
