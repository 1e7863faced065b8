"""A way to merge parts: three of the four calls of HyPar, behind one interface.

HyPar (Panja and Vadhiyar, ICPP 2018, section 4.1) is a framework for programs that
contract a graph part by part, in four calls: partGraph, indComp, mergeParts and
postProcess. `pipeline.py` computes spanning forests with them, and `components.py`
connected components. A program of the same shape reads

    run = part_graph(comm, path, config, report)
    strategy = choose(run, exception)
    for edges in strategy.portions():
        left = strategy.ind_comp(edges)
        left = strategy.merge_parts(left)
        strategy.post_process(left)

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
the paper, in `steps/boruvka.py`) are examples. The first stops a component whose
lightest edge is a cut edge: for forests, where only the lightest edge of a component is
known to be right. The second leaves cut edges alone and stops no component: for
programs that may contract any edge. Where edges close a cycle the last of them in the
order of `graph.order` is dropped, so the answer must not depend on it: true of
connected components, minimum spanning forests and bottleneck paths, not of shortest
paths.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..run.run import Run
from ..steps.bands import cut_share
from ..steps.boruvka import ExceptionCondition, any_cut_edge, lightest_cut_edge

# With a larger share of cut arcs a graph has no locality.
CUT_SHARE = 0.25


class NotSuitableError(Exception):
    """A strategy cannot serve a run after all; the message says why. Nothing changed.

    Raised on every rank.
    """


class Facts(NamedTuple):
    """What all ranks agree on; it decides which strategy is chosen.

    Attributes
    ----------
    ranks : int
    one_host : bool
        Whether all ranks are on one host.
    workers : int
        Most devices of a rank.
    stored : bool
        Whether rows of a rank pass through memory in pieces.
    resumed : bool
        Whether the run goes on from a checkpoint.
    cut_share : float
        About which share of the arcs leads to other ranks.
    num_vertices : int
    own_exception : bool
        Whether the program has an exception condition of its own.
    """

    ranks: int
    one_host: bool
    workers: int
    stored: bool
    resumed: bool
    cut_share: float
    num_vertices: int
    own_exception: bool

    @property
    def has_locality(self) -> bool:
        """Whether most edges stay on their rank."""
        return self.cut_share <= CUT_SHARE

    @classmethod
    def of(cls, run: Run, exception: ExceptionCondition) -> "Facts":
        """Collect the facts of a run. Collective."""
        comm = run.comm
        mine = np.array([len(run.workers), run.stored is not None], np.int64)
        workers, stored = comm.max(mine).tolist()
        return cls(
            comm.size,
            run.one_host,
            workers,
            bool(stored),
            run.resumed,
            cut_share(run),
            run.num_vertices,
            exception not in (lightest_cut_edge, any_cut_edge),
        )


class Setting(NamedTuple):
    """What a strategy is made for.

    Attributes
    ----------
    exception : callable
        The exception condition.
    others : callable
        Chooses among the strategies that come after this one.
    """

    run: Run
    facts: Facts
    exception: ExceptionCondition
    others: Callable[[], "Strategy"]


class Strategy(ABC):
    """How the parts of a run become one. All calls are collective.

    Raises
    ------
    NotSuitableError
        On every rank, if it turns out that this strategy cannot serve the run.
    """

    name: str

    def __init__(self, setting: Setting) -> None:
        self.run = setting.run

    @staticmethod
    @abstractmethod
    def refuses(merge: str, facts: Facts) -> str | None:
        """Return why this is no strategy for a run, in words a user understands.

        Parameters
        ----------
        merge : str
            The option `merge` (`run.config.MERGES`).
        """

    @abstractmethod
    def portions(self) -> Iterator[Any]:
        """Yield the edges of the graph, portion by portion, lightest first.

        The three calls below are made for a portion before the next is asked for.
        """

    @abstractmethod
    def ind_comp(self, edges: Any) -> Any:
        """Contract what each rank holds by itself (indComp); return the rest."""

    @abstractmethod
    def merge_parts(self, left: Any) -> Any:
        """Merge what the ranks have left until one of them has it all (mergeParts)."""

    @abstractmethod
    def post_process(self, left: Any) -> None:
        """Contract the rest, without exception (postProcess).

        Afterwards the directory knows all components that the edges so far have
        joined, and `forest_edges` all edges they were joined along.
        """

    def give_up(self) -> None:  # noqa: B027 (most hold nothing)
        """Give back what ranks share, where the run ends before its end."""
