"""Levels of groups: members give what is left to their leader, until one has all.

Global Borůvka rounds, which move no edge, come first or between levels: as long as
they are predicted to pay (`costs.py`), and before a merge that would not fit the
leader's memory.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..comm.communicator import Comm
from ..graph.model import ReducedGraph
from ..run.run import Run
from ..steps.boruvka import ExceptionCondition, cycle_filter
from ..steps.contract import empty_graph, merge
from ..steps.heavier import Between
from ..steps.parts import contract_graph, learn_names
from .costs import FIRST, LATER, Costs, Left
from .parcels import pack, unpack
from .ring import ring_rounds
from .rounds import agree, first_round, global_round


def merge_ranks(run: Run, left: Between, exception: ExceptionCondition) -> ReducedGraph:
    """Merge what the ranks hold until one has all that is left. Collective."""
    graph, giant, at_home, _ = left
    paths = Paths(run, at_home)
    stride, level = 1, 0
    while stride < run.comm.size:
        amount = Left.of(run.comm, graph)
        if amount.edges == 0:
            break
        path = paths.choose(amount, -(-run.comm.size // stride))
        if path == "round":
            graph = _round(run, graph, amount.edges, giant, at_home)
        else:
            level += 1
            size = run.comm.size if path == "leader" else run.config.group_size
            if path == "leader" and at_home:
                with run.report.stage("agree"):
                    graph = agree(run, graph, giant)
            group = _Group(level, stride, size)
            graph = _level(run, graph, group, exception)
            stride *= size
        at_home = False
    return graph


class Paths:
    """Chooses how to go on, on all ranks alike."""

    def __init__(self, run: Run, at_home: bool) -> None:
        self.run = run
        self.costs = Costs(run.network, run.comm.size, run.config.group_size)
        self.share = FIRST if at_home else LATER
        self.round_from = 0.0
        self.rounds_pay = True

    def choose(self, left: Left, holders: int) -> str:
        """Return the path that is asked for, or the cheapest: leader, levels or round.

        Parameters
        ----------
        holders : int
            Ranks that may hold edges.
        """
        forced = {"ring": "levels", "boruvka": "round"}
        if self.run.config.merge in forced:
            return forced[self.run.config.merge]
        if self.round_from:
            share = left.edges / self.round_from
            self.share = max(LATER, share)
            self.rounds_pay = share <= 1 - self.run.config.round_gain
        seconds = self.costs.predict(left, holders, self.share)
        if not self.rounds_pay:
            del seconds["round"]
        path = self.costs.cheapest(seconds)
        self.round_from = left.edges if path == "round" else 0
        self.run.report.choice(path, left.edges, seconds)
        return path


class _Group(NamedTuple):
    """The groups of a level: of ranks that hold edges, every stride-th."""

    level: int
    stride: int
    size: int

    def is_last(self, ranks: int) -> bool:
        """Return whether there is one group."""
        return self.stride * self.size >= ranks


def _level(
    run: Run, graph: ReducedGraph, kind: _Group, exception: ExceptionCondition
) -> ReducedGraph:
    """Merge each group into its leader."""
    active = run.comm.rank % kind.stride == 0
    color = run.comm.rank // (kind.stride * kind.size)
    group = run.comm.split(color if active else None)
    if not kind.is_last(run.comm.size) or run.config.merge == "ring":
        graph = ring_rounds(run, group, graph, exception)
    graph = _make_room(run, group, graph)
    with run.report.stage("leaders", level=kind.level):
        graph = contract_graph(run, to_leader(run, group, graph), exception)
        graph = learn_names(run, graph)
    run.report.level(f"level {kind.level}", run.comm.sum(len(graph)))
    if group is not None:
        group.free()
    run.safe_point()
    return graph


def finish(run: Run, graph: ReducedGraph, exception: ExceptionCondition) -> None:
    """Contract what is left: all on one rank, so no component is a ghost."""
    contract_graph(run, replace(graph, own=np.ones_like(graph.own)), exception)
    run.directory.publish()
    run.safe_point()


def to_leader(run: Run, group: Comm | None, graph: ReducedGraph) -> ReducedGraph:
    """Merge the graphs of a group on its first rank; the others keep nothing."""
    if group is None:
        return graph
    if group.rank > 0:
        run.report.ship(len(graph))
        group.send(pack(graph), dest=0)
        return empty_graph(graph.edges)
    ids = graph.edges.u.dtype
    others = [unpack(group.receive(source=m), ids) for m in range(1, group.size)]
    return cycle_filter(run.backend, merge([graph, *others], run.threads))


def _make_room(run: Run, group: Comm | None, graph: ReducedGraph) -> ReducedGraph:
    """Shrink the graph until every leader can take in what its group holds."""
    while run.comm.max(int(not _fits(run, group, graph))):
        graph = _round(run, graph, run.comm.sum(len(graph)))
    return graph


def _fits(run: Run, group: Comm | None, graph: ReducedGraph) -> bool:
    if group is None:
        return True
    nbytes = group.sum(graph.nbytes)
    return bool(group.share(run.budget.fits(nbytes)))


def _round(
    run: Run,
    graph: ReducedGraph,
    edges: float,
    giant: int | None = None,
    at_home: bool = False,
) -> ReducedGraph:
    """Do a global round; the first one, if edges still are where their ends are."""
    with run.report.stage("global round", edges_before=edges):
        merged = first_round(run, graph, giant) if at_home else global_round(run, graph)
    run.report.level("global round", run.comm.sum(len(merged)))
    return merged
