"""Strategies: how the parts of a run become one.

HyPar (Panja and Vadhiyar, ICPP 2018, section 4.1) is a framework for programs that
contract a graph part by part, in four calls: partGraph, indComp, mergeParts and
postProcess. `pipeline.contract` is the loop over them; `pipeline.py` computes spanning
forests with it, and `label_components.py` connected components. A program of the same
shape reads

    run = part_graph(comm, path, config, report)
    contract(run, exception=...)

and finds its answer in `run.state`: the directory knows the component of every vertex
(after `directory.resolve()`), and `forest_edges` has the edges along which this rank
has contracted, a spanning forest over all ranks.

A program gives the *exception condition*: how far components may grow in a part
without knowing the others. It is a function `(backend, graph) -> Growth`, called with
a reduced graph that has ghosts, and it must

- leave every component that is not `own` its own root,
- merge own components only, along edges it marks as `in_forest`, and
- depend on nothing but the graph.

`lightest_cut_edge` and `any_cut_edge` (EXCPT_BORDER_VERTEX and EXCPT_BORDER_EDGE of
the paper, in `solver/contract.py`) are examples. The first stops a component whose
lightest edge is a cut edge: for forests, where only the lightest edge of a component is
known to be right. The second leaves cut edges alone and stops no component: for
programs that may contract any edge. Where edges close a cycle the last of them in the
order of `graph.order` is dropped, so the answer must not depend on it: true of
connected components, minimum spanning forests and bottleneck paths, not of shortest
paths.
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
from .portions import Portion

# Called by all ranks before each step; it may raise on all of them.
Proceed = Callable[[], None]


class NotSuitableError(Exception):
    """A strategy cannot serve a run after all; the message says why. Nothing changed.

    Raised on every rank.
    """


@dataclass(frozen=True)
class Facts:
    """Facts of a run that all ranks agree on; they decide which strategy is chosen."""

    ranks: int
    one_host: bool  # Whether all ranks are on one host
    workers: int  # Most devices of a rank
    # Most pieces of a rank's rows: one for each device, and the stored ones.
    pieces: int
    resumed: bool  # Whether the run goes on from a checkpoint
    cut_share: float  # The estimated share of arcs that lead to other ranks
    num_vertices: int
    own_exception: bool  # Whether the program has an exception condition of its own
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
            own_exception=exception not in (lightest_cut_edge, any_cut_edge),
            locality_share=run.config.tuning.locality_share,
        )


@dataclass(frozen=True)
class StrategySetting:
    """The run and the program that a strategy is made for."""

    run: Run
    facts: Facts
    exception: ExceptionCondition  # The exception condition of the program
    # Returns the strategy that serves the run if this one cannot. Collective.
    choose_next: "Callable[[], Strategy]"


class Strategy(ABC):
    """A way to contract a graph whose parts are on many ranks; collective.

    Raises NotSuitableError on every rank, by the constructor, if this strategy cannot
    serve the run.
    """

    name: ClassVar[str]

    def __init__(self, setting: StrategySetting) -> None:
        self.run = setting.run

    @staticmethod
    @abstractmethod
    def refuses(facts: Facts) -> str | None:
        """Return why the strategy does not suit a run, in words a user understands."""

    @abstractmethod
    def contract(self, proceed: Proceed) -> "Strategy | None":
        """Contract the graph; return the strategy that goes on, or None at the end.

        At the end the directory knows all components, and `forest_edges` all edges
        along which they were contracted.
        """

    def give_up(self) -> None:  # noqa: B027 (most strategies hold nothing)
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
            self.give_up()


PortionT = TypeVar("PortionT", bound=Portion)
LeftT = TypeVar("LeftT")
RestT = TypeVar("RestT")


class HyPar(Strategy, Generic[PortionT, LeftT, RestT]):
    """A strategy that contracts portion after portion by the calls of HyPar.

    Its three types are the portions it takes, the edges that independent computation
    leaves on each rank, and the edges that merging leaves.
    """

    def contract(self, proceed: Proceed) -> Strategy | None:
        """See `Strategy.contract`."""
        portion: PortionT | None = self.first_portion()
        while portion is not None:
            self.run.state.done = portion.done
            self.run.report.portion = portion.title

            # 3. Every device contracts its part; a component stops at the border, if
            # the lightest edge that leaves it is a cut edge
            proceed()
            left = self.ind_comp(portion)

            # 4. Parts learn each other's names and merge: 5. in rings, 6. at leaders
            proceed()
            rest = self.merge_parts(left)
            if isinstance(rest, Strategy):
                return rest

            # 7. The last leader has the rest, and no border
            proceed()
            self.post_process(rest)

            following = self.next_portion(portion, left)
            if isinstance(following, Strategy):
                return following
            portion = following
        return None

    @abstractmethod
    def first_portion(self) -> PortionT:
        """Return the lightest edges."""

    @abstractmethod
    def next_portion(
        self, portion: PortionT, left: LeftT
    ) -> PortionT | Strategy | None:
        """Return the portion after one that has been contracted; None after the last.

        A strategy is returned if it is to contract all further portions.
        """

    @abstractmethod
    def ind_comp(self, portion: PortionT) -> LeftT:
        """Contract each rank's edges by itself (indComp); return the edges left."""

    @abstractmethod
    def merge_parts(self, left: LeftT) -> RestT | Strategy:
        """Merge the ranks' edges until one rank has all of them (mergeParts).

        A strategy is returned if it is to go on from here.
        """

    @abstractmethod
    def post_process(self, rest: RestT) -> None:
        """Contract the rest, without exception (postProcess).

        Afterwards the directory knows all components that the edges so far have
        joined, and `forest_edges` all edges they were joined along.
        """
