"""Levels of groups: members give what is left to their leader, until one has all.

Global Borůvka rounds, which move no edge, come first: while many edges are left and
each round still shrinks them, and before a merge that would not fit the leader's
memory. Then all ranks give what is left to the last leader at once. With
``merge="ring"`` ranks merge in rings and by levels of groups, as in MND-MST.
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
from .parcels import pack, unpack
from .ring import ring_rounds
from .rounds import agree, first_round, global_round

# With no more edges on all ranks together a leader is faster than a round.
FEW_EDGES = 1 << 18


def merge_ranks(run: Run, left: Between, exception: ExceptionCondition) -> ReducedGraph:
    """Merge what the ranks hold until one has all that is left. Collective."""
    graph, giant, with_owners, _ = left
    stride, level, before = 1, 0, 0
    while stride < run.comm.size:
        edges = run.comm.sum(len(graph))
        if edges == 0:
            break
        path = _path(run, edges, before)
        before = edges if path == "round" else 0
        run.report.choice(path, edges)
        if path == "round":
            graph = _round(run, graph, edges, giant, with_owners)
        else:
            level += 1
            size = run.comm.size if path == "leader" else run.config.group_size
            if path == "leader" and with_owners:
                with run.report.stage("agree"):
                    graph = agree(run, graph, giant)
            group = _Group(level, stride, size)
            graph = _level(run, graph, group, exception)
            stride *= size
        with_owners = False
    return graph


def _path(run: Run, edges: int, before: int) -> str:
    """Return how ranks go on: by a round, by levels of groups, or to one leader.

    Parameters
    ----------
    edges : int
        What is left on all ranks.
    before : int
        What was left before the last round; 0 if the last step was none.
    """
    forced = {"ring": "levels", "boruvka": "round"}
    if run.config.merge in forced:
        return forced[run.config.merge]
    pays = before == 0 or edges <= (1 - run.config.round_gain) * before
    return "round" if edges > FEW_EDGES and pays else "leader"


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
    # 5. Members pass segments round a ring, and contract
    if not kind.is_last(run.comm.size) or run.config.merge == "ring":
        graph = ring_rounds(run, group, graph, exception)
    # 6. The leader takes what is left, if it has room; rounds make room
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
    others = [unpack(group.recv(source=m), ids) for m in range(1, group.size)]
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
    return bool(group.bcast(run.budget.fits(nbytes)))


def _round(
    run: Run,
    graph: ReducedGraph,
    edges: float,
    giant: int | None = None,
    with_owners: bool = False,
) -> ReducedGraph:
    """Do a global round: `first_round`, while the owners of the ends have the edges."""
    with run.report.stage("global round", edges_before=edges):
        merged = (
            first_round(run, graph, giant) if with_owners else global_round(run, graph)
        )
    run.report.level("global round", run.comm.sum(len(merged)))
    return merged
