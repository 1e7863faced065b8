"""Ranks merge by messages: rounds, rings and leaders, as in MND-MST."""

from dataclasses import dataclass
from typing import ClassVar

from ...backends.base import Band
from ...graph.model import ReducedGraph
from ..bands import bands, giant_component
from ..contract import contract_graph, contract_pieces, learn_names
from ..heavier import CrossEdges, band_edges, contract_heavier, heavier_edges
from .leaders import Path, cheapest_path, finish, merge_ranks
from .portions import BandSequence, HeavyEdges, LaterBand, Remainder, RowBand
from .strategy import Facts, HyPar, StrategySetting

MessagePortion = RowBand | LaterBand | HeavyEdges | Remainder


@dataclass(frozen=True)
class MergeStart:
    """The first portion of the strategy: of all bands, or after another strategy."""

    sequence: BandSequence
    portion: MessagePortion


class MergeByMessages(HyPar[MessagePortion, CrossEdges, ReducedGraph]):
    """Parts merge by messages between ranks; serves every run.

    It begins with the portion of `start`, by default the lightest band of the run.
    """

    name = "messages"
    # Whether most edges of a graph without locality move to another rank at once, so
    # that a narrower first band pays. A ring moves few at a time, a round none.
    moves_edges: ClassVar[bool] = True

    def __init__(
        self, setting: StrategySetting, start: MergeStart | None = None
    ) -> None:
        super().__init__(setting)
        run, facts, self.exception = setting.run, setting.facts, setting.exception
        near = facts.cut_share <= run.config.tuning.near_share
        self._contracts_heavier = near and facts.pieces == 1
        if start is None:
            travels = self.moves_edges and not facts.has_locality
            width = run.config.tuning.travelling_width if travels else 1.0
            sequence = BandSequence(bands(run, width * run.config.light_edges))
            start = MergeStart(sequence, sequence.first(run.resumed))
        self._start = start

    @staticmethod
    def refuses(facts: Facts) -> str | None:
        """See `Strategy.refuses`."""
        return None

    def first_portion(self) -> MessagePortion:
        """See `HyPar.first_portion`."""
        return self._start.portion

    def next_portion(
        self, portion: MessagePortion, left: CrossEdges
    ) -> MessagePortion | None:
        """See `HyPar.next_portion`."""
        before = portion.portion if isinstance(portion, Remainder) else portion
        if isinstance(before, HeavyEdges) or before.band.high is None or left.complete:
            return None
        with self.run.report.stage("resolve", band=before.number):
            self.run.directory.resolve()
            giant = giant_component(self.run, self.run.directory.parent)
        if giant is None:
            return self._start.sequence.after(before)
        return HeavyEdges(giant, before.band)

    def ind_comp(self, portion: MessagePortion) -> CrossEdges:
        """Contract each rank's edges by itself; see `HyPar.ind_comp`."""
        run = self.run
        match portion:
            case Remainder(edges):
                return edges
            case HeavyEdges():
                with run.report.stage("heavier"):
                    edges = heavier_edges(run, portion.giant, portion.above)
            case LaterBand(band, number):
                with run.report.stage("band", band=number):
                    edges = band_edges(run, band)
            case RowBand(band):
                # 3. Parts contract up to their borders
                with run.report.stage("indComp"):
                    return self._contract_rows(band)
        with run.report.stage("indComp"):
            # No rank alone may contract components that reach over several ranks.
            if not edges.graph.own.any():
                return edges
            graph = contract_graph(run, edges.graph, self.exception)
            return edges._replace(graph=graph, renamed=True)

    def _contract_rows(self, band: Band) -> CrossEdges:
        run = self.run
        left = contract_pieces(run, band, self.exception)
        if self._contracts_heavier and band.high is not None:
            remaining = contract_heavier(run, left, band.high, self.exception)
            if remaining is not None:
                return CrossEdges(remaining, renamed=True, complete=True)
        return CrossEdges(left, renamed=True)

    def merge_parts(self, left: CrossEdges) -> ReducedGraph:
        """Merge the ranks' edges until one of them has all.

        Ghosts get their present names, self edges and multi-edges go, and ranks merge
        (`leaders.py`). Returns the rest of the whole graph on the last leader,
        elsewhere nothing.
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
        return merge_ranks(run, left._replace(graph=graph), self.exception, self.path)

    def path(self, edges: int, before: int) -> Path:
        """Return the way in which ranks go on; see `leaders.PathRule`."""
        return cheapest_path(self.run, edges, before)

    def post_process(self, rest: ReducedGraph) -> None:
        """Contract the rest on the last leader; see `HyPar.post_process`."""
        # 7. No component is a ghost any more
        with self.run.report.stage("finish"):
            finish(self.run, rest, self.exception)


class MergeInRings(MergeByMessages):
    """Ranks merge in rings and by levels of leaders, as in MND-MST."""

    name = "ring"
    moves_edges = False

    def path(self, edges: int, before: int) -> Path:
        """Return `levels`."""
        return "levels"


class MergeByRounds(MergeByMessages):
    """Ranks merge by global Borůvka rounds alone."""

    name = "boruvka"
    moves_edges = False

    def path(self, edges: int, before: int) -> Path:
        """Return `round`."""
        return "round"
