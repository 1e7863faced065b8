"""Global Borůvka rounds, for edges whose merge would not pay or would not fit.

The lightest edge of every component is a forest edge, cut edge or not. A rank that has
all edges of a component has this edge. For other components each rank proposes the
lightest edge it holds to the component's owner, which chooses the lightest proposal.
The owner hooks the component onto the edge's other end, and pointer jumping finds the
new representatives. The graph itself does not move, and every round at least halves the
components that still have edges.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...comm.exchange import Coded
from ...graph.model import EdgeList, ReducedGraph
from ...kernels.group_by_owner import lightest_proposals, mark_shared_pairs
from ...kernels.reduced_edges import lightest_edges
from ...kernels.varint_ids import (
    decode_ascending,
    decode_near,
    encode_ascending,
    encode_near,
)
from ..contract import cycle_filter, learn_names
from ..reduced_graphs import drop_unused
from ..run import Run


class LightestEdges(NamedTuple):
    """The lightest edges of some components."""

    label: np.ndarray  # int64: the components
    other: np.ndarray  # int64: the component at the other end of each edge
    edges: EdgeList

    def take(self, index: np.ndarray) -> "LightestEdges":
        """Return the choices at some positions."""
        return LightestEdges(
            self.label[index], self.other[index], self.edges.take(index)
        )


def first_round(run: Run, graph: ReducedGraph, giant: int | None) -> ReducedGraph:
    """Do a round while each edge is on the owners of its ends. Collective.

    A rank proposes an edge for a component only if it owns a vertex of the component,
    and decides for its interior components without proposals. No rank proposes an edge
    for `giant` (`CrossEdges.giant`), whose ranks lack its edges; other components may
    hook onto it. Afterwards each edge is on one rank (`agree`).
    """
    first, last = run.directory.first, run.directory.last
    member = np.zeros(len(graph.labels), np.bool_)
    for end, component in ((graph.edges.u, graph.a), (graph.edges.v, graph.b)):
        member[component[(end >= first) & (end < last)]] = True
    decided = graph.interior & (graph.labels >= first) & (graph.labels < last)
    proposed = member & ~decided & (graph.labels != giant)
    return agree(run, _round(run, graph, decided, proposed), giant)


def global_round(run: Run, graph: ReducedGraph) -> ReducedGraph:
    """Merge every component with the neighbour across its lightest edge. Collective.

    Afterwards a component may have edges on several ranks, so none is interior.
    """
    everything = np.ones(len(graph.labels), np.bool_)
    return _round(run, graph, ~everything, everything)


def _round(
    run: Run, graph: ReducedGraph, decided: np.ndarray, proposed: np.ndarray
) -> ReducedGraph:
    """Do a round; masks mark the components for which this rank decides or proposes."""
    lightest = _lightest(graph)
    _hook(run, _decide(run, lightest.take(decided), lightest.take(proposed)))
    return learn_names(run, replace(graph, interior=np.zeros_like(graph.interior)))


def _lightest(graph: ReducedGraph) -> LightestEdges:
    """Return the lightest edge of each component on this rank."""
    best = lightest_edges(graph.a, graph.b, graph.edges.key, len(graph.labels))
    here = np.arange(len(best))
    other = np.where(graph.a[best] == here, graph.b[best], graph.a[best])
    return LightestEdges(graph.labels, graph.labels[other], graph.edges.take(best))


def _decide(
    run: Run, decided: LightestEdges, proposals: LightestEdges
) -> LightestEdges:
    """Return this rank's decisions and the lightest proposals of all ranks to it."""
    counts = run.directory.count_by_owner(proposals.label)
    run.report.ship(len(proposals.label) - counts[run.comm.rank])
    near = Coded(*encode_near(proposals.other, proposals.label, counts))
    _, columns = run.comm.alltoallv(
        counts, proposals.label.astype(run.directory.parent.dtype), near,
        proposals.edges.u, proposals.edges.v, proposals.edges.key,
    )  # fmt: skip
    label, data, u, v, key = columns
    label = label.astype(np.int64)
    received = LightestEdges(label, decode_near(data, label), EdgeList(u, v, key))
    best = received.take(
        lightest_proposals(label, u, v, key, run.directory.first, run.directory.last)
    )
    return LightestEdges(
        np.concatenate([decided.label, best.label]),
        np.concatenate([decided.other, best.other]),
        decided.edges.followed_by(best.edges),
    )


def _hook(run: Run, choice: LightestEdges) -> None:
    """Hook components that this rank owns onto others; find the representatives."""
    directory, label, other = run.directory, choice.label, choice.other
    mine = label - directory.first
    directory.parent[mine] = other
    # Of two components that chose the same edge the smaller one becomes the root, so
    # the edge is recorded once. The order is total, so there are no longer cycles.
    back = directory.lookup_any(other)
    root = (back == label) & (label < other)
    directory.parent[mine[root]] = label[root]
    run.state.forest_edges.append(choice.edges.take(~root))
    directory.jump(mine)


def agree(run: Run, graph: ReducedGraph, giant: int | None) -> ReducedGraph:
    """Keep each cut edge on one rank, and drop edges that one owner lacks. Collective.

    If the owner of an end has dropped an edge, the edge is the heaviest of a cycle.
    That is not so with `giant` (`CrossEdges.giant`), whose ranks lack edges: then the
    graph stays as it is.
    """
    if giant is not None:
        return graph
    directory, edges = run.directory, graph.edges
    u, v = edges.u.astype(np.int64), edges.v.astype(np.int64)
    owner_u, owner_v = (
        np.searchsorted(directory.vtxdist, end, side="right") - 1 for end in (u, v)
    )
    rank = run.comm.rank
    other = np.where(owner_u == rank, owner_v, owner_u)
    keeper = np.where((u + v) % 2 == 0, owner_u, owner_v)
    order = np.argsort(other, kind="stable")
    keep = order[(keeper == rank)[order] & (other != rank)[order]]
    send = order[(keeper != rank)[order]]
    counts = np.bincount(other[send], minlength=run.comm.size)
    bases = np.zeros_like(counts)
    received, (low, high) = run.comm.alltoallv(
        counts,
        Coded(*encode_ascending(u[send], counts, bases)),
        Coded(*encode_near(v[send], u[send], counts)),
    )
    low = decode_ascending(low, received, bases)
    high = decode_near(high, low)
    expected = np.bincount(other[keep], minlength=run.comm.size)
    agreed = mark_shared_pairs(u[keep], v[keep], expected, low, high, received)
    mask = other == rank
    mask[keep[agreed]] = True
    return cycle_filter(run.backend, drop_unused(graph.take(mask)))
