"""Levels of groups: members give what is left to their leader, until one has all.

A merge that would not fit the leader's memory is not done: global Borůvka rounds,
which move no edge, shrink the graph until it does.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .boruvka import cycle_filter
from .comm import Comm
from .contract import empty_graph, merge
from .graph import ReducedGraph
from .ring import pack, ring_rounds, unpack
from .rounds import first_round, global_round
from .run import Run, contract_graph, learn_names


def merge_ranks(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Merge what the ranks hold until one has all that is left. Collective."""
    graph = _global_rounds(run, graph)
    stride, level = 1, 0
    while stride < run.comm.size and (edges := run.comm.sum(len(graph))) > 0:
        level += 1
        active = run.comm.rank % stride == 0
        stride *= _group_size(run, edges)
        group = run.comm.split(run.comm.rank // stride if active else None)
        graph = ring_rounds(run, group, graph)
        graph = _make_room(run, group, graph)
        with run.report.stage("leaders", level=level):
            graph = contract_graph(run, to_leader(run, group, graph))
            graph = learn_names(run, graph)
        run.report.level(f"level {level}", run.comm.sum(len(graph)))
        if group is not None:
            group.free()
        run.safe_point()
    return graph


def finish(run: Run, graph: ReducedGraph) -> None:
    """Contract what is left: all on one rank, so no component is a ghost."""
    contract_graph(run, replace(graph, own=np.ones_like(graph.own)))
    run.publish()
    run.safe_point()


def to_leader(run: Run, group: Comm | None, graph: ReducedGraph) -> ReducedGraph:
    """Merge the graphs of a group on its first rank; the others keep nothing."""
    if group is None:
        return graph
    if group.rank > 0:
        run.report.ship(len(graph))
        group.send_all(pack(graph), dest=0)
        return empty_graph(graph.edges)
    others = [unpack(group.receive_all(source=m)) for m in range(1, group.size)]
    return cycle_filter(run.backend, merge([graph, *others], run.threads))


def _group_size(run: Run, edges: int) -> int:
    """Return how many ranks merge into one leader: all, if they have few edges."""
    few = run.config.merge == "auto" and edges <= run.config.leader_edges
    return run.comm.size if few else run.config.group_size


def _global_rounds(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Merge by global rounds as far as asked for, or as far as that is cheap.

    The first round moves no edge of components that one rank has all of. More follow
    where the ranks could contract little by themselves.
    """
    config, edges = run.config, run.comm.sum(len(graph))
    if run.comm.size == 1 or config.merge == "ring" or edges == 0:
        return graph
    if run.scattered:
        return _rounds(run, graph, config.leader_edges, config.round_gain)
    own = run.comm.sum(int(graph.own.sum()))
    graph = _round(run, graph, edges, first_round)
    if config.merge == "boruvka":
        return _rounds(run, graph, enough=0, gain=0.0)
    if own > config.stall_share * run.num_vertices:
        return _rounds(run, graph, config.leader_edges, config.round_gain)
    return graph


def _rounds(run: Run, graph: ReducedGraph, enough: int, gain: float) -> ReducedGraph:
    """Do global rounds while there are more edges than enough and it pays."""
    before, edges = None, run.comm.sum(len(graph))
    while edges > enough and (before is None or edges <= before * (1 - gain)):
        graph = _round(run, graph, edges)
        before, edges = edges, run.comm.sum(len(graph))
    return graph


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
    edges: int,
    merge_by: Callable[[Run, ReducedGraph], ReducedGraph] = global_round,
) -> ReducedGraph:
    with run.report.stage("global round", edges_before=edges):
        graph = merge_by(run, graph)
    run.report.level("global round", run.comm.sum(len(graph)))
    return graph
