"""Levels of groups: members send their edges to their leader, until one rank has all.

Global Borůvka rounds, which move no edge, come first, while many edges remain and each
round removes enough of them, and before a merge that would not fit the leader's memory.
Then all ranks send their edges to one leader.

With ``merge="ring"`` ranks merge in rings and by levels of groups, as in MND-MST (Panja
and Vadhiyar 2018, section 3.4). In each round of a ring a member sends a segment of its
components to its left neighbour and receives one from the right. Cut edges between the
two become inner edges, and both contract again. The rounds end when they no longer
remove enough of the group's edges (section 4.3.4).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...comm.communicator import Comm
from ...graph.model import EdgeList, ReducedGraph
from ...host.memory_costs import REDUCED_GRAPH_COPIES
from ...kernels.varint_ids import (
    decode_ascending,
    decode_near,
    encode_ascending,
    encode_near,
)
from ..contract import (
    ExceptionCondition,
    contract_graph,
    cycle_filter,
    learn_names,
)
from ..heavier import CrossEdges
from ..reduced_graphs import empty_graph, merge, segment, without_segment
from ..run import Run
from .rounds import agree, first_round, global_round

_START = np.zeros(1, np.int64)


def pack(graph: ReducedGraph) -> list[np.ndarray]:
    """Return a reduced graph as arrays to be sent, about 20 bytes an edge."""
    edges, count = graph.edges, np.array([len(graph.labels)])
    return [
        count,
        encode_ascending(graph.labels, count, _START)[0],
        np.packbits(graph.interior),
        encode_ascending(edges.u, np.array([len(edges)]), _START)[0],
        encode_near(edges.v, edges.u, np.array([len(edges)]))[0],
        edges.key,
        graph.a,
        graph.b,
    ]


def unpack(arrays: Sequence[np.ndarray], ids: np.dtype) -> ReducedGraph:
    """Return the reduced graph of arrays that `pack` made.

    `ids` is the type of the edges' original ends.
    """
    count, labels, bits, u, v, key, a, b = arrays
    labels = decode_ascending(labels, count, _START)
    interior = np.unpackbits(bits, count=len(labels)).view(np.bool_)
    u = decode_ascending(u, np.array([len(key)]), _START).astype(ids, copy=False)
    v = decode_near(v, u).astype(ids, copy=False)
    return ReducedGraph(EdgeList(u, v, key), a, b, labels, interior)


def ring_rounds(
    run: Run, group: Comm | None, graph: ReducedGraph, exception: ExceptionCondition
) -> ReducedGraph:
    """Exchange segments in all groups until the rounds gain too little. Collective.

    `group` is None if this rank has sent its graph to a leader.
    """
    edges = interior = 0
    if group is not None:
        edges, interior = group.sum(np.array([len(graph), graph.interior.sum()]))
    going = interior > 0 and edges > run.config.tuning.leader_edges
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
            shrunk = edges < before * (1 - run.config.tuning.ring_gain)
            going = shrunk and edges > run.config.tuning.leader_edges
        number += 1
        run.report.level(f"ring round {number}", run.comm.sum(len(graph)))
    return graph


def pass_segment(run: Run, group: Comm, graph: ReducedGraph) -> ReducedGraph:
    """Send a segment to the left neighbour, and merge the one from the right.

    The rank extracts its remaining edges during the exchange.
    """
    left, right = (group.rank - 1) % group.size, (group.rank + 1) % group.size
    free = np.array([run.budget.room() // REDUCED_GRAPH_COPIES])
    left_free = int(group.sendrecv([free], dest=right, source=left)[0][0])
    chosen = _choose(graph, group.size, left_free)
    sent = segment(graph, chosen)
    run.report.ship(len(sent))
    finish_exchange = group.isendrecv(pack(sent), dest=left, source=right)
    rest = without_segment(graph, chosen)
    received = unpack(finish_exchange(), graph.edges.u.dtype)
    return cycle_filter(run.backend, merge([rest, received], run.threads))


def _choose(graph: ReducedGraph, parts: int, free: int) -> np.ndarray:
    """Mark interior components with about two of `parts` of all edges.

    At most as many edges are chosen as fit the receiver's `free` bytes. Components with
    the smallest names come first: neighbouring ranks often hold neighbouring vertices,
    and then these are the closest to the left neighbour's.
    """
    count = len(graph.labels)
    degree = np.bincount(graph.a, minlength=count)
    degree += np.bincount(graph.b, minlength=count)
    load = np.cumsum(np.where(graph.interior, degree, 0))
    fitting = free * len(graph) / max(graph.nbytes, 1)
    limit = min(len(graph) * 2 / parts, fitting)
    return graph.interior & (load <= limit)


# The next step: a global round, one level of groups, or all edges to one leader.
Path = Literal["round", "levels", "leader"]
# Chooses the next step by the remaining edges of all ranks, and by their number before
# the last round (0 if the last step was not a round).
PathRule = Callable[[int, int], Path]


def cheapest_path(run: Run, edges: int, before: int) -> Path:
    """Do rounds while many edges remain and rounds remove enough; then one leader."""
    pays = before == 0 or edges <= (1 - run.config.tuning.round_gain) * before
    return "round" if edges > run.config.tuning.few_edges and pays else "leader"


def merge_ranks(
    run: Run, edges: CrossEdges, exception: ExceptionCondition, choose_path: PathRule
) -> ReducedGraph:
    """Merge the ranks' edges until one rank has all of them. Collective."""
    graph, giant, with_owners = edges.graph, edges.giant, edges.with_owners
    stride, level, before = 1, 0, 0
    while stride < run.comm.size:
        count = run.comm.sum(len(graph))
        if count == 0:
            break
        path = choose_path(count, before)
        before = count if path == "round" else 0
        run.report.choice(path, count)
        if path == "round":
            graph = _round(run, graph, count, giant, with_owners)
        else:
            level += 1
            size = run.comm.size if path == "leader" else run.config.tuning.group_size
            if path == "leader" and with_owners:
                with run.report.stage("agree"):
                    graph = agree(run, graph, giant)
            groups = _Groups(level, stride, size, in_rings=path == "levels")
            graph = _level(run, graph, groups, exception)
            stride *= size
        with_owners = False
    return graph


