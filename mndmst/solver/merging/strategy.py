"""Strategies by which the ranks of a run merge their parts of the graph.

HyPar (Panja and Vadhiyar, ICPP 2018, section 4.1) is a framework for programs that
contract a graph part by part, in four calls: partGraph, indComp, mergeParts and
postProcess. `pipeline.contract` is the loop over them; `pipeline.py` computes spanning
forests with it, and `label_components.py` connected components. A program of the same
shape reads

    run = part_graph(comm, path, config, report)
    contract(run, exception=...)

and reads the result from `run.state`: the directory has the component of every vertex
(after `directory.resolve()`), and `forest_edges` has the edges along which this rank
has contracted, a spanning forest over all ranks.

A program supplies the *exception condition*: how far components may be contracted in a
part without the edges of other parts. It is a function `(backend, graph) ->
ContractedComponents` that gets a reduced graph with ghosts. It must

- return every ghost as a root,
- merge interior components only, along edges it marks as `in_forest`, and
- depend on nothing but the graph.

`lightest_cut_edge` and `any_cut_edge` (EXCPT_BORDER_VERTEX and EXCPT_BORDER_EDGE of the
paper, in `solver/contract.py`) are examples. The first stops a component whose lightest
edge is a cut edge: it is for forests, where only the lightest edge of a component is
known to be in the result. The second contracts all edges but cut edges: it is for
programs that may contract any edge. The solver drops the last edge of each cycle in the
order of `graph.order`, so the result of the program must not depend on that edge.
Connected components, minimum spanning forests and bottleneck paths do not; shortest
paths do.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar

from ...host.errors import MndmstError
from ..bands import cut_share
from ..contract import ExceptionCondition, any_cut_edge, lightest_cut_edge
from ..run import Run
from .phases import Phase

# Called by all ranks before each step; it may raise on all of them.
Proceed = Callable[[], None]


class NotSuitableError(Exception):
    """A strategy does not suit a run after all; the message has the reason.

    Raised on every rank, before anything changes.
    """


@dataclass(frozen=True)
class Facts:
    """Facts of a run that all ranks agree on; they decide which strategy is chosen."""

    ranks: int
    one_host: bool  # Whether all ranks are on one host
    workers: int  # Most devices of a rank
    # Most pieces of a rank's rows: one per device, and the stored ones
    pieces: int
    resumed: bool  # Whether the run goes on from a checkpoint
    cut_share: float  # The estimated share of arcs that lead to other ranks
    num_vertices: int
    custom_exception: bool  # Whether the exception condition is not one of ours
    locality_share: float  # The largest share of cut arcs of a graph with locality

    @property
    def has_locality(self) -> bool:
        """Whether most edges stay on their rank."""
        return self.cut_share <= self.locality_share

    @classmethod
    def of(cls, run: Run, exception: ExceptionCondition) -> "Facts":
        """Collect the facts of a run. Collective."""
        comm = run.comm
        return cls(
            ranks=comm.size,
            one_host=run.one_host,
            pieces=comm.max(len(run.workers) + len(run.stored)),
            workers=comm.max(len(run.workers)),
            resumed=run.resumed,
            cut_share=cut_share(run),
            num_vertices=run.num_vertices,
            custom_exception=exception not in (lightest_cut_edge, any_cut_edge),
            locality_share=run.config.tuning.locality_share,
        )


@dataclass(frozen=True)
class StrategySetting:
    """The arguments of a strategy: a run, and the program's exception condition."""

    run: Run
    facts: Facts
    exception: ExceptionCondition
    # Returns the next suitable strategy, if this one cannot continue. Collective.
    choose_next: "Callable[[], Strategy]"


class Strategy(ABC):
    """A way to contract a graph whose parts are on many ranks. Collective.

    The constructor raises NotSuitableError on every rank if the strategy does not suit
    the run.
    """

    name: ClassVar[str]

    def __init__(self, setting: StrategySetting) -> None:
        self.run = setting.run

    @staticmethod
    @abstractmethod
    def refuses(facts: Facts) -> str | None:
        """Return the reason for the user if the strategy does not suit a run."""

    @abstractmethod
    def contract(self, proceed: Proceed) -> "Strategy | None":
        """Contract the graph; return the strategy that continues, or None at the end.

        At the end the directory has all components, and `forest_edges` all edges along
        which they were contracted.
        """

    def free(self) -> None:  # noqa: B027 (most strategies hold nothing)
        """Free communicators and memory that ranks share."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Freeing is collective: a rank that fails alone must not wait for the others.
        agreed = isinstance(error, MndmstError) and error.ranks == self.run.comm.size
        if error is None or agreed:
            self.free()


PhaseT = TypeVar("PhaseT", bound=Phase)
RemainingT = TypeVar("RemainingT")
MergedT = TypeVar("MergedT")


class HyPar(Strategy, Generic[PhaseT, RemainingT, MergedT]):
    """A strategy that contracts phase after phase by the calls of HyPar.

    Its three types are the phases, each rank's remaining edges after independent
    computation, and the remaining edges after merging.
    """

    def contract(self, proceed: Proceed) -> Strategy | None:
        """See `Strategy.contract`."""
        phase: PhaseT | None = self.first_phase()
        while phase is not None:
            self.run.state.done = phase.done
            self.run.report.phase = phase.title

            # 3. Every device contracts its part; a component stops at the border if its
            # lightest outgoing edge is a cut edge
            proceed()
            remaining = self.ind_comp(phase)

            # 4. Ghosts get their present names, and parts merge: 5. in rings, 6. at
            # leaders
            proceed()
            merged = self.merge_parts(remaining)
            if isinstance(merged, Strategy):
                return merged

            # 7. The last leader contracts the remaining edges, without borders
            proceed()
            self.post_process(merged)

            following = self.next_phase(phase, remaining)
            if isinstance(following, Strategy):
                return following
            phase = following
        return None

    @abstractmethod
    def first_phase(self) -> PhaseT:
        """Return the lightest edges."""

    @abstractmethod
    def next_phase(
        self, phase: PhaseT, remaining: RemainingT
    ) -> PhaseT | Strategy | None:
        """Return the phase after a contracted one, or None after the last.

        A returned strategy contracts all further phases.
        """

    @abstractmethod
    def ind_comp(self, phase: PhaseT) -> RemainingT:
        """Contract each rank's edges by itself (indComp); return the remaining ones."""

    @abstractmethod
    def merge_parts(self, remaining: RemainingT) -> MergedT | Strategy:
        """Merge the ranks' edges until one rank has all of them (mergeParts).

        A returned strategy continues from here.
        """

    @abstractmethod
    def post_process(self, merged: MergedT) -> None:
        """Contract the remaining edges, without exception (postProcess).

        Afterwards the directory has the components that all edges so far connect, and
        `forest_edges` all edges along which they were contracted.
        """
