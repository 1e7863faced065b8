"""Ring rounds: members of a group exchange segments of components and contract.

Each round a member cuts off a segment of its components, sends it to its left
neighbour and takes one from the right; what were cut edges between the two become
inner edges, and both contract again (Panja and Vadhiyar 2018, section 3.4). The
rounds end when they no longer shrink the group's data enough (section 4.3.4).
"""

import numpy as np

from ..comm.communicator import Comm
from ..graph.model import ReducedGraph
from ..run.run import Run
from ..steps.boruvka import ExceptionCondition, cycle_filter
from ..steps.contract import merge, segment, without_segment
from ..steps.parts import contract_graph, learn_names
from .parcels import pack, unpack


def ring_rounds(
    run: Run, group: Comm | None, graph: ReducedGraph, exception: ExceptionCondition
) -> ReducedGraph:
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
                graph = contract_graph(run, pass_segment(run, group, graph), exception)
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
    """Send a segment to the left neighbour, merge the one from the right.

    While they travel the rank extracts its other edges, and numbers their components.
    """
    left, right = (group.rank - 1) % group.size, (group.rank + 1) % group.size
    room = np.array([run.budget.room() // run.budget.COPIES])
    left_room = int(group.sendrecv([room], dest=right, source=left)[0][0])
    chosen = _choose(graph, group.size, left_room)
    leaving = segment(graph, chosen)
    run.report.ship(len(leaving))
    arrival = group.isendrecv(pack(leaving), dest=left, source=right)
    rest = without_segment(graph, chosen)
    arrived = unpack(arrival(), graph.edges.u.dtype)
    return cycle_filter(run.backend, merge([rest, arrived], run.threads))


def _choose(graph: ReducedGraph, parts: int, room: int) -> np.ndarray:
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
