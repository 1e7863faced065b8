"""Ranks merge by messages: rounds, rings and leaders, as in MND-MST."""

from dataclasses import dataclass
from typing import ClassVar

from ...backends.base import Band
from ...graph.model import ReducedGraph
from ..bands import bands, giant_component
from ..contract import contract_graph, contract_pieces, learn_names
from ..heavier import CrossEdges, band_edges, contract_heavier, heavier_edges
from .leaders import Path, cheapest_path, finish, merge_ranks
from .phases import BandSequence, HeavyEdges, LaterBand, Remainder, RowBand
from .strategy import Facts, HyPar, StrategySetting

MessagePhase = RowBand | LaterBand | HeavyEdges | Remainder


@dataclass(frozen=True)
class MergeStart:
    """The first phase of the strategy, which may continue after another strategy."""

    sequence: BandSequence
    phase: MessagePhase


class MergeByMessages(HyPar[MessagePhase, CrossEdges, ReducedGraph]):
    """Parts merge by messages between ranks; suits every run.

    It begins with the phase of `start`, by default the lightest band of the run.
    """

    name = "messages"
    # Whether a step sends most edges of a graph without locality to another rank, so
    # that a narrower first band pays. A step of a ring sends few, a round none.
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
            width = run.config.tuning.sent_light_share if travels else 1.0
            sequence = BandSequence(bands(run, width * run.config.light_edges))
            start = MergeStart(sequence, sequence.first(run.resumed))
        self._start = start

    @staticmethod
    def refuses(facts: Facts) -> str | None:
        """See `Strategy.refuses`."""
        return None

    def first_phase(self) -> MessagePhase:
        """See `HyPar.first_phase`."""
        return self._start.phase

    def next_phase(
        self, phase: MessagePhase, remaining: CrossEdges
    ) -> MessagePhase | None:
        """See `HyPar.next_phase`."""
        before = phase.phase if isinstance(phase, Remainder) else phase
        if isinstance(before, HeavyEdges) or before.band.high is None:
            return None
        if remaining.complete:
            return None
        with self.run.report.stage("resolve", band=before.number):
            self.run.directory.resolve()
            giant = giant_component(self.run, self.run.directory.parent)
        if giant is None:
            return self._start.sequence.after(before)
        return HeavyEdges(giant, before.band)

    def ind_comp(self, phase: MessagePhase) -> CrossEdges:
        """Contract each rank's edges by itself; see `HyPar.ind_comp`."""
        run = self.run
        match phase:
            case Remainder(edges):
                return edges
            case HeavyEdges():
                with run.report.stage("heavier"):
                    edges = heavier_edges(run, phase.giant, phase.above)
            case LaterBand(band, number):
                with run.report.stage("band", band=number):
                    edges = band_edges(run, band)
            case RowBand(band):
                # 3. Parts contract up to their borders
                with run.report.stage("indComp"):
                    return self._contract_rows(band)
        with run.report.stage("indComp"):
            # A rank must not contract components with vertices on several ranks.
            if not edges.graph.interior.any():
                return edges
            graph = contract_graph(run, edges.graph, self.exception)
            return edges._replace(graph=graph, renamed=True)

    def _contract_rows(self, band: Band) -> CrossEdges:
        run = self.run
        remaining = contract_pieces(run, band, self.exception)
        if self._contracts_heavier and band.high is not None:
            heavier = contract_heavier(run, remaining, band.high, self.exception)
            if heavier is not None:
                return CrossEdges(heavier, renamed=True, complete=True)
        return CrossEdges(remaining, renamed=True)

    def merge_parts(self, remaining: CrossEdges) -> ReducedGraph:
        """Merge the ranks' edges until one of them has all (`leaders.py`).

        Returns the remaining edges on the last leader, an empty graph elsewhere.
        """
        run, graph = self.run, remaining.graph
        # 4. Rename ghosts to their present names; drop self edges and multi-edges
        with run.report.stage("mergeParts"):
            if run.comm.max(int(remaining.renamed)):
                graph = learn_names(run, graph)
            edges = run.comm.sum(len(graph))
        run.report.level("indComp", edges)
        run.safe_point()
        # Rounds, 5. rings and 6. leaders
        cross_edges = remaining._replace(graph=graph)
        return merge_ranks(run, cross_edges, self.exception, self.path)

    def path(self, edges: int, before: int) -> Path:
        """Return the next step; see `leaders.PathRule`."""
        return cheapest_path(self.run, edges, before)

    def post_process(self, merged: ReducedGraph) -> None:
        """Contract the remaining edges on the last leader; see `HyPar.post_process`."""
        # 7. No component is a ghost any more
        with self.run.report.stage("finish"):
            finish(self.run, merged, self.exception)


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
