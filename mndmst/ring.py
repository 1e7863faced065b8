"""Ring rounds: members of a group exchange segments of components and go on.

Each round a member cuts off a segment of its components, sends it to its left
neighbour and takes one from the right; what were cut edges between the two become
inner edges, and both contract again (Panja and Vadhiyar 2018, section 3.4). The
rounds end when they no longer shrink the group's data enough (section 4.3.4).
"""

import numpy as np

from .boruvka import cycle_filter
from .comm import Comm
from .contract import cut_off, merge
from .graph import EdgeList, ReducedGraph
from .run import Run, contract_graph, learn_names


def ring_rounds(run: Run, group: Comm | None, graph: ReducedGraph) -> ReducedGraph:
    """Exchange segments in all groups until none of them gains by it. Collective.

    Parameters
    ----------
    group : Comm or None
        This rank's group; None if the rank has given its graph to a leader.
    """
    edges, own = group.sum(np.array([len(graph), graph.own.sum()])) if group else (0, 0)
    going = own > 0 and edges > run.config.leader_edges
    going = going and group is not None and group.size > 1
    number = 0
    while run.comm.max(int(going)):
        with run.report.stage("ring", round=number) as entry:
            entry["edges_before"] = len(graph)
            if group is not None and going:
                graph = contract_graph(run, pass_segment(run, group, graph))
            graph = learn_names(run, graph)
            entry["edges_after"] = len(graph)
        if group is not None and going:
            before, edges = edges, group.sum(len(graph))
            shrunk = edges < before * (1 - run.config.ring_gain)
            going = shrunk and edges > run.config.leader_edges
        number += 1
        run.report.level(f"ring round {number}", run.comm.sum(len(graph)))
    return graph


def pass_segment(run: Run, group: Comm, graph: ReducedGraph) -> ReducedGraph:
    """Send a segment to the left neighbour, merge the one from the right."""
    left, right = (group.rank - 1) % group.size, (group.rank + 1) % group.size
    room = np.array([run.budget.room() // run.budget.COPIES])
    left_room = int(group.trade([room], dest=right, source=left)[0][0])
    segment, rest = cut_off(graph, _segment(graph, group.size, left_room))
    run.report.ship(len(segment))
    arrived = unpack(group.trade(pack(segment), dest=left, source=right))
    return cycle_filter(run.backend, merge([rest, arrived], run.threads))


def _segment(graph: ReducedGraph, parts: int, room: int) -> np.ndarray:
    """Choose own components with a share of the edges that the receiver has room for.

    The first ones in the order of their names: where neighbouring ranks hold
    neighbouring vertices, these are the closest to the left neighbour's.
    """
    count = len(graph.labels)
    degree = np.bincount(graph.a, minlength=count)
    degree += np.bincount(graph.b, minlength=count)
    load = np.cumsum(np.where(graph.own, degree, 0))
    per_edge = (graph.nbytes + 1) / (len(graph) + 1)
    limit = min(len(graph) * 2 / parts, room / per_edge)
    return graph.own & (load <= limit)


def pack(graph: ReducedGraph) -> list[np.ndarray]:
    """Return the arrays of a reduced graph, for sending."""
    edges = graph.edges
    return [edges.u, edges.v, edges.key, graph.a, graph.b, graph.labels, graph.own]


def unpack(arrays: list[np.ndarray]) -> ReducedGraph:
    """Return the reduced graph that `pack` has taken apart."""
    return ReducedGraph(EdgeList(*arrays[:3]), *arrays[3:])