@dataclass(frozen=True)
class _Groups:
    """The groups of a level: `size` ranks each, of every stride-th rank."""

    level: int
    stride: int
    size: int
    in_rings: bool  # Whether members exchange segments before the leader gets all


def _level(
    run: Run, graph: ReducedGraph, groups: _Groups, exception: ExceptionCondition
) -> ReducedGraph:
    """Merge each group into its leader."""
    active = run.comm.rank % groups.stride == 0
    color = run.comm.rank // (groups.stride * groups.size)
    whole = groups.stride == 1 and groups.size >= run.comm.size
    group = run.comm if whole else run.comm.split(color if active else None)
    # 5. Members pass segments round a ring, and contract
    if groups.in_rings:
        graph = ring_rounds(run, group, graph, exception)
    # 6. The leader receives the remaining edges, once they fit its memory
    graph = _shrink_to_fit(run, group, graph)
    with run.report.stage("leaders", level=groups.level):
        graph = contract_graph(run, to_leader(run, group, graph), exception)
        graph = learn_names(run, graph)
    run.report.level(f"level {groups.level}", run.comm.sum(len(graph)))
    if group is not None and not whole:
        group.free()
    run.safe_point()
    return graph


def finish(run: Run, graph: ReducedGraph, exception: ExceptionCondition) -> None:
    """Contract the remaining edges, which are on one rank and have no ghosts."""
    whole = replace(graph, interior=np.ones_like(graph.interior))
    contract_graph(run, whole, exception)
    run.directory.publish()
    run.safe_point()


def to_leader(run: Run, group: Comm | None, graph: ReducedGraph) -> ReducedGraph:
    """Merge the graphs of a group on its first rank; the others' become empty."""
    if group is None:
        return graph
    gathered = group.gather_arrays(pack(graph))
    if group.rank > 0:
        run.report.ship(len(graph))
        return empty_graph(graph.edges)
    ids = graph.edges.u.dtype
    others = [unpack(arrays, ids) for arrays in gathered]
    return cycle_filter(run.backend, merge([graph, *others], run.threads))


def _shrink_to_fit(run: Run, group: Comm | None, graph: ReducedGraph) -> ReducedGraph:
    """Do rounds until every leader has memory for the edges of its group."""
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
    """Do a global round: `first_round` while edges are on the owners of their ends."""
    with run.report.stage("global round", edges_before=edges):
        merged = (
            first_round(run, graph, giant) if with_owners else global_round(run, graph)
        )
    run.report.level("global round", run.comm.sum(len(merged)))
    return merged
