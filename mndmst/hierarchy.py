"""Levels of groups: members give what is left to their leader, until one has all.

A merge that would not fit the leader's memory is not done: global Borůvka rounds,
which move no edge, shrink the graph until it does.
"""

from dataclasses import replace

import numpy as np

from .comm import Comm
from .contract import empty_graph, merge
from .graph import ReducedGraph
from .ring import pack, ring_rounds, unpack
from .rounds import global_round
from .run import Run, contract_graph, learn_names


def merge_ranks(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Merge what the ranks hold until one has all that is left. Collective."""
    graph = _rounds_if_stalled(run, graph)
    stride, level = 1, 0
    while stride < run.comm.size and run.comm.sum(len(graph)) > 0:
        level += 1
        active = run.comm.rank % stride == 0
        stride *= run.config.group_size
        group = run.comm.split(run.comm.rank // stride if active else None)
        graph = ring_rounds(run, group, graph)
        graph = _make_room(run, group, graph)
        with run.report.stage("leaders", level=level):
            graph = contract_graph(run, to_leader(group, graph))
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


def to_leader(group: Comm | None, graph: ReducedGraph) -> ReducedGraph:
    """Merge the graphs of a group on its first rank; the others keep nothing."""
    if group is None:
        return graph
    if group.rank > 0:
        group.send_all(pack(graph), dest=0)
        return empty_graph(graph.edges)
    for member in range(1, group.size):
        graph = merge(graph, unpack(group.receive_all(source=member)))
    return graph


def _rounds_if_stalled(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Merge by global rounds where asked for, or where little has been contracted."""
    merge_by = run.config.merge
    left = run.comm.sum(int(graph.own.sum()))
    stalled = run.comm.size > 1 and left > run.config.stall_share * run.num_vertices
    if merge_by == "boruvka":
        return _rounds(run, graph, enough=0, gain=0.0)
    if merge_by == "auto" and stalled:
        return _rounds(run, graph, run.config.leader_edges, run.config.round_gain)
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


def _round(run: Run, graph: ReducedGraph, edges: int) -> ReducedGraph:
    with run.report.stage("global round", edges_before=edges):
        graph = global_round(run, graph)
    run.report.level("global round", run.comm.sum(len(graph)))
    return graph
